"""Export a report's references for reference managers: CSL-JSON, and BibTeX and RIS made from it.

Fields come only from the record: journal, volume, pages and day are written where the record gives them.
Formats: https://docs.citationstyles.org/en/stable/specification.html, https://www.bibtex.com/g/bibtex-format/,
https://en.wikipedia.org/wiki/RIS_(file_format).
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from willowbark.tools.records.card import ENTRIES
from willowbark.tools.records.evidence import checked_identifier, date_parts
from willowbark.tools.records.registry import cards, given_by, gives

from ..report.forms import write_on_one_line

if TYPE_CHECKING:
    from ..report.model import ResearchReport

CslItem = dict[str, Any]
"""A reference in CSL-JSON 1.0.2."""
FIELDS = (
    # of a reference        CSL-JSON                 BibTeX     RIS
    ("journal",             "container-title",       "journal", "T2"),
    ("journal_abbreviation", "container-title-short", "",       "J2"),
    ("volume",              "volume",                "volume",  "VL"),
    ("issue",               "issue",                 "number",  "IS"),
    ("pages",               "page",                  "pages",   ""),
    ("genre",               "genre",                 "",        "M3"),
    ("doi",                 "DOI",                   "doi",     "DO"),
    ("pmid",                "PMID",                  "pmid",    ""),
    ("pmcid",               "PMCID",                 "pmcid",   ""),
    ("nct_id",              "number",                "",        ""),
    ("database",            "source",                "",        "DB"),
    ("url",                 "URL",                   "url",     "UR"),
    ("flags",               "note",                  "",        "N1"),
)  # fmt: skip
"""Fields with the same text in all formats; an empty name means that the format lacks the field."""
_RIS_TYPES = {"article-journal": "JOUR", "article": "UNPB", "webpage": "ELEC", "dataset": "DATA"}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_PAGES = re.compile(r"([A-Za-z]*\d+)-([A-Za-z]*\d+)")
_ADDRESS = re.compile(r"https?://[!#-;=?-\[\]_a-z~]+")  # without what ends a field in LaTeX
_CAPITALS = "".join(letter for letter in map(chr, range(0x41, 0x530)) if letter.isupper())  # Latin, Greek, Cyrillic
_TWO = "I[au]|[JY][aeu]|[CSZKP]h|Ts"  # Russian names have initials of two letters beside others: Amelin IuA
_INITIAL = f"(?:{_TWO}|[{_CAPITALS}])"
_INITIALS = re.compile(
    rf"(?P<family>.+?) (?P<given>(?:[{_CAPITALS}]|(?:{_TWO})(?=-?{_INITIAL}))(?:-?{_INITIAL}){{0,3}})"
    r"(?: (?P<suffix>Jr|Sr|2nd|3rd|4th|II|III|IV))?"
)
_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    | {c: f"\\{c}" for c in "{}$&#%_"}
)


def list_items(report: "ResearchReport") -> list[CslItem]:
    """Convert the references to CSL-JSON, in the report's order; what is not reported is left out."""
    items: list[CslItem] = []
    for reference in report.references:
        fields = _make_item(reference)
        items.append({name: value for name, value in fields.items() if value})
    return items


def _make_item(reference: Mapping[str, Any]) -> CslItem:
    source = str(reference.get("source") or "")
    name = str(reference["key"])
    prefix, _, value = name.partition(":")
    fields = {field: write_on_one_line(str(reference.get(field) or "")).strip() for field, *_ in FIELDS}
    for identifier in ("doi", "pmid", "pmcid", "nct_id"):
        number = fields[identifier] or (value if prefix == identifier.removesuffix("_id") else None)
        checked = checked_identifier(identifier, number) or ""
        fields[identifier] = checked if set("{}\\").isdisjoint(checked) else ""
    flags = [str(flag) for flag in reference.get("flags") or []]
    kind = gives(source)
    fields["flags"] = write_on_one_line("; ".join(flags))
    fields["genre"] = ""
    csl_type = "article-journal"
    fields["url"] = fields["url"] if _ADDRESS.fullmatch(fields["url"]) else ""
    fields["database"] = cards()[given_by(source)].title if given_by(source) in cards() else ""
    if kind == "trial":
        csl_type = "webpage"
        fields["genre"] = "Clinical trial registration"
    elif source == "preprint" or "preprint" in flags:
        csl_type = "article"
        fields["genre"] = "Preprint"
    elif kind in (*ENTRIES, "page"):
        csl_type = "webpage" if kind == "page" else "dataset"
    fields["nct_id"] = fields["nct_id"] if kind == "trial" else ""
    is_entry = kind == "trial" or csl_type == "dataset"
    if is_entry:
        fields["journal"] = fields["journal"] or fields["database"]
    date = date_parts(str(reference.get("date") or ""))
    authors = (write_on_one_line(str(author)).strip() for author in reference.get("authors") or [])
    return {
        "id": make_citation_key(name),
        "type": csl_type,
        "title": write_on_one_line(str(reference["title"])).strip(),
        "author": [_make_person(author, is_entry) for author in authors if author],
        "issued": {"date-parts": [list(date)]} if date else None,
        **{csl: fields[field] for field, csl, *_ in FIELDS},
    }


