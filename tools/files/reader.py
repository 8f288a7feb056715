"""The one reader of files of records: by content, one record at a time, within bounds."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..local_files import MAX_LINE_BYTES, UnusableFile, open_content, open_lines, open_pieces, parse_json
from .bibtex import read_bibtex
from .content import ContentPart, decode_text, read_parts, read_stream
from .form import HEAD_BYTES, Form, find_form
from .item import FileItem, FileRecord, UnreadableRecord, publication_fields
from .markup import read_endnote, read_studies
from .portable import read_pdf
from .pubmed_set import Article, BadFile, Unread, read_set
from .structured import own_fields, own_names, read_json
from .tables import read_list, read_table
from .tagged import ENDNOTE_TAGS, MEDLINE, RIS, WEB_OF_SCIENCE, read_tagged

_TAGGED = {"ris": RIS, "medline": MEDLINE, "wos": WEB_OF_SCIENCE, "enw": ENDNOTE_TAGS}
_PUBTATOR = re.compile(r"(\d{1,9})\|([ta])\|(.*)")
_READING_PMID = re.compile(r"^PMID: (\d{1,8})\b", re.MULTILINE)


def form_of_file(path: Path) -> Form:
    """Return the form of a file; raises `UnusableFile` where it cannot be opened, or is of none that is known."""
    with open_content(path) as (stream, _):
        head = stream.read(HEAD_BYTES)
    return _form_of_bytes(head, path.name)


def _form_of_bytes(head: bytes, name: str) -> Form:
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    if b"%PDF-" in head[:1024]:
        return "pdf"
    try:
        return find_form(decode_text(head), name)
    except UnusableFile:
        if "\0" in head.decode("latin-1") and name.removesuffix(".gz").endswith((".jsonl", ".ndjson")):
            return "lines"
        raise


def is_plain(path: Path) -> bool:
    """Whether the texts of a file may be read line by line: it is not in UTF-16 or UTF-32."""
    with open_content(path) as (stream, _):
        return not stream.read(4).startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"))


def read_records(path: Path) -> Iterator[FileItem]:
    """Yield the records of a file, of whatever form, also in a zip archive or gzip.

    JSON lines and PubMed's sets are read in pieces, and may be of any size; other files have at most 256 MB of content.

    Raises:
        UnusableFile: it cannot be read, or not to its end; the message says why in a few words, without its name.
    """
    form = form_of_file(path)
    if form == "lines" and is_plain(path):
        yield from _read_lines(path)
    elif form == "pubmed":
        with open_pieces(path) as pieces:
            yield from _read_articles(pieces)
    else:
        yield from _read_all(read_parts(path), path.name)


def read_records_of(stream: BinaryIO, name: str = "") -> Iterator[FileItem]:
    """Yield the records of a stream, which is read as a whole; raises as `read_records`."""
    yield from _read_all(read_stream(stream), name)


def _read_all(parts: Iterator[ContentPart], name: str) -> Iterator[FileItem]:
    for part in parts:
        if not part.name:
            if isinstance(part.content, UnusableFile):
                raise part.content
            yield from _read_content(part.content, name)
            continue
        try:
            if isinstance(part.content, UnusableFile):
                raise part.content
            for item in _read_content(part.content, part.name):
                yield _at(f"{part.name}, {item.place}", item)
        except UnusableFile as error:
            yield UnreadableRecord(part.name, str(error))


def _at(place: str, item: FileItem) -> FileItem:
    if isinstance(item, UnreadableRecord):
        return UnreadableRecord(place, item.why)
    return FileRecord(place, item.fields, item.own)


def _read_content(content: bytes, name: str) -> Iterator[FileItem]:
    form = _form_of_bytes(content[:HEAD_BYTES], name)
    if form == "zip":
        raise UnusableFile("is an archive within an archive; unpack it")
    if form == "pdf":
        yield read_pdf(content)
    elif form == "pubmed":
        yield from _read_articles(iter([content]))
    elif form == "endnote":
        yield from read_endnote(content)
    elif form == "studies":
        yield from read_studies(content)
    else:
        yield from _read_text(decode_text(content), form)


def _read_text(text: str, form: Form) -> Iterator[FileItem]:
    if form in _TAGGED:
        yield from read_tagged(text, _TAGGED[form])
    elif form == "bibtex":
        yield from read_bibtex(text)
    elif form == "pubtator":
        yield from _read_pubtator(text)
    elif form == "table":
        yield from read_table(text)
    elif form == "list":
        yield from read_list(text)
    elif form == "abstracts":
        for number in dict.fromkeys(_READING_PMID.findall(text)):
            yield FileRecord(f"PMID {number}", {"pmid": number})
    else:
        yield from read_json(text)


def _read_articles(pieces: Iterator[bytes]) -> Iterator[FileItem]:
    place = 0
    try:
        for entry in read_set(pieces):
            place += 1
            if isinstance(entry, Article):
                yield FileRecord(f"record {place}", entry.facts)
            elif isinstance(entry, Unread):
                yield UnreadableRecord(f"record {place}", entry.why)
    except BadFile as error:
        if not place:
            raise UnusableFile(str(error)) from None
        yield UnreadableRecord(f"record {place + 1}", f"the file {error}")


def _read_lines(path: Path) -> Iterator[FileItem]:
    with open_lines(path) as lines:
        for number, line in lines:
            if line is None or line.strip():
                yield read_line(line, f"line {number}")


def read_line(line: bytes | None, place: str) -> FileItem:
    """Read a record of JSON lines; None is a line that is too long."""
    if line is None:
        return UnreadableRecord(place, f"longer than {MAX_LINE_BYTES >> 20} MB")
    try:
        fields = parse_json(line.decode("utf-8-sig"))
    except ValueError:
        return UnreadableRecord(place, "not JSON in UTF-8")
    if not isinstance(fields, dict):
        return UnreadableRecord(place, "not an object")
    return FileRecord(place, own_fields(fields), own_names(fields))


def _read_pubtator(text: str) -> Iterator[FileItem]:
    """Yield the abstracts of PubTator (`PMID|t|title`, `PMID|a|abstract`); its annotations are passed over."""
    texts: dict[str, dict[str, str]] = {}
    begun: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = _PUBTATOR.match(line)
        if match:
            begun.setdefault(match[1], number)
            texts.setdefault(match[1], {})[match[2]] = match[3].strip()
    for pmid, parts in texts.items():
        fields = publication_fields(title=parts.get("t", ""), texts=[parts.get("a", "")], pmid=pmid)
        yield FileRecord(f"line {begun[pmid]}", fields, {"id": pmid})
