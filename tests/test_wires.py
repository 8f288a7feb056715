"""Each wire keeps the same bounds, and what one is refused another fetches."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from faults.firewall import Firewall
from faults.refusing import WAY_OUT, WIRES, behind, by_greeting, by_headers, learn_prints
from faults.server import SourceServer
from recorded import recorded

from willowbark.teams.faces.doctor import describe_wires
from willowbark.tools.errors import AccessRefused, SourceUnavailable
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoint, Endpoints, RateLimiter
from willowbark.tools.http.ladder import Ladder, WireMemory, default_path
from willowbark.tools.http.opening import open_wire
from willowbark.tools.http.reply import HEADERS, Reply, Request
from willowbark.tools.http.transport import ExchangeLog, Transport
from willowbark.tools.records.card import WireName
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.sources.studies.clinicaltrials import ClinicalTrials

QUICK = RetryPolicy(attempts=3, first_wait_s=0.001, longest_wait_s=0.002)
PATIENCE_S = 60.0
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Loopback:
    """A server of one behaviour; counts its connections, and knows when the first one was ended by its client."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.heads: list[bytes] = []
        self.connections = 0
        self.is_met = asyncio.Event()
        self.is_left = asyncio.Event()

    async def __aenter__(self) -> "Loopback":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._talk(reader, writer)
            self.is_met.set()
            while await reader.read(4096):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.is_left.set()
            writer.close()

    async def read_head(self, reader: asyncio.StreamReader) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))


