"""Files that a browser sends with a form, within bounds; those to be searched are kept in the workspace."""

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import QueryParams
from starlette.requests import Request

from willowbark.tools.errors import UsageError
from willowbark.tools.whole_file import write_file

MOST_BYTES = 32 << 20
"""Of a form with its files."""
_MOST_FIELDS = 200
_MOST_FILES = 50
_LONGEST_NAME = 80  # characters
_FILES_FOLDER = Path(".willowbark") / "files"


class SentFile(NamedTuple):
    """A file that a browser sent."""

    name: str
    """As the person's machine has it, without folders; no path is made of it but by `make_file_name`."""
    content: bytes

    def make_file_name(self, number: int) -> str:
        """Return a name that every system takes; the number keeps two of one name apart."""
        return f"{number}-{re.sub(r'[^A-Za-z0-9._-]', '_', self.name)[-_LONGEST_NAME:]}"


class SentForm(NamedTuple):
    """The fields of a form, and its files."""

    fields: QueryParams
    files: tuple[SentFile, ...] = ()


async def read_form(request: Request) -> SentForm:
    """Read a form; file fields that were left empty are left out.

    Raises:
        HTTPException: the form is malformed, or has too many fields or files. The guard bounds its bytes.
    """
    fields = list[tuple[str, str]]()
    files = list[SentFile]()
    bounds = {"max_files": _MOST_FILES, "max_fields": _MOST_FIELDS, "max_part_size": MOST_BYTES}
    async with request.form(**bounds) as form:
        for name, value in form.multi_items():
            if isinstance(value, str):
                fields.append((name, value))
            elif value.filename or value.size:
                bare_name = re.split(r"[/\\]", value.filename or "")[-1]
                files.append(SentFile(bare_name or "file", await value.read()))
    return SentForm(QueryParams(fields), tuple(files))


def keep_files(files: Sequence[SentFile]) -> Path:
    """Keep files in the workspace, by what they hold, for a run to search in the sources' place; return their folder.

    Raises:
        UsageError: a file that gives nothing, by its name and with what to do; none is kept then.
    """
    from willowbark.tools.library import open_library  # noqa: PLC0415  online runs need none

    digest = sha256()
    for file in files:
        digest.update(sha256(file.content).digest())
    folder = _FILES_FOLDER / digest.hexdigest()[:16]
    written = list(write_files(files, folder))
    for file, path in zip(files, written, strict=True):
        try:
            open_library(path)
        except UsageError as error:
            for written_path in written:
                written_path.unlink(missing_ok=True)
            raise UsageError(name_file(str(error), path, file.name).removeprefix("library ")) from None
    return folder


def write_files(files: Sequence[SentFile], folder: Path) -> Iterator[Path]:
    """Write files into a folder, and yield their paths; UsageError if that cannot be done."""
    for number, file in enumerate(files, 1):
        yield write_file(folder / file.make_file_name(number), file.content, "; the workspace cannot be written to")


def name_file(line: str, path: Path, name: str) -> str:
    """Tell a line on a kept file by the name that its sender knows."""
    for former in (str(path.resolve()), str(path), path.name):
        line = line.replace(former, name)
    return line
