"""Building a library from PubMed's baseline and update files, and keeping it up to date.

A library is a folder with an index and a manifest of the files that are in it. A file counts when it was read to its
end: then the index is committed and the manifest written, in this order. Whoever is stopped before goes on with the
same file, and reading a file again changes nothing: of an article the last version of the last file counts.
"""

import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import to_json
from tantivy import Index, Query

from ..errors import UsageError
from ..whole_file import write_whole
from .index import BUILT_INDEX, FORMAT, MANIFEST, document_of, english_words, library_schema
from .medline import BadFile, Deletion, Unread, read_medline
from .rows import ArticleRow, row_of

_HEAP_BYTES = 200_000_000  # holds what a file of PubMed makes, so that each ends as one piece
_MOST_NAMED = 5
_MD5 = re.compile(r"\b[0-9a-f]{32}\b", re.IGNORECASE)


@dataclass
class Manifest:
    """What a built library was made of."""

    format: int = FORMAT
    records: int = 0
    updated: str = ""
    """When the last file went in: `2026-01-31T08:00:00Z`."""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name: size in bytes, MD5, articles, deletions, articles that could not be read."""
    refused: dict[str, str] = field(default_factory=dict)
    """Files that were left out, and why."""
    versions: dict[str, int] = field(default_factory=dict)
    """Of articles that have more than one."""
    deleted: dict[str, str] = field(default_factory=dict)
    """By PMID, the file that took it out."""

    @classmethod
    def of(cls, folder: Path) -> "Manifest":
        """Read that of a library.

        Raises:
            UsageError: there is none, it is damaged, or it is of another format.
        """
        path = folder / MANIFEST
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            found = cls(**said)
        except FileNotFoundError:
            raise UsageError(f"{folder}: is no library that `willowbark library build` made") from None
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"library {path}: cannot be read ({error})") from None
        if found.format != FORMAT:
            raise UsageError(f"library {folder}: of format {found.format}, not {FORMAT}; build it anew")
        return found

    def write(self, folder: Path) -> None:
        """Write it in one step."""
        write_whole(folder / MANIFEST, json.dumps(asdict(self)).encode())


@dataclass(frozen=True, slots=True)
class Progress:
    """Where building stands."""

    file: str
    said: str
    """What came of the file."""
    place: int
    files: int
    """How many there are to do."""
    records_per_s: float
    left_s: float


def build_library(
    folder: Path, source: Path, tell: Callable[[Progress], None] = lambda _: None, *, must_exist: bool = False
) -> Manifest:
    """Take the files of a folder into a library, those first whose names come first.

    Args:
        folder: of the library; made where it is missing.
        source: holds `*.xml.gz` or `*.xml` files, each with its `.md5` beside it where there is one.
        tell: gets each step.
        must_exist: whether there has to be a library already.

    Returns:
        Manifest: as it stands in the end; `refused` names what was left out.

    Raises:
        UsageError: a folder cannot be read or written, or somebody else builds the same library.
    """
    try:
        files = sorted(path for path in source.iterdir() if path.name.endswith((".xml.gz", ".xml")))
    except OSError as error:
        raise UsageError(f"{source}: cannot be read ({error.strerror})") from None
    if not files:
        raise UsageError(f"{source}: holds no PubMed files (.xml.gz or .xml)")
    held = Manifest.of(folder) if must_exist or (folder / MANIFEST).exists() else Manifest()
    try:
        is_there = bool(Index.open(str(folder / BUILT_INDEX)).searcher().num_docs)
    except (OSError, ValueError):  # tantivy's own errors are ValueErrors
        is_there = False
    if held.files and not is_there:  # damaged or gone: all files are read again
        shutil.rmtree(folder / BUILT_INDEX, ignore_errors=True)
        held = Manifest()
    try:
        (folder / BUILT_INDEX).mkdir(parents=True, exist_ok=True)
        index = Index(library_schema(), str(folder / BUILT_INDEX))
        index.register_tokenizer("english", english_words())
        writer = index.writer(_HEAP_BYTES, num_threads=1)
        held.refused = {}
        waiting = [file for file in files if not _is_in(file, held)]
        sizes = [file.stat().st_size for file in waiting]
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
            tell(Progress(file.name, said, place, len(waiting), read / took, left))
        writer.wait_merging_threads()
        held.write(folder)
    except (OSError, ValueError) as error:  # tantivy's own errors are ValueErrors
        why = "another process is building it" if "lock" in str(error).lower() else str(error)
        raise UsageError(f"library {folder}: cannot be written ({why}); the same command goes on from there") from None
    return held


def _is_in(file: Path, held: Manifest) -> bool:
    """Whether a file is in the library; one that has another size than then is named, and left out."""
    if (known := held.files.get(file.name)) is None:
        return False
    if known["bytes"] != file.stat().st_size:
        held.refused[file.name] = "is another file than the one of this name that was read"
    return True


def checked_md5(file: Path) -> str:
    """The MD5 of a file, held against the one beside it where there is one.

    Raises:
        BadFile: they differ, or one cannot be read.
    """
    try:
        with file.open("rb") as stream:
            found = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        beside = file.with_name(f"{file.name}.md5")
        if beside.exists():
            due = _MD5.search(beside.read_text(encoding="ascii", errors="replace"))
            if due is None or due[0].lower() != found:
                raise BadFile("is cut or damaged: its MD5 differs from that of its .md5 file")
    except OSError as error:
        raise BadFile(f"cannot be read ({error.strerror})") from None
    return found


def _take_in(file: Path, index: Index, writer: Any, held: Manifest) -> int:
    """Put the articles of a file into the index, and note that; gives how many they are.

    Raises:
        BadFile: it cannot be read to its end; the manifest is as before, the writer has to be rolled back.
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
        writer.add_document(document_of(row, to_json({**each.facts, "file": file.name})))
        articles += 1
    writer.commit()
    index.reload()
    held.versions, held.deleted = versions, deleted
    told = {"bytes": file.stat().st_size, "md5": md5, "articles": articles, "deleted": gone, "unread": len(unread)}
    held.files[file.name] = {**told, "unread_first": unread[:_MOST_NAMED]}
    return articles


def _file_of(index: Index, searcher: Any, pmid: str, deleted: dict[str, str]) -> str:
    """The file that had the last word on an article; empty where none had."""
    hits = searcher.search(Query.term_query(index.schema, "name", f"pmid:{pmid}"), limit=1).hits
    if not hits:
        return deleted.get(pmid, "")
    row = row_of(searcher.doc(hits[0][1])["record"][0].decode())
    assert isinstance(row, ArticleRow)
    return str(row.file)


def verify_library(folder: Path, source: Path | None = None) -> Iterator[str]:
    """What is wrong with a library, one line each; nothing where all is well.

    Args:
        folder: of the library.
        source: the files that it was made of, whose MD5 is then looked at again; None leaves them out.

    Raises:
        UsageError: it is no library.
    """
    held = Manifest.of(folder)
    try:
        index = Index.open(str(folder / BUILT_INDEX))
        index.register_tokenizer("english", english_words())
        index.reload()
        searcher = index.searcher()
        if searcher.num_docs != held.records:
            yield f"the index holds {searcher.num_docs:,} records, the manifest counts {held.records:,}; update it"
    except (OSError, ValueError) as error:
        yield f"the index cannot be opened ({error}); build the library anew"
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
