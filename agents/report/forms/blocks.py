"""What a report is shown as: a tree of sections, paragraphs, lists and tables that every renderer walks.

Texts in it are plain; each renderer escapes them for its own form. Links carry an address, and a renderer follows only
those that `links.safe_url` lets pass. `tree` lists the builders of sections; renderers are `markdown`, `html` and
`teams.exports.docx`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

Style = Literal["plain", "strong", "emphasis", "code", "small", "flag", "mark", "level"]
"""`flag`: what a reader must know before trusting a record; `mark`: a stance; `level`: one of certainty."""
GRADE_SYMBOLS = {"high": "⊕⊕⊕⊕", "moderate": "⊕⊕⊕○", "low": "⊕⊕○○", "very low": "⊕○○○"}
"""As a summary of findings draws levels of certainty."""


@dataclass(frozen=True, slots=True)
class Text:
    """Words, as anyone may have written them."""

    text: str
    style: Style = "plain"
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Link:
    """Words that lead to a page of a source, or by `#…` to a section; bare words where the address is None."""

    text: str
    url: str | None
    kind: Literal["link"] = "link"


@dataclass(frozen=True, slots=True)
class Cite:
    """`[1, 4]`: places among the references."""

    numbers: tuple[int, ...]
    kind: Literal["cite"] = "cite"

    @property
    def text(self) -> str:
        """As it stands in a text."""
        return f"[{', '.join(map(str, self.numbers))}]"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences."""

    content: "Flow"
    look: Literal["plain", "lead", "small"] = "plain"
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True, slots=True)
class Items:
    """A list: of points, of steps in order, of the references (from 1 on), or of short lines in a table's cell."""

    items: "tuple[Flow, ...]"
    look: Literal["points", "steps", "references", "lines"] = "points"
    start: int = 1
    """Number of the first item."""
    kind: Literal["items"] = "items"


@dataclass(frozen=True, slots=True)
class Pairs:
    """Names with what belongs to each; `facts` are the figures of a run."""

    pairs: "tuple[tuple[str, Flow], ...]"
    look: Literal["plain", "facts"] = "plain"
    kind: Literal["pairs"] = "pairs"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    cells: "tuple[Flow, ...]"
    below: "Flow" = ()
    """What stands below the line, as wide as the table; of wide tables alone."""


@dataclass(frozen=True, slots=True)
class Group:
    """Lines of a table that stand together, under a title where they have one; of wide tables alone."""

    rows: tuple[Row, ...]
    title: "Flow" = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table; columns whose names are in `numbers` hold figures, `look` names its form on the page."""

    caption: str
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    look: Literal["plain", "overview", "records", "trials", "searches"] = "plain"
    numbers: tuple[str, ...] = ()
    kind: Literal["table"] = "table"

    @property
    def is_wide(self) -> bool:
        """Whether its lines hold too much for columns of paper or a terminal: they become a list there."""
        return self.look in ("records", "trials")

    @property
    def rows(self) -> tuple[Row, ...]:
        """The lines of all groups."""
        return tuple(row for group in self.groups for row in group.rows)

    def details(self, row: Row) -> "Flow":
        """A line's cells after the first, each with the name of its column: for lists."""
        cells = zip(self.columns[1:], row.cells[1:], strict=True)
        return join_flows((flow(Text(f"{name}: ", "emphasis"), *cell) for name, cell in cells), " · ")


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage to the letter, with where it stands; an empty place is not known."""

    text: str
    place: str = ""
    kind: Literal["quote"] = "quote"


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, drawn where a form can hold one and described in words everywhere else."""

    name: str
    """Unique in a report: letters, digits and dashes."""
    caption: str
    description: str
    plot: object = None
    """What `agents.pictures.plots.draw` draws."""
    kind: Literal["figure"] = "figure"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a flow: how many there are, of what kinds, and what leaves the flow there."""

    name: str
    count: int
    notes: tuple[str, ...] = ()
    aside: str = ""
    aside_count: int = 0
    aside_notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stages:
    """A flow from stage to stage."""

    caption: str
    stages: tuple[Stage, ...]
    kind: Literal["stages"] = "stages"

    @property
    def table(self) -> Table:
        """The same for forms without boxes."""
        rows = []
        for stage in self.stages:
            rows.append((stage.name, stage.count, stage.notes))
            if stage.aside:
                rows.append((stage.aside, stage.aside_count, stage.aside_notes))
        cells = [(flow(name), flow(str(count)), flow("; ".join(notes))) for name, count, notes in rows]
        return table(self.caption, ("step", "records", "of these"), cells)


@dataclass(frozen=True, slots=True)
class Details:
    """What a reader can open: its title always shows."""

    summary: str
    blocks: "tuple[Block, ...]"
    kind: Literal["details"] = "details"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report; sections within it are one level deeper."""

    title: str
    id: str
    blocks: "tuple[Block, ...]"
    note: str = ""
    """A few words beside the title."""
    look: Literal["plain", "card", "folded"] = "plain"
    """`folded`: a page shows it closed at first, and prints it open."""
    kind: Literal["section"] = "section"


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    question: str
    opening: tuple[Paragraph, ...]
    """What must be read first."""
    sections: tuple[Section, ...]
    closing: tuple[Paragraph, ...]
    appendix: Section | None = None
    """Folded on a page, and a file of its own beside the report in Markdown."""


Span = Text | Link | Cite
Block = Annotated[
    Paragraph | Items | Pairs | Table | Quote | Figure | Stages | Details | Section, Field(discriminator="kind")
]
Node = Annotated[
    Text | Link | Cite | Paragraph | Items | Pairs | Table | Quote | Figure | Stages | Details | Section,
    Field(discriminator="kind"),
]
Flow = tuple[Node, ...]
"""What a paragraph, a point of a list or a table's cell holds: words, and blocks among them."""


def flow(*parts: "str | Node") -> Flow:
    """Words and blocks in one line of content; plain words may be given as they are.

    >>> flow("a ", Text("b", "strong"), "")
    (Text(text='a ', style='plain', kind='text'), Text(text='b', style='strong', kind='text'))
    """
    return tuple(Text(part) if isinstance(part, str) else part for part in parts if part != "")


def join_flows(parts: "Iterable[Flow]", by: str = "; ") -> Flow:
    """Pieces of content with words between them."""
    found: list[Node] = []
    for part in parts:
        found += [*flow(by), *part] if found else part
    return tuple(found)


def spans(content: Flow) -> Iterator[Span]:
    """Content in one line, for forms whose cells hold words alone; what can be opened stands open."""
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
            case Table() | Stages():
                table = node if isinstance(node, Table) else node.table
                yield from spans(join_flows(join_flows((*row.cells, row.below), ", ") for row in table.rows))
            case Figure():
                yield Text(f" {node.description} ")


def paragraph(*parts: "str | Node", look: Literal["plain", "lead", "small"] = "plain") -> Paragraph:
    """A paragraph of words."""
    return Paragraph(flow(*parts), look)


def points(items: "Iterable[str | Flow]", look: Literal["points", "steps", "references", "lines"] = "points") -> Items:
    """A list of words or of pieces of content."""
    return Items(tuple(flow(item) if isinstance(item, str) else item for item in items), look)


def table(caption: str, columns: Iterable[str], rows: "Iterable[Iterable[Flow]]", numbers: Iterable[str] = ()) -> Table:
    """A plain table."""
    return Table(caption, tuple(columns), (Group(tuple(Row(tuple(row)) for row in rows)),), numbers=tuple(numbers))
