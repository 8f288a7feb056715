"""The content of files: archives are opened, texts decoded, both within bounds."""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from ..local_files import UnusableFile, is_gzip, open_content, read_bounded

MAX_BYTES = 256 * 1024 * 1024
"""Of the content of a file that is read as a whole; JSON lines and PubMed's sets, read in pieces, may be longer."""
_MOST_MEMBERS = 10_000  # of an archive
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\x00\x00", "utf-32-le"), (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"),
)  # fmt: skip
_OFFICE = {"word/": "a Word document", "xl/": "an Excel workbook", "ppt/": "a presentation"}


class ContentPart(NamedTuple):
    """A file, or a member of an archive."""

    name: str
    """Of the member; empty for the file itself."""
    content: bytes | UnusableFile
    """Or why it cannot be read."""


def read_parts(path: Path) -> Iterator[ContentPart]:
    """Yield the content of a file, or of each member of a zip archive; gzip is decompressed.

    Raises:
        UnusableFile: the file cannot be read, or is no file of records.
    """
    with open_content(path) as (stream, archive):
        content = read_bounded(stream, archive, MAX_BYTES)
    if content.startswith(b"PK\x03\x04"):
        yield from _read_members(content)
    else:
        yield ContentPart("", content)


def read_stream(stream: BinaryIO) -> Iterator[ContentPart]:
    """Yield the content of a stream, as `read_parts` does of a file; raises likewise."""
    content = read_bounded(stream, None, MAX_BYTES)
    if content.startswith(b"PK\x03\x04"):
        yield from _read_members(content)
    else:
        yield ContentPart("", _expand(content) if is_gzip(content) else content)


def _read_members(content: bytes) -> Iterator[ContentPart]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        members = [member for member in archive.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise UnusableFile("is cut or damaged") from None
    for folder, kind in _OFFICE.items():
        if any(member.filename.startswith(folder) for member in members):
            raise UnusableFile(f"is {kind}; save what it holds as CSV, RIS or text")
    if len(members) > _MOST_MEMBERS:
        raise UnusableFile(f"holds more than {_MOST_MEMBERS:,} files; unpack it")
    left = MAX_BYTES
    for member in members:
        name = member.filename
        if name.startswith("__MACOSX/") or Path(name).name.startswith("."):
            continue
        part = ContentPart(name, _read_member(archive, member, left))
        left -= len(part.content) if isinstance(part.content, bytes) else 0
        yield part


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes | UnusableFile:
    if member.flag_bits & 1:
        return UnusableFile("is encrypted; unpack the archive with its password")
    try:
        with archive.open(member) as stream:
            content = read_bounded(cast(BinaryIO, stream), None, most, compressed=member.compress_size)
        return _expand(content) if is_gzip(content) else content
    except UnusableFile as error:
        return error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError):
        return UnusableFile("is cut or damaged")


def _expand(content: bytes) -> bytes:
    """Decompress gzip that came within an archive or over standard input."""
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        try:
            return read_bounded(cast(BinaryIO, stream), None, MAX_BYTES, compressed=len(content))
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise UnusableFile("is cut or damaged") from None


def decode_text(content: bytes) -> str:
    """Decode a text, with `\\n` at the ends of its lines.

    UTF-16 and UTF-32 by their byte order marks, or by their zeros; else UTF-8, and each line that is not in
    Windows-1252, which spreadsheets and older reference managers write.

    Raises:
        UnusableFile: it is no text.
    """
    text = _decode(content).removeprefix("\ufeff")
    if "\0" in text:
        raise UnusableFile("is no text, and no file that is known")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decode(content: bytes) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    zeros = content[:1000].count(0)
    if zeros > len(content[:1000]) // 3:
        is_little = zeros == content[1:1000:2].count(0)
        return content.decode("utf-16-le" if is_little else "utf-16-be", "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(map(_decode_line, content.splitlines(keepends=True)))


def _decode_line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")
