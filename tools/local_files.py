"""Local files that may be anything: only regular ones are opened, and no line or archive is read without bounds."""

import errno
import gzip
import json
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from .errors import UsageError

MAX_LINE_BYTES = 32 * 1024 * 1024  # the largest registered studies with results have some 10 MB
_PIECE_BYTES = 1024 * 1024
_EXPANDS_AT_MOST = 100  # times; records compress to a third or a tenth, a bomb to a thousandth
_BOMB = f"expands to more than {_EXPANDS_AT_MOST} times its size, as no file of records does"
_SMALL_ARCHIVE_BYTES = 4 * 1024 * 1024  # of content; below that the ratio does not matter


class UnusableFile(Exception):
    """A file cannot be read, or not to its end; the message says why in a few words, without its name."""


def open_regular(path: Path) -> BufferedReader:
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
    return os.fdopen(descriptor, "rb")


@contextmanager
def open_content(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a regular file, decompressed if it is in gzip or its name ends in `.gz`; beside it the file itself.

    Raises:
        UnusableFile: as `open_regular`, and within where the archive is cut or damaged.
    """
    with open_regular(path) as file:
        try:
            is_packed = path.suffix == ".gz" or is_gzip(file.peek(2))
            yield cast(BinaryIO, gzip.GzipFile(fileobj=file)) if is_packed else file, file
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise UnusableFile("is cut or damaged") from None
        except OSError as error:
            raise UnusableFile(_reason_of(error)) from None


@contextmanager
def open_pieces(path: Path) -> Iterator[Iterator[bytes]]:
    """Open a file as `open_content` does, and give its content in pieces of 1 MB; raises likewise."""

    def read_pieces() -> Iterator[bytes]:
        total = 0
        while piece := stream.read(_PIECE_BYTES):
            total += len(piece)
            _refuse_bomb(total, file)
            yield piece

    with open_content(path) as (stream, file):
        yield read_pieces()


@contextmanager
def open_lines(path: Path) -> Iterator[Iterator[tuple[int, bytes | None]]]:
    """Open a file as `open_content` does, and give its lines as `read_lines` does; raises likewise."""
    with open_content(path) as (stream, file):
        yield read_lines(stream, file)


def read_lines(stream: BinaryIO, archive: BinaryIO | None = None) -> Iterator[tuple[int, bytes | None]]:
    """Yield number and content of each line; None in place of one of more than 32 MB.

    Raises:
        UnusableFile: the lines are more than 100 times as long as what was read of the archive.
    """
    number = total = 0
    while line := stream.readline(MAX_LINE_BYTES):
        number += 1
        total += len(line)
        is_whole = len(line) < MAX_LINE_BYTES or line.endswith(b"\n")
        rest = b"" if is_whole else line
        while rest and not rest.endswith(b"\n"):
            rest = stream.readline(_PIECE_BYTES)
            total += len(rest)
            _refuse_bomb(total, archive)
        _refuse_bomb(total, archive)
        yield number, line if is_whole else None


def is_gzip(content: bytes) -> bool:
    """Whether a content begins as gzip does."""
    return content.startswith(b"\x1f\x8b")


def read_bounded(stream: BinaryIO, archive: BinaryIO | None, most_bytes: int, *, compressed: int = 0) -> bytes:
    """Return the content of a stream, of at most so many bytes.

    Args:
        stream: decompresses as it is read, where it is an archive's.
        archive: what the stream is decompressed from; None where it is not, or where `compressed` is given.
        most_bytes: an `UnusableFile` if it is larger.
        compressed: bytes that the archive says the stream takes in it.

    Raises:
        UnusableFile: it is larger, or more than 100 times as long as what was read of its archive.
    """
    pieces = list[bytes]()
    total = 0
    piece = stream.read(_PIECE_BYTES)
    while piece:
        total += len(piece)
        _refuse_bomb(total, archive)
        if compressed and total > max(_SMALL_ARCHIVE_BYTES, compressed * _EXPANDS_AT_MOST):
            raise UnusableFile(_BOMB)
        if total > most_bytes:
            raise UnusableFile(f"is larger than {most_bytes >> 20} MB; split it")
        pieces.append(piece)
        piece = stream.read(_PIECE_BYTES)
    return b"".join(pieces)


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


def _refuse_bomb(total: int, archive: BinaryIO | None) -> None:
    if archive is None or total <= _SMALL_ARCHIVE_BYTES:
        return
    if total > archive.tell() * _EXPANDS_AT_MOST:
        raise UnusableFile(_BOMB)


def _reason_of(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "is a link that leads back to itself"
    if error.errno == errno.ENOENT:
        return "does not exist, or is a link to nothing"
    return f"cannot be read ({error.strerror or type(error).__name__})"
