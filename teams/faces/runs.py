"""Find earlier runs, list and compare them, and repeat questions: `willowbark runs`, `show`, `export`, `diff`, `watch`.

Each question to repeat has a folder in `.willowbark/watch/`: the question (`watch.json`), the last report
(`report.json`), the changes of each call (`changes.json`), and the same for people and feed readers (`changes.md`,
`changes.atom`).
"""

import asyncio
import hashlib
import json
import os
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from xml.sax.saxutils import escape

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from willowbark.tools.enclosure import one_line
from willowbark.tools.errors import UsageError
from willowbark.tools.local_files import read_json_file
from willowbark.tools.whole_file import write_file

from ..config import wording_of
from ..ledger import DEFAULT_PATH, Ledger, LedgerError, Run
from ..run.options import RunOptions
from ..run.workspace import RUN_ID, RunFolder
from .terminal import write_out

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport
    from willowbark.tools.library import Library

T = TypeVar("T")

LATEST = "last"  # accepted in place of a run id
UNFINISHED = ("interrupted", "cancelled", "failed")  # statuses that can be resumed
_REPORT = "report.json"
_LARGEST_REPORT_BYTES = 256 << 20
_SHORT = 60  # characters up to which a changed value is printed
WATCHED = DEFAULT_PATH.parent / "watch"
MOVED = 10  # exit code of `watch run` if anything changed
FAILED = 4  # if a question could not be repeated, and nothing else changed
_KEPT = ("library", "model", "settings", "depth", "offline")
_UNANSWERED = ("unavailable", "partial", "bad_query")
_CUT_SHORT = ("cancelled", "error", "sources_unreachable", "timeout", "token_budget_exceeded")
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
        return parse_report(_read_report(path), str(path))
    except UsageError:
        if all(run.run_id != run_id for run in runs_in_ledger()) or (report := stored_report(run_id)) is None:
            raise
        return report


def _read_report(path: Path) -> bytes:
    """Read a report; pipes, devices and endless files are refused, as exhaustive reports have some 10 MB."""
    try:
        if not path.exists():
            raise UsageError(f"{path}: the run has no JSON report")
        if not path.is_file() or path.stat().st_size > _LARGEST_REPORT_BYTES:
            raise UsageError(f"{path}: is not a file of 256 MB at most")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None


def stored_report(run_id: str, path: Path = DEFAULT_PATH) -> "ResearchReport | None":
    """Return a run's report from a ledger, None if it has none yet; LedgerError if there is no such run."""
    with Ledger.existing(path) as ledger:
        content = ledger.report(run_id)
    return None if content is None else parse_report(json.dumps(content).encode(), f"{path}: run {run_id}")


def parse_report(content: bytes, place: str) -> "ResearchReport":
    """Parse a report from JSON; UsageError, which names its `place`, if it is not one of this version."""
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
        cost, question = "", run.question if run else ""
        try:
            if path.exists():
                report = json.loads(_read_report(path))
            else:
                kept = stored_report(run_id) if run and run.stop_reason else None
                report = kept and kept.model_dump(mode="json")
            if report is not None:
                drugs, question = "none", report["research_question"]
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


def print_runs(root: Path, *, as_json: bool = False) -> None:
    """Print the runs, newest first: as a table on a terminal, with tabs between columns into a pipe, or as JSON."""
    rows = list_runs(root)
    if as_json or not sys.stdout.isatty():
        lines = [RunRow._fields, *([each or "" for each in row] for row in rows)]
        cells = "\n".join("\t".join(each.replace("\t", " ") for each in line) for line in lines)
        write_out(json.dumps([row._asdict() for row in rows], indent=2, ensure_ascii=False) if as_json else cells)
        return
    if not rows:
        write_out(f"No runs in {root}.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name, ratio in {"run": None, "question": 3, "candidates": 2}.items():
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=ratio)
    table.add_column("cost", no_wrap=True, justify="right")
    for row in rows:
        table.add_row(*map(Text, row[1:-1]))
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(table)
    for row in rows:
        if row.status in UNFINISHED:
            console.print(Text(f"{row.status}: willowbark resume {row.run_id}"), soft_wrap=True)


def compare_runs(earlier: str, later: str | None) -> list[str]:
    """List the changes from one run to another, one per line; None means the latest other run of the same question.

    LedgerError if there is no such run, one without a report, or none to compare with.
    """
    pair = [find_run(each) for each in (earlier, later) if each is not None]
    with Ledger.existing() as ledger:
        if later is None:
            question, runs = ledger.run(pair[0]).question, ledger.runs()
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
        was, now = before.get(name), after.get(name)
        if was and now:
            for what, field in (("certainty", "certainty"), ("evidence", "evidence_quality")):
                if was[field] != now[field]:
                    lines.append(f"{name}: {what} {was[field]} → {now[field]}")
        elif one := was or now:
            moved = "no longer a candidate" if was else "a new candidate"
            lines.append(f"{name}: {moved} ({one['evidence_quality']} evidence, {one['certainty']} certainty)")
    old, new = _evidence(earlier), _evidence(later)
    for key in sorted(old.keys() | new.keys()):
        title, said = new.get(key) or old[key]
        if key not in old or key not in new:
            lines.append(f"{'New' if key in new else 'Gone'}: {key}: {title}")
            continue
        changed, before_said = [], old[key][1]  # in words; figures and short texts with old and new value
        for drug, field in sorted(before_said.keys() | said.keys()):
            pair = before_said.get((drug, field)), said.get((drug, field))
            if pair[0] != pair[1]:
                name = " ".join(filter(None, (drug, field.replace("_", " "))))
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
        told.update({(row.get("drug", ""), field): said for field, said in row.items() if field != "number"})
    return found


