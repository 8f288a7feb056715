"""What a study says of a drug: it follows from arms, comparisons and statements, and is never predicted beside them.

| the drug | its comparison | says |
|---|---|---|
| alone in the contrast, against placebo, nothing, usual care or the same background | better | supports |
| the same | no difference, and the authors say that it does not work | contradicts |
| the same | no difference, by an interval that excludes a change by a tenth | contradicts |
| the same | no difference | missed |
| the same | worse | contradicts |
| alone in the contrast, against another drug or an unknown arm | better; equivalence shown, or claimed | supports |
| the same | no difference, worse | neutral, unless the authors state that it works, or does not |
| in its own arm, against before or untold | better, significant or called effective | supports, if no other decides |
| the same | no difference, worse | contradicts, if no other decides and the authors do not say that it works |
| in the contrast with partners | any | combined, unless the authors state that the drug itself works |
| in the other arm | any | comparator, unless the authors state that it works |
| in no contrast | the authors state that it works, or that it does not | supports, contradicts |
| taken by all arms | the authors state that it works | combined, unless an arm had no more than it |
| the same | any other | none |
| more of it, or earlier, in one of the arms that all take it | as above | as above |
| none of these | – | none |

A comparison with another arm decides before one with baseline, everybody before a subgroup, the primary outcome before
others, efficacy before surrogates. Of comparisons of one rank the first that decides counts, as a study lists its
deciding one first; none does where the drug was better than one arm in one outcome and worse than it in another, nor
where its own arm changed in one outcome unclearly and in another not at all. An arm of the drug alone decides before
one that adds it to others. Where a secondary outcome alone shows no difference, the authors' statement decides. In
studies of harm, cost or use, surrogates say nothing; in those of mechanism in patients or animals, only those that
decide do, and in cells nothing does. What a study of its own data cites of others says nothing: only reviews speak
for others. What is disputed decides nothing. A comparator is never credited or blamed by another drug's
result.
"""

import re
from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel

from ..reading.numbers import RATIOS
from ..records.study import Comparison, Estimate, StatedView, Study

Says = Literal["supports", "contradicts", "missed", "neutral", "combined", "comparator", "none"]
"""`missed`: no difference from placebo or nothing was shown, which refutes nothing. `none`: nothing is said of its
efficacy."""
DECIDED: frozenset[Says] = frozenset({"supports", "contradicts", "missed"})
LEAST_BENEFIT = 0.9
"""Ratio from which on a change is too small to matter in any outcome; TOPCAT (0.77 to 1.04) refutes nothing."""
INERT_ROLES = frozenset({"placebo", "none", "usual_care"})
_PRIMARY_ORDER = (True, None, False)
"""Primary outcomes decide first, then those of which it is not told, then secondary ones."""
_OF_EFFICACY = frozenset({"efficacy", "surrogate"})
_ON_EFFICACY = frozenset({"treat", "prevent"})
_HEALTHY = re.compile(r"\bhealthy\b|\bvolunteers?\b", re.IGNORECASE)
_IN_LIVING = frozenset({"rct", "rct_blinded", "rct_open", "cohort", "animal", "in_vivo"})
"""Designs in which a marker is measured in people or animals."""
_OF_OTHERS = frozenset({"systematic_review", "narrative_review", "guideline", "review", "other", "unknown"})
"""Designs whose authors may speak for other people's studies; `review` and `other` are words of labels."""
_EQUAL = frozenset({"shown", "claimed"})
_STATED: dict[str, Says] = {
    "works": "supports",
    "give": "supports",
    "does_not_work": "contradicts",
    "not_shown": "neutral",
}


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
    of_combination: Says = "none"
    """What the comparison says of the drug and its partners together; `none` unless the drug is combined."""


Applies = Callable[[Comparison | StatedView], bool]


def _apply_always(_: Comparison | StatedView) -> bool:
    return True


