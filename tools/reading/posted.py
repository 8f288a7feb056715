"""Read registered trials for a drug: what they posted, what it is in their arms, and why they were stopped.

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

Stopping for benefit is no evidence by itself, since such trials overstate effects
(https://doi.org/10.1001/jama.2010.310); posted results are used instead.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from ..lexicon import find_drugs
from ..lexicon.matching import cue_form, phrase_key
from ..records import Trial
from ..records.evidence import Evidence
from .document import Document
from .reading import Comparator, Direction, Effect, QuotedPassage, Reading, Role, StudyDesign
from .text import says

_OTHER_PURPOSES = frozenset(
    {"BASIC_SCIENCE", "DIAGNOSTIC", "SCREENING", "HEALTH_SERVICES_RESEARCH", "DEVICE_FEASIBILITY", "ECT"}
)
_WITHOUT = frozenset({"PLACEBO_COMPARATOR", "SHAM_COMPARATOR", "NO_INTERVENTION"})
_ALPHA = 0.05  # two-sided, as in ICH E9 (https://www.ich.org/page/efficacy-guidelines); half of it one-sided
_FULL_LEVEL = 95.0  # percent; interval level equivalent to two-sided p of 0.05
_COUNTED = frozenset(
    "participant participants patient patients subject subjects people persons individuals event events attack "
    "attacks".split()
)
_DURATIONS = frozenset("hour hours day days week weeks month months year years minute minutes min h d".split())
P_VALUE = re.compile(
    r"^(?:p\s*)?(?P<sign>[<>≤≥=]{0,2})\s*(?P<value>\d*\.?\d+(?:e-?\d+)?)(?:\s*[*†a-z]{0,2})?$", re.IGNORECASE
)
_INERT = r"(?:placebos?|sham|dummy|vehicle)"
OF_PLACEBO = re.compile(
    rf"(?:\b[\w-]+[\s()-]+(?:\d+ ?m?g\)? )?(?:match(?:ed|ing)[\s-]+)?)?\b{_INERT}\b"
    r"(?:(?!\b(?:and|plus|with|then|followed|in addition)\b(?! placebo))[^,;.+&/]){0,40}",
    re.IGNORECASE,
)
"""A placebo with the drug that it imitates: "placebo matching X", "X placebo"."""
_FILLERS = re.compile(r"\b(?:arm|group|cohort|part|phase)\b(?:\s+[0-9ivab]{1,3}\b)?|[^a-z0-9.]+", re.IGNORECASE)
_OF_SCALE = r"(?:(?:\w|-|')+\W+){0,7}?"
_VALUE = r"(?:(?:\w+\W+){0,3}?{measure}\W+" + _OF_SCALE + ")?"
_PREPOSITIONS = frozenset("of from in to with without for on at after by during".split())
_SCALES = tuple(
    (rf"{{{much}}}\W+{_VALUE}(?:{{says}}|[=:])\W+(?:(?:a|an|the|in)\W+)?{_OF_SCALE}{{{told}}}", is_good)
    for much, told, is_good in (
        ("more", "worse", False),
        ("more", "better", True),
        ("less", "better", False),
        ("less", "worse", True),
    )
)
"""Wordings that describe a scale, and whether more of it is then good."""


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


class _Unclear(Exception):
    """What an analysis leaves open, so that it is not read."""


class _GroupPair(NamedTuple):
    """A group with the drug and a group without."""

    drug: str
    other: str
    against_nothing: bool
    """Whether the other group had placebo, sham, no treatment, or the same treatment without the drug."""


class _Analysis(NamedTuple):
    """Result of one analysis for the drug."""

    verdict: Literal["better", "worse", "no difference", "not inferior"]
    p: float | None
    """The p value, or its bound; None if none is posted."""
    alpha: float
    sentence: str
    outcome: str
    against_nothing: bool
    reason: str


class _Treatment(NamedTuple):
    """What a group was given: the drug or something inert, other drugs, the type of its arm if one matches."""

    has_drug: bool
    is_inert: bool
    others: frozenset[str]
    kind: str


def registered_reading(record: Evidence, drug: str, condition: str) -> tuple[Reading, PostedFinding | None]:
    """Make the reading of a registered trial, with the posted results it is based on; None if none are posted."""
    posted = posted_finding(record, drug)
    told = posted is not None and posted.direction is not Direction.not_assessed
    role, alone = role_in_arms(record.trial, drug) if record.trial and not told else ("tested", True)
    passages: tuple[QuotedPassage, ...] = ()
    if posted and posted.sentence:
        start = max(0, f"{record.citation.title}. {record.content}".find(posted.sentence))
        end = start + len(posted.sentence)
        passages = (QuotedPassage(text=posted.sentence, section="Registry entry", start=start, end=end),)
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


_EFFECTS: Mapping[Direction, Effect] = {
    Direction.supports: "better",
    Direction.contradicts: "no_difference",
    Direction.inconclusive: "mixed",
    Direction.not_assessed: "not_reported",
}
_COMPARATORS: Mapping[bool | None, Comparator] = {True: "none", False: "active", None: "not_reported"}
"""Comparator by whether the trial was against placebo or no treatment."""


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


StoppingKind = Literal["safety", "futility", "benefit", "administrative"]
# Words for harm or effect that are not the reason: safety boards, denials.
_OTHERS = r"{said of others}|{said of the plan}[^.;]*"
_DENIALS = r"{said not}[^.;]{0,60}?{safety or effect}(?:\s*(?:/|and|or|,|nor)\s*\w+){0,3}"


def why_stopped_kind(text: str | None) -> StoppingKind | None:
    """Classify the sponsor's reason for stopping a trial; None if none is reported.

    `administrative` is every reason other than harm or effect.

    >>> why_stopped_kind("Slow enrolment; the decision was not related to any safety or efficacy concern")
    'administrative'
    >>> why_stopped_kind("DSMB recommended stopping for futility")
    'futility'
    """
    if not text or not text.strip():
        return None
    text = cue_form(_OTHERS, __package__).sub(" ", text)
    plainly = cue_form(_DENIALS, __package__).sub(" ", text)
    if says("stopped for futility", text) and says("stopped for futility", plainly):
        return "safety" if says("and for safety", plainly) else "futility"
    if says("stopped for futility", text) and not says("safety or harm", text):
        return "futility"
    if says("stopped for safety", plainly):
        return "safety"
    return "benefit" if says("stopped for benefit", plainly) else "administrative"


def posted_finding(record: Evidence, drug: str) -> PostedFinding | None:
    """Read a trial's posted results for a drug by its generic name; None if none are posted."""
    if record.trial is None or record.trial.results is None:
        return None
    results = record.trial.results
    found = _decide(record.trial, results.get("primary_outcomes", []), drug)
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


