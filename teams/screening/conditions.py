"""What a screening does for each condition wherever there is a free core: list what is to be read, and conclude."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from willowbark import __version__
from willowbark.tools.appraisal.appraised import Readings, get_condition, list_conditions, load_reader
from willowbark.tools.appraisal.candidates import appraise_candidates, list_readings
from willowbark.tools.appraisal.corrected import add_records
from willowbark.tools.appraisal.stored import StoredReader
from willowbark.tools.questions import Question
from willowbark.tools.reading.corrections import CorrectionBook
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.reading.store import StudyShelf
from willowbark.tools.records.evidence import Evidence

from .engines import ReaderRow, Results, Worker
from .origins import Databases, RecordLines
from .results import ConditionRows, rows_of

if TYPE_CHECKING:  # AutoGen takes most of a second
    from .models import ModelReader


def hash_of(*parts: object) -> str:
    """Hash what JSON can hold."""
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:32]


def _name_of_reading(document: Document, drug: str, condition: str) -> str:
    """Hash everything that determines a reading: text, types, drug, condition, reader, and fields of the result."""
    reader = load_reader()
    about = document.whole, document.offset, document.types, drug, condition
    return hash_of(__version__, *about, reader.name, reader.version, *Reading.model_fields)


class ListingWorker(Worker):
    """Lists what the trained reader reads: a row of `question` and `records` for each condition."""

    async def work(self, rows: Sequence[ReaderRow]) -> Results:
        """Return the trained reader's rows."""
        due = chain.from_iterable(_list_due(row["records"], row["question"]) for row in rows)
        return list(due), []


def _list_due(lines: RecordLines, question: Question) -> list[ReaderRow]:
    condition = get_condition(question)
    found = list[ReaderRow]()
    for record in lines.records():
        for shown, drug in list_readings(record, question):
            document = Document.of(shown)
            told = {"title": document.title, "text": document.text, "types": list(document.types)}
            name = _name_of_reading(document, drug, condition)
            found.append({"hash": name, **told, "drug": drug, "condition": condition})
    return found


class KeptReader:
    """Returns the readings of a table, and takes from stores or reads what it lacks."""

    def __init__(self, kept: Mapping[str, str], shelf: StudyShelf) -> None:
        self._kept = kept
        self._reader = StoredReader(shelf)
        self.name = self._reader.name
        self.version = self._reader.version

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        """Read a record for a drug in a condition."""
        if (said := self._kept.get(_name_of_reading(document, drug, condition))) is not None:
            return Reading.model_validate_json(said).model_copy(update={"key": key})
        return self._reader.read_document(document, drug, condition, key)


class ConcludingWorker(Worker):
    """Ranks the candidates of each condition, those with a verdict first.

    Records that people added are among them, drugs that they set aside are not.

    Args:
        databases: what is known of drugs.
        shelf: where readings are taken from that a row lacks.
        corrections: what people say.
        model: that read besides the trained reader, with all that it read, as JSON by hash; None: none did.
    """

    def __init__(
        self,
        databases: Databases,
        shelf: StudyShelf,
        corrections: CorrectionBook,
        model: "ModelReader | None",
        by_model: Mapping[str, str],
    ) -> None:
        self._databases = databases
        self._shelf = shelf
        self._corrections = corrections
        self._model = model
        self._by_model = by_model

    async def work(self, rows: Sequence[ReaderRow]) -> Results:
        """Return the condition and what was `found` for rows of condition, question, records and readings by hash."""
        return [{"condition": row["condition"], "found": await self._conclude(row)} for row in rows], []

    async def _conclude(self, row: ReaderRow) -> ConditionRows:
        name, question = row["condition"], row["question"]
        conditions = list_conditions(question)
        pool = add_records(row["records"].records(), self._corrections, conditions)
        readings = self._readings_of(row, pool)
        candidates = appraise_candidates(question, pool, readings)
        drugs = [candidate.drug for candidate in candidates if candidate.has_verdict]
        if drugs:
            pool = [*pool, *await self._databases.look_up(name, drugs)]
            candidates = appraise_candidates(question, pool, readings)
        candidates = [
            candidate for candidate in candidates if self._corrections.find_aside(candidate.drug, conditions) is None
        ]
        # Without a verdict, the number of records that name the drug is the most informative order.
        candidates.sort(key=lambda each: (not each.has_verdict, -len(each.records) * (not each.has_verdict)))
        return rows_of(name, candidates, {record.key: record for record in pool})

    def _readings_of(self, row: ReaderRow, pool: Sequence[Evidence]) -> Readings:
        reader = KeptReader(row["readings"], self._shelf)
        if self._model is None:
            return Readings(reader, corrections=self._corrections)
        readings = self._model.readings(pool, row["any_drug"], self._by_model, reader)
        readings.correct(self._corrections)
        return readings
