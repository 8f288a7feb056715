"""An article's tables: label, caption, header, rows and footnotes, each cell in its column.

JATS takes HTML's table model, https://jats.nlm.nih.gov/archiving/tag-library/1.3/element/table.html: a cell may span
rows and columns, and then stands in each of them. What is larger than any table that people read is cut.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from .markup import flat

MAX_TABLES = 8  # of an article
MAX_TABLE_CHARS = 1500  # of a table's passages, some twenty rows
MAX_ROWS, MAX_COLUMNS, MAX_CELL_CHARS = 60, 16, 300
_MAX_LABEL_CHARS, _MAX_NOTES = 60, 10


@dataclass(frozen=True, slots=True)
class Table:
    """A table of an article, a cell that spans several standing in each of them."""

    label: str
    """As the article has it: `Table 2`; by its place where it has none."""
    caption: str
    """Empty where it has none."""
    header: tuple[tuple[str, ...], ...]
    """The rows of the head, without empty ones; none where the table has no head."""
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    """Its footnotes."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of each column: what the head says above it, from top to bottom."""
        width = max(map(len, (*self.header, *self.rows)), default=0)
        above = [[row[at] for row in self.header if at < len(row) and row[at]] for at in range(width)]
        return tuple(" > ".join(dict.fromkeys(each)) for each in above)

    def lines(self) -> tuple[str, ...]:
        """Caption, rows and footnotes as passages, a row with the names of its columns; as many as have room.

        >>> table = Table("Table 1", "Attacks", (("", "Drug", "Placebo"),), (("Week 4", "3.1", "4.4"),))
        >>> table.lines()
        ('Attacks', 'Week 4; Drug: 3.1; Placebo: 4.4')
        """
        room, found = MAX_TABLE_CHARS, list[str]()
        for line in filter(None, (self.caption, *self._told(), *self.notes)):
            if (room := room - len(line)) >= 0:
                found.append(line)
        return tuple(found)

    def _told(self) -> Iterator[str]:
        columns, group = self.columns, ""
        for row in self.rows:
            if len(row) > 1 and row[0] and set(row[1:]) <= {"", row[0]}:
                group = row[0]  # a heading of the rows below
                continue
            cells = dict.fromkeys((columns[at], cell) for at, cell in enumerate(row) if cell and at)
            named = [f"{name}: {cell}" if name else cell for name, cell in cells]
            yield "; ".join(filter(None, (group, row[0], *named)))


def read_tables(article: Element) -> list[Table]:
    """The tables of an article, in its order; those that are pictures alone are none.

    Args:
        article: a parsed `article`; tables within tables are left out.
    """
    found: list[Table] = []
    for wrap in _wraps(article):
        if len(found) == MAX_TABLES:
            break
        if (table := _table(wrap, len(found) + 1)) is not None:
            found.append(table)
    return found


def _wraps(element: Element) -> Iterator[Element]:
    for each in element:
        if each.tag == "table-wrap":
            yield each
        elif each.tag != "table":
            yield from _wraps(each)


def _table(wrap: Element, number: int) -> Table | None:
    table = next((each for path in ("table", "alternatives/table") if (each := wrap.find(path)) is not None), None)
    if table is None:
        return None
    head = [*table.findall("thead/tr")]
    body = [row for each in table if each.tag in ("tbody", "tfoot", "tr") for row in _rows(each)]
    if not head:
        while body and all(cell.tag == "th" for cell in body[0]):
            head.append(body.pop(0))
    rows = tuple(row for row in _grid(body) if any(row))
    if not rows:
        return None
    label, caption = wrap.find("label"), wrap.find("caption")
    named = " ".join("".join(label.itertext()).split()).rstrip(" .:") if label is not None else ""
    return Table(
        label=named[:_MAX_LABEL_CHARS] or f"Table {number}",
        caption=flat(caption) if caption is not None else "",
        header=tuple(row for row in _grid(head) if any(row)),
        rows=rows,
        notes=tuple(filter(None, map(flat, _notes(wrap))))[:_MAX_NOTES],
    )


def _rows(part: Element) -> Sequence[Element]:
    return [part] if part.tag == "tr" else part.findall("tr")


def _notes(wrap: Element) -> Iterator[Element]:
    for foot in wrap.findall("table-wrap-foot"):
        yield from foot.iter("p")


def _grid(rows: Sequence[Element]) -> Iterator[tuple[str, ...]]:
    """The cells of each row by column, those that reach over several in every one of them."""
    held: dict[int, tuple[str, int]] = {}
    for row in rows[:MAX_ROWS]:
        line = {column: text for column, (text, _) in held.items()}
        held = {column: (text, left - 1) for column, (text, left) in held.items() if left > 1}
        column = 0
        for cell in (each for each in row if each.tag in ("td", "th")):
            while column in line:
                column += 1
            text, below = flat(cell)[:MAX_CELL_CHARS], _span(cell, "rowspan", MAX_ROWS) - 1
            for at in range(column, min(column + _span(cell, "colspan", MAX_COLUMNS), MAX_COLUMNS)):
                line[at] = text
                if below:
                    held[at] = (text, below)
                column = at + 1
        yield tuple(line.get(at, "") for at in range(max(line, default=-1) + 1))


def _span(cell: Element, name: str, most: int) -> int:
    """How many rows or columns a cell takes; one where it says nothing that is a number above zero."""
    said = cell.get(name, "").strip()
    return min(max(int(said), 1), most) if said.isascii() and said.isdigit() and len(said) < 10 else 1
