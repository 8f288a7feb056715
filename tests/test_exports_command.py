"""`willowbark runs`, `show` and `export`: what they write, and how they refuse."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from exports_sample import sample
from typer.testing import CliRunner, Result

from willowbark.teams import exports
from willowbark.teams.exports import FORMATS, write_export
from willowbark.teams.faces.cli import app
from willowbark.tools.errors import UsageError

pytestmark = pytest.mark.usefixtures("pictures_once")
OLDER, NEWER = "20250601-120000-quit-smoking-0a1b", "20250602-120000-quit-smoking-0a1b"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two runs, one of them without a report."""
    monkeypatch.chdir(tmp_path)
    for name in (OLDER, NEWER):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / OLDER / "report.json").write_text(sample().to_json(), encoding="utf-8")
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="willowbark")


def complaint(result: Result) -> str:
    """The one line on stderr of a command that was refused."""
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_every_format_is_written_beside_the_report(here: Path) -> None:
    result = invoke("export", OLDER, "--to", "html,bib,ris,csl,docx,csv,xlsx")
    assert result.exit_code == 0, result.stderr
    written = [here / line for line in result.stdout.splitlines()]
    assert [path.name for path in written] == [known.file_name for known in FORMATS[:7]]
    assert all(path.stat().st_size for path in written)
    assert all(path.parent == here / "runs" / OLDER for path in written)


def test_another_folder_is_made_and_nothing_half_written_left(here: Path) -> None:
    assert invoke("export", "last", "--to", "bib, csv", "--out", "a/b").exit_code == 0
    assert sorted(path.name for path in (here / "a" / "b").iterdir()) == ["evidence.csv", "references.bib"]


def test_an_export_twice_gives_the_same_bytes(here: Path) -> None:
    for out in ("one", "two"):
        assert invoke("export", OLDER, "--to", ",".join(f.name for f in FORMATS), "--out", out).exit_code == 0
    for path in (here / "one").iterdir():
        assert path.read_bytes() == (here / "two" / path.name).read_bytes(), path.name


def test_runs_are_listed_newest_first() -> None:
    head, first, second = invoke("runs").stdout.splitlines()
    assert head.split() == ["run", "question", "candidates", "certainty", "cost", "time"]
    assert first.split() == [NEWER[:15], "no", "report"]
    assert second.startswith(f"{OLDER[:15]}  ")
    assert "bupropion" in second
    assert max(map(len, (head, first, second))) <= 80


@pytest.mark.parametrize("run", [OLDER, OLDER[:15], "20250601", "last"])
def test_a_run_is_meant_by_its_id_its_beginning_or_last(run: str) -> None:
    assert "bupropion" in invoke("show", run).stdout


def test_a_beginning_of_several_runs_is_refused_with_their_ids() -> None:
    told = complaint(invoke("show", "2025060"))
    assert OLDER in told
    assert NEWER in told


def test_no_runs_is_said_and_is_no_error() -> None:
    result = invoke("runs", "--runs", "nowhere")
    assert (result.exit_code, result.stdout) == (0, "No runs in nowhere.\n")


def test_a_list_shows_no_control_characters(here: Path) -> None:
    report = sample().model_copy(update={"research_question": "\x1b[31mred\n\x07"})
    (here / "runs" / NEWER / "report.json").write_text(report.to_json(), encoding="utf-8")
    assert "\x1b" not in invoke("runs").stdout
    assert len(invoke("runs").stdout.splitlines()) == 3


def test_show_prints_the_report_again() -> None:
    assert invoke("show", "last").stdout == sample().to_markdown()
    assert json.loads(invoke("show", OLDER, "--json").stdout)["title"] == sample().title


@pytest.mark.parametrize("run", ["../../etc", "/etc", "..", "UPPER", "a" * 65, "none-such"])
def test_a_run_that_is_none_is_refused_in_a_line(run: str) -> None:
    assert "run" in complaint(invoke("export", run))
    assert "run" in complaint(invoke("show", run))


def test_a_run_without_a_report_is_refused() -> None:
    assert "no JSON report" in complaint(invoke("export", NEWER))


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b'{"title": 1}', b"\xff\xfe"])
def test_a_report_that_is_none_is_refused(here: Path, content: bytes) -> None:
    (here / "runs" / NEWER / "report.json").write_bytes(content)
    assert "no report of this version" in complaint(invoke("show", NEWER))
    assert invoke("runs").exit_code == 0


def test_an_unknown_format_is_refused_and_the_known_ones_named(here: Path) -> None:
    line = complaint(invoke("export", OLDER, "--to", "csv,pdf"))
    assert "'pdf'" in line
    assert "html, bib" in line
    assert not (here / "runs" / OLDER / "evidence.csv").exists()
    complaint(invoke("export", OLDER, "--to", " , "))


def test_the_help_names_every_format() -> None:
    text = " ".join(invoke("export", "--help").stdout.split())
    assert all(known.name in text for known in FORMATS)


def test_a_missing_extra_is_one_line_with_the_command(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    monkeypatch.setitem(sys.modules, "docx", None)
    monkeypatch.delitem(sys.modules, "willowbark.teams.exports.docx", raising=False)
    line = complaint(invoke("export", OLDER, "--to", "csv,docx"))
    assert "pip install 'willowbark[report]'" in line
    assert not (here / "runs" / OLDER / "evidence.csv").exists(), "nothing is written before all is rendered"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="a superuser may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_refused(here: Path) -> None:
    (here / "shut").mkdir(mode=0o500)
    assert "cannot be written" in complaint(invoke("export", OLDER, "--to", "csv", "--out", "shut"))


def test_a_file_in_the_folders_place_is_refused(here: Path) -> None:
    (here / "file").write_text("x")
    assert "cannot be written" in complaint(invoke("export", OLDER, "--to", "csv", "--out", "file"))


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write_export(tmp_path / "x.csv", b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        write_export(target, b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".x")] == []


def test_what_is_heavy_is_loaded_only_when_a_format_needs_it() -> None:
    code = (
        "import sys, willowbark.teams.faces.export_command; "
        "print([m for m in ('matplotlib', 'docx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_format_stands_once_and_its_file_is_a_plain_name() -> None:
    names = [known.name for known in FORMATS]
    files = [known.file_name for known in FORMATS]
    assert len(set(names)) == len(names)
    assert len(set(files)) == len(files)
    assert exports.format_of("csl").file_name == "references.csl.json"
