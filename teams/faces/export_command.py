"""Earlier runs from the command line: list them, show one's report, export it in other forms."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from willowbark.tools.enclosure import one_line
from willowbark.tools.errors import UsageError

from ..config import Settings
from ..exports import FORMATS, format_of, write
from ..run.workspace import RUN_ID, RunFolder
from .terminal import show_report, write_out

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport

    from ..ledger import Run, Status

LATEST = "last"  # in the place of a run id: the newest run that has a report
REPORT = "report.json"
_BEGINNING = len("20251122-055548")  # of a run's id: when it was started
UNFINISHED = ("interrupted", "cancelled", "failed")  # what can be gone on with
WORKSPACE = "workspace"  # in `--to`: not a form of the report, but the material that it was made from


def runs_folder(runs: Path | None, config: Path | None) -> Path:
    """Where the runs lie: as named, else as configured.

    Raises:
        UsageError: the configuration is at fault.
    """
    return runs if runs is not None else Settings.load(config).output.directory


def list_runs(root: Path) -> None:
    """Print a table of the runs, the newest first, and how to go on with those that have no report."""
    rows = rows_of(root)
    if not rows:
        write_out(f"No runs in {root}.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in ("run", "question", "candidates", "certainty", "cost", "time"):
        is_text = name in ("question", "candidates")
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio={"question": 3, "candidates": 2}.get(name))
        table.columns[-1].justify = "left" if is_text or name in ("run", "certainty") else "right"
    for row in rows:
        table.add_row(*map(Text, row[1:-1]))
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(table)
    for row in rows:
        if row.status in UNFINISHED:
            console.print(Text(f"{row.status}: willowbark resume {row.run_id}"), soft_wrap=True)


class RunRow(NamedTuple):
    """A run in the list of runs, as text for people."""

    run_id: str
    name: str
    """The id, cut where its beginning tells it from all others."""
    question: str
    """Empty where only an unreadable report stands."""
    candidates: str
    """The first and how many more; what the run came to where it has no report."""
    certainty: str
    cost: str
    """Of the model; a dash where it had none, a question mark where its price is not known."""
    time: str
    """Seconds of work; empty where the ledger does not know the run."""
    status: "Status | None"
    """None where the ledger does not know the run."""


def rows_of(root: Path) -> list[RunRow]:
    """Every run of the ledger and of the folder of run folders, the newest first."""
    kept = {run.run_id: run for run in _in_ledger()}
    ids = known_runs(root, kept)
    return [_row(root, run_id, kept.get(run_id), ids) for run_id in ids]


def _row(root: Path, run_id: str, run: "Run | None", ids: Sequence[str]) -> RunRow:
    beginning = run_id[:_BEGINNING]
    name = beginning if sum(other.startswith(beginning) for other in ids) == 1 else run_id
    took = f"{run.spent_s:.0f} s" if run is not None else ""
    cost = ""
    try:
        report = _content(root, run_id, run)
        first, *others = report["candidates"] or [None]
        drugs = f"{first['name']}{f', {len(others)} more' if others else ''}" if first else "none"
        certainty = first["certainty"] if first else ""
        question = report["research_question"]
        cost = _cost([turn["cost_usd"] for turn in report.get("usage", [])])
    except FileNotFoundError:
        drugs, certainty, question = (run.status if run else "no report"), "", run.question if run else ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        drugs, certainty, question = "unreadable report", "", run.question if run else ""
    status = run.status if run else None
    return RunRow(run_id, name, one_line(question), one_line(drugs), one_line(certainty), cost, took, status)


def _cost(turns: Sequence[float | None]) -> str:
    """What a run's language model cost; a dash where it had none or kept no account, a question mark without a price.

    >>> _cost([]), _cost([0.004, 0.1]), _cost([0.1, None])
    ('–', '$0.10', '?')
    """
    priced = [cost for cost in turns if cost is not None]
    return "–" if not turns else f"${sum(priced):.2f}" if len(priced) == len(turns) else "?"


def _content(root: Path, run_id: str, run: "Run | None") -> Any:
    """A report as JSON content: its folder's, else the ledger's."""
    path = root / run_id / REPORT
    if run is not None and run.stop_reason and not path.is_file() and (report := restored(run_id, root)) is not None:
        return report.model_dump(mode="json")
    return json.loads(path.read_bytes())


def known_runs(root: Path, others: Iterable[str] = ()) -> list[str]:
    """The ids of all runs, newest first: they begin with the time.

    Args:
        root: holds the run folders.
        others: ids of runs that may have none.
    """
    return sorted({folder.run_id for folder in _folders(root)}.union(others), reverse=True)


def meant(run: str, ids: Sequence[str]) -> str:
    """The run that somebody means, who typed its id, its beginning, or `last` for the first of these; else as typed.

    Raises:
        UsageError: several runs begin so.
    """
    if run == LATEST and ids and LATEST not in ids:
        return ids[0]
    fitting = sorted({run_id for run_id in ids if run_id.startswith(run)})
    if run in ids or not fitting:
        return run
    if len(fitting) > 1:
        raise UsageError(f"{run!r} may be {', '.join(fitting[:3])}; give more of the id")
    return fitting[0]


def show_run(root: Path, run: str, *, as_json: bool = False) -> None:
    """Print a run's report again.

    Raises:
        UsageError: no such run, or its report cannot be read.
    """
    show_report(report_in(root, _found(root, run)), as_json=as_json)


def export_run(root: Path, run: str, formats: str, out: Path | None) -> None:
    """Write a run's report in other forms, or its material, and print where each file or folder stands.

    Args:
        root: holds the runs.
        run: a run id, or `last`.
        formats: names, joined by commas; `workspace` is the material, from the ledger.
        out: where to; None is the run's own folder.

    Raises:
        UsageError: no such run or format, a missing extra, or a folder that cannot be written to.
    """
    names = [name.strip().lower() for name in formats.split(",") if name.strip()]
    if not names:
        raise UsageError(f"--to names no format; choose from {', '.join(known.name for known in FORMATS)}, {WORKSPACE}")
    forms = [name for name in names if name != WORKSPACE]
    for name in forms:
        format_of(name)
    written, run_id = [], _found(root, run)
    if forms:
        report = report_in(root, run_id)
        written += write(report, out if out is not None else RunFolder.at(root, run_id).path, forms)
    if WORKSPACE in names:
        written.append(_export_workspace(run_id, root, out))
    write_out("\n".join(map(str, written)))


def _export_workspace(run_id: str, root: Path, out: Path | None) -> Path:
    from ..ledger import DEFAULT_PATH, Ledger  # noqa: PLC0415
    from .workspace_export import write_workspace  # noqa: PLC0415  agents take most of a second

    with Ledger.existing(DEFAULT_PATH) as ledger:
        ledger.run(run_id)
        return write_workspace(ledger, run_id, out if out is not None else RunFolder.at(root, run_id).path)


def _found(root: Path, run: str) -> str:
    """The id of a run by its id, its beginning, or `last`: the newest one with a report.

    Raises:
        UsageError: there is none with a report, or several begin so.
    """
    if RUN_ID.fullmatch(run) and (root / run / REPORT).is_file():
        return run
    kept = {each.run_id: each for each in _in_ledger()}
    ids = known_runs(root, kept)
    if run != LATEST or LATEST in ids:
        return meant(run, ids)
    for run_id in ids:
        if (root / run_id / REPORT).is_file() or (run_id in kept and kept[run_id].stop_reason is not None):
            return run_id
    raise UsageError(f"{root}: no run there has a report")


def restored(run_id: str, root: Path) -> "ResearchReport | None":
    """The report that the ledger holds of a run, put back into its folder where that lacks it; None for no such report.

    A run that is killed between its last commit and its files leaves them to this.

    Raises:
        LedgerError: the ledger or what it holds is damaged.
        UsageError: the report is not what this version writes.
    """
    from ..ledger import DEFAULT_PATH, Ledger  # noqa: PLC0415

    if all(run.run_id != run_id or run.stop_reason is None for run in _in_ledger()):
        return None
    with Ledger.existing(DEFAULT_PATH) as ledger:
        content, settings = ledger.report(run_id), Settings.restored(ledger.run(run_id).settings)
    if content is None:
        return None
    report = _validated(json.dumps(content).encode(), f"{DEFAULT_PATH}: run {run_id}")
    with suppress(UsageError):  # a place that cannot be written to keeps nobody from reading
        folder = RunFolder.at(root, run_id)
        folder.write_report(report, [f for f in settings.output.formats if not (folder.path / f"report.{f}").exists()])
    return report


def _in_ledger() -> "list[Run]":
    """The runs that the workspace's ledger holds, the latest first."""
    from ..ledger import DEFAULT_PATH, Ledger  # noqa: PLC0415

    if not DEFAULT_PATH.is_file():
        return []
    with Ledger.existing(DEFAULT_PATH) as ledger:
        return ledger.runs()


