"""Query the evidence of an earlier run: passages from its ledger, and verdicts from its readings. No network."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from willowbark.agents.asking.claims import Verdicts
from willowbark.agents.findings import Dossier
from willowbark.agents.report.answers import answer_on_harm
from willowbark.agents.report.content import DISCLAIMER
from willowbark.agents.report.forms import record_name, url_of
from willowbark.agents.report.material import Material
from willowbark.tools.appraisal.appraised import Readings, condition_of
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates, cautions_of, drug_of
from willowbark.tools.appraisal.harms import cautions, harms, warnings
from willowbark.tools.appraisal.stored import StoredReader
from willowbark.tools.appraisal.suitability import WITHDRAWN, bars_of
from willowbark.tools.errors import UsageError
from willowbark.tools.library.collected import CollectedEvidence, Passage
from willowbark.tools.questions import Question, parse_question, stand_alone, validate_question
from willowbark.tools.reading.corrections import CorrectionBook
from willowbark.tools.reading.store import STORE_FILE, StudyShelf
from willowbark.tools.records.evidence import Evidence, merge
from willowbark.tools.wording import capital, counted

from ..config import Settings
from ..ledger import Ledger
from ..ledger.journal import CORRECTED, CORRECTIONS, taken_reading
from ..state import findings_of

PASSAGES = 8  # per answer
MAX_DRUGS = 10  # per answer, with verdicts
MAX_HARMS = 5  # from records, and from labels, per answer
_OF_HARM = frozenset({"harm", "safety", "avoid"})
QUOTED = 3  # records quoted per drug, strongest first


class Quoted(BaseModel, frozen=True, extra="forbid"):
    """A quote about a drug from one record."""

    key: str
    """Empty for an entry of a curated table."""
    drug: str
    says: str
    """For an effect `supports` or `contradicts`; for a harm `reports` or `undecided`; for a label the section
    quoted."""
    sentence: str
    """Verbatim."""


class DrugRead(BaseModel, frozen=True, extra="forbid"):
    """Verdict of a run's records on one drug."""

    drug: str
    condition: str
    supporting: list[str] = Field(default_factory=list)
    """Keys of the supporting records, as in the next two fields."""
    contradicting: list[str] = Field(default_factory=list)
    undecided: list[str] = Field(default_factory=list)
    quality: str | None
    """strong, moderate, weak or refuted; None if no record supports or contradicts the drug."""
    certainty: str | None
    """high, moderate, low or very low; None as for `quality`."""
    quoted: list[Quoted] = Field(default_factory=list)
    """Sentences of the strongest supporting and contradicting records."""
    cautions: list[str] = Field(default_factory=list)
    """That it was withdrawn from a market, is not for the people whom the question names, or was not checked for them;
    each with its source. Empty if none applies."""

    @property
    def said(self) -> str:
        """The answer in a sentence."""
        told = f"{capital(self.drug)} in {self.condition}"
        undecided = len(self.undecided)
        if self.quality is not None:
            supporting = counted(len(self.supporting), "supporting record")
            counts = f"{supporting}, {len(self.contradicting)} contradicting, {undecided} inconclusive"
            return f"{told}: {counts}; {self.quality}, {self.certainty} certainty."
        if undecided:
            return f"{told}: {counted(undecided, 'record')} of this run, none supporting or contradicting."
        return f"{told}: no record of this run mentions it."


