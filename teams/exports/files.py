"""Files that are there whole or not at all: written beside their place and moved in."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from willowbark.tools.errors import UsageError


def write_whole(target: Path, content: bytes) -> Path:
    """Write one file, and make its folder where that is missing.

    Returns:
        The file's path.

    Raises:
        UsageError: the folder cannot be made or written to.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o666 & ~_umask())  # mkstemp's 0600 would keep a group out of its shared exports
            os.replace(name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise UsageError(f"{target}: cannot be written ({error.strerror or error}); name another with --out") from None
    return target


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
