"""Interpret a trial's posted registry results for a drug: primary outcomes, analyses, serious adverse events.

The registered primary outcome decides, since it was chosen before the results were known (Cochrane Handbook, chapter 8,
on selective reporting). The rule, for randomised trials of treatment or prevention:

* significant in the drug's favour, against placebo, no treatment, or the same treatment without it: supports; against
  another drug too, stated as such;
* significant in the other group's favour: contradicts against nothing; against another drug inconclusive, since the
  other may simply be better;
* not significant: contradicts against nothing, as a paper's "no difference" does; against another drug inconclusive;
* several doses: one must hold after Bonferroni's correction; several primary outcomes: all must agree, else
  inconclusive;
* a test of non-inferiority is inconclusive unless its interval shows superiority;
* anything the record leaves open is not assessed, with the reason.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from ..evidence import Evidence
from ..reading.design import StudyDesign
from ..reading.document import Document
from ..reading.reading import Comparator, Effect, Passage, Reading, Role
from ..reading.registry_entries import (
    Comparison,
    beside_efficacy,
    comparison,
    more_is_better,
    named_thresholds,
    posted_number,
)
from ..reading.text import says
from ..records import Trial
from .trials_once import Direction

_OTHER_PURPOSES = frozenset(
    {"BASIC_SCIENCE", "DIAGNOSTIC", "SCREENING", "HEALTH_SERVICES_RESEARCH", "DEVICE_FEASIBILITY", "ECT"}
)
_ALPHA = 0.05  # two-sided, as in ICH E9 (https://www.ich.org/page/efficacy-guidelines); half of it one-sided
_FULL_LEVEL = 95.0  # percent; interval level equivalent to two-sided p of 0.05
_COUNTED = frozenset(
    "participant participants patient patients subject subjects people persons individuals event events attack "
    "attacks".split()
)
_P = re.compile(
    r"^(?:p\s*)?(?P<sign>[<>≤≥=]{0,2})\s*(?P<value>\d*\.?\d+(?:e-?\d+)?)(?:\s*[*†a-z]{0,2})?$", re.IGNORECASE
)


class _Analysis(NamedTuple):
    """Result of one analysis for the drug."""

    verdict: Literal["better", "worse", "no difference", "not inferior"]
    p: float | None
    """The p value, or its bound; None if none is posted."""
    alpha: float
    """Significance threshold for p."""
    sentence: str
    outcome: str
    against: str
    reason: str


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
    serious_events: list[SeriousEvents] = []


def posted_finding(record: Evidence, drug: str, synonyms: Sequence[str] = ()) -> PostedFinding | None:
    """Read a trial's posted results for a drug, under any of its names; None if none are posted."""
    if record.trial is None or record.trial.results is None:
        return None
    results = record.trial.results
    found = _decide(record.trial, results.get("primary_outcomes", []), (drug, *synonyms))
    return found.model_copy(update={"serious_events": read_events(results.get("serious_adverse_events", ()))})


def read_events(groups: Iterable[Mapping[str, Any]]) -> list[SeriousEvents]:
    """Parse posted adverse events by group; groups without a readable number are left out."""
    return [
        SeriousEvents(
            group=str(each.get("group") or "group not named"),
            affected=each["affected"],
            at_risk=each["at_risk"] if type(each.get("at_risk")) is int else None,
        )
        for each in groups
        if type(each.get("affected")) is int
    ]


def registered_design(trial: Trial) -> StudyDesign:
    """Return a trial's registered design: randomised with its blinding if reported, else a registry entry."""
    if trial.allocation != "RANDOMIZED":
        return StudyDesign.registry_entry
    if not trial.masking:
        return StudyDesign.rct
    return StudyDesign.rct_open if trial.masking == "NONE" else StudyDesign.rct_blinded


