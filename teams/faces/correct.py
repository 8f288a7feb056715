"""Corrections on the command line: `willowbark correct`."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from willowbark.agents.report.content import CorrectionLine
from willowbark.agents.report.forms import record_name
from willowbark.tools.errors import UsageError
from willowbark.tools.whole_file import write_file
from willowbark.tools.wording import counted

from ..ledger import DEFAULT_PATH, Ledger
from ..run.changes import ChangeRequest, parse_value
from ..run.correcting import ask_changes
from ..run.edited_tables import read_table
from ..run.history import load_stored_report
from ..run.labels import collect_labels
from ..run.report_changes import tell_changes
from ..run.rewriting import rewrite_run


def correct(
    run_id: str, root: Path, record: str | None, correction: Mapping[str, Any], table: Path | None, by: str | None
) -> list[str]:
    """Change a run as asked, and return what moved, a line each.

    Args:
        run_id: of this folder's ledger.
        root: folder of run folders.
        record: number of a record; None where a drug or a table is meant.
        asked: fields of `ChangeRequest` as typed.
        table: an edited table of evidence; None for none.
        by: who corrects; None takes the environment's.

    Raises:
        UsageError: what is asked cannot be understood, or does not fit the run.
    """
    requests = list[ChangeRequest]()
    report = load_stored_report(run_id)
    if table is not None and (correction or record):
        raise UsageError("--from: takes all from the table; leave record and other options out")
    if table is not None and report is not None:
        requests = read_table(table, report)
        if not requests:
            return [f"{table}: every cell is as the report has it"]
    elif correction or record:
        typed = {**correction, "record": record or ""}
        if "value" in typed:
            typed["value"] = parse_value(typed["value"])
        if "file" in typed:
            typed["file"] = str(typed["file"])
        requests = [ChangeRequest.of(typed)]
    with Ledger.existing(DEFAULT_PATH) as ledger:
        before = ledger.report(run_id)
        change = asyncio.run(ask_changes(run_id, ledger, requests, by=by, root=root))
    moved = tell_changes(before, change.model_dump(mode="json")) if before else []
    number = counted(len(change.corrections), "correction")
    return [*(moved or ["No drug's evidence moved."]), f"Run {run_id}: {number}; next: willowbark show {run_id}"]


def rewrite(run_id: str, root: Path, model: str | None) -> list[str]:
    """Have a model write a run's answer again, and return a line on it.

    Args:
        run_id: of this folder's ledger.
        root: folder of run folders.
        model: by name; None takes the run's own.

    Raises:
        UsageError: there is no such model, the run has none, or it wrote nothing that stands.
    """
    with Ledger.existing(DEFAULT_PATH) as ledger:
        report = asyncio.run(rewrite_run(run_id, ledger, model=model, root=root))
    assert report.written is not None  # of a run that was just written
    return [report.written.provenance]


def list_words(run_id: str) -> list[str]:
    """List who said what of a run, as its report took it."""
    report = load_stored_report(run_id)
    lines = [] if report is None else [_write_line(correction) for correction in report.corrections]
    return lines or [f"Nobody has corrected run {run_id}."]


def _write_line(word: CorrectionLine) -> str:
    names = [record_name(word.record)] if word.record else []
    names += [word.drug] if word.drug else []
    return f"{', '.join(names)}: {word.line}"


def write_labels(run_id: str, path: Path) -> list[str]:
    """Write what people said of a run's records as labels, and return a line on it."""
    with Ledger.existing(DEFAULT_PATH) as ledger:
        text, number = collect_labels(run_id, ledger)
    write_file(path, text.encode())
    return [f"{path}: {counted(number, 'label')}"]
