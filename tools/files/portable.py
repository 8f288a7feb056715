"""PDF: title, abstract and DOI of an article, from its first pages by pypdf, an extra (https://pypdf.readthedocs.io)."""

import io
import logging
import re

from ..errors import MissingExtra
from ..local_files import UnusableFile
from ..records.evidence import checked_identifier
from .item import FileRecord, publication_fields

_MOST_PAGES = 3  # the abstract stands on the first, behind a cover page at times
_LONGEST_ABSTRACT = 6_000  # characters; the rest is the article's body
_SHORTEST_TITLE = 15  # characters; publishers leave "untitled" or a file's name in the properties
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]+")
_ABSTRACT = re.compile(r"^\W*(?:abstract|summary)\b[\s:.—-]*", re.IGNORECASE | re.MULTILINE)
_BODY = re.compile(r"^\W*(?:\d[\d.]*\s*)?(?:introduction|key\s?words)\b", re.IGNORECASE | re.MULTILINE)
_BROKEN_WORD = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


def read_pdf(content: bytes) -> FileRecord:
    """Return the article of a PDF: what stands between "Abstract" and the introduction is its abstract.

    Raises:
        UnusableFile: it is encrypted, damaged, holds no text, or pypdf is missing.
    """
    try:
        from pypdf import PdfReader  # noqa: PLC0415  an extra
        from pypdf.errors import PyPdfError  # noqa: PLC0415
    except ImportError:
        raise UnusableFile(f"is not read: {MissingExtra('a PDF', 'files')}") from None
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of each fault that it mends
    try:
        document = PdfReader(io.BytesIO(content))
        if document.is_encrypted and not document.decrypt(""):
            raise UnusableFile("is a PDF with a password; save it without")
        pages = [page.extract_text() for page in document.pages[:_MOST_PAGES]]
        properties = document.metadata
        numbers = str((properties.title if properties else "") or "").strip()
    except (PyPdfError, ValueError, LookupError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise UnusableFile(f"is a PDF that cannot be read ({type(error).__name__})") from None
    text = _BROKEN_WORD.sub("", "\n".join(pages)).encode("utf-8", "replace").decode()
    if len(text.split()) < 10:
        raise UnusableFile("is a PDF with no text layer: pictures of pages; have its text recognised (OCR) first")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    number = _DOI.search(text)
    title = numbers if len(numbers) >= _SHORTEST_TITLE and " " in numbers else _first_title(lines)
    fields = publication_fields(
        title=title,
        texts=[_abstract_of(text)],
        doi=checked_identifier("doi", number[0].rstrip(".,;)")) or "" if number else "",
    )
    return FileRecord("page 1", fields)


def _first_title(lines: list[str]) -> str:
    return next((line for line in lines if len(line) >= _SHORTEST_TITLE and line.count(" ") >= 2), lines[0])


def _abstract_of(text: str) -> str:
    """Return the abstract; empty where no heading shows it: a body's first lines would be read as its result."""
    heading = _ABSTRACT.search(text)
    if heading is None:
        return ""
    end = _BODY.search(text, heading.end())
    abstract = text[heading.end() : end.start() if end else heading.end() + _LONGEST_ABSTRACT]
    return " ".join(abstract[:_LONGEST_ABSTRACT].split())