def role_in_arms(trial: Trial, drug: str) -> tuple[Role, bool]:
    """Derive a drug's role from the arms of a registered trial, and whether its own effect is separable.

    It is background if every arm combines it with different drugs, a comparator if only other drugs are in experimental
    arms. Its effect is separable if it is given alone, or another arm has all the drugs given with it.
    """
    given = list[tuple[str, frozenset[str]]]()
    for arm in trial.arms:
        active = "; ".join(name for name in arm.get("interventions", ()) if not says("nothing", name))
        given.append((str(arm.get("type") or ""), frozenset(name for name, *_ in Document.cut("", active).drugs)))
    having = [(kind, drugs - {drug}) for kind, drugs in given if drug in drugs]
    others = [drugs for _, drugs in given if drug not in drugs]
    alone = not having or any(not beside or any(beside <= each for each in others) for _, beside in having)
    if having and not others and len({beside for _, beside in having}) > 1:
        return "background", alone
    is_rival = having and not any(kind == "EXPERIMENTAL" for kind, _ in having)
    if is_rival and any(kind == "EXPERIMENTAL" for kind, _ in given):
        return "comparator", alone
    return "tested", alone


def _finding(direction: Direction, reason: str, on: _Analysis | None = None) -> PostedFinding:
    if on is None:
        return PostedFinding(direction=direction, reason=reason)
    is_nothing = on.against == "nothing"
    return PostedFinding(
        direction=direction, reason=reason, sentence=on.sentence, outcome=on.outcome, against_nothing=is_nothing
    )


def _decide(data: Trial, outcomes: Sequence[Mapping[str, Any]], names: Sequence[str]) -> PostedFinding:
    """Combine all primary outcomes: their shared direction, else inconclusive; or why they cannot be assessed."""
    efficacy = [outcome for outcome in outcomes if not beside_efficacy(outcome)]
    obstacle = ""
    if not outcomes:
        obstacle = "no result of a primary outcome is posted"
    elif data.allocation != "RANDOMIZED":
        obstacle = "the trial was not randomised" if data.allocation else "whether it was randomised is not reported"
    elif data.primary_purpose in _OTHER_PURPOSES:
        obstacle = "its purpose was neither treatment nor prevention"
    elif not efficacy:
        kinds = ", ".join(sorted({str(beside_efficacy(outcome)) for outcome in outcomes}))
        obstacle = f"its primary outcome is on {kinds}, not on efficacy"
    if obstacle:
        return _finding(Direction.not_assessed, obstacle)
    found = [_read_outcome(outcome, data.arms, names) for outcome in efficacy]
    told = [each for each in found if each.direction is not Direction.not_assessed]
    if not told:
        return found[0]
    direction, reason = told[0].direction, told[0].reason
    if any(each.direction is not direction for each in told):
        for_it = sum(each.direction is Direction.supports for each in told)
        direction, reason = Direction.inconclusive, f"primary outcomes disagree: {for_it} of {len(told)} in its favour"
    share = f" ({len(told)} of {len(found)} primary outcomes could be read)" if len(told) < len(found) else ""
    return told[0].model_copy(update={"direction": direction, "reason": reason + share})


def _read_outcome(outcome: Mapping[str, Any], arms: Sequence[Mapping[str, Any]], names: Sequence[str]) -> PostedFinding:
    found: dict[Comparison, list[_Analysis]] = {}
    problems = []
    for analysis in outcome.get("analyses", ()):
        pair = comparison(analysis.get("groups", ()), outcome, arms, names)
        read = pair if isinstance(pair, str) else _read_analysis(analysis, outcome, pair)
        if isinstance(pair, str) or isinstance(read, str):
            problems.append(str(read))
        else:
            found.setdefault(pair, []).append(read)
    placebo = {pair: analyses for pair, analyses in found.items() if pair.against == "nothing"}
    if pairs := placebo or found:
        return _over_doses(list(pairs.values()))
    why = problems[0] if problems else "no statistical analysis of the primary outcome is posted"
    return _finding(Direction.not_assessed, why)


