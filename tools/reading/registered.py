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
from typing import Any, NamedTuple

from ..lexicon import find_drugs
from ..records import Trial
from ..records.evidence import Evidence
from ..records.study import (
    Aim,
    Arm,
    ArmCount,
    ArmRole,
    Comparison,
    Equivalence,
    Estimate,
    Favours,
    OutcomeClass,
    Study,
    StudyPassage,
    TrialName,
)
from .posted import OF_PLACEBO, P_VALUE, counted_values, more_is_better, posted_number, registered_design
from .text import says

VERSION = "1"
ALPHA = 0.05  # two-sided, ICH E9; half of it for a one-sided test
FULL_LEVEL = 95.0  # percent; the interval that says the same as a two-sided p of 0.05
_AIMS: Mapping[str, Aim] = {"TREATMENT": "treat", "PREVENTION": "prevent", "BASIC_SCIENCE": "mechanism"}
_OF_DRUGS = frozenset({"DRUG", "BIOLOGICAL", "DIETARY_SUPPLEMENT", "COMBINATION_PRODUCT", "GENETIC"})
_LAYOUTS = {"PARALLEL": "parallel", "CROSSOVER": "crossover", "FACTORIAL": "factorial", "SINGLE_GROUP": "single_group"}
_FILLERS = re.compile(r"\b(?:arm|group|cohort|part|phase)\b(?:\s+[0-9ivab]{1,3}\b)?|[^a-z0-9.]+", re.IGNORECASE)
_DOSE = re.compile(r"\s*\b\d[\d.,]*\s*(?:mg|g|mcg|µg|ug|ml|iu|units?|%)\b.*$", re.IGNORECASE)
_ROLES: Mapping[str, ArmRole] = {
    "PLACEBO_COMPARATOR": "placebo",
    "SHAM_COMPARATOR": "placebo",
    "NO_INTERVENTION": "none",
}
_NULL_OF_RATIO, _NULL_OF_DIFFERENCE = 1.0, 0.0


class ArmTreatment(NamedTuple):
    """What an arm or a group of results got."""

    role: ArmRole
    drugs: tuple[str, ...]
    kind: str
    """The registry's type of the arm; empty where no arm matches."""


class Finding(NamedTuple):
    """What an analysis says of its first group."""

    favours: Favours | None
    significant: bool | None
    equivalence: Equivalence | None


def read_registered_trial(record: Evidence) -> Study | None:
    """Read a registered trial and its posted primary outcomes; None if the record is no trial.

    Every pair of groups that a primary outcome's analyses name is a comparison. One that cannot be read has `favours`
    None, which keeps the others of its outcome from deciding.
    """
    trial = record.trial
    if trial is None:
        return None
    outcomes = trial.results.get("primary_outcomes", []) if trial.results else []
    treatments = _list_treatments(trial, outcomes)
    background = _find_background(trial)
    comparisons: list[Comparison] = []
    for outcome in outcomes:
        comparisons += _correct_for_doses(list(_read_outcome(outcome, treatments, background, record)))
    sizes = {name: size for outcome in outcomes for name, size in _sizes_of(outcome).items()}
    arms = tuple(
        Arm(
            name=name,
            role=got.role,
            drugs=tuple(drug for drug in got.drugs if drug not in background),
            n=sizes.get(name),
        )
        for name, got in treatments.items()
    )
    is_randomised = trial.allocation == "RANDOMIZED"
    return Study(
        key=record.key,
        reader="registry",
        version=VERSION,
        depth="registry",
        aim=_AIMS.get(trial.primary_purpose or "", "other" if trial.primary_purpose else None),
        condition="; ".join(trial.conditions),
        design=str(registered_design(trial)),
        blinded=None if not trial.masking else trial.masking != "NONE",
        randomised=trial.enrollment if is_randomised else None,
        analysed=None if is_randomised else trial.enrollment,
        background=tuple(sorted(background)),
        arms=arms,
        comparisons=tuple(comparisons),
        trial=TrialName(registered=(trial.nct_id,) if trial.nct_id else (), acronym=trial.acronym or ""),
        not_read=("conclusion", "statements", "people", "secondary outcomes"),
    )


