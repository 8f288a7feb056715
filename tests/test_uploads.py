"""Files that a browser sends: taken apart as sent, within bounds, and read by the one reader of files."""

from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from willowbark.teams.page.uploads import SentFile, SentForm, keep_files, read_form
from willowbark.tools.errors import UsageError
from willowbark.tools.library import open_library

RIS = b"TY  - JOUR\r\nTI  - Propranolol for migraine\r\nAB  - Attacks fell by half.\r\nER  - \r\n"


def sent(*parts: tuple[str, bytes]) -> bytes:
    lines = [b"--edge\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + body for head, body in parts]
    return b"\r\n".join([*lines, b"--edge--\r\n"])


async def read(body: bytes) -> SentForm:
    """Read a form as the page does, of a request of this body."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    kind = (b"content-type", b'multipart/form-data; boundary="edge"')
    return await read_form(Request({"type": "http", "method": "POST", "headers": [kind], "app": None}, receive))


async def test_fields_and_files_are_taken_apart_byte_by_byte() -> None:
    content = bytes(range(256)) + b"\r\n--edg\r\n"
    form = await read(sent(('name="note"', "schön".encode()), ('name="files"; filename="ä b.pdf"', content)))

    assert form.fields["note"] == "schön"
    assert form.files == (SentFile("ä b.pdf", content),)


async def test_a_field_for_files_that_was_left_empty_gives_none() -> None:
    assert (await read(sent(('name="files"; filename=""', b"")))).files == ()


@pytest.mark.parametrize("name", ["../../etc/passwd", "C:\\\\Windows\\\\con.ris", "a/b.ris"])
async def test_a_files_name_leads_nowhere(name: str) -> None:
    (file,) = (await read(sent((f'name="files"; filename="{name}"', b"x")))).files

    assert not {"/", "\\"} & set(file.name)
    assert Path(file.make_file_name(1)).name == file.make_file_name(1)


@pytest.mark.parametrize(
    "body",
    [b"no form", sent(*[('name="a"', b"1")] * 300), sent(*[('name="a"; filename="b"', b"1")] * 60)],
    ids=["none", "fields", "files"],
)
async def test_what_is_no_form_or_has_too_much_is_refused(body: bytes) -> None:
    with pytest.raises(HTTPException) as problem:
        await read(body)
    assert problem.value.status_code == 400


def test_files_are_kept_for_a_run_to_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = keep_files([SentFile("mine.ris", RIS), SentFile("mine.ris", RIS.replace(b"half", b"a third"))])

    assert open_library(folder).contents.publications == 2


def test_a_file_that_gives_nothing_is_named_as_its_sender_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as problem:
        keep_files([SentFile("mine.ris", RIS), SentFile("holiday photo.png", b"\x89PNG\r\n\x1a\n\0\0")])

    assert str(problem.value).startswith("holiday photo.png: ")
    assert str(tmp_path) not in str(problem.value)
    assert list(tmp_path.rglob("*.ris")) == []
