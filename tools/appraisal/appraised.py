"""What one record says of one drug: readings in their order of precedence, and the item that follows by arithmetic.

The registry's posted results come first, then what a model read, then the learned reader. The first reading is the
verdict; what a second reader says is shown beside it and takes nothing from it.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel

from willowbark.tools.registry import kind_of

from ..errors import ReadingStopped
from ..evidence import Evidence, checked_identifier
from ..lexicon import condition_synonyms, drug_synonyms
from ..lexicon.conditions import is_generic
from ..lexicon.stemming import stems
from ..questions import Question
from ..questions.question import speaks_of
from ..reading.design import RANDOMISED, StudyDesign, purpose_at, purpose_of, study_design
from ..reading.document import Document
from ..reading.numbers import figures
from ..reading.reading import Reading, indication_from
from ..reading.registry_entries import why_stopped_kind
from ..sources.card import STUDIES
from ..sources.publications import trial_acronyms
from ..works.linking import named_trials, trial_number
from ..works.sections import places
from .posted import PostedFinding, registered_design, registered_reading
from .trials_once import BY_SIZE, AppraisedItem, Direction, direction_of

if TYPE_CHECKING:  # the learned readers bring numpy: a run is begun before anything is read
    from ..reading.learned import LearnedReader

_TOLD = (Direction.supports, Direction.contradicts)
_FOR_CAUSE = frozenset({"safety", "futility"})
_NOT_TESTED = frozenset({"comparator", "mentioned", "background"})
_TELLING_SIZE = 100
_LONGEST_NAME, _MOST_INITIALS = 40, 4
_OF_ONE_STUDY = RANDOMISED | {StudyDesign.controlled_cohort, StudyDesign.cohort, StudyDesign.registry_entry}


class DocumentReader(Protocol):
    """A reader that needs nothing but the text: it answers at once."""

    name: str
    version: str

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        """Read a record for a drug in a condition, and for its design and participants."""


class Readings:
    """What readers say in one run; each record is read once for a drug and a condition, while its text stays the same.

    Threads may ask at once.

    Args:
        reader: reads what no model has read; None takes the one that came with the package, loaded when it is needed.
        given: readings of a model, which go before it.

    Attributes:
        found: publications and trials that are to be read, as far as they are known.
        done: of those, how many were read.
    """

    def __init__(self, reader: DocumentReader | None = None, given: Iterable[Reading] = ()) -> None:
        self._reader = reader
        self._given: dict[str, dict[str, Reading]] = {}
        self._read: dict[tuple[str, ...], Reading] = {}
        self._appraised: dict[str, tuple[Evidence, Question, Mapping[str, AppraisedRecord]]] = {}
        self._ahead: set[str] = set()
        self._done: set[str] = set()
        self._one_reads, self._stopped = threading.RLock(), threading.Event()
        self.found = self.done = 0
        self.take(given)

    def stop(self) -> None:
        """Read nothing more: whoever asks for a record that was not read yet gets `ReadingStopped`."""
        self._stopped.set()

    @property
    def was_stopped(self) -> bool:
        """Whether somebody ended the reading, and records may be left unread."""
        return self._stopped.is_set()

    def begin(self, pool: Iterable[Evidence]) -> None:
        """Count the studies that are to be read, of all that a run has, and those of them that were read before."""
        studies = [record for record in pool if kind_of(record) in STUDIES]
        self.found, self.done = len(studies), sum(not self._done.isdisjoint(names_of(each)) for each in studies)

    def note_read(self, record: Evidence) -> None:
        """Count a record as read, whatever it said."""
        names = names_of(record)
        if self._done.isdisjoint(names):
            self.done += 1
        self._done.update(names)

    def is_new(self, record: Evidence) -> bool:
        """Whether a record was never asked about here, under any of its names."""
        names = names_of(record)
        seen = not self._ahead.isdisjoint(names)
        self._ahead.update(names)
        return not seen

    def once(
        self, record: Evidence, asked: Question, appraise: Callable[[], Mapping[str, "AppraisedRecord"]]
    ) -> Mapping[str, "AppraisedRecord"]:
        """What a record says of each drug: appraised anew where it, or the question, is another than before."""
        key = record.key
        if key in self._appraised:
            former, question, said = self._appraised[key]
            if question == asked and record.says_as(former):
                return said
        said = appraise()
        self.note_read(record)
        self._appraised[key] = record, asked, said
        return said

    def take(self, given: Iterable[Reading]) -> None:
        """Take in what a model read, by record and drug; what it read last counts."""
        for reading in given:
            known = self._given.setdefault(reading.key, {})
            if known.get(reading.drug) != reading:
                known[reading.drug] = reading
                self._appraised.clear()

    def given_for(self, record: Evidence) -> dict[str, Reading]:
        """What a model read in a record, by drug; empty where it read nothing there."""
        return {drug: said for name in names_of(record) for drug, said in self._given.get(name, {}).items()}

    def of(self, record: Evidence, drug: str, condition: str, document: Document | None = None) -> tuple[Reading, ...]:
        """All readings of a record for a drug, the one that counts first.

        Args:
            record: as a source gave it.
            drug: generic name.
            condition: asked about.
            document: another text of the record than its own; a model's reading of that one alone does not count.
        """
        own = self.read(record, drug, condition, document)
        names = [record.key] if document else names_of(record)
        text = document or Document.of(record)
        whole = f"{text.title}\n{text.text}"
        found = (self._given.get(name, {}).get(drug) for name in names)
        given = next(
            (each for each in found if each is not None and all(said.text in whole for said in each.passages)), None
        )
        if given is None:
            return (own,)
        told: dict[str, object] = {"key": record.key, "design": own.design, "participants": own.participants}
        if own.verdict == given.verdict and not any(figures(passage.text) for passage in given.passages):
            told["in_figures"] = own.in_figures
        return given.model_copy(update=told), own

    def read(self, record: Evidence, drug: str, condition: str, document: Document | None = None) -> Reading:
        """What the reader itself says; asked once for the same text.

        Raises:
            ReadingStopped: it was not asked before, and nothing more is read.
        """
        text = document or Document.of(record)
        asked = (record.key, text.whole, *text.types, drug, condition)
        with self._one_reads:
            if asked not in self._read:
                if self._stopped.is_set():
                    raise ReadingStopped(f"{record.key} was not read: the run was stopped")
                reader = self._reader or load_reader()
                self._read[asked] = reader.read_document(text, drug, condition, record.key)
            return self._read[asked]


def names_of(record: Evidence) -> list[str]:
    """All names of a record, its key first: it may have been read under another, before it was united with a copy."""
    return list(dict.fromkeys((record.key, *sorted({*record.identifiers, *record.record.same_as}))))


@cache
def load_reader() -> "LearnedReader":
    """The reader that came with the package; its weights are loaded once, at the first reading."""
    from ..reading.learned import LearnedReader  # noqa: PLC0415

    return LearnedReader()


class AppraisedRecord(BaseModel, frozen=True, extra="forbid"):
    """What one record says of one drug."""

    item: AppraisedItem
    sentence: str
    """What the direction rests on, to the letter: whole sentences; empty where there are none."""
    posted: PostedFinding | None = None
    """What a trial's posted results say, serious adverse events among it; None where none are posted."""
    readings: tuple[Reading, ...] = ()
    """What each reader says of it, the one that counts first."""

    @property
    def key(self) -> str:
        """The record's key."""
        return self.item.key


