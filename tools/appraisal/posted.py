"""What a registered trial's posted results say of a drug, from the trial read as a `Study`.

Only randomised trials of treatment or prevention are decided, by their primary outcomes. Significantly better than
placebo, nothing or the same background supports; so does better than, or not inferior to, another drug. Significantly
worse than placebo or nothing contradicts. Not significant is "missed its primary outcome", which refutes nothing: the
interval may include a benefit. `derive_stance` has the table for one comparison. Of several doses or comparators on one
outcome, one that holds suffices; all outcomes have to agree, else they are mixed; and since all of a trial's primary
analyses are at hand, one that cannot be read keeps the others from deciding.

Stopping for benefit is no evidence by itself, since such trials overstate effects
(https://doi.org/10.1001/jama.2010.310); posted results are used instead.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from ..lexicon.matching import stems
from ..reading.reading import Comparator, Direction, Effect, Primary, QuotedPassage, Reading, Role, Value
from ..reading.registered import read_registered_trial
from ..reading.registered_arms import find_role
from ..records import PostedResults
from ..records.evidence import Evidence
from ..records.study import Comparison, Study
from .stance import DrugStance, derive_stance

PostedVerdict = Literal["supports", "contradicts", "missed", "mixed", "neutral", "combined", "comparator", "none"]
"""As `stance.Says`; `mixed`: primary outcomes that disagree."""
_INERT = "placebo or no treatment"
_DIRECTIONS: Mapping[PostedVerdict, Direction] = {
    "supports": Direction.supports,
    "contradicts": Direction.contradicts,
    "missed": Direction.inconclusive,
    "mixed": Direction.inconclusive,
    "neutral": Direction.inconclusive,
}
_EFFECTS: Mapping[PostedVerdict, Effect] = {
    "supports": "better",
    "contradicts": "worse",
    "missed": "no_difference",
    "mixed": "mixed",
    "neutral": "mixed",
}
_PRIMARY: Mapping[PostedVerdict, Primary] = {"supports": "met", "contradicts": "not_met", "missed": "not_met"}
_COMPARATORS: Mapping[str, Comparator] = {"placebo": "placebo", "none": "none", "usual_care": "none"}


class SeriousEvents(BaseModel, frozen=True, extra="forbid"):
    """Number of participants with serious adverse events in a group, without claiming that the drug caused them."""

    group: str
    affected: int
    at_risk: int | None = None
    """None: not reported."""


class PostedFinding(BaseModel, frozen=True, extra="forbid"):
    """Finding on a drug from a trial's posted results."""

    direction: Direction
    reason: str
    """Reason for the direction, in words for the report."""
    sentence: str = ""
    """The posted analysis it is based on, as in the record's text; empty if none could be read."""
    outcome: str | None = None
    """Title of that analysis' outcome; None if none could be read."""
    against_nothing: bool | None = None
    """Whether the comparator was placebo or no treatment; None if no analysis could be read."""
    missed_primary: bool = False
    """Whether no difference from placebo or no treatment was shown on the primary outcome."""
    participants: int | None = None
    """People in both groups of that analysis; None if not posted or none could be read."""
    estimate: str = ""
    """That analysis' figures, as in the sentence; empty if it has none."""
    serious_events: list[SeriousEvents] = []


class PostedStance(NamedTuple):
    """What a trial's comparisons say of a drug together, and the one that decides."""

    says: PostedVerdict
    comparison: Comparison | None = None
    is_against_nothing: bool = False


def find_posted_result(record: Evidence, drug: str, names: Sequence[str] = ()) -> PostedFinding | None:
    """Read a trial's posted results for a drug by its generic name; None if none are posted.

    Args:
        record: any record.
        drug: generic name in lower case.
        names: of the condition asked about; without any, an outcome on another condition than the trial's decides
            nothing.
    """
    if record.trial is None or record.trial.results is None:
        return None
    study = read_registered_trial(record)
    stance = _find_stance(study, drug, names) if study else None
    return _make_finding(record, study, drug, stance) if study else None


def make_registered_reading(
    record: Evidence, drug: str, condition: str, names: Sequence[str] = ()
) -> tuple[Reading, PostedFinding | None]:
    """Make the reading of a registered trial, with the posted results it is based on; None if none are posted."""
    results = record.trial.results if record.trial else None
    study = read_registered_trial(record) if results is not None else None
    stance = _find_stance(study, drug, names or (condition,)) if study else None
    posted = _make_finding(record, study, drug, stance) if study else None
    is_decided = posted is not None and posted.direction is not Direction.not_assessed
    row = stance.comparison if stance else None
    is_rival = stance is not None and stance.says == "comparator"
    role, alone = _find_role(record, drug, is_decided=is_decided, is_rival=is_rival)
    participants = record.trial.enrollment if record.trial else None
    facts: dict[str, Any] = {}
    if is_decided and study and stance and row and posted:
        participants = posted.participants
        facts = _list_facts(study, stance, row, record)
    elif is_rival:
        facts = {"comparator": "active"}
    reading = Reading(
        key=record.key,
        drug=drug,
        condition=condition,
        role=role,
        alone=alone,
        kind="efficacy" if is_decided else "none",
        design="rct" if is_decided else "protocol",
        participants=participants,
        reader="posted",
        version="2",
        **facts,
    )
    return reading, posted


