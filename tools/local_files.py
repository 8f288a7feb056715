"""Local files that may be anything: only regular ones are opened, and no line or archive is read without bounds."""

import errno
import gzip
import json
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from .errors import UsageError

MAX_LINE_BYTES = 32 * 1024 * 1024  # the largest registered studies with results have some 10 MB
_PIECE_BYTES = 1024 * 1024
_EXPANDS_AT_MOST = 200  # times; records compress to a third or a tenth, repeated ones to a hundredth
_SMALL_ARCHIVE_BYTES = 64 * 1024 * 1024  # of content; below that the ratio does not matter


class UnusableFile(Exception):
    """A file cannot be read, or not to its end; the message says why in a few words, without its name."""


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file, or a link to one; a pipe or a device would wait or go on for ever.

    Raises:
        UnusableFile: it is something else, or cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise UnusableFile(_reason_of(error)) from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise UnusableFile("is a folder" if stat.S_ISDIR(mode) else "is no regular file")
    return cast(BinaryIO, os.fdopen(descriptor, "rb"))


@contextmanager
def open_lines(path: Path) -> Iterator[Iterator[tuple[int, bytes | None]]]:
    """Open a text file, decompressed if its name ends in `.gz`, and give its lines as `read_lines` does.

    Raises:
        UnusableFile: as `open_regular`; also from the iterator, where the file is cut, damaged, or expands to more than
            200 times its size.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if path.suffix == ".gz":
            content = cast(BinaryIO, gzip.GzipFile(fileobj=file))
            most = max(_SMALL_ARCHIVE_BYTES, size * _EXPANDS_AT_MOST)
        else:
            content = file
            most = max(_SMALL_ARCHIVE_BYTES, size)
        yield read_lines(content, most)


def read_lines(stream: BinaryIO, most_bytes: int | None = None) -> Iterator[tuple[int, bytes | None]]:
    """Yield number and content of each line; None in place of one of more than 32 MB.

    Raises:
        UnusableFile: the stream is cut or damaged, or holds more than `most_bytes`.
    """
    number = total = 0
    try:
        while line := stream.readline(MAX_LINE_BYTES):
            number += 1
            total += len(line)
            is_whole = len(line) < MAX_LINE_BYTES or line.endswith(b"\n")
            rest = b"" if is_whole else line
            while rest and not rest.endswith(b"\n"):
                rest = stream.readline(_PIECE_BYTES)
                total += len(rest)
                _refuse_excess(total, most_bytes)
            _refuse_excess(total, most_bytes)
            yield number, line if is_whole else None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UnusableFile(f"is cut or damaged after line {number}") from None
    except OSError as error:
        raise UnusableFile(_reason_of(error)) from None


def read_whole(path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file; raises `UnusableFile` if it is larger than `most_bytes`, too."""
    with open_regular(path) as file:
        try:
            content = file.read(most_bytes + 1)
        except OSError as error:
            raise UnusableFile(_reason_of(error)) from None
    if len(content) > most_bytes:
        raise UnusableFile(f"is larger than {most_bytes / 1e6:,.0f} MB")
    return content


def read_json_file(path: Path, most_bytes: int) -> Any:
    """Return the content of a JSON file; raises `UsageError`, which names the file and the line that is bent."""
    try:
        return parse_json(read_whole(path, most_bytes).decode())
    except UnusableFile as error:
        raise UsageError(f"{path}: {error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not in UTF-8") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}, line {error.lineno}: is not JSON; the file may be cut") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None


def parse_json(text: str) -> Any:
    """Parse JSON as its standard has it; raises ValueError for NaN, which Python writes, and for what is too deep."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"holds {name}, which is not JSON")


def _refuse_excess(total: int, most_bytes: int | None) -> None:
    if most_bytes is not None and total > most_bytes:
        raise UnusableFile(f"expands to more than {most_bytes / 1e6:,.0f} MB, as no file of records does")


def _reason_of(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "is a link that leads back to itself"
    if error.errno == errno.ENOENT:
        return "does not exist, or is a link to nothing"
    return f"cannot be read ({error.strerror or type(error).__name__})"