def without_clock(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report without the times of its creation and searches."""
    log = [{name: value for name, value in entry.items() if name != "asked_at"} for entry in report["search_log"]]
    return {**report, "generated_at": None, "search_log": log}


def add_watch(folder: Path, question: str, choices: Mapping[str, Any]) -> str:
    """Store a question to repeat, with its choices of `RunOptions`; return its name; UsageError if it cannot be."""
    from willowbark.tools.library import open_library  # noqa: PLC0415  the reader of questions and libraries
    from willowbark.tools.questions import understood_question  # noqa: PLC0415

    asked = understood_question(question)
    kept = {name: value for name, value in choices.items() if name in _KEPT and value not in (None, False)}
    for name in ("library", "settings"):
        if kept.get(name, "bundled") != "bundled":
            kept[name] = str(Path(kept[name]).resolve())
    if library := RunOptions.of(asked, kept).chosen().library.path:
        open_library(library)
    name = hashlib.sha256(json.dumps([asked, kept], sort_keys=True).encode()).hexdigest()[:12]
    if (folder / name).exists():
        raise UsageError(f"this question is watched already, as {name}")
    added = {"question": asked, "options": kept, "added": _now()}
    write_file(folder / name / "watch.json", json.dumps(added, indent=2).encode())
    return name


def list_watches(folder: Path) -> list[str]:
    """List the questions, one per line: name, time of the last call, changes then; or what is wrong with its files."""
    watched, problems = read_watches(folder)
    lines = []
    for watch in watched:
        moved = f"; last changed {watch.changes[-1].at}" if watch.changes else ""
        lines.append(f"{watch.place.name}  {watch.state.question}  ({watch.state.asked}{moved})")
    lines += problems
    return lines or ['No question is watched; add one: willowbark watch add "QUESTION"']


class WatchState(BaseModel, extra="allow"):
    """A question to repeat (`watch.json`)."""

    question: str = Field(min_length=1)
    options: dict[str, Any]
    added: str
    asked: str = "never asked"
    """When it was asked last."""
    library_digest: str | None = None
    """Of the library's records then."""


class WatchChanges(BaseModel, frozen=True):
    """What changed from one call to the next (an entry of `changes.json`)."""

    at: str
    watch: str
    question: str
    changes: list[str]


class Watch(NamedTuple):
    """A question to repeat, with what earlier calls left."""

    place: Path
    state: WatchState
    changes: list[WatchChanges]
    report: dict[str, Any] | None
    """The last one; None before the first."""


def read_watches(folder: Path) -> tuple[list[Watch], list[str]]:
    """Return the questions, the longest watched first, and a line for each whose files are damaged."""
    watched: list[Watch] = []
    problems: list[str] = []
    for place in sorted(path.parent for path in folder.glob("*/watch.json")):
        try:
            state = _read_state(place / "watch.json", TypeAdapter(WatchState))
            changes = _read_state(place / "changes.json", TypeAdapter(list[WatchChanges]), [])
            report = _read_state(place / _REPORT, TypeAdapter(dict[str, Any] | None), None)
            if report is not None:
                _compare(place, report, report)
        except UsageError as error:
            problems.append(f"{error}; repair it, or remove the folder {place} and add the question again")
        else:
            watched.append(Watch(place, state, changes, report))
    return sorted(watched, key=lambda watch: (watch.state.added, watch.place.name)), problems


def run_watches(
    folder: Path, tell: Callable[[str], None] = lambda _: None, complain: Callable[[str], None] = lambda _: None
) -> tuple[list[dict[str, Any]], int]:
    """Repeat each question; return the changes and the exit code.

    A question is skipped if its library is unchanged. If a source does not answer, no change is reported: the last
    report stays, and the next call compares with it. `tell` receives progress, `complain` a line for each question that
    could not be repeated, or whose files are damaged. UsageError if no question is watched.
    """
    watched, problems = read_watches(folder)
    if not watched and not problems:
        raise UsageError('no question is watched; add one: willowbark watch add "QUESTION"')
    for problem in problems:
        complain(problem)
    moved = list[dict[str, Any]]()
    failed = bool(problems)
    for watch in watched:
        try:
            entry = _repeat(watch, tell, complain)
        except UsageError as error:  # the other questions are still repeated
            failed = True
            complain(f"{watch.state.question}: {error}; compared next time")
            continue
        if entry is not None:
            moved.append(entry)
    return moved, MOVED if moved else FAILED if failed else 0


def _repeat(watch: Watch, tell: Callable[[str], None], complain: Callable[[str], None]) -> dict[str, Any] | None:
    """Ask a question again and keep its report; return what changed, None for nothing.

    Raises:
        UsageError: it could not be asked, was not answered in full, or the report could not be kept.
    """
    from willowbark.tools.library import open_library  # noqa: PLC0415

    from ..run.research import RunFailed, research  # noqa: PLC0415

    state = watch.state
    options = RunOptions.of(state.question, state.options)
    library = options.chosen().library.path
    digest = open_library(library).digest if library else None
    if digest is not None and digest == state.library_digest:
        tell(f"{state.question}: the library holds nothing new")
        return None
    for line in open_library(library).contents.unread if library else ():
        complain(f"library {library}: {line}")
    try:
        report = asyncio.run(research(options, fresh=True)).model_dump(mode="json")
    except RunFailed as error:
        raise UsageError(str(error)) from None
    silent = sorted({entry["source"] for entry in report["search_log"] if entry["status"] in _UNANSWERED})
    if silent or report["model_failed"] or report["stop_reason"] in _CUT_SHORT:
        what = ", ".join(silent) or ("the model" if report["model_failed"] else "the run")
        raise UsageError(f"{what} did not answer in full")
    entry = None
    if watch.report is None:
        tell(f"{state.question}: {len(report['candidates'])} candidates; later runs report what changes")
    else:
        changes = _compare(watch.place, watch.report, report)
        if changes and not changes[0].startswith("Nothing changed"):
            if library:
                changes = _with_retractions(changes, open_library(library))
            entry = {"at": _now(), "watch": watch.place.name, "question": state.question, "changes": changes}
            _keep_changes(watch, entry)
    write_file(watch.place / _REPORT, json.dumps(report).encode())  # only after the changes are stored
    kept = state.model_copy(update={"asked": _now(), "library_digest": digest})
    write_file(watch.place / "watch.json", json.dumps(kept.model_dump(), indent=2).encode())
    return entry


def _compare(place: Path, earlier: Mapping[str, Any], later: Mapping[str, Any]) -> list[str]:
    """Return `differences` without the question; UsageError, which names the file, if the earlier report is damaged."""
    try:
        return differences(earlier, later)[1:]
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise UsageError(f"{place / _REPORT}: is no report ({type(error).__name__}: {error})") from None


def _with_retractions(changes: list[str], library: "Library") -> list[str]:
    """Mark studies that disappeared because they were retracted."""
    gone = {line: line.split(": ")[1] for line in changes if line.startswith("Gone: ")}
    records = library.by_numbers(gone.values(), "pubmed") if gone else []
    retracted = {record.key for record in records if record.paper and record.paper.retracted}
    return [f"Retracted{line.removeprefix('Gone')}" if gone.get(line) in retracted else line for line in changes]


def _keep_changes(watch: Watch, entry: dict[str, Any]) -> None:
    entries = [*(changes.model_dump() for changes in watch.changes), entry]
    write_file(watch.place / "changes.md", as_markdown(entries).encode())
    write_file(watch.place / "changes.atom", as_atom(watch.place.name, watch.state.question, entries).encode())
    write_file(watch.place / "changes.json", json.dumps(entries, indent=2, ensure_ascii=False).encode())


def as_markdown(entries: Sequence[Mapping[str, Any]]) -> str:
    """Format the changes as Markdown, the latest first."""
    lines = list[str]()
    for each in reversed(entries):
        lines += [f"## {each['question']}", "", each["at"], "", *(f"- {line}" for line in each["changes"]), ""]
    return "\n".join(lines[:-1]) or "Nothing changed."


def as_atom(name: str, question: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """Format the changes as a feed: https://www.rfc-editor.org/rfc/rfc4287"""
    told = "".join(
        f"<entry><id>{_urn(name, each['at'])}</id><title>{len(each['changes'])} changes: {escape(question)}</title>"
        f'<updated>{each["at"]}</updated><content type="text">{escape(chr(10).join(each["changes"]))}</content></entry>'
        for each in reversed(entries)
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>{_urn(name)}</id><title>{escape(question)}</title><updated>{entries[-1]['at']}</updated>"
        f"<author><name>Willowbark</name></author>{told}</feed>\n"
    )


def _read_state(path: Path, form: "TypeAdapter[T]", missing: Any = ...) -> T:
    """Read a JSON file of a watched question; UsageError names the file, and the line or field that is damaged."""
    if missing is not ... and not os.path.lexists(path):
        return cast(T, missing)
    try:
        return form.validate_python(read_json_file(path, _LARGEST_REPORT_BYTES))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "its beginning"
        raise UsageError(f"{path}: is damaged ({where}: {wording_of(first)})") from None


def _urn(*parts: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, "/".join(("willowbark", *parts))).urn


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
