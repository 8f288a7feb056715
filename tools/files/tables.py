"""Tables: CSV of PubMed and ClinicalTrials.gov, Web of Science with tabs, tables of one's own; and lists of numbers."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping

from ..arguments import as_code, read_phases
from ..records.evidence import checked_identifier
from .item import FileItem, FileRecord, RecordFields, UnreadableRecord, publication_fields
from .studies import PHASES, study_of_facts

_LONGEST_CELL = 16_000_000  # characters
TITLES = ("title", "article title", "primary title", "ti", "t1", "ct", "btl", "document title", "study title")
_TEXTS = ("text", "abstract", "abstract note", "ab", "n2")
_TYPES = ("publication_types", "publication type", "publication types", "document type", "item type", "pt", "dt", "m3")
_AUTHORS = ("authors", "author", "author names", "au")
_DATES = ("date", "publication date", "publication year", "year", "py")
_JOURNALS = ("journal", "journal/book", "journal title", "publication title", "source title", "so", "source")
_PMIDS = ("pmid", "pubmed id", "pubmed_id", "pubmedid", "medline pmid", "pm")
_DOIS = ("doi", "do", "di", "doi link")
_TRIALS = ("nct number", "nct id", "nct_id", "nctid", "nct")
_NUMBERS = (*_PMIDS, *_DOIS, *_TRIALS, "pmcid", "pmc id")
_OWN_NUMBERS = ("id", "key", "accession number", "an", "ut", "c7")
KNOWN_COLUMNS = frozenset((*TITLES, *_TEXTS, *_NUMBERS))
_NUMBER_KINDS = {"pmid": "pmid", "nct_id": "nct", "doi": "doi", "pmcid": "pmcid"}
_TOKEN = re.compile(r"[^\s,;|\t]+")
_PREFIX = re.compile(r"\s*\b(?:PMID|doi)\s*:\s*", re.IGNORECASE)
_SHORTEST_PMID = 5  # digits that are taken for one where nothing says so: counts and years are shorter


def csv_rows(lines: Iterable[str]) -> tuple[list[str], Iterator[tuple[int, dict[str, str] | str]]]:
    """Parse a table separated by commas, semicolons or tabs.

    Returns:
        The headings in lower case, and for each non-empty row its line number, and its cells by heading or why it
        cannot be read.
    """
    csv.field_size_limit(_LONGEST_CELL)
    left = iter(lines)
    first = next(left, "")
    mark = max(",;\t", key=first.count)
    header = [name.strip().lower() for name in next(csv.reader([first], delimiter=mark), [])]

    def read_rows() -> Iterator[tuple[int, dict[str, str] | str]]:
        rows = csv.reader(left, delimiter=mark)
        while True:
            number = rows.line_num + 2
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield number, f"not CSV ({error})"
                continue
            extra = cells[len(header) :]
            if any(cell.strip() for cell in extra):
                yield number, f"{len(cells)} cells under {len(header)} columns"
            elif any(cell.strip() for cell in cells):
                yield number, dict(zip(header, cells, strict=False))

    return header, read_rows()


def is_table(first_line: str) -> bool:
    """Whether a first line has headings of which one is known."""
    header, _ = csv_rows([first_line])
    return not KNOWN_COLUMNS.isdisjoint(header)


def read_table(text: str) -> Iterator[FileItem]:
    """Yield the records of a table: trials where there is a column of NCT numbers and none of PMIDs."""
    header, rows = csv_rows(text.splitlines(keepends=True))
    is_of_trials = not set(_TRIALS).isdisjoint(header) and set(_PMIDS).isdisjoint(header)
    for number, row in rows:
        place = f"line {number}"
        if isinstance(row, str):
            yield UnreadableRecord(place, row)
            continue
        cells = {name: value.strip() for name, value in row.items() if value.strip()}
        fields = _trial_fields(cells) if is_of_trials else _publication_fields(cells)
        if fields:
            yield FileRecord(place, fields, _own_of(cells))
        else:
            yield UnreadableRecord(place, "neither title nor number")


def _own_of(cells: Mapping[str, str]) -> dict[str, str]:
    own = {"id": _first(cells, _OWN_NUMBERS), "drug": cells.get("drug", ""), "condition": cells.get("condition", "")}
    return {name: value for name, value in own.items() if value}


def _first(cells: Mapping[str, str], names: Iterable[str]) -> str:
    return next((cells[name] for name in names if name in cells), "")


def _publication_fields(cells: Mapping[str, str]) -> RecordFields:
    types = re.split("[|;]", _first(cells, _TYPES))
    return publication_fields(
        title=_first(cells, TITLES),
        texts=[_first(cells, _TEXTS)],
        authors=_split_authors(_first(cells, _AUTHORS)),
        date=_first(cells, _DATES),
        pmid=_first(cells, _PMIDS),
        pmcid=_first(cells, ("pmcid", "pmc id")),
        doi=_first(cells, _DOIS),
        notes=[_first(cells, ("url", "link"))],
        journal=_first(cells, _JOURNALS),
        publication_types=[kind.strip() for kind in types if kind.strip()],
    )


def _split_authors(cell: str) -> list[str]:
    """Split a cell: by semicolons, else, where names are `Surname AB`, by commas."""
    if ";" in cell:
        return [name.strip() for name in cell.split(";")]
    names = [name.strip(" .") for name in cell.split(",")]
    are_whole = [name for name in names if " " in name]
    return names if len(are_whole) == len(names) else [cell]


def _trial_fields(cells: Mapping[str, str]) -> RecordFields:
    number = checked_identifier("nct_id", _first(cells, _TRIALS))
    title = _first(cells, ("study title", "title", "brief title"))
    if number is None:
        return {}
    if not title:
        return {"nct_id": number}
    results = _first(cells, ("study results",)).lower()
    return study_of_facts(
        nct_id=number,
        title=title,
        acronym=cells.get("acronym", ""),
        status=as_code(_first(cells, ("study status", "status", "overall status"))),
        summary=_first(cells, ("brief summary", "summary")),
        conditions=_split(cells.get("conditions", "")),
        interventions=_split(cells.get("interventions", "")),
        outcomes=_split(_first(cells, ("primary outcome measures", "outcome measures"))),
        secondary=_split(cells.get("secondary outcome measures", "")),
        sponsor=_first(cells, ("sponsor", "sponsor/collaborators", "lead sponsor")).split("|")[0],
        phases=read_phases(_first(cells, ("phases", "phase")).replace("|", "/"), PHASES),
        enrollment=cells.get("enrollment", ""),
        study_type=as_code(cells.get("study type", "")).removesuffix("_STUDY"),
        design=_design(_first(cells, ("study design", "study designs"))),
        start=cells.get("start date", ""),
        completion=cells.get("completion date", ""),
        updated=_first(cells, ("last update posted", "last update")),
        has_results={"yes": True, "has results": True, "no": False, "no results available": False}.get(results),
    )


def _split(cell: str) -> list[str]:
    return [part.strip() for part in cell.split("|") if part.strip()]


def _design(cell: str) -> dict[str, str]:
    """Read `Allocation: RANDOMIZED|Masking: DOUBLE (…)|Primary Purpose: TREATMENT`."""
    parts = [part.partition(":") for part in cell.split("|")]
    return {name.strip().lower(): value.partition("(")[0].strip() for name, _, value in parts if value.strip()}


def numbers_of(line: str) -> list[RecordFields] | None:
    """Return the numbers of a line of a list (PMID, NCT number, DOI, PMCID); None if it holds anything else."""
    numbers = list[RecordFields]()
    for token in _TOKEN.findall(_PREFIX.sub(" ", line)):
        value = token.strip("\"'")
        kind = next((kind for kind in _NUMBER_KINDS if checked_identifier(kind, value)), None)
        if kind is None or (len(value) < _SHORTEST_PMID and not _PREFIX.match(line)):
            return None
        numbers.append({kind: checked_identifier(kind, value)})
    return numbers


def is_list(text: str) -> bool:
    """Whether a text is a list of numbers: none of its first lines, but for a heading, holds anything else."""
    lines = [line for line in text.split("\n")[:50] if line.strip()]
    readable = [line for line in lines if numbers_of(line) is not None]
    return bool(readable) and len(readable) >= max(1, len(lines) - 1)


def read_list(text: str) -> Iterator[FileItem]:
    """Yield the numbers of a list."""
    for place, line in enumerate(text.split("\n"), 1):
        numbers = numbers_of(line)
        if numbers is None and place > 1:
            yield UnreadableRecord(f"line {place}", "neither a PMID, a PMCID, an NCT number nor a DOI")
        for fields in numbers or ():
            yield FileRecord(f"line {place}", fields)
