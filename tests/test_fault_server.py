"""The server of recorded replies and its faults, over a real socket: each does what its plan says."""

import gzip
import socket
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest
from faults.breakage import FaultyServer, brotli, zstd_bomb
from faults.plan import KINDS, Fault, FaultPlan, FaultRun
from faults.replies import Asked, answer
from faults.server import SourceServer

SEARCH = "pubmed/esearch.fcgi?term=migraine&retmode=json&sort=relevance"
FETCH = "pubmed/efetch.fcgi?id=12453029,12667107&retmode=xml"
HUGE = str(1 << 30)


@contextmanager
def spoilt(*faults: Fault, **plan: Any) -> Iterator[FaultyServer]:
    with FaultyServer(FaultPlan(faults=faults, **plan)) as server:
        yield server


def get(server: SourceServer, path: str = SEARCH, **options: Any) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.get(f"{server.url}/{path}", **options)


def raw(server: SourceServer, most: int = 1 << 26) -> tuple[dict[str, str], bytes]:
    """Head and body as they come over the wire until the server ends it, or `most` bytes."""
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=60) as opened:
        opened.sendall(f"GET /{SEARCH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        parts = b""
        while len(parts) < most and (part := opened.recv(1 << 18)):
            parts += part
    head, _, body = parts.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}, body


@pytest.fixture(scope="module")
def whole() -> bytes:
    """The search's answer without any fault."""
    with SourceServer() as server:
        return get(server).content


