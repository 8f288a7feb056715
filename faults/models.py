"""F14: model servers that answer without end, without measure or never, in a process of their own.

Each mode is met by each provider's client, and some by whole runs. Memory is that of the process that asks.
"""

import asyncio
import contextlib
import gzip
import json
import math
import subprocess
import sys
import time
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from willowbark.agents.autogen import UserMessage
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import LLMSettings, Settings
from willowbark.teams.model_clients import close, model_client
from willowbark.teams.run.research import research
from willowbark.tools.errors import UsageError

from .bombs import _peak_mb
from .verdict import Figure, Row, exactly, find_unsaid

_MEGABYTE, _LARGE = b" " * (1 << 20), 300
_PROVIDERS = {"openai": "/v1", "anthropic": "", "ollama": ""}
_TIMEOUT_S = 1.0  # of an answer
_ATTEMPTS = 3  # of the provider's library
_RUN_S = 4.0  # of a whole run
_GRACE_S = 8.0  # for the report of an ended run, and a busy machine
_MOST_MB = 300.0
_MOST_MORE_MB = 100.0  # of whole runs, beyond two whose server answers nothing of use at once
_NONE = "none"
_IN_RUNS = ("300 MB", "endless", "a stream without end", "a drop at a time", "silent")

Pieces = AsyncIterator[bytes]