def _decide(trial: Trial, outcomes: Sequence[Mapping[str, Any]], drug: str) -> PostedFinding:
    """Combine all primary outcomes: their shared direction, else inconclusive; or why they cannot be assessed."""
    efficacy = [outcome for outcome in outcomes if not says("not of efficacy", str(outcome.get("title")))]
    obstacle = ""
    if not outcomes:
        obstacle = "no result of a primary outcome is posted"
    elif trial.allocation != "RANDOMIZED":
        obstacle = "the trial was not randomised" if trial.allocation else "whether it was randomised is not reported"
    elif trial.primary_purpose in _OTHER_PURPOSES:
        obstacle = "its purpose was neither treatment nor prevention"
    elif not efficacy:
        obstacle = "its primary outcome is not on efficacy"
    if obstacle:
        return PostedFinding(direction=Direction.not_assessed, reason=obstacle)
    found = [_read_outcome(outcome, trial.arms, drug) for outcome in efficacy]
    told = [each for each in found if each.direction is not Direction.not_assessed]
    if not told:
        return found[0]
    direction, reason = told[0].direction, told[0].reason
    if any(each.direction is not direction for each in told):
        for_it = sum(each.direction is Direction.supports for each in told)
        direction, reason = Direction.inconclusive, f"primary outcomes disagree: {for_it} of {len(told)} in its favour"
    share = f" ({len(told)} of {len(found)} primary outcomes could be read)" if len(told) < len(found) else ""
    return told[0].model_copy(update={"direction": direction, "reason": reason + share})


def _read_outcome(outcome: Mapping[str, Any], arms: Sequence[Mapping[str, Any]], drug: str) -> PostedFinding:
    found: dict[_GroupPair, list[_Analysis]] = {}
    why = ""
    for analysis in outcome.get("analyses", ()):
        try:
            pair = _find_comparison(analysis.get("groups", ()), outcome, arms, drug)
            found.setdefault(pair, []).append(_read_analysis(analysis, outcome, pair))
        except _Unclear as unclear:
            why = why or str(unclear)
    read = {pair: analyses for pair, analyses in found.items() if analyses}
    against_nothing = [analyses for pair, analyses in read.items() if pair.against_nothing]
    if read:
        return _combine_doses(against_nothing or list(read.values()))
    why = why or "no statistical analysis of the primary outcome is posted"
    return PostedFinding(direction=Direction.not_assessed, reason=why)


