"""Appraise one record for one drug: its readings, the one that counts first, and the item derived from that.

Posted registry results count before a language model's reading, and that before the learned reader's.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol, cast

from pydantic import BaseModel

from willowbark.tools.records.registry import kind_of

from ..errors import ReadingStopped
from ..lexicon import condition_synonyms
from ..questions import Question, speaks_of
from ..reading.assembler import assemble_study
from ..reading.corrections import CorrectionBook, Ruling
from ..reading.document import Document
from ..reading.facts import purpose_at, study_design
from ..reading.numbers import figures
from ..reading.reading import RANDOMISED, Direction, IndicationKind, Reading, StudyDesign, direction_of
from ..reading.registered import registered_design
from ..reading.sections import is_full_text, opening_results, section_of
from ..reading.stopping import StoppingKind, why_stopped_kind
from ..records.card import STUDIES
from ..records.evidence import Evidence
from ..records.study import Comparison, StatedView, Study
from ..works.trials import name_trial
from .certainty import DECIDED, STOPPED, AppraisedItem
from .corrected import (
    EditedStudy,
    PersonsWord,
    decide_item,
    decide_stance,
    decide_told,
    edit_by_rulings,
    tell_edited,
    word_of,
)
from .fit import COUNTED, FITS, Fit, Topic, fit_of, topic_of, topic_of_title
from .posted import PostedFinding, posted_stance, registered_reading
from .stance import DrugStance, Says, stance_of
from .told import ToldResult, tell_result
from .views import GAP, MatchedStudy

if TYPE_CHECKING:  # keeps numpy out of start-up: a run starts before it reads
    from ..reading.learned import LearnedReader

_FOR_CAUSE = frozenset({"safety", "futility"})
_WITH_ARMS = frozenset({"placebo", "none", "active"})
_NOT_TESTED = frozenset({"comparator", "mentioned", "background"})
FitPart = Callable[[Comparison | StatedView | None], Fit]
"""Returns how a part of a study, or for None the whole, fits a question."""


class DocumentReader(Protocol):
    """A reader that needs only the text and answers synchronously."""

    @property
    def name(self) -> str:
        """Its kind, as readings name it."""

    @property
    def version(self) -> str:
        """Of its weights."""

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        """Read a record for a drug in a condition, and for its design and participants."""


class Readings:
    """Readings of one run: each text is read once per drug and condition. Thread-safe.

    Args:
        reader: reads what no model has read; None uses the bundled one, loaded when first needed.
        given: readings of a model, which take precedence.
        studies: the studies that these are views of; readings made before there were studies have none.
        absent: keys of publications that a model was asked to read and of which nothing stands: no other reader's
            reading counts for them.
        corrections: what people say, which takes precedence over all of them.

    Attributes:
        corrections: what people say of records.
        found: number of publications and trials to read, as far as known.
        done: number of those already read.
    """

    def __init__(
        self,
        reader: DocumentReader | None = None,
        given: Iterable[Reading] = (),
        studies: Iterable[MatchedStudy] = (),
        absent: Iterable[str] = (),
        corrections: CorrectionBook | None = None,
    ) -> None:
        self._reader = reader
        self.corrections = corrections or CorrectionBook()
        self._given: dict[str, dict[str, Reading]] = {}
        self._studies: dict[str, MatchedStudy] = {}
        self._absent: set[str] = set()
        self._read: dict[tuple[str, ...], Reading] = {}
        self._appraised: dict[str, tuple[Evidence, Question, Mapping[str, AppraisedRecord]]] = {}
        self._ahead: set[str] = set()
        self._done: set[str] = set()
        self._taken = 0
        """How often a model's readings were added."""
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._under_way: dict[tuple[str, ...], threading.Lock] = {}
        """Of each text that is being read, what other threads that want it wait for."""
        self.found = self.done = 0
        self.take(given, studies, absent)

    def correct(self, corrections: CorrectionBook) -> None:
        """Take what people say now, in place of what they said before."""
        if corrections != self.corrections:
            self.corrections = corrections
            self._appraise_anew()

    def stop(self) -> None:
        """Stop reading; from now on, requests for unread records raise `ReadingStopped`."""
        self._stopped.set()

    @property
    def was_stopped(self) -> bool:
        """Whether reading was stopped, so that records may be unread."""
        return self._stopped.is_set()

    @property
    def studies(self) -> list[MatchedStudy]:
        """The studies that were read as such, with how each fits the condition that it was read for."""
        with self._lock:
            return list(self._studies.values())

    def begin(self, pool: Iterable[Evidence]) -> None:
        """Count the studies in a run's records, and those already read."""
        studies = [record for record in pool if kind_of(record) in STUDIES]
        with self._lock:
            self.found = len(studies)
            self.done = sum(not self._done.isdisjoint(names_of(study)) for study in studies)

    @property
    def unread(self) -> int:
        """Number of records to read that were not.

        Records read ahead for one specialist after another's were counted are done, and not among those found.
        """
        return max(0, self.found - self.done)

    def expect(self, count: int) -> None:
        """Count records that are to be read."""
        with self._lock:
            self.found += count

    def note_read(self, record: Evidence) -> None:
        """Count a record as read."""
        names = names_of(record)
        with self._lock:
            if self._done.isdisjoint(names):
                self.done += 1
            self._done.update(names)

    def is_new(self, record: Evidence) -> bool:
        """Whether a record is asked about for the first time, under any of its names."""
        names = names_of(record)
        with self._lock:
            seen = not self._ahead.isdisjoint(names)
            self._ahead.update(names)
        return not seen

    def once(
        self, record: Evidence, asked: Question, appraise: Callable[[], Mapping[str, "AppraisedRecord"]]
    ) -> Mapping[str, "AppraisedRecord"]:
        """Return a record's appraisals by drug, redone only if the record or the question changed."""
        former, question, said = self._appraised.get(record.key, (None, None, {}))
        if former is None or question != asked or not record.says_as(former):
            taken = self._taken
            said = appraise()
            self.note_read(record)
            with self._lock:
                if taken == self._taken:  # else a model read meanwhile, and this may be without its word
                    self._appraised[record.key] = record, asked, said
        return said

    def hold(self, given: Iterable[Reading], studies: Iterable[MatchedStudy] = (), absent: Iterable[str] = ()) -> None:
        """Take a model's readings and studies in place of all that it gave before."""
        wanted = list(studies)
        left_out = set(self._studies) - {read.study.key for read in wanted}
        if left_out or self._absent != set(absent):
            self._given.clear()
            self._studies.clear()
            self._absent.clear()
            self._appraise_anew()
        self.take(given, wanted, absent)

    def is_absent(self, record: Evidence) -> bool:
        """Whether a model was asked to read a record and nothing of its answer stands."""
        names = names_of(record)
        return not self._absent.isdisjoint(names) and not any(name in self._studies for name in names)

    def take(self, given: Iterable[Reading], studies: Iterable[MatchedStudy] = (), absent: Iterable[str] = ()) -> None:
        """Add a model's readings by record and drug, and its studies by record; the latest one counts."""
        missing = set(absent)
        if not missing <= self._absent:
            self._absent |= missing
            self._appraise_anew()
        for read in studies:
            if self._studies.get(read.study.key) != read:
                self._studies[read.study.key] = read
                self._appraise_anew()
        for reading in given:
            known = self._given.setdefault(reading.key, {})
            if known.get(reading.drug) != reading:
                known[reading.drug] = reading
                self._appraise_anew()

    def _appraise_anew(self) -> None:
        with self._lock:
            self._taken += 1
            self._appraised.clear()

    def given_for(self, record: Evidence) -> dict[str, Reading]:
        """Return a model's readings of a record by drug; empty if there are none."""
        return {drug: said for name in names_of(record) for drug, said in self._given.get(name, {}).items()}

    def study_of(self, record: Evidence, text: Document) -> MatchedStudy | None:
        """Return a model's study of a record; None if there is none, or if the record lacks a sentence of it."""
        read = next((self._studies[name] for name in names_of(record) if name in self._studies), None)
        if read is None:
            return None
        passages = [row.passage for row in read.study.comparisons if row.passage is not None]
        passages += [view.passage for view in read.study.statements]
        whole = f"{text.title}\n{text.text}"
        for passage in passages:
            for quote in passage.text.split(GAP):
                is_in_full_text = is_full_text(passage.section) and section_of(record, quote) is not None
                if quote not in whole and not is_in_full_text:
                    return None
        return read.model_copy(update={"study": read.study.model_copy(update={"key": record.key})})

    def of(self, record: Evidence, drug: str, condition: str, document: Document | None = None) -> tuple[Reading, ...]:
        """Return all readings of a record, or of a document in its place, for a drug, the one that counts first."""
        own = self.read(record, drug, condition, document)
        return self.beside(own, record, document or Document.of(record))

    def beside(self, own: Reading, record: Evidence, text: Document) -> tuple[Reading, ...]:
        """Return the model's reading before another reader's own, if its quotes are in the text, else that alone.

        A drug that its study of the record leaves out is mentioned there, whatever another reader says. Quotes of a
        full text must be in the record's, which may come without it later.
        """
        whole = f"{text.title}\n{text.text}"

        def holds(quote: str, section: str) -> bool:
            return quote in whole or (is_full_text(section) and section_of(record, quote) is not None)

        found = (self._given.get(name, {}).get(own.drug) for name in names_of(record))
        given = next((each for each in found if each and all(holds(p.text, p.section) for p in each.passages)), None)
        read = self.study_of(record, text)
        if read is not None and (given is None or own.drug not in read.study.drugs()):
            given = read.leave_out(own.drug)  # a reading that an earlier study gave does not outlive it
        if given is None:
            return (own,)
        people = own.participants if given.participants is None else given.participants
        told: dict[str, object] = {"key": record.key, "design": own.design, "participants": people}
        told["values"] = tuple(each for each in given.values if holds(each.quote, each.section))
        if own.verdict == given.verdict and not any(figures(passage.text) for passage in given.passages):
            told["in_figures"] = own.in_figures
        return given.model_copy(update=told), own

    def read(self, record: Evidence, drug: str, condition: str, document: Document | None = None) -> Reading:
        """Return the reader's own reading, cached by text.

        Raises:
            ReadingStopped: the text was not read before reading was stopped.
        """
        text = document or Document.of(record)
        asked = (record.key, text.whole, *text.types, drug, condition)
        with self._lock:
            if asked in self._read:
                return self._read[asked]
            own = self._under_way.setdefault(asked, threading.Lock())
        with own:  # other texts are read side by side
            if asked not in self._read:
                if self._stopped.is_set():
                    raise ReadingStopped(f"{record.key} was not read: the run was stopped")
                reader = self._reader or load_reader()
                self._read[asked] = reader.read_document(text, drug, condition, record.key)
                self._under_way.pop(asked, None)
            return self._read[asked]


