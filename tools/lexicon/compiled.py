"""Tables that take long to make, kept in the user's cache folder until what they are made from changes.

The folder is platformdirs' (`XDG_CACHE_HOME`, say). What lies there is JSON: a torn or foreign file is made anew, never
run. Where nothing can be written, tables are made at every start.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from willowbark.tools.whole_file import write_whole

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
