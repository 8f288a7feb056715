"""The ledger from the command line."""

import json
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION
from click.testing import Result
from typer.testing import CliRunner

from willowbark.teams.faces.cli import app
from willowbark.teams.faces.runs_command import differences
from willowbark.teams.ledger import DEFAULT_PATH, Ledger
from willowbark.teams.ledger.database import pack
from willowbark.tools.sandbox.server import SandboxServer

pytestmark = pytest.mark.whole
_MINUTE = re.compile(r"\d\d:\d\d UTC")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxServer]:
    with SandboxServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _workspace(sandbox: SandboxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="willowbark")


def asked(*more: str) -> str:
    """A run's id."""
    done = invoke("ask", QUESTION, "-q", "--max-iterations", "1", "--max-results", "5", *more)
    assert done.exit_code == 0, done.output
    return sorted(Path("runs").iterdir())[-1].name


def interrupted(run_id: str) -> None:
    """Leave a run as a kill would after its last turn."""
    with Ledger() as ledger:
        ledger._database.connection.execute("UPDATE run SET status = 'running', report = NULL, stop_reason = NULL")
        assert ledger.run(run_id).status == "interrupted"


def test_a_question_is_kept_in_the_workspace_under_its_folders_name() -> None:
    run_id = asked()
    with Ledger.existing() as ledger:
        assert [run.run_id for run in ledger.runs()] == [run_id]


def test_without_a_ledger_nothing_is_kept() -> None:
    asked("--no-ledger")
    assert not DEFAULT_PATH.exists()
    assert "there is no ledger" in invoke("replay", "one").stderr


def test_an_interrupted_run_is_listed_and_resumed(sandbox: SandboxServer) -> None:
    run_id = asked()
    report = json.loads((Path("runs") / run_id / "report.json").read_text())
    interrupted(run_id)
    assert f"willowbark resume {run_id}" in invoke("runs").stdout

    before = len(sandbox.requests)
    resumed = invoke("resume", run_id, "--json", "-q")

    assert resumed.exit_code == 0
    assert json.loads(resumed.stdout)["drug_candidates"] == report["drug_candidates"]
    assert len(sandbox.requests) == before
    assert f"willowbark resume {run_id}" not in invoke("runs").stdout


KILLED = """
import os, signal
from willowbark.teams.faces import ask, cli
ask._leave = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
cli.main()
"""
"""The command line, killed when its run is committed and its report not yet written."""