def answering(*replies: bytes) -> Loopback:
    """A server that gives these replies in turn over each connection."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for reply in replies:
            await server.read_head(reader)
            writer.write(reply)
            await writer.drain()

    server = Loopback(talk)
    return server


def asks(port: int, path: str = "", scheme: str = "http") -> Request:
    return Request("clinicaltrials", "GET", f"{scheme}://127.0.0.1:{port}/{path}")


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")


async def hang_in_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nX-Begun: yes\r\n")
    await writer.drain()


async def hang_in_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nabc")
    await writer.drain()


async def hang_in_greeting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(16)


SILENCES: dict[str, tuple[Talk, str]] = {
    "before an answer": (hang, "http"),
    "in headers": (hang_in_headers, "http"),
    "in the body": (hang_in_body, "http"),
    "in the greeting of TLS": (hang_in_greeting, "https"),
}


@pytest.mark.parametrize(
    ("name", "silence"),
    [
        (name, silence)
        for name in WIRES
        for silence in SILENCES
        if (name, silence) != ("httpx", "in the greeting of TLS")  # httpx leaves such a connection to be collected
    ],
)
async def test_a_cancelled_exchange_ends_at_once_with_its_connection_and_its_thread(
    name: WireName, silence: str
) -> None:
    talk, scheme = SILENCES[silence]
    wire = open_wire(name)
    async with Loopback(talk) as server:
        exchange = asyncio.create_task(wire.send(asks(server.port, scheme=scheme), PATIENCE_S))
        await server.is_met.wait()
        before = time.monotonic()
        exchange.cancel()
        with pytest.raises(asyncio.CancelledError):
            await exchange
        await server.is_left.wait()
        for thread in threading.enumerate():
            if thread.name == name:
                await asyncio.to_thread(thread.join, PATIENCE_S)
    await wire.close()

    assert time.monotonic() - before < PATIENCE_S / 2  # before its own deadline would end it


@pytest.mark.parametrize("name", WIRES)
async def test_closing_a_wire_ends_what_is_under_way(name: WireName) -> None:
    wire = open_wire(name)
    async with Loopback(hang) as server:
        exchange = asyncio.create_task(wire.send(asks(server.port), PATIENCE_S))
        await server.is_met.wait()
        await wire.close()
        await server.is_left.wait()
        with pytest.raises(SourceUnavailable):
            await exchange


async def test_requests_keeps_its_connection_for_the_next_exchange_and_mends_a_lost_one() -> None:
    wire = open_wire("requests")
    async with answering(OK, OK) as server:
        for _ in range(2):
            assert (await wire.send(asks(server.port), PATIENCE_S)).body == b"{}"
        assert server.connections == 1
    async with answering(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}") as server:
        for _ in range(2):
            assert (await wire.send(asks(server.port), PATIENCE_S)).body == b"{}"
        assert server.connections == 2
    await wire.close()


@pytest.mark.parametrize("name", WIRES)
async def test_no_wire_follows_a_redirect_by_itself(name: WireName) -> None:
    wire = open_wire(name)
    async with answering(OK) as elsewhere:
        target = f"http://127.0.0.1:{elsewhere.port}/"
        moved = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()
        async with answering(moved) as server:
            reply = await wire.send(asks(server.port), PATIENCE_S)
        assert (reply.status, reply.headers["location"], elsewhere.connections) == (302, target, 0)
    await wire.close()


@pytest.mark.parametrize("name", WIRES)
async def test_no_wire_takes_a_password_of_netrc_and_all_go_under_one_name(
    name: WireName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password canary-11\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    wire = open_wire(name)
    async with answering(OK) as server:
        await wire.send(asks(server.port), PATIENCE_S)
    await wire.close()

    head = server.heads[0].decode().lower()
    assert "authorization" not in head
    assert f"user-agent: {HEADERS['User-Agent'].lower()}\r\n" in head
    assert "mozilla" not in head


@pytest.mark.parametrize("name", WIRES)
async def test_every_wire_goes_through_the_proxy_of_the_environment_and_round_it_where_that_says_so(
    name: WireName, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with answering(OK) as proxy, answering(OK) as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        wire = open_wire(name)
        await wire.send(Request("clinicaltrials", "GET", "http://nowhere.invalid/x"), PATIENCE_S)
        await wire.send(asks(server.port), PATIENCE_S)
        await wire.close()

    assert proxy.heads[0].startswith(b"GET http://nowhere.invalid/x HTTP/1.1\r\n")
    assert len(proxy.heads) == len(server.heads) == 1


@pytest.mark.parametrize("name", WIRES)
async def test_a_key_in_an_address_stands_in_no_error_and_no_log(
    name: WireName, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wire = open_wire(name)
    async with answering(OK) as server:
        await wire.send(asks(server.port, "?api_key=canary-12"), PATIENCE_S)
    with pytest.raises(SourceUnavailable, match="no connection") as caught:
        await wire.send(asks(1, "?api_key=canary-12"), PATIENCE_S)
    await wire.close()

    error = caught.value
    assert "canary" not in repr(error) + repr(error.__cause__)
    assert "canary" not in caplog.text


# --- the ladder ---


def test_a_ladder_goes_on_with_the_wire_that_passed_and_begins_with_it_in_the_next_run() -> None:
    memory = WireMemory()
    ladder = Ladder("clinicaltrials", WIRES, memory)

    assert (ladder.first, ladder.refuse("requests")) == ("requests", "httpx")
    ladder.accept("httpx")
    assert ladder.first == "httpx"
    assert Ladder("clinicaltrials", WIRES, memory).first == "httpx"

    again = Ladder("clinicaltrials", WIRES, memory)
    assert again.refuse("httpx") == "requests"
    again.accept("requests")
    assert memory.passing == {}


def test_two_requests_that_are_refused_side_by_side_are_one_refusal() -> None:
    ladder = Ladder("clinicaltrials", WIRES, WireMemory())

    assert [ladder.refuse("requests"), ladder.refuse("requests")] == ["httpx", "httpx"]


def test_after_all_wires_were_refused_one_is_asked_a_time_until_one_passes() -> None:
    ladder = Ladder("clinicaltrials", WIRES, WireMemory())

    assert [ladder.refuse(name) for name in WIRES] == ["httpx", "the standard library", None]
    assert (ladder.first, ladder.refuse("requests")) == ("requests", None)
    ladder.accept("requests")
    assert ladder.refuse("requests") == "httpx"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"clinicaltrials": {"wire": "curl", "since": "x"}}', b"\xff"])
def test_a_damaged_memory_is_named_and_costs_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "wires.json"
    path.write_bytes(content)
    memory = WireMemory(path)

    assert memory.passing == {}
    assert memory.problem == f"{path} cannot be read and is not used; deleting it does no harm"
    memory.keep("clinicaltrials", "httpx", is_first=False)
    assert WireMemory(path).passing["clinicaltrials"].wire == "httpx"


def test_a_memory_that_cannot_be_written_is_told_and_holds_for_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder")
    memory = WireMemory(tmp_path / "file" / "wires.json")
    memory.keep("clinicaltrials", "httpx", is_first=False)

    assert memory.passing["clinicaltrials"].wire == "httpx"
    assert "is not remembered" in caplog.text


def over(endpoints: Endpoints, memory: WireMemory | None = None, **options: Any) -> Transport:
    return Transport(endpoints, policy=QUICK, limiter=RateLimiter(), wire_memory=memory, **options)


async def refusing(firewall: Firewall, *names: WireName) -> None:
    """Make a firewall refuse some libraries by what it sees of them."""
    prints = await learn_prints(firewall)
    firewall.refused = [prints[name].greeting or prints[name].headers for name in names]
    firewall.visits.clear()


@pytest.mark.parametrize("with_tls", [False, True], ids=["by headers", "by greeting"])
async def test_the_wire_that_passes_is_remembered_for_the_next_run(
    with_tls: bool, tmp_path: Path, sources: SourceServer
) -> None:
    path = tmp_path / "wires.json"
    with Firewall(with_tls=with_tls) as firewall:
        await refusing(firewall, "requests", "httpx")
        for _ in range(2):
            async with over(behind(firewall, Endpoints.at(sources.url)), WireMemory(path)) as transport:
                for query in ("migraine", "migraine attacks"):  # a repeated search would not be sent again
                    reply = await ClinicalTrials(transport).find(query, 3)
                    assert (reply.status, reply.warnings) == (Status.OK, [])
                    assert len(reply.records) == 3

    assert [visit.status for visit in firewall.visits] == [403, 403, 200, 200, 200, 200]
    assert json.loads(path.read_text())["clinicaltrials"]["wire"] == "the standard library"


async def test_the_journal_is_the_same_whichever_wire_passed(sources: SourceServer) -> None:
    kept = list[list[Any]]()
    for names in ((), WIRES[:1], WIRES[:2]):
        log = Keeper()
        with Firewall() as firewall:
            await refusing(firewall, *names)
            async with over(behind(firewall, Endpoints.at(sources.url)), recorder=log) as transport:
                await ClinicalTrials(transport).find("migraine", 3)
                await ClinicalTrials(transport).trial("NCT00884663")
            host = firewall.url
        kept.append(
            [replace(each, elapsed_s=0.0, waited_s=0.0, url=each.url.removeprefix(host)) for each in log.exchanges]
        )

    assert len(kept[0]) == 2
    assert kept[0] == kept[1] == kept[2]


class Keeper(ExchangeLog):
    """Keeps the bodies too."""

    def exchanged(self, exchange: Any) -> None:
        self.exchanges.append(exchange)


async def test_where_every_wire_is_refused_the_way_out_is_told_and_few_requests_are_sent(sources: SourceServer) -> None:
    with Firewall(None) as firewall:
        async with over(behind(firewall, Endpoints.at(sources.url))) as transport:
            refusals = list[AccessRefused]()
            for _ in range(4):
                with pytest.raises(AccessRefused) as caught:
                    await ClinicalTrials(transport).find("migraine", 3)
                refusals.append(caught.value)

    assert len(firewall.visits) == len(WIRES) + 3
    assert {f"Not available: {refusal}" for refusal in refusals} == {WAY_OUT}
    assert SourceReply.failed("clinicaltrials", "migraine", refusals[0]).status is Status.UNAVAILABLE


async def test_a_network_that_stands_in_for_all_is_asked_once_and_no_library_beside_it() -> None:
    seen = list[httpx.Request]()
    async with recorded({"*": httpx.Response(403)}, seen) as transport:
        with pytest.raises(AccessRefused) as caught:
            await ClinicalTrials(transport).find("migraine", 3)

    assert len(seen) == 1
    assert (
        caught.value.reason
        == WAY_OUT.replace(" over requests, httpx and the standard library", "").partition("clinicaltrials: ")[2]
    )


async def test_every_try_of_the_ladder_takes_its_turn(sources: SourceServer) -> None:
    turns = list[float]()

    async def skip(seconds: float) -> None:
        turns.append(seconds)

    with Firewall(None) as firewall:
        slow = Endpoint(base_url=f"{firewall.url}/clinicaltrials", per_second=0.0125)
        endpoints = Endpoints(by_source={"clinicaltrials": slow}, is_public=False)
        async with Transport(endpoints, policy=QUICK, limiter=RateLimiter(sleep=skip)) as transport:
            with pytest.raises(AccessRefused):
                await transport.get("clinicaltrials", "studies", read=Reply.json)

    assert turns == pytest.approx([100, 200], abs=40)


async def test_runs_against_the_public_sources_remember_in_the_users_folder_and_the_doctor_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert list(describe_wires()) == []
    with Firewall() as firewall:
        await refusing(firewall, "requests")
        public = Endpoints(by_source={"clinicaltrials": Endpoint(base_url=f"{firewall.url}/clinicaltrials")})
        async with over(public) as transport:
            await transport.get("clinicaltrials", "studies", read=Reply.json)

    [line] = describe_wires()
    assert line.startswith("Wire        clinicaltrials: asked over httpx since 20")
    assert line.endswith(", as it refused requests")
    default_path().write_text("{")
    assert list(describe_wires()) == [
        f"Wire        {default_path()} cannot be read and is not used; deleting it does no harm"
    ]


async def test_a_firewall_tells_the_libraries_apart_by_headers_and_by_greeting() -> None:
    """Else the other wires would be refused with the first."""
    with Firewall(with_tls=True) as firewall:
        prints = (await learn_prints(firewall)).values()

    assert len({by_greeting(shown) for shown in prints}) == len(get_args(WireName))
    assert len({by_headers(shown) for shown in prints}) == len(get_args(WireName))
