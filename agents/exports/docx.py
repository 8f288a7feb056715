"""Export a report as a Word document: the answer, contents, a picture, tables, references, then the appendix.

Tables with whole titles or passages in their rows become lists. https://python-docx.readthedocs.io
"""

import io
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import docx
from docx.document import Document as WordDocument
from docx.enum.section import WD_SECTION
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_TAB_ALIGNMENT, WD_TAB_LEADER
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Length, Mm, Pt
from docx.text.paragraph import Paragraph as WordParagraph

from ..report.forms import blocks as nodes
from ..report.forms import write_on_one_line
from ..report.forms.blocks import Block, TreeNode, flow, spans
from .paper import MILLIMETRES, choose_paper_size

if TYPE_CHECKING:
    from ..report.model import ResearchReport

TEXT_WIDTH = Mm(174)  # of an A4 page with margins of 18 mm; on Letter they are wider
_SMALL = Pt(8.5)
_FEW_REFERENCES = 6  # of more, two stand side by side
_LINE_SPACING = 1.05  # the template's 1.15 takes a page more before the appendix
_LINE = 105  # wide characters of that size in a line of text
_MARGIN = 5  # of a cell, with bold text, in characters
_LISTS = {"points": "List Bullet", "steps": "List", "references": "List", "lines": "Normal"}
_SIZES = {"Normal": 10, "Caption": 8.5, "Title": 18, "Quote": 9.5, "Heading 1": 15, "Heading 2": 12, "Heading 3": 10.5}


def as_docx(report: "ResearchReport") -> bytes:
    """Export as a Word document; the same report gives the same bytes."""
    return _pack(make_document(report.to_paper(), report))


def as_brief(report: "ResearchReport") -> bytes:
    """Export the brief for repurposing dossiers, each drug on pages of its own."""
    return _pack(make_document(report.to_dossier(), report, is_chaptered=True))


def _pack(word: WordDocument) -> bytes:
    packed = io.BytesIO()
    again = io.BytesIO()
    word.save(packed)
    with zipfile.ZipFile(packed) as source, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():  # without the time of packing
            target.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), source.read(name), zipfile.ZIP_DEFLATED)
    return again.getvalue()


def make_document(tree: nodes.ReportTree, report: "ResearchReport", *, is_chaptered: bool = False) -> WordDocument:
    """Write a tree as a document of the reader's paper, with contents and page numbers.

    Args:
        tree: its first section stands before the contents.
        report: dates the document and names it.
        is_chaptered: whether all sections stand after the contents, each on pages of its own.
    """
    word = docx.Document()
    properties = word.core_properties
    when = report.generated_at.replace(tzinfo=None)
    properties.title = write_on_one_line(report.title)[:255]
    properties.subject = write_on_one_line(report.research_question)[:255]
    properties.author = properties.last_modified_by = "Willowbark"
    properties.comments = ""
    properties.language = "en"
    properties.created = properties.modified = when
    _set_page(word)
    word.styles["Normal"].font.name = "Calibri"
    for name, size in _SIZES.items():
        word.styles[name].font.size = Pt(size)
        word.styles[name].paragraph_format.space_after = Pt(3)
        word.styles[name].paragraph_format.line_spacing = _LINE_SPACING
    word.add_heading(write_on_one_line(tree.title), 0)
    word.add_paragraph().add_run(write_on_one_line(tree.question)).italic = True
    before, after = ((), tree.sections) if is_chaptered else (tree.sections[:1], tree.sections[1:])
    appendix = (tree.appendix,) if tree.appendix else ()
    _write(word, (*tree.opening, *before), 1)
    _write_contents(word, (*after, *appendix))
    for section in after:
        if is_chaptered:
            _write_on_new_page(word, section)
        else:
            _write(word, (section,), 1)
    _write(word, tree.closing, 1)
    if tree.appendix:
        _write_on_new_page(word, replace(tree.appendix, blocks=()))
        _write_contents(word, [block for block in tree.appendix.blocks if isinstance(block, nodes.Section)])
        _write(word, tree.appendix.blocks, 2)
    return word


