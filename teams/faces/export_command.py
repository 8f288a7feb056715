"""Earlier runs from the command line: list them, show one's report, export it in other forms."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from willowbark.tools.errors import UsageError

from ..config import Settings
from ..exports import FORMATS, format_of, write
from ..run.workspace import RUN_ID, RunFolder
from .terminal import one_line, show_report, write_out

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport

LATEST = "last"  # in the place of a run id: the newest run that has a report
REPORT = "report.json"
WORKSPACE = "workspace"  # in `--to`: not a form of the report, but the material that it was made from


def runs_folder(runs: Path | None, config: Path | None) -> Path:
    """Where the runs lie: as named, else as configured.

    Raises:
        UsageError: the configuration is at fault.
    """
    return runs if runs is not None else Settings.load(config).output.directory


def list_runs(root: Path) -> None:
    """Print a line a run, the newest first: id, candidates, why it ended, question."""
    folders = list(_folders(root))
    ended = _ended_in_ledger() if not all(map(_has_report, folders)) else set()
    lines = [_line(folder, in_ledger=folder.run_id in ended) for folder in folders]
    write_out("\n".join(lines) if lines else f"No runs in {root}.")


def show_run(root: Path, run: str, *, as_json: bool = False) -> None:
    """Print a run's report again.

    Raises:
        UsageError: no such run, or its report cannot be read.
    """
    show_report(_report(root, latest(root) if run == LATEST else run), as_json=as_json)


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
    written, run_id = [], latest(root) if run == LATEST else run
    if forms:
        report = _report(root, run_id)
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


def latest(root: Path) -> str:
    """The id of the newest run that has a report.

    Raises:
        UsageError: there is none.
    """
    if (root / LATEST).is_dir():
        return LATEST
    folders = list(_folders(root))
    ended = _ended_in_ledger() if not all(map(_has_report, folders[:1])) else set()
    for folder in folders:
        if folder.run_id in ended or _has_report(folder):
            return folder.run_id
    raise UsageError(f"{root}: no run there has a report")


def restored(run_id: str, root: Path) -> "ResearchReport | None":
    """The report that the ledger holds of a run, put back into its folder where that lacks it; None for no such report.

    A run that is killed between its last commit and its files leaves them to this.

    Raises:
        LedgerError: the ledger or what it holds is damaged.
        UsageError: the report is not what this version writes.
    """
    from ..ledger import DEFAULT_PATH, Ledger  # noqa: PLC0415

    if run_id not in _ended_in_ledger():
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


def _ended_in_ledger() -> set[str]:
    """The ids of the workspace's runs that came to an end, and so to a report."""
    from ..ledger import DEFAULT_PATH, Ledger  # noqa: PLC0415

    if not DEFAULT_PATH.is_file():
        return set()
    with Ledger.existing(DEFAULT_PATH) as ledger:
        return {run.run_id for run in ledger.runs() if run.stop_reason is not None}


def _report(root: Path, run_id: str) -> "ResearchReport":
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


def _has_report(folder: RunFolder) -> bool:
    return (folder.path / REPORT).is_file()


def _line(folder: RunFolder, *, in_ledger: bool) -> str:
    try:
        if in_ledger and not _has_report(folder) and (kept := restored(folder.run_id, folder.path.parent)) is not None:
            report: Any = kept.model_dump(mode="json")
        else:
            report = json.loads((folder.path / REPORT).read_bytes())
        drugs = ", ".join(map(str, report["drug_candidates"][:3])) or "no candidate"
        told = f"{len(report['drug_candidates'])} candidates ({drugs}); {report['stop_reason']}"
        return f"{folder.run_id}  {one_line(told)}  {one_line(report['research_question'])}"
    except FileNotFoundError:
        return f"{folder.run_id}  no report"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return f"{folder.run_id}  unreadable report"
