"""The tree of sections, paragraphs, lists and tables that all forms of a report show.

Texts are plain; each form escapes them, and links only to addresses that `safe_url` accepts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import Field

Style = Literal["plain", "strong", "emphasis", "code", "small", "flag", "mark", "level"]
"""`flag`: a warning about a record; `mark`: a stance, or whether text is written or computed; `level`: of certainty."""
GRADE_SYMBOLS = {"high": "⊕⊕⊕⊕", "moderate": "⊕⊕⊕○", "low": "⊕⊕○○", "very low": "⊕○○○"}
"""GRADE's symbols for levels of certainty, as in summaries of findings."""


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text from any source."""

    text: str
    style: Style = "plain"
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Link:
    """Text linked to a source's page, or with `#…` to a section; not linked if the address is None."""

    text: str
    url: str | None
    kind: Literal["link"] = "link"


@dataclass(frozen=True, slots=True)
class Cite:
    """`[1, 4]`: numbers of references."""

    numbers: tuple[int, ...]
    kind: Literal["cite"] = "cite"

    @property
    def text(self) -> str:
        """The citation in a text."""
        return f"[{', '.join(map(str, self.numbers))}]"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of text."""

    content: "RichText"
    look: Literal["plain", "lead", "small"] = "plain"
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True, slots=True)
class Items:
    """A list, or short lines in a table's cell."""

    items: "tuple[RichText, ...]"
    look: Literal["points", "steps", "references", "lines"] = "points"
    start: int = 1
    kind: Literal["items"] = "items"


@dataclass(frozen=True, slots=True)
class Pairs:
    """Names with values; `facts` are the figures of a run."""

    pairs: "tuple[tuple[str, RichText], ...]"
    look: Literal["plain", "facts"] = "plain"
    kind: Literal["pairs"] = "pairs"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    cells: "tuple[RichText, ...]"
    below: "RichText" = ()
    """As wide as the table; only in wide tables."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows with an optional title, which only wide tables show."""

    rows: tuple[Row, ...]
    title: "RichText" = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `numbers` names the columns of figures, `look` its form on the page.

    In a `flow` each group is a stage: its records, and those that leave there.
    """

    caption: str
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    look: Literal["plain", "overview", "records", "trials", "searches", "flow"] = "plain"
    numbers: tuple[str, ...] = ()
    kind: Literal["table"] = "table"

    @property
    def is_wide(self) -> bool:
        """Whether its rows are too wide for paper or a terminal, which show them as a list."""
        return self.look in ("records", "trials")

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all groups."""
        return tuple(chain.from_iterable(group.rows for group in self.groups))

    def without_empty_columns(self) -> "Table":
        """Return the table without columns that hold nothing in any row; the first one stays."""
        filled = [0]
        for place in range(1, len(self.columns)):
            if any(row.cells[place] for row in self.rows):
                filled.append(place)
        groups = []
        for group in self.groups:
            rows = []
            for row in group.rows:
                rows.append(replace(row, cells=tuple(row.cells[place] for place in filled)))
            groups.append(replace(group, rows=tuple(rows)))
        return replace(self, columns=tuple(self.columns[place] for place in filled), groups=tuple(groups))

    def card(self, row: Row) -> "list[RichText]":
        """Return a row's lines for lists: its first cell, the others that hold something with their columns' names."""
        cells = [(name, cell) for name, cell in zip(self.columns[1:], row.cells[1:], strict=True) if cell]
        details = join_flows((flow(Text(f"{name}: ", "emphasis"), *cell) for name, cell in cells), " · ")
        return [line for line in (row.cells[0], details, row.below) if line]


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim passage with its location, which is empty if not known."""

    text: str
    place: str = ""
    kind: Literal["quote"] = "quote"


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, described in words in forms that cannot show it."""

    plot: Any
    """A `ForestPlot` or `Overview` of `agents.pictures`, with its caption and description."""
    kind: Literal["figure"] = "figure"


@dataclass(frozen=True, slots=True)
class Details:
    """Content that a reader can open."""

    summary: str
    blocks: "tuple[Block, ...]"
    kind: Literal["details"] = "details"


@dataclass(frozen=True, slots=True)
class Section:
    """A section; those within it are one level deeper."""

    title: str
    id: str
    blocks: "tuple[Block, ...]"
    note: str = ""
    """Next to the title."""
    look: Literal["plain", "card", "folded"] = "plain"
    """`folded`: closed at first on a page, open in print."""
    kind: Literal["section"] = "section"


@dataclass(frozen=True, slots=True)
class ReportTree:
    """A whole report."""

    title: str
    question: str
    opening: tuple[Paragraph, ...]
    sections: tuple[Section, ...]
    closing: tuple[Paragraph, ...]
    appendix: Section | None = None
    """Folded on a page, a separate file in Markdown."""


Span = Text | Link | Cite
_AnyBlock = Paragraph | Items | Pairs | Table | Quote | Figure | Details | Section
Block = Annotated[_AnyBlock, Field(discriminator="kind")]
TreeNode = Annotated[Span | _AnyBlock, Field(discriminator="kind")]
RichText = tuple[TreeNode, ...]
"""Content of a paragraph, a list's point or a table's cell: text, with blocks in it."""


def flow(*parts: "str | TreeNode") -> RichText:
    """Build a line of content from text and blocks.

    >>> flow("a ", Text("b", "strong"), "")
    (Text(text='a ', style='plain', kind='text'), Text(text='b', style='strong', kind='text'))
    """
    return tuple(Text(part) if isinstance(part, str) else part for part in parts if part != "")


def join_flows(parts: "Iterable[RichText]", by: str = "; ") -> RichText:
    """Join pieces of content with a separator."""
    nodes: list[TreeNode] = []
    for part in parts:
        nodes += [*flow(by), *part] if nodes else part
    return tuple(nodes)


def find_lists(item: RichText) -> list[Items]:
    """Return the lists in a list's item, which forms set below its line; short lines are part of it."""
    return [node for node in item if isinstance(node, Items) and node.look != "lines"]


def spans(content: Iterable[TreeNode]) -> Iterator[Span]:
    """Yield content as one line, for forms whose cells only hold text; folded content is included."""
    for node in content:
        match node:
            case Text(style="level") if node.text in GRADE_SYMBOLS:
                yield Text(f"{GRADE_SYMBOLS[node.text]} {node.text}", "level")
            case Text() | Link() | Cite():
                yield node
            case Quote():
                yield Text(f"“{' '.join(node.text.split())}” ")
                yield Text(f"({node.place}) " if node.place else "", "emphasis")
            case Paragraph():
                yield from spans((*node.content, Text(" ")))
            case Items():
                yield from spans(join_flows(node.items))
            case Pairs():
                yield from spans(join_flows((Text(f"{name}: ", "strong"), *pair) for name, pair in node.pairs))
            case Details() | Section():
                yield from spans(node.blocks)
            case Table():
                yield from spans(join_flows(join_flows((*row.cells, row.below), ", ") for row in node.rows))
            case Figure():
                yield Text(f" {node.plot.description} ")


def paragraph(*parts: "str | TreeNode", look: Literal["plain", "lead", "small"] = "plain") -> Paragraph:
    """Build a paragraph."""
    return Paragraph(flow(*parts), look)


def points(
    items: "Iterable[str | RichText]", look: Literal["points", "steps", "references", "lines"] = "points"
) -> Items:
    """Build a list."""
    return Items(tuple(flow(item) if isinstance(item, str) else item for item in items), look)
