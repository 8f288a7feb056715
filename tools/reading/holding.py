"""Hold the small reader's reading of a drug to its own passage: what that does not bear out is not told.

| the passage | the reading |
|---|---|
| names other drugs alone, tells of harm, of cost or of who was given what alone | another sentence tells it |
| of a review, does not name the drug, or names other conditions alone | the same |
| either, and none does | of a trial does not tell which side it favours; of others no result |
| names the drug joined with others, and the record also gives it alone | another sentence tells it, if one does |
| names the drug only joined with others; does not name it, and the title joins it | its part is not told |
| of a review, without placebo or the number of people | a comparison that does not tell with what, nor of how many |
| names another drug behind "than" or "versus" | compared with that |
| names the drug behind "than" or "versus", or joined with others, alone | the comparator of another drug |
| the same, and no placebo | no result beside placebo or nothing either |
| names the drug behind "refractory to" or "after failure of" alone | mentioned, no result |
| says that two drugs are as effective | no difference, equivalence shown |
| says that either drug helped | against before |
| denies that the drug was better; tells of others than the one compared | does not tell which side it favours |
| denies it for the condition asked about, whatever it says of another | no difference |
| is on another condition of the title | something else |
| asks for studies of whether the drug works | does not tell which side it favours |
| tells a significant worsening, and the reading no difference | the same |
| tells a failure that is not more likely than not | no difference, and no statement |
| the same, and that something changed significantly | does not tell which side it favours |

A reading by a language model was checked when it was made, and the registry's has no passage.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from .contrast import PassageContrast
from .document import Document, Sentence
from .reading import Comparator, QuotedPassage, Reading
from .sections import is_full_text
from .text import says

_PAIRED = re.compile(r",?\s*(?:and|or|/)\s*", re.IGNORECASE)
MORE_LIKELY = 0.5  # probability
_COMPARED = frozenset({"tested", "combined"})
_CHECKED = frozenset({"model", "posted"})
_KINDS = frozenset({"efficacy", "surrogate", "harm", "process"})
_REVIEWS = frozenset({"review", "guideline", "systematic_review", "meta_analysis"})
INERT: frozenset[Comparator] = frozenset({"placebo", "none"})
_BENEFIT = "tells of benefit"
_FAILURE = "tells of failure"
_TELLS = {"supports": _BENEFIT, "contradicts": _FAILURE}


class HeldReading(NamedTuple):
    """A reading that its passage bears out."""

    reading: Reading
    partners: tuple[str, ...] = ()
    """Drugs with which the record joins the drug, where it never names it alone."""


def hold_to_passage(reading: Reading, document: Document) -> HeldReading:
    """Change of the small reader's reading what its passage does not bear out, by the table above."""
    if reading.reader in _CHECKED or not reading.passages or reading.effect == "not_reported":
        return HeldReading(reading)
    reading = _find_bearing(reading, document)
    if reading.effect == "not_reported" or not is_compared(reading):
        return HeldReading(reading)
    passage = PassageContrast.of_passages(reading.passages, document)
    partners = _find_partners(reading.drug, passage, document)
    changes: dict[str, object] = {"alone": reading.alone and not partners}
    if reading.design in _REVIEWS:
        changes |= _hold_review(reading, passage, document)
    rivals = passage.find_rivals(reading.drug)
    if rivals:
        changes |= {"comparator": "active", "against": " and ".join(rivals)}
    if reading.effect == "worse" and is_unlikely_failure(reading):
        changes |= {"effect": "mixed" if says("tells a change", passage.text) else "no_difference"}
    if reading.effect == "better":
        changes |= _temper(reading, passage)
    if reading.effect == "no_difference" and _tells_worsening(passage.text):
        changes |= {"effect": "mixed"}
    if passage.is_rival(reading.drug):
        changes |= {"role": "comparator"}
        if reading.comparator in INERT and not says("nothing", passage.text):
            changes |= {"comparator": "not_reported"}  # what was no better than it tells nothing of it beside placebo
    if passage.is_given_before(reading.drug):
        changes |= {"role": "mentioned", "effect": "not_reported"}
    if _is_on_other(reading, document):
        changes |= {"match": "other"}
    return HeldReading(reading.model_copy(update=changes), partners)


def is_compared(reading: Reading) -> bool:
    """Whether a reading tells a result of the drug; one of an active control only if it was beside nothing."""
    is_tested = reading.role in _COMPARED or (reading.role == "comparator" and reading.comparator in INERT)
    return is_tested and reading.effect != "not_reported" and reading.kind in _KINDS


def is_unlikely_failure(reading: Reading) -> bool:
    """Whether a reader told a failure because such are seldom, though something else is as likely."""
    return reading.verdict == "contradicts" and reading.probability < MORE_LIKELY


def _find_bearing(reading: Reading, document: Document) -> Reading:
    """Return a reading whose passage bears its verdict: its own, else another sentence's; else it tells no result."""
    cue = _TELLS.get(reading.verdict)
    passage = PassageContrast.of_passages(reading.passages, document)
    if cue is None:
        return reading
    is_bearing = _may_bear(reading, passage)
    is_joined = _is_only_there_joined(reading.drug, passage, document)
    if is_bearing and not is_joined:
        return reading
    for sentence in _rank(document, reading.condition):
        line = PassageContrast.of_sentence(sentence)
        if not _is_own(line, reading.drug) or not says(cue, line.text):
            continue
        if cue == _FAILURE or not says(_FAILURE, line.text):
            return reading.model_copy(update={"passages": (_quote(sentence),)})
    if is_bearing:
        return reading
    if is_compared(reading) and reading.design not in _REVIEWS:
        return reading.model_copy(update={"effect": "mixed"})
    return reading.model_copy(update={"role": "mentioned", "effect": "not_reported"})


