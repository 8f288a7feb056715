"""What must not happen: free addresses, arguments that are none, runs without end, state that runs."""

import contextlib
import os
import pickle
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest
from autogen_core import CancellationToken
from builders import QUESTION
from faults.server import SourceServer
from pydantic import ValidationError
from recorded import publish, recorded

from willowbark.teams.config import ResearchSettings, Settings
from willowbark.teams.ledger import Ledger, LedgerError
from willowbark.teams.run.research import research, resume
from willowbark.tools.errors import UsageError
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.toolbox import GetCitations, GetMechanisms, GetPaper, GetTrial, SourceTool

QUICK = RetryPolicy(first_wait_s=0.01, longest_wait_s=0.1)


# --- a settings file that lies in the folder ---


def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> Path:
    monkeypatch.chdir(folder)
    file = folder / "willowbark.toml"
    file.write_text(f'[llm]\nmodel = "openai/gpt-4.1-mini"\nbase_url = "{url}"\n')
    return file


def test_a_file_that_nobody_named_cannot_send_keys_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_folder(tmp_path, monkeypatch, "https://evil.invalid/v1")
    with pytest.raises(UsageError, match=r"your key; set WILLOWBARK_LLM__BASE_URL .* --config willowbark.toml"):
        Settings.load()


def test_a_server_on_this_machine_a_named_file_and_the_environment_may_be_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url in ("http://127.0.0.1:8080/v1", "http://localhost:1234", "http://[::1]:9/v1"):
        in_folder(tmp_path, monkeypatch, url)
        assert Settings.load().llm.base_url == url
    file = in_folder(tmp_path, monkeypatch, "https://models.example.org/v1")
    assert Settings.load(file).llm.base_url == "https://models.example.org/v1"
    monkeypatch.setenv("WILLOWBARK_LLM__BASE_URL", "https://mine.example.org/v1")
    assert Settings.load().llm.base_url == "https://mine.example.org/v1"


# --- arguments of tools ---

BAD_NAMES = ["", "http://x", "a/b", "a?b", "a\nb", "$(id)", "a" * 101, "file:///etc/passwd", "`id`"]
ARGUMENTS: list[tuple[Any, str, list[Any]]] = [
    (GetPaper, "pmid", ["", "0", "abc", "1;ls", "../1", "http://x/1", "1&db=protein", "1\n2", "1" * 10, "１２３"]),
    (GetCitations, "citations_of", ["", "0", "PMC1", "1;ls", "../1", "1 OR 2", "1&db=protein", "1\n2", "1" * 10]),
    (GetTrial, "nct_id", ["", "NCT1", "NCT00000001/../x", "NCT00000001\n", "NCT0000000１"]),
    (GetMechanisms, "drugs", [[], *([each] for each in BAD_NAMES), "propranolol", ["propranolol"] * 21]),
    (lambda: SourceTool("openfda"), "drugs", [[], *([each] for each in BAD_NAMES), ["propranolol"] * 21]),
    (lambda: SourceTool("pubmed"), "query", ["", "x" * 2001, 7, None, ["x"]]),
    (lambda: SourceTool("pubmed"), "page", [0, -1, 101, "x"]),
]


@pytest.mark.parametrize(("tool", "name", "values"), ARGUMENTS)
async def test_an_argument_that_is_no_identifier_reaches_no_source(tool: Any, name: str, values: list[Any]) -> None:
    with SourceServer() as server:
        async with Transport(Endpoints.at(server.url), policy=QUICK) as transport:
            made = tool()
            made.bind(transport, "0" * 16)
            for value in values:
                with pytest.raises(ValidationError):
                    await made.run_json({name: value}, CancellationToken())
            with pytest.raises(ValidationError):
                await made.run_json({name: "12345678", "url": "http://evil.invalid/"}, CancellationToken())
        assert server.requests == []


# --- redirects ---


def test_every_public_address_is_https_and_none_comes_from_a_record() -> None:
    endpoints = Endpoints.public({"BRAVE_API_KEY": "x"})

    assert {endpoint.base_url.partition(":")[0] for endpoint in endpoints.by_source.values()} == {"https"}
    assert [host for host in endpoints.hosts if not ("." in host and not host.replace(".", "").isdigit())] == []


# --- consumption ---


async def test_a_reply_of_a_thousand_records_gives_as_many_as_were_asked_for(tmp_path: Path) -> None:
    many = ({"pmid": str(10_000_000 + number), "title": "Timolol in migraine"} for number in range(1000))
    async with recorded(replies=publish(tmp_path, *many)) as transport:
        tool = SourceTool("pubmed", max_results=10)
        tool.bind(transport, "0" * 16)
        reply = await tool.run_json({"query": "migraine"}, CancellationToken())
    [answer] = reply.replies
    assert (len(answer.records), answer.total) == (10, 1000)


# --- what is stored ---


async def test_a_pickle_in_the_place_of_a_reply_is_not_loaded(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "evil"),)

    path = tmp_path / "l" / "ledger.db"
    settings = Settings(research=ResearchSettings(max_iterations=1, max_results_per_tool=3))
    with SourceServer() as server:
        endpoints = Endpoints.at(server.url)
        await research(QUESTION, settings=settings, endpoints=endpoints, ledger=path, run_id="one")
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("UPDATE run SET status = 'cancelled'")
            database.execute("UPDATE turn SET message = ?", (zlib.compress(pickle.dumps(Evil())),))
            database.commit()
        with Ledger(path) as ledger, pytest.raises(LedgerError, match=r"is damaged|not what was written"):
            await resume("one", ledger, endpoints=endpoints)
    assert not (tmp_path / "evil").exists()
