"""What readers of files hand over: each record with the fields of a library's line, or why it is unreadable."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..records.evidence import checked_identifier, date_parts
from ..sources.publications import find_date, format_iso_date, format_pages, remove_markup

RecordFields = dict[str, Any]
"""Fields of a line of a library (`docs/how-to/run-offline.md`); a record that is a number alone has no `title`."""
_PMID = re.compile(r"\bPMID:?\s*(\d{1,8})\b|pubmed\.ncbi\.nlm\.nih\.gov/(\d{1,8})\b|/pubmed/(\d{1,8})\b", re.IGNORECASE)
_PMCID = re.compile(r"\bPMC\d{1,9}\b")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]+")
_COPYRIGHT = re.compile(r"^\s*(?:©|\(c\)|copyright\b)", re.IGNORECASE)
_NAME_PARTS = re.compile(r"[\s.\-]+")
_LONGEST_INITIALS = 4


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A record of a file."""

    place: str
    """Where it begins: `line 12`, or `record 3`."""
    fields: RecordFields
    own: Mapping[str, str | int] = field(default_factory=dict)
    """What the file says of it besides: `id`, `drug` and `condition`."""


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """A record that cannot be read, and why in a few words."""

    place: str
    why: str


FileItem = FileRecord | UnreadableRecord


def publication_fields(
    *,
    title: str,
    texts: Iterable[str] = (),
    authors: Iterable[str] = (),
    date: str = "",
    pmid: str = "",
    pmcid: str = "",
    doi: str = "",
    notes: Iterable[str] = (),
    **more: Any,
) -> RecordFields:
    """Return the fields of a publication, without those that are not given.

    Args:
        title: markup is taken out.
        texts: paragraphs of the abstract; one that comes again, and lines of copyright, are dropped.
        authors: `Surname, Given Names`, `Surname, A. B.` or `Surname AB`.
        date: in any form; no more of it is used than is clear.
        pmid: used where it is one, like `pmcid` and `doi`; a URL of a DOI is one.
        pmcid: with its `PMC`.
        doi: with or without its address.
        notes: texts in which numbers may stand with their names (`PMID: 1`, an address at PubMed), used where no
            field gives them.
        more: fields that are kept as they are.
    """
    remarks = " ".join(notes)
    paragraphs = (remove_markup(text) for text in texts if not _COPYRIGHT.match(text))
    fields = {
        "title": " ".join(remove_markup(title).split()),
        "abstract": "\n".join(dict.fromkeys(filter(None, paragraphs))),
        "authors": [name for name in map(author_name, authors) if name],
        "date": date if date_parts(date) else find_date(date),
        "pmid": checked_identifier("pmid", pmid) or _first_of(_PMID, "pmid", remarks),
        "pmcid": checked_identifier("pmcid", pmcid) or _first_of(_PMCID, "pmcid", remarks),
        "doi": checked_identifier("doi", doi) or _first_of(_DOI, "doi", doi),
        **more,
    }
    fields["pages"] = format_pages(str(fields.get("pages") or "").replace("--", "-"))
    return {name: value for name, value in fields.items() if value}


def _first_of(pattern: re.Pattern[str], kind: str, text: str) -> str | None:
    match = pattern.search(text)
    if match is None:
        return None
    number = next((group for group in match.groups() if group), match[0])
    return checked_identifier(kind, number.rstrip(".,;)"))


def author_name(text: str) -> str:
    """Write a name as `Surname AB`; a name without comma is left as it is.

    >>> author_name("Larch, A."), author_name("van der Berg, Anna Bea"), author_name("Larch AB"), author_name("A Group")
    ('Larch A', 'van der Berg AB', 'Larch AB', 'A Group')
    """
    surname, comma, rest = " ".join(text.split()).partition(",")
    rest, _, suffix = rest.partition(",")
    if not comma or not rest.strip():
        return surname.strip()
    given_names = rest.strip()
    is_short = given_names.isalpha() and given_names.isupper() and len(given_names) <= _LONGEST_INITIALS
    letters = [part[0] for part in _NAME_PARTS.split(given_names) if part]
    initials = given_names if is_short else "".join(letters).upper()
    return " ".join(filter(None, (surname.strip(), initials, suffix.strip())))


def date_of_parts(parts: Iterable[object]) -> str:
    """Return the date of a year, month and day, as precise as they are; empty without a year."""
    texts = [str(part) for part in parts]
    return format_iso_date(*texts[:3]) or "" if texts else ""
