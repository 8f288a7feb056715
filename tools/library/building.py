"""Builds a library from PubMed's baseline and update files (`pubmedYYnNNNNN.xml.gz`, some 30,000 articles each).

A library is a folder with an index and a manifest of the files in it. A file counts once it is read to its end: then
the index is committed and the manifest written, in this order. After an interruption, building resumes with the same
file; reading a file again changes nothing, since the last version in the last file counts. Each article is parsed
alone, by the function that reads PubMed's replies: a broken one affects no other, and memory holds one at a time.
https://pubmed.ncbi.nlm.nih.gov/download/
"""

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from tantivy import Index, Query

from ..errors import UsageError
from ..files.pubmed_set import BadFile, Deletion, Unread, read_medline
from ..local_files import UnusableFile, open_regular, read_whole
from ..whole_file import write_file
from .index import (
    BUILT_INDEX,
    FORMAT,
    MANIFEST,
    damaged_manifest,
    document_of,
    english_words,
    library_schema,
    open_index,
    read_manifest,
)
from .rows import ArticleRow, row_of

_HEAP_BYTES = 200_000_000  # room for one PubMed file, so that each becomes one index segment
_MOST_NAMED = 5
_HEAD = 4096
_MD5 = re.compile(r"\b[0-9a-f]{32}\b", re.IGNORECASE)


@dataclass
class Manifest:
    """The files that a library was built from."""

    format: int = FORMAT
    records: int = 0
    updated: str = ""
    """When the last file was added: `2026-01-31T08:00:00Z`."""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name: size in bytes, MD5, articles, deletions, articles that could not be read."""
    refused: dict[str, str] = field(default_factory=dict)
    """Files that were left out, and why."""
    versions: dict[str, int] = field(default_factory=dict)
    """Version number of each article that has several, by PMID."""
    deleted: dict[str, str] = field(default_factory=dict)
    """By PMID, the file that deleted the article."""

    @classmethod
    def of(cls, folder: Path) -> "Manifest":
        """Read the manifest of a library; raises as `read_manifest`."""
        try:
            return TypeAdapter(cls).validate_python(read_manifest(folder))
        except ValidationError:
            raise damaged_manifest(folder) from None

    def write(self, folder: Path) -> None:
        write_file(folder / MANIFEST, json.dumps(asdict(self)).encode())


@dataclass(frozen=True, slots=True)
class BuildProgress:
    file: str
    said: str
    place: int
    files: int
    records_per_s: float
    left_s: float


def build_library(
    folder: Path,
    source: Path,
    tell: Callable[[BuildProgress], None] = lambda _: None,
    *,
    must_exist: bool = False,
) -> Manifest:
    """Add the files of a folder to a library, in the order of their names.

    Args:
        folder: folder of the library; created if missing.
        source: folder of `*.xml.gz` or `*.xml` files, with optional `.md5` files.
        tell: called after each step.
        must_exist: whether the library must exist already.

    Returns:
        Manifest: the final state; `refused` lists the files left out.

    Raises:
        UsageError: a folder cannot be read or written, the library is damaged or of another format, or another
            process is building it.
    """
    try:
        files = sorted(path for path in source.iterdir() if path.name.endswith((".xml.gz", ".xml")))
    except OSError as error:
        raise UsageError(f"{source}: cannot be read ({error.strerror})") from None
    if not files:
        raise UsageError(f"{source}: holds no PubMed files (.xml.gz or .xml)")
    is_there = must_exist or os.path.lexists(folder / MANIFEST)
    held = Manifest.of(folder) if is_there else Manifest()
    try:
        (folder / BUILT_INDEX).mkdir(parents=True, exist_ok=True)
        index = open_index(folder) if is_there else Index(library_schema(), str(folder / BUILT_INDEX))
        index.register_tokenizer("english", english_words())
        writer = index.writer(_HEAP_BYTES, num_threads=1)
        writer.garbage_collect_files()  # those that a killed build left would be in the way
        held.refused = {}
        waiting = [file for file in files if not _is_in(file, held)]
        sizes = [_size_of(file) for file in waiting]
        began, read = time.monotonic(), 0
        for place, file in enumerate(waiting, 1):
            try:
                read += _take_in(file, index, writer, held)
                held.records = index.searcher().num_docs
                held.updated = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                said = f"{held.files[file.name]['articles']:,} articles"
            except BadFile as error:
                writer.rollback()
                held.refused[file.name] = said = str(error)
            held.write(folder)
            took = max(time.monotonic() - began, 1e-9)
            left = took / max(1, sum(sizes[:place])) * sum(sizes[place:])
            tell(BuildProgress(file.name, said, place, len(waiting), read / took, left))
        writer.wait_merging_threads()
        held.write(folder)
    except (OSError, ValueError) as error:  # tantivy's own errors are ValueErrors
        why = getattr(error, "strerror", None) or str(error)
        if isinstance(error, ValueError) and (left := shutil.disk_usage(folder).free) < _HEAP_BYTES:
            why = f"{left / 1e6:.0f} MB are left on the disk"
        why = "another process is building it" if "lock" in why.lower() else why
        raise UsageError(f"library {folder}: cannot be written ({why}); the same command goes on from there") from None
    return held


def _is_in(file: Path, held: Manifest) -> bool:
    """Whether a file is in the library already; one whose size has changed is reported and left out."""
    if (known := held.files.get(file.name)) is None:
        return False
    if known["bytes"] != _size_of(file):
        held.refused[file.name] = "is another file than the one of this name that was read"
    return True


def _size_of(file: Path) -> int:
    """Return a file's size; 0 if it cannot be told, as of a link to nothing."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def checked_md5(file: Path) -> str:
    """Return the MD5 of a file, checked against its `.md5` file if there is one; raises `BadFile` if they differ."""
    try:
        with open_regular(file) as stream:
            found = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        beside = file.with_name(f"{file.name}.md5")
        if os.path.lexists(beside):
            due = _MD5.search(read_whole(beside, _HEAD).decode("ascii", "replace"))
            if due is None or due[0].lower() != found:
                raise BadFile("is cut or damaged: its MD5 differs from that of its .md5 file")
    except OSError as error:
        raise BadFile(f"cannot be read ({error.strerror})") from None
    except UnusableFile as error:
        raise BadFile(str(error)) from None
    return found


