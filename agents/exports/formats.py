"""Export a report: `render(report, "html")` returns one format, `write(report, folder, names)` writes several.

An export is a function from a report to bytes, and one line in `FORMATS`; the same report gives the same bytes.
Libraries that a format needs come with the extras `report` and `scale` and are imported on first use.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib import import_module, resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.whole_file import write_file

from .paper import choose_paper_size

if TYPE_CHECKING:
    from ..report.forms.blocks import ReportTree
    from ..report.model import ResearchReport

_EXTRAS = {**dict.fromkeys(("matplotlib", "docx", "lxml", "xlsxwriter"), "report"), "pyarrow": "scale"}
"""Extra of the package that brings each library."""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
_LONGEST_S = 120.0  # for printing
_PAPER_STYLE = """
@page {{ size: {size}; margin: 14mm 12mm 16mm; @bottom-center {{ content: counter(page) " / " counter(pages); }} }}
@media print {{ nav {{ display: block; }} nav ul {{ margin: 0.3rem 0 0; }} #appendix {{ break-before: page; }} }}
"""
_FLAGS = (
    "--headless --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--no-pdf-header-footer"
).split()


class Format(NamedTuple):
    """One export format."""

    name: str
    """Name for `--to`."""
    file_name: str
    made_by: "str | Callable[[ResearchReport], bytes]"
    """Module of this package that defines `as_NAME`, from report to bytes; or that function."""

    @property
    def ending(self) -> str:
        """Ending of its file, with the dot."""
        return "".join(Path(self.file_name).suffixes)


def as_schema(report: "ResearchReport") -> bytes:
    """Export the JSON schema of that."""
    schema = type(report).model_json_schema(mode="serialization")
    return f"{json.dumps({'$schema': 'https://json-schema.org/draft/2020-12/schema', **schema}, indent=2)}\n".encode()


def as_html(report: "ResearchReport") -> bytes:
    """Export as one self-contained page that loads nothing and runs nothing from a record's text."""
    return page_of(report.to_tree()).encode(errors="replace")


def page_of(tree: "ReportTree", more_style: str = "") -> str:
    """Render a report's tree as that page, with more rules after its style sheet."""
    from ..report.forms.html import render_page  # noqa: PLC0415  agents take most of a second

    style = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    return render_page(tree, style=f"{style}{more_style}")


def as_pdf(report: "ResearchReport") -> bytes:
    """Export as PDF: the page, printed by an installed Chromium, since no library lays it out as well.

    Raises:
        UsageError: no Chromium was found, or it failed.
    """
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise UsageError("pdf needs Chromium or Chrome: install one, or name it with the variable CHROMIUM")
    with TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        printed = Path(folder, "report.pdf")
        page.write_bytes(
            page_of(report.to_paper(), _PAPER_STYLE.format(size=choose_paper_size())).encode(errors="replace")
        )
        unboxed = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()  # required for root
        command = [browser, *_FLAGS, *unboxed, f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}"]
        try:
            subprocess.run([*command, page.as_uri()], check=True, capture_output=True, timeout=_LONGEST_S)  # noqa: S603
            content = printed.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(f"pdf: {browser} did not print the report ({type(error).__name__})") from None
    when = f"D:{report.generated_at:%Y%m%d%H%M%S}".encode()
    return re.sub(rb"(?<=Date \()D:\d{14}", when, content)  # same length as the time of printing


def as_brief_md(report: "ResearchReport") -> bytes:
    """Export the brief for repurposing dossiers as Markdown."""
    from ..report.forms.markdown import render_markdown  # noqa: PLC0415  agents take most of a second

    return render_markdown(report.to_dossier()).encode(errors="replace")


_APPENDIX_FILE = "report-appendix.md"
FORMATS = (
    Format("html", "report.html", as_html),
    Format("bib", "references.bib", "citations"),
    Format("ris", "references.ris", "citations"),
    Format("csl", "references.csl.json", "citations"),
    Format("pdf", "report.pdf", as_pdf),
    Format("docx", "report.docx", "docx"),
    Format("brief", "brief.docx", "docx"),
    Format("brief-md", "brief.md", as_brief_md),
    Format("csv", "evidence.csv", "evidence"),
    Format("xlsx", "evidence.xlsx", "evidence"),
    Format("comparisons", "comparisons.csv", "comparisons"),
    Format("meta", "meta.csv", "meta"),
    Format("revman", "revman.csv", "meta"),
    Format("fhir", "report.fhir.json", "fhir"),
    Format("parquet", "comparisons.parquet", "comparisons"),
    Format("md", "report.md", lambda report: report.to_markdown(_APPENDIX_FILE).encode()),
    Format("appendix", _APPENDIX_FILE, lambda report: report.to_appendix().encode()),
    Format("json", "report.json", lambda report: f"{report.to_json()}\n".encode()),
    Format("schema", "report.schema.json", as_schema),
)
"""All formats, in display order."""
_COMPANIONS = {"brief": "brief-md"}
"""What is written beside a format that is asked for by name: people edit one, tools read the other."""


def format_of(name: str) -> Format:
    """Look up a format by name.

    Raises:
        UsageError: no such format; lists those that exist.
    """
    for form in FORMATS:
        if form.name == name:
            return form
    raise UsageError(f"there is no format {name!r}; choose from {', '.join(f.name for f in FORMATS)}")


def format_for(file: Path) -> Format:
    """Tell the format by a file's ending: `.docx`, `.bib`, `.csl.json`; of several with one ending the first.

    Raises:
        UsageError: no format has it; lists the endings.
    """
    name = file.name.lower()
    for form in FORMATS:
        if name == form.file_name:
            return form
    for export_format in sorted(FORMATS, key=lambda form: len(form.ending), reverse=True):
        if name.endswith(export_format.ending):
            return export_format
    endings = ", ".join(dict.fromkeys(form.ending for form in FORMATS))
    raise UsageError(f"{file.name}: no format has that ending; there are {endings}")


def render(report: "ResearchReport", name: str) -> bytes:
    """Render a report in one format.

    Raises:
        UsageError: no such format, or its extra is not installed; says what to do.
    """
    maker = format_of(name).made_by
    try:
        make = getattr(import_module(f".{maker}", __package__), f"as_{name}") if isinstance(maker, str) else maker
        content: bytes = make(report)
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in _EXTRAS:
            raise
        raise MissingExtra(name, _EXTRAS[library]) from None
    return content


def write(report: "ResearchReport", folder: Path, names: Sequence[str]) -> list[Path]:
    """Write a report in several formats, each file atomically; a missing folder is created.

    All are rendered before the first is written, so a failure to render leaves nothing behind.

    Raises:
        UsageError: no such format, an extra is missing, or the folder cannot be written to.
    """
    every: dict[str, None] = {}
    for name in names:
        every[name] = None
        if name in _COMPANIONS:
            every[_COMPANIONS[name]] = None
    formats = [format_of(name) for name in every]
    contents = {folder / form.file_name: render(report, form.name) for form in formats}
    return [write_file(path, content, "; name another folder with --out") for path, content in contents.items()]
