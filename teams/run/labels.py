"""What people said of a run's records as labels for `make train`: facts and offsets, no text."""

import csv
import io
from typing import NamedTuple

from willowbark.tools.reading.corrections import find_corrections_file, read_corrections
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Direction
from willowbark.tools.records.evidence import Evidence, index_by_identifier

from ..ledger import Ledger, LedgerError
from ..state import merge_records, restore_findings

COLUMNS = "pmid drug condition role verdict match kind effect comparator design n start end sure".split()
"""Of `benchmarks/labels/reader_NN.tsv`, whose README explains them."""
_FIELDS = {
    Direction.supports: ("tested", "supports", "efficacy", "better"),
    Direction.contradicts: ("tested", "contradicts", "efficacy", "no_difference"),
    Direction.inconclusive: ("tested", "neutral", "efficacy", "mixed"),
    Direction.not_assessed: ("mentioned", "none", "none", "not_reported"),
}
"""Role, verdict, kind and effect by what a person said, who says the verdict alone: the others are its commonest."""
_DESIGNS = {
    "blinded RCT": "rct", "open-label RCT": "rct", "RCT": "rct", "systematic review": "systematic_review",
    "cohort": "cohort", "case control": "case_control", "case series": "case_report", "case report": "case_report",
    "narrative review": "review", "guideline": "guideline", "in vivo": "animal", "in vitro": "in_vitro",
}  # fmt: skip


class LabelTable(NamedTuple):
    """Labels as tab-separated text."""

    text: str
    number: int


def collect_labels(run_id: str, ledger: Ledger) -> LabelTable:
    """Return the labels that people made of a run's publications; those in dispute are left out.

    Raises:
        LedgerError: no such run, one in memory, or damaged content.
    """
    if ledger.path is None:
        raise LedgerError("a run in memory has no corrections")
    report = ledger.report(run_id) or {}
    rows = {(row["key"], row["drug"]): row for row in report.get("evidence_table", [])}
    records = index_by_identifier(merge_records(restore_findings(ledger.turns(run_id))))
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    number = 0
    for ruling in read_corrections(find_corrections_file(ledger.path)).rulings:
        word = ruling.agreed
        record = records.get(word.record) if word else None
        if word is None or word.says is None or record is None or not word.record.startswith("pmid:"):
            continue
        row = rows.get((word.record, word.drug), {})
        start, end = _locate(record, word.quote or str(row.get("sentence") or ""))
        role, verdict, kind, effect = _FIELDS[word.says]
        design = _DESIGNS.get(str(row.get("design")), "other")
        comparator = row.get("comparator") or "not_reported"
        n = row.get("sample_size")
        pmid = word.record.removeprefix("pmid:")
        fixed = (pmid, word.drug, word.condition, role, verdict, "same", kind, effect, comparator, design)
        is_quoted = word.says is not Direction.not_assessed
        writer.writerow((*fixed, "" if n is None else n, *((start, end) if is_quoted else ("", "")), 1))
        number += 1
    return LabelTable(file.getvalue(), number)


def _locate(record: Evidence, quote: str) -> tuple[int | str, int | str]:
    """Return where a quote stands in title and abstract; empty texts if it does not."""
    whole = Document.of(record).whole
    start = whole.find(quote) if quote else -1
    return (start, start + len(quote)) if start >= 0 else ("", "")
