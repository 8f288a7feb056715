"""Keys are found nowhere they do not belong."""

import asyncio
import contextlib
import json
import logging
import socket
import sqlite3
import traceback
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from builders import QUESTION
from faults.breakage import FaultyServer
from faults.plan import FaultPlan
from faults.server import SourceServer
from pydantic import SecretStr

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.exports import render
from willowbark.teams.config import OutputSettings, ResearchSettings, Settings
from willowbark.teams.research_team import ResearchTeam, default_participants
from willowbark.teams.run.research import research_stream
from willowbark.tools.errors import SearchError
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.transport import Exchange, Transport


def team_in_json() -> dict[str, Any]:
    client = BaselineChatCompletionClient()
    return json.loads(ResearchTeam(default_participants(client), client).dump_component().model_dump_json())  # type: ignore[no-any-return]


CANARIES = {
    name: f"canary-{name.lower().replace('_', '-')}-5f1c"
    for name in (
        "NCBI_API_KEY",
        "OPENFDA_API_KEY",
        "OPENALEX_API_KEY",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "AZURE_OPENAI_API_KEY",
    )
}


AS_PARAMETER = ("openfda", "openalex")
"""Sources whose key travels as a parameter of the address."""


def keyed(server: SourceServer) -> Endpoints:
    """Recorded replies, with one key that travels in bodies and two that travel as a parameter."""
    plain = Endpoints.at(server.url)
    keys = {"pubmed": "NCBI_API_KEY", "openfda": "OPENFDA_API_KEY", "openalex": "OPENALEX_API_KEY"}
    with_keys = {
        source: plain[source].model_copy(
            update={"key": SecretStr(CANARIES[name]), "key_in": "body" if source == "pubmed" else "parameter"}
        )
        for source, name in keys.items()
    }
    return plain.model_copy(update={"by_source": {**plain.by_source, **with_keys}})


def words_of(ledger: Path) -> str:
    """Everything that a ledger holds, compressed or not, with the bytes of its files."""
    found = [file.read_bytes().decode("latin-1") for file in ledger.parent.rglob("*") if file.is_file()]
    with contextlib.closing(sqlite3.connect(ledger)) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            values = [value for row in database.execute(f"SELECT * FROM {table}") for value in row]
            found += [_unpacked(value) if isinstance(value, bytes) else str(value) for value in values]
    return "\n".join(found)


def _unpacked(value: bytes) -> str:
    return zlib.decompress(value).decode("utf-8", "replace")


@pytest.mark.whole
async def test_keys_are_found_nowhere_they_do_not_belong(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    told, kept = list[str](), list[Exchange]()
    keeper = SimpleNamespace(exchanged=kept.append)
    settings = Settings(research=ResearchSettings(max_iterations=1, max_results_per_tool=3), output=OutputSettings())
    ledger = tmp_path / "ledger" / "ledger.db"
    with caplog.at_level(logging.DEBUG), FaultyServer(faults=FaultPlan.rough(3).scaled(0.01)) as server:
        endpoints = keyed(server)
        stream = research_stream(QUESTION, settings=settings, endpoints=endpoints, recorder=keeper, ledger=ledger)
        async for event in stream:
            told.append(event.model_dump_json())
            if event.type == "complete":
                told += [event.data.to_json(), event.data.to_markdown()]
                told += [render(event.data, name).decode("utf-8", "replace") for name in ("html", "csv", "bib")]
        told += [f"{request.path}?{request.query}" for request in server.requests if request.source not in AS_PARAMETER]
        told += [repr(endpoints), endpoints.model_dump_json(), settings.model_dump_json()]
    told += [f"{exchange!r} {exchange.url} {exchange.body!r}" for exchange in kept]
    told += [record.getMessage() for record in caplog.records]
    told += [json.dumps(team_in_json()), words_of(ledger)]

    assert "pubmed" in {exchange.source for exchange in kept}
    assert "migraine" in words_of(ledger)
    assert [value for value in CANARIES.values() if any(value in text for text in told)] == []


@pytest.mark.parametrize("source", ["pubmed", "openfda", "openalex"])
@pytest.mark.parametrize("status", [200, 400])
async def test_a_key_that_a_server_says_back_is_not_kept(
    source: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """NCBI answers a wrong key with the key itself."""
    caplog.set_level(logging.DEBUG)
    key = CANARIES["NCBI_API_KEY" if source == "pubmed" else f"{source.upper()}_API_KEY"]
    seen: list[str] = []

    def echo(request: httpx.Request) -> httpx.Response:
        seen.append(f"{dict(request.headers)} {request.content!r} {request.url}")
        body = json.dumps({"error": "API key invalid", "api-key": key}).encode()
        return httpx.Response(status, headers={"x-key": key}, content=body)

    kept, told = list[Exchange](), ""
    with SourceServer() as server:
        network = httpx.MockTransport(echo)
        policy = RetryPolicy(attempts=2, first_wait_s=0.01)
        async with Transport(
            keyed(server), policy=policy, recorder=SimpleNamespace(exchanged=kept.append), network=network
        ) as transport:
            try:
                await transport.get(source, "x", read=lambda reply: None, params={"term": "x"})
            except SearchError as error:
                told = "".join(traceback.format_exception(error)) + repr(error)

    assert key in seen[0]
    assert (key in seen[0].split(" ")[-1]) is (source in AS_PARAMETER)  # the address
    assert kept
    assert key not in told + caplog.text + "".join(f"{exchange!r} {exchange.body!r}" for exchange in kept)


@pytest.mark.parametrize("source", ["pubmed", "clinicaltrials"])
async def test_a_name_that_is_bound_anew_to_loopback_hears_no_request(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source's name may come to lead anywhere; without its certificate nobody gets to read what is asked."""
    heard = bytearray()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.extend(await reader.read(4096))
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    there, looked_up = socket.getaddrinfo("127.0.0.1", port), socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *more, **named: there if "rebound" in str(host) else looked_up(host, *more, **named),
    )
    key = SecretStr(CANARIES["NCBI_API_KEY"])
    bound = Endpoints()[source].model_copy(update={"base_url": f"https://rebound.invalid:{port}", "key": key})
    policy = RetryPolicy(attempts=2, first_wait_s=0.01, longest_wait_s=0.02)
    async with Transport(Endpoints(by_source={source: bound}), policy=policy) as transport:
        with pytest.raises(SearchError):
            await transport.get(source, "secret-path", read=Reply.json, params={"term": "x"})
    server.close()

    assert heard.startswith(b"\x16\x03")  # TLS begins with a handshake; a request would begin with its method
    assert b"secret-path" not in heard
    assert CANARIES["NCBI_API_KEY"].encode() not in heard