def _write_on_new_page(word: WordDocument, section: nodes.Section) -> None:
    """Write a section whose heading begins a page: a break of its own would leave a page empty after a full one."""
    number = len(word.paragraphs)
    _write(word, (section,), 1)
    word.paragraphs[number].paragraph_format.page_break_before = True


def _set_columns(word: WordDocument, number: int) -> None:
    """Have what follows stand in columns, on the same page."""
    section = word.add_section(WD_SECTION.CONTINUOUS)
    columns = section._sectPr.find(qn("w:cols"))
    if columns is None:
        columns = OxmlElement("w:cols")
        section._sectPr.append(columns)
    columns.set(qn("w:num"), str(number))
    columns.set(qn("w:space"), str(Mm(6).twips))


def _set_page(word: WordDocument) -> None:
    """Set paper, margins and a footer with the page's number."""
    width, height = MILLIMETRES[choose_paper_size()]
    page = word.sections[0]
    page.page_width = Mm(width)
    page.page_height = Mm(height)
    page.left_margin = page.right_margin = Length((Mm(width) - TEXT_WIDTH) // 2)
    page.top_margin = page.bottom_margin = Mm(18)
    footer = page.footer.paragraphs[0]
    footer.alignment = WD_ALIGN_PARAGRAPH.CENTER
    for text, field in (("", "PAGE"), (" / ", "NUMPAGES")):
        footer.add_run(text)
        _add_field(footer, field, "1")


def _write_contents(word: WordDocument, sections: Iterable[nodes.Section]) -> None:
    """Write a table of contents, whose entries lead to headings; Word and LibreOffice fill the numbers of pages."""
    word.add_paragraph("Contents", style="Caption").paragraph_format.space_before = Pt(6)
    for section in sections:
        entry = word.add_paragraph(style="Normal")
        entry.paragraph_format.space_after = Pt(0)
        entry.paragraph_format.tab_stops.add_tab_stop(TEXT_WIDTH, WD_TAB_ALIGNMENT.RIGHT, WD_TAB_LEADER.DOTS)
        _add_link(entry, write_on_one_line(section.title), f"_{section.id}")
        entry.add_run("\t")
        _add_field(entry, f"PAGEREF _{section.id} \\h", "")
    word.add_paragraph().paragraph_format.space_after = Pt(0)


def _add_field(paragraph: WordParagraph, instruction: str, text: str) -> None:
    """Add a field that Word computes; `shown` stands until it does.

    https://learn.microsoft.com/en-us/dotnet/api/documentformat.openxml.wordprocessing.fieldchar
    """
    for kind in ("begin", "instruction", "separate", "shown", "end"):
        run = paragraph.add_run()
        if kind == "shown":
            run.text = text
            continue
        is_text = kind == "instruction"
        element = OxmlElement("w:instrText" if is_text else "w:fldChar")
        if is_text:
            element.text = instruction
        else:
            element.set(qn("w:fldCharType"), kind)
        run._r.append(element)


def _add_link(paragraph: WordParagraph, text: str, bookmark: str) -> None:
    link = OxmlElement("w:hyperlink")
    link.set(qn("w:anchor"), bookmark)
    run = paragraph.add_run(text)
    link.append(run._r)
    paragraph._p.append(link)


def _mark(heading: WordParagraph, bookmark: str, number: int) -> None:
    """Put a bookmark around a heading, to which contents lead."""
    start = OxmlElement("w:bookmarkStart")
    end = OxmlElement("w:bookmarkEnd")
    for element in (start, end):
        element.set(qn("w:id"), str(number))
    start.set(qn("w:name"), bookmark)
    heading._p.insert(1 if heading._p.pPr is not None else 0, start)
    heading._p.append(end)


def _write(word: WordDocument, blocks: Iterable[Block], level: int) -> None:
    for block in blocks:
        match block:
            case nodes.Section():
                note = f" ({write_on_one_line(block.note)})" if block.note else ""
                heading = word.add_heading(f"{write_on_one_line(block.title)}{note}", min(level, 9))
                _mark(heading, f"_{block.id}", len(word.paragraphs))
                _write(word, block.blocks, level + 1)
            case nodes.Details():
                word.add_paragraph().add_run(write_on_one_line(block.summary)).bold = True
                _write(word, block.blocks, level)
            case nodes.Paragraph():
                _add_runs(word.add_paragraph(), block.content)
            case nodes.Items() if block.look == "references" and len(block.items) > _FEW_REFERENCES:
                _set_columns(word, 2)
                _write_list(word, block)
                _set_columns(word, 1)
            case nodes.Items():
                _write_list(word, block)
            case nodes.Pairs():
                for name, content in block.pairs:
                    _add_runs(word.add_paragraph(), (nodes.Text(f"{name}: ", "strong"), *content))
            case nodes.Quote():
                _add_runs(word.add_paragraph(style="Quote"), flow(block))
            case nodes.Figure():
                from ..pictures import plots  # noqa: PLC0415  needs another extra

                shape = word.add_picture(io.BytesIO(plots.draw(block.plot, "png")), TEXT_WIDTH)
                shape._inline.docPr.set("descr", write_on_one_line(block.plot.description))
                word.paragraphs[-1].paragraph_format.keep_with_next = True
                word.add_paragraph(write_on_one_line(block.plot.caption), style="Caption")
            case nodes.Table():
                _write_table(word, block)


def _write_list(word: WordDocument, block: nodes.Items, depth: int = 1) -> None:
    size = _SMALL if block.look == "references" else None
    for number, item in enumerate(block.items, block.start):
        style = _LISTS[block.look] + (" 2" if depth > 1 and block.look in ("points", "steps") else "")
        paragraph = word.add_paragraph(style=style)
        if block.look in ("steps", "references"):
            paragraph.add_run(f"{number}.\t").font.size = size
        inner = nodes.find_lists(item)
        _add_runs(paragraph, [node for node in item if node not in inner], size)
        for sublist in inner:
            _write_list(word, sublist, depth + 1)


def _write_table(word: WordDocument, block: nodes.Table) -> None:
    word.add_paragraph(write_on_one_line(block.caption), style="Caption").paragraph_format.keep_with_next = True
    if block.is_wide:
        for group in block.groups:
            if group.title:
                _add_runs(word.add_paragraph(), group.title)
            for row in group.rows:
                card = word.add_paragraph(style="List Bullet")
                for content in block.card(row):
                    if card.runs:
                        card.add_run().add_break()
                    _add_runs(card, content, _SMALL)
        return
    lines = [[flow(name) for name in block.columns], *(row.cells for row in block.rows)]
    table = word.add_table(rows=len(lines), cols=len(block.columns), style="Light Grid Accent 1")
    table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))  # repeated on every page
    table.autofit = False
    columns: list[str] = []
    for column_cells in zip(*lines, strict=True):
        texts = chain.from_iterable(spans(cell) for cell in column_cells)
        columns.append(" ".join(node.text for node in texts))
    longest = [max(map(len, text.split()), default=0) + _MARGIN for text in columns]
    spare = max(_LINE - sum(longest), 0) / max(sum(map(len, columns)), 1)
    shares = [
        least + spare * len(text) for least, text in zip(longest, columns, strict=True)
    ]  # if it fits, no word breaks
    for column, share in zip(table.columns, shares, strict=True):
        column.width = Length(int(TEXT_WIDTH * share / sum(shares)))  # LibreOffice reads the grid, Word the cells
    for row, cells in zip(table.rows, lines, strict=True):
        row._tr.get_or_add_trPr().append(OxmlElement("w:cantSplit"))
        for cell, column, content in zip(row.cells, table.columns, cells, strict=True):
            cell.width = column.width
            _add_runs(cell.paragraphs[0], content, _SMALL)
    word.add_paragraph().paragraph_format.space_after = Pt(0)


def _add_runs(paragraph: WordParagraph, content: Iterable[TreeNode], size: Length | None = None) -> None:
    for node in spans(content):
        run = paragraph.add_run(write_on_one_line(f" {node.text}" if isinstance(node, nodes.Cite) else node.text))
        run.font.size = size
        if isinstance(node, nodes.Text):
            run.bold = node.style in ("strong", "flag", "mark") or None
            run.italic = node.style == "emphasis" or None
            run.font.name = "Consolas" if node.style == "code" else None