def condition_names(asked: Question) -> tuple[str, ...]:
    """The conditions of a question with their synonyms, without repeats."""
    names = [name for condition in asked.conditions for name in (condition, *condition_synonyms(condition))]
    return tuple(dict.fromkeys(names))


def condition_of(asked: Question) -> str:
    """The condition that records are read for; the question's words where none is known."""
    return asked.conditions[0] if asked.conditions else " ".join(asked.terms)


def appraise_record(record: Evidence, drug: str, asked: Question, readings: Readings) -> AppraisedRecord:
    """Appraise one record for one drug.

    Args:
        record: as a source gave it.
        drug: generic name in lower case.
        asked: the question.
        readings: of this run.
    """
    condition, document = condition_of(asked), Document.of(record)
    found: tuple[Reading, ...]
    posted = None
    if kind_of(record) == "trial":
        reading, posted = registered_reading(record, drug, condition, drug_synonyms(drug))
        found = (reading,)
    else:
        found = readings.of(record, drug, condition)
        if found[0].verdict in ("none", "neutral") and found[0].effect == "not_reported":
            results = "\n".join(place.text for place in places(record, "results"))
            text = Document.cut(document.title, results, document.types)
            again = readings.of(record, drug, condition, text) if results else found
            found = again if again[0].verdict in ("supports", "contradicts") else found
    item = _item(record, found, posted, condition_names(asked))
    for who in reversed(asked.people):
        item = item if speaks_of(document.whole, who) else replace(item, unnamed=who)
    is_other_use = asked.is_acute or (asked.intent == "prevention")
    by_words = len(found) == 1  # what a model read stands as it read it
    if by_words and item.direction in _TOLD and is_other_use and _prevents(document, found[0]) == asked.is_acute:
        item = replace(item, direction=Direction.inconclusive)
    rests_on = " ".join(passage.text for passage in found[0].passages)
    decides = found[0].reader == "posted" or item.direction in _TOLD
    stopped = record.metadata.get("why_stopped")
    if stopped and (item.why_stopped_kind in _FOR_CAUSE or found[0].kind == "none"):
        rests_on, decides = str(stopped), True
    return AppraisedRecord(item=item, sentence=rests_on if decides else "", posted=posted, readings=found)


