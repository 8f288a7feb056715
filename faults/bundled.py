"""The publications of the bundled library, for tests and measurements that need many real records."""

from functools import cache
from pathlib import Path
from typing import NoReturn

from willowbark.tools.library.rows import PublicationRow, list_record_files, read_rows

BUNDLED = Path(__file__).parent.parent / "tools" / "library" / "bundled"


@cache
def bundled_publications(folder: Path = BUNDLED) -> tuple[PublicationRow, ...]:
    """All publications of a library, in the order of its files."""
    rows = read_rows(list_record_files(folder), _refuse)
    return tuple(row for row, _ in rows if isinstance(row, PublicationRow))


def _refuse(problem: str) -> NoReturn:
    raise AssertionError(problem)
