"""Tables as folders of parts: gzipped JSON lines, each part written atomically."""

import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from willowbark.tools.errors import UsageError
from willowbark.tools.whole_file import write_file

Row = Mapping[str, Any]
_LONGEST_CELL = 16_000_000  # characters


def csv_rows(lines: Iterable[str]) -> tuple[list[str], Iterator[tuple[int, dict[str, str] | str]]]:
    """Parse a table separated by commas, semicolons or tabs.

    Returns:
        The headings in lower case, and for each non-empty row its line number, and its cells by heading or why it
        cannot be read.
    """
    csv.field_size_limit(_LONGEST_CELL)
    left = iter(lines)
    first = next(left, "")
    mark = max(",;\t", key=first.count)
    header = [name.strip().lower() for name in next(csv.reader([first], delimiter=mark), [])]

    def read_rows() -> Iterator[tuple[int, dict[str, str] | str]]:
        rows = csv.reader(left, delimiter=mark)
        while True:
            number = rows.line_num + 2
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield number, f"not CSV ({error})"
                continue
            if len(cells) > len(header):
                yield number, f"{len(cells)} cells under {len(header)} columns"
            elif any(cell.strip() for cell in cells):
                yield number, dict(zip(header, cells, strict=False))

    return header, read_rows()


class Table:
    """A folder of parts, created with the first of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, rows: Sequence[Row]) -> Path:
        """Write a part; UsageError if that cannot be done, for example on a full disk: existing parts stay."""
        lines = (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
        content = gzip.compress(b"".join(lines), 6, mtime=0)
        return write_file(self.folder / f"{name}.jsonl.gz", content, "; the same command goes on from there")

    def rows(self, name: str = "[!.]*") -> Iterator[dict[str, Any]]:
        """Yield all rows, part by part, or those of one part; none if it is missing. UsageError if one is damaged."""
        for path in sorted(self.folder.glob(f"{name}.jsonl.gz")):
            try:
                with gzip.open(path, "rt", encoding="utf-8") as lines:
                    yield from map(json.loads, lines)
            except (OSError, EOFError, ValueError, zlib.error) as error:
                raise UsageError(f"{path}: is damaged ({error}); remove it, and it is made again") from None
