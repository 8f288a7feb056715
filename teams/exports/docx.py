"""A report's tree as a Word document: headings, tables, pictures with alternative texts, references.

Tables whose lines hold whole titles and passages stand as cards, as wide as the page; the others have columns as wide
as what they hold. https://python-docx.readthedocs.io
"""

import io
import zipfile
from collections.abc import Iterable

import docx
from docx.document import Document as WordDocument
from docx.oxml import OxmlElement
from docx.shared import Length, Mm, Pt, Twips
from docx.text.paragraph import Paragraph as WordParagraph

from willowbark.agents.pictures import plots
from willowbark.agents.report.forms.blocks import (
    Block,
    Cite,
    Details,
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
from willowbark.agents.report.model import ResearchReport

from . import line

TEXT_WIDTH = Mm(174)  # of an A4 page with margins of 18 mm
_PAGE, _MARGIN = (Mm(210), Mm(297)), Mm(18)
_STYLE = "Light Grid Accent 1"  # of python-docx's own template
_FONT = "Calibri"
_SMALL = Pt(8.5)
_LETTER = Pt(4.6)  # width of a letter of that size, on the average of a word
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest moment that a zip archive can tell
_LISTS = {"points": "List Bullet", "steps": "List", "references": "List", "lines": "Normal"}
_NUMBERED = frozenset({"steps", "references"})
_BOLD = frozenset({"strong", "flag", "mark"})
_LONGEST_WORD = 30  # letters; addresses and the like are broken


def as_docx(report: ResearchReport) -> bytes:
    """The report as a document; the same report gives the same bytes."""
    tree, word = report.to_tree(), docx.Document()
    _properties(word, report)
    _layout(word)
    word.add_heading(line(tree.title), 0)
    word.add_paragraph().add_run(line(tree.question)).italic = True
    for blocks in (tree.opening, tree.sections, tree.closing):
        _write(word, blocks, 1)
    return _same_bytes(word)


def _properties(word: WordDocument, report: ResearchReport) -> None:
    properties, when = word.core_properties, report.generated_at.replace(tzinfo=None)
    properties.title, properties.subject = line(report.title)[:255], line(report.research_question)[:255]
    properties.author = properties.last_modified_by = "Willowbark"
    properties.comments, properties.language = "", "en"
    properties.created = properties.modified = when


def _layout(word: WordDocument) -> None:
    """Pages, and the template's styles as close as a report needs them."""
    section = word.sections[0]
    section.page_width, section.page_height = _PAGE
    section.left_margin = section.right_margin = section.top_margin = section.bottom_margin = _MARGIN
    for name, size, below in (
        ("Normal", Pt(10), Pt(4)),
        ("Caption", _SMALL, Pt(2)),
        ("Title", Pt(20), Pt(6)),
        ("Quote", Pt(9.5), Pt(4)),
    ):
        style = word.styles[name]
        style.font.size, style.paragraph_format.space_after = size, below
    word.styles["Normal"].font.name = _FONT
    word.styles["Normal"].paragraph_format.line_spacing = 1.05
    for name in ("List", "List 2", "List Bullet", "List Bullet 2"):
        word.styles[name].paragraph_format.space_after = Pt(2)
    for level, (points, before) in enumerate(((15, 14), (12, 10), (10.5, 6), (10, 4)), 1):
        heading = word.styles[f"Heading {level}"]
        heading.font.size, heading.paragraph_format.space_before = Pt(points), Pt(before)
        heading.paragraph_format.space_after = Pt(2)


def _write(word: WordDocument, blocks: Iterable[Block], level: int) -> None:
    for block in blocks:
        match block:
            case Section():
                note = f" ({line(block.note)})" if block.note else ""
                word.add_heading(f"{line(block.title)}{note}", level)
                _write(word, block.blocks, level + 1)
            case Details():
                word.add_paragraph().add_run(line(block.summary)).bold = True
                _write(word, block.blocks, level)
            case Paragraph():
                _runs(word.add_paragraph(), block.content)
            case Items():
                _list(word, block)
            case Pairs():
                for name, content in block.pairs:
                    _runs(word.add_paragraph(), (Text(f"{name}: ", "strong"), *content))
            case Quote():
                _runs(word.add_paragraph(style="Quote"), flow(block))
            case Figure():
                _picture(word, block)
            case Table() if block.has_wide_lines:
                _cards(word, block)
            case Table():
                _table(word, block)
            case Stages():
                _table(word, block.table)


def _list(word: WordDocument, block: Items, depth: int = 1) -> None:
    for number, item in enumerate(block.items, 1):
        style = _LISTS[block.look] + (" 2" if depth > 1 and block.look in ("points", "steps") else "")
        paragraph = word.add_paragraph(f"{number}.\t" if block.look in _NUMBERED else "", style=style)
        inner = [node for node in item if isinstance(node, Items) and node.look != "lines"]
        _runs(paragraph, tuple(node for node in item if node not in inner))
        for each in inner:
            _list(word, each, depth + 1)


def _picture(word: WordDocument, figure: Figure) -> None:
    """A picture as wide as the text, described for those who don't see it, with its caption."""
    shape = word.add_picture(io.BytesIO(plots.drawn(figure.plot).png), TEXT_WIDTH)
    shape._inline.docPr.set("descr", line(figure.description))
    word.paragraphs[-1].paragraph_format.keep_with_next = True
    word.add_paragraph(line(figure.caption), style="Caption")


def _cards(word: WordDocument, block: Table) -> None:
    """A table's lines one below the other, each as wide as the page: its first cell, then what else is known."""
    word.add_paragraph(line(block.caption), style="Caption").paragraph_format.keep_with_next = True
    for group in block.groups:
        if group.title:
            title = word.add_paragraph()
            title.paragraph_format.keep_with_next = True
            _runs(title, group.title)
        for row in group.rows:
            card = word.add_paragraph()
            card.paragraph_format.left_indent, card.paragraph_format.keep_together = Mm(4), True
            _runs(card, row.cells[0])
            card.runs[0].bold = True
            card.add_run().add_break()
            _runs(card, block.told(row))
            if row.below:
                card.add_run().add_break()
                _runs(card, row.below)
            _shrink(card)


def _table(word: WordDocument, block: Table) -> None:
    """A table whose first row is repeated on every page and told to screen readers as its head."""
    word.add_paragraph(line(block.caption), style="Caption").paragraph_format.keep_with_next = True
    rows = block.lines
    made = word.add_table(rows=1 + len(rows), cols=len(block.head), style=_STYLE)
    made.autofit = False
    widths = _widths(block)
    for column, width in zip(made.columns, widths, strict=True):
        column.width = width
    made.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    for row, cells in zip(made.rows, [[flow(name) for name in block.head], *rows], strict=True):
        row._tr.get_or_add_trPr().append(OxmlElement("w:cantSplit"))
        for cell, content, width in zip(row.cells, cells, widths, strict=True):
            cell.width = width
            _runs(cell.paragraphs[0], content)
            cell.paragraphs[0].paragraph_format.space_after = Pt(1)
            _shrink(cell.paragraphs[0])
    word.add_paragraph().paragraph_format.space_after = Pt(0)


def _shrink(paragraph: WordParagraph) -> None:
    for run in paragraph.runs:
        run.font.size = _SMALL


def _widths(block: Table) -> list[Length]:
    """Widths of columns by what they hold: first room for the longest word, then by the length of the texts."""
    least, more = [], []
    for column in zip(*([flow(name) for name in block.head], *block.lines), strict=True):
        texts = ["".join(node.text for node in spans(cell)) for cell in column]
        longest = max(len(part) for text in texts for part in [*text.split(), ""])
        least.append((min(longest, _LONGEST_WORD) + 3) * _LETTER)  # with the cell's margins
        more.append(max(sum(map(len, texts)) / len(texts) * _LETTER - least[-1], _LETTER))
    left = max(TEXT_WIDTH - sum(least), 0)
    scale = min(TEXT_WIDTH / sum(least), 1)
    widths = (room * scale + left * wish / sum(more) for room, wish in zip(least, more, strict=True))
    return [Twips(int(width / Twips(1))) for width in widths]  # in which Word counts


def _runs(paragraph: WordParagraph, content: Flow) -> None:
    """Write content into one paragraph."""
    for node in spans(content):
        style = node.style if isinstance(node, Text) else "plain"
        run = paragraph.add_run(f" {node.text}" if isinstance(node, Cite) else _spaced(node.text))
        run.bold, run.italic = style in _BOLD or None, style == "emphasis" or None
        if style in ("code", "small"):
            run.font.size = _SMALL
        if style == "code":
            run.font.name = "Consolas"


def _spaced(text: str) -> str:
    """A text in one line; a space at either end stays."""
    said = line(text)
    return f"{' ' if text[:1].isspace() else ''}{said}{' ' if said and text[-1:].isspace() else ''}"


def _same_bytes(word: WordDocument) -> bytes:
    """The document's archive without the time at which it was packed."""
    packed, again = io.BytesIO(), io.BytesIO()
    word.save(packed)
    with zipfile.ZipFile(packed) as source, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            target.writestr(entry, source.read(name))
    return again.getvalue()
