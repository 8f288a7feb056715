"""Renders a report's tree as HTML: all text escaped, links only to the sources, no external resources.

Pictures are embedded (`data:image/svg+xml`), so that browsers run and load nothing in them. Without matplotlib they are
described in words.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ...pictures import ForestPlot
from ...pictures.overview import Overview
from .blocks import GRADE_SYMBOLS, Items, ReportTree, RichText, Section
from .links import safe_url, write_on_one_line


def draw_picture(plot: ForestPlot | Overview, narrow: bool = False) -> str:
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
def _make_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    environment.filters |= {
        "line": write_on_one_line,
        "safe_url": lambda url: safe_url(url) or "",
        "picture": draw_picture,
    }
    environment.globals |= {
        "symbols": GRADE_SYMBOLS,
        "stances": set("supporting contradicting inconclusive supports contradicts excluded".split()),
    }
    return environment


def _render(macro: str, content: object, **variables: object) -> str:
    template = _make_environment().get_template("report.html.j2")
    return str(getattr(template.make_module({"notebook": False, "references": 0, **variables}), macro)(content))


def render_page(document: ReportTree, cited_at: str = "#ref-", style: str = "") -> str:
    """Render the report for a page, with ids for the links within it.

    Args:
        document: the whole report.
        cited_at: prefix of a citation's link, before its number; by default the references.
        style: a style sheet; with it the page is whole, without it just the body.
    """
    count = 0
    for part in (*document.sections, *(document.appendix.blocks if document.appendix else ())):
        blocks = part.blocks if isinstance(part, Section) else ()
        lists = [block for block in blocks if isinstance(block, Items) and block.look == "references"]
        count += sum(len(block.items) for block in lists)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    about = {"references": count, "cited_at": cited_at, "style": style, "digest": digest}
    return _render("file" if style else "page", document, **about)


def render_section(section: Section, references: int, cited_at: str) -> str:
    """Render a section of a report alone; `references` is how many there are, `cited_at` as of `render_page`."""
    return _render("part", section, references=references, cited_at=cited_at)


def render_cell(content: RichText, references: int, cited_at: str) -> str:
    """Render a table's cell alone, as `render_section` does a section."""
    return _render("flow", content, references=references, cited_at=cited_at)


def render_for_notebook(document: ReportTree) -> str:
    """Render the report for a notebook's cell, with later sections folded and without the appendix."""
    return _render("cell", document, notebook=True, cited_at="")


def render_part_for_notebook(section: Section) -> str:
    """Render a section alone for a notebook's cell, under its title."""
    return _render("alone", section, notebook=True, cited_at="")
