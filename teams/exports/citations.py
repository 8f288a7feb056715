"""The references in the forms that reference managers read: BibTeX, RIS, CSL-JSON.

Only what the record says goes in: a journal with volume and pages where the record names them, a day where it gives
one, no field made up.
Forms: https://www.bibtex.com/g/bibtex-format/, https://en.wikipedia.org/wiki/RIS_(file_format),
https://docs.citationstyles.org/en/stable/specification.html.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from willowbark.agents.report.model import ResearchReport
from willowbark.tools.evidence import checked_identifier, date_parts
from willowbark.tools.registry import cards, given_by, gives
from willowbark.tools.sources.card import ENTRIES

from . import line

Kind = Literal["article", "preprint", "trial", "entry", "page"]

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_RIS_TYPES = {"article": "JOUR", "preprint": "UNPB", "trial": "ELEC", "entry": "DATA", "page": "ELEC"}
_CSL_TYPES = {
    "article": "article-journal",
    "preprint": "article",
    "trial": "webpage",
    "entry": "dataset",
    "page": "webpage",
}
_WHERE = ("journal", "journal_abbreviation", "volume", "issue", "pages")
_MARKUP = frozenset("{}\\")
_PAGES = re.compile(r"([A-Za-z]*\d+)-([A-Za-z]*\d+)")
_GENRES = {"preprint": "Preprint", "trial": "Clinical trial registration"}
_INITIALS = re.compile(r"(?P<family>.+?) (?P<given>[A-Z](?:-?[A-Z]){0,3})(?: (?P<suffix>Jr|Sr|2nd|3rd|4th|II|III))?")
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}


@dataclass(frozen=True, slots=True)
class Author:
    """A person, or a group by its name."""

    family: str
    given: str | None = None
    """Initials with full stops; None for groups."""
    suffix: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One reference, read once for all three forms; None is "not reported" throughout."""

    key: str
    """Unique among the references, the same in every report: made of the record's identifier."""
    kind: Kind
    title: str
    authors: tuple[Author, ...]
    date: tuple[int, ...]
    """Year, month, day, as far as the record is precise; empty where it has no date."""
    journal: str | None
    journal_abbreviation: str | None
    volume: str | None
    issue: str | None
    pages: str | None
    doi: str | None
    pmid: str | None
    pmcid: str | None
    nct_id: str | None
    url: str | None
    database: str | None
    note: str | None
    """What a reader must know first: retracted, preprint, …"""


def entries(report: ResearchReport) -> list[Entry]:
    """The references in the report's order."""
    return [_entry(reference) for reference in report.references]


def as_bibtex(report: ResearchReport) -> bytes:
    """BibTeX in UTF-8; `@article` only where a journal is known."""
    return "\n".join(map(_bibtex, entries(report))).encode(errors="replace")


def as_ris(report: ResearchReport) -> bytes:
    """RIS in UTF-8."""
    blocks = ("".join(f"{tag}  - {value}\r\n" for tag, value in _ris(entry)) for entry in entries(report))
    return "".join(f"{block}ER  - \r\n\r\n" for block in blocks).encode(errors="replace")


def as_csl_json(report: ResearchReport) -> bytes:
    """CSL-JSON 1.0.2."""
    return f"{json.dumps([_csl(entry) for entry in entries(report)], ensure_ascii=False, indent=2)}\n".encode(
        errors="replace"
    )


def _entry(reference: Mapping[str, Any]) -> Entry:
    source, name = str(reference.get("source") or ""), str(reference["key"])
    ids = {kind: _identifier(reference, name, kind) for kind in ("doi", "pmid", "pmcid", "nct_id")}
    flags = [str(flag) for flag in reference.get("flags") or []]
    kind = _kind(source, ids["nct_id"], flags)
    authors = (line(str(author)) for author in reference.get("authors") or [])
    return Entry(
        key=citation_key(name),
        kind=kind,
        title=line(str(reference["title"])),
        authors=tuple(_author(author, is_group=kind in ("trial", "entry")) for author in authors if author),
        date=date_parts(str(reference.get("date") or "")),
        **{name: line(str(reference.get(name) or "")) or None for name in _WHERE},
        url=_url(str(reference.get("url") or "")),
        database=cards()[given].title if (given := given_by(source)) in cards() else None,
        note="; ".join(flags) or None,
        **ids,
    )


def citation_key(name: str) -> str:
    """A record's key in letters, digits and dashes; what loses characters on the way is told apart by a checksum.

    >>> citation_key("pmid:12859700"), citation_key("nct:NCT02188459"), citation_key("doi:10.1000/abc")
    ('pmid12859700', 'nct02188459', 'doi-10-1000-abc-91b32f')
    """
    kind, _, value = name.lower().partition(":")
    if name.isascii() and name.startswith(kind) and kind.isalpha() and value.isalnum():
        return kind + value.removeprefix(kind)
    kept = "".join(each if each.isascii() and each.isalnum() else " " for each in name.lower())
    plain = "-".join(kept.split())[:40]
    return f"{plain}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:6]}"


def _kind(source: str, nct_id: str | None, flags: list[str]) -> Kind:
    if gives(source) == "trial" or (nct_id and not source):
        return "trial"
    if source == "preprint" or "preprint" in flags:
        return "preprint"
    return "entry" if gives(source) in ENTRIES else "page" if gives(source) == "page" else "article"


