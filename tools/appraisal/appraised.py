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
from ..reading.facts import convert_design, find_purpose
from ..reading.numbers import list_figures
from ..reading.reading import RANDOMISED, Direction, IndicationKind, Reading, StudyDesign, convert_verdict
from ..reading.registered import get_registered_design
from ..reading.sections import cut_opening_results, find_section, is_full_text
from ..reading.stopping import StoppingKind, classify_stopping
from ..records.card import STUDIES
from ..records.evidence import Evidence
from ..records.study import Comparison, StatedView, Study
from ..works.trials import name_trial
from .certainty import DECIDED, STOPPED, AppraisedItem
from .corrected import (
    EditedStudy,
    PersonsWord,
    apply_rulings,
    decide_item,
    decide_stance,
    decide_told,
    describe_words,
    tell_edited,
)
from .fit import COUNTED, FITS, Fit, Topic, get_topic, get_topic_of_title, judge_fit
from .posted import PostedFinding, find_posted_stance, make_registered_reading
from .stance import DrugStance, Says, derive_stance
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
            self.done = sum(not self._done.isdisjoint(list_record_names(study)) for study in studies)

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
        names = list_record_names(record)
        with self._lock:
            if self._done.isdisjoint(names):
                self.done += 1
            self._done.update(names)

    def is_new(self, record: Evidence) -> bool:
        """Whether a record is asked about for the first time, under any of its names."""
        names = list_record_names(record)
        with self._lock:
            seen = not self._ahead.isdisjoint(names)
            self._ahead.update(names)
        return not seen

    def appraise_once(
        self, record: Evidence, question: Question, appraise: Callable[[], Mapping[str, "AppraisedRecord"]]
    ) -> Mapping[str, "AppraisedRecord"]:
        """Return a record's appraisals by drug, redone only if the record or the question changed."""
        former, former_question, appraisals = self._appraised.get(record.key, (None, None, {}))
        if former is None or former_question != question or not record.says_as(former):
            times_given = self._taken
            appraisals = appraise()
            self.note_read(record)
            with self._lock:
                if times_given == self._taken:  # else a model read meanwhile, and this may be without its word
                    self._appraised[record.key] = record, question, appraisals
        return appraisals

    def replace_given(
        self, given: Iterable[Reading], studies: Iterable[MatchedStudy] = (), absent: Iterable[str] = ()
    ) -> None:
        """Take a model's readings and studies in place of all that it gave before."""
        study_list = list(studies)
        left_out = set(self._studies) - {matched.study.key for matched in study_list}
        if left_out or self._absent != set(absent):
            self._given.clear()
            self._studies.clear()
            self._absent.clear()
            self._appraise_anew()
        self.take(given, study_list, absent)

    def is_absent(self, record: Evidence) -> bool:
        """Whether a model was asked to read a record and nothing of its answer stands."""
        names = list_record_names(record)
        return not self._absent.isdisjoint(names) and not any(name in self._studies for name in names)

    def take(self, given: Iterable[Reading], studies: Iterable[MatchedStudy] = (), absent: Iterable[str] = ()) -> None:
        """Add a model's readings by record and drug, and its studies by record; the latest one counts."""
        missing = set(absent)
        if not missing <= self._absent:
            self._absent |= missing
            self._appraise_anew()
        for matched in studies:
            if self._studies.get(matched.study.key) != matched:
                self._studies[matched.study.key] = matched
                self._appraise_anew()
        for reading in given:
            by_drug = self._given.setdefault(reading.key, {})
            if by_drug.get(reading.drug) != reading:
                by_drug[reading.drug] = reading
                self._appraise_anew()

    def _appraise_anew(self) -> None:
        with self._lock:
            self._taken += 1
            self._appraised.clear()

    def find_model_readings(self, record: Evidence) -> dict[str, Reading]:
        """Return a model's readings of a record by drug; empty if there are none."""
        readings: dict[str, Reading] = {}
        for name in list_record_names(record):
            readings |= self._given.get(name, {})
        return readings

    def find_study(self, record: Evidence, text: Document) -> MatchedStudy | None:
        """Return a model's study of a record; None if there is none, or if the record lacks a sentence of it."""
        matched = next((self._studies[name] for name in list_record_names(record) if name in self._studies), None)
        if matched is None:
            return None
        passages = [row.passage for row in matched.study.comparisons if row.passage is not None]
        passages += [view.passage for view in matched.study.statements]
        whole = f"{text.title}\n{text.text}"
        for passage in passages:
            for quote in passage.text.split(GAP):
                is_in_full_text = is_full_text(passage.section) and find_section(record, quote) is not None
                if quote not in whole and not is_in_full_text:
                    return None
        return matched.model_copy(update={"study": matched.study.model_copy(update={"key": record.key})})

    def of(self, record: Evidence, drug: str, condition: str, document: Document | None = None) -> tuple[Reading, ...]:
        """Return all readings of a record, or of a document in its place, for a drug, the one that counts first."""
        own = self.read(record, drug, condition, document)
        return self.put_model_first(own, record, document or Document.of(record))

    def put_model_first(self, own: Reading, record: Evidence, text: Document) -> tuple[Reading, ...]:
        """Return the model's reading before another reader's own, if its quotes are in the text, else that alone.

        A drug that its study of the record leaves out is mentioned there, whatever another reader says. Quotes of a
        full text must be in the record's, which may come without it later.
        """
        whole = f"{text.title}\n{text.text}"

        def holds(quote: str, section: str) -> bool:
            return quote in whole or (is_full_text(section) and find_section(record, quote) is not None)

        candidates = (self._given.get(name, {}).get(own.drug) for name in list_record_names(record))
        by_model = next((reading for reading in candidates if reading and _has_all_quotes(reading, holds)), None)
        matched = self.find_study(record, text)
        if matched is not None and (by_model is None or own.drug not in matched.study.drugs()):
            by_model = matched.leave_out(own.drug)  # a reading that an earlier study gave does not outlive it
        if by_model is None:
            return (own,)
        people = own.participants if by_model.participants is None else by_model.participants
        changes: dict[str, object] = {"key": record.key, "design": own.design, "participants": people}
        changes["values"] = tuple(value for value in by_model.values if holds(value.quote, value.section))
        if own.verdict == by_model.verdict and not any(list_figures(passage.text) for passage in by_model.passages):
            changes["in_figures"] = own.in_figures
        return by_model.model_copy(update=changes), own

    def read(self, record: Evidence, drug: str, condition: str, document: Document | None = None) -> Reading:
        """Return the reader's own reading, cached by text.

        Raises:
            ReadingStopped: the text was not read before reading was stopped.
        """
        text = document or Document.of(record)
        identity = (record.key, text.whole, *text.types, drug, condition)
        with self._lock:
            if identity in self._read:
                return self._read[identity]
            lock = self._under_way.setdefault(identity, threading.Lock())
        with lock:  # other texts are read side by side
            if identity not in self._read:
                if self._stopped.is_set():
                    raise ReadingStopped(f"{record.key} was not read: the run was stopped")
                reader = self._reader or load_reader()
                self._read[identity] = reader.read_document(text, drug, condition, record.key)
                self._under_way.pop(identity, None)
            return self._read[identity]


