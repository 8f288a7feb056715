"""A report's tree on a terminal, by `rich`. No character of a record can do anything to the terminal."""

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, TableElement
from rich.table import Table

from willowbark.agents.report.forms.blocks import Document
from willowbark.agents.report.forms.markdown import as_markdown


class _NarrowTable(TableElement):
    """A table whose first column is never broken: it names drugs and sources."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.columns[0].no_wrap = True
            yield table


class _ReportMarkdown(Markdown):
    elements = {**Markdown.elements, "table_open": _NarrowTable}  # noqa: RUF012  as rich has it


def print_report(document: Document, console: Console) -> None:
    """Print the whole report, as wide as the window."""
    console.print(_ReportMarkdown(as_markdown(document)))
