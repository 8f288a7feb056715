"""OpenAlex: off without a key, and the key is seen nowhere."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_sample import CLEAN_DOI, LIBRARY, RETRACTED_DOI, SILENT_DOI, transport

from willowbark.tools.errors import SearchError, SourceRefused, UnreadableReply
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.limiter import RateLimiter
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.transport import Exchange, RetryPolicy, Transport
from willowbark.tools.http.wire import HttpxWire
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.search import Status
from willowbark.tools.sources.studies.openalex import OpenAlex, parse_page, parse_record, parse_work, rebuilt, work

KEY = "canary-7d21"
REPLIES = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "replies" / "openalex"


class Kept:
    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def exchanged(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)


def keyed(
    answer: httpx.Response, recorder: Kept, seen: list[httpx.Request], environ: Mapping[str, str] | None = None
) -> Transport:
    def send(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(answer.content))

    return Transport(
        Endpoints.public({"OPENALEX_API_KEY": KEY} if environ is None else environ),
        policy=RetryPolicy(attempts=1),
        recorder=recorder,
        limiter=RateLimiter(None),
        wires={"httpx": HttpxWire(httpx.MockTransport(send))},
    )


@pytest.mark.parametrize("environ", [{}, {"OPENALEX_API_KEY": " "}])
async def test_without_a_key_nothing_is_searched_and_single_works_are_asked_about(environ: dict[str, str]) -> None:
    seen: list[httpx.Request] = []
    body = {"id": "W1", "doi": "https://doi.org/10.5555/a", "is_retracted": True}
    async with keyed(httpx.Response(200, json=body), Kept(), seen, environ) as way:
        with pytest.raises(SourceRefused, match="OPENALEX_API_KEY"):
            await OpenAlex(way).find("migraine")
        found = await work("10.5555/a", way)

    assert found is not None
    assert found.is_retracted
    assert [request.url.path for request in seen] == ["/works/doi:10.5555/a"]
    assert "api_key" not in str(seen[0].url)


@pytest.mark.parametrize("status", [200, 301, 401, 429, 500])
async def test_the_key_is_a_parameter_and_is_shown_nowhere(status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    body = {"id": "W1", "doi": "https://doi.org/10.5555/a", "is_retracted": False, "echo": KEY}
    headers = {"location": "https://api.openalex.org/works/W2"} if status == 301 else {}
    recorder, seen, said = Kept(), list[httpx.Request](), ""
    async with keyed(httpx.Response(status, json=body, headers=headers), recorder, seen) as way:
        try:
            await work("10.5555/a", way)
        except SearchError as error:
            said = f"{error!r} {error} {error.__cause__!r}"
        shown = repr(way.endpoints) + way.endpoints.model_dump_json()

    assert {request.url.params["api_key"] for request in seen} == {KEY}
    assert {request.url.params.get("select") for request in seen[:1]} == {"id,doi,ids,is_retracted,cited_by_count"}
    assert "HTTP Request: GET" in caplog.text
    exchanges = "".join(f"{each!r}{each.url}{each.body!r}{each.error}" for each in recorder.exchanges)
    assert KEY not in said + shown + exchanges + caplog.text


async def test_a_redirect_to_another_host_does_not_get_the_key() -> None:
    recorder, seen = Kept(), list[httpx.Request]()
    elsewhere = httpx.Response(301, headers={"location": "https://api.crossref.org/works/1"})
    async with keyed(elsewhere, recorder, seen) as way:
        with pytest.raises(SourceRefused):
            await work("10.5555/a", way)

    assert {request.url.host for request in seen} == {"api.openalex.org"}


async def test_a_work_is_found_by_its_doi_with_flag_and_count() -> None:
    with SandboxServer(LIBRARY) as server:
        async with transport(server) as way:
            said = [await work(doi, way) for doi in (RETRACTED_DOI, CLEAN_DOI, SILENT_DOI, "no doi", "10.5555/../w")]

    assert [(each.is_retracted, each.cited_by_count) for each in said if each] == [(True, 3), (False, 7)]
    assert said[2:] == [None, None, None]


async def test_alternatives_stay_alternatives() -> None:
    with SandboxServer(LIBRARY) as server:
        async with transport(server) as way:
            found = await OpenAlex(way).find('("another title"[tiab] OR nosuchword) NOT mice')
        [request] = server.requests

    assert found.total == 1
    assert "OR" in request.query


async def test_a_search_gives_ranked_records_and_an_empty_one_none() -> None:
    with SandboxServer(LIBRARY) as server:
        async with transport(server) as way:
            found = await OpenAlex(way).find("another title", 5, {"mindate": 2001})
            nothing = await OpenAlex(way).find("nosuchword")
            with pytest.raises(SourceRefused):
                await OpenAlex(way).find(" ")

    assert (found.status, nothing.status) == (Status.OK, Status.EMPTY)
    [record] = found.records
    assert record.content == "Another title\n\nFever fell."
    assert record.citation.authors == ["Nobody A"]
    assert record.metadata["cited_by_count"] == 7


def test_a_flag_that_is_not_given_is_not_reported() -> None:
    assert parse_work({"doi": "https://doi.org/10.5555/a"}).is_retracted is None


@pytest.mark.parametrize("data", [None, [], {}, {"doi": None}])
def test_anything_but_a_work_is_unreadable(data: Any) -> None:
    with pytest.raises(UnreadableReply):
        parse_work(data)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["author", "pmid"]), inner, max_size=2),
    max_leaves=6,
)
NAMES = "title doi ids mesh authorships primary_location open_access abstract_inverted_index publication_date".split()


@given(st.dictionaries(st.sampled_from([*NAMES, "is_retracted", "cited_by_count", "type", "language"]), JUNK))
def test_odd_shapes_never_break_the_reading(fields: dict[str, Any]) -> None:
    assert parse_record({"id": "https://openalex.org/W1", **fields}).citation.url


def test_an_abstract_of_an_odd_index_is_as_much_as_can_be_read() -> None:
    assert rebuilt({"a": None, "b": ["x", 1]}) == "b"
    assert rebuilt(None) == ""


@pytest.mark.skipif(not REPLIES.exists(), reason="../shared/data/replies/openalex is not beside this clone")
def test_real_replies_are_read() -> None:
    pages = 0
    for path in REPLIES.rglob("*.json"):
        data = json.loads(path.read_text())
        if "results" in data:
            page = parse_page(Reply("openalex", 200, "application/json", path.read_bytes()))
            records = [parse_record(hit) for hit in page.hits]
            assert page.total >= len(records) == len(data["results"])
            assert all(record.metadata["retracted"] is False for record in records)
            pages += 1
        else:
            assert parse_work(data).cited_by_count == data["cited_by_count"]
            assert parse_record({"id": data["openalex_id"], **data}).citation.title
    assert pages
