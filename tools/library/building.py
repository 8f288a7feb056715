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
    make_analyzer,
    make_document,
    make_manifest_error,
    make_schema,
    open_index,
    read_manifest,
)
from .looking_up import LookedUp
from .rows import ArticleRow, BareRecords, LibraryRow, parse_row, read_file_rows

_HEAP_BYTES = 200_000_000  # room for one PubMed file, so that each becomes one index segment
_MOST_PROBLEMS = 5
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
            raise make_manifest_error(folder) from None

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
    files = _list_files(source)
    is_there = must_exist or os.path.lexists(folder / MANIFEST)
    manifest = Manifest.of(folder) if is_there else Manifest()
    try:
        (folder / BUILT_INDEX).mkdir(parents=True, exist_ok=True)
        index = open_index(folder) if is_there else Index(make_schema(), str(folder / BUILT_INDEX))
        index.register_tokenizer("english", make_analyzer())
        writer = index.writer(_HEAP_BYTES, num_threads=1)
        writer.garbage_collect_files()  # those that a killed build left would be in the way
        manifest.refused = {}
        waiting = [file for file in files if not _is_in(file, manifest, look_up is not None)]
        sizes = [_measure_size(file) for file in waiting]
        began = time.monotonic()
        done = 0
        for place, file in enumerate(waiting, 1):
            try:
                done += _take_in(file, index, writer, manifest, look_up)
                manifest.records = index.searcher().num_docs
                manifest.updated = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                outcome = _describe_counts(manifest.files[file.name])
            except BadFile as error:
                writer.rollback()
                manifest.refused[file.name] = outcome = str(error)
            manifest.write(folder)
            took = max(time.monotonic() - began, 1e-9)
            left = took / max(1, sum(sizes[:place])) * sum(sizes[place:])
            tell(BuildProgress(file.name, outcome, place, len(waiting), done / took, left))
        writer.wait_merging_threads()
        manifest.write(folder)
    except (OSError, ValueError) as error:  # tantivy's own errors are ValueErrors
        why = getattr(error, "strerror", None) or str(error)
        free = shutil.disk_usage(folder).free if isinstance(error, ValueError) else _HEAP_BYTES
        if free < _HEAP_BYTES:
            why = f"{free / 1e6:.0f} MB are left on the disk"
        why = "another process is building it" if "lock" in why.lower() else why
        raise UsageError(f"library {folder}: cannot be written ({why}); the same command goes on from there") from None
    return manifest


def _list_files(source: Path) -> list[Path]:
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


def _describe_counts(about: Mapping[str, Any]) -> str:
    """Describe what came of a file."""
    parts = [counted(about["articles"], "record")]
    if about.get("repeated"):
        parts.append(f"{about['repeated']:,} in the library already")
    if about["unread"]:
        parts.append(f"{about['unread']:,} left out")
    if about.get("wanted"):
        parts.append(f"{len(about['wanted']):,} to be looked up")
    return ", ".join(parts)


def _is_in(file: Path, manifest: Manifest, may_look_up: bool) -> bool:
    """Whether a file is in the library already; one whose size has changed is reported and left out."""
    if (entry := manifest.files.get(file.name)) is None:
        return False
    if entry["bytes"] != _measure_size(file):
        manifest.refused[file.name] = "is another file than the one of this name that was read"
        return True
    return not (may_look_up and entry.get("wanted"))


