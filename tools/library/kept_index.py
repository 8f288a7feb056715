"""The index of a library of files, kept beside them, so that a large one is indexed once and not at every command.

It stands in the hidden folder `.willowbark-index` of the library's folder (beside a library that is one file), or in
`.willowbark/indexes` of the working folder where that cannot be written. It holds for the contents of the files: with
other files, another release, or an index that is damaged, it is made again, which is told in a line.
"""

import hashlib
import json
import os
import shutil
import time
import uuid
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tantivy import Index

from ..errors import UsageError
from ..local_files import UnusableFile, read_json_file
from ..wording import counted
from .index import BUILT_INDEX, FORMAT, LibraryContents, fill_index, make_analyzer, make_schema
from .rows import PublicationRow

Tell = Callable[[str], None]
KEPT_FROM_BYTES = 1_000_000
"""Size of a library's files from which its index is kept; smaller ones are indexed in a fraction of a second."""
INDEX_FOLDER = ".willowbark-index"
"""Folder of the index beside the records; its name is hidden, so that it is no record."""
_WORKSPACE = Path(".willowbark") / "indexes"
_ABOUT = "about.json"
_LARGEST_ABOUT_BYTES = 4 * 1024 * 1024
_PIECE_BYTES = 1024 * 1024
_ABANDONED_S = 3600.0  # after which a killed process's unfinished index is deleted


@dataclass(frozen=True)
class IndexPlace:
    """A folder that may hold the index of a library, below it one folder for each state of its files."""

    folder: Path
    digest: str

    @property
    def own(self) -> Path:
        """Folder of the index of the present files."""
        return self.folder / self.digest

    def read(self) -> tuple[Index, LibraryContents] | None:
        """Open the index; None if there is none of these files and this release.

        Raises:
            UsageError: there is one, and it is damaged.
        """
        if not (self.own / _ABOUT).exists():
            return None
        try:
            about: dict[str, Any] = read_json_file(self.own / _ABOUT, _LARGEST_ABOUT_BYTES)
            if about["form"] != _describe_form():
                return None
            if about["files"] != _compute_checksums(self.own):
                raise ValueError("other content")
            library_contents = about["contents"]
            contents = LibraryContents(
                **{**library_contents, **{name: tuple(library_contents[name]) for name in _LISTS}}
            )
            index = Index.open(str(self.own / BUILT_INDEX))
            index.register_tokenizer("english", make_analyzer())
            index.reload()
        except (OSError, ValueError, TypeError, LookupError, AttributeError, UnusableFile, UsageError):
            raise UsageError(f"the index of the library in {self.folder} is damaged; it is made again") from None
        return index, contents

    def make(self, library: Path, files: Sequence[Path]) -> tuple[Index, LibraryContents]:
        """Index the files of a library into this place; the indexes of earlier states of the files are deleted.

        Raises:
            OSError, ValueError: it cannot be written.
            UsageError: the files hold no record that can be read.
        """
        part = self.folder / f"{uuid.uuid4().hex}.part"
        try:
            (part / BUILT_INDEX).mkdir(parents=True)
            index = Index(make_schema(), str(part / BUILT_INDEX))
            contents = fill_index(index, library, files, self.digest)
            about = {"form": _describe_form(), "contents": asdict(contents), "files": _compute_checksums(part)}
            (part / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
            _remove(*(path for path in self.folder.iterdir() if path != part and not _is_under_way(path)))
            os.replace(part, self.own)
        finally:
            _remove(part)
        opened = self.read()
        if opened is None:
            raise ValueError("it is gone")  # another process has removed it
        return opened


def _is_under_way(path: Path) -> bool:
    """Whether another process may be writing an index there."""
    return path.suffix == ".part" and time.time() - path.stat().st_mtime < _ABANDONED_S


_LISTS = ("topics", "sources", "unread")


def open_or_make(folder: Path, files: Sequence[Path], digest: str, tell: Tell) -> tuple[Index, LibraryContents]:
    """Open the index of a library of files, or make it: on disk for a large library, else in memory.

    Args:
        folder: the library's folder, or its only file.
        files: its files of records.
        digest: of their contents.
        tell: receives a line before a large library is indexed, and one for an index that cannot be used or kept.

    Raises:
        UsageError: the files hold no record that can be read.
    """
    size = sum(_measure_size(file) for file in files)
    if size < KEPT_FROM_BYTES:
        return make_in_memory(folder, files, digest)
    places = [IndexPlace(place, digest) for place in _list_places(folder)]
    for place in places:
        try:
            opened = place.read()
        except UsageError as error:
            tell(str(error))
            continue
        if opened is not None:
            return opened
    tell(f"indexing the library {folder.name} ({size / 1e6:,.0f} MB in {counted(len(files), 'file')}), once")
    for place in places:
        try:
            return place.make(folder, files)
        except (OSError, ValueError):  # tantivy's own errors are ValueErrors
            continue
    tell(f"the index of the library {folder.name} cannot be kept: neither its folder nor {_WORKSPACE} can be written")
    return make_in_memory(folder, files, digest)


def make_in_memory(folder: Path, files: Sequence[Path], digest: str) -> tuple[Index, LibraryContents]:
    """Index files without keeping the index; raises as `fill_index`."""
    index = Index(make_schema())
    contents = fill_index(index, folder, files, digest)
    return index, contents


def _list_places(folder: Path) -> list[Path]:
    name = hashlib.sha256(str(folder).encode(errors="surrogatepass")).hexdigest()[:16]
    neighbour = folder / INDEX_FOLDER if folder.is_dir() else folder.with_name(f"{INDEX_FOLDER}-{folder.name}")
    return [neighbour, _WORKSPACE / name]


def _describe_form() -> str:
    """Return what an index depends on beside the files: release, format, fields of records."""
    try:
        release = metadata.version("willowbark")
    except metadata.PackageNotFoundError:  # run from its source
        release = "unreleased"
    return f"{release} {FORMAT} {sorted(PublicationRow.model_fields)}"


def _compute_checksums(folder: Path) -> dict[str, list[int]]:
    """Return size and CRC-32 of each file of an index but for its description."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _ABOUT)
    return {str(path.relative_to(folder)): _compute_checksum(path) for path in paths if not path.name.endswith(".lock")}


def _compute_checksum(path: Path) -> list[int]:
    size = 0
    checksum = 0
    with path.open("rb") as stream:
        while piece := stream.read(_PIECE_BYTES):
            size += len(piece)
            checksum = zlib.crc32(piece, checksum)
    return [size, checksum]


def _measure_size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0


def _remove(*folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
