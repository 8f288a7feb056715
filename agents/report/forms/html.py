"""A report's tree as HTML: every text escaped, links to the sources alone, nothing loaded from anywhere.

`page_html` gives the body of a page of its own (`teams.exports.html` puts head and style sheet before it),
`notebook_html` the same without style sheet and ids, folded, for the cell of a notebook.
"""

from collections.abc import Iterable, Iterator
from html import escape

from willowbark.tools.enclosure import visible

from ...pictures.figures import Plot
from .blocks import (
    Cite,
    Details,
    Document,
    Figure,
    Group,
    Items,
    Link,
    Node,
    Pairs,
    Paragraph,
    Quote,
    Row,
    Section,
    Stage,
    Stages,
    Table,
    Text,
)
from .links import safe_url

FIGURE_STYLE = "max-width:46rem;margin:1em 0;padding:8px;background:#fff;color:#16181d"  # reads on dark pages too
_OPEN = 2  # sections that a notebook shows unfolded
_LEVELS = frozenset({"high", "moderate", "low", "very low"})
_TAGS = {"strong": "strong", "emphasis": "em", "code": "code"}
_STANCES = frozenset({"supports", "contradicts", "neutral", "unclear", "undecided", "excluded"})
_LISTS = {"points": ("ul", ""), "steps": ("ol", ' class="reasons"'), "references": ("ol", ' class="references"')}


def text(value: str) -> str:
    """A text in one line, escaped; spaces at its ends stay."""
    line = " ".join(visible(value).split())
    before, after = " " * value[:1].isspace(), " " * value[-1:].isspace()
    return f"{before}{escape(line)}{after}" if line else before


def page_html(document: Document) -> str:
    """The body of a page, with ids that links within it lead to."""
    form = _Form(references=_count(document))
    contents = "".join(f'<li><a href="#{each.id}">{text(each.title)}</a></li>' for each in document.sections)
    first = document.sections[0]
    parts = [
        f'<a class="skip" href="#{first.id}">To the {text(first.title.lower())}</a>',
        f'<header>\n<p class="kicker">Willowbark research report</p>\n<h1>{text(document.title)}</h1>',
        f'<p class="question">{text(document.question)}</p>\n{form.flow(document.opening)}\n</header>',
        f'<nav aria-label="Contents">\n<ul>{contents}</ul>\n</nav>\n<main>',
        *(form.section(section, 2) for section in document.sections),
        f"</main>\n<footer>\n{form.flow(document.closing)}\n</footer>",
    ]
    return "\n".join(parts)


def notebook_html(document: Document) -> str:
    """The whole report, its later sections folded; without pictures where matplotlib is not installed."""
    form = _Notebook(references=0)
    parts = [form.folded(section, is_open=n < _OPEN) for n, section in enumerate(document.sections)]
    around = [form.flow(document.opening), *parts, form.flow(document.closing)]
    return f"<section><h3>{text(document.title)}</h3><p>{text(document.question)}</p>{''.join(around)}</section>"


def table_html(table: Table) -> str:
    """A table by itself, as notebooks show it."""
    return _Notebook(references=0).block(table)


def figure_html(plot: Plot) -> str:
    """A picture by itself, as notebooks show it; empty where matplotlib is not installed."""
    return _Notebook(references=0).block(Figure(plot.name, plot.caption, plot.description, plot))


def _count(document: Document) -> int:
    """How many references there are."""
    lists = (block for section in document.sections for block in section.blocks if isinstance(block, Items))
    return sum(len(block.items) for block in lists if block.look == "references")


