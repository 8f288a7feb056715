"""`willowbark example`: a strong model's run, replayed through the real agents, labelled as recorded."""

import json
from pathlib import Path

import pytest
from autogen_core.models import UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient
from typer.testing import CliRunner

from willowbark.teams.faces.cli import app
from willowbark.teams.run.example import LABEL, RECORDING, PromptNotRecorded, RecordedAnswers, read_recording

MOST_BYTES = 200_000  # of a file that everybody installs


def test_the_recording_is_small_and_holds_no_prompt() -> None:
    question, *lines = map(json.loads, RECORDING.read_text(encoding="utf-8").splitlines())

    assert RECORDING.stat().st_size < MOST_BYTES
    assert question["question"].endswith("?")
    assert {frozenset(line) for line in lines} == {frozenset({"prompt", "answer"})}
    assert {len(line["prompt"]) for line in lines} == {64}


async def test_what_was_not_recorded_is_not_answered() -> None:
    _, client = read_recording()

    assert isinstance(client, ReplayChatCompletionClient)
    with pytest.raises(PromptNotRecorded, match="`make example` records it anew"):
        await RecordedAnswers({}).create([UserMessage(content="Anything?", source="user")])


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore:Resolved model mismatch")
def test_the_example_is_a_labelled_run_by_the_model_without_key_or_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WILLOWBARK_LLM__MODEL", "openai/none")  # its settings are the recording's, whoever runs it
    result = CliRunner().invoke(app, ["example", "--json", "--quiet"])
    report = json.loads(result.stdout)

    assert result.exit_code == 0, f"{result.stderr}\n`make example` records it anew"
    assert f"willowbark: {LABEL}: " in result.stderr
    assert report["summary_parts"][0]["label"] == LABEL
    assert (report["analyst"], report["model_failed"]) == (RecordedAnswers.display_name, False)
    assert report["drug_candidates"][0] == "finerenone"
    assert {study["reader"] for study in report["studies"]} == {"model", "registry"}
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"**{LABEL}:**" in (folder / "report.md").read_text(encoding="utf-8")
