"""What a study says of a drug follows from its comparisons and statements."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.appraisal.stance import DECIDED, derive_stance, is_against_nothing
from willowbark.tools.records.study import Arm, Comparison, Estimate, StatedView, Study, StudyPassage

ARMS = (
    Arm(name="A", role="drug", drugs=("drug a",)),
    Arm(name="A and B", role="drug", drugs=("drug a", "drug b")),
    Arm(name="B", role="drug", drugs=("drug b",)),
    Arm(name="placebo", role="placebo"),
    Arm(name="untreated", role="none"),
    Arm(name="TM-917", role="unknown"),
)
NAMES = [arm.name for arm in ARMS]
DRUGS = ["drug a", "drug b"]


def compare(arm: str, versus: str | None, favours: Any, significant: bool | None = True, **more: Any) -> Comparison:
    fields = {"against": "arm" if versus else "baseline", "endpoint": "efficacy", **more}
    return Comparison(arm=arm, versus=versus, favours=favours, significant=significant, **fields)


def state(drug: str, says: Any, **more: Any) -> StatedView:
    return StatedView(drug=drug, says=says, basis="judgement", passage=StudyPassage(text=f"{drug}."), **more)


B = ("drug b",)
CITED = state("drug b", "works").model_copy(update={"basis": "cited"})
MARKER = compare("A", "placebo", "arm", endpoint="surrogate")
AFTER_RUN_IN = compare("A", None, "arm", against="baseline_on_drug")


def build(*comparisons: Comparison, **more: Any) -> Study:
    fields = {"aim": "treat", "arms": ARMS, **more}
    return Study(key="pmid:1", reader="person", version="1", comparisons=comparisons, **fields)


TABLE: list[tuple[str, Study, str, str]] = [
    ("better than placebo", build(compare("A", "placebo", "arm")), "drug a", "supports"),
    ("better than nothing, figures untold", build(compare("A", "untreated", "arm", None)), "drug a", "supports"),
    ("no difference from placebo", build(compare("A", "placebo", "neither", False)), "drug a", "missed"),
    (
        "the same, by an interval that excludes a benefit that matters",
        build(compare("A", "placebo", "neither", False, estimate=Estimate(measure="RR", value=1, low=0.95, high=1.1))),
        "drug a",
        "contradicts",
    ),
    (
        "the same, by an interval that includes one",
        build(compare("A", "placebo", "neither", False, estimate=Estimate(measure="RR", value=1, low=0.7, high=1.4))),
        "drug a",
        "missed",
    ),
    (
        "the same, and called ineffective",
        build(compare("A", "placebo", "neither", False), statements=(state("drug a", "does_not_work"),)),
        "drug a",
        "contradicts",
    ),
    ("a marker in patients, of mechanism", build(MARKER, aim="mechanism", design="rct"), "drug a", "supports"),
    ("the same in cells", build(MARKER, aim="mechanism", design="in_vitro"), "drug a", "none"),
    (
        "the same in healthy people",
        build(MARKER, aim="mechanism", design="rct", people="healthy volunteers"),
        "drug a",
        "none",
    ),
    (
        "an untold outcome before a secondary one",
        build(compare("A", "placebo", "neither", False, primary=False), compare("A", "placebo", "arm")),
        "drug a",
        "supports",
    ),
    ("worse than placebo", build(compare("A", "placebo", "versus")), "drug a", "contradicts"),
    ("better than another drug", build(compare("A", "B", "arm")), "drug a", "supports"),
    ("its comparator", build(compare("A", "B", "arm")), "drug b", "comparator"),
    ("the comparator that won", build(compare("A", "B", "versus")), "drug b", "comparator"),
    ("worse than another drug", build(compare("A", "B", "versus")), "drug a", "neutral"),
    ("no difference from another drug", build(compare("A", "B", "neither", False)), "drug a", "neutral"),
    (
        "both called effective",
        build(compare("A", "B", "neither", False), statements=(state("drug a", "works"), state("drug b", "works"))),
        "drug b",
        "supports",
    ),
    ("equivalence shown", build(compare("A", "B", "neither", False, equivalence="shown")), "drug a", "supports"),
    ("called as effective", build(compare("A", "B", "neither", False, equivalence="claimed")), "drug a", "supports"),
    ("the comparator of it", build(compare("A", "B", "neither", False, equivalence="claimed")), "drug b", "comparator"),
    (
        "one outcome of its own arm unchanged, and called effective",
        build(compare("A", None, "neither", False), statements=(state("drug a", "works"),)),
        "drug a",
        "supports",
    ),
    ("what a trial cites of another drug", build(design="rct", statements=(CITED,)), "drug b", "none"),
    ("what a review cites", build(design="narrative_review", statements=(CITED,)), "drug b", "supports"),
    (
        "called effective in cells",
        build(aim="mechanism", design="in_vitro", statements=(state("drug a", "works"),)),
        "drug a",
        "none",
    ),
    ("no different from an unknown name", build(compare("A", "TM-917", "neither", False)), "drug a", "neutral"),
    ("added to what all take", build(compare("A and B", "B", "arm")), "drug a", "supports"),
    ("the partner", build(compare("A and B", "placebo", "arm")), "drug b", "combined"),
    ("what all take", build(compare("A and B", "B", "arm")), "drug b", "neutral"),
    ("its own gain", build(compare("A", None, "arm")), "drug a", "supports"),
    (
        "its own gain after a run-in on it",
        build(AFTER_RUN_IN),
        "drug a",
        "neutral",
    ),
    ("harm alone", build(compare("A", "placebo", "versus", endpoint="harm")), "drug a", "neutral"),
    (
        "a marker in a study of kinetics",
        build(MARKER, aim="mechanism"),
        "drug a",
        "none",
    ),
    ("a protocol", build(), "drug a", "none"),
    (
        "the primary outcome missed, a secondary met",
        build(compare("A", "placebo", "arm"), compare("A", "placebo", "neither", False, primary=True)),
        "drug a",
        "missed",
    ),
    (
        "a subgroup alone gained",
        build(compare("A", "placebo", "arm", subgroup="men"), compare("A", "placebo", "neither", False)),
        "drug a",
        "missed",
    ),
    (
        "what all take, called effective",
        build(compare("A and B", "B", "arm"), background=("drug b",), statements=(state("drug b", "works"),)),
        "drug b",
        "combined",
    ),
    (
        "what all take, called ineffective",
        build(compare("A and B", "B", "arm"), background=("drug b",), statements=(state("drug b", "does_not_work"),)),
        "drug b",
        "none",
    ),
    ("its gain where an arm had no more than it", build(compare("B", None, "arm"), background=B), "drug b", "supports"),
    ("the same, by what all take", build(compare("untreated", None, "arm"), background=B), "drug b", "supports"),
    ("more of what all take", build(compare("B", "untreated", "arm"), background=B), "drug b", "supports"),
    (
        "better than another drug in one outcome, worse in another",
        build(compare("A", "B", "arm", outcome="healing"), compare("A", "B", "versus", outcome="relapse")),
        "drug a",
        "neutral",
    ),
    (
        "its own arm changed in one outcome unclearly, in another not",
        build(compare("A", None, None, None), compare("A", None, "neither", False)),
        "drug a",
        "neutral",
    ),
    (
        "a secondary outcome without difference, and called effective",
        build(compare("A", "placebo", "neither", False, primary=False), statements=(state("drug a", "works"),)),
        "drug a",
        "supports",
    ),
    (
        "the primary outcome without difference, and called effective",
        build(compare("A", "placebo", "neither", False, primary=True), statements=(state("drug a", "works"),)),
        "drug a",
        "missed",
    ),
    (
        "alone before added to another",
        build(compare("A and B", "B", "neither", False), compare("A", "placebo", "arm", endpoint="surrogate")),
        "drug a",
        "supports",
    ),
    (
        "the control of a study of markers",
        build(compare("A", "B", "arm", endpoint="surrogate"), aim="other"),
        "drug b",
        "none",
    ),
    ("process alone", build(compare("A", "B", "arm", endpoint="process")), "drug a", "none"),
    ("a hedged gain", build(compare("A", "placebo", "arm", hedged=True)), "drug a", "neutral"),
]


@pytest.mark.parametrize(("study", "drug", "says"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_stance_follows_by_the_table(study: Study, drug: str, says: str) -> None:
    assert derive_stance(study, drug).says == says


def test_what_is_on_another_condition_says_nothing() -> None:
    view = state("drug a", "works", condition="ulcers")
    study = build(compare("A", "placebo", "arm", condition="ulcers"), statements=(view,))
    stance = derive_stance(study, "drug a", lambda part: part.condition != "ulcers")
    assert stance.says == "none"


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    arm = draw(st.sampled_from(NAMES[:3]))
    others = [name for name in NAMES if name != arm]
    return compare(
        arm,
        draw(st.sampled_from([None, *others])),
        draw(st.sampled_from(["arm", "versus", "neither", None])),
        draw(st.sampled_from([True, False, None])),
        endpoint=draw(st.sampled_from(["efficacy", "surrogate", "harm", "process"])),
        primary=draw(st.sampled_from([True, False, None])),
        subgroup=draw(st.sampled_from([None, "men"])),
        equivalence=draw(st.sampled_from([None, "shown", "claimed", "not_shown"])),
    )


@given(st.lists(comparisons(), max_size=6), st.sampled_from(DRUGS))
def test_what_decides_is_one_comparison_of_the_drug_alone(made: list[Comparison], drug: str) -> None:
    study = build(*made)
    stance = derive_stance(study, drug)
    if stance.says in DECIDED:
        assert stance.comparison in made
        assert study.contrast_of(stance.comparison) == {drug}


@given(st.lists(comparisons(), max_size=6), st.sampled_from(["arm", "versus", "neither"]))
def test_a_comparator_is_never_credited_by_the_others_result(made: list[Comparison], favours: str) -> None:
    own = [row for row in made if "drug b" not in build(row).contrast_of(row)]
    other = [row.model_copy(update={"favours": favours}) for row in own]
    first = derive_stance(build(*own), "drug b").says
    assert first == derive_stance(build(*other), "drug b").says
    assert first not in DECIDED


@given(comparisons())
def test_an_unknown_name_is_never_taken_for_placebo(row: Comparison) -> None:
    assert not (row.versus == "TM-917" and is_against_nothing(build(row), row))