def _find_background(trial: Trial) -> frozenset[str]:
    """Return the drugs that every registered arm takes; none if there is one arm."""
    drugs = [set(_treatment_of(arm, trial).drugs) for arm in trial.arms]
    return frozenset(set.intersection(*drugs)) if len(drugs) > 1 else frozenset()


def _list_treatments(trial: Trial, outcomes: Sequence[Mapping[str, Any]]) -> dict[str, ArmTreatment]:
    """Return what each group of results got, else each registered arm, by name."""
    groups = {str(group.get("name")): group for outcome in outcomes for group in outcome.get("groups", ())}
    if groups:
        return {
            name: _find_treatment(name, str(group.get("description") or ""), trial) for name, group in groups.items()
        }
    return {str(arm.get("label") or f"arm {at}"): _treatment_of(arm, trial) for at, arm in enumerate(trial.arms, 1)}


def _find_treatment(title: str, description: str, trial: Trial) -> ArmTreatment:
    """Find what a group of results got: that of the arm with its title, else what its own title and description
    name."""
    wanted = _words_of(title)
    labelled = [(arm, _words_of(str(arm.get("label") or ""))) for arm in trial.arms]
    same = [arm for arm, label in labelled if label == wanted]
    near = [
        arm for arm, label in labelled if wanted and label and (set(label) <= set(wanted) or set(wanted) <= set(label))
    ]
    if same:
        return _treatment_of(same[0], trial)
    if len(near) == 1:
        return _treatment_of(near[0], trial)
    for text in (title, description):
        treatment = _treatment_of({"label": title, "interventions": [text]}, trial, is_registered=False)
        if treatment.role != "unknown":
            return treatment
    return ArmTreatment("unknown", (), "")


def _words_of(label: str) -> list[str]:
    return _FILLERS.sub(" ", label.lower()).split()


def _treatment_of(arm: Mapping[str, Any], trial: Trial, *, is_registered: bool = True) -> ArmTreatment:
    """Return what an arm got: its drugs by generic name, an unknown drug by the registry's name for it.

    An arm that the registry types as placebo, and whose only other content is unknown, is a placebo unless it lists a
    placebo beside it: then the unknown one is the other half of a double dummy.
    """
    kind = str(arm.get("type") or "")
    types = {str(each.get("name", "")).casefold(): str(each.get("type") or "") for each in trial.interventions}
    others = {str(each.get("name", "")).casefold(): each.get("other_names", []) for each in trial.interventions}
    known: list[str] = []
    unknown: list[str] = []
    has_inert, has_other = False, False
    for name in arm.get("interventions", ()):
        text = OF_PLACEBO.sub(" placebo ", name)
        drugs = [drug.name for drug in find_drugs(text)]
        is_inert = bool(says("nothing", text))
        if not drugs and not is_inert:
            drugs = [drug.name for other in others.get(name.casefold(), ()) for drug in find_drugs(other)][:1]
        if drugs:
            known += drugs
        elif is_inert:
            has_inert = True
        elif is_registered and types.get(name.casefold(), "DRUG") in _OF_DRUGS:
            unknown.append(_DOSE.sub("", name).strip().lower() or name.lower())
        else:
            has_other = is_registered
    is_typed_inert = kind in _ROLES
    if is_typed_inert and not known and not (unknown and has_inert):
        return ArmTreatment(_ROLES[kind], (), kind)
    drugs = list(dict.fromkeys([*known, *unknown]))
    if drugs:
        return ArmTreatment("drug", tuple(drug for drug in drugs if drug != "sodium chloride") or tuple(drugs), kind)
    if has_inert:
        return ArmTreatment("placebo", (), kind)
    return ArmTreatment("other_treatment" if has_other else "unknown", (), kind)


