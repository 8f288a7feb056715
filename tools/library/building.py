"""Builds a library from PubMed's baseline and update files (`pubmedYYnNNNNN.xml.gz`, some 30,000 articles each), and
from files of records of every other form that `tools.files` reads.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from tantivy import Index, Query

from ..errors import UsageError
from ..files.form import KNOWN_FORMS
from ..files.pubmed_set import BadFile, Deletion, Unread, read_medline
from ..files.reader import form_of_file
from ..local_files import UnusableFile, open_regular, read_whole
from ..whole_file import write_file
from ..wording import counted
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
from .looking_up import LookedUp
from .rows import ArticleRow, BareRecords, LibraryRow, read_file_rows, row_of

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
    """By name: size in bytes, MD5, articles, deletions, articles that could not be read; and in `wanted` the numbers of
    records that are still to be looked up."""
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
    look_up: Callable[[Sequence[str]], LookedUp] | None = None,
) -> Manifest:
    """Add the files of a folder to a library, in the order of their names.

    Of PubMed's sets the last version counts; a record of another file is left out where the library has its number.

    Args:
        folder: folder of the library; created if missing.
        source: folder of files of any form that `tools.files` reads, with optional `.md5` files; or one such file.
        tell: called after each step.
        must_exist: whether the library must exist already.
        look_up: asks the sources for records that files give by number alone, or without abstract; None leaves their
            numbers in the manifest, for a later call.

    Returns:
        Manifest: the final state; `refused` lists the files left out.

    Raises:
        UsageError: a folder cannot be read or written, the library is damaged or of another format, or another
            process is building it.
    """
    files = _files_of(source)
    is_there = must_exist or os.path.lexists(folder / MANIFEST)
    held = Manifest.of(folder) if is_there else Manifest()
    try:
        (folder / BUILT_INDEX).mkdir(parents=True, exist_ok=True)
        index = open_index(folder) if is_there else Index(library_schema(), str(folder / BUILT_INDEX))
        index.register_tokenizer("english", english_words())
        writer = index.writer(_HEAP_BYTES, num_threads=1)
        writer.garbage_collect_files()  # those that a killed build left would be in the way
        held.refused = {}
        waiting = [file for file in files if not _is_in(file, held, look_up is not None)]
        sizes = [_size_of(file) for file in waiting]
        began = time.monotonic()
        read = 0
        for place, file in enumerate(waiting, 1):
            try:
                read += _take_in(file, index, writer, held, look_up)
                held.records = index.searcher().num_docs
                held.updated = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                said = _count_of(held.files[file.name])
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


def _files_of(source: Path) -> list[Path]:
    """Return the files of a folder but for hidden ones and checksums, by name; of a file, itself."""
    if source.is_file():
        return [source]
    try:
        files = sorted(path for path in source.iterdir() if not path.name.startswith(".") and path.suffix != ".md5")
    except OSError as error:
        raise UsageError(f"{source}: cannot be read ({error.strerror})") from None
    if not files:
        raise UsageError(f"{source}: holds no files of records; put some there: {KNOWN_FORMS}")
    return files


def _count_of(about: Mapping[str, Any]) -> str:
    """Describe what came of a file."""
    parts = [counted(about["articles"], "record")]
    if about.get("repeated"):
        parts.append(f"{about['repeated']:,} in the library already")
    if about["unread"]:
        parts.append(f"{about['unread']:,} left out")
    if about.get("wanted"):
        parts.append(f"{len(about['wanted']):,} to be looked up")
    return ", ".join(parts)


def _is_in(file: Path, held: Manifest, may_look_up: bool) -> bool:
    """Whether a file is in the library already; one whose size has changed is reported and left out."""
    if (known := held.files.get(file.name)) is None:
        return False
    if known["bytes"] != _size_of(file):
        held.refused[file.name] = "is another file than the one of this name that was read"
        return True
    return not (may_look_up and known.get("wanted"))


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


def _take_in(
    file: Path, index: Index, writer: Any, held: Manifest, look_up: Callable[[Sequence[str]], LookedUp] | None
) -> int:
    """Add the records of a file to the index and the manifest; returns their number.

    Raises:
        BadFile: it cannot be read to its end; the manifest is unchanged, the writer has to be rolled back.
    """
    md5 = checked_md5(file)
    try:
        is_set = form_of_file(file) == "pubmed"
    except UnusableFile as error:
        raise BadFile(str(error)) from None
    if not is_set:
        return _take_in_rows(file, md5, index, writer, held, look_up)
    is_late = any(other > file.name for other in held.files)
    later = index.searcher() if is_late else None
    versions = dict(held.versions)
    deleted = dict(held.deleted)
    articles = 0
    gone = 0
    unread = list[str]()
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
    held.versions = versions
    held.deleted = deleted
    told = {"bytes": file.stat().st_size, "md5": md5, "articles": articles, "deleted": gone, "unread": len(unread)}
    held.files[file.name] = {**told, "unread_first": unread[:_MOST_NAMED]}
    return articles


def _take_in_rows(
    file: Path,
    md5: str,
    index: Index,
    writer: Any,
    held: Manifest,
    look_up: Callable[[Sequence[str]], LookedUp] | None,
) -> int:
    """Add the records of a file that is no set of PubMed's; raises as `_take_in`."""
    about: dict[str, Any] = held.files.get(file.name, {})
    searcher = index.searcher()
    problems = list[str](about.get("unread_first", ()))
    wanted = list[str](about.get("wanted", ()))
    articles: int = about.get("articles", 0)
    repeated: int = about.get("repeated", 0)
    if not about:
        bare = BareRecords()
        broken = list[str]()
        for row, line in read_file_rows(file, {}, problems.append, bare, broken.append):
            names = _own_names(row)
            if _is_indexed(index, searcher, names):
                bare.repeated.setdefault(file.name, []).append(names[0])
                continue
            writer.add_document(document_of(row.indexed(), line.encode()))
            articles += 1
        if broken and not articles:
            raise BadFile(broken[0])
        problems += broken
        repeated = len(bare.repeated.get(file.name, ()))
        numbers = [name for name in bare.numbers.get(file.name, ()) if not _is_indexed(index, searcher, [name])]
        wanted = list(dict.fromkeys([*numbers, *bare.titles.get(file.name, ())]))
    unread = about.get("unread", len(problems))
    if wanted and look_up is not None:
        reply = look_up(wanted)
        for name, row_line in reply.lines.items():
            writer.delete_documents_by_term("name", name)
            writer.add_document(document_of(row_of(row_line).indexed(), row_line.encode()))
            articles += 1
        missing = [name for name in wanted if name not in reply.lines and name not in reply.waiting]
        problems += [f"{name}: no source has a record of it" for name in missing]
        unread += len(missing)
        wanted = reply.waiting
        if reply.failure:
            held.refused[file.name] = f"its numbers were not looked up ({reply.failure}); run the same command again"
    elif wanted:
        held.refused[file.name] = f"{counted(len(wanted), 'number')} not looked up; run it without --offline"
    writer.commit()
    index.reload()
    held.files[file.name] = {
        "bytes": file.stat().st_size,
        "md5": md5,
        "articles": articles,
        "deleted": 0,
        "unread": unread,
        "repeated": repeated,
        "unread_first": problems[:_MOST_NAMED],
        "wanted": wanted,
    }
    return articles


