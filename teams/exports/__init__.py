"""A report in other forms: `render(report, "html")` gives one, `write(report, folder, names)` writes them to a folder.

An export is a function from a report to bytes, and one line in `FORMATS`; the same report gives the same bytes. What a
format needs beyond Willowbark comes with the extra `report` and is imported when it is asked for.
"""

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from willowbark.tools.enclosure import visible
from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.whole_file import write_file

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport

EXTRA_MODULES = frozenset({"matplotlib", "docx", "lxml", "xlsxwriter"})


class Format(NamedTuple):
    """One form of a report."""

    name: str
    """What `--to` takes."""
    file_name: str
    module: str
    """Module of this package whose `as_NAME` takes a report and gives bytes; empty for this one."""


FORMATS = (
    Format("html", "report.html", "html"),
    Format("bib", "references.bib", "citations"),
    Format("ris", "references.ris", "citations"),
    Format("csl", "references.csl.json", "citations"),
    Format("pdf", "report.pdf", "pdf"),
    Format("docx", "report.docx", "docx"),
    Format("csv", "evidence.csv", "evidence"),
    Format("xlsx", "evidence.xlsx", "evidence"),
    Format("md", "report.md", ""),
    Format("appendix", "report-appendix.md", ""),
    Format("json", "report.json", ""),
    Format("schema", "report.schema.json", ""),
)
"""Every form there is, in the order in which they are shown."""


def format_of(name: str) -> Format:
    """The format of that name.

    Raises:
        UsageError: there is none; names those that there are.
    """
    for known in FORMATS:
        if known.name == name:
            return known
    raise UsageError(f"there is no format {name!r}; choose from {', '.join(f.name for f in FORMATS)}")


def render(report: "ResearchReport", name: str) -> bytes:
    """Give a report in one form.

    Raises:
        UsageError: no such format, or the format needs an extra that is not installed; names what to do.
    """
    module = format_of(name).module
    try:
        home = import_module(f".{module}" if module else __name__, __name__)
        content: bytes = getattr(home, f"as_{name}")(report)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA_MODULES:
            raise
        raise MissingExtra(name, "report") from None
    return content


def write(report: "ResearchReport", folder: Path, names: Sequence[str]) -> list[Path]:
    """Write a report's forms into a folder, which is made where it is missing; each file is there whole or not at all.

    All are rendered before the first is written: what cannot be rendered leaves nothing behind.

    Raises:
        UsageError: no such format, an extra is missing, or the folder cannot be written to.
    """
    formats = [format_of(name) for name in dict.fromkeys(names)]
    contents = {folder / known.file_name: render(report, known.name) for known in formats}
    return [write_file(path, content, "; name another folder with --out") for path, content in contents.items()]


def line(text: str) -> str:
    """A text in one line, of characters that are seen and that any form can hold."""
    said = " ".join(visible(text).split())
    return "".join(c for c in said if not 0xD800 <= ord(c) <= 0xDFFF and ord(c) & 0xFFFE != 0xFFFE)


def as_md(report: "ResearchReport") -> bytes:
    """The report as Markdown, without its appendix."""
    return report.to_markdown().encode()


def as_appendix(report: "ResearchReport") -> bytes:
    """The appendix as Markdown: further evidence, methods, searches as sent."""
    return report.to_appendix().encode()


def as_json(report: "ResearchReport") -> bytes:
    """The report as JSON, with a line break at its end."""
    return f"{report.to_json()}\n".encode()


def as_schema(report: "ResearchReport") -> bytes:
    """The JSON Schema (draft 2020-12) that every report's JSON follows."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **type(report).model_json_schema(mode="serialization"),
    }
    return f"{json.dumps(schema, indent=2)}\n".encode()
