"""JSON of others: CSL-JSON, Zotero, Europe PMC, ClinicalTrials.gov; and Willowbark's own records.

https://citeproc-js.readthedocs.io/en/latest/csl-json/markup.html, https://www.zotero.org/support/dev/web_api/v3/basics,
https://europepmc.org/RestfulWebService
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..http.reply import at, dicts
from ..local_files import UnusableFile, parse_json
from ..records.evidence import UNKNOWN_DATE
from ..sources.studies.europepmc import parse_record
from .item import FileItem, FileRecord, RecordFields, UnreadableRecord, date_of_parts, publication_fields

_LISTS = (("studies",), ("resultList", "result"), ("items",), ("records",), ("references",))
_OWN_MARKS = ("asked_by", "citing", "metadata", "protocolSection")
_ERRORS = (ValueError, LookupError, TypeError, AttributeError)


def read_json(text: str) -> Iterator[FileItem]:
    """Yield the records of a JSON document, or of JSON lines; raises `UnusableFile` for JSON that holds none."""
    try:
        document = parse_json(text)
    except json.JSONDecodeError as error:
        lines = text.split("\n")
        if not is_json_object(lines[0]):
            raise UnusableFile(f"line {error.lineno}: is not JSON; the file may be cut") from None
        yield from _read_lines(lines)
        return
    except ValueError as error:
        raise UnusableFile(str(error)) from None
    for place, entry in enumerate(_entries_of(document), 1):
        yield _read_entry(entry, f"record {place}")


def is_json_object(line: str) -> bool:
    """Whether a line is a whole JSON object, as in JSON lines."""
    try:
        return isinstance(parse_json(line), dict)
    except ValueError:
        return False


def _read_lines(lines: list[str]) -> Iterator[FileItem]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            entry = parse_json(line)
        except json.JSONDecodeError:
            yield UnreadableRecord(place, "is not JSON; the file may be cut")
        except ValueError as error:
            yield UnreadableRecord(place, str(error))
        else:
            yield _read_entry(entry, place)


def _entries_of(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    for path in _LISTS:
        entries = at(document, *path)
        if isinstance(entries, list):
            return entries
    if isinstance(document, dict):
        return [document]
    raise UnusableFile("is a bare value, not a record")


def _read_entry(entry: Any, place: str) -> FileItem:
    if not isinstance(entry, dict):
        return UnreadableRecord(place, "is a bare value, not a record")
    try:
        fields = _fields_of(entry)
    except _ERRORS as error:
        return UnreadableRecord(place, f"is unreadable ({type(error).__name__})")
    if not fields:
        names = ", ".join(list(entry)[:5])
        return UnreadableRecord(place, f"is not a record that is known (fields: {names or 'none'})")
    return FileRecord(place, fields, own_names(entry))


def _fields_of(entry: dict[str, Any]) -> RecordFields:
    data = entry["data"] if isinstance(entry.get("data"), dict) else entry
    if not set(_OWN_MARKS).isdisjoint(data):
        return data
    if "authorString" in data or ("pmcid" in data and "source" in data) or "abstractText" in data:
        return _europepmc_fields(data)
    if "itemType" in data or "creators" in data or "abstractNote" in data:
        return _zotero_fields(data)
    if "container-title" in data or "issued" in data or isinstance(data.get("author"), list):
        return _csl_fields(data)
    if "title" in data:
        return own_fields(data)
    return {}


def own_fields(fields: RecordFields) -> RecordFields:
    """Return a record with the names of a library's line: `text` is its abstract, numbers may be given as numbers."""
    names = ("pmid", "doi", "pmcid", "date")
    texts = {name: str(fields[name]) for name in names if isinstance(fields.get(name), int)}
    if isinstance(fields.get("text"), str) and not fields.get("abstract"):
        texts["abstract"] = fields["text"]
    if isinstance(fields.get("publication_types"), str):
        types = re.split("[|;]", fields["publication_types"])
        return {**fields, **texts, "publication_types": [kind.strip() for kind in types if kind.strip()]}
    return {**fields, **texts} if texts else fields


def own_names(entry: Mapping[str, Any]) -> dict[str, str | int]:
    """Return what a record says of itself besides: `id` (or `key`), `drug` and `condition`."""
    names: dict[str, str | int] = {
        name: entry[name] for name in ("drug", "condition") if isinstance(entry.get(name), str)
    }
    number = entry.get("id") or entry.get("key")
    return {"id": number, **names} if isinstance(number, str | int) else names


def _csl_fields(item: dict[str, Any]) -> RecordFields:
    issued = at(item, "issued", "date-parts") or [[]]
    written = at(item, "issued", "raw") or at(item, "issued", "literal") or ""
    people = dicts(item, "author")
    names = [_name_of(person, "literal", "family", "given") for person in people]
    return publication_fields(
        title=_text(item.get("title")),
        texts=[_text(item.get("abstract"))],
        authors=names,
        date=date_of_parts(issued[0]) or str(written),
        pmid=_text(item.get("PMID")),
        pmcid=_text(item.get("PMCID")),
        doi=_text(item.get("DOI")),
        notes=[_text(item.get("note")), _text(item.get("URL"))],
        journal=_text(item.get("container-title")),
        journal_abbreviation=_text(item.get("container-title-short") or item.get("journalAbbreviation")),
        volume=_text(item.get("volume")),
        issue=_text(item.get("issue")),
        pages=_text(item.get("page")),
    )


def _zotero_fields(item: dict[str, Any]) -> RecordFields:
    if item.get("itemType") in ("attachment", "note", "annotation"):
        return {}
    creators = [creator for creator in dicts(item, "creators") if creator.get("creatorType", "author") == "author"]
    names = [_name_of(creator, "name", "lastName", "firstName") for creator in creators]
    return publication_fields(
        title=_text(item.get("title")),
        texts=[_text(item.get("abstractNote"))],
        authors=names,
        date=_text(item.get("date")),
        pmid=_text(item.get("PMID")),
        pmcid=_text(item.get("PMCID")),
        doi=_text(item.get("DOI")),
        notes=[_text(item.get("extra")), _text(item.get("url"))],
        journal=_text(item.get("publicationTitle")),
        journal_abbreviation=_text(item.get("journalAbbreviation")),
        volume=_text(item.get("volume")),
        issue=_text(item.get("issue")),
        pages=_text(item.get("pages")),
    )


def _europepmc_fields(hit: dict[str, Any]) -> RecordFields:
    record = parse_record({"source": "MED" if hit.get("pmid") else "", "id": hit.get("pmid") or "", **hit})
    paper = record.paper
    assert paper is not None
    names = ("pmid", "ppr_id", "pmcid", "doi", "journal", "journal_abbreviation", "volume", "issue", "pages")
    fields: RecordFields = {name: getattr(paper, name) for name in names}
    fields |= {"title": record.citation.title, "authors": record.citation.authors}
    fields |= {"abstract": record.content.partition("\n\n")[2], "publication_types": paper.publication_types}
    fields |= {"mesh_terms": paper.mesh_terms, "date": record.citation.date.replace(UNKNOWN_DATE, "")}
    return {name: value for name, value in fields.items() if value}


def _name_of(person: Mapping[str, Any], whole: str, last: str, first: str) -> str:
    return _text(person.get(whole)) or f"{_text(person.get(last))}, {_text(person.get(first))}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return _text(value[0]) if value else ""
    return str(value) if isinstance(value, str | int) else ""
