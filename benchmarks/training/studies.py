"""What labels of whole studies (`labels/studies_*.jsonl`) say of single drugs, by the rules that verdicts follow from.

| the study | the drug in its target |
|---|---|
| a drug's own result, or one of it with its partners | verdict by `derive_stance`, effect, comparator, sentence |
| no difference from placebo or nothing | `contradicts`, as readers of single drugs had it |
| the drug was another's comparator and nothing is stated of it | `neutral` |
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from willowbark.tools.appraisal.stance import DrugStance, derive_stance
from willowbark.tools.reading.fields import FIELDS
from willowbark.tools.records.study import Arm, Comparison, StatedView, Study, StudyPassage

TARGETS = frozenset({"treat_target", "prevent_target"})
_VERDICTS = {"missed": "contradicts", "comparator": "neutral", "combined": "neutral"}
_EFFECTS = {("arm", True): "better", ("neither", False): "no_difference", ("versus", True): "worse"}
_COMPARATORS = {
    "placebo": "placebo",
    "none": "none",
    "usual_care": "none",
    "background_alone": "none",
    "other_dose": "dose",
    "active": "active",
    "other_treatment": "active",
}
"""Readers of single drugs called a gain in a drug's own arm a comparison with another arm, if there was one."""
_DESIGNS = {"review": "narrative_review", "meta_analysis": "systematic_review"}


class DrugLabel(NamedTuple):
    """What a study's label says of a drug in a condition, in the form of labels of single drugs."""

    drug: str
    condition: str
    values: Mapping[str, str]
    """Values of `FIELDS`; those that the study does not tell are absent."""
    start: int | None
    """Where the sentence that carries the verdict starts; None if none does."""
    is_sure: bool


def list_drug_labels(label: Mapping[str, Any]) -> Iterator[DrugLabel]:
    """Yield what a study's label says of each of its drugs in each condition that the study is to treat or prevent."""
    targets = [row["name"] for row in label["conditions"] if row["role"] in TARGETS]
    study = make_study(label)
    for target in targets:
        for drug in label["drugs"]:
            if drug["role"] in FIELDS["role"]:
                yield _make_drug_label(label, study, drug, target)


def _make_drug_label(label: Mapping[str, Any], study: Study, drug: Mapping[str, Any], target: str) -> DrugLabel:
    def applies(row: Comparison | StatedView) -> bool:
        return row.condition in (None, target)

    stance = derive_stance(study, drug["name"], applies)
    values = {"role": drug["role"], "verdict": _tell_verdict(stance)}
    if drug["alone"] is not None:
        values["alone"] = "alone" if drug["alone"] else "not_alone"
    row = stance.comparison
    if row is not None:
        values |= _describe_comparison(label, row, stance.says)
    passage = row.passage if row is not None else stance.view and stance.view.passage
    start = passage.start if passage and values["verdict"] != "none" else None
    return DrugLabel(drug["name"], target, values, start, label["sure"] == 1)


def _tell_verdict(stance: DrugStance) -> str:
    says = stance.of_combination if stance.says == "combined" else stance.says
    return _VERDICTS.get(says, says)


def _describe_comparison(label: Mapping[str, Any], row: Comparison, says: str) -> dict[str, str]:
    """Return the fields of the comparison that decides; it is another drug's where the drug was its comparator."""
    if says == "comparator":
        return {"comparator": "active", "kind": row.endpoint}
    values: dict[str, str] = {"kind": row.endpoint}
    effect = _EFFECTS.get((row.favours or "", bool(row.significant)))
    if effect:
        values["effect"] = effect
    kind = _find_kind(label["comparisons"], row)
    if kind in _COMPARATORS:
        values["comparator"] = _COMPARATORS[kind]
    if row.primary and effect:
        values["primary"] = "met" if effect == "better" else "not_met"
    return values


def _find_kind(rows: Sequence[Mapping[str, Any]], row: Comparison) -> str:
    """Return with what a comparison is made, as its label says."""
    same = (other for other in rows if other["arm"] == row.arm and other["versus"] == row.versus)
    return next((str(other["versus_kind"]) for other in same), "")


def make_study(label: Mapping[str, Any]) -> Study:
    """Return a label of a study as the type that rules read; passages have places and no text."""
    return Study(
        key=label["record"],
        reader="person",
        version="label",
        aim=label["aim"],
        design=_DESIGNS.get(label["design"], label["design"]),
        people=", ".join(label["people"]),
        background=tuple(drug["name"] for drug in label["drugs"] if drug["role"] == "background"),
        arms=tuple(Arm(name=arm["name"], role=arm["role"], drugs=tuple(arm["drugs"])) for arm in label["arms"]),
        comparisons=tuple(_make_comparison(row) for row in label["comparisons"]),
        statements=tuple(_make_statement(row) for row in label["statements"]),
    )


def _make_comparison(row: Mapping[str, Any]) -> Comparison:
    names = ("arm", "versus", "against", "endpoint", "primary", "condition", "favours", "significant", "equivalence")
    values = {name: row[name] for name in (*names, "basis")}
    subgroup = "a part of the people" if row["subgroup"] else None
    return Comparison.model_validate({**values, "subgroup": subgroup, "passage": _make_passage(row["sentences"])})


def _make_statement(row: Mapping[str, Any]) -> StatedView:
    values = {name: row[name] for name in ("drug", "says", "basis", "condition")}
    return StatedView.model_validate({**values, "passage": _make_passage(row["sentences"])})


def _make_passage(spans: Sequence[Sequence[int]]) -> StudyPassage | None:
    return StudyPassage(text="-", start=spans[0][0], end=spans[0][1]) if spans else None