def _over_doses(pairs: Sequence[Sequence[_Analysis]]) -> PostedFinding:
    """Combine the comparisons of an outcome; the first analysis of each counts, usually the main one."""
    tests, first = len(pairs), pairs[0][0]
    better, worse = ([each[0] for each in pairs if each[0].verdict == verdict] for verdict in ("better", "worse"))
    other = "placebo or no treatment" if first.against == "nothing" else "another treatment"
    if any(len({each.verdict for each in analyses}) > 1 for analyses in pairs):
        return _finding(Direction.inconclusive, "analyses of the same two groups disagree", first)
    if better and worse:
        return _finding(Direction.inconclusive, "one group did better on the drug and another worse", first)
    if worse and first.against == "active":
        why = "another treatment did better; that says nothing of the drug against no treatment"
        return _finding(Direction.inconclusive, why, worse[0])
    if found := better or worse:
        word, count = found[0].verdict, f" ({len(found)} of {tests} groups)" if tests > 1 else ""
        # as one of several tests: Bonferroni; Cochrane Handbook 15.6 on multiplicity
        if strict := [each for each in found if each.p is None or each.p <= each.alpha / tests]:
            why = f"significantly {word} than {other} on the primary outcome{count}"
            return _finding(Direction.supports if better else Direction.contradicts, why, strict[-1])
        why = f"{word} than {other}{count}, but not after correction for {tests} tests"
        return _finding(Direction.inconclusive, why, found[0])
    is_open = first.against == "active" or any(each[0].verdict == "not inferior" for each in pairs)
    direction = Direction.inconclusive if is_open else Direction.contradicts
    return _finding(direction, f"no difference from {other} shown: {first.reason}", first)


def _read_analysis(analysis: Mapping[str, Any], outcome: Mapping[str, Any], pair: Comparison) -> _Analysis | str:
    """Read an analysis of a drug against its comparator; or say why it cannot be read."""
    alpha = _alpha(analysis)
    significant, p = _p_value(analysis, alpha)
    low, high, level = (posted_number(analysis.get(name)) for name in ("ci_lower", "ci_upper", "ci_percent"))
    measured = str(analysis.get("effect") or "")
    null = 1.0 if says("ratio", measured) else 0.0 if says("difference", measured) else None  # the value of no effect
    outside = None  # whether the interval excludes it; None also if one below 95 % does
    if low is not None and high is not None and null is not None:
        within = min(low, high) <= null <= max(low, high)
        outside = False if within else True if level is not None and level >= _FULL_LEVEL else None

    def found(verdict: Any, reason: str) -> _Analysis:
        said, title = str(analysis.get("sentence") or ""), str(outcome.get("title"))
        return _Analysis(verdict, p, alpha, said, title, pair.against, reason)

    kind = str(analysis.get("non_inferiority") or "")
    if "INFERIORITY" in kind or "EQUIVALENCE" in kind:
        significant, p = outside, None  # its p value tests another hypothesis
        if not outside:
            return found("not inferior", "a test of non-inferiority or equivalence")
    if p is None:
        significant = outside
    if significant is None:
        return "p leaves it open" if p is not None else "neither a p value that can be read nor an interval is posted"
    is_full = level is not None and math.isclose(level, _FULL_LEVEL) and alpha == _ALPHA  # as p is
    if p is not None and outside is not None and significant != outside and is_full:
        return "p value and confidence interval disagree"
    if not significant:
        return found("no difference", "not significant")
    favours = _favours(analysis, outcome, pair, is_ratio=null == 1.0)
    if isinstance(favours, str):
        return favours
    return found("better" if favours else "worse", f"significant, in favour of {pair.drug if favours else pair.other}")


def _p_value(analysis: Mapping[str, Any], alpha: float) -> tuple[bool | None, float | None]:
    """Return whether p is significant (None: undecided) and its value or bound; None if unreadable."""
    match = _P.match(str(analysis.get("p_value") or "").replace(" ", ""))
    if not match or float(match["value"]) > 1:
        return None, None
    value, sign = float(match["value"]), match["sign"]
    if sign.startswith(("<", "≤")):
        return (True if value <= alpha else None), value
    if sign.startswith((">", "≥")):
        return (False if value >= alpha else None), value
    return value < alpha or (value == alpha < _ALPHA), value


