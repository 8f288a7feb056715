"""Each kind of fault of the server of recorded replies, over a real socket and with plain clients."""

import gzip
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from faults.breakage import FaultyServer, brotli, gzip_bomb, zstd_bomb
from faults.plan import KINDS, Fault, FaultPlan, FaultRun
from faults.server import SourceServer

SEARCH = "pubmed/esearch.fcgi?term=migraine&retmode=json&sort=relevance"
FETCH = "pubmed/efetch.fcgi?id=12453029,12667107&retmode=xml"


@contextmanager
def spoilt(*faults: Fault, **plan: Any) -> Iterator[FaultyServer]:
    with FaultyServer(FaultPlan(faults=faults, **plan)) as server:
        yield server


def get(server: SourceServer, path: str = SEARCH, **options: Any) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.get(f"{server.url}/{path}", **options)


def raw(server: SourceServer, path: str = SEARCH, most: int = 1 << 26) -> bytes:
    """Everything that comes over the wire until the server ends it, or `most` bytes."""
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as opened:
        opened.sendall(f"GET /{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        parts, size = [], 0
        while size < most and (part := opened.recv(1 << 18)):
            parts.append(part)
            size += len(part)
    return b"".join(parts)


def split(reply: bytes) -> tuple[dict[str, str], bytes]:
    head, _, body = reply.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}, body


@pytest.fixture(scope="module")
def whole() -> bytes:
    """The search's answer without any fault."""
    with SourceServer() as server:
        return get(server).content


# --- kinds ---


@pytest.mark.parametrize("status", [404, 429, 500, 503])
def test_a_status(status: int) -> None:
    with spoilt(Fault(kind="status", status=status)) as server:
        reply = get(server)

    assert reply.status_code == status
    assert "retry-after" not in reply.headers
    assert (server.requests[0].status, server.faults) == (status, ["status"])


def test_pubmeds_429_is_in_pubmeds_form_and_chembls_500_is_a_web_page() -> None:
    with spoilt(Fault(kind="status", status=429, source="pubmed"), Fault(kind="status", status=500)) as server:
        assert get(server).json()["error"] == "API rate limit exceeded"
        assert get(server, "chembl/molecule.json").text.startswith("<!DOCTYPE html>")
        assert get(server, "clinicaltrials/studies").headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("form", "value"),
    [("seconds", "7"), ("huge", "1e9"), ("negative", "-5"), ("junk", "when we are back")],
)
def test_retry_after_in_every_form(form: Any, value: str) -> None:
    with spoilt(Fault(kind="status", status=429, retry_after=form, retry_after_s=7)) as server:
        assert get(server).headers["retry-after"] == value


def test_retry_after_as_a_date_is_never_too_early() -> None:
    with spoilt(Fault(kind="status", retry_after="date", retry_after_s=5)) as server:
        before = time.time()
        asked = parsedate_to_datetime(get(server).headers["retry-after"]).timestamp()

    assert before + 5 <= asked <= time.time() + 6


def test_a_reset_is_a_reset_and_no_end() -> None:
    with spoilt(Fault(kind="reset")) as server:
        with pytest.raises(ConnectionResetError):
            raw(server)
        with pytest.raises(httpx.ReadError):
            get(server)

    assert ([each.status for each in server.requests], server.faults) == ([None, None], ["reset", "reset"])