def _item(
    record: Evidence, readings: Sequence[Reading], posted: PostedFinding | None, names: Sequence[str]
) -> AppraisedItem:
    """What a record says of a drug as its row: all fields are those of the first reading.

    A study says what its main comparison says, on its own outcome, in its own patients: a reading that is not sure, a
    success beside a primary outcome that was missed, a use for something else, and a combination whose parts were not
    compared are inconclusive. A trial stopped for futility or harm contradicts where it tested the drug alone.
    """
    reading, data, trial = readings[0], record.metadata, record.trial
    stop = why_stopped_kind(data.get("why_stopped"))
    document = Document.of(record)
    if trial:
        decided = stop in _FOR_CAUSE or (posted is not None and posted.direction is not Direction.not_assessed)
        design = registered_design(trial) if decided else StudyDesign.registry_entry
    else:
        design = study_design(reading.design, document.whole, data.get("mesh_terms") or (), reading.participants)
    tested = reading.role not in _NOT_TESTED
    direction = direction_of(reading.verdict)
    unclear = not reading.sure or not reading.alone or reading.indication == "other"
    if direction in _TOLD and (unclear or (direction is Direction.supports and reading.primary == "not_met")):
        direction = Direction.inconclusive
    if stop in _FOR_CAUSE and tested and reading.alone:
        direction = Direction.contradicts
    size = reading.participants
    if design is StudyDesign.systematic_review and {
        name for name, start, _ in document.drugs if start < document.offset
    } != {reading.drug}:
        size = None
    reports = trials_of(record, design, reading.participants)
    pools = reports if len(reports) > 1 and design in RANDOMISED else ()
    return AppraisedItem(
        key=record.key,
        design=design,
        direction=direction,
        sample_size=size,
        tested=tested,
        alone=reading.alone,
        comparator=reading.comparator,
        against=reading.against,
        primary=reading.primary,
        indication=indication_from(reading.match) if reading.indication == "condition" else reading.indication,
        in_title=reading.match in ("same", "narrower") if reading.reader == "model" else _has_in_title(record, names),
        surrogate=reading.kind == "surrogate",
        is_preprint=record.is_preprint,
        retracted=data.get("retracted"),
        concern=data.get("expression_of_concern"),
        trial_status=data.get("overall_status"),
        why_stopped_kind=stop,
        second_reader=direction_of(readings[1].verdict).value if len(readings) > 1 else None,
        trial=reports[0] if len(reports) == 1 else None,
        pools=pools,
    )


def _has_in_title(record: Evidence, names: Sequence[str]) -> bool:
    """Whether a title names a condition, and not just as what people have who are treated for another one named there.

    Args:
        record: a publication, or a trial, whose listed conditions count as its title.
        names: of the condition.
    """
    document, listed = Document.of(record), record.trial.conditions if record.trial else ()
    wanted = [frozenset(stems(name)) for name in names]
    words = frozenset(stems(" ; ".join((document.title, *listed))))
    if not any(each <= words for each in wanted):
        return False
    own, others = list[bool](), list[bool]()
    for sentence in (each for each in document.sentences if each.headed == "title"):
        for name, start, end in sentence.conditions:
            held = frozenset(stems(name))
            is_own = any(each <= held or held <= each for each in wanted)
            if is_own or not is_generic(name):
                (own if is_own else others).append(sentence.has_as_population(start, end))
    return not others or not own or not all(own)


def _prevents(document: Document, reading: Reading) -> bool:
    """Whether a record uses the drug to prevent something, and is speaking of that where its result stands."""
    names = (reading.drug, *drug_synonyms(reading.drug))
    quotes = [passage.text for passage in reading.passages] or [""]
    preventing = any(purpose_at(document, quote) == "prevention" for quote in quotes)
    return preventing and purpose_of(document, names) == "prevention"


def trials_of(record: Evidence, design: StudyDesign, participants: int | None = None) -> tuple[str, ...]:
    """The trials that a record reports, several of a pooled analysis; none for reviews, and where they can't be told.

    They are told by NCT numbers, else by acronyms, written out, else, of randomised trials, by first author and
    participants: of 13 pairs of labelled trials that had these in common, and `_TELLING_SIZE` participants or more, 12
    were one trial, and the other pair was on two conditions.
    """
    if own := trial_number(record):
        return (own,)
    if design not in _OF_ONE_STUDY:
        return ()
    linked = (
        checked_identifier("nct_id", str(key).partition(":")[2]) for key in record.metadata.get("linked_trials", ())
    )
    named = {*named_trials(record), *filter(None, linked)} or {*trial_acronyms(record.citation.title, record.content)}
    if named or design not in RANDOMISED or (participants or 0) < _TELLING_SIZE:
        return tuple(sorted(named))
    author = next(iter(record.citation.authors), "")
    *words, initials = author.split() or [""]
    plain_words = "".join(words).replace("-", "").replace("'", "").isalpha()
    is_name = initials.isupper() and len(initials) <= _MOST_INITIALS and len(author) <= _LONGEST_NAME
    return (f"{author}, {participants:,}{BY_SIZE}",) if plain_words and is_name else ()  # "van den Berg JA"