def _measure_size(file: Path) -> int:
    """Return a file's size; 0 if it cannot be told, as of a link to nothing."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def check_md5(file: Path) -> str:
    """Return the MD5 of a file, checked against its `.md5` file if there is one; raises `BadFile` if they differ."""
    try:
        with open_regular(file) as stream:
            digest = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        md5_file = file.with_name(f"{file.name}.md5")
        if os.path.lexists(md5_file):
            expected = _MD5.search(read_whole(md5_file, _HEAD).decode("ascii", "replace"))
            if expected is None or expected[0].lower() != digest:
                raise BadFile("is cut or damaged: its MD5 differs from that of its .md5 file")
    except OSError as error:
        raise BadFile(f"cannot be read ({error.strerror})") from None
    except UnusableFile as error:
        raise BadFile(str(error)) from None
    return digest


def _take_in(
    file: Path, index: Index, writer: Any, manifest: Manifest, look_up: Callable[[Sequence[str]], LookedUp] | None
) -> int:
    """Add the records of a file to the index and the manifest; returns their number.

    Raises:
        BadFile: it cannot be read to its end; the manifest is unchanged, the writer has to be rolled back.
    """
    md5 = check_md5(file)
    try:
        is_set = form_of_file(file) == "pubmed"
    except UnusableFile as error:
        raise BadFile(str(error)) from None
    if not is_set:
        return _take_in_rows(file, md5, index, writer, manifest, look_up)
    is_late = any(other > file.name for other in manifest.files)
    later = index.searcher() if is_late else None
    versions = dict(manifest.versions)
    deleted = dict(manifest.deleted)
    articles = 0
    gone = 0
    unread = list[str]()
    for item in read_medline(file):
        if isinstance(item, Unread):
            unread.append(item.why)
            continue
        if later is not None and _find_file(index, later, item.pmid, deleted) > file.name:
            continue
        if isinstance(item, Deletion):
            writer.delete_documents_by_term("name", f"pmid:{item.pmid}")
            versions.pop(item.pmid, None)
            deleted[item.pmid] = file.name
            gone += 1
            continue
        if item.version < versions.get(item.pmid, 1):
            continue
        if item.version > 1:
            versions[item.pmid] = item.version
        deleted.pop(item.pmid, None)
        writer.delete_documents_by_term("name", f"pmid:{item.pmid}")
        row = ArticleRow.model_construct(facts=item.facts)
        writer.add_document(make_document(row.indexed(), to_json({**item.facts, "file": file.name})))
        articles += 1
    writer.commit()
    index.reload()
    manifest.versions = versions
    manifest.deleted = deleted
    counts = {"bytes": file.stat().st_size, "md5": md5, "articles": articles, "deleted": gone, "unread": len(unread)}
    manifest.files[file.name] = {**counts, "unread_first": unread[:_MOST_PROBLEMS]}
    return articles


def _take_in_rows(
    file: Path,
    md5: str,
    index: Index,
    writer: Any,
    manifest: Manifest,
    look_up: Callable[[Sequence[str]], LookedUp] | None,
) -> int:
    """Add the records of a file that is no set of PubMed's; raises as `_take_in`."""
    about: dict[str, Any] = manifest.files.get(file.name, {})
    searcher = index.searcher()
    problems = list[str](about.get("unread_first", ()))
    to_look_up = list[str](about.get("wanted", ()))
    articles: int = about.get("articles", 0)
    repeated: int = about.get("repeated", 0)
    if not about:
        bare = BareRecords()
        broken = list[str]()
        for row, line in read_file_rows(file, {}, problems.append, bare, broken.append):
            names = _list_own_names(row)
            if _is_indexed(index, searcher, names):
                bare.repeated.setdefault(file.name, []).append(names[0])
                continue
            writer.add_document(make_document(row.indexed(), line.encode()))
            articles += 1
        if broken and not articles:
            raise BadFile(broken[0])
        problems += broken
        repeated = len(bare.repeated.get(file.name, ()))
        numbers = [name for name in bare.numbers.get(file.name, ()) if not _is_indexed(index, searcher, [name])]
        to_look_up = list(dict.fromkeys([*numbers, *bare.titles.get(file.name, ())]))
    unread = about.get("unread", len(problems))
    if to_look_up and look_up is not None:
        reply = look_up(to_look_up)
        for name, row_line in reply.lines.items():
            writer.delete_documents_by_term("name", name)
            writer.add_document(make_document(parse_row(row_line).indexed(), row_line.encode()))
            articles += 1
        missing = [name for name in to_look_up if name not in reply.lines and name not in reply.waiting]
        problems += [f"{name}: no source has a record of it" for name in missing]
        unread += len(missing)
        to_look_up = reply.waiting
        if reply.failure:
            manifest.refused[file.name] = (
                f"its numbers were not looked up ({reply.failure}); run the same command again"
            )
    elif to_look_up:
        manifest.refused[file.name] = f"{counted(len(to_look_up), 'number')} not looked up; run it without --offline"
    writer.commit()
    index.reload()
    manifest.files[file.name] = {
        "bytes": file.stat().st_size,
        "md5": md5,
        "articles": articles,
        "deleted": 0,
        "unread": unread,
        "repeated": repeated,
        "unread_first": problems[:_MOST_PROBLEMS],
        "wanted": to_look_up,
    }
    return articles


def _list_own_names(row: LibraryRow) -> list[str]:
    return [name for name in row.indexed().get("name", ()) if name.startswith(("pmid:", "nct:", "own:"))]


def _is_indexed(index: Index, searcher: Any, names: Sequence[str]) -> bool:
    query = Query.term_set_query(index.schema, "name", list(names))
    return bool(names) and bool(searcher.search(query, limit=1).hits)


def _find_file(index: Index, searcher: Any, pmid: str, deleted: dict[str, str]) -> str:
    """Return the last file that contains or deletes an article; empty if there is none."""
    hits = searcher.search(Query.term_query(index.schema, "name", f"pmid:{pmid}"), limit=1).hits
    if not hits:
        return deleted.get(pmid, "")
    row = parse_row(searcher.doc(hits[0][1])["record"][0].decode())
    return str(row.file) if isinstance(row, ArticleRow) else ""


def verify_library(folder: Path, source: Path | None = None) -> Iterator[str]:
    """Yield the faults of a library, one line each; with its original files also those whose MD5 differs."""
    manifest = Manifest.of(folder)
    try:
        searcher = open_index(folder).searcher()
        if searcher.num_docs != manifest.records:
            yield f"the index holds {searcher.num_docs:,} records, the manifest counts {manifest.records:,}; update it"
    except UsageError as error:
        yield str(error)
    for name, why in manifest.refused.items():
        yield f"{name}: {why}; skipped"
    for name, entry in manifest.files.items():
        if entry["unread"]:
            yield f"{name}: {entry['unread']} records were left out: {'; '.join(entry['unread_first'])}"
        if entry.get("wanted"):
            yield f"{name}: {counted(len(entry['wanted']), 'number')} not looked up yet; build or update it again"
        original = source if source is None or source.is_file() else source / name
        if original is not None and original.name == name and original.exists():
            try:
                if check_md5(original) != entry["md5"]:
                    yield f"{name}: is another file than the one that was read"
            except BadFile as error:
                yield f"{name}: {error}"
