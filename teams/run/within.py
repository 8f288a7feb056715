"""Query the evidence of an earlier run: passages from its ledger, and verdicts from its readings. No network."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from willowbark.agents.asking.claims import Verdicts
from willowbark.agents.findings import Dossier
from willowbark.agents.report.answers import answer_on_harm
from willowbark.agents.report.follow_up import AnswerWithin, DrugRead, Quoted
from willowbark.agents.report.material import Material
from willowbark.tools.appraisal.appraised import Readings, get_condition
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates, get_drug, list_cautions
from willowbark.tools.appraisal.harms import find_harms, list_known_cautions, list_label_warnings
from willowbark.tools.appraisal.stored import StoredReader
from willowbark.tools.appraisal.suitability import WITHDRAWN, list_bars
from willowbark.tools.errors import UsageError
from willowbark.tools.library.collected import CollectedEvidence
from willowbark.tools.questions import Question, complete_follow_up, parse_question, validate_question
from willowbark.tools.reading.corrections import CorrectionBook
from willowbark.tools.reading.store import STORE_FILE, StudyShelf
from willowbark.tools.records.evidence import Evidence

from ..config import Settings
from ..ledger import Ledger
from ..ledger.journal import CORRECTED, CORRECTIONS, load_reading
from ..state import merge_records, restore_findings

PASSAGES = 8  # per answer
MAX_DRUGS = 10  # per answer, with verdicts
MAX_HARMS = 5  # from records, and from labels, per answer
_OF_HARM = frozenset({"harm", "safety", "avoid"})
QUOTED = 3  # records quoted per drug, strongest first


async def ask_within(
    question: str, run_id: str, ledger: Ledger, *, most: int = PASSAGES, tell: Callable[[str], None] = lambda _: None
) -> AnswerWithin:
    """Answer a question from the evidence of a run in the ledger, with at most so many passages, 1 to 50.

    Gives verdicts on the drugs that the question names, for the condition that it names, else for the run's own. What
    was read before is taken from the store of studies beside the ledger; `tell` receives a line where that is unusable.

    Raises:
        UsageError: an empty question, no such run, one without records, or damaged content.
    """
    question_text = validate_question(question)
    run = ledger.run(run_id)
    turns = ledger.turns(run_id)
    findings = restore_findings(turns)
    pool = merge_records(findings)
    if not pool:
        raise UsageError(f"run {run_id} holds no records: it was stopped before any came, or no source had one")
    report = ledger.report(run_id) or {}
    numbers = {str(reference["key"]): int(reference["number"]) for reference in report.get("references", [])}
    retracted = {row["key"] for row in report.get("evidence_table", []) if row.get("retracted")}
    pool = [record.noting(retracted=True) if record.key in retracted else record for record in pool]
    collected = CollectedEvidence()
    await asyncio.to_thread(collected.ingest, pool)
    best = await collected.passages(question_text, most)

    # Default to the run's condition; a model's readings were made for that one.
    further = complete_follow_up(question_text, run.question)
    meant = parse_question(further)
    is_own = meant.conditions == parse_question(run.question).conditions
    path = None if ledger.path is None else ledger.path.parent / STORE_FILE
    readings = (reading for turn_findings in findings for reading in turn_findings.readings if is_own)
    studies = (read for turn_findings in findings for read in turn_findings.studies if is_own)
    library = Settings.restored(run.settings).library.path
    library_stores = [] if library in (None, "bundled") else [Path(library) / STORE_FILE]
    with StudyShelf(path, library_stores, tell) as shelf:
        reader = StoredReader(shelf, recall=partial(load_reading, ledger, run_id))
        parts = _answer(meant, pool, Readings(reader, readings, studies, corrections=load_words(run_id, ledger)))
    quoted = [*(quoted_row for drug in parts.get("drugs", []) for quoted_row in drug.quoted), *parts.get("harms", [])]
    keys = dict.fromkeys((*(one.key for one in quoted), *(passage.key for passage in best.passages)))
    return AnswerWithin(
        cited={key: numbers[key] for key in keys if key in numbers},
        further=further,
        question=" ".join(question_text.split()),
        run_id=run_id,
        run_question=" ".join(run.question.split()),
        records=len(pool),
        passages=best.passages,
        matching=best.matching,
        truncated=best.truncated,
        **parts,
    )


def load_words(run_id: str, ledger: Ledger) -> CorrectionBook:
    """Return what people said, as a run's report took it; LedgerError if its content is damaged."""
    content = ledger.taken(run_id, CORRECTED) or ledger.taken(run_id, CORRECTIONS)
    return CorrectionBook() if content is None else CorrectionBook.from_content(content)


def _answer(meant: Question, pool: Sequence[Evidence], readings: Readings) -> dict[str, Any]:
    """Return the parts of the answer that rest on readings, by field."""
    parts: dict[str, Any] = {}
    if meant.kind in _OF_HARM:
        dossier = Dossier(question=meant.text)
        material = Material(dossier, [], pool, candidates=[], verdicts=Verdicts(), readings=readings)
        parts["answer"] = answer_on_harm(material).sentences
        label_rows = [*list_known_cautions(pool, meant), *list_label_warnings(pool, meant)]
        labels = (Quoted(key=row.key, drug=row.drug, says=row.heading, sentence=row.sentence) for row in label_rows)
        harm_rows = sorted(find_harms(pool, meant, readings), key=lambda row: row.stance == "undecided")
        records = (
            Quoted(key=row.key, drug=row.drug, says=row.stance, sentence=row.sentence)
            for row in harm_rows
            if row.sentence
        )
        parts["harms"] = [*islice(labels, MAX_HARMS), *islice(records, MAX_HARMS)]
    elif meant.drugs and meant.conditions:
        candidates = {candidate.drug: candidate for candidate in appraise_candidates(meant, pool, readings)}
        drugs = meant.drugs[:MAX_DRUGS]
        parts["drugs"] = [
            _describe_drug(
                drug,
                candidates.get(drug),
                get_condition(meant),
                _list_cautions(drug, candidates.get(drug), meant, pool),
            )
            for drug in drugs
        ]
    return parts


def _list_cautions(drug: str, candidate: Candidate | None, meant: Question, pool: Sequence[Evidence]) -> list[str]:
    """List why a drug would not lead, or what was not checked, whether or not a record studies it."""
    entries = [record for record in pool if get_drug(record) == drug]
    warned = list_cautions(drug, [], entries) if candidate is None else candidate.cautions
    withdrawals = [caution for caution in warned if caution.startswith(WITHDRAWN)]
    return [*list_bars(drug, meant, entries), *withdrawals]


def _describe_drug(drug: str, candidate: Candidate | None, condition: str, cautions: list[str]) -> DrugRead:
    if candidate is None:
        return DrugRead(drug=drug, condition=condition, quality=None, certainty=None, cautions=cautions)
    appraisal = candidate.appraisal
    has_verdict = candidate.has_verdict
    telling_keys = {*appraisal.telling}
    return DrugRead(
        drug=drug,
        condition=condition,
        supporting=appraisal.supporting,
        contradicting=appraisal.contradicting,
        undecided=[*appraisal.inconclusive, *appraisal.not_assessed],
        quality=appraisal.quality if has_verdict else None,
        certainty=appraisal.certainty.level.said if has_verdict else None,
        quoted=[
            Quoted(key=record.key, drug=drug, says=record.item.direction, sentence=record.sentence)
            for record in candidate.records
            if record.key in telling_keys and record.sentence
        ][:QUOTED],
        cautions=cautions,
    )
