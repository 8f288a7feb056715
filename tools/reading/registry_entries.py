"""Interpret free text in trial registries: outcomes, groups, reasons for stopping.

Stopping for benefit is no evidence by itself, since such trials overstate effects
(https://doi.org/10.1001/jama.2010.310); posted results are used instead.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from ..lexicon import find_drugs
from ..lexicon.matching import cue_form, phrase_key
from .text import says

Beside = Literal["safety", "pharmacokinetics", "feasibility"]

_DURATIONS = frozenset("hour hours day days week weeks month months year years minute minutes min h d".split())
_OF_SCALE = r"(?:(?:\w|-|')+\W+){0,7}?"
_VALUE = r"(?:(?:\w+\W+){0,3}?{measure}\W+" + _OF_SCALE + ")?"
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
_BY_SO_MUCH = re.compile(
    r"(?:(?:≥|>=?|at least|or more|greater)\W*(?:a )?\d+ ?(?:%|percent)?|\b\d+ ?(?:%|percent))\W*"
    r"(?:or (?:more|greater) )?(?:reduction|decrease|improvement|decline|drop)\b",
    re.IGNORECASE,
)


def beside_efficacy(outcome: Mapping[str, Any]) -> Beside | None:
    """Classify an outcome that does not measure efficacy, by its title; None if it measures efficacy."""
    title = str(outcome.get("title") or "")
    kinds: tuple[Beside, ...] = get_args(Beside)
    return next((kind for kind in kinds if says(f"of {kind}", title)), None)


def more_is_better(outcome: Mapping[str, Any], ratio: str = "") -> bool | None:
    """Whether larger posted values are good for the patient; None if the record does not say.

    Its time or events decide first, then the description of the scale, then the name of the outcome. A hazard ratio for
    survival counts deaths.

    Args:
        outcome: `title`, `unit`, `description` and `values` from `clinicaltrials.parse_results`.
        ratio: the hazard, odds, risk or rate ratio whose events are meant; empty for the posted values.

    >>> more_is_better({"title": "Change in monthly migraine days", "unit": "days"})
    False
    >>> more_is_better({"title": "Participants with at least a 50% reduction in attacks", "unit": "Participants"})
    True
    """
    title, unit = str(outcome.get("title") or ""), str(outcome.get("unit") or "")
    whole = f"{title}. {unit}. {outcome.get('description') or ''}"
    if says("hazard", ratio) and says("lasting", title):
        return False
    said = {is_good for form, is_good in _SCALES if cue_form(form, __package__).search(whole)}
    if time_to := says("time to", title):
        good = _good_event(title[time_to.end() :])
        return not good if good is not None and not ratio and unit.strip(" ()").lower() in _DURATIONS else good
    counts_people = ratio or "%" in unit or says("people or events", unit)
    if counts_people and (good := _good_event(title)) is not None:
        return good
    if len(said) == 1:
        return said.pop()
    if said:
        return None
    if says("shrinking", title):  # "reduction in pain": more is better if posted as a positive number, less if below 0
        posted = (posted_number(each.get("value")) for each in outcome.get("values", ()))
        values = [number for number in posted if number is not None]
        if not values or (min(values) < 0 < max(values)):
            return None
        better = higher_is_better(re.sub(r"^.*?\b(?:in|of)\b", "", title, count=1))
        return better if better is None or min(values) < 0 else not better
    if says("unit of a scale", unit):
        return bool(says("scale of health", title)) or (False if says("scale of illness", title) else None)
    return higher_is_better(cue_form("{change}", __package__).sub("", title) or title)


def _good_event(text: str) -> bool | None:
    plainly = cue_form(r"{not}[^,;]{0,40}|\b\w+-free\b", __package__).sub(" free ", text)
    good = says("good event", plainly) or _BY_SO_MUCH.search(plainly)
    bad = says("bad event", plainly)
    if good and bad:
        survives = good.start() < bad.start() and "surviv" in good.group().lower()
        return True if " free " in plainly or survives else None
    return bool(good) if good or bad else None


def posted_number(text: Any) -> float | None:
    """Parse a posted number; None for `NA`, a bound, or a missing value."""
    try:
        value = float(str(text).replace(",", "").replace("−", "-"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


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
    if bad and good:
        first = not {"of", "from", "in", "to"}.isdisjoint(phrase_key(outcome).split())
        return good.start() < bad.start() if first else good.start() > bad.start()
    return bool(good) if good or bad else None


Against = Literal["nothing", "active"]

_WITHOUT = frozenset({"PLACEBO_COMPARATOR", "SHAM_COMPARATOR", "NO_INTERVENTION"})
_INERT = r"(?:placebos?|sham|dummy|vehicle)"
_IN_PLACEBO = rf"\b{_INERT}\b(?:(?!\b(?:and|plus|with|then|followed|in addition)\b(?! placebo))[^,;.+&/]){{0,40}}?"
_FILLERS = re.compile(r"\b(?:arm|group|cohort|part|phase)\b(?:\s+[0-9ivab]{1,3}\b)?|[^a-z0-9.]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A group with the drug and a group without."""

    drug: str
    """Title of the group that got the drug."""
    other: str
    """Title of the group that did not."""
    against: Against
    """`nothing`: placebo, sham, no treatment, or the same treatment without the drug."""