def _has_all_quotes(reading: Reading, holds: Callable[[str, str], bool]) -> bool:
    """Whether a text holds every passage of a reading; `holds` takes a quote and its section."""
    return all(holds(passage.text, passage.section) for passage in reading.passages)


def list_record_names(record: Evidence) -> list[str]:
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
        is_harm = reading.does_harm or (contradicts and reading.effect == "worse")
        return " ".join(passage.text for passage in reading.passages) if is_harm else ""


def list_condition_names(question: Question) -> tuple[str, ...]:
    """List the conditions of a question with their synonyms, without duplicates."""
    names: dict[str, None] = {}  # in order, each once
    for condition in question.conditions:
        names |= dict.fromkeys((condition, *condition_synonyms(condition)))
    return tuple(names)


def get_condition(question: Question) -> str:
    """Return the condition that records are read for; the question's words if none is recognised."""
    return question.conditions[0] if question.conditions else " ".join(question.terms)


def list_conditions(question: Question) -> tuple[str, ...]:
    """Return the conditions of a question as corrections name them."""
    return question.conditions or (get_condition(question),)


def choose_condition(record: Evidence, question: Question) -> str:
    """Return for which of a question's conditions a record is read: the first on which its title is, then its text."""
    if len(question.conditions) > 1:
        document = Document.of(record)
        title = get_topic_of_title(document, record.trial.conditions if record.trial else ())
        for topic in (title, Topic(document.whole)):
            for name in question.conditions:
                if judge_fit(topic, replace(question, conditions=(name,))) in COUNTED:
                    return name
    return get_condition(question)


