"""Model clients by name; each provider's client runs against a small server that speaks its protocol."""

import asyncio
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import pytest
from anthropic_server import AnthropicServer
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import FunctionTool
from builders import needs
from ollama_server import OllamaServer
from openai_server import OpenAIServer
from pydantic import BaseModel
from starlette.responses import JSONResponse

from willowbark.teams.config import LLMSettings, Settings
from willowbark.teams.model_clients import PROVIDERS, close, model_client
from willowbark.tools.errors import UsageError

ANSWER = '{"drug": "topiramate"}'
CALLED = {"search_pubmed": {"query": "migraine"}}

# the libraries' tables of model names are older than the models, and pydantic warns of what openai parses
pytestmark = pytest.mark.filterwarnings("ignore:Resolved model mismatch", "ignore:Pydantic serializer warnings")


class Answer(BaseModel):
    """What the models are asked for."""

    drug: str


def settings(**llm: Any) -> Settings:
    return Settings(llm=LLMSettings(**llm))


def environment(key: str = "good", url: str = "") -> dict[str, str]:
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY")
    return {**dict.fromkeys(keys, key), "AZURE_OPENAI_ENDPOINT": url}


SERVERS: dict[str, tuple[type[OpenAIServer | AnthropicServer | OllamaServer], str]] = {
    "openai": (OpenAIServer, "openai"),
    "anthropic": (AnthropicServer, "anthropic"),
    "ollama": (OllamaServer, "ollama"),
    "azure": (OpenAIServer, "azure.identity"),
}
each_provider = pytest.mark.parametrize(
    "provider", [pytest.param(name, marks=needs(module), id=name) for name, (_, module) in SERVERS.items()]
)


@contextmanager
def served(provider: str, answer: Callable[[Any], Any]) -> Iterator[tuple[Any, str]]:
    """A provider's server and its address."""
    server = SERVERS[provider][0](answer)
    with server.running() as url:
        yield server, url.removesuffix("/v1") if provider == "azure" else url


def said(body: Any) -> Any:
    """A tool call where tools are offered, JSON elsewhere."""
    choice = body.get("tool_choice", "auto")
    return ANSWER if not body.get("tools") or choice in ("none", {"type": "none"}) else CALLED


def search_pubmed(query: str) -> str:
    """Search PubMed."""
    return query


TOOL = FunctionTool(search_pubmed, description="Search PubMed.")
ASKED = [
    SystemMessage(content="You search, and answer in JSON."),
    UserMessage(content="What prevents migraine?", source="user"),
]


@each_provider
async def test_a_client_calls_tools_reflects_and_answers_in_json(provider: str) -> None:
    with served(provider, said) as (server, url):
        client = model_client(f"{provider}/some-model", settings(base_url=url), environment(url=url))
        called = await client.create(ASKED, tools=[TOOL])
        assert isinstance(called.content, list)
        results = [
            FunctionExecutionResult(call_id=c.id, content="x", name=c.name, is_error=False) for c in called.content
        ]
        messages = [
            AssistantMessage(content=called.content, source="a"),
            FunctionExecutionResultMessage(content=results),
        ]
        reflected = await client.create([*ASKED, *messages], tools=[TOOL], tool_choice="none")
        structured = client.model_info.get("structured_output")
        answered = await client.create(ASKED, json_output=Answer if structured else True)
        await close(client)

    assert [(call.name, json.loads(call.arguments)) for call in called.content] == [*CALLED.items()]
    assert reflected.content == ANSWER
    assert Answer.model_validate_json(str(answered.content)).drug == "topiramate"
    assert client.total_usage().completion_tokens == 21
    assert client.total_usage().prompt_tokens > 0
    assert len(server.bodies) == 3


@each_provider
@pytest.mark.parametrize(
    ("status", "why", "attempts"), [(500, r"no|500", 3), (401, "401", 1)], ids=["it fails", "it refuses the key"]
)
async def test_a_server_that_fails_is_asked_a_few_times_and_one_that_refuses_the_key_once(
    provider: str, status: int, why: str, attempts: int
) -> None:
    with served(provider, lambda _: JSONResponse({"error": {"message": "no", "type": "x"}}, status)) as (server, url):
        client = model_client(f"{provider}/some-model", settings(base_url=url), environment(url=url))
        with pytest.raises(Exception, match=why):
            await client.create(ASKED)
        await close(client)

    assert 1 <= len(server.bodies) <= attempts


