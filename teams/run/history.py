"""Finds, lists and compares the runs of a ledger and of a folder of runs."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import one_line

from ..config import format_problem
from ..ledger import DEFAULT_PATH, Ledger, LedgerError, Run
from ..ledger.journal import FORMER
from ..ledger.run_ids import RUN_ID
from .workspace import RunFolder

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport


LATEST = "last"  # accepted in place of a run id


UNFINISHED = ("interrupted", "cancelled", "failed")  # statuses that can be resumed


_REPORT = "report.json"


_NAMES = {"word": "by people:"}


_SHORT = 60  # characters up to which a changed value is printed


_TIME_LENGTH = len("20251122-055548")  # run ids begin with the time


def list_ledger_runs(path: Path = DEFAULT_PATH) -> list[Run]:
    """List the runs of a ledger, by default this folder's, newest first; empty without a ledger."""
    if not path.is_file():
        return []
    with Ledger.existing(path) as ledger:
        return ledger.runs()


def find_all_runs(root: Path | None) -> dict[str, Run | None]:
    """Return the runs in this folder's ledger and those with a folder below `root`, by id, newest first."""
    ledger_runs: dict[str, Run | None] = {run.run_id: run for run in list_ledger_runs()}
    try:
        folders = [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()] if root else []
    except FileNotFoundError:
        folders = []
    except OSError as error:
        raise UsageError(f"{root}: cannot be read ({error.strerror or error})") from None
    runs = dict.fromkeys(path.name for path in folders if RUN_ID.fullmatch(path.name)) | ledger_runs
    return dict(sorted(runs.items(), reverse=True))


def find_run(run: str, root: Path | None = None, *, unfinished: bool = False) -> str:
    """Find the id of a run by its id, its beginning, or `last`; what fits none stays as typed.

    With a folder of run folders it looks there too, and `last` is the newest run with a report; with `unfinished`,
    the newest that can be resumed. UsageError if several runs begin this way.
    """
    try:
        runs = find_all_runs(root)
    except LedgerError:
        if run == LATEST:
            raise
        return run  # a damaged row of another run does not matter here
    if run == LATEST:
        for run_id, ledger_run in runs.items():
            if unfinished:
                is_meant = ledger_run is not None and ledger_run.status in UNFINISHED
            else:
                is_in_folder = root is None or (root / run_id / _REPORT).is_file()
                is_meant = is_in_folder or (ledger_run is not None and ledger_run.stop_reason is not None)
            if is_meant:
                return run_id
        if runs:
            return next(iter(runs))
        raise UsageError("there is no run here yet")
    fitting = [run] if run in runs else [run_id for run_id in runs if run_id.startswith(run)]
    if len(fitting) > 1:
        raise UsageError(f"{run!r} may be {', '.join(fitting[:3])}; give more of the id")
    return fitting[0] if fitting else run


def load_report(root: Path, run_id: str) -> "ResearchReport":
    """Load a run's report from its folder, otherwise from the ledger; UsageError if neither has a readable one."""
    try:
        path = RunFolder.open(root, run_id).path / _REPORT
        report = parse_report(_read_report(path), str(path))
    except UsageError:
        if all(run.run_id != run_id for run in list_ledger_runs()):
            raise
        report_in_ledger = load_stored_report(run_id)
        if report_in_ledger is None:
            raise
        return report_in_ledger
    return _bind(report, run_id, DEFAULT_PATH, root) if DEFAULT_PATH.is_file() else report


def _bind(report: "ResearchReport", run_id: str, ledger: Path, root: Path | None = None) -> "ResearchReport":
    from .binding import bind_report  # noqa: PLC0415  the whole team

    return bind_report(report, run_id, ledger, root)


def _read_report(path: Path) -> bytes:
    """Read a report; pipes, devices and endless files are refused, as exhaustive reports have some 10 MB."""
    try:
        if not path.exists():
            raise UsageError(f"{path}: the run has no JSON report")
        if not path.is_file() or path.stat().st_size > 256 << 20:
            raise UsageError(f"{path}: is not a file of 256 MB at most")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None