def report_in(root: Path, run_id: str) -> "ResearchReport":
    """The report of a run: its folder's, else the ledger's.

    Raises:
        UsageError: neither has one that can be read.
    """
    try:
        return load_report(RunFolder.open(root, run_id))
    except UsageError as error:
        if not RUN_ID.fullmatch(run_id) or (report := restored(run_id, root)) is None:
            raise error from None
        return report


def load_report(folder: RunFolder) -> "ResearchReport":
    """Read the report of a run.

    Raises:
        UsageError: there is none, or it is not what a run writes.
    """
    path = folder.path / REPORT
    try:
        return _validated(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise UsageError(f'{path}: the run has no JSON report; keep "json" in [output] formats') from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from None


def _validated(content: bytes, place: str) -> "ResearchReport":
    from pydantic import ValidationError  # noqa: PLC0415  bad input is told before this is loaded

    from willowbark.agents.report.model import ResearchReport  # noqa: PLC0415

    try:
        return ResearchReport.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "its beginning"
        raise UsageError(f"{place}: no report of this version of Willowbark ({first['msg']} at {where})") from None


def _folders(root: Path) -> Iterator[RunFolder]:
    """The runs, newest first: their ids begin with the time.

    Raises:
        UsageError: the folder is there but cannot be read.
    """
    try:
        found = sorted((path for path in root.iterdir() if _is_run(path)), key=lambda path: path.name, reverse=True)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{root}: cannot be read ({error.strerror or error})") from None
    yield from map(RunFolder, found)


def _is_run(path: Path) -> bool:
    return bool(RUN_ID.fullmatch(path.name)) and path.is_dir() and not path.is_symlink()
