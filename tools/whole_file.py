"""Atomic file writes, and tables cached as files in the user's cache folder."""

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
    """Write a file atomically, through a temporary file; the folder must exist.

    Returns:
        The file's path.

    Raises:
        OSError: the folder cannot be written to; an existing file is unchanged.
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
    """Write a file atomically, creating its folder if needed; return its path.

    Raises:
        UsageError: folder or file cannot be written; the message ends with `way_out`.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(target, content)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{target}: cannot be written ({why}){way_out}") from None


def cached_table(name: str, sources: Iterable[Path], make: Callable[[], Table]) -> Table:
    """Load a table from the cache if it was made from the same sources, else make and cache it.

    The file is JSON, so a damaged or foreign one is replaced, never run. If it cannot be written, the table is
    made at every start.

    Args:
        name: the table's name, used in the file name.
        sources: all files that the table depends on, including code.
        make: creates the table; keys are strings, values JSON-safe.
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