def _identifier(reference: Mapping[str, Any], name: str, kind: str) -> str | None:
    """An identifier that the reference gives by itself or as its key."""
    prefix, _, value = name.partition(":")
    given = reference.get(kind) or (value if prefix == kind.removesuffix("_id") else None)
    found = checked_identifier(kind, given)
    return None if found is None or not _MARKUP.isdisjoint(found) else found


def _author(name: str, *, is_group: bool) -> Author:
    found = None if is_group else _INITIALS.fullmatch(name)
    if found is None:
        return Author(name)
    given = re.sub(r"([A-Z])(-?)(?=[A-Z-]|$)", r"\1. \2", found["given"]).replace(" -", "-").strip()
    return Author(found["family"], given, found["suffix"])


def _url(url: str) -> str | None:
    web = url.startswith(("http://", "https://")) and url.isascii() and url.split() == [url]
    return url if web and (_MARKUP | set('"<>^`|')).isdisjoint(url) else None


def _bibtex(entry: Entry) -> str:
    fields = {name: value for name, value in _bibtex_fields(entry) if value}
    kind = "article" if entry.journal and entry.kind == "article" else "misc"
    lines = [f"  {name} = {value}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{entry.key},", *lines, "}", ""])


def _bibtex_fields(entry: Entry) -> Iterator[tuple[str, str | None]]:
    yield "title", f"{{{{{escaped(entry.title)}}}}}"  # the inner braces keep capitals: names of drugs, abbreviations
    yield "author", _braced(" and ".join(map(_bibtex_author, entry.authors)))
    yield "journal", _braced(escaped(entry.journal or ""))
    yield "volume", _braced(escaped(entry.volume or ""))
    yield "number", _braced(escaped(entry.issue or ""))
    yield "pages", _braced(_PAGES.sub(r"\1--\2", escaped(entry.pages or "")))
    for name, value in zip(("year", "month", "day"), entry.date, strict=False):
        yield name, _MONTHS[value - 1] if name == "month" and 1 <= value <= 12 else _braced(str(value))
    yield "doi", _braced(entry.doi or "")
    yield "pmid", _braced(entry.pmid or "")
    yield "pmcid", _braced(entry.pmcid or "")
    yield "url", _braced(entry.url or "")
    genre = _GENRES.get(entry.kind)
    yield "howpublished", _braced(escaped(entry.database or "")) if entry.kind in ("trial", "entry") else None
    yield "note", _braced(escaped("; ".join(filter(None, (genre, entry.nct_id, entry.note)))))


def _bibtex_author(author: Author) -> str:
    if author.given is None:
        return f"{{{escaped(author.family)}}}"
    return ", ".join(escaped(part) for part in (author.family, author.suffix, author.given) if part)


def _braced(value: str) -> str | None:
    return f"{{{value}}}" if value else None


def escaped(text: str) -> str:
    r"""A text for LaTeX.

    >>> escaped("5% of {x}_1 & y")
    '5\\% of \\{x\\}\\_1 \\& y'
    """
    return "".join(_SPECIAL.get(character, character) for character in text)


def _ris(entry: Entry) -> Iterator[tuple[str, str]]:
    yield "TY", _RIS_TYPES[entry.kind]
    yield "ID", entry.key
    yield "TI", entry.title
    for author in entry.authors:
        yield "AU", ", ".join(part for part in (author.family, author.given, author.suffix) if part)
    if entry.date:
        year, month, day = (*(f"{part:02}" for part in entry.date), "", "")[:3]
        yield "PY", year
        yield "DA", f"{year}/{month}/{day}/"
    first, last = ends[0] if (ends := _PAGES.findall(entry.pages or "")) else (entry.pages, None)
    optional = {
        "T2": entry.journal,
        "J2": entry.journal_abbreviation,
        "VL": entry.volume,
        "IS": entry.issue,
        "SP": first,
        "EP": last,
        "M3": _GENRES.get(entry.kind),
        "DO": entry.doi,
        "AN": entry.nct_id or entry.pmid or entry.pmcid,
        "DB": entry.database,
        "UR": entry.url,
        "N1": entry.note,
    }
    yield from ((tag, value) for tag, value in optional.items() if value)


def _csl(entry: Entry) -> dict[str, Any]:
    found = {
        "id": entry.key,
        "type": _CSL_TYPES[entry.kind],
        "title": entry.title,
        "author": [_csl_author(author) for author in entry.authors],
        "issued": {"date-parts": [list(entry.date)]} if entry.date else None,
        "container-title": entry.journal or (entry.database if entry.kind in ("trial", "entry") else None),
        "container-title-short": entry.journal_abbreviation,
        "volume": entry.volume,
        "issue": entry.issue,
        "page": entry.pages,
        "genre": _GENRES.get(entry.kind),
        "number": entry.nct_id if entry.kind == "trial" else None,
        "DOI": entry.doi,
        "PMID": entry.pmid,
        "PMCID": entry.pmcid,
        "URL": entry.url,
        "source": entry.database,
        "note": entry.note,
    }
    return {name: value for name, value in found.items() if value}


def _csl_author(author: Author) -> dict[str, str]:
    if author.given is None:
        return {"literal": author.family}
    suffix = {"suffix": author.suffix} if author.suffix else {}
    return {"family": author.family, "given": author.given, **suffix}
