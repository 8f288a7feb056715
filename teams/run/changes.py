"""What somebody asks to change in a run, by whatever face: checked against the run, and turned into corrections."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from pydantic import BaseModel, Field, JsonValue, ValidationError

from willowbark.agents.report.content import EvidenceRow
from willowbark.agents.report.forms import record_name
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.appraisal.appraised import list_conditions
from willowbark.tools.appraisal.corrected import apply_corrections
from willowbark.tools.errors import UsageError
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.corrections import (
    MAX_NOTE,
    Correction,
    CorrectionBook,
    ErrorKind,
    ExclusionReason,
    find_person,
    get_time,
)
from willowbark.tools.reading.reading import Direction, StudyDesign
from willowbark.tools.records.evidence import Evidence, checked_identifier, index_by_identifier
from willowbark.tools.records.study import Study

from ..config import format_problem

SaysWord = Literal["supports", "contradicts", "inconclusive", "not assessed"]
PARTICIPANTS = "deciding.participants"
DESIGNS = {design.label: design.value for design in StudyDesign}
"""What a study's field holds of a design, by its name in reports."""
_KINDS = {"pmid": "pmid", "nct": "nct_id", "pmcid": "pmcid", "doi": "doi"}
"""What records are numbered by: the beginning of the key, and the kind of identifier."""


class ChangeRequest(BaseModel, frozen=True, extra="forbid"):
    """One thing that somebody wants changed; exactly one of the first seven is given."""

    says: SaysWord | None = Field(None, description="What the record says of the drug")
    field: str | None = Field(None, description="A field of the study, such as aim, design or deciding.participants")
    exclude: ExclusionReason | None = Field(None, description="Leave the record out, for this reason")
    add: bool = Field(False, description="Add the record, by its number or from `file`")
    set_aside: bool = Field(False, description="Set the drug aside: the report does not cover it")
    count: bool = Field(False, description="Let the record count for the drug, though the judge struck it")
    undo: bool = Field(False, description="Take back what you said of the record or drug")
    record: str = Field("", description="PMID, NCT number, DOI, or key such as pmid:…")
    drug: str = Field("", description="Generic name")
    value: JsonValue = Field(None, description="Of `field`; null for not reported")
    file: str | None = Field(None, description="A file that holds the record to add")
    quote: str = Field("", description="Sentence of the record on which your word rests, to the letter")
    note: str = Field("", max_length=MAX_NOTE, description="Why")
    error: ErrorKind | None = Field(None, description="What the readers got wrong")
    seconds: float | None = Field(None, ge=0, description="Time that you spent on it")
    every_condition: bool = Field(False, description="Whether a stance holds for every question's condition")

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "ChangeRequest":
        """Build a request; UsageError names what is wrong with it."""
        try:
            return cls.model_validate({name: value for name, value in fields.items() if value is not None})
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise UsageError(
                f"{'.'.join(map(str, first['loc'])) or 'the correction'}: {format_problem(first)}"
            ) from None


