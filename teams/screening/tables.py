"""Tables as folders of parts, written atomically: Parquet if pyarrow is installed, otherwise gzipped JSON lines."""

import gzip
import importlib.util
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.whole_file import write_file

TableRow = Mapping[str, Any]


def has_parquet() -> bool:
    """Check whether pyarrow is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def _as_parquet(rows: Sequence[TableRow]) -> bytes:
    import pyarrow  # noqa: PLC0415  an extra
    from pyarrow.parquet import write_table  # noqa: PLC0415

    packed = pyarrow.BufferOutputStream()
    columns = pyarrow.Table.from_pylist([dict(row) for row in rows])
    empty = pyarrow.null()  # of a column in which every row lacks a value: text, so that it joins with others
    fields = [each.with_type(pyarrow.string()) if each.type == empty else each for each in columns.schema]
    write_table(columns.cast(pyarrow.schema(fields)), packed, compression="zstd")
    content: bytes = packed.getvalue().to_pybytes()
    return content


class TableFolder:
    """A folder of parts, created with the first of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, rows: Sequence[TableRow]) -> Path:
        """Write a part; UsageError if that cannot be done, for example on a full disk: existing parts stay."""
        if has_parquet():
            path = self.folder / f"{name}.parquet"
            content = _as_parquet(rows)
        else:
            lines = (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
            path = self.folder / f"{name}.jsonl.gz"
            content = gzip.compress(b"".join(lines), 6, mtime=0)
        return write_file(path, content, "; the same command goes on from there")

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
                    continue
                with gzip.open(path, "rt", encoding="utf-8") as lines:
                    yield from map(json.loads, lines)
            except ModuleNotFoundError:
                raise MissingExtra(f"{path}, which is Parquet,", "scale") from None
            except (OSError, EOFError, ValueError, zlib.error) as error:
                raise UsageError(f"{path}: is damaged ({error}); remove it, and it is made again") from None
