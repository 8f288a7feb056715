"""A language model reads the records of a screening: each once, whatever was stopped or failed."""

import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from batch_servers import OpenAIBatchServer
from builders import study_draft
from openai_server import OpenAIServer, refusal
from test_other_providers import needs
from test_provider_quirks import kind_of
from test_screening_many import CONDITIONS, results, rows
from typer.testing import CliRunner
from writing_model import said_in

from willowbark.agents.asking import batches
from willowbark.teams.config import LLMSettings, ResearchSettings, Settings
from willowbark.teams.faces.cli import app
from willowbark.teams.screening import Screening, screen
from willowbark.teams.screening.engines import ReaderRow, Results, TrainedReader, WorkUnit, engine_of, read_here
from willowbark.teams.screening.models import ModelReader
from willowbark.teams.screening.tables import TableFolder
from willowbark.tools.errors import UsageError
from willowbark.tools.library import open_library

pytestmark = [needs("openai"), pytest.mark.filterwarnings("ignore:Resolved model mismatch")]
MODEL = "openai/gpt-4.1-mini"
Body = dict[str, Any]


@pytest.fixture(autouse=True)
def with_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "good")
    monkeypatch.setattr(batches, "FIRST_WAIT_S", 0.02)


def lines(body: Body) -> list[dict[str, Any]]:
    """The records in a prompt to read; empty for any other prompt."""
    return [json.loads(line) for line in said_in(body).splitlines() if line.startswith('{"key"')]


def none_tested(body: Body) -> str:
    """Reads each drug as one that all take."""
    told = [
        study_draft(evidence_key=line["key"], arms=[], background=line["drugs"])
        for line in lines(body)
        if line["drugs"]
    ]
    return json.dumps({"studies": told}) if kind_of(body) == "StudiesDraft" else "ready"


def settings(url: str, **limits: Any) -> Settings:
    batch = limits.pop("batch", False)
    llm = LLMSettings(model=MODEL, base_url=url, batch=batch, structured_output=True)
    return Settings(llm=llm, research=ResearchSettings.model_validate({"limits": limits}))


def screened(out: Path, chosen: Settings, engine: str = "local") -> tuple[Screening, ModelReader]:
    model = ModelReader(chosen, TableFolder(out / "batches"))
    return screen(CONDITIONS, open_library("bundled"), engine_of(engine), out, most=30, model=model), model


