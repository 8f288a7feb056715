"""Markdown of a report's sections as HTML that is safe to show.

Two walls: the parser knows no HTML (markdown-it-py's `js-default`), and what it makes passes an allow-list (nh3).
https://markdown-it-py.readthedocs.io/en/latest/security.html, https://nh3.readthedocs.io
"""

import re
from collections.abc import Collection
from functools import cache

import nh3
from markdown_it import MarkdownIt

from willowbark.agents.report.links import safe_url
from willowbark.tools.enclosure import visible

TAGS = {"p", "br", "ul", "ol", "li", "strong", "em", "code", "a", "table", "thead", "tbody", "tr", "th", "td"}
"""No headings: a record's text must not enter the page's outline. No images: nothing remote is loaded."""

_MARK = re.compile(r"\[(\d{1,4}(?:, \d{1,4})*)\]")


def as_safe_html(markdown: str, references: Collection[int] = ()) -> str:
    """Render Markdown; links lead to the sources' pages only, `[3]` to the third reference.

    Args:
        markdown: a section's content.
        references: numbers that exist.
    """
    cleaned = nh3.clean(
        _parser().render(visible(markdown)),
        tags=TAGS,
        attributes={"a": {"href"}},
        attribute_filter=lambda tag, name, value: safe_url(value) if (tag, name) == ("a", "href") else None,
        url_schemes={"https"},
        link_rel="noopener noreferrer",
    )
    cleaned = cleaned.replace("<th>", '<th scope="col">')
    cleaned = cleaned.replace("<table>", '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>')
    cleaned = cleaned.replace("</table>", "</table></div>")
    return "".join(
        part if part.startswith("<") else _MARK.sub(lambda mark: _linked(mark, references), part)
        for part in re.split(r"(<[^>]*>)", cleaned)
    )


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("js-default").disable(["image", "html_block", "html_inline"], ignoreInvalid=True)


def _linked(mark: re.Match[str], references: Collection[int]) -> str:
    numbers = [
        f'<a href="#ref-{number}">{number}</a>' if int(number) in references else number
        for number in mark[1].split(", ")
    ]
    return f"[{', '.join(numbers)}]"