def names_of(record: Evidence) -> list[str]:
    """List all identifiers of a record, its key first; it may have been read before it was merged with a copy."""
    return list(dict.fromkeys((record.key, *sorted({*record.identifiers, *record.record.same_as}))))


def load_reader() -> "LearnedReader":
    """Load the bundled reader; its weights are loaded once, at the first reading."""
    with _loading:  # a second thread waits for the first one's weights
        return _load_once()


@cache
def _load_once() -> "LearnedReader":
    from ..reading.learned import LearnedReader  # noqa: PLC0415

    return LearnedReader()


_loading = threading.Lock()


_DIRECTIONS: Mapping[Says, Direction] = {
    "supports": Direction.supports,
    "contradicts": Direction.contradicts,
    "missed": Direction.inconclusive,
    "neutral": Direction.inconclusive,
    "combined": Direction.inconclusive,
    "comparator": Direction.inconclusive,
    "none": Direction.not_assessed,
}
"""A missed outcome refutes nothing: `AppraisedItem.missed_primary` lets it weigh as a study that found nothing."""


class AppraisedRecord(BaseModel, frozen=True, extra="forbid"):
    """The appraisal of one record for one drug."""

    item: AppraisedItem
    study: Study
    """The record as the reader that counts read it."""
    stance: DrugStance
    """What it says of the drug, and by which comparison or statement."""
    told: ToldResult
    """What is shown of it: of that comparison or statement alone."""
    sentence: str
    """Verbatim whole sentences that give the direction; empty if there are none."""
    posted: PostedFinding | None = None
    """A trial's posted results, including serious adverse events; None if none are posted."""
    readings: tuple[Reading, ...]
    """The readings by each reader, one at least."""
    word: PersonsWord | None = None
    """What people said of it; None if nobody did."""

    @property
    def reading(self) -> Reading:
        """The reading that counts."""
        return self.readings[0]

    @property
    def compares_with_it(self) -> bool:
        """Whether it is a trial on the condition, or a review of such, in which the drug is another's comparator."""
        reading = self.reading
        is_trial = self.item.design in RANDOMISED or self.item.is_review
        return is_trial and self.item.is_direct and (reading.role, reading.comparator) == ("comparator", "active")

    @property
    def key(self) -> str:
        """The record's key."""
        return self.item.key

    @property
    def harm_told(self) -> str:
        """The whole sentences by which patients did worse on the drug or were harmed; empty if there are none."""
        if self.item.design.is_preclinical:
            return ""
        reading = self.reading
        contradicts = self.item.direction is Direction.contradicts
        is_told = reading.does_harm or (contradicts and reading.effect == "worse")
        return " ".join(passage.text for passage in reading.passages) if is_told else ""


