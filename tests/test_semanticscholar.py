"""Semantic Scholar: searched with a key alone, which no address shows; a refusal is never an empty list."""

from typing import Any

import httpx
import pytest

from willowbark.tools.errors import RateLimitError, SourceRefused, UnreadableReply
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.limiter import RateLimiter
from willowbark.tools.http.transport import ExchangeLog, RetryPolicy, Transport
from willowbark.tools.http.wire import HttpxWire
from willowbark.tools.search import Status
from willowbark.tools.sources.studies.semanticscholar import SemanticScholar, parse_record

KEY = {"SEMANTIC_SCHOLAR_API_KEY": "s3cr3t-key"}
PAPER: dict[str, Any] = {
    "paperId": "649def34f8be52c8b66281af98ae884c09aef38b",
    "externalIds": {"PubMed": "12859700", "DOI": "10.1000/ABC", "CorpusId": 1},
    "title": "Propranolol in migraine",
    "abstract": None,
    "year": 2003,
    "authors": [{"authorId": "1", "name": "Ana Souza"}, {"name": None}],
    "journal": {"name": "J Test"},
    "publicationTypes": ["ClinicalTrial", "MetaAnalysis"],
    "citationCount": 7,
}


def answering(
    answer: httpx.Response, environ: dict[str, str], seen: list[httpx.Request] | None = None
) -> SemanticScholar:
    def send(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    wires = {"httpx": HttpxWire(httpx.MockTransport(send))}
    policy = RetryPolicy(attempts=1)
    transport = Transport(
        Endpoints.public(environ), policy=policy, limiter=RateLimiter(None), wires=wires, recorder=ExchangeLog()
    )
    return SemanticScholar(transport)


async def test_the_key_travels_in_a_header_alone() -> None:
    seen: list[httpx.Request] = []
    source = answering(httpx.Response(200, json={"total": 1, "data": [PAPER]}), KEY, seen)
    found = await source.find('(propranolol OR "beta blocker") AND migraine NOT mice')

    assert seen[0].headers["x-api-key"] == "s3cr3t-key"
    assert seen[0].url.params["query"] == '(propranolol | "beta blocker") + migraine -mice'
    log = source.transport.recorder
    assert isinstance(log, ExchangeLog)
    assert "s3cr3t" not in repr((found, log.exchanges, seen[0].url))


async def test_without_a_key_it_is_not_searched() -> None:
    with pytest.raises(SourceRefused, match="SEMANTIC_SCHOLAR_API_KEY"):
        await answering(httpx.Response(200, json={"total": 0, "data": []}), {}).find("migraine")


def test_a_paper_is_read_with_its_numbers() -> None:
    found = parse_record(PAPER)

    assert found is not None
    assert (found.key, found.metadata["doi"], found.citation.date) == ("pmid:12859700", "10.1000/abc", "2003")
    assert found.metadata["publication_types"] == ["Clinical Trial", "Meta-Analysis"]
    assert (found.citation.authors, found.has_abstract) == (["Souza A"], False)
    assert parse_record({**PAPER, "paperId": None}) is None


@pytest.mark.parametrize("gone", [name for name in PAPER if name != "paperId"])
def test_what_a_paper_lacks_costs_that_alone(gone: str) -> None:
    for value in (None, [], "odd"):
        assert parse_record({**PAPER, gone: value}) is not None


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(200, json={"message": "Too Many Requests", "code": "429"}), UnreadableReply),
        (httpx.Response(200, json={"total": 3}), UnreadableReply),
        (httpx.Response(400, json={"error": "Unrecognized or unsupported fields"}), SourceRefused),
        (httpx.Response(403, json={"message": "Forbidden"}), SourceRefused),
        (httpx.Response(429, json={"message": "Too Many Requests"}), RateLimitError),
    ],
)
async def test_no_refusal_looks_like_no_hit(answer: httpx.Response, error: type[Exception]) -> None:
    with pytest.raises(error):
        await answering(answer, KEY).find("migraine")


async def test_no_hit_is_a_true_zero() -> None:
    found = await answering(httpx.Response(200, json={"total": 0, "data": []}), KEY).find("migraine")

    assert (found.status, found.total) == (Status.EMPTY, 0)