def _take_in(file: Path, index: Index, writer: Any, held: Manifest) -> int:
    """Add the articles of a file to the index and the manifest; returns their number.

    Raises:
        BadFile: it cannot be read to its end; the manifest is unchanged, the writer has to be rolled back.
    """
    md5 = checked_md5(file)
    is_late = any(other > file.name for other in held.files)
    later = index.searcher() if is_late else None
    versions, deleted = dict(held.versions), dict(held.deleted)
    articles, gone, unread = 0, 0, list[str]()
    for each in read_medline(file):
        if isinstance(each, Unread):
            unread.append(each.why)
            continue
        if later is not None and _file_of(index, later, each.pmid, deleted) > file.name:
            continue
        if isinstance(each, Deletion):
            writer.delete_documents_by_term("name", f"pmid:{each.pmid}")
            versions.pop(each.pmid, None)
            deleted[each.pmid] = file.name
            gone += 1
            continue
        if each.version < versions.get(each.pmid, 1):
            continue
        if each.version > 1:
            versions[each.pmid] = each.version
        deleted.pop(each.pmid, None)
        writer.delete_documents_by_term("name", f"pmid:{each.pmid}")
        row = ArticleRow.model_construct(facts=each.facts)
        writer.add_document(document_of(row.indexed(), to_json({**each.facts, "file": file.name})))
        articles += 1
    writer.commit()
    index.reload()
    held.versions, held.deleted = versions, deleted
    told = {"bytes": file.stat().st_size, "md5": md5, "articles": articles, "deleted": gone, "unread": len(unread)}
    held.files[file.name] = {**told, "unread_first": unread[:_MOST_NAMED]}
    return articles


def _file_of(index: Index, searcher: Any, pmid: str, deleted: dict[str, str]) -> str:
    """Return the last file that contains or deletes an article; empty if there is none."""
    hits = searcher.search(Query.term_query(index.schema, "name", f"pmid:{pmid}"), limit=1).hits
    if not hits:
        return deleted.get(pmid, "")
    row = row_of(searcher.doc(hits[0][1])["record"][0].decode())
    assert isinstance(row, ArticleRow)
    return str(row.file)


def verify_library(folder: Path, source: Path | None = None) -> Iterator[str]:
    """Yield the faults of a library, one line each; with its original files also those whose MD5 differs."""
    held = Manifest.of(folder)
    try:
        searcher = open_index(folder).searcher()
        if searcher.num_docs != held.records:
            yield f"the index holds {searcher.num_docs:,} records, the manifest counts {held.records:,}; update it"
    except UsageError as error:
        yield str(error)
    for name, why in held.refused.items():
        yield f"{name}: {why}; skipped"
    for name, said in held.files.items():
        if said["unread"]:
            yield f"{name}: {said['unread']} articles could not be read: {'; '.join(said['unread_first'])}"
        if source is not None and (source / name).exists():
            try:
                if checked_md5(source / name) != said["md5"]:
                    yield f"{name}: is another file than the one that was read"
            except BadFile as error:
                yield f"{name}: {error}"