Look = Callable[[dict[str, str], bytes, bytes], bool]
ON_THE_WIRE: dict[str, tuple[Fault, Look]] = {
    "status": (Fault(kind="status", status=429), lambda head, body, _: b"API rate limit exceeded" in body),
    "truncate": (
        Fault(kind="truncate"),
        lambda head, body, whole: int(head["content-length"]) == len(whole) and body == whole[: len(whole) // 2],
    ),
    "cut body": (
        Fault(kind="cut_body"),
        lambda head, body, whole: int(head["content-length"]) == len(body) == len(whole) // 2,
    ),
    "cut gzip": (
        Fault(kind="cut_gzip"),
        lambda head, body, _: head["content-encoding"] == "gzip" and not finished(body),
    ),
    "web page": (Fault(kind="html"), lambda head, body, _: body.startswith(b"<!DOCTYPE html>")),
    "ESearch's error": (Fault(kind="esearch_error"), lambda head, body, _: b'"esearchresult": {"ERROR"' in body),
    "many headers": (Fault(kind="many_headers"), lambda head, body, _: len(head) > 20_000),
    "huge": (Fault(kind="huge_body"), lambda head, body, _: head["content-length"] == HUGE and body.isspace()),
    "huge, whole": (Fault(kind="huge_body", huge_bytes=300_001), lambda head, body, _: len(body) == 300_001),
    "stall": (
        Fault(kind="stall", stalls_after=5_000_001, hang_s=0.1),
        lambda head, body, _: head["content-length"] == HUGE and len(body) < 6_000_000,
    ),
    "stacked encodings": (
        Fault(kind="stacked_encoding"),
        lambda head, body, whole: gzip.decompress(gzip.decompress(body)) == whole,
    ),
    "Brotli": (Fault(kind="br"), lambda head, body, whole: body == brotli(whole) and body[3:-1] == whole),
    "zstd": (
        Fault(kind="zstd"),
        lambda head, body, _: head["content-encoding"] == "zstd" and body == zstd_bomb(1024) and len(body) < 40_000,
    ),
    "redirect": (Fault(kind="redirect"), lambda head, body, _: head["location"].startswith("http://169.254.169.254/")),
}


def finished(packed: bytes) -> bool:
    """Whether a gzip stream has its end."""
    reader = zlib.decompressobj(wbits=31)
    reader.decompress(packed)
    return reader.eof


@pytest.mark.parametrize("name", ON_THE_WIRE)
def test_what_comes_over_the_wire_is_what_the_fault_says(name: str, whole: bytes) -> None:
    fault, look = ON_THE_WIRE[name]
    with spoilt(fault) as server:
        assert look(*raw(server, 5_000_000), whole)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(kind="reset"), httpx.ReadError),
        (Fault(kind="truncate"), httpx.RemoteProtocolError),
        (Fault(kind="hang"), httpx.ReadTimeout),
        (Fault(kind="drip", drip_s=2), httpx.ReadTimeout),
        (Fault(kind="stall", stalls_after=300_001), httpx.ReadTimeout),
    ],
    ids=lambda each: getattr(each, "kind", ""),
)
def test_a_plain_client_meets_the_error(fault: Fault, error: Any) -> None:
    with spoilt(fault) as server, pytest.raises(error):
        get(server, timeout=httpx.Timeout(60, read=1))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_spoils_a_post_as_well_and_leaves_the_server_whole(
    kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    fault = Fault(kind=kind, times=1, drip_s=0.001, hang_s=0.05, huge_bytes=1 << 20)
    with spoilt(fault) as server, httpx.Client(trust_env=False, base_url=server.url, timeout=60) as client:
        with suppress(httpx.HTTPError):
            client.post("/pubmed/esearch.fcgi", data={"term": "migraine", "retmode": "json"})
        second = client.post("/pubmed/esearch.fcgi", data={"term": "migraine", "retmode": "json"})

    assert server.faults == [kind, None]
    assert int(second.json()["esearchresult"]["count"]) > 10
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


def test_a_fault_hits_only_its_source_and_endpoint_as_often_as_it_should() -> None:
    faults = (
        Fault(kind="status", source="pubmed", endpoint="efetch*"),
        Fault(kind="status", status=500, source="pubmed", times=2),
        Fault(kind="status", status=429, source="pubmed", times=1),
    )
    with spoilt(*faults, dead={"chembl": "status"}) as server:
        assert [get(server).status_code for _ in range(5)] == [500, 500, 429, 200, 200]
        paths = (FETCH, "chembl/mechanism.json", "clinicaltrials/studies", "chembl/target.json")
        assert [get(server, path).status_code for path in paths] == [503, 503, 200, 503]


def fates(plan: FaultPlan, requests: int, endpoint: str = "esearch.fcgi", other: bool = False) -> list[str | None]:
    run, found = FaultRun(plan), list[Fault | None]()
    for _ in range(requests):
        if other:
            run.next("chembl", "b", 0.0)
        found.append(run.next("pubmed", endpoint, 0.0))
    return [f"{fault.kind} {fault.status}" if fault else None for fault in found]


def test_rates_are_kept_and_a_seed_alone_decides() -> None:
    found = Counter(fates(FaultPlan.rough(seed=7), 10_000))
    shares = {"status 500": 0.20, "status 429": 0.10, "reset 503": 0.05, "truncate 503": 0.05, "hang 503": 0.02}
    for fate, share in shares.items():
        assert found[fate] / 10_000 == pytest.approx(share, abs=0.012)
    assert found[None] / 10_000 == pytest.approx(0.58, abs=0.015)

    once = fates(FaultPlan.rough(1), 200)
    assert once == fates(FaultPlan.rough(1), 200, other=True)  # other sources do not disturb its fate
    assert once not in (fates(FaultPlan.rough(2), 200), fates(FaultPlan.rough(1), 200, "efetch.fcgi"))
    assert {"cut_body 503", "cut_gzip 503", "html 503", "esearch_error 503"} < {*fates(FaultPlan.treacherous(), 5_000)}


def test_a_limit_holds_in_every_window_and_counts_what_it_refuses() -> None:
    run = FaultRun(FaultPlan(limits={"pubmed": 3}).scaled(0.1))
    let_through = [at for at in range(60) if run.next("pubmed", "a", at / 200) is None]

    assert len(let_through) == 9
    assert run.refused == {"pubmed": 51}
    assert run.next("chembl", "a", 0.0) is None


def test_a_reply_holds_what_was_asked_for_page_by_page_and_nothing_that_is_unknown() -> None:
    pages = [
        answer(Asked("europepmc", "search", {"query": "migraine", "pageSize": "5", "cursorMark": m})) for m in "*5"
    ]
    first, second = (page.body for page in pages)
    unknown = answer(Asked("openfda", "drug/label.json", {"search": 'openfda.generic_name:("nosuchdrug")'}))

    assert first != second
    assert b'"nextCursorMark": "5"' in first
    assert (unknown.status, b"NOT_FOUND" in unknown.body) == (404, True)
    assert answer(Asked("nobody", "x", {})).status == 404
