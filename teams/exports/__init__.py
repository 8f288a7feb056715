"""Export a report: `render(report, "html")` returns one format, `write(report, folder, names)` writes several.

An export is a function from a report to bytes, and one line in `FORMATS`; the same report gives the same bytes.
Libraries that a format needs come with the extra `report` and are imported on first use.
"""

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from willowbark.tools.enclosure import visible
from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.whole_file import write_file

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport

_EXTRA_MODULES = frozenset({"matplotlib", "docx", "lxml", "xlsxwriter"})


def _schema(report: "ResearchReport") -> str:
    schema = type(report).model_json_schema(mode="serialization")
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"


class Format(NamedTuple):
    """One export format."""

    name: str
    """Name for `--to`."""
    file_name: str
    made_by: "str | Callable[[ResearchReport], str]"
    """Module of this package that defines `as_NAME`, from report to bytes; or a function to text."""


FORMATS = (
    Format("html", "report.html", "html"),
    Format("bib", "references.bib", "citations"),
    Format("ris", "references.ris", "citations"),
    Format("csl", "references.csl.json", "citations"),
    Format("pdf", "report.pdf", "html"),
    Format("docx", "report.docx", "docx"),
    Format("csv", "evidence.csv", "evidence"),
    Format("xlsx", "evidence.xlsx", "evidence"),
    Format("md", "report.md", lambda report: report.to_markdown()),
    Format("appendix", "report-appendix.md", lambda report: report.to_appendix()),
    Format("json", "report.json", lambda report: f"{report.to_json()}\n"),
    Format("schema", "report.schema.json", _schema),
)
"""All formats, in display order."""


def format_of(name: str) -> Format:
    """Look up a format by name.

    Raises:
        UsageError: no such format; lists those that exist.
    """
    for known in FORMATS:
        if known.name == name:
            return known
    raise UsageError(f"there is no format {name!r}; choose from {', '.join(f.name for f in FORMATS)}")


def render(report: "ResearchReport", name: str) -> bytes:
    """Render a report in one format.

    Raises:
        UsageError: no such format, or its extra is not installed; says what to do.
    """
    made_by = format_of(name).made_by
    if not isinstance(made_by, str):
        return made_by(report).encode()
    try:
        content: bytes = getattr(import_module(f".{made_by}", __name__), f"as_{name}")(report)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA_MODULES:
            raise
        raise MissingExtra(name, "report") from None
    return content


def write(report: "ResearchReport", folder: Path, names: Sequence[str]) -> list[Path]:
    """Write a report in several formats, each file atomically; a missing folder is created.

    All are rendered before the first is written, so a failure to render leaves nothing behind.

    Raises:
        UsageError: no such format, an extra is missing, or the folder cannot be written to.
    """
    formats = [format_of(name) for name in dict.fromkeys(names)]
    contents = {folder / known.file_name: render(report, known.name) for known in formats}
    return [write_file(path, content, "; name another folder with --out") for path, content in contents.items()]


def line(text: str) -> str:
    """Reduce a text to one line of visible characters that every format can hold."""
    said = " ".join(visible(text).split())
    return "".join(c for c in said if not 0xD800 <= ord(c) <= 0xDFFF and ord(c) & 0xFFFE != 0xFFFE)