def _combine_doses(pairs: Sequence[Sequence[_Analysis]]) -> PostedFinding:
    """Combine the comparisons of an outcome; the first analysis of each counts, usually the main one."""
    tests, first = len(pairs), pairs[0][0]
    better, worse = ([each[0] for each in pairs if each[0].verdict == verdict] for verdict in ("better", "worse"))
    other = "placebo or no treatment" if first.against_nothing else "another treatment"
    direction, on = Direction.inconclusive, first
    if any(len({each.verdict for each in analyses}) > 1 for analyses in pairs):
        why = "analyses of the same two groups disagree"
    elif better and worse:
        why = "one group did better on the drug and another worse"
    elif worse and not first.against_nothing:
        why, on = "another treatment did better; that says nothing of the drug against no treatment", worse[0]
    elif found := better or worse:
        word, count = found[0].verdict, f" ({len(found)} of {tests} groups)" if tests > 1 else ""
        why, on = f"{word} than {other}{count}, but not after correction for {tests} tests", found[0]
        # as one of several tests: Bonferroni; Cochrane Handbook 15.6 on multiplicity
        if strict := [each for each in found if each.p is None or each.p <= each.alpha / tests]:
            why, on = f"significantly {word} than {other} on the primary outcome{count}", strict[-1]
            direction = Direction.supports if better else Direction.contradicts
    else:
        why = f"no difference from {other} shown: {first.reason}"
        if first.against_nothing and not any(each[0].verdict == "not inferior" for each in pairs):
            direction = Direction.contradicts
    return PostedFinding(
        direction=direction, reason=why, sentence=on.sentence, outcome=on.outcome, against_nothing=on.against_nothing
    )


def _find_comparison(
    groups: Sequence[str], outcome: Mapping[str, Any], arms: Sequence[Mapping[str, Any]], drug: str
) -> _GroupPair:
    """Find which of two compared groups had the drug and which the comparator."""
    if len(groups) != 2:
        raise _Unclear(
            f"the analysis {'names one group alone' if len(groups) == 1 else 'covers several groups at once'}"
        )
    described = {str(g.get("name")): str(g.get("description") or "") for g in outcome.get("groups", ())}
    first, second = (_find_treatment(title, described.get(title, ""), arms, drug) for title in groups)
    if first.has_drug == second.has_drug:
        raise _Unclear("the drug is on both sides" if first.has_drug else "neither group is said to have had the drug")
    ours, theirs = (first, second) if first.has_drug else (second, first)
    if any(says("sequence", title) or "→" in title or "->" in title for title in groups):
        raise _Unclear("the groups are sequences of treatments")
    if extra := sorted(ours.others - theirs.others):
        raise _Unclear(f"given together with {', '.join(extra)}, which the other group had not")
    is_active = bool(theirs.others - ours.others)
    against_nothing = theirs.is_inert or theirs.others or theirs.kind in _WITHOUT  # the same treatment without the drug
    if not (is_active or against_nothing or theirs.kind == "ACTIVE_COMPARATOR"):
        raise _Unclear("what the other group had is not said")
    with_it, other = groups if first.has_drug else reversed(groups)
    return _GroupPair(with_it, other, bool(against_nothing) and not is_active)


def _find_treatment(title: str, described: str, arms: Sequence[Mapping[str, Any]], drug: str) -> _Treatment:
    """Find a group's treatment from the arm with the same title, or with one title's words all in the other's."""
    wanted, *labels = (
        _FILLERS.sub(" ", label.lower()).split() for label in (title, *(str(arm.get("label") or "") for arm in arms))
    )
    labelled = list(zip(arms, labels, strict=True))
    same = [arm for arm, label in labelled if label == wanted]
    near = [arm for arm, label in labelled if wanted and label and ({*label} <= {*wanted} or {*wanted} <= {*label})]
    found = same[:1] or (near if len(near) == 1 else [])
    arm = found[0] if found else {}
    text = OF_PLACEBO.sub(" placebo ", " ; ".join([title, *arm.get("interventions", ())]))
    if not found and not says("nothing", text) and not find_drugs(text):
        text = OF_PLACEBO.sub(" placebo ", f"{title} ; {described}")
    named = frozenset(each.name for each in find_drugs(text))
    return _Treatment(
        has_drug=drug in named or re.search(rf"(?<![\w-]){re.escape(drug)}(?![\w-])", text, re.IGNORECASE) is not None,
        is_inert=bool(says("nothing", text)),
        others=named - {drug, "sodium chloride"},
        kind=str(arm.get("type") or ""),
    )


