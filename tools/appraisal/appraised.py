"""What one record says of one drug, remembered: every round appraises the records of the earlier ones again."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from willowbark.tools.registry import kind_of

from ..evidence import Evidence
from ..lexicon import condition_synonyms, drug_synonyms, find_drugs
from ..questions.query import ParsedQuestion
from ..reading.design import RANDOMISED
from ..reading.directness import beats, compared, narrower_group, other_outcome
from . import (
    AppraisedItem,
    Direction,
    PostedFinding,
    StudyDesign,
    appraised_item,
    finding_of,
    prevents,
    registered_trial,
)

REMEMBERED = 4096  # appraisals, of some kilobytes each
_TOLD = (Direction.supports, Direction.contradicts)
_Key = tuple[bytes, str, str, str]


class AppraisedRecord(BaseModel):
    """What one record says of one drug."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item: AppraisedItem
    sentence: str
    """The sentence the direction was read from, to the letter; empty where there is none."""
    posted: PostedFinding | None = None
    """What a trial's posted results say, serious adverse events among it; None where none are posted."""

    @property
    def key(self) -> str:
        """The record's key."""
        return self.item.key


def condition_names(asked: ParsedQuestion) -> tuple[str, ...]:
    """The conditions of a question with their synonyms, without repeats."""
    names = [name for condition in asked.conditions for name in (condition, *condition_synonyms(condition))]
    return tuple(dict.fromkeys(names))


def digest(record: Evidence) -> bytes:
    """Stands for all of a record but its relevance, which no rule reads."""
    return hashlib.sha256(record.model_dump_json(exclude={"relevance"}).encode()).digest()


def appraise_record(
    record: Evidence, drug: str, asked: ParsedQuestion, *, known_as: bytes | None = None
) -> AppraisedRecord:
    """Read one record's design, size, direction and directness for one drug.

    Args:
        record: as `readable` gives it.
        drug: generic name in lower case.
        asked: the question.
        known_as: the record's `digest`, where the caller has it.
    """
    key = (known_as or digest(record), drug, asked.text, asked.intent)
    found = _appraised.get(key)
    if found is None:
        found = _appraise(record, drug, asked)
        if len(_appraised) >= REMEMBERED:
            _appraised.popitem(last=False)
    _appraised[key] = found
    _appraised.move_to_end(key)
    return found


_appraised: "OrderedDict[_Key, AppraisedRecord]" = OrderedDict()


def _appraise(record: Evidence, drug: str, asked: ParsedQuestion) -> AppraisedRecord:
    condition = asked.conditions[0] if asked.conditions else " ".join(asked.terms)
    synonyms = drug_synonyms(drug)
    finding = finding_of(record, drug, condition, synonyms, intent=asked.intent)
    item = appraised_item(record, drug, condition, synonyms, intent=asked.intent)
    sentence = finding.sentence if finding.direction in _TOLD else ""
    if kind_of(record) == "trial":
        meant = asked.intent != "prevention" or prevents(record, drug, synonyms)
        trial = registered_trial(record, item, drug, synonyms, on_purpose=meant)
        direct = _with_directness(record, trial.item, drug, asked, trial.sentence, trial.posted)
        return AppraisedRecord(item=direct, sentence=trial.sentence, posted=trial.posted)
    if item.design is StudyDesign.registry_entry:  # the protocol of a trial, published as a paper
        item, sentence = item.model_copy(update={"direction": Direction.unclear}), ""
    return AppraisedRecord(item=_with_directness(record, item, drug, asked, sentence), sentence=sentence)


def _with_directness(
    record: Evidence,
    item: AppraisedItem,
    drug: str,
    asked: ParsedQuestion,
    sentence: str,
    posted: PostedFinding | None = None,
) -> AppraisedItem:
    """Add to an item whom it is confined to, what its outcome is about, and what the drug was compared with."""
    if item.direction not in _TOLD:
        return item
    title, names = record.citation.title, condition_names(asked)
    outcome = posted.outcome if posted and posted.outcome else None
    rivals = _rivals(record, drug)
    trial = item.design in RANDOMISED
    return item.model_copy(
        update={
            "narrower": narrower_group(title, record.content, asked.text),
            "other_outcome": other_outcome(outcome or sentence, names, registered=outcome is not None),
            "rivals": (" and ".join(rivals) or "another treatment")
            if trial and item.against_nothing is False
            else None,
            "beats_rival": beats(sentence),
            "compared": compared(record.content, item.sample_size, len(rivals), has_inert=item.against_nothing)
            if trial
            else None,
        }
    )


def _rivals(record: Evidence, drug: str) -> Sequence[str]:
    """The other drugs that a record tests: those of its title, else those of its text if it names one alone."""
    for text in (record.citation.title, record.content):
        others = sorted({mention.name for mention in find_drugs(text)} - {drug})
        if others:
            return others if text == record.citation.title or len(others) == 1 else ()
    return ()
