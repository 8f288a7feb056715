"""Files that a browser sends with a form, within bounds; those to be searched are kept in the workspace.

`multipart/form-data`: https://www.rfc-editor.org/rfc/rfc7578
"""

import re
from collections.abc import Iterator, Sequence
from email.message import Message
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request

from willowbark.tools.errors import UsageError
from willowbark.tools.whole_file import write_file

MOST_BYTES = 32 << 20
"""Of a form with its files."""
_MOST_FIELDS = 200
_MOST_FILES = 50
_LONGEST_NAME = 80  # characters
_KEPT_IN = Path(".willowbark") / "files"


class SentFile(NamedTuple):
    """A file that a browser sent."""

    name: str
    """As the person's machine has it, without folders; no path is made of it but by `kept_name`."""
    content: bytes

    def kept_name(self, number: int) -> str:
        """Return a name that every system takes; the number keeps two of one name apart."""
        return f"{number}-{re.sub(r'[^A-Za-z0-9._-]', '_', self.name)[-_LONGEST_NAME:]}"


class SentForm(NamedTuple):
    """The fields of a form, and its files."""

    fields: QueryParams
    files: tuple[SentFile, ...] = ()


async def read_form(request: Request) -> SentForm:
    """Read a form; HTTPException if it is none or has too many fields."""
    body = await request.body()  # the guard bounds it
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        return parse_multipart(body, kind)
    try:
        return SentForm(QueryParams(parse_qsl(body.decode(errors="replace"), max_num_fields=_MOST_FIELDS)))
    except ValueError:
        raise HTTPException(413, "The form has too many fields.") from None


def parse_multipart(body: bytes, kind: str) -> SentForm:
    """Take a multipart form apart, whose type is `kind`; file fields that were left empty are left out."""
    head = Message()
    head["Content-Type"] = kind
    boundary = head.get_boundary()
    parts = (b"\r\n" + body).split(f"\r\n--{boundary}".encode()) if boundary else []
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise HTTPException(400, "The form is cut, or is none.")
    if len(parts) - 2 > _MOST_FIELDS:
        raise HTTPException(413, "The form has too many fields.")
    fields = list[tuple[str, str]]()
    files = list[SentFile]()
    for part in parts[1:-1]:
        lines, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        head_text = lines.decode(errors="replace")
        name = _read_parameter(head_text, "name") or ""
        file_name = _read_parameter(head_text, "filename")
        if file_name is None:
            fields.append((name, content.decode(errors="replace")))
        elif file_name or content:
            files.append(SentFile(re.split(r"[/\\]", file_name)[-1] or "file", content))
    if len(files) > _MOST_FILES:
        raise HTTPException(413, f"At most {_MOST_FILES} files at once.")
    return SentForm(QueryParams(fields), tuple(files))


def _read_parameter(head: str, name: str) -> str | None:
    """Return a parameter of a part's disposition, in which browsers write quotes as `%22`; None if it has none."""
    match = re.search(rf'[;\s]{name}=(?:"([^"]*)"|([^;\s]+))', head)
    return None if match is None else (match[1] or match[2] or "").replace("%22", '"')


def keep_files(files: Sequence[SentFile]) -> Path:
    """Keep files in the workspace, by what they hold, for a run to search in the sources' place; return their folder.

    Raises:
        UsageError: a file that gives nothing, by its name and with what to do; none is kept then.
    """
    from willowbark.tools.library import open_library  # noqa: PLC0415  online runs need none

    digest = sha256()
    for file in files:
        digest.update(sha256(file.content).digest())
    folder = _KEPT_IN / digest.hexdigest()[:16]
    written = list(write_files(files, folder))
    for file, path in zip(files, written, strict=True):
        try:
            open_library(path)
        except UsageError as error:
            for each in written:
                each.unlink(missing_ok=True)
            raise UsageError(name_file(str(error), path, file.name).removeprefix("library ")) from None
    return folder


def write_files(files: Sequence[SentFile], folder: Path) -> Iterator[Path]:
    """Write files into a folder, and yield their paths; UsageError if that cannot be done."""
    for number, file in enumerate(files, 1):
        yield write_file(folder / file.kept_name(number), file.content, "; the workspace cannot be written to")


def name_file(line: str, path: Path, name: str) -> str:
    """Tell a line on a kept file by the name that its sender knows."""
    for kept in (str(path.resolve()), str(path), path.name):
        line = line.replace(kept, name)
    return line
