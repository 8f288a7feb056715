"""Assemble a `Study` from readings of single drugs, until a reader gives whole studies.

A reading tells of one drug in one condition: its role, one comparison and one result, with the sentences that carry it.
What it does not tell stays empty, and `Study.not_read` names it.

| reading | study |
|---|---|
| tested or combined, with a result | a comparison of the drug's arm |
| combined, its part not told | its arm has its partners; one that is not known is `UNNAMED` |
| against an active drug | the arm of the only other drug compared; else an arm of an unknown kind |
| against another dose | a comparison that does not tell with what; with the drug itself, if that was no better |
| the comparator of another drug, called effective or not | a statement of the authors |
| mentioned, called effective or not | a statement that the record cites |
| background | a drug that all arms take |
| the primary outcome missed, another met | two comparisons, the primary one first |
| a complication, or something else in these people | a comparison on another condition |
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..lexicon import find_drugs
from ..records.study import (
    Against,
    Arm,
    ArmRole,
    Comparison,
    Estimate,
    Favours,
    OutcomeClass,
    ReaderKind,
    ResultBasis,
    Stated,
    StatedView,
    Study,
    StudyPassage,
)
from .arm_sizes import INERT, find_arm_sizes
from .contrast import UNNAMED
from .document import Document
from .holding import hold_to_passage, is_compared, is_unlikely_failure
from .numbers import find_effect_sizes
from .reading import Comparator, Effect, OutcomeKind, Reading
from .sections import is_full_text
from .text import says

PLACEBO = "placebo"
UNTREATED = "no treatment or usual care"
UNKNOWN = "another treatment"
"""Names of arms that a reader tells the kind of, and no more."""
COMPLICATION = "a complication of "
"""Before the condition that a record was read for, where its own is a complication of that."""
ELSEWHERE = "something else in people with "
"""Before the condition that a record was read for, where its own is none of that."""
UNREAD_FIELDS = (
    "aim", "people", "blinded", "randomised", "analysed", "conclusion", "trial", "follow_up", "setting", "country",
    "funding", "layout", "dose", "n", "outcome", "subgroup", "basis", "time_point", "analysis_set", "margin",
)  # fmt: skip
TWO_ARMS = 2  # of a study whose participants are those of its one comparison
_IN_ARMS = frozenset({"tested", "combined", "comparator"})
_READERS: dict[str, ReaderKind] = {"model": "model", "posted": "registry"}
_ENDPOINTS: dict[OutcomeKind, OutcomeClass] = {
    "efficacy": "efficacy",
    "surrogate": "surrogate",
    "harm": "harm",
    "process": "process",
}
_FAVOURS: dict[Effect, tuple[Favours | None, bool | None]] = {
    "better": ("arm", True),
    "no_difference": ("neither", False),
    "worse": ("versus", True),
    "mixed": (None, None),
}
_INERT: dict[Comparator, tuple[str, ArmRole]] = {"placebo": (PLACEBO, "placebo"), "none": (UNTREATED, "none")}
_STATED: dict[str, Stated] = {"supports": "works", "contradicts": "does_not_work"}


class _Result(NamedTuple):
    """A drug's reading with the arms that it compares; `versus` is None for a comparison that is not with an arm."""

    reading: Reading
    arm: Arm
    versus: Arm | None


