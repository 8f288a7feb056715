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
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from xml.sax.saxutils import escape

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from willowbark.tools.errors import UsageError
from willowbark.tools.local_files import read_json_file
from willowbark.tools.reading.corrections import find_corrections_file
from willowbark.tools.reading.store import STORE_FILE
from willowbark.tools.whole_file import write_file

from ..config import format_problem
from ..ledger import DEFAULT_PATH
from ..run.history import UNFINISHED, RunRow, list_runs
from ..run.options import RunOptions
from ..run.report_changes import find_missing_keys, tell_changes
from .terminal import write_out

if TYPE_CHECKING:
    from willowbark.tools.library import Library

T = TypeVar("T")

_REPORT = "report.json"
_LARGEST_REPORT_BYTES = 256 << 20
WATCHED = DEFAULT_PATH.parent / "watch"
MOVED = 10  # exit code of `watch run` if anything changed
FAILED = 4  # if a question could not be repeated, and nothing else changed
_STORED_CHOICES = ("library", "model", "settings", "depth", "offline")
_UNANSWERED = ("unavailable", "partial", "bad_query")
_CUT_SHORT = ("cancelled", "error", "sources_unreachable", "timeout", "token_budget_exceeded")


def print_runs(root: Path, *, as_json: bool = False) -> None:
    """Print the runs, newest first: as a table on a terminal, with tabs between columns into a pipe, or as JSON."""
    rows = list_runs(root)
    if as_json or not sys.stdout.isatty():
        fields = [row._asdict() for row in rows]
        lines = [_join_cells(RunRow._fields), *map(_join_cells, rows)]
        write_out(json.dumps(fields, indent=2, ensure_ascii=False) if as_json else "\n".join(lines))
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


def _join_cells(cells: Iterable[str | None]) -> str:
    """Write the cells of a row with tabs between them; a tab in a cell would open another column."""
    return "\t".join((cell or "").replace("\t", " ") for cell in cells)


def add_watch(folder: Path, question: str, choices: Mapping[str, Any]) -> str:
    """Store a question to repeat, with its choices of `RunOptions`; return its name; UsageError if it cannot be."""
    from willowbark.tools.library import open_library  # noqa: PLC0415  the reader of questions and libraries
    from willowbark.tools.questions import check_question  # noqa: PLC0415

    checked = check_question(question)
    stored_choices = {
        name: value for name, value in choices.items() if name in _STORED_CHOICES and value not in (None, False)
    }
    for name in ("library", "settings"):
        if stored_choices.get(name, "bundled") != "bundled":
            stored_choices[name] = str(Path(stored_choices[name]).resolve())
    library = RunOptions.of(checked, stored_choices).chosen().library.path
    if library:
        open_library(library)  # a library that cannot be read is an error now, not at the next repetition
    name = hashlib.sha256(json.dumps([checked, stored_choices], sort_keys=True).encode()).hexdigest()[:12]
    if (folder / name).exists():
        raise UsageError(f"this question is watched already, as {name}")
    added = {"question": checked, "options": stored_choices, "added": _get_now()}
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
                _check_report(place, report)
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
    digest = open_library(library, tell).digest if library else None
    if digest is not None and digest == state.library_digest:
        tell(f"{state.question}: the library holds nothing new")
        return None
    for line in open_library(library).contents.unread if library else ():
        complain(f"library {library}: {line}")
    store = watch.place.parent.parent / STORE_FILE
    try:
        words = find_corrections_file(store)
        report = asyncio.run(research(options, fresh=True, studies=store, corrections=words)).model_dump(mode="json")
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
        changes = _find_changes(watch, report, open_library(library) if library else None)
        if changes:
            entry = {"at": _get_now(), "watch": watch.place.name, "question": state.question, "changes": changes}
            _keep_changes(watch, entry)
    write_file(watch.place / _REPORT, json.dumps(report).encode())  # only after the changes are stored
    new_state = state.model_copy(update={"asked": _get_now(), "library_digest": digest})
    write_file(watch.place / "watch.json", json.dumps(new_state.model_dump(), indent=2).encode())
    return entry


def _check_report(place: Path, report: Mapping[str, Any]) -> None:
    """Raise a UsageError, which names the file, if a report that was kept is damaged."""
    try:
        tell_changes(report, report)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise UsageError(f"{place / _REPORT}: is no report ({type(error).__name__}: {error})") from None


def _find_changes(watch: Watch, report: Mapping[str, Any], library: "Library | None") -> list[str]:
    """Tell what moved since the last report; a study that the library still holds is not gone."""
    assert watch.report is not None
    missing = find_missing_keys(watch.report, report)
    records = library.by_numbers(missing, "pubmed") if library and missing else []
    retracted = {record.key for record in records if record.paper and record.paper.retracted}
    return tell_changes(watch.report, report, retracted, {record.key for record in records})


def _keep_changes(watch: Watch, entry: dict[str, Any]) -> None:
    entries = [*(changes.model_dump() for changes in watch.changes), entry]
    write_file(watch.place / "changes.md", write_markdown(entries).encode())
    write_file(watch.place / "changes.atom", write_atom(watch.place.name, watch.state.question, entries).encode())
    write_file(watch.place / "changes.json", json.dumps(entries, indent=2, ensure_ascii=False).encode())


def write_markdown(entries: Sequence[Mapping[str, Any]]) -> str:
    """Format the changes as Markdown, the latest first."""
    lines = list[str]()
    for entry in reversed(entries):
        lines += [f"## {entry['question']}", "", entry["at"], "", *(f"- {line}" for line in entry["changes"]), ""]
    return "\n".join(lines[:-1]) or "Nothing changed."


def write_atom(name: str, question: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """Format the changes as a feed: https://www.rfc-editor.org/rfc/rfc4287"""
    written = "".join(
        f"<entry><id>{_make_urn(name, entry['at'])}</id><title>{len(entry['changes'])} changes: {escape(question)}"
        "</title>"
        f"<updated>{entry['at']}</updated>"
        f'<content type="text">{escape(chr(10).join(entry["changes"]))}</content></entry>'
        for entry in reversed(entries)
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>{_make_urn(name)}</id><title>{escape(question)}</title><updated>{entries[-1]['at']}</updated>"
        f"<author><name>Willowbark</name></author>{written}</feed>\n"
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
        raise UsageError(f"{path}: is damaged ({where}: {format_problem(first)})") from None


def _make_urn(*parts: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, "/".join(("willowbark", *parts))).urn


def _get_now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