@pytest.fixture
def killed() -> str:
    """The id of a run that was killed between the ledger's commit and its files."""
    command = [sys.executable, "-c", KILLED, "ask", QUESTION, "-q", "--max-iterations", "1", "--max-results", "5"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == -signal.SIGKILL
    (folder,) = Path("runs").iterdir()
    assert list(folder.iterdir()) == []
    return folder.name


def test_a_run_killed_before_its_report_was_written_has_it_from_the_ledger(killed: str) -> None:
    with Ledger.existing() as ledger:
        kept = ledger.report(killed)
    first = Path("runs") / killed / "report.json"
    for command in (
        ["runs"],
        ["show", killed],
        ["show", "last"],
        ["export", "last", "--to", "bib"],
        ["resume", killed],
    ):
        done = invoke(*command)
        assert (done.exit_code, "no report" in done.output) == (0, False), done.output
        assert json.loads(first.read_text()) == kept
        assert (first.parent / "report.md").is_file()
        for path in first.parent.iterdir():
            path.unlink()
    assert "was complete already" in done.stderr


def test_a_report_in_the_ledger_is_shown_whatever_became_of_its_folder(killed: str) -> None:
    (Path("runs") / killed / "report.json").write_text("torn")
    assert invoke("show", killed, "--json").stdout.startswith("{")
    assert (Path("runs") / killed / "report.json").read_text() == "torn"
    shutil.rmtree("runs")
    assert invoke("show", killed).exit_code == 0


@pytest.mark.parametrize("column", ["settings", "model_info"])
def test_a_run_whose_row_is_damaged_is_named_before_any_of_it_is_used(column: str) -> None:
    run_id = asked()
    with Ledger() as ledger:
        ledger._database.connection.execute(f"UPDATE run SET {column} = x'00'")
    for command in (["show", run_id, "--costs"], ["replay", run_id, "-q"], ["resume", run_id]):
        done = invoke(*command)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.output
        assert f"willowbark forget {run_id}" in done.stderr
    assert invoke("forget", run_id).exit_code == 0


def test_flipped_bits_of_a_ledger_are_one_line_with_the_way_out() -> None:
    run_id = asked()
    with Ledger() as ledger:
        ledger._database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content, told = DEFAULT_PATH.read_bytes(), set()
    commands = [["runs"], ["show", run_id, "--costs"], ["replay", run_id, "-q"], ["resume", run_id], ["forget", run_id]]
    shutil.rmtree(Path("runs") / run_id)
    (Path("runs") / run_id).mkdir()
    for seed in range(20):
        chance, flipped = random.Random(seed), bytearray(content)
        for _ in range(chance.choice((1, 10, 100))):
            flipped[chance.randrange(chance.choice((100, 50_000, len(content))))] ^= 1 << chance.randrange(8)
        for command in commands if seed % 5 else commands[:1]:
            DEFAULT_PATH.write_bytes(flipped)
            done = invoke(*command)
            if done.exit_code == 4 and command[0] == "replay":
                continue  # another report than the run's own, and it says so
            assert done.exit_code in (0, 2), (seed, command, done.output)
            if done.exit_code == 2:
                assert done.stderr.count("\n") == 1, done.stderr
                told |= {way for way in ("move it away", "forget", "willowbark runs") if way in done.stderr}
                assert told, done.stderr
    assert "move it away" in told


def test_a_replay_says_that_the_report_is_the_runs_own() -> None:
    replayed = invoke("replay", asked())
    assert replayed.exit_code == 0
    assert "the report is the run's own" in replayed.stderr


def test_a_replay_differs_where_the_stored_report_is_another() -> None:
    run_id = asked()
    with Ledger() as ledger:
        data = pack({**(ledger.report(run_id) or {}), "title": "Another"})
        ledger._database.connection.execute("UPDATE run SET report = ?", (data,))
    replayed = invoke("replay", run_id, "-q")
    assert (replayed.exit_code, "differs from the run's own" in replayed.stderr) == (4, True)


@pytest.mark.parametrize("command", ["resume", "replay"])
def test_resume_and_replay_are_shown_as_ask_is(command: str, tmp_path: Path) -> None:
    run_id = asked()
    if command == "resume":
        interrupted(run_id)
    done = invoke(command, run_id, "--json", "--out", "elsewhere", "-v", "--trace", "spans.json")

    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["research_question"] == QUESTION
    assert json.loads((tmp_path / "elsewhere" / run_id / "report.json").read_text()) == json.loads(done.stdout)
    assert "[willowbark.run]" in done.stderr
    assert (tmp_path / "spans.json").stat().st_size > 0


def test_a_quiet_replay_prints_the_report_and_writes_nothing(tmp_path: Path) -> None:
    run_id = asked()
    before = sorted(tmp_path.rglob("*.md"))
    replayed = invoke("replay", run_id, "--quiet")
    written = (Path("runs") / run_id / "report.md").read_text(encoding="utf-8")
    assert _MINUTE.sub("", replayed.stdout) == _MINUTE.sub("", written)  # each says when it was written
    assert replayed.stderr.splitlines() == ["willowbark: the report is the run's own"]
    assert sorted(tmp_path.rglob("*.md")) == before


def test_costs_are_shown_by_turn_and_agent_and_add_up() -> None:
    run_id = asked()
    shown = invoke("show", "last", "--costs")
    assert shown.exit_code == 0, shown.stderr
    rows = [line.split() for line in shown.stdout.splitlines() if line.endswith("$0.0000")]
    turns = [row for row in rows if row[1].isdigit()]
    total = rows[-1]

    assert {row[0] for row in turns} == {"literature", "trials", "mechanism", "judge", "report"}
    with Ledger.existing() as ledger:
        assert number(total[2]) + number(total[3]) == ledger.run(run_id).tokens
    assert sum(number(row[2]) for row in turns) == number(total[2])


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_a_price_that_is_not_known_is_said() -> None:
    run_id = asked()
    with Ledger() as ledger:
        ledger._database.connection.execute("UPDATE run SET model = 'openai/something-new'")
    shown = invoke("show", run_id, "--costs")
    assert shown.exit_code == 0, shown.stderr
    assert "price not known" in shown.stdout.splitlines()[-1]


def test_the_material_of_a_run_is_exported_from_the_ledger(tmp_path: Path) -> None:
    run_id = asked()
    exported = invoke("export", "last", "--to", "workspace,bib")
    assert exported.exit_code == 0, exported.stderr
    folder = Path("runs") / run_id / "workspace"
    assert exported.stdout.splitlines() == [str(folder.parent / "references.bib"), str(folder)]
    report = json.loads((folder.parent / "report.json").read_text())
    papers = {path.stem for path in (folder / "papers").iterdir()}

    assert {r["key"].replace(":", "-") for r in report["references"] if r["key"].startswith("pmid")} <= papers
    searches = [json.loads(path.read_text()) for path in (folder / "search_results").iterdir()]
    assert len(searches) == len(report["search_log"])
    assert {search["status"] for search in searches} <= {"ok", "empty"}
    assert {path.name for path in (folder / "analysis").iterdir()} == {
        "round-1-judge.json",
        "round-1-literature.md",
        "round-1-mechanism.md",
        "round-1-trials.md",
    }
    assert QUESTION in (folder / "README.md").read_text()


def test_material_can_go_elsewhere_and_needs_a_ledger() -> None:
    asked()
    assert invoke("export", "last", "--to", "workspace", "--out", "a/b").stdout == "a/b/workspace\n"
    DEFAULT_PATH.unlink()
    refused = invoke("export", "last", "--to", "workspace")
    assert (refused.exit_code, "there is no ledger" in refused.stderr) == (2, True)


def test_the_material_of_a_run_without_a_report_can_be_had() -> None:
    run_id = asked()
    interrupted(run_id)
    (Path("runs") / run_id / "report.json").unlink()
    assert invoke("export", run_id, "--to", "workspace").exit_code == 0


def test_a_round_is_shown_with_its_cost() -> None:
    run_id = asked()
    shown = invoke("show", run_id, "--iteration", "1")
    assert shown.exit_code == 0
    for speaker in ("literature", "trials", "mechanism", "judge", "report"):
        assert f"## {speaker} (" in shown.stdout
    assert "$0.0000" in shown.stdout
    assert "has no round 7; its last one is 1" in invoke("show", run_id, "--iteration", "7").stderr


def test_forgetting_leaves_the_run_folder() -> None:
    run_id = asked()
    assert invoke("forget", run_id).exit_code == 0
    assert (Path("runs") / run_id / "report.md").exists()
    again = invoke("forget", run_id)
    assert (again.exit_code, "there is no run" in again.stderr) == (2, True)


def test_equal_runs_do_not_differ() -> None:
    first, second = asked(), asked()
    same = invoke("diff", first, second).stdout
    assert same.endswith("Nothing moved: same evidence, same verdicts.\n")
    assert invoke("diff").stdout == invoke("diff", first).stdout == same


def test_a_run_is_compared_with_another_of_its_question_alone() -> None:
    asked()
    told = invoke("diff")
    assert (told.exit_code, "no other run asked" in told.stderr) == (2, True)


def test_last_is_a_run_for_every_command_and_resume_takes_one_that_is_unfinished() -> None:
    older = asked()
    interrupted(older)
    asked()

    assert invoke("replay", "last", "-q").exit_code == 0
    assert "tokens in" in invoke("show", "last", "--costs").stdout
    assert invoke("resume", "last", "-q").exit_code == 0
    with Ledger.existing() as ledger:
        assert ledger.run(older).status == "complete"
    assert invoke("forget", "last").exit_code == 0
    with Ledger.existing() as ledger:
        assert [run.run_id for run in ledger.runs()] == [older]


def test_a_run_without_a_report_has_no_differences_yet() -> None:
    run_id = asked()
    interrupted(run_id)
    assert f"bring it to one with `willowbark resume {run_id}`" in invoke("diff", run_id, run_id).stderr


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
    told = differences(report("pmid:1", "pmid:2"), report("pmid:2", "pmid:3", quality="moderate", retracted=True))
    assert told[1:] == [
        "Verdict: propranolol: weak (low) → moderate (low)",
        "Gone: pmid:1: Title pmid:1",
        "Changed: pmid:2: Title pmid:2",
        "New: pmid:3: Title pmid:3",
    ]


def test_another_number_alone_changes_nothing() -> None:
    assert differences(report("pmid:1", "pmid:2"), report("pmid:2", "pmid:1"))[1:] == [
        "Nothing moved: same evidence, same verdicts."
    ]