def assemble_study(readings: Sequence[Reading], document: Document) -> Study:
    """Assemble the study of a record from one reader's readings of it for one condition, one a drug, one at least."""
    first = readings[0]
    held_readings = [hold_to_passage(reading, document) for reading in readings]
    readings = [result.reading for result in held_readings]
    partners = {result.reading.drug: result.partners for result in held_readings}
    reader = _READERS.get(first.reader, "small_reader")
    own = {}
    for reading in readings:
        if reading.role in _IN_ARMS:
            own[reading.drug] = _find_arm(reading, readings, partners[reading.drug])
    results = []
    for reading in readings:
        if is_compared(reading):
            results.append(_Result(reading, own[reading.drug], _find_other(reading, readings, own)))
    others = [result.versus for result in results if result.versus is not None]
    linked = {arm.name for arm in others} | {result.arm.name for result in results}
    alone = [reading for reading in readings if reading.role == "comparator" and reading.effect != "not_reported"]
    loose = [_Result(reading, own[reading.drug], None) for reading in alone if own[reading.drug].name not in linked]
    sizes = find_arm_sizes(document)
    arms = {arm.name: _set_arm_size(arm, sizes) for arm in (*own.values(), *others)}
    is_whole = len(arms) <= TWO_ARMS and not sizes and not _has_further_arm(document, arms.values())
    comparisons: list[Comparison] = []
    for result in results:
        comparisons += _compare(result, is_whole=is_whole)
    comparisons += [_leave_open(result) for result in loose if result.reading.kind in _ENDPOINTS]
    views: list[StatedView] = []
    for reading in readings:
        views += _find_views(reading, document)
    return Study(
        key=first.key or document.title or "unknown",
        reader=reader,
        version=first.version,
        probability=first.probability if reader == "small_reader" else None,
        condition=first.condition,
        condition_role=first.condition_role,
        design=first.design,
        background=tuple(reading.drug for reading in readings if reading.role == "background"),
        arms=tuple(arms.values()),
        comparisons=tuple(comparisons),
        statements=tuple(views),
        not_read=UNREAD_FIELDS,
    )


def _find_arm(reading: Reading, readings: Sequence[Reading], joined: Sequence[str]) -> Arm:
    """Return a drug's arm, with its partners if its own part is not told: those that its passage joins with it."""
    if reading.alone:
        return Arm(name=reading.drug, role="drug", drugs=(reading.drug,))
    others = [other.drug for other in readings if not other.alone and other.drug != reading.drug]
    partners = joined or others or [UNNAMED]
    return Arm(name=" and ".join((reading.drug, *partners)), role="drug", drugs=(reading.drug, *partners))


def _has_further_arm(document: Document, arms: Iterable[Arm]) -> bool:
    """Whether a sentence on randomisation names drugs that are in none of the arms."""
    in_arms: set[str] = set()
    for arm in arms:
        in_arms.update(arm.drugs)
    for sentence in document.sentences:
        if sentence.start < document.offset or not says("randomised", document.whole[sentence.start : sentence.end]):
            continue
        randomised = {name for name, first, last in document.drugs if sentence.start <= first and last <= sentence.end}
        if in_arms & randomised and randomised - in_arms:
            return True
    return False


def _set_arm_size(arm: Arm, sizes: Mapping[frozenset[str], int]) -> Arm:
    """Give an arm its people, where the record writes them beside its name."""
    is_inert = arm.role in ("placebo", "none")
    size = sizes.get(INERT if is_inert else frozenset(arm.drugs)) if is_inert or arm.drugs else None
    return arm.model_copy(update={"n": size})


def _find_other(reading: Reading, readings: Sequence[Reading], own: Mapping[str, Arm]) -> Arm | None:
    """Find the arm that a drug is compared with; None for another dose, before treatment, or if it is not told.

    The only other drug with the role of comparator is meant, else the only other one tested; of several none is.
    """
    if reading.comparator in _INERT:
        name, kind = _INERT[reading.comparator]
        return Arm(name=name, role=kind)
    if reading.comparator != "active":
        return None
    if reading.against:
        return own.get(reading.against) or _make_named_arm(reading.against)
    for role in ("comparator", "tested"):
        rivals = [other for other in readings if other.role == role and other.drug != reading.drug and other.alone]
        if rivals:
            return own[rivals[0].drug] if len(rivals) == 1 else _make_named_arm(UNKNOWN)
    return _make_named_arm(UNKNOWN)


def _make_named_arm(name: str) -> Arm:
    """Return the arm of an active comparator by its name, which may be of several drugs."""
    drugs = tuple(dict.fromkeys(mention.name for mention in find_drugs(name)))
    return Arm(name=name, role="drug" if drugs else "unknown", drugs=drugs)