def condition_names(asked: Question) -> tuple[str, ...]:
    """List the conditions of a question with their synonyms, without duplicates."""
    names = [name for condition in asked.conditions for name in (condition, *condition_synonyms(condition))]
    return tuple(dict.fromkeys(names))


def condition_of(asked: Question) -> str:
    """Return the condition that records are read for; the question's words if none is recognised."""
    return asked.conditions[0] if asked.conditions else " ".join(asked.terms)


def conditions_of(asked: Question) -> tuple[str, ...]:
    """Return the conditions of a question as corrections name them."""
    return asked.conditions or (condition_of(asked),)


def condition_in(record: Evidence, asked: Question) -> str:
    """Return for which of a question's conditions a record is read: the first on which its title is, then its text."""
    if len(asked.conditions) > 1:
        document = Document.of(record)
        title = topic_of_title(document, record.trial.conditions if record.trial else ())
        for topic in (title, Topic(document.whole)):
            for name in asked.conditions:
                if fit_of(topic, replace(asked, conditions=(name,))) in COUNTED:
                    return name
    return condition_of(asked)


def appraise_record(
    record: Evidence, drug: str, asked: Question, readings: Readings, beside: Sequence[str] = ()
) -> AppraisedRecord:
    """Appraise one record, as a source returned it, for one drug by its generic name in lower case.

    What people said of it counts before every reader. `beside` are the other drugs read in it, which tell with what
    the drug was compared.
    """
    own = _appraise_by_readers(record, drug, asked, readings, beside)
    names = names_of(record)
    conditions = conditions_of(asked)
    fields = readings.corrections.find_fields(names, conditions, drug)
    ruling = readings.corrections.find_stance(names, conditions, drug)
    if not fields and ruling is None:
        return own
    edited = edit_by_rulings(own.study, fields, own.stance.comparison)
    appraised = _appraise_by_readers(record, drug, asked, readings, beside, edited) if edited.applied else own
    former = own.item.direction
    if ruling is not None:
        appraised = _decide_by_word(appraised, record, ruling)
    disputes = [field for field in fields if field.agreed is None]
    word = word_of(ruling, edited, disputes, former, appraised.item.direction)
    return appraised.model_copy(update={"word": word})


