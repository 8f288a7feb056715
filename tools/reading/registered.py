"""A registered trial as a `Study`: its arms, and every posted comparison of a primary outcome, from the registry's
fields.

The registry says in fields who got what (`armGroups`, `interventions`), what was compared (`groupIds`), and what came
of it (`pValue`, `paramType`, `paramValue`, the interval), so no sentence is read. Words are read in two places alone:
the names of interventions, and which way an outcome is good, for which the registry has no field.

The primary outcome decides, since it was chosen before the results were known (Cochrane Handbook, chapter 8).
https://clinicaltrials.gov/data-api/about-api/study-data-structure
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ..records import Trial
from ..records.evidence import Evidence
from ..records.study import (
    Aim,
    Arm,
    ArmCount,
    Comparison,
    Equivalence,
    Estimate,
    Favours,
    OutcomeClass,
    Study,
    StudyPassage,
    TrialName,
)
from .outcomes import is_count_of_people, is_higher_better, is_more_better, parse_posted_number
from .reading import StudyDesign
from .registered_arms import ArmTreatment, TrialTreatments
from .text import says

VERSION = "1"
ALPHA = 0.05  # two-sided, ICH E9; half of it for a one-sided test and for non-inferiority
FULL_LEVEL = 95.0  # percent; the interval that says the same as a two-sided p of 0.05
_AIMS: Mapping[str, Aim] = {
    "TREATMENT": "treat",
    "SUPPORTIVE_CARE": "treat",
    "PREVENTION": "prevent",
    "BASIC_SCIENCE": "mechanism",
    "DIAGNOSTIC": "other",
    "SCREENING": "other",
    "HEALTH_SERVICES_RESEARCH": "other",
    "DEVICE_FEASIBILITY": "other",
    "ECT": "other",
}
_P_VALUE = re.compile(
    r"^(?:p\s*)?(?P<sign>[<>≤≥=]{0,2})\s*(?P<value>\d*\.?\d+(?:e-?\d+)?)(?:\s*[*†a-z]{0,2})?$", re.IGNORECASE
)
_OF_HEART_OR_VESSELS = ("cardiovascular events", "blood pressure")
_NULL_OF_RATIO = 1.0
_NULL_OF_DIFFERENCE = 0.0


class Finding(NamedTuple):
    """What an analysis says of its first group."""

    favours: Favours | None
    significant: bool | None
    equivalence: Equivalence | None = None
    unread: str = ""
    """Why `favours` is None."""


_NO_TEST = "neither a p value that decides nor an interval is posted"
_DISAGREE = "p value and confidence interval disagree"
_NO_DIRECTION = "which way the outcome is good is not said"
_NO_VALUES = "the posted values do not say which group did better"
_TWO_ANALYSES = "analyses of the same two groups disagree"
_SEVERAL_GROUPS = "the analysis covers several groups at once"


def read_registered_trial(record: Evidence) -> Study | None:
    """Read a registered trial and its posted primary outcomes; None if the record is no trial.

    Every pair of groups that a primary outcome's analyses name is a comparison. One that cannot be read has `favours`
    None, which keeps the others of its drug from deciding.
    """
    trial = record.trial
    if trial is None:
        return None
    outcomes = trial.results.get("primary_outcomes", []) if trial.results else []
    registered = TrialTreatments(trial)
    treatments = _list_treatments(registered, outcomes)
    background = registered.background
    comparisons: list[Comparison] = []
    for outcome in outcomes:
        rows = list(_read_outcome(outcome, treatments, background, record))
        comparisons += _mark_loose_doses(rows, treatments)
    sizes: dict[str, int] = {}
    for outcome in outcomes:
        sizes |= _list_sizes(outcome)
    arms = tuple(_make_arm(name, got, background, sizes.get(name)) for name, got in treatments.items())
    is_randomised = trial.allocation == "RANDOMIZED"
    return Study(
        key=record.key,
        reader="registry",
        version=VERSION,
        depth="registry",
        aim=_AIMS.get(trial.primary_purpose or ""),
        condition="; ".join(trial.conditions),
        design=str(get_registered_design(trial)),
        blinded=None if not trial.masking else trial.masking != "NONE",
        randomised=trial.enrollment if is_randomised else None,
        analysed=None if is_randomised else trial.enrollment,
        background=tuple(sorted(background)),
        arms=arms,
        comparisons=tuple(comparisons),
        trial=TrialName(registered=(trial.nct_id,) if trial.nct_id else (), acronym=trial.acronym or ""),
        not_read=("conclusion", "statements", "people", "secondary outcomes"),
    )


def get_registered_design(trial: Trial) -> StudyDesign:
    """Return a trial's registered design: randomised with its blinding if reported, else a registry entry."""
    if trial.allocation != "RANDOMIZED":
        return StudyDesign.registry_entry
    if not trial.masking:
        return StudyDesign.rct
    return StudyDesign.rct_open if trial.masking == "NONE" else StudyDesign.rct_blinded


