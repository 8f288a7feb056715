"""Files that are there whole or not at all: written beside their place and moved in.

Tables that take long to make are such files, in the user's cache folder, until what they are made from changes. The
folder is platformdirs' (`XDG_CACHE_HOME`, say). What lies there is JSON: a torn or foreign file is made anew, never
run. Where nothing can be written, tables are made at every start.
"""

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs


def write_whole(target: Path, content: bytes) -> Path:
    """Write one file of a folder that is there.

    Returns:
        The file's path.

    Raises:
        OSError: the folder cannot be written to; what stood there before still stands.
    """
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())  # mkstemp's 0600 would keep a group out of what it shares
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    return target


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


Table = dict[str, Any]
_log = logging.getLogger(__name__)


def compiled(name: str, sources: Iterable[Path], make: Callable[[], Table]) -> Table:
    """The table of a name: read from the cache where it was made from these very sources, else made and kept.

    Args:
        name: of the table, as its file shows it.
        sources: all files that the table's content depends on, code included.
        make: makes it; keys are strings, values JSON-safe.
    """
    folder = Path(platformdirs.user_cache_dir("willowbark"))
    path = folder / f"{name}-{_digest(sources)}.json"
    with suppress(OSError, ValueError):
        if isinstance(table := json.loads(path.read_bytes()), dict):
            return table
    table = make()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(table, ensure_ascii=False).encode())  # others may start at the same moment
    except OSError as error:
        _log.debug("%s is made at every start: %s cannot be written: %s", name, folder, error.strerror)
        return table
    for former in folder.glob(f"{name}-*.json"):
        if former != path:
            former.unlink(missing_ok=True)
    return table


def _digest(sources: Iterable[Path]) -> str:
    """A name for what the sources hold: 128 bits of SHA-256."""
    whole = hashlib.sha256()
    for source in sources:
        whole.update(hashlib.sha256(source.read_bytes()).digest())
    return whole.hexdigest()[:32]
