"""A report's tree as HTML: every text escaped, links to the sources alone, nothing loaded from anywhere.

Pictures are data of the page (`data:image/svg+xml`): a browser runs and loads nothing in them. Where matplotlib is not
installed, their words stand instead.
"""

from base64 import b64encode
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from willowbark.tools.enclosure import visible

from ...pictures.figures import Plot
from .blocks import GRADE_SYMBOLS, Document, Items, Section, Table
from .links import safe_url


def line(value: str) -> str:
    """A text in one line without invisible characters; a space at either end stays."""
    text = " ".join(visible(value).split())
    before, after = " " * value[:1].isspace(), " " * value[-1:].isspace()
    return f"{before}{text}{after}" if text else before


def picture(plot: Plot, narrow: bool = False) -> str:
    """A plot's address as data; empty where matplotlib is not installed."""
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
    """The body of a page of its own, with ids that links within it lead to.

    Args:
        document: the whole report.
        cited_at: where the number of a citation leads, before that number; to the references by default.
    """
    appended = (each for each in (document.appendix.blocks if document.appendix else ()) if isinstance(each, Section))
    blocks = (block for section in (*document.sections, *appended) for block in section.blocks)
    count = sum(len(each.items) for each in blocks if isinstance(each, Items) and each.look == "references")
    return _render("page", document, notebook=False, references=count, cited_at=cited_at)


def notebook_html(document: Document) -> str:
    """The report for a notebook's cell, its later sections folded and without its appendix."""
    return _render("cell", document, notebook=True)


def table_html(table: Table) -> str:
    """A table by itself for a notebook's cell."""
    return _render("table", table, notebook=True)