def _decide_by_word(appraised: AppraisedRecord, record: Evidence, ruling: Ruling) -> AppraisedRecord:
    """Let people's word decide what a record says of a drug; nothing changes while they differ."""
    word = ruling.agreed
    if word is None or word.says is None:
        return appraised
    reading = appraised.reading.model_copy(
        update={"reader": "person", "version": word.who, "probability": 1.0, "sure": True, "harm": None}
    )
    item = decide_item(appraised.item, word.says)
    if record.trial and word.says in DECIDED and item.design is StudyDesign.registry_entry:
        item = item.model_copy(update={"design": registered_design(record.trial)})
    if word.says is not appraised.item.direction:
        item = item.model_copy(update={"second_reader": appraised.item.direction.value})
    told = decide_told(appraised.told, word, appraised.item.direction)
    sentence = told.passage.text if told.passage and word.says in DECIDED else ""
    return appraised.model_copy(
        update={
            "item": item,
            "study": appraised.study.model_copy(update={"reader": "person", "version": word.who}),
            "stance": decide_stance(appraised.stance, word.says),
            "told": told,
            "sentence": word.quote or sentence,
            "readings": (reading, *appraised.readings),
        }
    )


def _appraise_by_readers(
    record: Evidence,
    drug: str,
    asked: Question,
    readings: Readings,
    beside: Sequence[str],
    edited: EditedStudy | None = None,
) -> AppraisedRecord:
    """Appraise a record by what readers read; `edited` is their study with fields that people filled."""
    condition = condition_in(record, asked)
    document = Document.of(record)
    found, posted = _read_for_drug(record, drug, condition, asked, readings)
    given = readings.study_of(record, document) if found[0].reader == "model" else None
    if given is not None:
        study = given.study
    else:
        others = _read_beside(record, [name for name in beside if name != drug], condition, asked, readings)
        study = assemble_study([found[0], *(other for other in others if other.reader == found[0].reader)], document)
    if edited is not None:
        given = None if edited.changes_question else given
        study = edited.study
        found = (_as_read_by_person(found[0], edited), *found)
    fit_part = partial(_fit_part, study, given, asked)
    is_titled = _is_titled(record, asked)
    stance = stance_of(study, drug, partial(_is_as_asked, fit_part, is_titled and study.reader == "small_reader"))
    if found[0].reader == "posted" and found[0].kind == "efficacy":
        study, stance = posted_stance(record, drug, condition_names(asked)) or (study, stance)
        fit_part = partial(_fit_part, study, None, asked)
    told = tell_edited(tell_result(study, stance, document), stance, edited)
    item = _item(record, found, stance, told, posted, is_titled)
    item = item.model_copy(update={"fit": _find_fit(study, drug, stance, fit_part)})
    if edited is not None and "design" in edited.fields:
        item = item.model_copy(update={"design": StudyDesign(study.design)})
    elif given is not None:
        study = study.model_copy(update={"design": item.design.value})
    for who in reversed(asked.people) if given is None or given.people != "yes" else ():
        item = item if speaks_of(document.whole, who) else item.model_copy(update={"unnamed": who})
    is_other_use = asked.is_acute or asked.is_preventive
    by_words = len(found) == 1 or found[0].reader == "posted"  # a model's reading is not changed
    if by_words and item.direction in DECIDED and is_other_use and _prevents(document, found[0]) == asked.is_acute:
        item = item.model_copy(update={"direction": Direction.inconclusive})
    sentence = _find_sentence(record, found[0], item, told)
    return AppraisedRecord(
        item=item, study=study, stance=stance, told=told, sentence=sentence, posted=posted, readings=found
    )


