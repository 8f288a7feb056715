"""OpenAlex: what it says of one work; what it does not say is not reported."""

from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from recorded import HERE, recorded

from willowbark.tools.errors import AccessRefused, RateLimitError, SearchError, SourcePaused
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.sources.studies import openalex
from willowbark.tools.sources.studies.openalex import Work, parse_work, work

FLAGGED = {"id": "https://openalex.org/W1", "doi": "https://doi.org/10.5555/A", "is_retracted": True}


async def test_a_work_is_asked_about_by_its_doi_with_flag_and_count() -> None:
    seen = list[httpx.Request]()
    body = FLAGGED | {"cited_by_count": 3}
    async with recorded({"*": httpx.Response(200, json=body)}, seen) as way:
        found = await work("10.5555/a", way)
        assert await work("no doi", way) is None

    assert found == Work(is_retracted=True, cited_by_count=3)
    assert [request.url.path for request in seen] == ["/openalex/works/doi:10.5555/a"]
    assert seen[0].url.params["select"] == "id,doi,is_retracted,cited_by_count"


def test_a_flag_or_count_that_is_not_given_or_odd_is_not_reported() -> None:
    assert parse_work({"doi": "https://doi.org/10.5555/a"}) == Work(None, None)
    odd = {"doi": "10.5555/a", "is_retracted": "no", "cited_by_count": True}
    assert parse_work(odd) == Work(None, None)


SPENT = {"error": "Rate limit exceeded", "message": "Insufficient budget. Resets at midnight UTC."}


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(429, json=SPENT, headers={"Retry-After": "54000"}),
        httpx.Response(429, json=SPENT),
        httpx.Response(403, json=SPENT),
        httpx.Response(429, json={"error": "Too many requests"}, headers={"X-RateLimit-Remaining": "0"}),
        httpx.Response(429, json={"error": "Too many requests"}, headers={"Retry-After": "54000"}),
    ],
    ids=["hours", "words alone", "403", "header", "hours alone"],
)
async def test_an_allowance_that_is_used_up_costs_one_request_a_run(
    answer: httpx.Response, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openalex, "_count_seconds_to_midnight", lambda: 54_000.0)
    seen, failures = list[httpx.Request](), list[SearchError]()
    async with recorded({"*": answer}, seen, policy=RetryPolicy()) as way:
        for number in range(12):
            with pytest.raises(SearchError, match=r"\((403|429)\).*to be asked again in 15 hours") as caught:
                await work(f"10.5555/{number}", way)
            failures.append(caught.value)

    assert len(seen) == 1
    assert [type(failure) for failure in failures] == [RateLimitError, *[SourcePaused] * 11]


@pytest.mark.parametrize("key", [None, SecretStr("canary-77")])
async def test_a_user_without_a_key_is_told_of_it_and_a_key_travels_in_no_text(key: SecretStr | None) -> None:
    seen = list[httpx.Request]()
    plain = Endpoints.at(HERE)
    keyed = plain["openalex"].model_copy(update={"key": key, "key_in": "parameter"})
    endpoints = plain.model_copy(update={"by_source": {**plain.by_source, "openalex": keyed}})
    async with recorded({"*": httpx.Response(429, json=SPENT)}, seen, endpoints=endpoints) as way:
        with pytest.raises(RateLimitError) as caught:
            await work("10.5555/a", way)

    assert ("OPENALEX_API_KEY" in caught.value.reason) is (key is None)
    assert seen[0].url.params.get("api_key") == (key and key.get_secret_value())
    assert "canary" not in repr(caught.value)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(429, json={"error": "Rate limit exceeded"}), RateLimitError),
        (httpx.Response(403, json={"error": "Rate limit exceeded"}), RateLimitError),
        (httpx.Response(403, text="Forbidden"), AccessRefused),
    ],
    ids=["429", "403", "no access"],
)
async def test_too_many_requests_at_a_time_are_no_allowance_used_up(answer: Any, error: type[SearchError]) -> None:
    async with recorded({"*": answer}) as way:
        with pytest.raises(SearchError) as caught:
            await work("10.5555/a", way)

    assert type(caught.value) is error
    assert "at the earliest" not in caught.value.reason
