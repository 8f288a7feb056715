"""Records of lines that begin with a tag: RIS, MEDLINE (NBIB), Web of Science, and EndNote's export (`.enw`).

https://en.wikipedia.org/wiki/RIS_(file_format), https://www.nlm.nih.gov/bsd/mms/medlineelements.html,
https://images.webofknowledge.com/images/help/WOS/hs_wos_fieldtags.html,
https://support.clarivate.com/Endnote/s/article/EndNote-Import-Options
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..sources.publications import find_trial_numbers
from .item import FileItem, FileRecord, RecordFields, UnreadableRecord, publication_fields

Tags = Mapping[str, list[str]]
_RIS_LINE = re.compile(r"([A-Z][A-Z0-9]) {0,3}-(?: (.*)|$)")
_MEDLINE_LINE = re.compile(r"([A-Z]{2,4}) {0,2}- (.*)")
_WOS_LINE = re.compile(r"([A-Z][A-Z0-9])(?: (.*)|$)")
_ENW_LINE = re.compile(r"(%\S)(?: (.*)|$)")
_NUMBER = re.compile(r"\d+\.|<\s*\d+\s*>")
_LONGEST_FIELD = 400_000  # characters; longer ones, which are refused or cut later, would take long to join
_PUBMED = re.compile(r"medline|pubmed", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TaggedForm:
    """How the lines of a form are read."""

    name: str
    line: re.Pattern[str]
    """Groups: tag, value."""
    first: frozenset[str]
    """Tags that begin a record."""
    last: frozenset[str]
    """Tags that end one."""
    fields: Callable[[Tags], RecordFields]
    own_lines: frozenset[str] = frozenset()
    """Tags whose continued lines are values of their own."""


def read_tagged(text: str, form: TaggedForm) -> Iterator[FileItem]:
    """Yield the records of a text; lines between them that belong to none are told once, with the first of them.

    What stands before the first record is a program's word on the file: JabRef's, say.
    """
    tags: dict[str, list[str]] = {}
    tag = ""
    begun = 0
    stray = list[int]()
    for number, line in enumerate(text.split("\n"), 1):
        match = form.line.match(line)
        if match is None and not tag:
            if begun and line.strip() and not _NUMBER.fullmatch(line.strip()):  # Ovid numbers the records of its RIS
                stray.append(number)
        elif match is None:
            _continue_line(tags, tag, line, form)
        elif match[1] in form.last:
            yield from _record_of(tags, begun, form)
            tags = {}
            tag = ""
        else:
            if match[1] in form.first and form.first & tags.keys():
                yield from _record_of(tags, begun, form)
                tags = {}
            begun = begun if tags else number
            tag = match[1]
            tags.setdefault(tag, []).append((match[2] or "").strip())
    yield from _record_of(tags, begun, form)
    if stray:
        others = f", and {len(stray) - 1:,} other lines" if stray[1:] else ""
        yield UnreadableRecord(f"line {stray[0]}{others}", f"belongs to no record of {form.name}")


def _continue_line(tags: dict[str, list[str]], tag: str, line: str, form: TaggedForm) -> None:
    value = line.strip()
    if not value or _NUMBER.fullmatch(value):
        return
    if tag in form.own_lines:
        tags[tag].append(value)
    elif len(tags[tag][-1]) < _LONGEST_FIELD:
        tags[tag][-1] = f"{tags[tag][-1]} {value}".strip()


def _record_of(tags: Tags, begun: int, form: TaggedForm) -> Iterator[FileItem]:
    if not any(any(values) for name, values in tags.items() if name not in form.first) and "PMID" not in tags:
        return
    fields = form.fields(tags)
    number = _first(tags, "ID", "AN", "UT", "%M", "%F")
    if {"title", "pmid", "doi"}.isdisjoint(fields):
        yield UnreadableRecord(f"line {begun}", "neither title nor number")
    else:
        yield FileRecord(f"line {begun}", fields, {"id": number} if number else {})


def _first(tags: Tags, *names: str) -> str:
    """Return the first value of the first of these tags that has one."""
    return next(iter(_all(tags, *names)), "")


def _all(tags: Tags, *names: str) -> list[str]:
    values: list[str] = []
    for name in names:
        values += filter(None, tags.get(name, ()))
    return values


def _ris_fields(tags: Tags) -> RecordFields:
    is_pubmed = bool(_PUBMED.search(" ".join(_all(tags, "DB", "DP"))))
    pages = "-".join(_all(tags, "SP", "EP")[:2])
    return publication_fields(
        title=_first(tags, "TI", "T1", "CT", "BT"),
        texts=[*_all(tags, "AB"), *_all(tags, "N2")],
        authors=_all(tags, "AU") or _all(tags, "A1"),
        date=_ris_date(_first(tags, "DA", "Y1", "PY"), _first(tags, "PY", "Y1")),
        pmid=_first(tags, "AN", "ID") if is_pubmed else "",
        doi=_first(tags, "DO", "DI") or " ".join(value for value in _all(tags, "M3", "UR", "L3") if "10." in value),
        notes=_all(tags, "N1", "UR", "LK", "L2", "AN", "C2", "ID"),
        journal=_first(tags, "T2", "JF", "JO", "JA"),
        journal_abbreviation=_first(tags, "J2", "JA"),
        volume=_first(tags, "VL"),
        issue=_first(tags, "IS"),
        pages=pages,
        publication_types=_all(tags, "PT") + [kind for kind in _all(tags, "M3") if "10." not in kind],
    )


def _ris_date(date: str, year: str) -> str:
    """Read `2019/03/05/` and `2019///`; a date without its year, as `DA` may be, gives way to the year."""
    parts = [part for part in date.split("/") if part.strip()]
    if parts and parts[0].isdecimal() and len(parts[0]) == 4 and "".join(parts).isdecimal():
        return "-".join([parts[0], *(part.zfill(2) for part in parts[1:3])])
    return year.strip("/ ")


def _medline_fields(tags: Tags) -> RecordFields:
    numbers = [*_all(tags, "AID"), *_all(tags, "LID")]
    dois = [number.removesuffix("[doi]").strip() for number in numbers if number.endswith("[doi]")]
    return publication_fields(
        title=_first(tags, "TI", "BTI", "TT"),
        texts=_all(tags, "AB"),
        authors=_all(tags, "AU") or _all(tags, "FAU"),
        date=_first(tags, "DP"),
        pmid=_first(tags, "PMID"),
        pmcid=_first(tags, "PMC"),
        doi=next(iter(dois), ""),
        journal=_first(tags, "JT"),
        journal_abbreviation=_first(tags, "TA"),
        volume=_first(tags, "VI"),
        issue=_first(tags, "IP"),
        pages=_first(tags, "PG"),
        publication_types=_all(tags, "PT"),
        mesh_terms=list(dict.fromkeys(value.split("/")[0].strip("* ") for value in _all(tags, "MH"))),
        nct_ids=find_trial_numbers(*_all(tags, "SI")),
    )


def _wos_fields(tags: Tags) -> RecordFields:
    return publication_fields(
        title=" ".join(_all(tags, "TI")),
        texts=[" ".join(_all(tags, "AB"))],
        authors=_all(tags, "AU"),
        date=_first(tags, "PY"),
        pmid=_first(tags, "PM"),
        doi=_first(tags, "DI"),
        journal=" ".join(_all(tags, "SO")),
        journal_abbreviation=_first(tags, "JI"),
        volume=_first(tags, "VL"),
        issue=_first(tags, "IS"),
        pages="-".join(_all(tags, "BP", "EP")),
        publication_types=[kind.strip() for kind in " ".join(_all(tags, "DT")).split(";") if kind.strip()],
    )


def _enw_fields(tags: Tags) -> RecordFields:
    return publication_fields(
        title=_first(tags, "%T", "%!"),
        texts=_all(tags, "%X"),
        authors=_all(tags, "%A"),
        date=_first(tags, "%D"),
        doi=_first(tags, "%R"),
        notes=_all(tags, "%M", "%U", "%Z", "%2"),
        pmid=_first(tags, "%M") if _PUBMED.search(" ".join(_all(tags, "%~", "%W"))) else "",
        journal=_first(tags, "%J", "%B"),
        volume=_first(tags, "%V"),
        issue=_first(tags, "%N"),
        pages=_first(tags, "%P"),
    )


RIS = TaggedForm("RIS", _RIS_LINE, frozenset({"TY"}), frozenset({"ER"}), _ris_fields)
MEDLINE = TaggedForm("MEDLINE", _MEDLINE_LINE, frozenset({"PMID"}), frozenset(), _medline_fields)
WEB_OF_SCIENCE = TaggedForm(
    "Web of Science", _WOS_LINE, frozenset({"PT"}), frozenset({"ER", "EF", "FN", "VR"}), _wos_fields,
    frozenset({"AU", "AF"}),
)  # fmt: skip
ENDNOTE_TAGS = TaggedForm("EndNote", _ENW_LINE, frozenset({"%0"}), frozenset(), _enw_fields)
