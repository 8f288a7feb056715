"""The ledger from the command line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION
from click.testing import Result
from typer.testing import CliRunner

from willowbark.teams.cli import app
from willowbark.teams.ledger import DEFAULT_PATH, Ledger
from willowbark.teams.runs_command import differences
from willowbark.tools.sandbox.server import SandboxServer


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxServer]:
    with SandboxServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _workspace(sandbox: SandboxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WILLOWBARK_SANDBOX_URL", sandbox.url)


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
        ledger._database.execute("UPDATE run SET status = 'running', report = NULL, stop_reason = NULL")
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


def test_a_replay_says_that_the_report_is_the_runs_own() -> None:
    replayed = invoke("replay", asked())
    assert replayed.exit_code == 0
    assert "the report is the run's own" in replayed.stderr


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
    assert invoke("diff", first, second).stdout.endswith("Nothing moved: same evidence, same verdicts.\n")


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
