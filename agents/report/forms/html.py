"""Renders a report's tree as HTML: all text escaped, links only to the sources, no external resources.

Pictures are embedded (`data:image/svg+xml`), so that browsers run and load nothing in them. Without matplotlib they are
described in words.
"""

from base64 import b64encode
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from willowbark.tools.enclosure import visible

from ...pictures import Plot
from . import safe_url
from .blocks import GRADE_SYMBOLS, Document, Items, Section, Table


def line(value: str) -> str:
    """Reduce a text to one line without invisible characters; keeps a space at either end."""
    text = " ".join(visible(value).split())
    before, after = " " * value[:1].isspace(), " " * value[-1:].isspace()
    return f"{before}{text}{after}" if text else before


def picture(plot: Plot, narrow: bool = False) -> str:
    """Return a plot as a data URL; empty if matplotlib is not installed."""
    try:
        from ...pictures import plots  # noqa: PLC0415  an extra, and slow
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        return ""
    svg = plots.draw(plot, "svg", plots.NARROW if narrow else plots.WIDE)
    return f"data:image/svg+xml;base64,{b64encode(svg).decode()}"


@cache
def _environment() -> Environment:
    made = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
    made.filters |= {"line": line, "safe_url": lambda url: safe_url(url) or "", "picture": picture}
    made.globals |= {
        "symbols": GRADE_SYMBOLS,
        "stances": set("supporting contradicting inconclusive supports contradicts excluded".split()),
    }
    return made


def _render(macro: str, shown: object, *, notebook: bool, references: int = 0, cited_at: str = "#ref-") -> str:
    variables = {"notebook": notebook, "references": references, "cited_at": cited_at}
    return str(getattr(_environment().get_template("report.html.j2").make_module(variables), macro)(shown))


def page_html(document: Document, cited_at: str = "#ref-") -> str:
    """Render the body of a page, with ids for the links within it.

    Args:
        document: the whole report.
        cited_at: prefix of a citation's link, before its number; by default the references.
    """
    appended = (each for each in (document.appendix.blocks if document.appendix else ()) if isinstance(each, Section))
    blocks = (block for section in (*document.sections, *appended) for block in section.blocks)
    count = sum(len(each.items) for each in blocks if isinstance(each, Items) and each.look == "references")
    return _render("page", document, notebook=False, references=count, cited_at=cited_at)


def notebook_html(document: Document) -> str:
    """Render the report for a notebook's cell, with later sections folded and without the appendix."""
    return _render("cell", document, notebook=True)


def table_html(table: Table) -> str:
    """Render a single table for a notebook's cell."""
    return _render("table", table, notebook=True)
