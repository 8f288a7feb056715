"""What a Word document is built of here: paragraphs, lists, tables and pictures of texts that XML can hold."""

import io
import zipfile
from collections.abc import Iterable, Sequence

from docx.document import Document
from docx.oxml import OxmlElement
from docx.shared import Inches, Pt

from willowbark.agents.pictures.svg import Picture
from willowbark.agents.report.model import NOT_REPORTED
from willowbark.tools.enclosure import visible

TEXT_WIDTH = Inches(6)  # between the margins of python-docx's own template
_STYLE = "Light Grid Accent 1"  # of the same template
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest moment that a zip archive can tell


def pair(document: Document, name: str, value: str) -> None:
    """A paragraph that begins with a name in bold; an empty name is left out."""
    paragraph = document.add_paragraph()
    paragraph.add_run(f"{name}: " if name else "").bold = True
    paragraph.add_run(line(value))


def picture(document: Document, drawn: Picture) -> None:
    """A picture as wide as the text, described for those who don't see it, with its caption."""
    shape = document.add_picture(io.BytesIO(drawn.png()), TEXT_WIDTH)
    shape._inline.docPr.set("descr", line(drawn.description))
    document.paragraphs[-1].paragraph_format.keep_with_next = True
    document.add_paragraph(line(drawn.caption), style="Caption")


def bullets(document: Document, items: Iterable[str]) -> None:
    """A bulleted list."""
    for item in items:
        document.add_paragraph(line(item), style="List Bullet")


def table(document: Document, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table whose first row is repeated on every page and told to screen readers as its head."""
    table = document.add_table(rows=1, cols=len(head), style=_STYLE)
    for cell, name in zip(table.rows[0].cells, head, strict=True):
        cell.text = name
    table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    for row in rows:
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = NOT_REPORTED if value is None else line(value)
    for each in table.rows:
        for cell in each.cells:
            for run in cell.paragraphs[0].runs:
                run.font.size = Pt(8.5)
    document.add_paragraph()


def line(value: object) -> str:
    """A text in one line, of characters that XML can hold."""
    text = " ".join(visible(str(value)).split())
    return "".join(c for c in text if not 0xD800 <= ord(c) <= 0xDFFF and ord(c) & 0xFFFE != 0xFFFE)


def same_bytes(document: Document) -> bytes:
    """The document's archive without the time at which it was packed."""
    packed, again = io.BytesIO(), io.BytesIO()
    document.save(packed)
    with zipfile.ZipFile(packed) as source, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            target.writestr(entry, source.read(name))
    return again.getvalue()