def _own_names(row: LibraryRow) -> list[str]:
    return [name for name in row.indexed().get("name", ()) if name.startswith(("pmid:", "nct:", "own:"))]


def _is_indexed(index: Index, searcher: Any, names: Sequence[str]) -> bool:
    query = Query.term_set_query(index.schema, "name", list(names))
    return bool(names) and bool(searcher.search(query, limit=1).hits)


def _file_of(index: Index, searcher: Any, pmid: str, deleted: dict[str, str]) -> str:
    """Return the last file that contains or deletes an article; empty if there is none."""
    hits = searcher.search(Query.term_query(index.schema, "name", f"pmid:{pmid}"), limit=1).hits
    if not hits:
        return deleted.get(pmid, "")
    row = row_of(searcher.doc(hits[0][1])["record"][0].decode())
    return str(row.file) if isinstance(row, ArticleRow) else ""


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
            yield f"{name}: {said['unread']} records were left out: {'; '.join(said['unread_first'])}"
        if said.get("wanted"):
            yield f"{name}: {counted(len(said['wanted']), 'number')} not looked up yet; build or update it again"
        original = source if source is None or source.is_file() else source / name
        if original is not None and original.name == name and original.exists():
            try:
                if checked_md5(original) != said["md5"]:
                    yield f"{name}: is another file than the one that was read"
            except BadFile as error:
                yield f"{name}: {error}"