def test_a_truncated_body_is_shorter_than_it_says(whole: bytes) -> None:
    with spoilt(Fault(kind="truncate")) as server:
        headers, body = split(raw(server))
        with pytest.raises(httpx.RemoteProtocolError):
            get(server)

    assert int(headers["content-length"]) == len(whole)
    assert body == whole[: len(whole) // 2]


@pytest.mark.parametrize("path", [SEARCH, FETCH])
def test_a_cut_body_looks_whole_to_http(path: str) -> None:
    with SourceServer() as server:
        right = get(server, path).content
    with spoilt(Fault(kind="cut_body")) as server:
        reply = get(server, path)

    assert reply.status_code == 200
    assert int(reply.headers["content-length"]) == len(reply.content) == len(right) // 2
    assert right.startswith(reply.content)


def test_a_cut_gzip_looks_whole_to_http() -> None:
    with spoilt(Fault(kind="cut_gzip")) as server:
        headers, body = split(raw(server))
        taken_for_good = get(server)

    assert headers["content-encoding"] == "gzip"
    assert int(headers["content-length"]) == len(body)
    with pytest.raises(EOFError):
        gzip.decompress(body)
    assert taken_for_good.status_code == 200


def test_a_web_page_comes_with_status_200() -> None:
    with spoilt(Fault(kind="html")) as server:
        reply = get(server)

    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/html")
    assert reply.text.startswith("<!DOCTYPE html>")


def test_esearchs_error_is_for_esearch_alone() -> None:
    with spoilt(Fault(kind="esearch_error")) as server:
        search, fetch = get(server), get(server, FETCH)

    assert search.status_code == 200
    assert set(search.json()["esearchresult"]) == {"ERROR"}
    assert fetch.text.count("<PubmedArticle>") == 2


def test_a_hang_is_silent_until_the_client_gives_up() -> None:
    with spoilt(Fault(kind="hang")) as server, pytest.raises(httpx.ReadTimeout):
        get(server, timeout=httpx.Timeout(60, read=0.1))


def test_a_hang_ends_when_its_time_is_over() -> None:
    with spoilt(Fault(kind="hang", hang_s=0.1)) as server:
        before = time.perf_counter()
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            get(server)

    assert time.perf_counter() - before >= 0.1


def test_a_drip_comes_in_drops(whole: bytes) -> None:
    with (
        spoilt(Fault(kind="drip", drip_s=0.05)) as server,
        httpx.Client(trust_env=False, timeout=60) as client,
        client.stream("GET", f"{server.url}/{SEARCH}") as reply,
    ):
        chunks = list(islice(reply.iter_raw(), 5))

    assert reply.headers["content-length"] == str(len(whole))
    assert whole.startswith(b"".join(chunks))
    assert len(chunks) == 5
    assert len(b"".join(chunks)) < len(whole) / 2


def test_a_drip_gives_the_whole_answer_to_the_patient(whole: bytes) -> None:
    with spoilt(Fault(kind="drip").scaled(0.0001)) as server:
        assert get(server).content == whole


def test_many_headers() -> None:
    with spoilt(Fault(kind="many_headers")) as server:
        headers, _ = split(raw(server))
        with pytest.raises(httpx.RemoteProtocolError):
            get(server)

    assert len(headers) > 20_000


def test_a_huge_body_keeps_coming_and_ends_with_its_reader() -> None:
    with spoilt(Fault(kind="huge_body", source="pubmed")) as server:
        headers, body = split(raw(server, most=5_000_000))
        assert get(server, "chembl/molecule.json").status_code == 200

    assert headers["content-length"] == str(1 << 30)
    assert len(body) > 4_000_000
    assert body.isspace()


def test_a_body_that_stalls_is_silent_midway() -> None:
    with spoilt(Fault(kind="stall", stalls_after=300_001)) as server:
        headers, body = split(raw(server, most=300_001))
        with pytest.raises(httpx.ReadTimeout):
            get(server, timeout=httpx.Timeout(60, read=1))

    assert headers["content-length"] == str(1 << 30)
    assert body.isspace()


def test_a_huge_body_is_as_long_as_it_says() -> None:
    with spoilt(Fault(kind="huge_body", huge_bytes=300_001)) as server:
        assert len(get(server).content) == 300_001


def test_a_gzip_bomb_is_small_and_valid() -> None:
    with spoilt(Fault(kind="gzip_bomb", huge_bytes=64 << 20)) as server:
        reply = get(server, headers={"accept-encoding": "gzip"})

    assert reply.headers["content-encoding"] == "gzip"
    assert reply.num_bytes_downloaded < 200_000
    assert len(reply.content) == 64 << 20
    assert len(b"".join(gzip_bomb(1))) < 5_000


def test_stacked_encodings(whole: bytes) -> None:
    with spoilt(Fault(kind="stacked_encoding")) as server:
        headers, body = split(raw(server))

    assert headers["content-encoding"] == "gzip, gzip"
    assert gzip.decompress(gzip.decompress(body)) == whole


def test_a_brotli_body_that_nobody_asked_for(whole: bytes) -> None:
    with spoilt(Fault(kind="br")) as server:
        headers, body = split(raw(server))

    assert headers["content-encoding"] == "br"
    assert body == brotli(whole)
    assert body[3:-1] == whole  # one block: a header, the bytes as they are, the end
    assert brotli(b"") == b"\x06"


def test_a_zstd_bomb_is_small() -> None:
    with spoilt(Fault(kind="zstd")) as server:
        headers, body = split(raw(server))

    assert headers["content-encoding"] == "zstd"
    assert body.startswith(struct.pack("<I", 0xFD2FB528))
    assert len(body) < 40_000
    assert unpacked_size(body) == 1 << 30
    assert unpacked_size(zstd_bomb(2)) == 2 << 20


def unpacked_size(frame: bytes) -> int:
    """What a zstd frame of run-length blocks unpacks to (RFC 8878, section 3.1.1.2)."""
    size, at, last = 0, 6, False
    while not last:
        header = int.from_bytes(frame[at : at + 3], "little")
        last, kind = bool(header & 1), header >> 1 & 3
        assert kind == 1
        size += header >> 3
        at += 4
    assert at == len(frame)
    return size


def test_a_redirect_leads_elsewhere() -> None:
    with spoilt(Fault(kind="redirect"), seed=1) as server:
        reply = get(server)
    with spoilt(Fault(kind="redirect", to="http://evil.invalid/")) as server:
        other = get(server)

    assert (reply.status_code, other.status_code) == (302, 302)
    assert reply.headers["location"].startswith("http://169.254.169.254/")
    assert other.headers["location"] == "http://evil.invalid/"


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
    assert second.json()["esearchresult"]["count"] == "18"
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


# --- whom it hits, and how often ---


def test_a_fault_hits_only_its_source_and_endpoint() -> None:
    with spoilt(
        Fault(kind="status", source="pubmed", endpoint="efetch*"), Fault(kind="html", source="c*", endpoint="mol*")
    ) as server:
        statuses = [get(server, path).status_code for path in (SEARCH, FETCH, "chembl/mechanism.json")]
        page = get(server, "chembl/molecule.json")

    assert statuses == [200, 503, 200]
    assert page.headers["content-type"].startswith("text/html")


def test_faults_with_a_number_of_times_follow_each_other() -> None:
    with spoilt(Fault(kind="status", status=500, times=2), Fault(kind="status", status=429, times=1)) as server:
        assert [get(server).status_code for _ in range(5)] == [500, 500, 429, 200, 200]


def test_a_dead_source_is_dead_all_run_and_alone() -> None:
    with spoilt(dead={"pubmed": "reset", "chembl": "status"}) as server:
        for _ in range(3):
            with pytest.raises(httpx.ReadError):
                get(server)
            assert get(server, "chembl/molecule.json").status_code == 503
            assert get(server, "clinicaltrials/studies").status_code == 200


def fates(plan: FaultPlan, requests: int, endpoint: str = "esearch.fcgi") -> list[str | None]:
    run = FaultRun(plan)
    found = (run.next("pubmed", endpoint, 0.0) for _ in range(requests))
    return [f"{fault.kind} {fault.status}" if fault else None for fault in found]


def test_rates_are_kept_and_exclude_each_other() -> None:
    found = Counter(fates(FaultPlan.rough(seed=7), 10_000))

    shares = {"status 500": 0.20, "status 429": 0.10, "reset 503": 0.05, "truncate 503": 0.05, "hang 503": 0.02}
    for fate, share in shares.items():
        assert found[fate] / 10_000 == pytest.approx(share, abs=0.012)
    assert found[None] / 10_000 == pytest.approx(0.58, abs=0.015)


def test_a_treacherous_day_has_silent_faults_too() -> None:
    found = Counter(fates(FaultPlan.treacherous(), 10_000))

    assert {"cut_body 503", "cut_gzip 503", "html 503", "esearch_error 503"} < set(found)
    assert "esearch_error 503" not in fates(FaultPlan.treacherous(), 1_000, "efetch.fcgi")


def test_a_seed_decides_and_nothing_else() -> None:
    assert fates(FaultPlan.rough(1), 200) == fates(FaultPlan.rough(1), 200)
    assert fates(FaultPlan.rough(1), 200) != fates(FaultPlan.rough(2), 200)
    assert fates(FaultPlan.rough(1), 200) != fates(FaultPlan.rough(1), 200, "efetch.fcgi")


def test_sources_do_not_disturb_each_others_fate() -> None:
    alone, mixed = FaultRun(FaultPlan.rough()), FaultRun(FaultPlan.rough())
    expected = [alone.next("pubmed", "a", 0.0) for _ in range(50)]
    found = []
    for _ in range(50):
        mixed.next("chembl", "b", 0.0)
        found.append(mixed.next("pubmed", "a", 0.0))

    assert found == expected


# --- limits ---


def test_a_limit_holds_in_every_window_and_counts_what_it_refuses() -> None:
    run = FaultRun(FaultPlan(limits={"pubmed": 3}))
    arrivals = [number / 20 for number in range(60)]
    let_through = [moment for moment in arrivals if run.next("pubmed", "a", moment) is None]

    assert len(let_through) == 9
    assert all(later - earlier >= 1 for earlier, later in zip(let_through, let_through[3:], strict=False))
    assert run.refused == {"pubmed": 51}
    assert run.next("chembl", "a", 0.0) is None


def test_the_server_enforces_a_limit_across_clients() -> None:
    statuses: list[int] = []
    with spoilt(limits={"pubmed": 3 / 60}, window_s=60) as server:
        threads = [threading.Thread(target=lambda: statuses.append(get(server).status_code)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert Counter(statuses) == {200: 3, 429: 5}
    assert server.refused["pubmed"] == 5


# --- plans ---


def test_a_scaled_plan_has_all_its_times_scaled() -> None:
    fault = Fault(kind="drip", retry_after_s=10, drip_s=1, hang_s=60)
    [scaled] = FaultPlan(faults=(fault,)).scaled(0.1).faults

    assert (scaled.retry_after_s, scaled.drip_s, scaled.hang_s) == pytest.approx((1, 0.1, 6))


def test_a_scaled_limit_lets_through_as_many_in_a_shorter_window() -> None:
    run = FaultRun(FaultPlan(limits={"pubmed": 3}).scaled(0.1))

    assert [run.next("pubmed", "a", moment) is None for moment in (0, 0.01, 0.02, 0.03, 0.11)] == [
        True,
        True,
        True,
        False,
        True,
    ]


def test_a_plan_in_a_file_is_served(tmp_path: Path) -> None:
    plan = FaultPlan(faults=(Fault(kind="status", source="pubmed", status=404),), dead={"biorxiv": "status"})
    path = tmp_path / "plan.json"
    path.write_text(plan.model_dump_json())
    command = [sys.executable, "-m", "faults.serve", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent) as program:
        assert program.stdout is not None
        url = program.stdout.readline().strip()
        paths = ("chembl/molecule.json", "pubmed/esearch.fcgi", "biorxiv/pubs/biorxiv/10.1/x")
        statuses = [httpx.get(f"{url}/{path}", timeout=60).status_code for path in paths]
        program.send_signal(2)
        assert program.wait(60) == 0

    assert statuses == [200, 404, 503]


def test_a_bombs_parts_are_what_they_seem() -> None:
    stream = b"".join(gzip_bomb(3))
    reader = zlib.decompressobj(wbits=31)

    assert reader.decompress(stream) == b" " * (3 << 20)
    assert reader.eof
