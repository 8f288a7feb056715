"""Files for users, and what to do where they cannot be written."""

from pathlib import Path

from willowbark.tools.errors import UsageError
from willowbark.tools.whole_file import write_whole


def write_export(target: Path, content: bytes) -> Path:
    """Write one file whole, and make its folder where that is missing; gives its path.

    Raises:
        UsageError: the folder cannot be made or written to.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(target, content)
    except OSError as error:
        raise UsageError(f"{target}: cannot be written ({error.strerror or error}); name another with --out") from None
