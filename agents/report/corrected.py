"""What people said of a report's records and drugs, and which of its sentences were written before."""

from collections.abc import Iterable, Sequence
from datetime import UTC
from itertools import chain

from willowbark.tools.appraisal.appraised import AppraisedRecord, list_conditions
from willowbark.tools.reading.corrections import Correction
from willowbark.tools.wording import counted, listed

from .content import CorrectionLine, EvidenceRow, SummaryPart
from .material import Material


def list_corrections(material: Material) -> list[CorrectionLine]:
    """List what people said, as the report takes it: of rows, records left out and added, drugs set aside."""
    lines = list[CorrectionLine]()
    for candidate in (*material.candidates, *material.aside):
        lines += [_describe_row(candidate.drug, record) for record in candidate.records if record.word]
    conditions = list_conditions(material.asked)
    for ruling in material.readings.corrections.rulings:
        word = ruling.words[-1]
        if word.condition and word.condition not in conditions:
            continue
        text = _describe(word)
        concerns_report = word.change == "set aside" or word.record in material.records
        if text and concerns_report:
            by = list(dict.fromkeys(correction.who for correction in ruling.words))
            line = CorrectionLine(record=word.record, drug=word.drug, line=text, by=by, on=_format_day(word))
            lines.append(line)
    return lines


def _describe_row(drug: str, appraised: AppraisedRecord) -> CorrectionLine:
    word = appraised.word
    assert word is not None
    return CorrectionLine(
        record=appraised.key,
        drug=drug,
        line=word.line,
        by=list(word.by),
        on=word.on,
        is_disputed=word.is_disputed,
    )


def _describe(word: Correction) -> str:
    """Put into words what is said of a record as a whole, or of a drug; empty for what the rows tell."""
    note = f": “{word.note}”" if word.note else ""
    if word.change == "exclude":
        return f"left out, {word.reason} ({word.by}{note})"
    if word.change == "count":
        return f"counts, whether or not the judge struck it ({word.by}{note})"
    if word.change == "add":
        return f"added ({word.by}{note})"
    return f"set aside ({word.by}{note})" if word.change == "set aside" else ""


def _format_day(word: Correction) -> str:
    return f"{word.at.astimezone(UTC):%Y-%m-%d}"


def tell_corrections(lines: Sequence[CorrectionLine], rows: Iterable[EvidenceRow]) -> SummaryPart | None:
    """Tell on the first screen how much of the report people corrected; None if nothing."""
    changed = [row for row in rows if row.word is not None and row.word.is_changed]
    disputed = [line for line in lines if line.is_disputed]
    others = [line for line in lines if not line.drug or line.line.startswith("set aside")]
    parts = [f"{counted(len(changed), 'row')} of the evidence"] if changed else []
    parts += [f"{counted(len(others), 'other correction')}"] if others else []
    people = sorted(set(chain.from_iterable(line.by for line in lines)))
    text = f"{' and '.join(parts)} by {listed(people)}" if parts else ""
    if disputed:
        dispute = f"{counted(len(disputed), 'row')} in dispute between people, left as the readers have it"
        text = f"{text}; {dispute}" if text else dispute
    keys = dict.fromkeys(row.key for row in changed)
    return SummaryPart(label="Corrected", text=f"{text}.", citations=list(keys)) if text else None


def list_stale(rows: Iterable[EvidenceRow], written: Sequence[str]) -> list[str]:
    """List what was written before people changed the rows it rests on; empty if nothing was changed."""
    drugs = list(dict.fromkeys(row.drug for row in rows if row.word is not None and row.word.is_changed))
    return [f"{what} (before the corrections on {listed(drugs)})" for what in written] if drugs else []
