"""Files that are there whole or not at all: written beside their place and moved in."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


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