def _head(status: str = "200 OK", kind: str = "application/json", **fields: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _repeat(first: bytes, piece: bytes, times: int | None = None, pause_s: float = 0.0) -> Pieces:
    """Yield a beginning, then a piece over and over; None for no end."""
    yield first
    while times is None or times > 0:
        yield piece
        await asyncio.sleep(pause_s)
        times = None if times is None else times - 1


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


@cache
def _pack(form: str) -> bytes:
    body = {"gzip": gzip.compress, "deflate": zlib.compress}[form.partition(",")[0]](_MEGABYTE * _LARGE)
    return gzip.compress(body) if "," in form else body


def _packed(form: str) -> Pieces:
    """A small body that unpacks to 300 MB."""
    body = _pack(form)
    return _repeat(_head(content_encoding=form, content_length=str(len(body))), body, 1)


def _whole(said: Any, **fields: str) -> Pieces:
    body = json.dumps(said).encode() if not isinstance(said, bytes) else said
    return _repeat(_head(content_length=str(len(body)), **fields), body, 1)


def _completion(content: str, tokens: float = 1) -> dict[str, Any]:
    """A completion that each provider's library takes for its own."""
    usage = {"prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": 2 * tokens}
    usage |= {"input_tokens": tokens, "output_tokens": tokens}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    made = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    made |= {"type": "message", "role": "assistant", "content": [{"type": "text", "text": content}]}
    made |= {"stop_reason": "end_turn", "stop_sequence": None, "message": choice["message"], "done": True}
    return made | {"created_at": "2026-01-01T00:00:00Z", "prompt_eval_count": tokens, "eval_count": tokens}


_DELTA = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
_DELTA["choices"] = [{"index": 0, "delta": {"content": "word " * 200}}]  # type: ignore[assignment]
_EVENT = _chunk(f"data: {json.dumps(_DELTA)}\n\n".encode() * 50)
_CHUNKED, _STREAM = {"transfer_encoding": "chunked"}, {"kind": "text/event-stream", "transfer_encoding": "chunked"}
MODES: Mapping[str, Callable[[], Pieces]] = {
    "300 MB": lambda: _repeat(_head(content_length=str(_LARGE << 20)), _MEGABYTE, _LARGE),
    "300 MB in chunks": lambda: _repeat(_head(**_CHUNKED), _chunk(_MEGABYTE), _LARGE),
    "300 MB of an error": lambda: _repeat(_head("500 Oops", content_length=str(_LARGE << 20)), _MEGABYTE, _LARGE),
    "300 MB packed": lambda: _packed("gzip"),
    "300 MB deflated": lambda: _packed("deflate"),
    "300 MB packed twice": lambda: _packed("gzip, gzip"),
    "endless": lambda: _repeat(_head(**_CHUNKED), _chunk(b" " * 65536)),
    "endless headers": lambda: _repeat(b"HTTP/1.1 200 OK\r\n", b"x-more: " + b"y" * 4000 + b"\r\n"),
    "an endless greeting": lambda: _repeat(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a stream without end": lambda: _repeat(_head(**_STREAM), _EVENT),
    "a stream of nothing": lambda: _repeat(_head(**_STREAM), _chunk(b": still here\n\n" * 4000)),
    "a drop at a time": lambda: _repeat(_head(**_CHUNKED), _chunk(b" "), pause_s=0.05),
    "a stream of drops": lambda: _repeat(_head(**_STREAM), _chunk(b":\n"), pause_s=0.05),
    "a header at a time": lambda: _repeat(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n", pause_s=0.05),
    "silent": lambda: _repeat(b"", b"", pause_s=0.5),
    "silent after its headers": lambda: _repeat(_head(content_length="1000"), b"", pause_s=0.5),
    "sent in a circle": lambda: _repeat(_head("307 There", location="/", content_length="0"), b"", 0),
    "brackets in brackets": lambda: _whole(b"[" * (7 << 20)),
    "seven megabytes of words": lambda: _whole(_completion("word " * 1_400_000)),
    "a quintillion tokens": lambda: _whole(_completion("ready", 10**18)),
    "tokens that are no numbers": lambda: _whole(_completion("ready", math.nan)),
    "cut off": lambda: _repeat(_head(content_length="1000"), b"{", 1),
}


def hostile(runs: int, seed: int) -> Row:
    """F14: each call ends by its limit, each run by its own, in at most 300 MB."""
    before, root = time.perf_counter(), Path(__file__).parent.parent
    command = [sys.executable, "-m", "faults.models"]
    names = list(MODES)[: max(1, min(runs, len(MODES)))]
    server = subprocess.Popen([*command, "serve"], cwd=root, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    with server.stdout:
        try:
            url = server.stdout.readline().strip()
            done = subprocess.run(
                [*command, "meet", url, *names], cwd=root, stdout=subprocess.PIPE, text=True, check=True
            )
        finally:
            server.terminate()
            server.wait()
    met = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    calls, whole = ([each for each in met if each["kind"] == kind] for kind in ("call", "run"))
    figures = [
        exactly("calls that ended by themselves", sum(each["ended"] for each in calls), len(calls)),
        exactly("reports", sum(each["ended"] for each in whole), len(whole)),
        exactly("reports that leave unsaid what became of the model", sum(bool(each["unsaid"]) for each in whole), 0),
        Figure("slowest call, s past its limits", max(each["late_s"] for each in calls), at_most=_GRACE_S, timed=True),
        Figure("slowest run, s past its limit", max(e["late_s"] for e in whole), at_most=_GRACE_S, timed=True),
        Figure("memory of calls, MB", max(each["peak_mb"] for each in calls), at_most=_MOST_MB),
        Figure("memory of runs, MB more", whole[-1]["peak_mb"] - whole[0]["peak_mb"], at_most=_MOST_MORE_MB),
    ]
    notes = [f"{each['mode']} at {each['who']}: {each['said']}" for each in met if not each["ended"]]
    notes += [f"{each['mode']} at {each['who']}: {', '.join(each['unsaid'])}" for each in whole if each["unsaid"]]
    return Row(
        "F14",
        len(met),
        f"{len(names)} modes of a hostile model server",
        seed,
        time.perf_counter() - before,
        figures,
        notes,
        list(dict.fromkeys(each["reads"] for each in whole if each["reads"])),
    )


async def _serve() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            request = await reader.readuntil(b"\r\n\r\n")
            place = request.split(b" ")[1].decode().strip("/").partition("/")[0]
            pieces = MODES[list(MODES)[int(place)]]() if place.isdigit() else _whole(b"{}")
            async for piece in pieces:
                writer.write(piece)
                await writer.drain()
                if writer.transport.is_closing():
                    break
        writer.transport.abort()

    for form in ("gzip", "deflate", "gzip, gzip"):
        _pack(form)
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def _client(url: str, mode: str, provider: str) -> tuple[Any, Settings]:
    place = list(MODES).index(mode) if mode in MODES else _NONE
    base = f"{url}/{place}{_PROVIDERS[provider]}"
    llm = LLMSettings(model=f"{provider}/m", base_url=base, timeout_s=_TIMEOUT_S, structured_output=True)
    settings = Settings(llm=llm)
    return model_client(llm.model, settings, {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}), settings


async def _call(url: str, mode: str, provider: str) -> None:
    client, _ = _client(url, mode, provider)
    asked, began, ended, said = [UserMessage(content="Say ready.", source="user")], time.monotonic(), True, "answered"
    limit_s = _ATTEMPTS * _TIMEOUT_S
    try:
        async with asyncio.timeout(limit_s + 4 * _GRACE_S):
            await client.create(asked)
    except TimeoutError as error:
        ended, said = bool(error.args), "no end"
    except Exception as error:  # noqa: BLE001  any error of any library is an end
        said = type(error).__name__
    late = time.monotonic() - began - limit_s
    _tell("call", mode, provider, ended, said, late)
    await close(client)


async def _run(url: str, mode: str) -> None:
    client, settings = _client(url, mode, "openai")
    began, said, unsaid = time.monotonic(), "", list[str]()
    reads = ""
    try:
        report = await research(
            "Which drugs prevent migraine?",
            settings=settings,
            model_client=client,
            offline=True,
            max_seconds=_RUN_S,
            max_iterations=1,
        )
        said = report.stop_reason
        unsaid = _find_unsaid(report)
        reads = report.analyst or ""
    except UsageError as error:  # told before the run begins
        said = str(error)
        unsaid = find_unsaid(said.splitlines()[:1], [("model",)])
    await close(client)
    _tell("run", mode, "a run", bool(said), said, time.monotonic() - began - _RUN_S, unsaid, reads)


def _find_unsaid(report: ResearchReport) -> list[str]:
    """What a user does not read of a run that a model server spoilt: who wrote instead and why, and what ended it."""
    unsaid = find_unsaid([report.analyst or ""], [("baseline analyst", "since")])
    if report.stop_reason == "timeout":
        unsaid += find_unsaid([report.executive_summary], [("time budget",)])
        if not report.sources_searched:
            first, _, _ = report.executive_summary.partition(". ")
            unsaid += find_unsaid([first], [("No answer", "before any source answered")])
    elif not report.model_failed:
        unsaid.append("the model did not fail, and the run ended early all the same")
    return unsaid


def _tell(
    kind: str, mode: str, who: str, ended: bool, said: str, late_s: float, unsaid: Sequence[str] = (), reads: str = ""
) -> None:
    told = {
        "kind": kind,
        "mode": mode,
        "who": who,
        "ended": ended,
        "said": said,
        "late_s": late_s,
        "unsaid": unsaid,
        "reads": reads,
    }
    print(json.dumps({**told, "peak_mb": _peak_mb()}), flush=True)


async def _meet(url: str, modes: list[str]) -> None:
    providers = [each for each in _PROVIDERS if find_spec(each)]
    for mode in modes:
        for provider in providers:
            await _call(url, mode, provider)
    for mode in (_NONE, _NONE, *(each for each in modes if each in _IN_RUNS)):
        await _run(url, mode)


if __name__ == "__main__":
    asyncio.run(_serve() if sys.argv[1] == "serve" else _meet(sys.argv[2], sys.argv[3:]))