def _read_analysis(analysis: Mapping[str, Any], outcome: Mapping[str, Any], pair: _GroupPair) -> _Analysis:
    """Read an analysis of a drug against its comparator."""
    told = " ".join(str(analysis.get(name) or "") for name in ("method", "p_comment", "about", "comment"))
    alpha = _ALPHA / 2 if says("one-sided", told) or analysis.get("one_sided") else _ALPHA
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
        return _Analysis(verdict, p, alpha, said, title, pair.against_nothing, reason)

    kind = str(analysis.get("non_inferiority") or "")
    if "INFERIORITY" in kind or "EQUIVALENCE" in kind:
        significant, p = outside, None  # its p value tests another hypothesis
        if not outside:
            return found("not inferior", "a test of non-inferiority or equivalence")
    if p is None:
        significant = outside
    if significant is None:
        raise _Unclear("neither a p value that decides nor an interval is posted")
    is_full = level is not None and math.isclose(level, _FULL_LEVEL) and alpha == _ALPHA  # as p is
    if p is not None and outside is not None and significant != outside and is_full:
        raise _Unclear("p value and confidence interval disagree")
    if not significant:
        return found("no difference", "not significant")
    ours, theirs = (counted_values(outcome, group) for group in (pair.drug, pair.other))
    larger = {ours[key] > theirs[key] for key in ours if key in theirs and ours[key] != theirs[key]}
    if len(larger) != 1 or ours.keys() != theirs.keys():
        raise _Unclear("the posted values do not say which group did better")
    if (better := more_is_better(outcome)) is None:
        raise _Unclear("which way the outcome is good is not said")
    favours = larger.pop() == better
    return found("better" if favours else "worse", f"significant, in favour of {pair.drug if favours else pair.other}")


def _p_value(analysis: Mapping[str, Any], alpha: float) -> tuple[bool | None, float | None]:
    """Return whether p is significant (None: undecided) and its value or bound; None if unreadable."""
    match = P_VALUE.match(str(analysis.get("p_value") or "").replace(" ", ""))
    if not match or float(match["value"]) > 1:
        return None, None
    value, sign = float(match["value"]), match["sign"]
    if sign.startswith(("<", "≤")):
        return (True if value <= alpha else None), value
    if sign.startswith((">", "≥")):
        return (False if value >= alpha else None), value
    return value < alpha, value


def counted_values(outcome: Mapping[str, Any], group: str) -> dict[str, float]:
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


def posted_number(text: Any) -> float | None:
    """Parse a posted number; None for `NA`, a bound, or a missing value."""
    try:
        value = float(str(text).replace(",", "").replace("−", "-"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def more_is_better(outcome: Mapping[str, Any]) -> bool | None:
    """Whether larger posted values are good for the patient; None if the record does not say.

    Its time or events decide first, then the description of the scale, then the name of the outcome.

    Args:
        outcome: `title`, `unit` and `description` from `clinicaltrials.parse_results`.

    >>> more_is_better({"title": "Change in monthly migraine days", "unit": "days"})
    False
    >>> more_is_better({"title": "Participants with at least a 50% reduction in attacks", "unit": "Participants"})
    True
    """
    title, unit = str(outcome.get("title") or ""), str(outcome.get("unit") or "")
    if time_to := says("time to", title):
        good = higher_is_better(title[time_to.end() :])
        return not good if good is not None and unit.strip(" ()").lower() in _DURATIONS else good
    whole = f"{title}. {unit}. {outcome.get('description') or ''}"
    if said := {is_good for form, is_good in _SCALES if cue_form(form, __package__).search(whole)}:
        return said.pop() if len(said) == 1 else None
    if says("shrinking", title):  # "reduction in pain" is posted as a positive or as a negative number
        return None
    if says("unit of a scale", unit):
        return bool(says("scale of health", title)) or (False if says("scale of illness", title) else None)
    return higher_is_better(cue_form("{change}", __package__).sub("", title) or title)


def higher_is_better(outcome: str) -> bool | None:
    """Whether more of an outcome is good; None if the name does not say.

    >>> [higher_is_better(o) for o in ("pain", "reduction in pain", "survival", "loss of function", "serum zinc")]
    [False, True, True, False, None]
    """
    bad, good = says("bad", outcome), says("good", outcome)
    reversing, loss = says("reversing", outcome), says("loss", outcome)
    if reversing and bad and (reversing.start() < bad.start() or reversing.group().lower() == "free"):
        return True
    if loss and good and loss.start() < good.end() + 12:
        return False
    if bad and good:  # the first is meant before a preposition ("death in remission"), else the last ("pain relief")
        before, after = sorted((good, bad), key=re.Match.start)
        is_first = not _PREPOSITIONS.isdisjoint(phrase_key(outcome[before.end() : after.start()]).split())
        return (good.start() < bad.start()) == is_first
    return bool(good) if good or bad else None