class RunToCorrect:
    """A run's report and records, against which requests are checked.

    Args:
        question: the run's.
        report: as it stands.
        pool: the run's records.
        book: what people have said so far.
    """

    def __init__(self, question: str, report: ResearchReport, pool: Sequence[Evidence], book: CorrectionBook) -> None:
        self.report = report
        self._book = book
        self._condition = list_conditions(parse_question(question))[0]
        self._pool = index_by_identifier(pool)
        self._rows = {(row.key, row.drug): row for row in report.evidence_table}

    def find_key(self, name: str) -> str:
        """Return the key of a record of the run, by any of its numbers; UsageError if the run has none such."""
        key = parse_record_key(name)
        record = self._pool.get(key)
        if record is not None:
            return self._find_key_in_report(record)
        if any(row.key == key for row in self.report.evidence_table):
            return key
        raise UsageError(f"{record_name(key)}: the run has no such record; add it first (`--add`)")

    def _find_key_in_report(self, record: Evidence) -> str:
        keys_in_report = {row.key for row in self.report.evidence_table}
        names = (record.key, *sorted(record.identifiers))
        return next((name for name in names if name in keys_in_report), record.key)

    def build_corrections(self, request: ChangeRequest, who: str) -> list[Correction]:
        """Turn a request into corrections, one but for `undo`, which takes back all that the person said.

        Raises:
            UsageError: nothing or too much is asked, or it does not fit the run.
        """
        choices = {
            "says": request.says is not None,
            "field": request.field is not None,
            "exclude": request.exclude is not None,
            "set aside": request.set_aside,
            "count": request.count,
            "undo": request.undo,
        }
        chosen = [name for name, is_asked in choices.items() if is_asked]
        if len(chosen) != 1:
            raise UsageError("say one thing: what the record says, a field, exclude, add, count, set aside, or undo")
        drug = _find_drug(request.drug)
        common: dict[str, Any] = {"note": request.note, "seconds": request.seconds, "error": request.error}
        common |= {"who": who, "at": get_time()}
        condition = "" if request.every_condition else self._condition
        if request.undo:
            return self._take_back(request, drug, who)
        if request.set_aside:
            if not drug:
                raise UsageError("name the drug to set aside: --drug NAME")
            return [Correction(change="set aside", drug=drug, condition=condition, **common)]
        key = self.find_key(request.record)
        if request.exclude is not None:
            return [Correction(change="exclude", record=key, condition=condition, reason=request.exclude, **common)]
        row = self._rows.get((key, drug))
        if request.count:
            return [self._let_count(key, drug, condition, common)]
        if request.says is not None:
            if not drug:
                raise UsageError(
                    f"{record_name(key)}: of which drug? --drug NAME{_list_drugs(self._list_drugs_of_record(key))}"
                )
            self._check_quote(key, request.quote)
            return [
                Correction(
                    change="stance",
                    record=key,
                    drug=drug,
                    condition=condition,
                    says=Direction(request.says),
                    quote=request.quote,
                    was=self._find_former_direction(row),
                    **common,
                )
            ]
        return [self._build_field_correction(request, key, drug, common)]

    def _let_count(self, key: str, drug: str, condition: str, common: dict[str, Any]) -> Correction:
        """Undo a judge's strike; UsageError if the judge struck no such row."""
        struck = [row.drug for row in self.report.judge_view.struck if row.key == key]
        if drug not in struck:
            whose = f" on {drug}" if drug else ""
            also = f"; it struck it on {', '.join(struck)}" if struck else ""
            raise UsageError(f"{record_name(key)}: the judge did not strike it{whose}{also}")
        return Correction(change="count", record=key, drug=drug, condition=condition, **common)

    def _build_field_correction(
        self, request: ChangeRequest, key: str, drug: str, common: dict[str, Any]
    ) -> Correction:
        field = request.field or ""
        row = self._rows.get((key, drug))
        was: JsonValue = None
        if field == PARTICIPANTS and row is not None:
            was = row.sample_size
        elif field == "design" and row is not None:
            was = DESIGNS.get(row.design, row.design)
        elif not field.startswith("deciding."):
            study = self._find_study(key)
            if study is not None:
                was = study.model_dump(mode="json").get(field)
        if field.startswith("deciding.") and not drug:
            raise UsageError(
                f"{field}: of which drug's comparison? --drug NAME{_list_drugs(self._list_drugs_of_record(key))}"
            )
        correction = Correction(
            change="field", record=key, drug=drug, field=field, value=request.value, was=was, **common
        )
        study = self._find_study(key)
        if study is not None:
            apply_corrections(study, [correction], 0 if study.comparisons else None)
        return correction

    def _find_study(self, key: str) -> Study | None:
        return next((study for study in self.report.studies if study.key == key), None)

    def _list_drugs_of_record(self, key: str) -> list[str]:
        return [row.drug for row in self.report.evidence_table if row.key == key]

    def _find_former_direction(self, row: EvidenceRow | None) -> str | None:
        if row is None:
            return None
        if row.word is not None and row.word.readers_said is not None:
            return row.word.readers_said.value
        return row.direction

    def _check_quote(self, key: str, quote: str) -> None:
        record = self._pool.get(key)
        words = " ".join(quote.split())
        if words and record is not None and words not in " ".join(record.content.split()):
            raise UsageError(f"{record_name(key)}: the quote is not in the record; copy it to the letter")

    def _take_back(self, request: ChangeRequest, drug: str, who: str) -> list[Correction]:
        """Withdraw what a person said of a record, or that a drug is set aside; UsageError if they said nothing."""
        key = parse_record_key(request.record) if request.record else ""
        all_words = chain.from_iterable(ruling.words for ruling in self._book.rulings)
        own_words = [word for word in all_words if word.who == who and word.record == key]
        words = [word for word in own_words if drug in ("", word.drug)]
        if not words:
            what = record_name(key) if key else drug or "anything"
            raise UsageError(f"{who} has said nothing of {what}; `willowbark correct last --list` shows who said what")
        return [word.model_copy(update={"withdrawn": True, "at": get_time()}) for word in words]


def parse_record_key(name: str) -> str:
    """Return the key of a record by its number: `12345678` and `PMID 12345678` are `pmid:12345678`.

    >>> [parse_record_key(name) for name in ("PMID 12345678", "nct01234567", "10.1000/A1", "pmid:5")]
    ['pmid:12345678', 'nct:NCT01234567', 'doi:10.1000/a1', 'pmid:5']
    """
    text = name.strip()
    head, _, rest = text.partition(":")
    is_keyed = head.casefold() in _KINDS
    bare = re.sub(r"^PMID\s+", "", rest.strip() if is_keyed else text, flags=re.IGNORECASE)
    for kind in (head.casefold(),) if is_keyed else _KINDS:
        checked = checked_identifier(_KINDS[kind], bare)
        if checked is not None:
            return f"{kind}:{checked}"
    if ":" in text and not is_keyed and not text.startswith("http"):
        return text
    raise UsageError(f"{name[:60]!r} is no PMID, NCT number, DOI or key of a record")


def _find_drug(name: str) -> str:
    return canonical_drug(name) or name.strip().casefold()


def _list_drugs(drugs: Sequence[str]) -> str:
    return f" (the report has it for {', '.join(drugs)})" if drugs else ""


def parse_value(text: str) -> JsonValue:
    """Read a value as somebody typed it: a number, `yes`, `no`, `not reported`, a JSON list, or words.

    >>> parse_value("112"), parse_value("0.71"), parse_value("no"), parse_value("not reported"), parse_value("adults")
    (112, 0.71, False, None, 'adults')
    """
    word = text.strip()
    spellings: dict[str, JsonValue] = {"yes": True, "no": False, "not reported": None, "": None}
    if word.casefold() in spellings:
        return spellings[word.casefold()]
    try:
        value: JsonValue = json.loads(word.replace(",", "") if re.fullmatch(r"[\d,]+", word) else word)
    except ValueError:
        return word
    return value if isinstance(value, int | float | bool | list) or value is None else word


def build_corrections(run: RunToCorrect, requests: Sequence[ChangeRequest], by: str | None = None) -> list[Correction]:
    """Turn requests into corrections by one person, without repeats; UsageError for the first that does not fit."""
    who = find_person(by)
    corrections: dict[tuple[str, ...], Correction] = {}
    for request in requests:
        for correction in run.build_corrections(request, who):
            corrections[correction.subject] = correction
    return list(corrections.values())
