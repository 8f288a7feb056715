"""Run folders: one per run, below the folder that `[output] directory` names.

Files are written atomically: to a temporary file beside the target, then moved.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from willowbark.tools.errors import UsageError
from willowbark.tools.whole_file import write_file

from ..config import OutputSettings
from ..ledger.run_ids import RUN_ID

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport

APPENDIX_FILE = "report-appendix.md"
"""The appendix in a run's folder, which the report beside it names."""
EVIDENCE_FILE = "evidence.csv"
"""The table of all evidence, which the appendix names."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @property
    def run_id(self) -> str:
        """The folder's name."""
        return self.path.name

    @classmethod
    def open(cls, root: Path, run_id: str) -> Self:
        """Find the folder of an earlier run; UsageError if there is none, or `run_id` is not an id."""
        path = root / _check_id(run_id)
        if path.is_symlink() or not path.is_dir():
            raise UsageError(f"{root}: there is no run {run_id!r}; see the names in that folder")
        return cls(path)

    @classmethod
    def at(cls, root: Path, run_id: str) -> Self:
        """Open the folder of a run, creating it if missing; UsageError if `run_id` is no id, or that fails."""
        path = root / _check_id(run_id)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"{path}: cannot be written to ({reason}); name another folder with --out") from None
        return cls(path)

    def write_report(self, report: "ResearchReport", output: OutputSettings | None = None) -> list[Path]:
        """Write the report in the format of the settings, and `report.json`, each atomically; return their paths.

        None in place of settings writes `report.md` with `report-appendix.md` and `evidence.csv`.
        """
        # Render all before writing any, so that a report that cannot be dumped leaves nothing behind.
        from willowbark.agents.exports.evidence import as_csv  # noqa: PLC0415  agents take most of a second

        texts = _render(report, output or OutputSettings())
        texts["report.json"] = report.to_json()
        if len(texts) > 1:
            texts[EVIDENCE_FILE] = as_csv(report).decode("utf-8")
        return [self.write(name, text) for name, text in texts.items()]

    def write(self, name: str, text: str) -> Path:
        """Write one file of the folder, atomically, with a final line break; UsageError if that cannot be done."""
        content = text if text.endswith("\n") else f"{text}\n"
        return write_file(self.path / name, content.encode("utf-8", "replace"), "; name another folder with --out")

    def discard_if_empty(self) -> bool:
        """Remove the folder if nothing was written; return whether it was removed."""
        try:
            self.path.rmdir()
        except OSError:
            return False
        return True


def _render(report: "ResearchReport", output: OutputSettings) -> dict[str, str]:
    """Return the files of a report beside `report.json`, by name."""
    if output.format == "json":
        return {}
    is_whole = output.include_citations and output.include_methodology
    if is_whole and output.format == "markdown":
        return {"report.md": report.to_markdown(APPENDIX_FILE), APPENDIX_FILE: report.to_appendix()}
    from willowbark.agents.exports.formats import page_of  # noqa: PLC0415
    from willowbark.agents.report.forms.markdown import render_appendix, render_markdown  # noqa: PLC0415
    from willowbark.agents.report.forms.parts import leave_out  # noqa: PLC0415  agents take most of a second

    tree = leave_out(
        report.to_tree(), citations=not output.include_citations, methodology=not output.include_methodology
    )
    if output.format == "html":
        return {"report.html": page_of(tree)}
    return {"report.md": render_markdown(tree, APPENDIX_FILE), APPENDIX_FILE: render_appendix(tree)}


def _check_id(run_id: str) -> str:
    if not RUN_ID.fullmatch(run_id):
        raise UsageError(f"{run_id!r} is not a run id: use up to 64 of a-z, 0-9, - and _")
    return run_id