def derive_stance(study: Study, drug: str, applies: Applies = _apply_always) -> DrugStance:
    """Derive what a study says of a drug, by the table above.

    Args:
        study: as it was read.
        drug: generic name in lower case.
        applies: whether a comparison or statement is on the condition and aim asked about; by default all are.
    """
    stance = _derive_from_parts(study, drug, applies)
    is_off_aim = (study.aim or "treat") not in _ON_EFFICACY and stance.view is None
    is_undecided = stance.says in ("neutral", "comparator")
    if is_off_aim and is_undecided and stance.comparison and stance.comparison.endpoint == "surrogate":
        return stance.model_copy(update={"says": "none"})
    return stance


def _derive_from_parts(study: Study, drug: str, applies: Applies) -> DrugStance:
    applying = [row for row in study.comparisons if not row.disputed and applies(row)]
    rows = [row for row in applying if _is_of_efficacy(study, row)]
    own = [row for row in rows if drug in study.contrast_of(row) and study.arm(row.arm).role != "placebo"]
    alone = [row for row in own if study.contrast_of(row) == {drug}]
    view = None if drug in study.background else _find_view(study, drug, applies)
    between = _decide(study, drug, [row for row in alone if row.against == "arm"])
    if between is not None and between.says in DECIDED and not _is_secondary_alone(between, view):
        return between
    within = _decide(study, drug, [row for row in alone if row.against != "arm"])
    if within is not None and within.says in DECIDED and not _is_overruled(within, view):
        return within
    if view is not None:
        return DrugStance(drug=drug, says=_STATED[view.says], view=view)
    undecided = between or within
    if undecided is not None:
        return undecided
    joined = _decide(study, drug, [row for row in own if row not in alone])
    if joined is not None:
        return joined.model_copy(update={"says": "combined", "of_combination": joined.says})
    compared = [row for row in rows if drug in study.drugs_of(row.versus) - study.drugs_of(row.arm)]
    if compared:
        return DrugStance(drug=drug, says="comparator", comparison=compared[0])
    if drug in study.background:
        return _say_of_background(study, drug, applies)
    arms: set[str] = set()
    for row in applying:
        if row.endpoint != "process":
            arms |= {name for name in (row.arm, row.versus) if name}
    treated = [name for name in arms if study.arm(name).role != "placebo"]
    is_compared = any(drug in study.drugs_of(name) for name in treated)
    return DrugStance(drug=drug, says="neutral" if is_compared and (study.aim or "treat") in _ON_EFFICACY else "none")


def _is_secondary_alone(stance: DrugStance, view: StatedView | None) -> bool:
    """Whether no difference was found in a secondary outcome alone, where the authors state what they found."""
    row = stance.comparison
    return stance.says == "missed" and row is not None and row.primary is False and view is not None


def _is_overruled(stance: DrugStance, view: StatedView | None) -> bool:
    """Whether the authors call a drug effective of whose own arm one outcome did not change."""
    return stance.says == "contradicts" and view is not None and _STATED[view.says] == "supports"


def _is_of_efficacy(study: Study, row: Comparison) -> bool:
    """Whether a comparison is on what the drug is given for; in a study of harm or kinetics, on efficacy itself."""
    aim = row.aim or study.aim or "treat"
    is_measured = study.design in _IN_LIVING and not _HEALTHY.search(study.people)
    is_of_marker = aim in _ON_EFFICACY or (aim == "mechanism" and is_measured)
    return row.endpoint == "efficacy" or (row.endpoint in _OF_EFFICACY and is_of_marker)


def _find_view(study: Study, drug: str, applies: Applies) -> StatedView | None:
    """Find the first statement on a drug's efficacy; those on harm alone, or in cells, say nothing of it."""
    if study.aim == "mechanism" and study.design == "in_vitro":
        return None
    for view in study.statements:
        is_own = view.basis != "cited" or study.design in _OF_OTHERS
        if view.drug == drug and view.says in _STATED and is_own and not view.disputed and applies(view):
            return view
    return None


def _say_of_background(study: Study, drug: str, applies: Applies) -> DrugStance:
    """Say of a drug that all arms take that its authors call it effective with the others; it is never blamed."""
    view = _find_view(study, drug, applies)
    if view is None or _STATED[view.says] != "supports":
        return DrugStance(drug=drug, says="none")
    return DrugStance(drug=drug, says="combined", of_combination="supports")


