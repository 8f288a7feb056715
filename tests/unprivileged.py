"""What a user without root's rights may not do, tested by root too."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534  # a user id that owns nothing here


@contextmanager
def without_root() -> Iterator[None]:
    """Lay root's rights down for a while; somebody else has none to lay down."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def read_only_folder(fill: Callable[[Path], None] = lambda _: None) -> Iterator[Path]:
    """A folder that anybody may read and nobody may write, root's rights laid down.

    Args:
        fill: puts into it what should be there.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder)
        folder.chmod(0o555)
        try:
            with without_root():
                yield folder
        finally:
            folder.chmod(0o755)