def appraise_record(
    record: Evidence, drug: str, question: Question, readings: Readings, other_drugs: Sequence[str] = ()
) -> AppraisedRecord:
    """Appraise one record, as a source returned it, for one drug by its generic name in lower case.

    What people said of it counts before every reader. `other_drugs` are those read in it beside this one, which tell
    with what the drug was compared.
    """
    own = _appraise_by_readers(record, drug, question, readings, other_drugs)
    names = list_record_names(record)
    conditions = list_conditions(question)
    fields = readings.corrections.find_fields(names, conditions, drug)
    ruling = readings.corrections.find_stance(names, conditions, drug)
    if not fields and ruling is None:
        return own
    edited = apply_rulings(own.study, fields, own.stance.comparison)
    appraised = _appraise_by_readers(record, drug, question, readings, other_drugs, edited) if edited.applied else own
    former = own.item.direction
    if ruling is not None:
        appraised = _decide_by_word(appraised, record, ruling)
    disputes = [field for field in fields if field.agreed is None]
    word = describe_words(ruling, edited, disputes, former, appraised.item.direction)
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
        item = item.model_copy(update={"design": get_registered_design(record.trial)})
    if word.says is not appraised.item.direction:
        item = item.model_copy(update={"second_reader": appraised.item.direction.value})
    result = decide_told(appraised.told, word, appraised.item.direction)
    sentence = result.passage.text if result.passage and word.says in DECIDED else ""
    return appraised.model_copy(
        update={
            "item": item,
            "study": appraised.study.model_copy(update={"reader": "person", "version": word.who}),
            "stance": decide_stance(appraised.stance, word.says),
            "told": result,
            "sentence": word.quote or sentence,
            "readings": (reading, *appraised.readings),
        }
    )


def _appraise_by_readers(
    record: Evidence,
    drug: str,
    question: Question,
    readings: Readings,
    other_drugs: Sequence[str],
    edited: EditedStudy | None = None,
) -> AppraisedRecord:
    """Appraise a record by what readers read; `edited` is their study with fields that people filled."""
    condition = choose_condition(record, question)
    document = Document.of(record)
    drug_readings, posted = _read_drug(record, drug, condition, question, readings)
    matched = readings.find_study(record, document) if drug_readings[0].reader == "model" else None
    if matched is not None:
        study = matched.study
    else:
        others = _read_other_drugs(
            record, [name for name in other_drugs if name != drug], condition, question, readings
        )
        study = assemble_study(
            [drug_readings[0], *(other for other in others if other.reader == drug_readings[0].reader)], document
        )
    if edited is not None:
        matched = None if edited.changes_question else matched
        study = edited.study
        drug_readings = (_mark_read_by_person(drug_readings[0], edited), *drug_readings)
    fit_part = partial(_judge_fit, study, matched, question)
    is_titled = _is_titled(record, question)
    stance = derive_stance(study, drug, partial(_fits_question, fit_part, is_titled and study.reader == "small_reader"))
    if drug_readings[0].reader == "posted" and drug_readings[0].kind == "efficacy":
        study, stance = find_posted_stance(record, drug, list_condition_names(question)) or (study, stance)
        fit_part = partial(_judge_fit, study, None, question)
    result = tell_edited(tell_result(study, stance, document), stance, edited)
    item = _build_item(record, drug_readings, stance, result, posted, is_titled)
    item = item.model_copy(update={"fit": _find_fit(study, drug, stance, fit_part)})
    if edited is not None and "design" in edited.fields:
        item = item.model_copy(update={"design": StudyDesign(study.design)})
    elif matched is not None:
        study = study.model_copy(update={"design": item.design.value})
    for who in reversed(question.people) if matched is None or matched.people != "yes" else ():
        item = item if speaks_of(document.whole, who) else item.model_copy(update={"unnamed": who})
    is_other_use = question.is_acute or question.is_preventive
    by_words = len(drug_readings) == 1 or drug_readings[0].reader == "posted"  # a model's reading is not changed
    if (
        by_words
        and item.direction in DECIDED
        and is_other_use
        and _prevents(document, drug_readings[0]) == question.is_acute
    ):
        item = item.model_copy(update={"direction": Direction.inconclusive})
    sentence = _find_sentence(record, drug_readings[0], item, result)
    return AppraisedRecord(
        item=item, study=study, stance=stance, told=result, sentence=sentence, posted=posted, readings=drug_readings
    )


def _read_drug(
    record: Evidence, drug: str, condition: str, question: Question, readings: Readings
) -> tuple[tuple[Reading, ...], PostedFinding | None]:
    """Return the readings of a record for a drug, the one that counts first, and the results that a trial posted."""
    document = Document.of(record)
    if kind_of(record) == "trial":
        reading, posted = make_registered_reading(record, drug, condition, list_condition_names(question))
        drug_readings = readings.put_model_first(reading, record, document)
        # What a registry posted comes before what a model read of it.
        return (drug_readings[::-1] if reading.kind == "efficacy" else drug_readings), posted
    drug_readings = readings.of(record, drug, condition)
    # An abstract may name a drug whose results only the full text reports.
    is_silent = drug_readings[0].verdict in ("none", "neutral") and drug_readings[0].effect == "not_reported"
    results = cut_opening_results(record) if is_silent else ""
    if not results:
        return drug_readings, None
    again = readings.of(record, drug, condition, Document.cut(document.title, results, document.types))
    return (again if again[0].verdict in ("supports", "contradicts") else drug_readings), None