def _alpha(analysis: Mapping[str, Any]) -> float:
    """Return the threshold: 0.05, half for one-sided tests, or less if the record states its own."""
    told = " ".join(str(analysis.get(name) or "") for name in ("method", "p_comment", "about", "comment"))
    one_sided = bool(says("one-sided", told)) or bool(analysis.get("one_sided"))
    named = (each for each in named_thresholds(str(analysis.get("p_comment") or "")) if each >= 0.0001)
    return min([_ALPHA / 2 if one_sided else _ALPHA, *named])


def _favours(
    analysis: Mapping[str, Any], outcome: Mapping[str, Any], pair: Comparison, *, is_ratio: bool
) -> bool | str:
    """Whether a difference favours the drug, by the groups' values or a ratio of events; else why it is unclear."""
    better, larger = more_is_better(outcome), _has_larger(outcome, pair)
    told = set() if better is None or larger is None else {larger == better}
    effect, value = str(analysis.get("effect") or ""), posted_number(analysis.get("effect_value"))
    drug_first = next(iter(analysis.get("groups", ())), None) == pair.drug
    if is_ratio and says("ratio of events", effect) and value not in (None, 1) and drug_first:
        good = more_is_better(outcome, effect)
        told |= set() if good is None else {(value > 1) == good}
    if len(told) == 2:
        return "the groups' values and the ratio point different ways"
    if told:
        return told.pop()
    if better is None and larger is not None:
        return "which way the outcome is good is not said"
    return "the posted values do not say which group did better"


def _has_larger(outcome: Mapping[str, Any], pair: Comparison) -> bool | None:
    """Whether the drug's group has the larger value in every category posted; None if unclear."""
    ours, theirs = (_values(outcome, group) for group in (pair.drug, pair.other))
    signs = {ours[key] > theirs[key] for key in ours if key in theirs and ours[key] != theirs[key]}
    return signs.pop() if len(signs) == 1 and ours.keys() == theirs.keys() else None


def _values(outcome: Mapping[str, Any], group: str) -> dict[str, float]:
    """Return a group's values by category, counts as proportions, without baseline values."""
    told = ((str(each.get("category") or ""), each) for each in outcome.get("values", ()) if each.get("group") == group)
    found = {
        category: value
        for category, each in told
        if (value := posted_number(each.get("value"))) is not None and not says("baseline", category)
    }
    if str(outcome.get("unit") or "").strip(" ()").lower() not in _COUNTED:
        return found
    sizes = (posted_number(each.get("n")) for each in outcome.get("groups", ()) if each.get("name") == group)
    size = next(sizes, None)
    return {category: value / size for category, value in found.items()} if size else {}


_EFFECTS: Mapping[Direction, Effect] = {
    Direction.supports: "better",
    Direction.contradicts: "no_difference",
    Direction.inconclusive: "mixed",
    Direction.not_assessed: "not_reported",
}
_COMPARATORS: Mapping[bool | None, Comparator] = {True: "none", False: "active", None: "not_reported"}
"""Comparator by whether the trial was against placebo or no treatment."""


def registered_reading(
    record: Evidence, drug: str, condition: str, synonyms: Sequence[str] = ()
) -> tuple[Reading, PostedFinding | None]:
    """Make the reading of a registered trial, with the posted results it is based on; None if none are posted."""
    posted = posted_finding(record, drug, synonyms)
    told = posted is not None and posted.direction is not Direction.not_assessed
    role, alone = role_in_arms(record.trial, drug) if record.trial and not told else ("tested", True)
    passages: tuple[Passage, ...] = ()
    if posted and posted.sentence:
        start = max(0, f"{record.citation.title}. {record.content}".find(posted.sentence))
        end = start + len(posted.sentence)
        passages = (Passage(text=posted.sentence, section="Registry entry", start=start, end=end),)
    reading = Reading(
        key=record.key,
        drug=drug,
        condition=condition,
        role=role,
        alone=alone,
        kind="efficacy" if told else "none",
        comparator=_COMPARATORS[posted.against_nothing if posted else None],
        effect=_EFFECTS[posted.direction] if posted else "not_reported",
        design="rct" if told else "protocol",
        participants=record.trial.enrollment if record.trial else None,
        passages=passages,
        reader="posted",
        version="1",
    )
    return reading, posted