def read_in_small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a call hold four records, and a unit one call."""
    monkeypatch.setattr("willowbark.agents.asking.reader.BATCH", 4)
    monkeypatch.setattr("willowbark.teams.screening.models.BATCH", 4)
    monkeypatch.setattr("willowbark.teams.screening.models.AT_ONCE", 1)


def test_each_record_is_read_once_and_the_models_verdict_counts(tmp_path: Path) -> None:
    server = OpenAIServer(none_tested, takes_bounds=True)
    plain = screen(CONDITIONS, open_library("bundled"), read_here, tmp_path / "plain", most=30)
    with server.running() as url:
        done, model = screened(tmp_path / "model", settings(url))
        sent, tokens = len(server.bodies), model.tokens
        again, same = screened(tmp_path / "model", settings(url))
    assert plain.cells > 0 == done.cells == again.cells
    read = Counter(each["key"] for body in server.bodies for each in lines(body))
    assert set(read.values()) == {1}
    assert len(read) == done.by_model.due > 10
    assert len(server.bodies) == sent
    assert same.tokens == pytest.approx(tokens)
    assert same.cost_usd
    assert f"publications read by {MODEL}" in (tmp_path / "model" / "screen.html").read_text(encoding="utf-8")
    assert {row["read_by"] for row in rows(tmp_path / "plain" / "evidence.csv")} <= {"rules", "learned", "posted"}


def test_what_failed_is_named_and_asked_again_by_the_next_call(tmp_path: Path) -> None:
    failing = [True]
    server = OpenAIServer(
        lambda body: refusal(400, "no") if failing and lines(body) else none_tested(body), takes_bounds=True
    )
    with server.running() as url:
        first, _ = screened(tmp_path, settings(url))
        failing.clear()
        sent = len(server.bodies)
        second, _ = screened(tmp_path, settings(url))
    assert "not read by the model" in "\n".join(first.by_model.unread)
    assert first.cells > 0  # the trained reader's
    assert len(server.bodies) > sent
    assert (second.by_model.unread, second.cells) == ([], 0)


def test_a_model_that_answers_nothing_or_costs_too_much_ends_it_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("willowbark.teams.screening.models._MOST_FAILED", 1)
    read_in_small_units(monkeypatch)
    server = OpenAIServer(lambda body: refusal(400, "no") if lines(body) else none_tested(body), takes_bounds=True)
    with server.running() as url, pytest.raises(UsageError, match="the same command goes on"):
        screened(tmp_path, settings(url))
    with (
        OpenAIServer(none_tested, takes_bounds=True).running() as url,
        pytest.raises(UsageError, match="the budget is used up"),
    ):
        screened(tmp_path, settings(url, max_tokens=100))


def test_a_budget_ends_a_unit_where_it_is_used_up_and_another_models_tokens_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_in_small_units(monkeypatch)
    server = OpenAIServer(none_tested, takes_bounds=True)
    with server.running() as url:
        screened(tmp_path / "whole", settings(url))
        calls = len(server.bodies)
        with pytest.raises(UsageError, match="the budget is used up"):
            screened(tmp_path / "one", settings(url, max_tokens=4000))
        assert 1 < len(server.bodies) - calls < calls
        assert list(TableFolder(tmp_path / "one" / "model").rows()), "what was paid for stays"
        other = ModelReader(
            settings(url).overridden({"llm.model": "openai/gpt-4.1"}), TableFolder(tmp_path / "batches")
        )
        other.note(list(TableFolder(tmp_path / "one" / "model").rows()))
    assert (other.tokens, other.cost_usd) == (0, 0)


def test_what_is_under_way_when_a_budget_ends_is_kept() -> None:
    class Slow(TrainedReader):
        at_once = 2

        async def work(self, rows: Sequence[ReaderRow]) -> Results:
            await asyncio.sleep(0.01 * len(rows))
            return [*rows], []

    def units() -> Iterator[WorkUnit]:
        yield "one", [{}]
        yield "two", [{}] * 9
        raise UsageError("the budget is used up")

    reading = read_here(units(), Slow())
    assert [(name, len(found)) for name, (found, _) in (next(reading), next(reading))] == [("one", 1), ("two", 9)]
    with pytest.raises(UsageError, match="the budget is used up"):
        next(reading)


def test_the_settings_name_the_model_and_exit_code_4_says_that_it_read_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.csv").write_text("condition\nmigraine\n")
    refuses = [True]
    server = OpenAIServer(
        lambda body: refusal(400, "no") if refuses and lines(body) else none_tested(body), takes_bounds=True
    )
    asked = ["screen", "c.csv", "--library", "bundled", "--records", "30", "--config", "own.toml"]
    assert "own.toml" in CliRunner().invoke(app, asked).stderr
    with server.running() as url:
        Path("own.toml").write_text(f'[llm]\nmodel = "{MODEL}"\nbase_url = "{url}"\n')
        first = CliRunner().invoke(app, asked)
        refuses.clear()
        second = CliRunner().invoke(app, asked)
    assert (first.exit_code, second.exit_code) == (4, 0)
    assert re.search(r"^0 of \d+ records read by a model", first.stdout, re.MULTILINE)


def test_a_model_without_batches_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--batch: ollama/llama3.1 has no batch interface"):
        ModelReader(Settings(llm=LLMSettings(model="ollama/llama3.1", batch=True)), TableFolder(tmp_path))


@pytest.mark.whole
def test_a_command_that_is_killed_while_it_waits_for_batches_sends_nothing_twice(tmp_path: Path) -> None:
    server = OpenAIBatchServer(none_tested, looks=10**6)
    (tmp_path / "c.csv").write_text("condition\nsmoking cessation\nmigraine\n")
    asked = [sys.executable, "-m", "willowbark", "screen", "c.csv", "--library", "bundled", "--records", "30"]
    asked += ["--model", MODEL, "--batch", "--config", "own.toml", "--quiet"]
    with server.running() as url:
        (tmp_path / "own.toml").write_text(f'[llm]\nbase_url = "{url}"\n')
        with subprocess.Popen(asked, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            assert server.is_waited_for.wait(60)
            process.kill()
        server.looks = 0
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(server.batches) == 2
    assert [body for body in server.single.bodies if lines(body)] == []
    assert "records read by a model: openai/gpt-4.1-mini" in done.stdout


@pytest.mark.whole
def test_on_ray_a_model_reads_the_same(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with OpenAIServer(none_tested, takes_bounds=True).running() as url:
        screened(tmp_path / "here", settings(url))
        screened(tmp_path / "ray", settings(url), "ray")
    assert results(tmp_path / "here") == results(tmp_path / "ray")
