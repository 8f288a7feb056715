"""Earlier runs from the command line: list, show, export, resume, replay, compare, forget; and how they refuse."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION
from exports_sample import WITHOUT_BROWSER, sample
from typer.testing import CliRunner, Result

from willowbark.agents.exports import FORMATS
from willowbark.teams.config import Settings
from willowbark.teams.events import AgentEvent
from willowbark.teams.faces.cli import app
from willowbark.teams.faces.runs import print_runs
from willowbark.teams.ledger import DEFAULT_PATH, Ledger
from willowbark.teams.ledger.database import pack
from willowbark.teams.run.history import RunRow, find_run, list_differences
from willowbark.tools.errors import UsageError
from willowbark.tools.installation import advise_extra
from willowbark.tools.whole_file import write_file

OLDER, NEWER = "20250601-120000-quit-smoking-0a1b", "20250602-120000-quit-smoking-0a1b"
ASK = ["ask", QUESTION, "--offline", "-q", "--max-iterations", "1", "--max-results", "5"]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="willowbark")


def complaint(result: Result) -> str:
    """The one line on stderr of a command that was refused."""
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


# --- reports in run folders ---


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace without a ledger and with two runs, one of them without a report."""
    monkeypatch.chdir(tmp_path)
    for name in (OLDER, NEWER):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / OLDER / "report.json").write_text(sample().to_json(), encoding="utf-8")
    return tmp_path


def test_every_format_is_written_beside_the_report_and_gives_the_same_bytes_again(folders: Path) -> None:
    formats = ",".join(known.name for known in WITHOUT_BROWSER)
    result = invoke("export", OLDER, "--to", formats)
    assert result.exit_code == 0, result.stderr
    first = [folders / line for line in result.stdout.splitlines()]
    assert [path.name for path in first] == [known.file_name for known in WITHOUT_BROWSER]
    assert [path for path in first if not (path.parent == folders / "runs" / OLDER and path.stat().st_size)] == []
    assert invoke("export", "last", "--to", formats, "--out", "a/b").exit_code == 0
    assert [path.read_bytes() for path in first] == [(folders / "a/b" / path.name).read_bytes() for path in first]


def test_runs_are_listed_newest_first_and_control_no_terminal(folders: Path) -> None:
    head, first, second = invoke("runs").stdout.splitlines()
    assert head.split("\t") == [*RunRow._fields]
    assert first.split("\t")[:4] == [NEWER, NEWER[:15], "", "no report"]
    assert second.split("\t")[:2] == [OLDER, OLDER[:15]]
    assert "bupropion" in second
    listed = json.loads(invoke("runs", "--json").stdout)
    assert [(each["run_id"], each["status"]) for each in listed] == [(NEWER, None), (OLDER, None)]
    assert invoke("runs", "--runs", "nowhere").stdout.split("\t")[0] == "run_id"
    report = sample(research_question="\x1b[31mred\n\x07")
    (folders / "runs" / NEWER / "report.json").write_text(report.to_json(), encoding="utf-8")
    assert "\x1b" not in invoke("runs").stdout
    assert len(invoke("runs").stdout.splitlines()) == 3


@pytest.mark.usefixtures("folders")
def test_a_table_of_runs_keeps_all_columns_and_names_each_by_what_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("COLUMNS", "80")
    print_runs(Path("runs"))
    head, *rows = re.sub(r"\x1b\[\d*m", "", out.getvalue()).splitlines()
    assert head.split() == ["run", "question", "candidates", "cost"]
    assert max(map(len, (head, *rows))) <= 80
    assert [find_run(row.split()[0], Path("runs")) for row in rows] == [NEWER, OLDER]


@pytest.mark.usefixtures("folders")
def test_a_run_is_meant_by_its_id_its_beginning_or_last_and_one_of_several_is_refused() -> None:
    for run in (OLDER, OLDER[:15], "20250601", "last"):
        assert invoke("show", run).stdout == sample().to_markdown("report-appendix.md")
    assert json.loads(invoke("show", run, "--json").stdout)["title"] == sample().title
    refused = complaint(invoke("show", "2025060"))
    assert OLDER in refused
    assert NEWER in refused


@pytest.mark.parametrize(
    ("run", "content", "part"),
    [
        ("../../etc", None, "is not a run id"),
        ("none-such", None, "there is no run"),
        (NEWER, None, "no JSON report"),
        (NEWER, b"{}", "not a report of this version"),
        (NEWER, b"\xff\xfe", "not a report of this version"),
        (NEWER, "a pipe", "not a file of 256 MB at most"),
        (NEWER, "a" * 300, "cannot be read"),
    ],
)
def test_what_is_no_run_or_no_report_is_refused_in_a_line_and_the_list_goes_on(
    run: str, content: bytes | str | None, part: str, folders: Path
) -> None:
    report = folders / "runs" / NEWER / "report.json"
    if isinstance(content, bytes):
        report.write_bytes(content)
    elif content == "a pipe":
        os.mkfifo(report)
    elif content:
        report.symlink_to(content)  # a name that is too long
    for command in ("export", "show"):
        assert part in complaint(invoke(command, run))
    said = invoke("runs").stdout
    assert ("unreadable report" in said, "bupropion" in said) == (content is not None, True)