def _make_arm(name: str, got: ArmTreatment, background: frozenset[str], size: int | None) -> Arm:
    drugs = tuple(drug for drug in got.drugs if drug not in background)
    is_bare = got.role == "drug" and not drugs
    return Arm(name=name, role="none" if is_bare else got.role, drugs=drugs, dose=got.dose, n=size)


def _list_treatments(registered: TrialTreatments, outcomes: Sequence[Mapping[str, Any]]) -> Mapping[str, ArmTreatment]:
    """Return what each group of results got, else each registered arm, by name."""
    groups: dict[str, Mapping[str, Any]] = {}
    for outcome in outcomes:
        groups |= {str(group.get("name")): group for group in outcome.get("groups", ())}
    if not groups:
        return registered.arms
    descriptions = {name: str(group.get("description") or "") for name, group in groups.items()}
    return {name: registered.find_treatment(name, text) for name, text in descriptions.items()}


def _list_sizes(outcome: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of participants of each group of an outcome, where it is posted as a number."""
    sizes = {}
    for group in outcome.get("groups", ()):
        size = parse_posted_number(group.get("n"))
        if size is not None and size >= 0:
            sizes[str(group.get("name"))] = int(size)
    return sizes


def _read_outcome(
    outcome: Mapping[str, Any], treatments: Mapping[str, ArmTreatment], background: frozenset[str], record: Evidence
) -> Iterator[Comparison]:
    """Yield the comparisons of an outcome's analyses: one for each analysis of two groups."""
    analyses = [analysis for analysis in outcome.get("analyses", ()) if len(analysis.get("groups", ())) > 1]
    pairs = [analysis for analysis in analyses if len(analysis["groups"]) == 2]
    rows = [
        _compare(analysis, outcome, *_arrange_groups(analysis["groups"], treatments, background), record)
        for analysis in pairs
    ]
    results: dict[tuple[str, str | None], set[tuple[Favours | None, bool | None]]] = {}
    for row in rows:
        results.setdefault((row.arm, row.versus), set()).add((row.favours, row.significant))
    for row in rows:
        # Two analyses of the same groups that disagree: neither decides.
        is_clear = len(results[row.arm, row.versus]) == 1
        unclear = {"favours": None, "significant": None, "unread": _TWO_ANALYSES}
        yield row if is_clear else row.model_copy(update=unclear)
    if rows or not analyses:
        return
    for name in analyses[0]["groups"]:  # a test over several groups at once says that they differ, not which is better
        if treatments[name].role == "drug":
            yield Comparison(
                arm=name,
                against="unstated",
                outcome=str(outcome.get("title") or ""),
                endpoint=classify_outcome(outcome),
                primary=True,
                unread=_SEVERAL_GROUPS,
                passage=_make_passage(analyses[0], record),
            )


def _arrange_groups(
    names: Sequence[str], treatments: Mapping[str, ArmTreatment], background: frozenset[str]
) -> tuple[str, str]:
    """Order two groups: the one whose drugs the other has not comes first; of two such, the experimental one."""
    first, second = names
    ours = set(treatments[first].drugs) - background
    theirs = set(treatments[second].drugs) - background
    if ours - theirs and not theirs - ours:
        return first, second
    if theirs - ours and not ours - theirs:
        return second, first
    if treatments[first].role != "drug" and treatments[second].role == "drug":
        return second, first
    is_second_tested = treatments[second].kind == "EXPERIMENTAL" and treatments[first].kind != "EXPERIMENTAL"
    return (second, first) if is_second_tested and treatments[second].role == "drug" else (first, second)


def _compare(
    analysis: Mapping[str, Any], outcome: Mapping[str, Any], first: str, second: str, record: Evidence
) -> Comparison:
    finding = _read_analysis(analysis, outcome, first, second)
    sizes = _list_sizes(outcome)
    is_counted = first in sizes and second in sizes
    return Comparison(
        arm=first,
        versus=second,
        outcome=str(outcome.get("title") or ""),
        endpoint=classify_outcome(outcome),
        primary=True,
        condition=_find_condition(outcome, record),
        favours=finding.favours,
        significant=finding.significant,
        equivalence=finding.equivalence,
        unread=finding.unread,
        estimate=_make_estimate(analysis, outcome, first, second),
        time_point=str(outcome.get("time_frame") or ""),
        higher_is_better=is_more_better(outcome),
        participants=sizes[first] + sizes[second] if is_counted else None,
        passage=_make_passage(analysis, record),
    )


def classify_outcome(outcome: Mapping[str, Any]) -> OutcomeClass:
    """Tell outcomes on safety, kinetics and markers, which the registry does not mark, from those on efficacy, by their
    title."""
    title = str(outcome.get("title") or "")
    if says("not of efficacy", title):
        return "harm"
    return "process" if says("marker", title) else "efficacy"


def _find_condition(outcome: Mapping[str, Any], record: Evidence) -> str | None:
    """Return what an outcome is on where that is another condition than the trial's; None: the trial's own.

    Trials of drugs for diabetes prove that they are safe for the heart, which says nothing of the diabetes.
    """
    own = " ; ".join(record.trial.conditions) if record.trial else ""
    if not own or says("heart or vessels", own):
        return None
    title = str(outcome.get("title") or "")
    return next((name for name in _OF_HEART_OR_VESSELS if says(name, title)), None)


def _make_passage(analysis: Mapping[str, Any], record: Evidence) -> StudyPassage | None:
    sentence = str(analysis.get("sentence") or "")
    if not sentence:
        return None
    start = f"{record.citation.title}. {record.content}".find(sentence)
    located = {"start": start, "end": start + len(sentence)} if start >= 0 else {}
    return StudyPassage(text=sentence, section="Registry entry", **located)


def _make_estimate(analysis: Mapping[str, Any], outcome: Mapping[str, Any], *groups: str) -> Estimate:
    """Carry an analysis' figures, and each group's own result."""
    value = parse_posted_number(analysis.get("effect_value"))
    low = parse_posted_number(analysis.get("ci_lower"))
    high = parse_posted_number(analysis.get("ci_upper"))
    level = parse_posted_number(analysis.get("ci_percent"))
    sign, p = _read_p(analysis)
    is_level = level is not None and 0 < level <= 100
    return Estimate(
        measure=str(analysis.get("effect") or ""),
        value=value,
        low=low,
        high=high,
        level=level if is_level else None,
        sides=1 if analysis.get("one_sided") else 2 if level is not None else None,
        p=p,
        p_sign=sign,
        unit=str(outcome.get("unit") or ""),
        counts=tuple(_make_count(outcome, group) for group in groups),
        written=_write_estimate(analysis),
    )


def _write_estimate(analysis: Mapping[str, Any]) -> str:
    """Return an analysis' figures as the record's text writes them, after the names of the groups."""
    sentence = str(analysis.get("sentence") or "")
    figures = sentence.partition(f"{' versus '.join(analysis.get('groups', ()))}, ")[2]
    return figures.removesuffix(".").removesuffix(f", {analysis.get('method')}")


def _make_count(outcome: Mapping[str, Any], group: str) -> ArmCount:
    """Return a group's own result: people with an event where people are counted, else the value."""
    values = [parse_posted_number(row.get("value")) for row in outcome.get("values", ()) if row.get("group") == group]
    value = values[0] if len(values) == 1 else None
    size = _list_sizes(outcome).get(group)
    is_number = value is not None and value.is_integer() and value >= 0
    if value is not None and is_number and is_count_of_people(outcome) and not _is_share(outcome):
        return ArmCount(arm=group, events=int(value), n=size)
    return ArmCount(arm=group, mean=value, n=size)


def _is_share(outcome: Mapping[str, Any]) -> bool:
    """Whether people are counted in percent or as a proportion."""
    return says("share", str(outcome.get("unit") or "")) is not None


def _read_p(analysis: Mapping[str, Any]) -> tuple[Literal["=", "<", "≤", ">", "≥"], float | None]:
    """Return the sign and value of p; None if there is none or it is no probability."""
    match = _P_VALUE.match(str(analysis.get("p_value") or "").replace(" ", ""))
    if match is None or float(match["value"]) > 1:
        return "=", None
    signs: Mapping[str, Literal["<", "≤", ">", "≥"]] = {"<": "<", "≤": "≤", ">": ">", "≥": "≥"}
    return signs.get(match["sign"][:1], "="), float(match["value"])


def _read_analysis(analysis: Mapping[str, Any], outcome: Mapping[str, Any], first: str, second: str) -> Finding:
    """Read which group an analysis favours: by p and by the interval, which have to agree where both tell."""
    by_p = _is_significant(analysis)
    by_interval = _rules_out_null(analysis)
    kind = str(analysis.get("non_inferiority") or "")
    if "INFERIORITY" in kind or "EQUIVALENCE" in kind:
        return _read_equivalence(by_p, by_interval, outcome, first, second)
    if by_p is None and by_interval is None:
        return Finding(None, None, unread=_NO_TEST)
    disagree = by_p is not None and by_interval is not None and by_p != by_interval
    if disagree and _is_full(analysis):
        return Finding(None, None, unread=_DISAGREE)
    significant = by_p if by_p is not None else by_interval
    return _find_better(outcome, first, second) if significant else Finding("neither", False)


def _find_better(outcome: Mapping[str, Any], first: str, second: str) -> Finding:
    """Say which group a significant result favours."""
    favours = _find_favoured(outcome, first, second)
    if favours is not None:
        return Finding(favours, True)
    return Finding(None, None, unread=_NO_DIRECTION if is_more_better(outcome) is None else _NO_VALUES)


def _read_equivalence(
    by_p: bool | None, by_interval: bool | None, outcome: Mapping[str, Any], first: str, second: str
) -> Finding:
    """Read a test of non-inferiority or equivalence, whose p value tests another hypothesis."""
    if by_interval:  # an interval without the value of no effect shows more than its test asked
        return _find_better(outcome, first, second)
    if by_p is None:
        return Finding("neither", False)
    return Finding("neither", False, "shown" if by_p else "not_shown")


def _find_alpha(analysis: Mapping[str, Any]) -> float:
    """Return the threshold of an analysis' p value: halved where its test is one-sided."""
    words = " ".join(str(analysis.get(name) or "") for name in ("method", "p_comment", "about"))
    is_one_sided = analysis.get("one_sided") or says("one-sided", words)
    is_inferiority = "INFERIORITY" in str(analysis.get("non_inferiority") or "")
    return ALPHA / 2 if is_one_sided or is_inferiority else ALPHA


def _is_full(analysis: Mapping[str, Any]) -> bool:
    level = parse_posted_number(analysis.get("ci_percent"))
    return level is not None and math.isclose(level, FULL_LEVEL) and _find_alpha(analysis) == ALPHA


def _is_significant(analysis: Mapping[str, Any]) -> bool | None:
    """Whether p is below its threshold; None if none is posted or its bound does not tell."""
    sign, p = _read_p(analysis)
    alpha = _find_alpha(analysis)
    if p is None:
        return None
    if sign in "<≤":
        return True if p <= alpha else None
    if sign in ">≥":
        return False if p >= alpha else None
    return p < alpha


def _rules_out_null(analysis: Mapping[str, Any]) -> bool | None:
    """Whether the interval excludes the value of no effect; None if that is not known, or the level is below 95 %."""
    low = parse_posted_number(analysis.get("ci_lower"))
    high = parse_posted_number(analysis.get("ci_upper"))
    level = parse_posted_number(analysis.get("ci_percent"))
    measure = str(analysis.get("effect") or "")
    if low is None or high is None:
        return None
    if says("ratio", measure):
        null = _NULL_OF_RATIO
    elif says("difference", measure):
        null = _NULL_OF_DIFFERENCE
    else:
        return None
    if min(low, high) <= null <= max(low, high):
        return False
    return True if level is not None and level >= FULL_LEVEL else None


def _find_favoured(outcome: Mapping[str, Any], first: str, second: str) -> Favours | None:
    """Return which group did better in every posted category; None if they or the outcome's direction do not say.

    A category's own words count before the outcome's: "Therapeutic failure" under "Therapeutic response".
    """
    ours = _list_values(outcome, first)
    theirs = _list_values(outcome, second)
    whole = is_more_better(outcome)
    if len(ours) == len(theirs) == 1:  # each group has a row of its own in some outcomes
        theirs = dict.fromkeys(ours, next(iter(theirs.values())))
    if not ours or ours.keys() != theirs.keys():
        return None
    favoured = set[Favours | None]()
    for category, value in ours.items():
        other = theirs[category]
        if value is None or other is None:  # "not reached" is longer or shorter than a number, as may be
            return None
        own = is_higher_better(category) if len(ours) > 1 else None
        better = own if own is not None and whole is not None else whole
        if value != other:
            favoured.add(None if better is None else "arm" if (value > other) is better else "versus")
    return favoured.pop() if len(favoured) == 1 else None


def _list_values(outcome: Mapping[str, Any], group: str) -> dict[str, float | None]:
    """Return a group's values by category, counts as proportions, without baseline values; None for `NA`."""
    size = _list_sizes(outcome).get(group)
    is_count = says("plain count", str(outcome.get("unit") or "")) is not None and not _is_share(outcome)
    values: dict[str, float | None] = {}
    for row in outcome.get("values", ()):
        category = str(row.get("category") or "")
        if row.get("group") != group or says("baseline", category):
            continue
        if category in values:  # rows without titles of their own
            category = f"{category} {len(values)}"
        value = parse_posted_number(row.get("value"))
        if value is not None and is_count:
            value = value / size if size else None
        values[category] = value
    return values


def _mark_loose_doses(comparisons: list[Comparison], treatments: Mapping[str, ArmTreatment]) -> list[Comparison]:
    """Mark results in favour of a dose that do not hold as one of several against the same group, by Bonferroni
    (Cochrane Handbook 15.6)."""
    corrected = []
    for row in comparisons:
        drugs = treatments[row.arm].drugs
        doses = {
            other.arm for other in comparisons if other.versus == row.versus and treatments[other.arm].drugs == drugs
        }
        p = row.estimate.p if row.estimate else None
        is_loose = len(doses) > 1 and p is not None and p > ALPHA / len(doses) and row.favours == "arm"
        corrected.append(row.model_copy(update={"hedged": True}) if is_loose else row)
    return corrected