def _find_sentence(record: Evidence, reading: Reading, item: AppraisedItem, result: ToldResult) -> str:
    """Return what gives a record's direction: the passage shown, or why a trial stopped; empty if nothing decides."""
    stopped = record.metadata.get("why_stopped")
    is_by_stop = item.direction is Direction.contradicts and convert_verdict(reading.verdict) is not item.direction
    is_quoted = reading.reader == "model" and reading.passages and not is_by_stop
    if stopped and not is_quoted and (item.why_stopped_kind in _FOR_CAUSE or reading.kind == "none"):
        return str(stopped)
    decides = reading.reader == "posted" or item.is_telling
    if decides and result.passage:
        return result.passage.text
    return str(stopped) if stopped and item.direction is Direction.contradicts else ""


def _mark_read_by_person(reading: Reading, edited: EditedStudy) -> Reading:
    """Return a reading as one that a person vouches for."""
    return reading.model_copy(
        update={"reader": "person", "version": edited.study.version, "sure": True, "probability": 1.0}
    )


def _read_other_drugs(
    record: Evidence, drugs: Sequence[str], condition: str, question: Question, readings: Readings
) -> list[Reading]:
    """Read the other drugs of a record; those of a registered trial from its fields, as the drug itself."""
    if kind_of(record) != "trial":
        return [readings.of(record, drug, condition)[0] for drug in drugs]
    document = Document.of(record)
    names = list_condition_names(question)
    first_readings = []
    for drug in drugs:
        own, _ = make_registered_reading(record, drug, condition, names)
        first_readings.append(readings.put_model_first(own, record, document)[0])
    return first_readings


def _judge_fit(
    study: Study, matched: MatchedStudy | None, question: Question, part: Comparison | StatedView | None = None
) -> Fit:
    """Return how a study, or a part of it, fits a question: by its words, or as the model that gave it has it."""
    return judge_fit(get_topic(study, part), question) if matched is None else matched.judge_fit_to(question, part)


def _fits_question(fit_part: FitPart, may_be_on_complication: bool, part: Comparison | StatedView) -> bool:
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


def _build_item(
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
        has_result = posted is not None and posted.direction is not Direction.not_assessed
        decided = stop in _FOR_CAUSE or has_result or convert_verdict(reading.verdict) in DECIDED
        design = get_registered_design(trial) if decided else StudyDesign.registry_entry
    else:
        design = convert_design(reading.design, document.whole, data.get("mesh_terms") or (), reading.participants)
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
    is_other_condition = reading.indication == "condition" and reading.match in ("complication", "other")
    trial_names = name_trial(record, design, reading.participants)
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
        indication=cast(IndicationKind, reading.match) if is_other_condition else reading.indication,
        in_title=reading.match in ("same", "narrower") if reading.reader == "model" else is_titled,
        surrogate=stance.comparison.endpoint == "surrogate" if stance.comparison else reading.kind == "surrogate",
        is_preprint=record.is_preprint,
        retracted=data.get("retracted"),
        concern=data.get("expression_of_concern"),
        trial_status=data.get("overall_status"),
        why_stopped_kind=stop,
        second_reader=convert_verdict(readings[1].verdict).value if len(readings) > 1 else None,
        trial=trial_names.names[0] if trial_names.names else None,
        names=trial_names.names[1:],
        hints=trial_names.hints,
        pools=trial_names.pools if design in RANDOMISED else (),
        holds=trial_names.holds,
        secondary=trial_names.is_secondary,
    )


def _find_stop(record: Evidence, reading: Reading) -> StoppingKind | None:
    """Return why a trial was stopped: as the registry has it, or as a model quotes it from a stopped trial's entry."""
    kind = classify_stopping(record.metadata.get("why_stopped"))
    is_stopped = record.metadata.get("overall_status") in STOPPED
    if kind not in _FOR_CAUSE and is_stopped and reading.reader == "model":
        quoted = classify_stopping(" ".join(passage.text for passage in reading.passages))
        return quoted if quoted in _FOR_CAUSE else kind
    return kind


def _is_titled(record: Evidence, question: Question) -> bool:
    """Whether a title, or what a trial lists, is on the condition asked about or a form of it."""
    listed = record.trial.conditions if record.trial else ()
    return judge_fit(get_topic_of_title(Document.of(record), listed), question) in COUNTED


def _prevents(document: Document, reading: Reading) -> bool:
    """Whether a record uses the drug for prevention, where it reports the result."""
    quotes = [passage.text for passage in reading.passages] or [""]
    return any(find_purpose(document, quote) == "prevention" for quote in quotes)
