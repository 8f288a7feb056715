"""A report's tree on a terminal: headings, lists and tables as wide as the window; what can be opened stays closed.

No character of a record can do anything to the terminal.
"""

from collections.abc import Iterable, Iterator

from rich.console import Console, Group, JustifyMethod, RenderableType
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

_LONGEST_UNBROKEN = 17  # characters of a word that a narrow column of a table still holds in one piece
_NARROW = 80  # columns of a terminal
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
                yield from _grid(block)
            case Stages():
                yield from _grid(block.table)


def _list(block: Items, indent: int) -> Iterator[RenderableType]:
    for number, item in enumerate(block.items, 1):
        mark = "• " if block.look in ("points", "lines") else f"{number}. "
        inner = [node for node in item if isinstance(node, Items) and node.look != "lines"]
        words = _line(tuple(node for node in item if node not in inner))
        yield Padding(Line(mark).append_text(words), (0, 0, 0, indent))
        for each in inner:
            yield from _list(each, indent + len(mark))


def _grid(block: Table) -> Iterator[RenderableType]:
    if block.caption:
        yield Line(visible(block.caption), "dim")
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold underline")
    lines = [[_line(cell) for cell in cells] for cells in block.lines]
    words = [
        [*name.split(), *(word for line in lines for word in line[at].plain.split())]
        for at, name in enumerate(block.head)
    ]
    least = [min(_LONGEST_UNBROKEN, max(map(len, column))) for column in words]
    fits = sum(least) + 2 * len(least) <= _NARROW
    for name, width in zip(block.head, [*least[:-1], 0], strict=True):  # the last one takes what is left
        justify: JustifyMethod = "right" if name in block.numbers else "left"
        grid.add_column(
            Line(visible(name)), justify=justify, overflow="fold", min_width=width if fits and width else None
        )
    for line in lines:
        grid.add_row(*line)
    yield grid


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
