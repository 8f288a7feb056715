"""Export a report's references for reference managers: BibTeX, RIS, CSL-JSON.

Fields come only from the record: journal, volume, pages and day are written where the record gives them, and nothing
is made up.
Formats: https://www.bibtex.com/g/bibtex-format/, https://en.wikipedia.org/wiki/RIS_(file_format),
https://docs.citationstyles.org/en/stable/specification.html.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from willowbark.agents.report.model import ResearchReport
from willowbark.tools.evidence import checked_identifier, date_parts
from willowbark.tools.registry import cards, given_by, gives
from willowbark.tools.sources.card import ENTRIES

from . import line

Kind = Literal["article", "preprint", "trial", "entry", "page"]
FIELDS = (
    # of an entry           BibTeX          RIS    CSL-JSON
    ("journal",             "journal",      "T2",  "container-title"),
    ("journal_abbreviation", "",            "J2",  "container-title-short"),
    ("volume",              "volume",       "VL",  "volume"),
    ("issue",               "number",       "IS",  "issue"),
    ("pages",               "pages",        "",    "page"),
    ("genre",               "",             "M3",  "genre"),
    ("doi",                 "doi",          "DO",  "DOI"),
    ("pmid",                "pmid",         "",    "PMID"),
    ("pmcid",               "pmcid",        "",    "PMCID"),
    ("database",            "",             "DB",  "source"),
    ("url",                 "url",          "UR",  "URL"),
    ("flags",               "",             "N1",  "note"),
)  # fmt: skip
"""Fields with the same text in all formats; an empty name means that the format lacks the field."""
TYPES = {
    "article": ("JOUR", "article-journal"),
    "preprint": ("UNPB", "article"),
    "trial": ("ELEC", "webpage"),
    "entry": ("DATA", "dataset"),
    "page": ("ELEC", "webpage"),
}
"""Names of each kind in RIS and CSL-JSON."""
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_PAGES = re.compile(r"([A-Za-z]*\d+)-([A-Za-z]*\d+)")
_INITIALS = re.compile(r"(?P<family>.+?) (?P<given>[A-Z](?:-?[A-Z]){0,3})(?: (?P<suffix>Jr|Sr|2nd|3rd|4th|II|III))?")
_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    | {c: f"\\{c}" for c in "{}$&#%_"}
)


class Author(NamedTuple):
    """A person, or a named group."""

    family: str
    given: str = ""
    """Initials with full stops; empty for groups."""
    suffix: str = ""


class Entry(NamedTuple):
    """One reference, parsed once for all three formats."""

    key: str
    """Derived from the record's identifier: unique among the references, the same in every report."""
    kind: Kind
    title: str
    authors: tuple[Author, ...]
    date: tuple[int, ...]
    """Year, month, day, as precise as the record; empty if it has no date."""
    fields: Mapping[str, str]
    """Values by the names of `FIELDS` and `nct_id`, where reported."""


def entries(report: ResearchReport) -> list[Entry]:
    """Parse the references, in the report's order."""
    found = []
    for reference in report.references:
        source, name = str(reference.get("source") or ""), str(reference["key"])
        prefix, _, value = name.partition(":")
        fields = {field: line(str(reference.get(field) or "")) for field, *_ in FIELDS[:5]}
        for identifier in ("doi", "pmid", "pmcid", "nct_id"):
            given = reference.get(identifier) or (value if prefix == identifier.removesuffix("_id") else None)
            checked = checked_identifier(identifier, given) or ""
            fields[identifier] = checked if set("{}\\").isdisjoint(checked) else ""
        flags = [str(flag) for flag in reference.get("flags") or []]
        kind: Kind = "article"
        if gives(source) == "trial" or (fields["nct_id"] and not source):
            kind = "trial"
        elif source == "preprint" or "preprint" in flags:
            kind = "preprint"
        elif gives(source) in ENTRIES:
            kind = "entry"
        elif gives(source) == "page":
            kind = "page"
        url = str(reference.get("url") or "")
        is_web = url.startswith(("http://", "https://")) and url.isascii() and url.split() == [url]
        database = given_by(source)
        fields |= {
            "genre": {"preprint": "Preprint", "trial": "Clinical trial registration"}.get(kind, ""),
            "database": cards()[database].title if database in cards() else "",
            "url": url if is_web and set('{}\\"<>^`|').isdisjoint(url) else "",
            "flags": "; ".join(flags),
        }
        authors = []
        for author in filter(None, (line(str(each)) for each in reference.get("authors") or [])):
            person = None if kind in ("trial", "entry") else _INITIALS.fullmatch(author)
            initials = re.sub(r"([A-Z])(-?)(?=[A-Z-]|$)", r"\1. \2", person["given"]) if person else ""
            initials = initials.replace(" -", "-").strip()
            authors.append(Author(person["family"], initials, person["suffix"] or "") if person else Author(author))
        found.append(
            Entry(
                key=citation_key(name),
                kind=kind,
                title=line(str(reference["title"])),
                authors=tuple(authors),
                date=date_parts(str(reference.get("date") or "")),
                fields={field: text for field, text in fields.items() if text},
            )
        )
    return found


