"""A report's tree on a terminal: headings, lists and tables as wide as the window; what can be opened stays closed.

No character of a record can do anything to the terminal.
"""

from collections.abc import Iterable, Iterator

from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.style import Style
from rich.table import Table as Grid
from rich.text import Text as Line

from willowbark.agents.report.forms.blocks import (
    Block,
    Cite,
    Details,
    Document,
    Figure,
    Flow,
    Items,
    Link,
    Pairs,
    Paragraph,
    Quote,
    Section,
    Span,
    Stages,
    Table,
    Text,
    flow,
    spans,
)
from willowbark.agents.report.forms.links import safe_url
from willowbark.tools.enclosure import visible

_GAP = 2  # columns between those of a table
_NARROWEST = 24  # columns in which a text of several words is still read
_STYLES = {"strong": "bold", "emphasis": "italic", "code": "cyan", "small": "dim", "flag": "bold red", "mark": "bold"}


def print_report(document: Document, console: Console) -> None:
    """Print the whole report."""
    console.print(Rule(Line(visible(document.title), "bold")))
    console.print(Line(visible(document.question), "italic"))
    for each in _blocks((*document.opening, *document.sections, *document.closing), 1, console.width):
        console.print(each)


def _blocks(blocks: Iterable[Block], level: int, width: int) -> Iterator[RenderableType]:
    for block in blocks:
        match block:
            case Section():
                note = f" ({visible(block.note)})" if block.note else ""
                yield Line(f"\n{visible(block.title)}{note}", "bold underline" if level == 1 else "bold")
                yield from _blocks(block.blocks, level + 1, width)
            case Details():
                yield Line(f"▸ {visible(block.summary)} (in the report's file)", "dim")
            case Paragraph():
                yield _line(block.content)
            case Quote():
                yield Padding(_line(flow(block)), (0, 0, 0, 2))
            case Items():
                yield from _list(block, 0)
            case Pairs():
                yield from (_line((Text(f"{name}: ", "strong"), *content)) for name, content in block.pairs)
            case Figure():
                yield Line(f"Figure: {visible(block.description)}", "dim")
            case Table():
                yield from _table(block, width)
            case Stages():
                yield from _table(block.table, width)


def _list(block: Items, indent: int) -> Iterator[RenderableType]:
    for number, item in enumerate(block.items, 1):
        mark = "• " if block.look in ("points", "lines") else f"{number}. "
        inner = [node for node in item if isinstance(node, Items) and node.look != "lines"]
        yield _point(mark, tuple(node for node in item if node not in inner), indent)
        for each in inner:
            yield from _list(each, indent + len(mark))


def _point(mark: str, content: Flow, indent: int = 0) -> RenderableType:
    """Words behind a mark, with their further lines below the first one's words."""
    point = Grid.grid()
    point.add_column(width=len(mark), no_wrap=True)
    point.add_column(overflow="fold")
    point.add_row(Line(mark), _line(content))
    return Padding(point, (0, 0, 0, indent))


def _table(block: Table, width: int) -> Iterator[RenderableType]:
    """Columns as wide as what they hold, the last one with what is left, or below its line; else line below line."""
    if block.caption:
        yield Line(visible(block.caption), "dim")
    lines = [[_line(cell) for cell in cells] for cells in block.lines]
    *wide, last = [max(len(name), *(len(line[at].plain) for line in lines), 0) for at, name in enumerate(block.head)]
    room = width - sum(wide) - _GAP * len(wide)
    if block.has_wide_lines or room < -_GAP:
        yield from _cards(block)
    elif room >= min(last, _NARROWEST):
        yield _grid(block, lines, [*wide, min(last, room)])
    else:
        for line in lines:
            yield _grid(block, [line], wide, headed=line is lines[0])
            yield Padding(Line(f"{block.head[-1]}: ").append_text(line[-1]), (0, 0, 0, _GAP), style="dim")


def _grid(block: Table, lines: list[list[Line]], widths: list[int], *, headed: bool = True) -> Grid:
    """Lines in columns of these widths; columns without one are left out."""
    grid = Grid(box=None, padding=0, show_header=headed, header_style="underline")
    for at, (name, width) in enumerate(zip(block.head, widths, strict=False)):
        if at:
            grid.add_column(width=_GAP)
        justify: JustifyMethod = "right" if name in block.numbers else "left"
        grid.add_column(Line(visible(name)), justify=justify, overflow="fold", width=width)
    for line in lines:
        grid.add_row(*[cell for each in line[: len(widths)] for cell in ("", each)][1:])
    return grid


def _cards(block: Table) -> Iterator[RenderableType]:
    for group in block.groups:
        if group.title:
            yield _line(group.title)
        for row in group.rows:
            yield _point("• ", row.cells[0])
            yield Padding(_line(block.told(row)), (0, 0, 0, 2), style="dim")
            if row.below:
                yield Padding(_line(row.below), (0, 0, 0, 2))


def _line(content: Flow) -> Line:
    line = Line()
    for node in spans(content):
        said = visible(f" {node.text}" if isinstance(node, Cite) else node.text.replace("\n", " "))
        line.append(said, _style(node))
    return line


def _style(node: Span) -> Style | str:
    """How words stand out; those that lead to a page of a source are a link, where the terminal can."""
    if isinstance(node, Link) and node.url is not None and (url := safe_url(node.url)):
        return Style(link=url)
    return _STYLES.get(node.style, "") if isinstance(node, Text) else ""