def _compare(result: _Result, *, is_whole: bool) -> Iterator[Comparison]:
    """Yield a drug's comparison; before it the one on the primary outcome, if that was missed and another met."""
    reading = result.reading
    versus = result.versus
    favours, significant = _FAVOURS[reading.effect]
    loose: Against = "baseline" if reading.comparator == "before_after" else "unstated"
    if reading.comparator == "dose" and favours != "arm":
        loose = "baseline_on_drug"
    passage = find_passage(reading)
    row = Comparison(
        arm=result.arm.name,
        versus=versus.name if versus else None,
        against="arm" if versus else loose,
        endpoint=_ENDPOINTS[reading.kind],
        primary={"met": True, "not_met": favours == "neither" or None}.get(reading.primary),
        condition=_find_other_condition(reading),
        favours=favours,
        significant=significant,
        equivalence="shown" if reading.non_inferior else None,
        participants=reading.participants if is_whole else None,
        estimate=find_estimate(passage.text, reading.drug) if passage else None,
        hedged=reading.hedged,
        passage=passage,
    )
    if reading.primary == "not_met" and favours == "arm":
        missed = {"primary": True, "favours": "neither", "significant": False, "estimate": None, "passage": None}
        yield row.model_copy(update={**missed, "equivalence": None, "hedged": False})
        row = row.model_copy(update={"primary": False})
    yield row


def _leave_open(result: _Result) -> Comparison:
    """Return the comparison of an active control of which it is not told whose control it is: it says nothing of it."""
    reading = result.reading
    condition = _find_other_condition(reading)
    passage = find_passage(reading)
    endpoint = _ENDPOINTS[reading.kind]
    return Comparison(arm=result.arm.name, against="unstated", endpoint=endpoint, condition=condition, passage=passage)


def _find_other_condition(reading: Reading) -> str | None:
    """Return on what else a result is; None if it is on the condition that the record was read for, or a part of it."""
    if reading.match == "broader" or "other" in (reading.match, reading.indication):
        return f"{ELSEWHERE}{reading.condition}"
    return f"{COMPLICATION}{reading.condition}" if "complication" in (reading.match, reading.indication) else None


def is_on_condition(part: Comparison | StatedView) -> bool:
    """Whether a comparison or statement is on the condition that the record was read for, or on a complication."""
    return part.condition is None or part.condition.startswith(COMPLICATION)


def find_passage(reading: Reading) -> StudyPassage | None:
    """Return the sentences of a reading's result; None if there are none."""
    parts = reading.passages
    if not parts:
        return None
    place = {"start": parts[0].start, "end": parts[0].end} if len(parts) == 1 else {}
    return StudyPassage(text=" ".join(part.text for part in parts), section=parts[0].section, **place)


def find_estimate(text: str, drug: str) -> Estimate | None:
    """Find a drug's effect size in a passage, the first with an interval or a p value; None if there is none."""
    for size in find_effect_sizes(Document.cut("", text).lines, drug):
        if size.ci_low is not None or size.p is not None:
            return Estimate(measure=size.measure, value=size.value, low=size.ci_low, high=size.ci_high, p=size.p)
    return None


def _find_views(reading: Reading, document: Document) -> Iterator[StatedView]:
    """Yield what the authors state of a drug beside its comparison, by the table above."""
    passage = find_passage(reading)
    if passage is None or reading.verdict not in _STATED:
        return
    says = _STATED[reading.verdict]
    is_mentioned = reading.role == "mentioned"
    if is_compared(reading):
        is_failure = says == "does_not_work" and not is_unlikely_failure(reading)
        is_stated = is_failure and reading.alone and _is_concluded(reading, document)
    else:  # a control is never blamed for what another drug did
        is_stated = says == "works" or is_mentioned
    if is_stated:
        basis: ResultBasis = "cited" if is_mentioned else "judgement"
        condition = _find_other_condition(reading)
        yield StatedView(drug=reading.drug, says=says, basis=basis, condition=condition, passage=passage)


def _is_concluded(reading: Reading, document: Document) -> bool:
    """Whether a reading's passage is the title or a conclusion of the record."""
    starts = {part.start for part in reading.passages if not is_full_text(part.section)}
    return any(sentence.zone in "TC" and sentence.start in starts for sentence in document.sentences)