def find_posted_stance(record: Evidence, drug: str, names: Sequence[str]) -> tuple[Study, DrugStance] | None:
    """Return a registered trial as a study, and what it says of a drug; None if the record is no trial."""
    study = read_registered_trial(record)
    if study is None:
        return None
    stance = _find_stance(study, drug, names)
    says = "neutral" if stance.says == "mixed" else stance.says
    inert = stance.is_against_nothing
    return study, DrugStance(drug=drug, says=says, comparison=stance.comparison, is_against_nothing=inert)


def _find_role(record: Evidence, drug: str, *, is_decided: bool, is_rival: bool) -> tuple[Role, bool]:
    if is_rival:
        return "comparator", True
    if is_decided or record.trial is None:
        return "tested", True
    return find_role(record.trial, drug)


def _list_facts(study: Study, stance: PostedStance, row: Comparison, record: Evidence) -> dict[str, Any]:
    """Return the fields of a reading that come from the comparison that decides."""
    is_equivalent = stance.says == "supports" and row.favours == "neither"
    other = study.arm(row.versus) if row.versus else None
    rivals = sorted(study.drugs_of(row.versus) - study.drugs_of(row.arm)) if row.versus else []
    estimate = row.estimate.written if row.estimate else ""
    sentence = row.passage.text if row.passage else ""
    values = [Value(what="estimate", written=estimate, outcome=row.outcome, quote=sentence, section="Registry entry")]
    return {
        "comparator": _COMPARATORS.get(other.role if other else "", "none" if stance.is_against_nothing else "active"),
        "against": " and ".join(rivals) or None,
        "effect": "no_difference" if is_equivalent else _EFFECTS[stance.says],
        "non_inferior": is_equivalent,
        "primary": _PRIMARY.get(stance.says, "not_reported"),
        "passages": _locate(sentence, record),
        "values": tuple(values) if estimate else (),
    }


def _locate(sentence: str, record: Evidence) -> tuple[QuotedPassage, ...]:
    start = f"{record.citation.title}. {record.content}".find(sentence)
    if not sentence or start < 0:
        return ()
    return (QuotedPassage(text=sentence, section="Registry entry", start=start, end=start + len(sentence)),)


def read_events(groups: Iterable[Mapping[str, Any]]) -> list[SeriousEvents]:
    """Parse posted adverse events by group; groups without a readable number are left out."""
    return [
        SeriousEvents(
            group=str(group.get("group") or "group not named"),
            affected=group["affected"],
            at_risk=group["at_risk"] if type(group.get("at_risk")) is int else None,
        )
        for group in groups
        if type(group.get("affected")) is int
    ]


def _find_stance(study: Study, drug: str, names: Sequence[str]) -> PostedStance:
    """Combine what a trial's comparisons say of a drug: of efficacy, on the condition, the drug alone before
    combinations."""
    stems_of_names = [frozenset(stems(name)) for name in names]

    def is_on_condition(part: Comparison) -> bool:
        own = frozenset(stems(part.condition or ""))
        return not own or any(name and name <= own for name in stems_of_names)

    applying = [row for row in study.comparisons if row.endpoint == "efficacy" and is_on_condition(row)]
    stances = [_judge_alone(study, drug, row) for row in applying]
    alone = [stance for stance in stances if stance.says not in ("combined", "comparator", "none")]
    if alone:
        return _combine_outcomes(alone)
    others = [stance for stance in stances if stance.says != "none"]
    return min(others, key=lambda stance: stance.says != "combined", default=PostedStance("none"))


def _judge_alone(study: Study, drug: str, row: Comparison) -> PostedStance:
    """Judge one comparison as if it were the study's only one."""
    if drug not in study.drugs_of(row.arm) ^ study.drugs_of(row.versus):
        return PostedStance("none")
    stance = derive_stance(study.model_copy(update={"comparisons": (row,)}), drug)
    says = "neutral" if row.favours is None and stance.says == "missed" else stance.says
    return PostedStance(says, stance.comparison, stance.is_against_nothing)


def _combine_outcomes(stances: Sequence[PostedStance]) -> PostedStance:
    for stance in stances:
        if stance.comparison and stance.comparison.favours is None:
            return stance._replace(says="neutral")
    outcomes: dict[str, list[PostedStance]] = {}
    for stance in stances:
        outcomes.setdefault(stance.comparison.outcome if stance.comparison else "", []).append(stance)
    settled = [_settle_outcome(group) for group in outcomes.values()]
    verdicts = {stance.says for stance in settled}
    if "supports" in verdicts and len(verdicts) > 1:
        return next(stance for stance in settled if stance.says == "supports")._replace(says="mixed")
    return _find_first(settled)


def _settle_outcome(group: Sequence[PostedStance]) -> PostedStance:
    """Settle one outcome's comparisons, of doses or with several comparators: better and worse are mixed."""
    verdicts = {stance.says for stance in group}
    if {"supports", "contradicts"} <= verdicts:
        return group[0]._replace(says="mixed")
    guarded = [stance for stance in group if stance.comparison and stance.comparison.hedged]
    return guarded[0] if guarded and verdicts <= {"neutral", "missed"} else _find_first(group)