@each_provider
async def test_what_is_set_travels_and_a_dump_holds_no_key(provider: str) -> None:
    with served(provider, said) as (server, url):
        chosen = settings(base_url=url, temperature=0.5, max_tokens=512, structured_output=True)
        client = model_client(f"{provider}/some-model", chosen, environment("hush", url))
        await client.create(ASKED)
        await close(client)

    sent = server.bodies[0] | server.bodies[0].get("options", {})
    assert sent["temperature"] == 0.5
    assert sent.get("max_tokens", sent.get("num_predict")) == 512
    refuses_schemas = provider == "anthropic"  # as AutoGen's client for it does
    assert client.model_info.get("structured_output") is not refuses_schemas
    assert "hush" not in client.dump_component().model_dump_json()


@needs("openai")
async def test_names_that_openais_client_knows_keep_what_it_knows_and_new_ones_are_taken() -> None:
    known = model_client("openai/gpt-4o", settings(), environment())
    new = model_client("openai/gpt-99", settings(), environment())

    assert known.model_info["vision"] is True
    assert new.model_info["function_calling"] is True
    await close(known)
    await close(new)


@pytest.mark.parametrize("name", ["baselin", "gpt-4.1-mini", "openai/", "openai/a b", "xyzzy/x", ""])
def test_a_wrong_name_gets_the_known_forms(name: str) -> None:
    with pytest.raises(UsageError, match=r"^there is no model .*known forms: baseline, openai/MODEL.*gpt-4.1-mini$"):
        model_client(name, settings(), {})


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        pytest.param("openai/gpt-4o", "OPENAI_API_KEY", marks=needs("openai")),
        pytest.param("anthropic/claude-sonnet-4-0", "ANTHROPIC_API_KEY", marks=needs("anthropic")),
        pytest.param("azure/mine", "AZURE_OPENAI_API_KEY", marks=needs("azure.identity")),
    ],
)
def test_a_missing_key_is_named(name: str, variable: str) -> None:
    with pytest.raises(UsageError, match=f"^{variable} is not set"):
        model_client(name, settings(), {})


@pytest.mark.parametrize("provider", ["openai", "anthropic", "ollama", "azure"])
def test_a_missing_extra_is_one_line_with_the_command(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, PROVIDERS[provider].library, None)  # as if it were not installed

    with pytest.raises(UsageError, match=rf"install .*'\.\[{provider}\]'"):
        model_client(f"{provider}/x", settings(), environment())


BODIES: dict[str, tuple[bytes, bytes, float]] = {
    "endless": (b"application/json", b" " * 65536, 0.0),
    "a drop at a time": (b"application/json", b" ", 0.05),
    "packed": (b"application/json\r\ncontent-encoding: gzip", gzip.compress(b" " * 1_000_000), 0.0),
    "headers a drop at a time": (b"", b"x", 0.05),
    "silent": (b"", b"", 0.0),
}
"""What a hostile server says over and over: its type, a piece, seconds between two."""


@asynccontextmanager
async def hostile(kind: str) -> AsyncIterator[tuple[str, Counter[str]]]:
    """A server on loopback that never ends an answer, and counts the bytes that were taken from it."""
    form, piece, pause_s = BODIES[kind]
    sent, over, ended = Counter[str](), asyncio.Event(), list[asyncio.Future[None]]()

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        done = asyncio.get_running_loop().create_future()
        ended.append(done)
        with suppress(ConnectionError):
            if form:
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: " + form + b"\r\ntransfer-encoding: chunked\r\n\r\n")
            elif piece:
                writer.write(b"HTTP/1.1 200 OK\r\nx-piece: ")
            while piece and not over.is_set():
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" if form else piece)
                await writer.drain()
                sent["bytes"] += len(piece)
                await asyncio.sleep(pause_s)
            await over.wait()
        writer.transport.abort()
        done.set_result(None)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", sent
    finally:
        over.set()
        server.close()
        await asyncio.wait_for(asyncio.gather(*ended), 10)


@each_provider
@pytest.mark.parametrize("kind", BODIES)
async def test_an_answer_without_an_end_is_ended_by_its_bytes_or_its_time(
    monkeypatch: pytest.MonkeyPatch, kind: str, provider: str
) -> None:
    monkeypatch.setattr("willowbark.teams.model_clients.ANSWER_BYTES", 1_000_000)
    async with hostile(kind) as (root, sent):
        url = f"{root}/v1" if provider == "openai" else root
        client = model_client(f"{provider}/m", settings(base_url=url, timeout_s=0.5), environment(url=url))
        async with asyncio.timeout(30):
            with pytest.raises(Exception) as caught:  # noqa: PT011  each library has its own
                await client.create(ASKED)
        assert re.search("(?i)timeout|large|packed|connection", repr(caught.value))
        await close(client)
    assert sent["bytes"] < 24_000_000  # a few attempts, and what the system holds ready