def _read_for_drug(
    record: Evidence, drug: str, condition: str, asked: Question, readings: Readings
) -> tuple[tuple[Reading, ...], PostedFinding | None]:
    """Return the readings of a record for a drug, the one that counts first, and the results that a trial posted."""
    document = Document.of(record)
    if kind_of(record) == "trial":
        reading, posted = registered_reading(record, drug, condition, condition_names(asked))
        found = readings.beside(reading, record, document)
        # What a registry posted comes before what a model read of it.
        return (found[::-1] if reading.kind == "efficacy" else found), posted
    found = readings.of(record, drug, condition)
    is_silent = found[0].verdict in ("none", "neutral") and found[0].effect == "not_reported"
    results = opening_results(record) if is_silent else ""
    if not results:
        return found, None
    again = readings.of(record, drug, condition, Document.cut(document.title, results, document.types))
    return (again if again[0].verdict in ("supports", "contradicts") else found), None


def _find_sentence(record: Evidence, reading: Reading, item: AppraisedItem, told: ToldResult) -> str:
    """Return what gives a record's direction: the passage shown, or why a trial stopped; empty if nothing decides."""
    stopped = record.metadata.get("why_stopped")
    is_by_stop = item.direction is Direction.contradicts and direction_of(reading.verdict) is not item.direction
    is_quoted = reading.reader == "model" and reading.passages and not is_by_stop
    if stopped and not is_quoted and (item.why_stopped_kind in _FOR_CAUSE or reading.kind == "none"):
        return str(stopped)
    decides = reading.reader == "posted" or item.is_telling
    if decides and told.passage:
        return told.passage.text
    return str(stopped) if stopped and item.direction is Direction.contradicts else ""