def _sizes_of(outcome: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of participants of each group of an outcome, where it is posted as a number."""
    sizes = {}
    for group in outcome.get("groups", ()):
        size = posted_number(group.get("n"))
        if size is not None and size >= 0:
            sizes[str(group.get("name"))] = int(size)
    return sizes


def _read_outcome(
    outcome: Mapping[str, Any], treatments: Mapping[str, ArmTreatment], background: frozenset[str], record: Evidence
) -> Iterator[Comparison]:
    """Yield the comparisons of an outcome's analyses, each pair of groups once: its first analysis, usually the main
    one."""
    analyses = [analysis for analysis in outcome.get("analyses", ()) if len(analysis.get("groups", ())) != 1]
    pairs = [analysis for analysis in analyses if len(analysis["groups"]) == 2]
    found = [
        _compare(analysis, outcome, *_order_groups(analysis["groups"], treatments, background), record)
        for analysis in pairs
    ]
    said: dict[tuple[str, str | None], set[tuple[Favours | None, bool | None]]] = {}
    for row in found:
        said.setdefault((row.arm, row.versus), set()).add((row.favours, row.significant))
    for row in found:
        # Two analyses of the same groups that disagree: neither decides.
        is_clear = len(said[row.arm, row.versus]) == 1
        yield row if is_clear else row.model_copy(update={"favours": None, "significant": None})
    if found or not analyses:
        return
    for name in analyses[0]["groups"]:  # a test over several groups at once says that they differ, not which is better
        if treatments[name].role == "drug":
            yield Comparison(
                arm=name,
                against="unstated",
                outcome=str(outcome.get("title") or ""),
                endpoint=_class_of(outcome),
                primary=True,
                passage=_passage_of(analyses[0], record),
            )


def _order_groups(
    names: Sequence[str], treatments: Mapping[str, ArmTreatment], background: frozenset[str]
) -> tuple[str, str]:
    """Order two groups: the one whose drugs the other has not comes first; of two such, the experimental one."""
    first, second = names
    ours, theirs = (set(treatments[name].drugs) - background for name in (first, second))
    if ours - theirs and not theirs - ours:
        return first, second
    if theirs - ours and not ours - theirs:
        return second, first
    is_second_tested = treatments[second].kind == "EXPERIMENTAL" and treatments[first].kind != "EXPERIMENTAL"
    return (second, first) if is_second_tested else (first, second)


def _compare(
    analysis: Mapping[str, Any], outcome: Mapping[str, Any], first: str, second: str, record: Evidence
) -> Comparison:
    finding = _read_analysis(analysis, outcome, first, second)
    sizes = _sizes_of(outcome)
    is_counted = first in sizes and second in sizes
    return Comparison(
        arm=first,
        versus=second,
        outcome=str(outcome.get("title") or ""),
        endpoint=_class_of(outcome),
        primary=True,
        favours=finding.favours,
        significant=finding.significant,
        equivalence=finding.equivalence,
        estimate=_estimate_of(analysis, outcome, first, second),
        time_point=str(outcome.get("time_frame") or ""),
        higher_is_better=more_is_better(outcome),
        participants=sizes[first] + sizes[second] if is_counted else None,
        passage=_passage_of(analysis, record),
    )


def _class_of(outcome: Mapping[str, Any]) -> OutcomeClass:
    """Tell outcomes on safety and kinetics, which the registry does not mark, from those on efficacy, by their
    title."""
    return "harm" if says("not of efficacy", str(outcome.get("title") or "")) else "efficacy"


def _passage_of(analysis: Mapping[str, Any], record: Evidence) -> StudyPassage | None:
    sentence = str(analysis.get("sentence") or "")
    if not sentence:
        return None
    start = f"{record.citation.title}. {record.content}".find(sentence)
    located = {"start": start, "end": start + len(sentence)} if start >= 0 else {}
    return StudyPassage(text=sentence, section="Registry entry", **located)


def _estimate_of(analysis: Mapping[str, Any], outcome: Mapping[str, Any], *groups: str) -> Estimate:
    """Carry an analysis' figures, and each group's own result."""
    value, low, high, level = (
        posted_number(analysis.get(name)) for name in ("effect_value", "ci_lower", "ci_upper", "ci_percent")
    )
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
        counts=tuple(_count_of(outcome, group) for group in groups),
        written=str(analysis.get("sentence") or ""),
    )


def _count_of(outcome: Mapping[str, Any], group: str) -> ArmCount:
    """Return a group's own result: people with an event where people are counted, else the value."""
    values = [posted_number(row.get("value")) for row in outcome.get("values", ()) if row.get("group") == group]
    value = values[0] if len(values) == 1 else None
    size = _sizes_of(outcome).get(group)
    is_count = (
        value is not None and value.is_integer() and says("counted people", str(outcome.get("unit") or "")) is not None
    )
    if is_count and value is not None and value >= 0:
        return ArmCount(arm=group, events=int(value), n=size)
    return ArmCount(arm=group, mean=value, n=size)


def _read_p(analysis: Mapping[str, Any]) -> tuple[Any, float | None]:
    """Return the sign and value of p; None if there is none or it is no probability."""
    match = P_VALUE.match(str(analysis.get("p_value") or "").replace(" ", ""))
    if match is None or float(match["value"]) > 1:
        return "=", None
    return match["sign"][:1] or "=", float(match["value"])


def _read_analysis(analysis: Mapping[str, Any], outcome: Mapping[str, Any], first: str, second: str) -> Finding:
    """Read which group an analysis favours: by p and by the interval, which have to agree where both tell."""
    unread = Finding(None, None, None)
    by_p, by_interval = _is_significant(analysis), _excludes_null(analysis)
    kind = str(analysis.get("non_inferiority") or "")
    if "INFERIORITY" in kind.replace("SUPERIORITY", "") or "EQUIVALENCE" in kind:
        if by_interval:  # an interval without the value of no effect shows more than its test asked
            return Finding(_favoured(outcome, first, second), True, None)
        return Finding("neither", False, "shown" if by_p else "not_shown")
    if by_p is None and by_interval is None:
        return unread
    disagree = by_p is not None and by_interval is not None and by_p != by_interval
    if disagree and _is_full(analysis):
        return unread
    significant = by_p if by_p is not None else by_interval
    if not significant:
        return Finding("neither", False, None)
    favours = _favoured(outcome, first, second)
    return Finding(favours, True if favours else None, None)


def _alpha_of(analysis: Mapping[str, Any]) -> float:
    words = " ".join(str(analysis.get(name) or "") for name in ("method", "p_comment", "about"))
    is_one_sided = analysis.get("one_sided") or says("one-sided", words)
    return ALPHA / 2 if is_one_sided else ALPHA


def _is_full(analysis: Mapping[str, Any]) -> bool:
    level = posted_number(analysis.get("ci_percent"))
    return level is not None and math.isclose(level, FULL_LEVEL) and _alpha_of(analysis) == ALPHA


def _is_significant(analysis: Mapping[str, Any]) -> bool | None:
    """Whether p is below its threshold; None if none is posted or its bound does not tell."""
    sign, p = _read_p(analysis)
    alpha = _alpha_of(analysis)
    if p is None:
        return None
    if sign in "<≤":
        return True if p <= alpha else None
    if sign in ">≥":
        return False if p >= alpha else None
    return p < alpha


def _excludes_null(analysis: Mapping[str, Any]) -> bool | None:
    """Whether the interval excludes the value of no effect; None if that is not known, or the level is below 95 %."""
    low, high, level = (posted_number(analysis.get(name)) for name in ("ci_lower", "ci_upper", "ci_percent"))
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


def _favoured(outcome: Mapping[str, Any], first: str, second: str) -> Favours | None:
    """Return which group did better, by the posted values; None if they or the outcome's direction do not say."""
    ours, theirs = counted_values(outcome, first), counted_values(outcome, second)
    larger = {ours[name] > theirs[name] for name in ours if name in theirs and ours[name] != theirs[name]}
    better = more_is_better(outcome)
    if len(larger) != 1 or ours.keys() != theirs.keys() or better is None:
        return None
    return "arm" if larger.pop() == better else "versus"


def _correct_for_doses(comparisons: list[Comparison]) -> list[Comparison]:
    """Mark results that do not hold as one of several tests against the same group, by Bonferroni (Cochrane Handbook
    15.6)."""
    corrected = []
    for comparison in comparisons:
        tests = sum(other.versus == comparison.versus for other in comparisons)
        p = comparison.estimate.p if comparison.estimate else None
        is_loose = tests > 1 and p is not None and p > ALPHA / tests and comparison.favours == "arm"
        corrected.append(comparison.model_copy(update={"hedged": True}) if is_loose else comparison)
    return corrected
