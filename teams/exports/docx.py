"""A report's tree as a Word document: headings, tables, pictures with alternative texts, references.

Tables of many columns stand on landscape pages. https://python-docx.readthedocs.io
"""

import io
import zipfile
from collections.abc import Iterable

import docx
from docx.document import Document as WordDocument
from docx.enum.section import WD_ORIENT, WD_SECTION
from docx.oxml import OxmlElement
from docx.shared import Inches, Length, Pt
from docx.text.paragraph import Paragraph as WordParagraph

from willowbark.agents.pictures.plots import drawn
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
from willowbark.tools.enclosure import visible

TEXT_WIDTH = Inches(6)  # between the margins of python-docx's own template
_STYLE = "Light Grid Accent 1"  # of the same template
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest moment that a zip archive can tell
_LANDSCAPE_FROM = 8  # columns
_LISTS = {"points": "List Bullet", "steps": "List Number", "references": "Normal", "lines": "Normal"}
_BOLD = frozenset({"strong", "flag", "mark"})
_NARROWEST, _WIDEST = 7, 60  # letters of a column that its width is reckoned from


def as_docx(report: ResearchReport) -> bytes:
    """The report as a document; the same report gives the same bytes."""
    tree, word = report.to_tree(), docx.Document()
    _properties(word, report)
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
    word.styles["Normal"].font.size = Pt(10.5)


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
            case Table():
                _table(word, block)
            case Stages():
                _table(word, block.table)


def _list(word: WordDocument, block: Items, depth: int = 1) -> None:
    for number, item in enumerate(block.items, 1):
        style = _LISTS[block.look] + (" 2" if depth > 1 and block.look in ("points", "steps") else "")
        paragraph = word.add_paragraph(f"{number}. " if block.look == "references" else "", style=style)
        inner = [node for node in item if isinstance(node, Items) and node.look != "lines"]
        _runs(paragraph, tuple(node for node in item if node not in inner))
        for each in inner:
            _list(word, each, depth + 1)


def _picture(word: WordDocument, figure: Figure) -> None:
    """A picture as wide as the text, described for those who don't see it, with its caption."""
    shape = word.add_picture(io.BytesIO(drawn(figure.plot).png()), TEXT_WIDTH)
    shape._inline.docPr.set("descr", line(figure.description))
    word.paragraphs[-1].paragraph_format.keep_with_next = True
    word.add_paragraph(line(figure.caption), style="Caption")


def _table(word: WordDocument, block: Table) -> None:
    """A table whose first row is repeated on every page and told to screen readers as its head."""
    wide = len(block.columns) >= _LANDSCAPE_FROM
    if wide:
        _turn(word, WD_ORIENT.LANDSCAPE)
    caption = word.add_paragraph(line(block.caption), style="Caption")
    caption.paragraph_format.keep_with_next = True
    rows = block.lines
    made = word.add_table(rows=1 + len(rows), cols=len(block.columns), style=_STYLE)
    made.autofit = False
    widths = _widths(block, TEXT_WIDTH if not wide else Inches(8.5))
    made.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    for row, cells in zip(made.rows, [[flow(name) for name in block.columns], *rows], strict=True):
        for cell, content, width in zip(row.cells, cells, widths, strict=True):
            cell.width = width
            _runs(cell.paragraphs[0], content)
            for run in cell.paragraphs[0].runs:
                run.font.size = Pt(8.5)
    word.add_paragraph()
    if wide:
        _turn(word, WD_ORIENT.PORTRAIT)


def _widths(block: Table, whole: Length) -> list[Length]:
    """Widths of columns by what they hold: as the longest word needs, and more where texts are longer."""
    columns = zip(*([flow(name) for name in block.columns], *block.lines), strict=True)
    letters = []
    for column in columns:
        texts = ["".join(node.text for node in spans(cell)) for cell in column]
        word = max(len(part) for text in texts for part in [*text.split(), ""])
        mean = sum(map(len, texts)) / len(texts)
        letters.append(min(_WIDEST, max(_NARROWEST, min(word, 16), mean)))
    return [Length(int(whole * each / sum(letters))) for each in letters]


def _turn(word: WordDocument, way: WD_ORIENT) -> None:
    """Begin a page that stands the other way."""
    section = word.add_section(WD_SECTION.NEW_PAGE)
    if section.orientation != way:
        section.orientation = way
        section.page_width, section.page_height = section.page_height, section.page_width


def _runs(paragraph: WordParagraph, content: Flow) -> None:
    """Write content into one paragraph."""
    for node in spans(content):
        style = node.style if isinstance(node, Text) else "plain"
        run = paragraph.add_run(f" {node.text}" if isinstance(node, Cite) else _spaced(node.text))
        run.bold, run.italic = style in _BOLD or None, style == "emphasis" or None
        if style == "code":
            run.font.name = "Consolas"


def _spaced(text: str) -> str:
    """A text in one line; a space at either end stays."""
    said = line(text)
    return f"{' ' if text[:1].isspace() else ''}{said}{' ' if said and text[-1:].isspace() else ''}"


def line(value: str) -> str:
    """A text in one line, of characters that XML can hold."""
    text = " ".join(visible(value).split())
    return "".join(c for c in text if not 0xD800 <= ord(c) <= 0xDFFF and ord(c) & 0xFFFE != 0xFFFE)


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