def _quote(sentence: Sentence) -> QuotedPassage:
    return QuotedPassage(text=sentence.quote, start=sentence.start, end=sentence.start + len(sentence.quote))


def _may_bear(reading: Reading, passage: PassageContrast) -> bool:
    """Whether a passage may bear a verdict on a drug: it tells of it, and not of harm or cost alone."""
    if reading.verdict == "supports" and not _tells_benefit(passage.text):
        return False
    if reading.design in _REVIEWS or reading.role == "mentioned":
        return _mentions_drug(passage, reading.drug) and not passage.is_on_other_conditions(reading.condition)
    return not passage.is_on_others(reading.drug)


def _tells_benefit(text: str) -> bool:
    """Whether a text tells of benefit, or at least of no harm or cost, nor of who was given what."""
    is_off_topic = any(says(cue, text) for cue in ("sign of harm", "tells of cost", "tells who was given"))
    return not is_off_topic or says(_BENEFIT, text) is not None


def _tells_worsening(text: str) -> bool:
    """Whether a text tells that people got significantly worse, and denies nothing."""
    is_denied = says("not significantly", text) or says("denies a worsening", text)
    return not is_denied and says("tells a worsening", text) is not None


def _is_only_there_joined(drug: str, passage: PassageContrast, document: Document) -> bool:
    """Whether a passage names a drug joined with others that the record also gives alone."""
    return bool(passage.find_partners(drug)) and not PassageContrast.of_record(document).find_partners(drug)


def _is_own(line: PassageContrast, drug: str) -> bool:
    """Whether a line may tell a result of a drug alone: it names it, or says that each drug did."""
    if not line.drugs and says("of each drug", line.text):
        return True
    is_rather_another = line.is_rival(drug) or line.is_denied(drug) or bool(line.find_partners(drug))
    return _mentions_drug(line, drug) and not is_rather_another


def _mentions_drug(line: PassageContrast, drug: str) -> bool:
    """Whether a line names a drug, or its class and no other drug: "gabapentin, a new anticonvulsant" is on that."""
    return line.mentions(drug) or (not line.drugs and line.mentions_class_of(drug))


def _rank(document: Document, condition: str) -> Iterator[Sentence]:
    """Yield the sentences that may tell a result: those that name the condition before others, conclusions first."""
    telling = [sentence for sentence in document.sentences if _may_tell(sentence) and sentence.start >= document.offset]
    with_condition = set()
    for sentence in telling:
        if condition in {name for name, *_ in sentence.conditions}:
            with_condition.add(sentence.order)
    yield from sorted(telling, key=lambda sentence: (sentence.order not in with_condition, sentence.zone != "C"))


def _may_tell(sentence: Sentence) -> bool:
    return sentence.headed in ("result", "conclusion") or (sentence.headed is None and sentence.zone in "RCB")


def _find_partners(drug: str, passage: PassageContrast, document: Document) -> tuple[str, ...]:
    """Find the drugs joined with a drug in its passage; where that does not name it, in the title or throughout."""
    joined = passage.find_partners(drug)
    if joined or passage.mentions(drug):
        return joined
    return PassageContrast(document.title).find_partners(drug) or PassageContrast.of_record(document).find_partners(
        drug
    )


def _hold_review(reading: Reading, passage: PassageContrast, document: Document) -> dict[str, object]:
    """Return what a review's passage does not tell of its comparison: with what, and how many people.

    The people of a review whose title is on the condition are those that it tells of elsewhere.
    """
    changes: dict[str, object] = {}
    if reading.comparator in INERT and not says("nothing", passage.text):
        changes["comparator"] = "not_reported"
    is_titled = reading.condition in {name for name, start, _ in document.conditions if start < document.offset}
    people = reading.participants
    if people is not None and not is_titled and not {str(people), f"{people:,}"} & set(passage.text.split()):
        changes["participants"] = None
    return changes


def _temper(reading: Reading, passage: PassageContrast) -> dict[str, object]:
    """Return how a better result is changed by its own passage."""
    if passage.is_denied_for(reading.condition):
        return {"effect": "no_difference"}
    is_elsewhere = reading.comparator != "not_reported" and passage.is_on_others(reading.drug)
    if is_elsewhere or passage.limit_to(reading.condition).is_denied(reading.drug):
        return {"effect": "mixed"}
    changes: dict[str, object] = {"hedged": reading.hedged or passage.is_guarded(reading.drug)}
    if reading.comparator == "active" and says("as effective", passage.text):
        changes |= {"effect": "no_difference", "non_inferior": True}
    elif reading.comparator == "active" and says("of each drug", passage.text):
        changes |= {"comparator": "before_after", "against": None}
    return changes


def _is_on_other(reading: Reading, document: Document) -> bool:
    """Whether a passage is on the one of a title's two conditions ("migraine and tension headache") not asked about."""
    inside: set[str] = set()
    for part in reading.passages:
        if is_full_text(part.section):
            return False
        inside |= {name for name, start, _ in document.conditions if part.start <= start < part.end}
    if reading.condition in inside:
        return False
    titled = sorted((start, end, name) for name, start, end in document.conditions if start < document.offset)
    for (_, end, former), (start, _, latter) in pairwise(titled):
        pair = {former, latter}
        is_pair = _PAIRED.fullmatch(document.whole[end:start]) is not None
        if is_pair and reading.condition in pair and not inside.isdisjoint(pair):
            return True
    return False
