"""A report's tree on a terminal: headings, lists and tables as wide as the window; what can be opened stays closed.

No character of a record can do anything to the terminal.
"""

from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
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
    Pairs,
    Paragraph,
    Quote,
    Section,
    Stages,
    Table,
    Text,
    flow,
    spans,
)
from willowbark.tools.enclosure import visible

_STYLES = {"strong": "bold", "emphasis": "italic", "code": "cyan", "small": "dim", "flag": "bold red", "mark": "bold"}


def print_report(document: Document, console: Console) -> None:
    """Print the whole report."""
    console.print(Rule(Line(visible(document.title), "bold")))
    console.print(Line(visible(document.question), "italic"))
    console.print(Group(*_blocks((*document.opening, *document.sections, *document.closing), 1)))


def _blocks(blocks: Iterable[Block], level: int) -> Iterator[RenderableType]:
    for block in blocks:
        match block:
            case Section():
                note = f" ({visible(block.note)})" if block.note else ""
                yield Line(f"\n{visible(block.title)}{note}", "bold underline" if level == 1 else "bold")
                yield from _blocks(block.blocks, level + 1)
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
                yield _grid(block)
            case Stages():
                yield _grid(block.table)


def _list(block: Items, indent: int) -> Iterator[RenderableType]:
    for number, item in enumerate(block.items, 1):
        mark = "• " if block.look in ("points", "lines") else f"{number}. "
        inner = [node for node in item if isinstance(node, Items) and node.look != "lines"]
        words = _line(tuple(node for node in item if node not in inner))
        yield Padding(Line(mark).append_text(words), (0, 0, 0, indent))
        for each in inner:
            yield from _list(each, indent + len(mark))


def _grid(block: Table) -> Grid:
    grid = Grid(title=Line(visible(block.caption), "dim") if block.caption else None, title_justify="left")
    for name in block.columns:
        grid.add_column(Line(visible(name)), justify="right" if name in block.numbers else "left", overflow="fold")
    for cells in block.lines:
        grid.add_row(*map(_line, cells))
    return grid


def _line(content: Flow) -> Line:
    line = Line()
    for node in spans(content):
        said = visible(f" {node.text}" if isinstance(node, Cite) else node.text.replace("\n", " "))
        line.append(said, _STYLES.get(node.style, "") if isinstance(node, Text) else "")
    return line
