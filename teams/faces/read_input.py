"""Records of a file, one at a time: JSON lines, PubMed XML, RIS or CSV, in constant memory.

RIS as reference managers write it: https://en.wikipedia.org/wiki/RIS_(file_format). A record that cannot be read is
told with its line, and costs itself alone.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Literal, get_args

from willowbark.tools.errors import SearchError, UsageError
from willowbark.tools.sources.studies.pubmed_record import parse_articles

Format = Literal["jsonl", "xml", "ris", "csv"]
_ENDINGS: dict[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".xml": "xml", ".ris": "ris", ".csv": "csv", ".tsv": "csv",
}  # fmt: skip
_LONGEST = 16_000_000  # bytes of one record; longer ones are refused unread
_NAMES = {
    "id": ("id", "pmid", "key", "accession number", "doi"),
    "title": ("title", "article title", "primary title"),
    "text": ("text", "abstract", "abstract note"),
    "drug": ("drug",),
    "condition": ("condition",),
    "publication_types": ("publication_types", "publication type", "publication types"),
}
"""What a column or field may be called, in lower case; the first that is there counts."""
_RIS_TAG = re.compile(r"([A-Z][A-Z0-9])  -(?: (.*))?$")
_RIS_FIELDS = {
    "title": ("TI", "T1", "CT"),
    "text": ("AB", "N2"),
    "id": ("AN", "C7", "ID", "DO"),
    "publication_types": ("M3",),
}
_ARTICLE = re.compile(rb"<(PubmedArticle|PubmedBookArticle)[\s>]")


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of an input file."""

    id: str | int
    """As the file gives it; the record's number in the file where it gives none."""
    title: str
    text: str
    drug: str | None = None
    condition: str | None = None
    publication_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unread:
    """A record that cannot be read."""

    line: int
    """Where it begins, from 1."""
    why: str


def format_of(path: Path, named: str | None) -> Format:
    """The form of a file: as named, else by its ending; standard input is JSON lines.

    Raises:
        UsageError: neither tells.
    """
    if named is not None:
        if named not in get_args(Format):
            raise UsageError(f"--format {named} is not known; it is one of {', '.join(get_args(Format))}")
        return named  # type: ignore[return-value]  # one of them, as the line above makes sure
    if str(path) == "-":
        return "jsonl"
    if path.suffix.lower() not in _ENDINGS:
        raise UsageError(f"the ending of {path.name} tells no form; say --format {'|'.join(get_args(Format))}")
    return _ENDINGS[path.suffix.lower()]


def entries(stream: BufferedIOBase, form: Format) -> Iterator[Entry | Unread]:
    """Read the records of a stream of bytes in order.

    Raises:
        UsageError: the file as a whole is not of this form (a table without a title or text, XML without articles).
    """
    readers: dict[Format, Callable[[BufferedIOBase], Iterator[Entry | Unread]]] = {
        "jsonl": _json_lines, "xml": _pubmed_xml, "ris": _ris, "csv": _table,
    }  # fmt: skip
    return readers[form](stream)


def _lines(stream: BufferedIOBase) -> Iterator[tuple[int, bytes | None]]:
    """The lines with their numbers; None in place of one that is too long."""
    number = 0
    while line := stream.readline(_LONGEST):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) < _LONGEST:
            yield number, line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(_LONGEST)
        yield number, None


def _json_lines(stream: BufferedIOBase) -> Iterator[Entry | Unread]:
    order = 0
    for number, line in _lines(stream):
        if line is not None and not line.strip():
            continue
        order += 1
        if line is None:
            yield Unread(number, "longer than 16 MB")
            continue
        try:
            row = json.loads(line)
        except UnicodeDecodeError:
            yield Unread(number, "not UTF-8")
        except (ValueError, RecursionError) as error:
            yield Unread(number, f"not JSON ({error})")
        else:
            yield _entry(row, number, order)


def _entry(row: Any, line: int, order: int) -> Entry | Unread:
    """A record from its fields by name."""
    if not isinstance(row, dict):
        return Unread(line, "not an object")
    fields = {str(name).strip().lower(): value for name, value in row.items()}
    found = {field: next((fields[name] for name in names if name in fields), None) for field, names in _NAMES.items()}
    for name in ("title", "text", "drug", "condition"):
        value = found[name]
        if value is not None and not isinstance(value, str):
            return Unread(line, f"{name} is not text")
    types = found["publication_types"] or ()
    types = [each.strip() for each in types.replace("|", ";").split(";")] if isinstance(types, str) else types
    if not isinstance(types, list | tuple) or not all(isinstance(kind, str) for kind in types):
        return Unread(line, "publication_types is not a list of texts")
    title, text = str(found["title"] or "").strip(), str(found["text"] or "")
    if not title and not text.strip():
        return Unread(line, "neither title nor text")
    own = found["id"]
    if own is None or own == "":
        own = str(order)
    if isinstance(own, bool) or not isinstance(own, str | int):
        return Unread(line, "id is neither text nor a number")
    drug, condition = (str(found[name] or "").strip() or None for name in ("drug", "condition"))
    entry = Entry(own, title, text, drug, condition, tuple(kind for kind in types if kind))
    try:
        repr_of = f"{own}{title}{text}{drug}{condition}".encode()
    except UnicodeEncodeError:
        return Unread(line, "holds half a character (a lone surrogate)")
    return entry if len(repr_of) < _LONGEST else Unread(line, "longer than 16 MB")