def citation_key(name: str) -> str:
    """Convert a record's key to letters, digits and dashes; a checksum keeps keys distinct that lose characters.

    >>> citation_key("pmid:12859700"), citation_key("nct:NCT02188459"), citation_key("doi:10.1000/abc")
    ('pmid12859700', 'nct02188459', 'doi-10-1000-abc-91b32f')
    """
    kind, _, value = name.lower().partition(":")
    if name.isascii() and name.startswith(kind) and kind.isalpha() and value.isalnum():
        return kind + value.removeprefix(kind)
    kept = "".join(each if each.isascii() and each.isalnum() else " " for each in name.lower())
    plain = "-".join(kept.split())[:40]
    return f"{plain}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:6]}"


def escape_latex(text: str) -> str:
    r"""Escape a text for LaTeX.

    >>> escape_latex("5% of {x}_1 & y")
    '5\\% of \\{x\\}\\_1 \\& y'
    """
    return text.translate(_LATEX)


def as_bib(report: ResearchReport) -> bytes:
    """Export as BibTeX in UTF-8; `@article` only with a known journal."""
    written = []
    for entry in entries(report):
        authors = []
        for family, given, suffix in entry.authors:
            person = ", ".join(escape_latex(part) for part in (family, suffix, given) if part)
            authors.append(person if given else f"{{{escape_latex(family)}}}")
        values = {"title": f"{{{escape_latex(entry.title)}}}"}  # inner braces keep capitals (drugs, abbreviations)
        values["author"] = " and ".join(authors)
        for name, bibtex, *_ in FIELDS:
            if bibtex and (value := entry.fields.get(name)):
                values[bibtex] = value if name in ("doi", "pmid", "pmcid", "url") else escape_latex(value)
        values["pages"] = _PAGES.sub(r"\1--\2", values.get("pages", ""))
        if entry.kind in ("trial", "entry"):
            values["howpublished"] = escape_latex(entry.fields.get("database", ""))
        notes = (entry.fields.get(name) for name in ("genre", "nct_id", "flags"))
        values["note"] = escape_latex("; ".join(filter(None, notes)))
        fields = {name: f"{{{value}}}" for name, value in values.items() if value}
        for name, number in zip(("year", "month", "day"), entry.date, strict=False):
            fields[name] = _MONTHS[number - 1] if name == "month" and 1 <= number <= 12 else f"{{{number}}}"
        kind = "article" if "journal" in entry.fields and entry.kind == "article" else "misc"
        lines = [f"  {name} = {value}," for name, value in fields.items()]
        written.append("\n".join([f"@{kind}{{{entry.key},", *lines, "}", ""]))
    return "\n".join(written).encode(errors="replace")


def as_ris(report: ResearchReport) -> bytes:
    """Export as RIS in UTF-8."""
    written = []
    for entry in entries(report):
        tags = [("TY", TYPES[entry.kind][0]), ("ID", entry.key), ("TI", entry.title)]
        tags += [("AU", ", ".join(filter(None, author))) for author in entry.authors]
        if entry.date:
            year, month, day = (*(f"{part:02}" for part in entry.date), "", "")[:3]
            tags += [("PY", year), ("DA", f"{year}/{month}/{day}/")]
        if pages := entry.fields.get("pages"):
            first, last = ends[0] if (ends := _PAGES.findall(pages)) else (pages, "")
            tags += [("SP", first), ("EP", last)]
        tags += [("AN", entry.fields[name]) for name in ("nct_id", "pmid", "pmcid") if name in entry.fields][:1]
        tags += [(ris, entry.fields[name]) for name, _, ris, _ in FIELDS if ris and name in entry.fields]
        written += [f"{tag}  - {value}\r\n" for tag, value in tags if value]
        written.append("ER  - \r\n\r\n")
    return "".join(written).encode(errors="replace")


def as_csl(report: ResearchReport) -> bytes:
    """Export as CSL-JSON 1.0.2."""
    listed = []
    for entry in entries(report):
        people = []
        for author in entry.authors:
            person = {name: part for name, part in author._asdict().items() if part}
            people.append(person if author.given else {"literal": author.family})
        found: dict[str, Any] = {
            "id": entry.key,
            "type": TYPES[entry.kind][1],
            "title": entry.title,
            "author": people,
            "issued": {"date-parts": [list(entry.date)]} if entry.date else None,
            "number": entry.fields.get("nct_id") if entry.kind == "trial" else None,
            **{csl: entry.fields[name] for name, _, _, csl in FIELDS if name in entry.fields},
        }
        if entry.kind in ("trial", "entry"):
            found.setdefault("container-title", entry.fields.get("database"))
        listed.append({name: value for name, value in found.items() if value})
    return f"{json.dumps(listed, ensure_ascii=False, indent=2)}\n".encode(errors="replace")
