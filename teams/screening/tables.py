"""Tables as folders of parts, written as Parquet if pyarrow is installed, otherwise as gzipped JSON lines.

Parts are written atomically: to a temporary file, then moved.
"""

import csv
import gzip
import importlib.util
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.whole_file import write_whole

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


def has_parquet() -> bool:
    """Check whether pyarrow is installed."""
    return importlib.util.find_spec("pyarrow") is not None


class Table:
    """A folder of parts.

    Args:
        folder: created with the first part.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, rows: Sequence[Row]) -> Path:
        """Write a part.

        Raises:
            UsageError: it cannot be written, for example to a full disk; existing parts stay.
        """
        path = self.folder / f"{name}{'.parquet' if has_parquet() else '.jsonl.gz'}"
        if has_parquet():
            import pyarrow  # noqa: PLC0415  an extra
            from pyarrow.parquet import write_table  # noqa: PLC0415

            packed, columns = pyarrow.BufferOutputStream(), pyarrow.Table.from_pylist([dict(row) for row in rows])
            empty = pyarrow.null()  # of a column in which every row lacks a value: text, so that it joins with others
            fields = [each.with_type(pyarrow.string()) if each.type == empty else each for each in columns.schema]
            write_table(columns.cast(pyarrow.schema(fields)), packed, compression="zstd")
            content = packed.getvalue().to_pybytes()
        else:
            lines = (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
            content = gzip.compress(b"".join(lines), 6, mtime=0)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return write_whole(path, content)
        except OSError as error:
            why = error.strerror or error
            raise UsageError(f"{path}: cannot be written ({why}); the same command goes on from there") from None

    def rows(self, name: str = "[!.]*") -> Iterator[dict[str, Any]]:
        """Yield all rows, part by part, or those of one part; none if it is missing.

        Raises:
            UsageError: a part is damaged, or is Parquet while pyarrow is missing.
        """
        for path in sorted(self.folder.glob(f"{name}.*")):
            try:
                if path.suffix == ".parquet":
                    from pyarrow.parquet import read_table  # noqa: PLC0415  an extra

                    yield from read_table(path).to_pylist()
                else:
                    with gzip.open(path, "rt", encoding="utf-8") as lines:
                        yield from map(json.loads, lines)
            except ModuleNotFoundError:
                raise MissingExtra(f"{path}, which is Parquet,", "scale") from None
            except (OSError, EOFError, ValueError, zlib.error) as error:
                raise UsageError(f"{path}: is damaged ({error}); remove it, and it is made again") from None