def _find_first(stances: Sequence[PostedStance]) -> PostedStance:
    for word in _ORDER:
        for stance in stances:
            if stance.says == word:
                return stance
    return stances[0]


_ORDER: tuple[PostedVerdict, ...] = ("mixed", "supports", "contradicts", "missed")


def _make_finding(record: Evidence, study: Study, drug: str, stance: PostedStance | None) -> PostedFinding:
    results = record.trial.results if record.trial else None
    events = read_events(results.get("serious_adverse_events", ())) if results else []
    obstacle = _find_obstacle(record, study)
    row = stance.comparison if stance else None
    if obstacle or stance is None:
        return PostedFinding(direction=Direction.not_assessed, reason=obstacle, serious_events=events)
    if row is None or stance.says not in _DIRECTIONS or row.favours is None:
        return PostedFinding(
            direction=Direction.not_assessed,
            reason=_explain_silence(results, study, drug, stance),
            serious_events=events,
        )
    return PostedFinding(
        direction=_DIRECTIONS[stance.says],
        reason=_explain(study, drug, stance, row),
        sentence=row.passage.text if row.passage else "",
        outcome=row.outcome,
        against_nothing=stance.is_against_nothing,
        missed_primary=stance.says == "missed",
        participants=study.participants_of(row),
        estimate=row.estimate.written if row.estimate else "",
        serious_events=events,
    )


def _find_obstacle(record: Evidence, study: Study) -> str:
    """Say why a trial decides nothing for any drug; empty if it can."""
    trial = record.trial
    results = record.trial.results if record.trial else None
    if trial is None or not results or not results.get("primary_outcomes"):
        return "no result of a primary outcome is posted"
    if trial.allocation != "RANDOMIZED":
        return "the trial was not randomised" if trial.allocation else "whether it was randomised is not reported"
    if study.aim in ("mechanism", "other"):
        return "its purpose was neither treatment nor prevention"
    if study.comparisons and not any(row.endpoint in ("efficacy", "surrogate") for row in study.comparisons):
        return "its primary outcome is not on efficacy"
    return ""


def _explain_silence(results: PostedResults | None, study: Study, drug: str, stance: PostedStance) -> str:
    """Say why posted results say nothing of a drug."""
    row = stance.comparison
    if stance.says == "combined" and row:
        partners = sorted(study.contrast_of(row) - {drug})
        return f"given together with {', '.join(partners)}, which the other group had not"
    if stance.says == "comparator":
        return "it is what another treatment was compared with"
    if row is not None and row.favours is None:
        return row.unread
    elsewhere = [row.condition for row in study.comparisons if row.condition and drug in study.contrast_of(row)]
    if elsewhere:
        return f"its primary outcome is on {elsewhere[0]}"
    if not study.comparisons:
        outcomes = results.get("primary_outcomes", ()) if results else ()
        is_alone = any(outcome.get("analyses") for outcome in outcomes)
        return (
            "the analysis names one group alone"
            if is_alone
            else "no statistical analysis of the primary outcome is posted"
        )
    arms = {row.arm for row in study.comparisons}
    has_drug = any(drug in study.drugs_of(arm) for arm in arms) or drug in study.background
    return "the drug is on both sides" if has_drug else "neither group is said to have had the drug"


def _explain(study: Study, drug: str, stance: PostedStance, row: Comparison) -> str:
    """Say what decides, in words for the report."""
    other = _INERT if stance.is_against_nothing else "another treatment"
    rows = [
        comparison
        for comparison in study.comparisons
        if study.contrast_of(comparison) == {drug} and comparison.outcome == row.outcome
    ]
    doses = {row_of_dose.arm for row_of_dose in rows if row_of_dose.versus == row.versus}
    if stance.says == "mixed":
        own = [
            comparison
            for comparison in study.comparisons
            if study.contrast_of(comparison) == {drug} and comparison.endpoint == row.endpoint
        ]
        outcomes = {own_row.outcome for own_row in own}
        won = {
            own_row.outcome
            for own_row in own
            if own_row.favours == "arm" and own_row.significant and not own_row.hedged
        }
        return f"primary outcomes disagree: {len(won)} of {len(outcomes)} in its favour"
    if row.favours == "arm" and row.hedged:
        return f"better than {other}, but not after correction for {len(doses)} tests"
    if row.favours == "neither":
        if row.equivalence == "shown":
            return f"no worse than {other} in a test of non-inferiority"
        return f"no difference from {other} shown: not significant"
    if row.favours == "versus" and not stance.is_against_nothing:
        return "another treatment did better; that says nothing of the drug against no treatment"
    word = "better" if row.favours == "arm" else "worse"
    same = {
        similar.arm for similar in rows if similar.favours == row.favours and similar.significant and not similar.hedged
    }
    count = f" ({len(same)} of {len(doses)} groups)" if len(doses) > 1 else ""
    return f"significantly {word} than {other} on the primary outcome{count}"