def load_stored_report(run_id: str, path: Path = DEFAULT_PATH) -> "ResearchReport | None":
    """Return a run's report from a ledger, None if it has none yet; LedgerError if there is no such run."""
    with Ledger.existing(path) as ledger:
        content = ledger.report(run_id)
    if content is None:
        return None
    return _bind(parse_report(json.dumps(content).encode(), f"{path}: run {run_id}"), run_id, path)


def parse_report(content: bytes, place: str) -> "ResearchReport":
    """Parse a report from JSON; UsageError, which names its `place`, if it is not one of this version."""
    from pydantic import ValidationError  # noqa: PLC0415  bad input is reported before this is loaded

    from willowbark.agents.report.model import ResearchReport  # noqa: PLC0415

    try:
        return ResearchReport.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "its beginning"
        raise UsageError(
            f"{place}: not a report of this version of Willowbark ({where}: {format_problem(first)})"
        ) from None


class RunRow(NamedTuple):
    """A run in the list of runs, as text for people."""

    run_id: str
    name: str
    """The beginning of the id: its time."""
    question: str
    """Empty if only an unreadable report is left."""
    candidates: str
    """The first candidate, and how many more; the status of a run without a report."""
    cost: str
    """Cost of the model in US dollars: a dash for none, a question mark if the price is unknown."""
    status: str | None
    """None for a run outside the ledger."""


def list_runs(root: Path) -> list[RunRow]:
    """List all runs of the ledger and of the folder of run folders, newest first."""
    rows = []
    for run_id, run in find_all_runs(root).items():
        path = root / run_id / _REPORT
        drugs: str = run.status if run else "no report"
        cost = ""
        question = run.question if run else ""
        try:
            if path.exists():
                report = json.loads(_read_report(path))
            else:
                report_in_ledger = load_stored_report(run_id) if run and run.stop_reason else None
                report = report_in_ledger and report_in_ledger.model_dump(mode="json")
            if report is not None:
                drugs = "none"
                question = report["research_question"]
                if report["candidates"]:
                    (first, *others) = report["candidates"]
                    drugs = f"{first['name']}{f', {len(others)} more' if others else ''}"
                costs = [turn["cost_usd"] for turn in report.get("usage", [])]
                cost = "–" if not costs else "?" if None in costs else f"${sum(costs):.2f}"
        except (OSError, ValueError, KeyError, TypeError, AttributeError, UsageError):
            drugs = "unreadable report"
        status = run.status if run else None
        rows.append(RunRow(run_id, run_id[:_TIME_LENGTH], one_line(question), one_line(drugs), cost, status))
    return rows


def compare_runs(earlier: str, later: str | None) -> list[str]:
    """List the changes from one run to another, one per line.

    None means what people's corrections moved in a run, or without any the latest other run of the same question.
    LedgerError if there is no such run, one without a report, or none to compare with.
    """
    pair = [find_run(name) for name in (earlier, later) if name is not None]
    with Ledger.existing() as ledger:
        former = ledger.taken(pair[0], FORMER) if later is None else None
        if former is not None:
            return [
                *list_differences(former, ledger.report(pair[0]) or former),
                "Compared: before and after corrections.",
            ]
        if later is None:
            question = ledger.run(pair[0]).question
            runs = ledger.runs()
            alike = [run.run_id for run in runs if run.question == question and run.status == "complete"]
            others = [run_id for run_id in alike if run_id != pair[0]]
            if not others:
                raise LedgerError(
                    f"no other run asked “{one_line(question)}”; ask it again with --fresh, or name a second run"
                )
            pair = [run.run_id for run in reversed(runs) if run.run_id in (pair[0], others[0])]
        reports = []
        for run_id in pair:
            report = ledger.report(run_id)
            if report is None:
                raise LedgerError(f"run {run_id} has no report; finish it with `willowbark resume {run_id}`")
            reports.append(report)
    return list_differences(*reports)


