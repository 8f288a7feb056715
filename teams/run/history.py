"""Finds, lists and compares the runs of a ledger and of a folder of runs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import one_line

from ..config import wording_of
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


def runs_in_ledger(path: Path = DEFAULT_PATH) -> list[Run]:
    """List the runs of a ledger, by default this folder's, newest first; empty without a ledger."""
    if not path.is_file():
        return []
    with Ledger.existing(path) as ledger:
        return ledger.runs()


def all_runs(root: Path | None) -> dict[str, Run | None]:
    """Return the runs in this folder's ledger and those with a folder below `root`, by id, newest first."""
    kept: dict[str, Run | None] = {run.run_id: run for run in runs_in_ledger()}
    try:
        folders = [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()] if root else []
    except FileNotFoundError:
        folders = []
    except OSError as error:
        raise UsageError(f"{root}: cannot be read ({error.strerror or error})") from None
    found = dict.fromkeys(path.name for path in folders if RUN_ID.fullmatch(path.name)) | kept
    return dict(sorted(found.items(), reverse=True))


def find_run(run: str, root: Path | None = None, *, unfinished: bool = False) -> str:
    """Find the id of a run by its id, its beginning, or `last`; what fits none stays as typed.

    With a folder of run folders it looks there too, and `last` is the newest run with a report; with `unfinished`,
    the newest that can be resumed. UsageError if several runs begin this way.
    """
    try:
        runs = all_runs(root)
    except LedgerError:
        if run == LATEST:
            raise
        return run  # a damaged row of another run does not matter here
    if run == LATEST:
        for each, kept in runs.items():
            is_ended = root is None or (root / each / _REPORT).is_file() or (kept and kept.stop_reason is not None)
            if kept and kept.status in UNFINISHED if unfinished else is_ended:
                return each
        if runs:
            return next(iter(runs))
        raise UsageError("there is no run here yet")
    fitting = [run] if run in runs else [each for each in runs if each.startswith(run)]
    if len(fitting) > 1:
        raise UsageError(f"{run!r} may be {', '.join(fitting[:3])}; give more of the id")
    return fitting[0] if fitting else run


def load_report(root: Path, run_id: str) -> "ResearchReport":
    """Load a run's report from its folder, otherwise from the ledger; UsageError if neither has a readable one."""
    try:
        path = RunFolder.open(root, run_id).path / _REPORT
        report = parse_report(_read_report(path), str(path))
    except UsageError:
        if all(run.run_id != run_id for run in runs_in_ledger()):
            raise
        kept = stored_report(run_id)
        if kept is None:
            raise
        return kept
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


def stored_report(run_id: str, path: Path = DEFAULT_PATH) -> "ResearchReport | None":
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
            f"{place}: not a report of this version of Willowbark ({where}: {wording_of(first)})"
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
    for run_id, run in all_runs(root).items():
        path = root / run_id / _REPORT
        drugs: str = run.status if run else "no report"
        cost = ""
        question = run.question if run else ""
        try:
            if path.exists():
                report = json.loads(_read_report(path))
            else:
                kept = stored_report(run_id) if run and run.stop_reason else None
                report = kept and kept.model_dump(mode="json")
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
    pair = [find_run(each) for each in (earlier, later) if each is not None]
    with Ledger.existing() as ledger:
        former = ledger.taken(pair[0], FORMER) if later is None else None
        if former is not None:
            return [*differences(former, ledger.report(pair[0]) or former), "Compared: before and after corrections."]
        if later is None:
            question = ledger.run(pair[0]).question
            runs = ledger.runs()
            alike = [run.run_id for run in runs if run.question == question and run.status == "complete"]
            if not (others := [run_id for run_id in alike if run_id != pair[0]]):
                raise LedgerError(
                    f"no other run asked “{one_line(question)}”; ask it again with --fresh, or name a second run"
                )
            pair = [run.run_id for run in reversed(runs) if run.run_id in (pair[0], others[0])]
        reports = []
        for run_id in pair:
            if (report := ledger.report(run_id)) is None:
                raise LedgerError(f"run {run_id} has no report; finish it with `willowbark resume {run_id}`")
            reports.append(report)
    return differences(*reports)


def differences(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> list[str]:
    """List the changes between two reports (as JSON content), one per line: verdicts first, then studies."""
    lines = [f"Question: {one_line(later['research_question'])}"]
    if earlier["research_question"] != later["research_question"]:
        lines.append(f"The earlier run asked: {one_line(earlier['research_question'])}")
    before, after = ({each["name"]: each for each in report["candidates"]} for report in (earlier, later))
    for name in sorted(before.keys() | after.keys()):
        was = before.get(name)
        now = after.get(name)
        if was and now:
            for what, field in (("certainty", "certainty"), ("evidence", "evidence_quality")):
                if was[field] != now[field]:
                    lines.append(f"{name}: {what} {was[field]} → {now[field]}")
        elif one := was or now:
            moved = "no longer a candidate" if was else "a new candidate"
            lines.append(f"{name}: {moved} ({one['evidence_quality']} evidence, {one['certainty']} certainty)")
    old = _evidence(earlier)
    new = _evidence(later)
    for key in sorted(old.keys() | new.keys()):
        title, said = new.get(key) or old[key]
        if key not in old or key not in new:
            lines.append(f"{'New' if key in new else 'Gone'}: {key}: {title}")
            continue
        changed, before_said = [], old[key][1]  # in words; figures and short texts with old and new value
        rows_before, rows_now = ({drug for drug, _ in each} for each in (before_said, said))
        changed += [f"{drug} no longer in it" for drug in sorted(rows_before - rows_now)]
        changed += [f"{drug} new in it" for drug in sorted(rows_now - rows_before)]
        for drug, field in sorted(before_said.keys() | said.keys()):
            if drug not in rows_before & rows_now:
                continue
            pair = before_said.get((drug, field)), said.get((drug, field))
            if pair[0] != pair[1]:
                name = " ".join(filter(None, (drug, _NAMES.get(field, field.replace("_", " ")))))
                is_short = all(isinstance(each, str | int | float | None) and len(str(each)) <= _SHORT for each in pair)
                was, now = ("not reported" if each in (None, "", [], {}) else str(each) for each in pair)
                changed.append(one_line(f"{name} {was} → {now}" if is_short else f"{name} is another"))
        if changed:
            lines.append(f"Changed: {key}: {'; '.join(changed)} ({title})")
    return lines if len(lines) > 1 else [*lines, "Nothing changed: same evidence, same verdicts."]


def _evidence(report: Mapping[str, Any]) -> dict[str, tuple[str, dict[tuple[str, str], Any]]]:
    """Index a report by record key: title, and all other data by drug ("" for none) and field."""
    found: dict[str, tuple[str, dict[tuple[str, str], Any]]] = {}
    for row in [*report["references"], *report["evidence_table"], *report["trials"]]:
        told = found.setdefault(row["key"], (one_line(row["title"]), {}))[1]
        told.update({(row.get("drug", ""), field): _plain(said) for field, said in row.items() if field != "number"})
    return found


def _plain(value: Any) -> Any:
    """Return what people said of a row in words, and all else as it is."""
    return value["line"] if isinstance(value, dict) and "is_disputed" in value else value


def without_clock(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report without the times of its creation and searches."""
    log = [{name: value for name, value in entry.items() if name != "asked_at"} for entry in report["search_log"]]
    return {**report, "generated_at": None, "search_log": log}