def test_an_unknown_format_is_refused_and_the_known_ones_named(folders: Path) -> None:
    line = complaint(invoke("export", OLDER, "--to", "csv,odt"))
    assert "'odt'" in line
    assert "html, bib" in line
    assert not (folders / "runs" / OLDER / "evidence.csv").exists()
    complaint(invoke("export", OLDER, "--to", " , "))
    (folders / "file").write_text("x")
    assert "cannot be written" in complaint(invoke("export", OLDER, "--to", "csv", "--out", "file"))
    text = " ".join(invoke("export", "--help").stdout.split())
    assert [known for known in FORMATS if known.name not in text] == []


def test_a_missing_extra_is_one_line_with_the_command(monkeypatch: pytest.MonkeyPatch, folders: Path) -> None:
    monkeypatch.setitem(sys.modules, "docx", None)
    monkeypatch.delitem(sys.modules, "willowbark.agents.exports.docx", raising=False)
    assert advise_extra("report") in complaint(invoke("export", OLDER, "--to", "csv,docx"))
    assert not (folders / "runs" / OLDER / "evidence.csv").exists(), "nothing is written before all is rendered"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    target = write_file(tmp_path / "x.csv", b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        write_file(target, b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x.csv", b"old")]


# --- runs in the ledger ---


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one complete run."""
    folder = tmp_path_factory.mktemp("workspace")
    done = subprocess.run([sys.executable, "-m", "willowbark", *ASK], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def run_id(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The run's id, in a copy of that workspace."""
    shutil.copytree(workspace, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    (folder,) = Path("runs").iterdir()
    return folder.name


def interrupt(run_id: str) -> None:
    """Leave a run as a kill would after its last turn."""
    with Ledger() as ledger:
        undo = "UPDATE run SET status = 'running', report = NULL, stop_reason = NULL WHERE id = ?"
        ledger.connection.execute(undo, (run_id,))
        assert ledger.run(run_id).status == "interrupted"


pytestmark = pytest.mark.whole


def test_without_a_ledger_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(*ASK, "--no-ledger").exit_code == 0
    assert not DEFAULT_PATH.exists()
    assert "there is no ledger" in complaint(invoke("replay", "one"))


def test_an_interrupted_run_is_listed_and_resumed_to_the_same_report(run_id: str) -> None:
    report = json.loads((Path("runs") / run_id / "report.json").read_text())
    interrupt(run_id)
    (line,) = [each for each in invoke("runs").stdout.splitlines() if each.startswith(run_id)]
    assert line.endswith("\tinterrupted")
    assert f"finish it with `willowbark resume {run_id}`" in complaint(invoke("diff", run_id, run_id))

    resumed = invoke("resume", "last", "--json", "-q")

    assert resumed.exit_code == 0
    assert json.loads(resumed.stdout)["drug_candidates"] == report["drug_candidates"]
    assert f"willowbark resume {run_id}" not in invoke("runs").stdout


KILLED = """
import os, signal
from willowbark.teams.faces import ask, cli
ask._finish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
cli.main()
"""
"""The command line, killed when its run is committed and its report not yet written."""


def test_a_run_killed_before_its_report_was_written_has_it_from_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED, *ASK], check=False, capture_output=True)
    (folder,) = Path("runs").iterdir()
    assert (done.returncode, list(folder.iterdir())) == (-signal.SIGKILL, [])
    with Ledger.existing() as ledger:
        kept = ledger.report(folder.name)
    for command in (["runs"], ["show", "last"], ["export", "last", "--to", "bib"], ["resume", folder.name]):
        result = invoke(*command)
        assert (result.exit_code, "no report" in result.output) == (0, False), result.output
    assert "was already complete" in result.stderr
    assert json.loads((folder / "report.json").read_text()) == kept
    (folder / "report.json").write_text("torn")
    assert json.loads(invoke("show", folder.name, "--json").stdout) == kept


@pytest.mark.parametrize("column", ["settings", "model_info"])
def test_a_run_whose_row_is_damaged_is_named_before_any_of_it_is_used(column: str, run_id: str) -> None:
    with Ledger() as ledger:
        ledger.connection.execute(f"UPDATE run SET {column} = x'00'")
    for command in (["replay", run_id, "-q"], ["resume", run_id]):
        assert f"willowbark forget {run_id}" in complaint(invoke(*command))
    assert invoke("forget", run_id).exit_code == 0


def test_a_quiet_replay_prints_the_runs_own_report_and_writes_nothing_and_says_where_the_stored_one_is_another(
    run_id: str, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*.md"))
    replayed = invoke("replay", run_id, "--quiet")
    written = (Path("runs") / run_id / "report.md").read_text(encoding="utf-8")
    minute = re.compile(r"\d\d-\d\d \d\d:\d\d\b")  # each says when it was written
    assert minute.sub("", replayed.stdout) == minute.sub("", written)
    assert replayed.stderr.splitlines() == ["willowbark: the report is the run's own"]
    assert sorted(tmp_path.rglob("*.md")) == before

    with Ledger.existing() as ledger:
        another = pack({**(ledger.report(run_id) or {}), "title": "Another"})
    for stored, code, said in (
        (another, 4, "willowbark: the report differs from the run's own\n"),
        (None, 0, ""),  # nothing is claimed where none was kept
    ):
        with Ledger() as ledger:
            ledger.connection.execute("UPDATE run SET report = ?", (stored,))
        replayed = invoke("replay", run_id, "-q")
        assert (replayed.exit_code, replayed.stderr) == (code, said)


def test_a_run_of_another_version_costs_no_list_and_is_named_in_a_line(run_id: str) -> None:
    shutil.rmtree(Path("runs") / run_id)
    with Ledger() as ledger:
        data = pack({**(ledger.report(run_id) or {}), "of_old": 1})
        turn = next(each.message for each in ledger.turns(run_id) if each.type == "ReportMessage")
        message = pack({**turn, "content": {**turn["content"], "of_old": 1}})
        ledger.connection.execute("UPDATE run SET report = ?", (data,))
        ledger.connection.execute("UPDATE turn SET message = ? WHERE type = 'ReportMessage'", (message,))
    assert "unreadable report" in invoke("runs").stdout
    assert "not of this version of Willowbark (content.of_old)" in complaint(invoke("replay", run_id, "-q"))


@pytest.mark.parametrize(("allowed", "code"), [(True, 0), (False, 4)])
def test_a_resumed_run_keeps_to_the_fallback_it_was_allowed(
    allowed: bool, code: int, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(run_id)
    settings = Settings().overridden({"llm.fallback": allowed})

    async def resumed(*_: object, **__: object) -> AsyncIterator[AgentEvent]:
        yield AgentEvent(type="complete", message="", data=sample().model_copy(update={"model_failed": True}))

    monkeypatch.setattr("willowbark.teams.run.research.resume_stream", resumed)
    monkeypatch.setattr(Settings, "restored", lambda *_: settings)
    result = invoke("resume", run_id, "-q")
    assert (result.exit_code, "--fallback accepts such a report" in result.stderr) == (code, not allowed)


def test_equal_runs_do_not_differ_and_last_names_the_latest_or_an_unfinished_one(run_id: str) -> None:
    assert "no other run asked" in complaint(invoke("diff"))
    assert invoke(*ASK).exit_code == 0
    later = max(Path("runs").iterdir()).name
    same = invoke("diff", run_id, later).stdout
    assert same.endswith("Nothing changed: same evidence, same verdicts.\n")
    assert invoke("diff").stdout == invoke("diff", run_id).stdout == same

    interrupt(run_id)
    assert invoke("resume", "last", "-q").exit_code == 0
    assert invoke("forget", "last").exit_code == 0
    assert (Path("runs") / later / "report.md").exists()
    assert "there is no run" in complaint(invoke("forget", later))
    with Ledger.existing() as ledger:
        assert [(run.run_id, run.status) for run in ledger.runs()] == [(run_id, "complete")]


def report(*keys: str, quality: str = "weak", **changed: Any) -> dict[str, Any]:
    """What `differences` reads of a report."""
    return {
        "research_question": QUESTION,
        "candidates": [{"name": "propranolol", "evidence_quality": quality, "certainty": "low"}],
        "references": [{"key": key, "title": f"Title {key}", "number": n, **changed} for n, key in enumerate(keys)],
        "evidence_table": [],
        "trials": [],
    }


def test_differences_name_new_gone_and_changed_evidence_and_moved_verdicts() -> None:
    found = list_differences(report("pmid:1", "pmid:2"), report("pmid:2", "pmid:3", quality="moderate", retracted=True))
    assert found[1:] == [
        "propranolol: evidence weak → moderate",
        "Gone: pmid:1: Title pmid:1",
        "Changed: pmid:2: retracted not reported → True (Title pmid:2)",
        "New: pmid:3: Title pmid:3",
    ]
    before, after = report("pmid:1"), report("pmid:1")
    for each, direction in ((before, "inconclusive"), (after, "supporting")):
        each["evidence_table"] = [{"key": "pmid:1", "drug": "propranolol", "title": "", "direction": direction}]
    assert list_differences(before, after)[1:] == [
        "Changed: pmid:1: propranolol direction inconclusive → supporting (Title pmid:1)"
    ]
    only_numbers = list_differences(report("pmid:1", "pmid:2"), report("pmid:2", "pmid:1"))
    assert only_numbers[1:] == ["Nothing changed: same evidence, same verdicts."]