def list_differences(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> list[str]:
    """List the changes between two reports (as JSON content), one per line: verdicts first, then studies."""
    lines = [f"Question: {one_line(later['research_question'])}"]
    if earlier["research_question"] != later["research_question"]:
        lines.append(f"The earlier run asked: {one_line(earlier['research_question'])}")
    lines += _compare_candidates(earlier, later)
    lines += _compare_records(earlier, later)
    return lines if len(lines) > 1 else [*lines, "Nothing changed: same evidence, same verdicts."]


def _compare_candidates(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> Iterator[str]:
    """A line for each drug that came, went, or is judged otherwise."""
    before = {candidate["name"]: candidate for candidate in earlier["candidates"]}
    after = {candidate["name"]: candidate for candidate in later["candidates"]}
    for name in sorted(before.keys() | after.keys()):
        was = before.get(name)
        now = after.get(name)
        if was and now:
            for what, field in (("certainty", "certainty"), ("evidence", "evidence_quality")):
                if was[field] != now[field]:
                    yield f"{name}: {what} {was[field]} → {now[field]}"
        else:
            candidate = was or now or {}
            moved = "no longer a candidate" if was else "a new candidate"
            yield f"{name}: {moved} ({candidate['evidence_quality']} evidence, {candidate['certainty']} certainty)"


def _compare_records(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> Iterator[str]:
    """A line for each record that came, went, or of which a report holds other data."""
    before = _index_evidence(earlier)
    after = _index_evidence(later)
    for key in sorted(before.keys() | after.keys()):
        record = after.get(key) or before[key]
        if key not in before or key not in after:
            yield f"{'New' if key in after else 'Gone'}: {key}: {record.title}"
            continue
        changes = _compare_values(before[key].values, after[key].values)
        if changes:
            yield f"Changed: {key}: {'; '.join(changes)} ({record.title})"


def _compare_values(before: Mapping[tuple[str, str], Any], after: Mapping[tuple[str, str], Any]) -> list[str]:
    """Say what changed of a record; figures and short texts with old and new value."""
    drugs_before = {drug for drug, _ in before}
    drugs_after = {drug for drug, _ in after}
    changes = [f"{drug} no longer in it" for drug in sorted(drugs_before - drugs_after)]
    changes += [f"{drug} new in it" for drug in sorted(drugs_after - drugs_before)]
    for drug, field in sorted(before.keys() | after.keys()):
        was = before.get((drug, field))
        now = after.get((drug, field))
        if drug not in drugs_before & drugs_after or was == now:
            continue
        name = " ".join(filter(None, (drug, _NAMES.get(field, field.replace("_", " ")))))
        if _is_short(was) and _is_short(now):
            changes.append(one_line(f"{name} {_format_value(was)} → {_format_value(now)}"))
        else:
            changes.append(one_line(f"{name} is another"))
    return changes


def _is_short(value: Any) -> bool:
    return isinstance(value, str | int | float | None) and len(str(value)) <= _SHORT


def _format_value(value: Any) -> str:
    return "not reported" if value in (None, "", [], {}) else str(value)


class _RecordData(NamedTuple):
    """What a report holds of a record."""

    title: str
    values: dict[tuple[str, str], Any]
    """By drug ("" for what is not of one) and field."""


def _index_evidence(report: Mapping[str, Any]) -> dict[str, _RecordData]:
    """Index what a report holds of records by their keys."""
    records: dict[str, _RecordData] = {}
    for row in [*report["references"], *report["evidence_table"], *report["trials"]]:
        record = records.setdefault(row["key"], _RecordData(one_line(row["title"]), {}))
        drug = row.get("drug", "")
        for field, value in row.items():
            if field != "number":  # a reference's number moves with what stands before it
                record.values[drug, field] = _simplify_value(value)
    return records


def _simplify_value(value: Any) -> Any:
    """Return what people said of a row in words, and all else as it is."""
    return value["line"] if isinstance(value, dict) and "is_disputed" in value else value


def strip_clock(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report without the times of its creation and searches."""
    log = [{name: value for name, value in entry.items() if name != "asked_at"} for entry in report["search_log"]]
    return {**report, "generated_at": None, "search_log": log}
