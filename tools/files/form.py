"""The form of a file, told from how its content begins."""

import json
import re
from typing import Literal

from ..local_files import UnusableFile
from .tables import is_list, is_table

Form = Literal[
    "lines", "json", "pubmed", "endnote", "studies", "ris", "medline", "wos", "enw", "bibtex", "pubtator", "table",
    "list", "abstracts", "pdf", "zip",
]  # fmt: skip
"""`lines` is JSON lines, `studies` ClinicalTrials.gov's older XML, `abstracts` PubMed's text for reading."""
KNOWN_FORMS = (
    "RIS, PubMed (NBIB, XML, CSV), EndNote (XML, .enw), Web of Science, BibTeX, CSL-JSON, Zotero, Europe PMC, "
    "ClinicalTrials.gov (JSON, CSV, XML), PubTator, JSON lines, a table with a column title or pmid, a list of "
    "numbers, PDF"
)
HEAD_BYTES = 64 * 1024
_BEGINNINGS: tuple[tuple[Form, re.Pattern[str]], ...] = (
    ("ris", re.compile(r"^TY {1,3}- ?", re.MULTILINE)),
    ("medline", re.compile(r"^PMID {0,2}- ?\d", re.MULTILINE)),
    ("enw", re.compile(r"^%0 \S", re.MULTILINE)),
    ("wos", re.compile(r"\A(?:\s*FN |\s*VR 1|\s*PT [A-Z]\s*$)", re.MULTILINE)),
    ("pubtator", re.compile(r"^\d{1,9}\|t\|", re.MULTILINE)),
    ("bibtex", re.compile(r"^[ \t]*@[A-Za-z]+\s*[{(]\s*[^\s,]*\s*[,}\"=]", re.MULTILINE)),
    ("abstracts", re.compile(r"^PMID: \d{1,8}(?:$| )", re.MULTILINE)),
)
_ROOTS: tuple[tuple[Form, re.Pattern[str]], ...] = (
    ("pubmed", re.compile(r"<Pubmed(?:Book)?Article(?:Set)?\b")),
    ("endnote", re.compile(r"<records?\b[^<>]*>\s*<(?:record|database|ref-type|rec-number|contributors)\b")),
    ("studies", re.compile(r"<clinical_study\b|<search_results\b")),
)
_WEB_PAGE = re.compile(r"<!doctype html|<html\b", re.IGNORECASE)
_ELEMENT = re.compile(r"<([A-Za-z][\w:.-]{0,60})")
_DOCUMENT = re.compile(
    r'\A\{\s*"(?:studies|resultList|items|records|references|version|hitCount|nextPageToken|totalCount)"'
)


def find_form(text: str, name: str = "") -> Form:
    """Return the form of a text by its beginning; the name counts only where nothing shows it.

    Raises:
        UnusableFile: it is of no form that is known.
    """
    head = text.lstrip()
    if head.startswith("<"):
        return _form_of_xml(head)
    has_names = name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    if head.startswith(("{", "[")):
        return "lines" if has_names and not _DOCUMENT.match(head) else _form_of_json(head)
    form = _form_of_text(head)
    if form is not None:
        return form
    if has_names:
        return "lines"
    if not head:
        raise UnusableFile("is empty")
    raise UnusableFile("is no file of records that is known; save it as RIS, say")


def _form_of_text(head: str) -> Form | None:
    first_line = head.partition("\n")[0]
    if is_table(first_line):
        return "table"
    for form, beginning in _BEGINNINGS:
        if beginning.search(head):
            return form
    return "list" if is_list(head) else None


def _form_of_json(head: str) -> Form:
    """Tell JSON lines, of which the first is a whole object, from a document."""
    first_line = head.partition("\n")[0]
    if not first_line.startswith("{") or _DOCUMENT.match(head):
        return "json"
    try:
        json.loads(first_line)
    except (ValueError, RecursionError):
        return "json"
    return "lines"


def _form_of_xml(head: str) -> Form:
    if _WEB_PAGE.search(head[:2000]):
        raise UnusableFile("is a web page; download the records as RIS, say")
    for form, root in _ROOTS:
        if root.search(head):
            return form
    root_name = _ELEMENT.search(head)
    tag = f" <{root_name[1]}>" if root_name else ""
    raise UnusableFile(f"is XML{tag} of no kind that is known; save the records as RIS, say")