def is_against_nothing(study: Study, row: Comparison) -> bool:
    """Whether a comparison is with placebo, nothing, usual care, or with what the drug's own arm takes beside it.

    An arm of an unknown kind is active.
    """
    if row.versus is None:
        return False
    other = study.arm(row.versus)
    if other.role in INERT_ROLES:
        return True
    return other.role == "drug" and bool(other.drugs) and study.drugs_of(row.versus) < study.drugs_of(row.arm)


def _decide(study: Study, drug: str, rows: list[Comparison]) -> DrugStance | None:
    """Let the comparisons of the first rank decide; None if there is none."""
    if not rows:
        return None
    best = min(_rank(study, row) for row in rows)
    first = [row for row in rows if _rank(study, row) == best]
    stances = [_judge(study, drug, row) for row in first]
    if _is_mixed_within(first) or _is_mixed_between(first):
        return stances[0].model_copy(update={"says": "neutral"})
    # Of comparisons with equal rank one that decides is enough.
    return next((stance for stance in stances if stance.says in DECIDED), stances[0])


def _is_mixed_within(rows: list[Comparison]) -> bool:
    """Whether a drug's own arm changed in one outcome unclearly and in another not at all: neither decides."""
    favours = {row.favours for row in rows}
    return all(row.against != "arm" for row in rows) and None in favours and "arm" not in favours


def _is_mixed_between(rows: list[Comparison]) -> bool:
    """Whether an arm was better than another one in one outcome, and worse than it in another of the same rank."""
    between = [row for row in rows if row.against == "arm" and row.endpoint == "efficacy"]
    decided = {(row.versus, row.favours) for row in between if row.significant is not False}
    return any((other, "versus") in decided for other, favours in decided if favours == "arm")


def _rank(study: Study, row: Comparison) -> tuple[bool, int, bool, bool]:
    """Order comparisons by how much they decide, the first most."""
    return (
        row.subgroup is not None,
        _PRIMARY_ORDER.index(row.primary),
        len(study.drugs_of(row.arm)) > 1,
        row.endpoint != "efficacy",
    )


def _judge(study: Study, drug: str, row: Comparison) -> DrugStance:
    """Judge one comparison whose first arm has the drug and whose other arm has not."""
    is_inert = is_against_nothing(study, row)
    if is_inert:
        says = _judge_against_nothing(study, drug, row)
    elif row.against == "arm":
        says = _judge_against_active(row)
    else:
        says = _judge_within(row)
    return DrugStance(drug=drug, says=says, comparison=row, is_against_nothing=is_inert)


def _judge_against_nothing(study: Study, drug: str, row: Comparison) -> Says:
    if row.favours is None:
        return "neutral"
    if row.favours == "arm" and row.significant is not False:
        return "neutral" if row.hedged else "supports"
    if row.favours == "versus" and row.significant is not False:
        return "contradicts"
    return "contradicts" if _is_called_ineffective(study, drug) or _rules_out_benefit(row.estimate) else "missed"


def _rules_out_benefit(estimate: Estimate | None) -> bool:
    """Whether an interval of a ratio excludes a change by a tenth, in whichever direction is better."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return False
    is_ratio = estimate.measure in RATIOS or "ratio" in estimate.measure.lower()
    return is_ratio and estimate.low >= LEAST_BENEFIT and estimate.high <= 1 / LEAST_BENEFIT


def _is_called_ineffective(study: Study, drug: str) -> bool:
    return any(view.drug == drug and view.says == "does_not_work" for view in study.statements)


def _judge_against_active(row: Comparison) -> Says:
    is_better = row.favours == "arm" and row.significant is not False
    if (is_better and not row.hedged) or row.equivalence in _EQUAL:
        return "supports"
    return "neutral"


def _judge_within(row: Comparison) -> Says:
    """Judge a drug's gain in its own arm; after a run-in on the drug, it says nothing."""
    if row.against == "baseline_on_drug" or row.favours is None:
        return "neutral"
    if row.favours == "arm" and row.significant is not False:
        return "neutral" if row.hedged else "supports"
    return "contradicts" if row.significant is not None else "neutral"