class _Treatment(NamedTuple):
    """What a group was given: the drug or something inert, other drugs, the type of its arm if one matches."""

    has_drug: bool
    inert: bool
    others: frozenset[str]
    kind: str


def comparison(
    groups: Sequence[str], outcome: Mapping[str, Any], arms: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> Comparison | str:
    """Find which of two compared groups had the drug and which the comparator; or say why there is no comparison.

    Args:
        groups: titles of the groups that the analysis compares.
        outcome: the posted outcome, with `groups`.
        arms: the protocol's arms: `label`, `type`, `interventions`.
        names: the drug's names.
    """
    if len(groups) != 2:
        return f"the analysis {'names one group alone' if len(groups) == 1 else 'covers several groups at once'}"
    described = {str(g.get("name")): str(g.get("description") or "") for g in outcome.get("groups", ())}
    first, second = (_find_treatment(title, described.get(title, ""), arms, names) for title in groups)
    if first.has_drug and second.has_drug:
        return "the drug is on both sides"
    if not first.has_drug and not second.has_drug:
        return "neither group is said to have had the drug"
    ours, theirs = (first, second) if first.has_drug else (second, first)
    drug, other = groups if first.has_drug else tuple(reversed(groups))
    if any(says("sequence", title) or "→" in title or "->" in title for title in (drug, other)):
        return "the groups are sequences of treatments"
    if extra := sorted(ours.others - theirs.others):
        return f"given together with {', '.join(extra)}, which the other group had not"
    if theirs.others - ours.others:
        return Comparison(drug, other, "active")
    if theirs.inert or theirs.others or theirs.kind in _WITHOUT:  # the same background treatment without the drug
        return Comparison(drug, other, "nothing")
    if theirs.kind == "ACTIVE_COMPARATOR":
        return Comparison(drug, other, "active")
    return "what the other group had is not said"


def _find_treatment(title: str, described: str, arms: Sequence[Mapping[str, Any]], names: Sequence[str]) -> _Treatment:
    """Find a group's treatment from the arm with the same title, or with one title's words all in the other's."""
    wanted, *labels = (
        _FILLERS.sub(" ", label.lower()).split() for label in (title, *(str(arm.get("label") or "") for arm in arms))
    )
    labelled = list(zip(arms, labels, strict=True))
    same = [arm for arm, label in labelled if label == wanted]
    near = [arm for arm, label in labelled if wanted and label and ({*label} <= {*wanted} or {*wanted} <= {*label})]
    found = same[:1] or (near if len(near) == 1 else [])
    arm = found[0] if found else {}
    text = _without_placebo(" ; ".join([title, *arm.get("interventions", ())]), names)
    if not found and not _holds(text, names) and not says("nothing", text) and not find_drugs(text):
        text = _without_placebo(f"{title} ; {described}", names)
    own = {each.name for name in names for each in find_drugs(name)} | {"sodium chloride"}
    others = frozenset(each.name for each in find_drugs(text)) - own
    return _Treatment(_holds(text, names), bool(says("nothing", text)), others, str(arm.get("type") or ""))


def _holds(text: str, names: Sequence[str]) -> bool:
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-]|-free)", text, re.IGNORECASE) for name in names)


def _without_placebo(text: str, names: Sequence[str]) -> str:
    """Remove drugs that only name their placebo: "placebo matching X", "X placebo"."""
    named = {*names, *(mention.text for mention in find_drugs(text))}
    for name in sorted(named, key=lambda each: (-len(each), each)):
        after = rf"(?<![\w-]){re.escape(name)}[\s(),-]*(?:\d+ ?m?g\)? )?(?:match(?:ed|ing)[\s-]+)?{_INERT}\b"
        for placebo in (rf"{_IN_PLACEBO}\b{re.escape(name)}\b", after):
            text = re.sub(placebo, " placebo ", text, flags=re.IGNORECASE)
    return text


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


_THRESHOLD = re.compile(
    r"(?:signific\w*|alpha|α|threshold|level)\D{0,60}?(?P<value>0?\.0\d+)|(?:≤|<=|<)\s*(?P<below>0?\.0\d+)\D{0,40}?signific",
    re.IGNORECASE,
)


def named_thresholds(comment: str) -> list[float]:
    """Extract the significance thresholds for p that a comment states.

    >>> named_thresholds("Significant if below 0.025")
    [0.025]
    """
    return [float(found["value"] or found["below"]) for found in _THRESHOLD.finditer(comment)]