def _decoded(stream: BufferedIOBase) -> Iterator[tuple[int, str]]:
    """Lines as text: UTF-8, else Windows-1252, which spreadsheets and older reference managers write."""
    for number, line in _lines(stream):
        if line is None:
            raise UsageError(f"line {number} is longer than 16 MB")
        try:
            yield number, line.decode()
        except UnicodeDecodeError:
            yield number, line.decode("cp1252", errors="replace")


def _table(stream: BufferedIOBase) -> Iterator[Entry | Unread]:
    csv.field_size_limit(_LONGEST)
    lines = _decoded(stream)
    first = next(lines, (1, ""))[1]
    mark = max((",", "\t", ";"), key=first.count)
    header = [name.strip().lower() for name in next(csv.reader([first], delimiter=mark), [])]
    if first.strip() and not set(header) & {*_NAMES["title"], *_NAMES["text"]}:
        raise UsageError("the table's first line names neither a column title nor a column text or abstract")
    rows = csv.reader((line for _, line in lines), delimiter=mark)
    order = 0
    while True:
        line = rows.line_num + 2
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            order += 1
            yield Unread(line, f"not CSV ({error})")
            continue
        if not any(cell.strip() for cell in row):
            continue
        order += 1
        if len(row) > len(header):
            yield Unread(line, f"{len(row)} cells under {len(header)} columns")
        else:
            yield _entry(dict(zip(header, row, strict=False)), line, order)


def _ris(stream: BufferedIOBase) -> Iterator[Entry | Unread]:
    fields: dict[str, list[str]] = {}
    begun, order, tag = 0, 0, ""
    for number, line in _decoded(stream):
        found = _RIS_TAG.match(line.rstrip("\r\n"))
        if found is None:
            if tag and line.strip():  # some programs break long fields over lines
                fields[tag][-1] = f"{fields[tag][-1]} {line.strip()}"
            elif line.strip() and not fields:
                raise UsageError(f"line {number} is no RIS: a record begins with 'TY  - '")
            continue
        tag = found[1]
        if tag == "TY":
            if fields:
                order += 1
                yield Unread(begun, "no 'ER  -' ends it")
            fields, begun = {}, number
        fields.setdefault(tag, []).append((found[2] or "").strip())
        if tag == "ER":
            order += 1
            yield _entry(_ris_row(fields), begun, order)
            fields, tag = {}, ""
    if fields:
        yield Unread(begun, "no 'ER  -' ends it")


def _ris_row(fields: Mapping[str, list[str]]) -> dict[str, Any]:
    def first(tags: Iterable[str]) -> str:
        return next((value for tag in tags for value in fields.get(tag, ()) if value), "")

    row: dict[str, Any] = {name: first(tags) for name, tags in _RIS_FIELDS.items()}
    row["publication_types"] = [kind for kind in fields.get("M3", ()) if kind]
    return row


def _pubmed_xml(stream: BufferedIOBase) -> Iterator[Entry | Unread]:
    order = 0
    for line, article in _articles(stream):
        order += 1
        if article is None:
            yield Unread(line, "an article that does not end, or is longer than 16 MB")
            continue
        try:
            parsed = parse_articles(b"<PubmedArticleSet>" + article + b"</PubmedArticleSet>")
        except SearchError as error:
            yield Unread(line, error.reason)
            continue
        if not parsed.records:
            yield Unread(line, parsed.unread[0] if parsed.unread else "no article")
            continue
        record = parsed.records[0]
        title = record.citation.title
        _, _, text = record.content.partition("\n\n")
        types = record.paper.publication_types if record.paper else []
        row = {"id": record.record.pmid, "title": title, "text": text, "publication_types": types}
        yield _entry(row, line, order)
    if not order:
        raise UsageError("the XML holds no PubMed articles")


def _articles(stream: BufferedIOBase) -> Iterator[tuple[int, bytes | None]]:
    """The XML of each article with the line it begins on; None for one that is cut or too long."""
    held, line, skipping = b"", 1, b""
    while True:
        chunk = stream.read(1 << 16)
        held += chunk
        while True:
            if skipping:
                end = held.find(skipping)
                if end < 0:
                    keep = len(held) - len(skipping)
                    line, held = line + held.count(b"\n", 0, max(0, keep)), held[max(0, keep) :]
                    break
                line, held, skipping = line + held.count(b"\n", 0, end), held[end + len(skipping) :], b""
            begin = _ARTICLE.search(held)
            if begin is None:
                keep = max(0, len(held) - 64)
                line, held = line + held.count(b"\n", 0, keep), held[keep:]
                break
            closing = b"</" + begin[1] + b">"
            end = held.find(closing, begin.end())
            if end < 0:
                if len(held) - begin.start() < _LONGEST:
                    break
                yield line + held.count(b"\n", 0, begin.start()), None
                skipping = closing
                continue
            end += len(closing)
            yield line + held.count(b"\n", 0, begin.start()), held[begin.start() : end]
            line, held = line + held.count(b"\n", 0, end), held[end:]
        if not chunk:
            if begin := _ARTICLE.search(held):
                yield line + held.count(b"\n", 0, begin.start()), None
            return