def _make_person(author: str, is_sponsor: bool) -> dict[str, str]:
    """Take a person's name apart; groups, companies and single names stay whole."""
    person = None if is_sponsor else _INITIALS.fullmatch(author)
    if person is None:
        return {"literal": author}
    initials = re.sub(rf"({_INITIAL})(-?)", r"\1. \2", person["given"]).replace(" -", "-").strip()
    parts = {"family": person["family"], "given": initials, "suffix": person["suffix"]}
    return {part: text for part, text in parts.items() if text}


def make_citation_key(name: str) -> str:
    """Convert a record's key to letters, digits and dashes; a checksum keeps keys distinct that lose characters.

    >>> make_citation_key("pmid:12859700"), make_citation_key("nct:NCT02188459"), make_citation_key("doi:10.1000/abc")
    ('pmid12859700', 'nct02188459', 'doi-10-1000-abc-91b32f')
    """
    kind, _, value = name.lower().partition(":")
    if name.isascii() and name.startswith(kind) and kind.isalpha() and value.isalnum():
        return kind + value.removeprefix(kind)
    letters = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in name.lower())
    plain = "-".join(letters.split())[:40]
    return f"{plain}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:6]}"


def escape_latex(text: str) -> str:
    r"""Escape a text for LaTeX.

    >>> escape_latex("5% of {x}_1 & y")
    '5\\% of \\{x\\}\\_1 \\& y'
    """
    return text.translate(_LATEX)


def as_csl(report: "ResearchReport") -> bytes:
    """Export as CSL-JSON 1.0.2."""
    return f"{json.dumps(list_items(report), ensure_ascii=False, indent=2)}\n".encode(errors="replace")


def as_bib(report: "ResearchReport") -> bytes:
    """Export as BibTeX in UTF-8; `@article` only with a known journal."""
    written = []
    for item in list_items(report):
        authors = []
        for person in item.get("author", []):
            parts = [escape_latex(person[part]) for part in ("literal", "family", "suffix", "given") if part in person]
            authors.append(f"{{{parts[0]}}}" if "literal" in person else ", ".join(parts))
        values = {"title": f"{{{escape_latex(item.get('title', ''))}}}"}  # inner braces keep capitals
        values["author"] = " and ".join(authors)
        for _, csl, bibtex, _ in FIELDS:
            if bibtex and csl in item:
                values[bibtex] = item[csl] if csl.isupper() else escape_latex(item[csl])  # identifiers and addresses
        values["pages"] = _PAGES.sub(r"\1--\2", values.get("pages", ""))
        if item["type"] in ("webpage", "dataset"):
            values["howpublished"] = values.pop("journal", "")
        values["note"] = escape_latex("; ".join(item[name] for name in ("genre", "number", "note") if name in item))
        fields = {name: f"{{{value}}}" for name, value in values.items() if value}
        date = item.get("issued", {"date-parts": [[]]})["date-parts"][0]
        for name, number in zip(("year", "month", "day"), date, strict=False):
            fields[name] = _MONTHS[number - 1] if name == "month" and 1 <= number <= 12 else f"{{{number}}}"
        kind = "article" if item["type"] == "article-journal" and "journal" in fields else "misc"
        lines = [f"  {name} = {value}," for name, value in fields.items()]
        written.append("\n".join([f"@{kind}{{{item['id']},", *lines, "}", ""]))
    return "\n".join(written).encode(errors="replace")


def as_ris(report: "ResearchReport") -> bytes:
    """Export as RIS in UTF-8."""
    written = []
    for item in list_items(report):
        tags = [("TY", _RIS_TYPES[item["type"]]), ("ID", item["id"]), ("TI", item.get("title", ""))]
        for person in item.get("author", []):
            parts = [person[part] for part in ("literal", "family", "given", "suffix") if part in person]
            tags.append(("AU", ", ".join(parts)))
        if "issued" in item:
            year, month, day = (*(f"{part:02}" for part in item["issued"]["date-parts"][0]), "", "")[:3]
            tags += [("PY", year), ("DA", f"{year}/{month}/{day}/")]
        if pages := item.get("page"):
            first, last = ends[0] if (ends := _PAGES.findall(pages)) else (pages, "")
            tags += [("SP", first), ("EP", last)]
        tags += [("AN", item[name]) for name in ("number", "PMID", "PMCID") if name in item][:1]
        tags += [(ris, item[csl]) for _, csl, _, ris in FIELDS if ris and csl in item]
        written += [f"{tag}  - {value}\r\n" for tag, value in tags if value]
        written.append("ER  - \r\n\r\n")
    return "".join(written).encode(errors="replace")