class _Form:
    """How a page writes each kind of block.

    Args:
        references: how many there are; marks of others are no links.
    """

    def __init__(self, references: int) -> None:
        self._references = references
        self._level = 2

    def flow(self, content: Iterable[Node]) -> str:
        return "".join(map(self.block, content))

    def block(self, node: Node) -> str:
        match node:
            case Text():
                return self._text(node)
            case Link():
                return self._link(node)
            case Cite():
                return f" [{', '.join(map(self._mark, node.numbers))}]"
            case Paragraph():
                return f"<p{_class(node.look)}>{self.flow(node.content)}</p>"
            case Items():
                return self._items(node)
            case Pairs():
                return self._pairs(node)
            case Table():
                return self._table(node)
            case Quote():
                place = f'<span class="small">{text(node.place)}</span>' if node.place else ""
                return f'<blockquote dir="auto">{text(node.text)}{place}</blockquote>'
            case Figure():
                return self._figure(node)
            case Stages():
                return self._stages(node)
            case Details():
                return (
                    f'<details class="more"><summary>{text(node.summary)}</summary>{self.flow(node.blocks)}</details>'
                )
            case Section():
                return self.section(node, self._level + 1)

    def section(self, section: Section, level: int) -> str:
        before, self._level = self._level, level
        note = f' <span class="small">{text(section.note)}</span>' if section.note else ""
        name, heading, inner = section.id, f"{text(section.title)}{note}", self.flow(section.blocks)
        self._level = before
        if section.look == "folded":
            summary = f'<summary><h{level} id="h-{name}">{heading}</h{level}></summary>'
            return f'<details class="fold" id="{name}">{summary}\n{inner}\n</details>'
        if level > 2 and section.look == "plain":
            return f'<h{level} id="{name}">{heading}</h{level}>{inner}'
        tag = "section" if section.look == "plain" else "article"
        head = f'<{tag} id="{name}" aria-labelledby="h-{name}">\n<h{level} id="h-{name}">{heading}</h{level}>'
        return f"{head}\n{inner}\n</{tag}>"

    def _text(self, node: Text) -> str:
        said = text(node.text)
        if node.style == "plain":
            return said
        if node.style == "level":
            look = f"l-{node.text.replace(' ', '-')}" if node.text in _LEVELS else "l-none"
            return f'<span class="level {look}"><span class="dots"></span> {said}</span>'
        if node.style == "mark":
            return f'<span class="mark{f" {node.text}" if node.text in _STANCES else ""}">{said}</span>'
        if node.style == "flag":
            return f'<strong class="flag">{said}</strong>'
        tag = _TAGS.get(node.style, "span")
        return f"<{tag}{_class(node.style) if tag == 'span' else ''}>{said}</{tag}>"

    def _link(self, node: Link) -> str:
        url = node.url or ""
        if url.startswith("#"):
            return f'<a href="{escape(url)}">{text(node.text)}</a>'
        address = safe_url(url)
        return (
            f'<a href="{escape(address)}" rel="noopener noreferrer">{text(node.text)}</a>'
            if address
            else text(node.text)
        )

    def _mark(self, number: int) -> str:
        if not 1 <= number <= self._references:
            return str(number)
        return f'<a href="#ref-{number}" aria-label="reference {number}">{number}</a>'

    def _items(self, node: Items) -> str:
        if node.look == "lines":
            return "".join(f'<span class="line nowrap">{self.flow(item)}</span>' for item in node.items)
        tag, look = _LISTS[node.look]
        ids = [f' id="ref-{n}"' if node.look == "references" else "" for n in range(1, len(node.items) + 1)]
        lines = "\n".join(f"<li{id_}>{self.flow(item)}</li>" for id_, item in zip(ids, node.items, strict=True))
        return f"<{tag}{look}>\n{lines}\n</{tag}>"

    def _pairs(self, node: Pairs) -> str:
        pairs = [f"<dt>{text(name)}</dt><dd>{self.flow(content)}</dd>" for name, content in node.pairs]
        if node.look == "facts":
            return f'<dl class="facts">{"".join(f"<div>{pair}</div>" for pair in pairs)}</dl>'
        return f'<dl class="pairs">{"".join(pairs)}</dl>'

    def _table(self, node: Table) -> str:
        names = "".join(
            f'<th scope="col" role="columnheader"{_number(name, node)}>{text(name)}</th>' for name in node.columns
        )
        body = "\n".join(self._group(group, node) for group in node.groups)
        return (
            f'<div class="scroll" role="region" aria-label="{text(node.caption)}" tabindex="0">'
            f'<table class="cards {node.look}" role="table">\n<caption>{text(node.caption)}</caption>\n'
            f'<thead role="rowgroup"><tr role="row">{names}</tr></thead>\n{body}\n</table></div>'
        )

    def _group(self, group: Group, table: Table) -> str:
        head = (
            f'<tr role="row" class="group"><th scope="rowgroup" role="rowheader" colspan="{len(table.columns)}">'
            f"{self.flow(group.title)}</th></tr>\n"
        )
        rows = "\n".join(line for row in group.rows for line in self._row(row, table))
        return f'<tbody role="rowgroup">\n{head if group.title else ""}{rows}\n</tbody>'

    def _row(self, row: Row, table: Table) -> Iterator[str]:
        cells = []
        for n, (name, cell) in enumerate(zip(table.columns, row.cells, strict=True)):
            label = text(name.partition(" ")[0])  # phones have room for one word
            is_head = n == 0 and table.look != "records"
            tag, more = ("th", 'scope="row" role="rowheader"') if is_head else ("td", 'role="cell"')
            cells.append(f'<{tag} {more} data-label="{label}"{_number(name, table)}>{self.flow(cell)}</{tag}>')
        yield f'<tr role="row">{"".join(cells)}</tr>'
        if row.below:
            yield (
                f'<tr role="row" class="below"><td role="cell" colspan="{len(cells)}">{self.flow(row.below)}</td></tr>'
            )

    def _figure(self, node: Figure) -> str:
        from ...pictures.plots import drawn  # noqa: PLC0415  an extra, and slow

        picture = drawn(node.plot)
        both = f'<div class="wide">{picture.wide}</div><div class="narrow">{picture.narrow}</div>'
        return f"<figure>\n{both}\n<figcaption>{text(node.caption)}</figcaption>\n</figure>"

    def _stages(self, node: Stages) -> str:
        lines = "\n".join(map(_stage, node.stages))
        return f'<figure>\n<ol class="flow">\n{lines}\n</ol>\n<figcaption>{text(node.caption)}</figcaption>\n</figure>'


