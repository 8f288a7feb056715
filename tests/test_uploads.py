"""Files that a browser sends: taken apart as sent, within bounds, and read by the one reader of files."""

from pathlib import Path

import pytest
from starlette.exceptions import HTTPException

from willowbark.teams.page.uploads import SentFile, keep_files, parse_multipart
from willowbark.tools.errors import UsageError
from willowbark.tools.library import open_library

KIND = 'multipart/form-data; boundary="edge"'
RIS = b"TY  - JOUR\r\nTI  - Propranolol for migraine\r\nAB  - Attacks fell by half.\r\nER  - \r\n"


def sent(*parts: tuple[str, bytes]) -> bytes:
    lines = [b"--edge\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + body for head, body in parts]
    return b"\r\n".join([*lines, b"--edge--\r\n"])


def test_fields_and_files_are_taken_apart_byte_by_byte() -> None:
    content = bytes(range(256)) + b"\r\n--edg\r\n"
    form = parse_multipart(sent(('name="note"', "schön".encode()), ('name="files"; filename="ä b.pdf"', content)), KIND)

    assert form.fields["note"] == "schön"
    assert form.files == (SentFile("ä b.pdf", content),)


def test_a_field_for_files_that_was_left_empty_gives_none() -> None:
    assert parse_multipart(sent(('name="files"; filename=""', b"")), KIND).files == ()


@pytest.mark.parametrize("name", ["../../etc/passwd", "C:\\\\Windows\\\\con.ris", "a/b.ris"])
def test_a_files_name_leads_nowhere(name: str) -> None:
    (file,) = parse_multipart(sent((f'name="files"; filename="{name}"', b"x")), KIND).files

    assert not {"/", "\\"} & set(file.name)
    assert Path(file.kept_name(1)).name == file.kept_name(1)


@pytest.mark.parametrize("body", [b"", b"--edge\r\n", sent(("name=a", b"1"))[:-8]])
def test_a_form_that_is_cut_is_refused(body: bytes) -> None:
    with pytest.raises(HTTPException) as problem:
        parse_multipart(body, KIND)
    assert problem.value.status_code == 400


def test_too_many_fields_are_refused() -> None:
    with pytest.raises(HTTPException) as problem:
        parse_multipart(sent(*[('name="a"', b"1")] * 300), KIND)
    assert problem.value.status_code == 413


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
