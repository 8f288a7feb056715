"""Export a report: `render(report, "html")` returns one format, `write(report, folder, names)` writes several."""

from .formats import FORMATS, as_html, format_of, render, write

__all__ = ["FORMATS", "as_html", "format_of", "render", "write"]