def _as_read_by_person(reading: Reading, edited: EditedStudy) -> Reading:
    """Return a reading as one that a person vouches for."""
    return reading.model_copy(
        update={"reader": "person", "version": edited.study.version, "sure": True, "probability": 1.0}
    )


def _read_beside(
    record: Evidence, drugs: Sequence[str], condition: str, asked: Question, readings: Readings
) -> list[Reading]:
    """Read the other drugs of a record; those of a registered trial from its fields, as the drug itself."""
    if kind_of(record) != "trial":
        return [readings.of(record, drug, condition)[0] for drug in drugs]
    document = Document.of(record)
    names = condition_names(asked)
    found = []
    for drug in drugs:
        own, _ = registered_reading(record, drug, condition, names)
        found.append(readings.beside(own, record, document)[0])
    return found


def _fit_part(
    study: Study, given: MatchedStudy | None, asked: Question, part: Comparison | StatedView | None = None
) -> Fit:
    """Return how a study, or a part of it, fits a question: by its words, or as the model that gave it has it."""
    return fit_of(topic_of(study, part), asked) if given is None else given.fit_to(asked, part)


def _is_as_asked(fit_part: FitPart, may_be_on_complication: bool, part: Comparison | StatedView) -> bool:
    """Whether a comparison or statement is on the condition asked about or a form of it, with the asked aim.

    A title on the condition outweighs the small reader's word that the study is on a complication: of such titles, 1 in
    20 is.
    """
    fit = fit_part(part)
    return fit in COUNTED or (fit == "complication" and may_be_on_complication)


def _find_fit(study: Study, drug: str, stance: DrugStance, fit_part: FitPart) -> Fit:
    """Return how what a study says of a drug fits the question: the part that decides, else the best on the drug."""
    if stance.comparison is not None:
        return fit_part(stance.comparison)
    if stance.view is not None:
        return fit_part(stance.view)
    rows = [row for row in study.comparisons if drug in study.drugs_of(row.arm) | study.drugs_of(row.versus)]
    views = [view for view in study.statements if view.drug == drug]
    parts: list[Comparison | StatedView] = [*rows, *views]
    fits = [fit_part(part) for part in parts]
    return min(fits or [fit_part(None)], key=FITS.index)


