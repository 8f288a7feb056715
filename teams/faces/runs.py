"""Find earlier runs, list and compare them, and repeat questions: `willowbark runs`, `show`, `export`, `diff`, `watch`.

Each question to repeat has a folder in `.willowbark/watch/`: the question (`watch.json`), the last report
(`report.json`), the changes of each call (`changes.json`), and the same for people and feed readers (`changes.md`,
`changes.atom`).
"""

import asyncio
import hashlib
import json
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from rich.console import Console
from rich.table import Table
from rich.text import Text

from willowbark.tools.errors import UsageError
from willowbark.tools.whole_file import write_file

from ..ledger import DEFAULT_PATH
from ..run.history import UNFINISHED, RunRow, differences, list_runs
from ..run.options import RunOptions
from .terminal import write_out

if TYPE_CHECKING:
    pass

WATCHED = DEFAULT_PATH.parent / "watch"
MOVED = 10  # exit code of `watch run` if anything changed
FAILED = 4  # if a question could not be repeated, and nothing else changed
_KEPT = ("library", "model", "settings", "depth", "offline")
_UNANSWERED = ("unavailable", "partial", "bad_query")
_CUT_SHORT = ("cancelled", "error", "sources_unreachable", "timeout", "token_budget_exceeded")


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
    """List the questions, one per line: name, time of the last call, changes then."""
    lines = []
    for place in _watches(folder):
        said, changes = _read(place / "watch.json"), _read(place / "changes.json", [])
        asked = said.get("asked", "never asked")
        moved = f"; last changed {changes[-1]['at']}" if changes else ""
        lines.append(f"{place.name}  {said['question']}  ({asked}{moved})")
    return lines or ['No question is watched; add one: willowbark watch add "QUESTION"']


def run_watches(
    folder: Path, tell: Callable[[str], None] = lambda _: None, complain: Callable[[str], None] = lambda _: None
) -> tuple[list[dict[str, Any]], int]:
    """Repeat each question; return the changes and the exit code.

    A question is skipped if its library is unchanged. If a source does not answer, no change is reported: the last
    report stays, and the next call compares with it. `tell` receives progress, `complain` a line for each question that
    could not be repeated. UsageError if no question is watched.
    """
    from willowbark.tools.library import open_library  # noqa: PLC0415

    from ..run.research import RunFailed, research  # noqa: PLC0415

    places = _watches(folder)
    if not places:
        raise UsageError('no question is watched; add one: willowbark watch add "QUESTION"')
    moved, failed = list[dict[str, Any]](), False
    for place in places:
        said = _read(place / "watch.json")
        try:
            options = RunOptions.of(said["question"], said["options"])
            library = options.chosen().library.path
            digest = open_library(library).digest if library else None
            if digest is not None and digest == said.get("library_digest"):
                tell(f"{said['question']}: the library holds nothing new")
                continue
            report = asyncio.run(research(options, fresh=True)).model_dump(mode="json")
        except (RunFailed, UsageError) as error:  # the other questions are still repeated
            failed = True
            complain(f"{said['question']}: {error}; compared next time")
            continue
        silent = sorted({each["source"] for each in report["search_log"] if each["status"] in _UNANSWERED})
        if silent or report["model_failed"] or report["stop_reason"] in _CUT_SHORT:
            failed = True
            what = ", ".join(silent) or ("the model" if report["model_failed"] else "the run")
            complain(f"{said['question']}: {what} did not answer in full; compared next time")
            continue
        before = _read(place / "report.json", None)
        if before is None:
            tell(f"{said['question']}: {len(report['candidates'])} candidates; later runs report what changes")
        elif (changes := differences(before, report)[1:]) and not changes[0].startswith("Nothing changed"):
            if library:  # mark studies that disappeared because they were retracted
                gone = {line: line.split(": ")[1] for line in changes if line.startswith("Gone: ")}
                found = open_library(library).by_numbers(gone.values(), "pubmed") if gone else []
                retracted = {each.key for each in found if each.paper and each.paper.retracted}
                changes = [
                    f"Retracted{line.removeprefix('Gone')}" if gone.get(line) in retracted else line for line in changes
                ]
            entry = {"at": _now(), "watch": place.name, "question": said["question"], "changes": changes}
            moved.append(entry)
            all_entries = [*_read(place / "changes.json", []), entry]
            write_file(place / "changes.md", as_markdown(all_entries).encode())
            write_file(place / "changes.atom", as_atom(place.name, said["question"], all_entries).encode())
            write_file(place / "changes.json", json.dumps(all_entries, indent=2, ensure_ascii=False).encode())
        write_file(place / "report.json", json.dumps(report).encode())  # only after the changes are stored
        said |= {"asked": _now(), "library_digest": digest}
        write_file(place / "watch.json", json.dumps(said, indent=2).encode())
    return moved, MOVED if moved else FAILED if failed else 0


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


def _watches(folder: Path) -> list[Path]:
    found = (path.parent for path in folder.glob("*/watch.json"))
    return sorted(found, key=lambda each: (_read(each / "watch.json")["added"], each.name))


def _read(path: Path, default: Any = ...) -> Any:
    """Read a JSON file; return the default if it is missing."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if default is ...:
            raise UsageError(f"{path}: is missing") from None
        return default
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from None


def _urn(*parts: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, "/".join(("willowbark", *parts))).urn


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