class AnswerWithin(BaseModel, frozen=True, extra="forbid"):
    """Answer to a question from the evidence of a run."""

    question: str
    run_id: str
    run_question: str
    """The run's own question."""
    records: int
    """Number of distinct records of the run."""
    drugs: list[DrugRead] = Field(default_factory=list)
    """Drugs named in the question; empty if it names none or asks about harm, or if no condition is known."""
    answer: list[str] = Field(default_factory=list)
    """For a question about harm or safety: the answer that a report would give first."""
    harms: list[Quoted] = Field(default_factory=list)
    """For a question about harm or safety: quotes from records and labels."""
    passages: list[Passage] = Field(default_factory=list)
    """Best first."""
    matching: int
    """Number of records that contain a word of the question."""
    truncated: bool
    """Whether more passages were found than given."""
    cited: dict[str, int] = Field(default_factory=dict)
    """Numbers of the run's references by key, of the records cited here."""
    further: str = ""
    """The question that stands alone, for a search beyond the run's records."""
    disclaimer: str = DISCLAIMER

    def to_markdown(self) -> str:
        """Format the answer as Markdown: verdicts on the drugs, then the passages with key, citation and link."""
        lines = [f"# {self.question}", "", f"Asked of run {self.run_id}: {self.run_question}", ""]
        for drug in self.drugs:
            points = [*(f"- {caution}" for caution in drug.cautions), *map(_quote, drug.quoted)]
            lines += [f"**{drug.said}**", "", *points, *([""] if points else [])]
        lines += [" ".join(self.answer), ""] if self.answer else []
        if self.harms:
            lines += ["**What records and labels say of harm:**", "", *map(_quote, self.harms), ""]
        if not self.passages:
            lines += ["No passage holds a word of the question."]
        for number, passage in enumerate(self.passages, 1):
            flags = ["RETRACTED"] * passage.retracted + ["preprint"] * passage.is_preprint
            address = url_of(passage.key, passage.url) or ""  # if it is a source's page
            cited = f"{passage.citation.removesuffix(passage.url).strip()} {address}".strip()
            where = " · ".join([record_name(passage.key), *flags, passage.section, cited])
            lines += [f"{number}. “{passage.text}”", f"   {where}", ""]
        more = "; there are more (`--max-results`)" if self.truncated else ""
        lines += [f"{counted(self.matching, 'record')} of {self.records:,} hold a word of the question{more}."]
        lines += ["", self.disclaimer]
        return "\n".join(lines)


async def ask_within(
    question: str, run_id: str, ledger: Ledger, *, most: int = PASSAGES, tell: Callable[[str], None] = lambda _: None
) -> AnswerWithin:
    """Answer a question from the evidence of a run in the ledger, with at most so many passages, 1 to 50.

    Gives verdicts on the drugs that the question names, for the condition that it names, else for the run's own. What
    was read before is taken from the store of studies beside the ledger; `tell` receives a line where that is unusable.

    Raises:
        UsageError: an empty question, no such run, one without records, or damaged content.
    """
    asked = validate_question(question)
    run = ledger.run(run_id)
    turns = ledger.turns(run_id)
    found = findings_of(turns)
    pool = merge(record for one in found for record in one.records)
    if not pool:
        raise UsageError(f"run {run_id} holds no records: it was stopped before any came, or no source had one")
    report = ledger.report(run_id) or {}
    numbers = {str(each["key"]): int(each["number"]) for each in report.get("references", [])}
    retracted = {row["key"] for row in report.get("evidence_table", []) if row.get("retracted")}
    pool = [record.noting(retracted=True) if record.key in retracted else record for record in pool]
    collected = CollectedEvidence()
    await asyncio.to_thread(collected.ingest, pool)
    best = await collected.passages(asked, most)

    # Default to the run's condition; a model's readings were made for that one.
    further = stand_alone(asked, run.question)
    meant = parse_question(further)
    is_own = meant.conditions == parse_question(run.question).conditions
    path = None if ledger.path is None else ledger.path.parent / STORE_FILE
    given = (reading for one in found for reading in one.readings if is_own)
    studies = (read for one in found for read in one.studies if is_own)
    library = Settings.restored(run.settings).library.path
    beside = [] if library in (None, "bundled") else [Path(library) / STORE_FILE]
    with StudyShelf(path, beside, tell) as shelf:
        reader = StoredReader(shelf, recall=partial(taken_reading, ledger, run_id))
        told = _answer(meant, pool, Readings(reader, given, studies, corrections=words_taken(run_id, ledger)))
    quoted = [*(one for drug in told.get("drugs", []) for one in drug.quoted), *told.get("harms", [])]
    keys = dict.fromkeys((*(one.key for one in quoted), *(passage.key for passage in best.passages)))
    return AnswerWithin(
        cited={key: numbers[key] for key in keys if key in numbers},
        further=further,
        question=" ".join(asked.split()),
        run_id=run_id,
        run_question=" ".join(run.question.split()),
        records=len(pool),
        passages=best.passages,
        matching=best.matching,
        truncated=best.truncated,
        **told,
    )


