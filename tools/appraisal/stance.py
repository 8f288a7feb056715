"""What a study says of a drug: it follows from arms, comparisons and statements, and is never predicted beside them.

| the drug | its comparison | says |
|---|---|---|
| alone in the contrast, against placebo, nothing, usual care or the same background | better | supports |
| the same | no difference, and the authors say that it does not work | contradicts |
| the same | no difference | missed |
| the same | worse | contradicts |
| alone in the contrast, against another drug or an unknown arm | better; equivalence shown or claimed | supports |
| the same | no difference, worse | neutral |
| in the contrast with partners | any | combined |
| in the other arm, or given for comparison | any | comparator |
| in its own arm against before | better, significant or called effective | supports, if nothing stronger decides |
| in no contrast | the authors state that it works, or that it does not | supports, contradicts |
| none of these | – | none |

The primary outcome decides before others, efficacy before surrogates, everybody before a subgroup, the drug alone
before combinations. Comparisons of one rank that disagree are mixed. A comparator is never credited or blamed by
another drug's result.
"""

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel

from ..records.study import Comparison, StatedView, Study

Says = Literal["supports", "contradicts", "missed", "neutral", "mixed", "combined", "comparator", "none"]
"""`missed`: no difference from placebo or nothing was shown, which refutes nothing. `none`: nothing is said of its
efficacy."""
DECIDING: frozenset[Says] = frozenset({"supports", "contradicts", "missed", "neutral"})
INERT_ROLES = frozenset({"placebo", "none", "usual_care"})
_OF_EFFICACY = frozenset({"efficacy", "surrogate"})


class DrugStance(BaseModel, frozen=True, extra="forbid"):
    """What one study says of one drug, and the part of it that says so."""

    drug: str
    says: Says
    comparison: Comparison | None = None
    """The comparison that decides; None if a statement does, or nothing."""
    view: StatedView | None = None
    """The statement that decides; None if a comparison does, or nothing."""
    is_against_nothing: bool = False
    """Whether the deciding comparison is with placebo, nothing, usual care or the same background."""


Applies = Callable[[Comparison | StatedView], bool]


def _apply_always(_: Comparison | StatedView) -> bool:
    return True


def stance_of(study: Study, drug: str, applies: Applies = _apply_always) -> DrugStance:
    """Derive what a study says of a drug, by the table above.

    Args:
        study: as it was read.
        drug: generic name in lower case.
        applies: whether a comparison or statement is on the condition and aim asked about; by default all are.
    """
    rows = [row for row in study.comparisons if row.endpoint in _OF_EFFICACY and applies(row)]
    own = [row for row in rows if drug in study.contrast_of(row)]
    decided = [_judge_comparison(study, drug, row) for row in own]
    alone = [stance for stance in decided if stance.says in DECIDING]
    stance = _combine(study, alone)
    if stance is not None:
        return stance
    view = _find_view(study, drug, applies)
    if view is not None:
        return DrugStance(drug=drug, says=_SAID[view.says], view=view)
    combined = [stance for stance in decided if stance.says == "combined"]
    if combined:
        return combined[0]
    compared = [row for row in rows if drug in study.drugs_of(row.versus) - study.drugs_of(row.arm)]
    if compared:
        return DrugStance(drug=drug, says="comparator", comparison=compared[0])
    return DrugStance(drug=drug, says="none")


_SAID: dict[str, Says] = {
    "works": "supports",
    "give": "supports",
    "does_not_work": "contradicts",
    "not_shown": "neutral",
}


def _find_view(study: Study, drug: str, applies: Applies) -> StatedView | None:
    """Find the first statement on a drug's efficacy; those on harm alone say nothing of it."""
    for view in study.statements:
        if view.drug == drug and view.says in _SAID and applies(view):
            return view
    return None


def _judge_comparison(study: Study, drug: str, row: Comparison) -> DrugStance:
    """Judge a comparison whose first arm has the drug and whose other arm has not."""
    if study.contrast_of(row) != {drug}:
        return DrugStance(drug=drug, says="combined", comparison=row)
    is_inert = is_against_nothing(study, row)
    says = _judge_against_nothing(study, drug, row) if is_inert else _judge_against_active(row)
    return DrugStance(drug=drug, says=says, comparison=row, is_against_nothing=is_inert)


def is_against_nothing(study: Study, row: Comparison) -> bool:
    """Whether a comparison is with placebo, nothing, usual care, or with what the drug's own arm takes beside it.

    An arm of an unknown kind is active.
    """
    if row.versus is None:
        return False
    other = study.arm(row.versus)
    if other.role in INERT_ROLES:
        return True
    return other.role == "drug" and study.drugs_of(row.versus) < study.drugs_of(row.arm)


def _judge_against_nothing(study: Study, drug: str, row: Comparison) -> Says:
    if row.favours is None:
        return "neutral"
    if row.favours == "arm" and row.significant is not False:
        return "neutral" if row.hedged else "supports"
    if row.favours == "versus" and row.significant is not False:
        return "contradicts"
    if row.equivalence in ("shown", "claimed"):
        return "neutral"
    return "contradicts" if _is_said_to_fail(study, drug) else "missed"


def _is_said_to_fail(study: Study, drug: str) -> bool:
    return any(view.drug == drug and view.says == "does_not_work" for view in study.statements)


def _judge_against_active(row: Comparison) -> Says:
    if row.against == "baseline_on_drug":
        return "neutral"
    if row.favours == "arm" and row.significant is not False:
        return "neutral" if row.hedged else "supports"
    is_single = row.against == "baseline"
    if is_single and row.favours == "versus" and row.significant is not False:
        return "contradicts"
    if row.equivalence in ("shown", "claimed"):
        return "supports"
    return "neutral"


def _rank(study: Study, row: Comparison) -> tuple[bool, bool, bool, bool]:
    """Order comparisons by how much they decide, the first most."""
    return (
        row.subgroup is not None,
        row.primary is not True,
        row.endpoint != "efficacy",
        row.against != "arm",
    )


def _combine(study: Study, stances: list[DrugStance]) -> DrugStance | None:
    """Combine the drug's comparisons: those of the first rank decide; None if there is none."""
    rows = [stance for stance in stances if stance.comparison is not None]
    if not rows:
        return None
    best = min(_rank(study, stance.comparison) for stance in rows if stance.comparison)
    first = [stance for stance in rows if stance.comparison and _rank(study, stance.comparison) == best]
    said = {stance.says for stance in first}
    if "supports" in said and said & {"contradicts", "missed"}:
        return first[0].model_copy(update={"says": "mixed"})
    for word in ("supports", "contradicts", "missed"):
        for stance in first:
            if stance.says == word:
                return stance
    return first[0]
