"""Files that are there whole or not at all, and tables kept as such files in the user's cache folder."""

import hashlib
import json
import logging
import os
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from .errors import UsageError

Table = dict[str, Any]
_log = logging.getLogger(__name__)


def write_whole(target: Path, content: bytes) -> Path:
    """Write a file beside its place and move it in; the folder must exist.

    Returns:
        The file's path.

    Raises:
        OSError: the folder cannot be written to; what stood there before still stands.
    """
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
    return target


def write_file(target: Path, content: bytes, way_out: str = "") -> Path:
    """Write a file whole, and make its folder where that is missing; gives its path.

    Raises:
        UsageError: folder or file cannot be written; one line that ends with the way out.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(target, content)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{target}: cannot be written ({why}){way_out}") from None


def cached_table(name: str, sources: Iterable[Path], make: Callable[[], Table]) -> Table:
    """A table from the cache where it was made from these very sources, else made and kept.

    The file is JSON: a torn or foreign one is made anew, never run. Where nothing can be written, the table is made at
    every start.

    Args:
        name: of the table, as its file shows it.
        sources: all files that the table's content depends on, code included.
        make: makes it; keys are strings, values JSON-safe.
    """
    digest = hashlib.sha256(b"".join(hashlib.sha256(source.read_bytes()).digest() for source in sources))
    folder = Path(platformdirs.user_cache_dir("willowbark"))
    path = folder / f"{name}-{digest.hexdigest()[:32]}.json"
    with suppress(OSError, ValueError):
        if isinstance(table := json.loads(path.read_bytes()), dict):
            return table
    table = make()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(table, ensure_ascii=False).encode())
    except OSError as error:
        _log.debug("%s is made at every start: %s cannot be written: %s", name, folder, error.strerror)
        return table
    for former in folder.glob(f"{name}-*.json"):
        if former != path:
            former.unlink(missing_ok=True)
    return table