class _Notebook(_Form):
    """How a notebook does: no ids or classes to rely on, no links within, sections folded."""

    def folded(self, section: Section, *, is_open: bool = False) -> str:
        note = f" <small>{text(section.note)}</small>" if section.note else ""
        summary = f"<summary><strong>{text(section.title)}</strong>{note}</summary>"
        return f"<details{' open' * is_open}>{summary}{self.flow(section.blocks)}</details>"

    def section(self, section: Section, level: int) -> str:
        if section.look != "plain":
            return self.folded(section)
        return f"<h4>{text(section.title)}</h4>{self.flow(section.blocks)}"

    def _text(self, node: Text) -> str:
        said = text(node.text)
        if node.style in ("plain", "level"):
            return said
        tag = {**_TAGS, "small": "small"}.get(node.style, "strong")
        return f"<{tag}>{said}</{tag}>"

    def _link(self, node: Link) -> str:
        return text(node.text) if (node.url or "").startswith("#") else super()._link(node)

    def _table(self, node: Table) -> str:
        names = "".join(f'<th scope="col" style="text-align:left">{text(name)}</th>' for name in node.head)
        rows = "".join(
            "<tr>" + "".join(f'<td style="text-align:left">{self.flow(cell)}</td>' for cell in cells) + "</tr>"
            for cells in node.lines
        )
        caption = f"<caption>{text(node.caption)}</caption>" if node.caption else ""
        return f"<table>{caption}<thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"

    def _figure(self, node: Figure) -> str:
        try:
            from ...pictures.plots import drawn  # noqa: PLC0415  an extra, and slow
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "matplotlib":
                raise
            return ""
        caption = f"<figcaption><small>{text(node.caption)}</small></figcaption>"
        return f'<figure style="{FIGURE_STYLE}">{drawn(node.plot).wide}{caption}</figure>'

    def _stages(self, node: Stages) -> str:
        return self._table(node.table)


def _number(column: str, table: Table) -> str:
    return ' class="number"' if column in table.numbers else ""


def _class(look: str) -> str:
    return "" if look == "plain" else f' class="{look}"'


def _stage(stage: Stage) -> str:
    boxes = [
        ("box", stage.name, stage.count, stage.notes),
        ("aside", stage.aside, stage.aside_count, stage.aside_notes),
    ]
    told = "".join(
        f'<div class="{look}"><strong>{text(name)}</strong> <span class="count">{count}</span>{_notes(notes)}</div>'
        for look, name, count, notes in boxes
        if name
    )
    return f"<li>{told}</li>"


def _notes(notes: Iterable[str]) -> str:
    lines = "".join(f"<li>{text(note)}</li>" for note in notes)
    return f"<ul>{lines}</ul>" if lines else ""