def _item(
    record: Evidence,
    readings: Sequence[Reading],
    stance: DrugStance,
    result: ToldResult,
    posted: PostedFinding | None,
    is_titled: bool,
) -> AppraisedItem:
    """Build the appraised item of a record; its fields come from the first reading.

    A study's direction is that of its main comparison. It is inconclusive if the reading is low-confidence, the study
    supports but missed its primary outcome, the use is another one, or it tested a combination whose parts were not
    compared. A trial of the drug alone that was stopped for futility or harm contradicts.
    """
    reading = readings[0]
    data = record.metadata
    trial = record.trial
    stop = _find_stop(record, reading)
    document = Document.of(record)
    if trial:
        told = posted is not None and posted.direction is not Direction.not_assessed
        decided = stop in _FOR_CAUSE or told or direction_of(reading.verdict) in DECIDED
        design = registered_design(trial) if decided else StudyDesign.registry_entry
    else:
        design = study_design(reading.design, document.whole, data.get("mesh_terms") or (), reading.participants)
    tested = reading.role not in _NOT_TESTED
    direction = _DIRECTIONS[stance.says]
    if direction in DECIDED and not reading.sure:
        direction = Direction.inconclusive
    if stop in _FOR_CAUSE and tested and reading.alone and (reading.reader != "model" or direction not in DECIDED):
        direction = Direction.contradicts
    size = None if design.is_preclinical else result.participants  # animals and cells are no participants
    titled = {name for name, start, _ in document.drugs if start < document.offset}
    if design is StudyDesign.systematic_review and titled != {reading.drug}:
        size = None
    is_of_several = size is None and design in RANDOMISED and result.kind in _WITH_ARMS
    is_of_dose = result.kind == "not_reported" and reading.comparator == "dose"
    is_aside = reading.indication == "condition" and reading.match in ("complication", "other")
    known = name_trial(record, design, reading.participants)
    return AppraisedItem(
        key=record.key,
        design=design,
        direction=direction,
        sample_size=size,
        trial_size=reading.participants if is_of_several else None,
        says=stance.says,
        tested=tested,
        alone=stance.says != "combined" if stance.comparison else reading.alone,
        comparator="dose" if is_of_dose else result.kind,
        against=result.against,
        primary=result.primary,
        missed_primary=stance.says == "missed" and reading.sure,
        indication=cast(IndicationKind, reading.match) if is_aside else reading.indication,
        in_title=reading.match in ("same", "narrower") if reading.reader == "model" else is_titled,
        surrogate=stance.comparison.endpoint == "surrogate" if stance.comparison else reading.kind == "surrogate",
        is_preprint=record.is_preprint,
        retracted=data.get("retracted"),
        concern=data.get("expression_of_concern"),
        trial_status=data.get("overall_status"),
        why_stopped_kind=stop,
        second_reader=direction_of(readings[1].verdict).value if len(readings) > 1 else None,
        trial=known.names[0] if known.names else None,
        names=known.names[1:],
        hints=known.hints,
        pools=known.pools if design in RANDOMISED else (),
        holds=known.holds,
        secondary=known.is_secondary,
    )


def _find_stop(record: Evidence, reading: Reading) -> StoppingKind | None:
    """Return why a trial was stopped: as the registry has it, or as a model quotes it from a stopped trial's entry."""
    kind = why_stopped_kind(record.metadata.get("why_stopped"))
    is_stopped = record.metadata.get("overall_status") in STOPPED
    if kind not in _FOR_CAUSE and is_stopped and reading.reader == "model":
        quoted = why_stopped_kind(" ".join(passage.text for passage in reading.passages))
        return quoted if quoted in _FOR_CAUSE else kind
    return kind


def _is_titled(record: Evidence, asked: Question) -> bool:
    """Whether a title, or what a trial lists, is on the condition asked about or a form of it."""
    listed = record.trial.conditions if record.trial else ()
    return fit_of(topic_of_title(Document.of(record), listed), asked) in COUNTED


def _prevents(document: Document, reading: Reading) -> bool:
    """Whether a record uses the drug for prevention, where it reports the result."""
    quotes = [passage.text for passage in reading.passages] or [""]
    return any(purpose_at(document, quote) == "prevention" for quote in quotes)