def words_taken(run_id: str, ledger: Ledger) -> CorrectionBook:
    """Return what people said, as a run's report took it; LedgerError if its content is damaged."""
    content = ledger.taken(run_id, CORRECTED) or ledger.taken(run_id, CORRECTIONS)
    return CorrectionBook() if content is None else CorrectionBook.from_content(content)


def _answer(meant: Question, pool: Sequence[Evidence], readings: Readings) -> dict[str, Any]:
    """Return the parts of the answer that rest on readings, by field."""
    told: dict[str, Any] = {}
    if meant.kind in _OF_HARM:
        dossier = Dossier(question=meant.text)
        material = Material(dossier, [], pool, candidates=[], verdicts=Verdicts(), readings=readings)
        told["answer"] = answer_on_harm(material).sentences
        known = [*cautions(pool, meant), *warnings(pool, meant)]
        labels = (Quoted(key=e.key, drug=e.drug, says=e.heading, sentence=e.sentence) for e in known)
        said = sorted(harms(pool, meant, readings), key=lambda each: each.stance == "undecided")
        records = (Quoted(key=e.key, drug=e.drug, says=e.stance, sentence=e.sentence) for e in said if e.sentence)
        told["harms"] = [*islice(labels, MAX_HARMS), *islice(records, MAX_HARMS)]
    elif meant.drugs and meant.conditions:
        candidates = {candidate.drug: candidate for candidate in appraise_candidates(meant, pool, readings)}
        named = meant.drugs[:MAX_DRUGS]
        told["drugs"] = [
            _drug(
                drug, candidates.get(drug), condition_of(meant), _list_cautions(drug, candidates.get(drug), meant, pool)
            )
            for drug in named
        ]
    return told


def _list_cautions(drug: str, candidate: Candidate | None, meant: Question, pool: Sequence[Evidence]) -> list[str]:
    """List why a drug would not lead, or what was not checked, whether or not a record studies it."""
    entries = [record for record in pool if drug_of(record) == drug]
    warned = cautions_of(drug, [], entries) if candidate is None else candidate.cautions
    withdrawals = [caution for caution in warned if caution.startswith(WITHDRAWN)]
    return [*bars_of(drug, meant, entries), *withdrawals]


def _drug(drug: str, candidate: Candidate | None, condition: str, cautions: list[str]) -> DrugRead:
    if candidate is None:
        return DrugRead(drug=drug, condition=condition, quality=None, certainty=None, cautions=cautions)
    said = candidate.appraisal
    told = candidate.has_verdict
    decided = {*said.telling}
    return DrugRead(
        drug=drug,
        condition=condition,
        supporting=said.supporting,
        contradicting=said.contradicting,
        undecided=[*said.inconclusive, *said.not_assessed],
        quality=said.quality if told else None,
        certainty=said.certainty.level.said if told else None,
        quoted=[
            Quoted(key=record.key, drug=drug, says=record.item.direction, sentence=record.sentence)
            for record in candidate.records
            if record.key in decided and record.sentence
        ][:QUOTED],
        cautions=cautions,
    )


def _quote(quoted: Quoted) -> str:
    if not quoted.key:
        return f"- {capital(quoted.drug)}, {quoted.says.lower()}: {quoted.sentence}"
    return f"- {record_name(quoted.key)}, {quoted.drug}, {quoted.says}: “{quoted.sentence}”"
