"""OpenAlex: what it says of one work; what it does not say is not reported."""

from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from recorded import HERE, recorded

from willowbark.tools.errors import AccessRefused, RateLimitError, SearchError, SourcePaused, SourceRefused
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.records.registry import list_offered, searchable
from willowbark.tools.sources.studies import openalex
from willowbark.tools.sources.studies.openalex import OpenAlex, Work, fetch_work, parse_work

FLAGGED = {"id": "https://openalex.org/W1", "doi": "https://doi.org/10.5555/A", "is_retracted": True}


async def test_a_work_is_asked_about_by_its_doi_with_flag_and_count() -> None:
    seen = list[httpx.Request]()
    body = FLAGGED | {"cited_by_count": 3}
    async with recorded({"*": httpx.Response(200, json=body)}, seen) as way:
        found = await fetch_work("10.5555/a", way)
        assert await fetch_work("no doi", way) is None

    assert found == Work(is_retracted=True, cited_by_count=3)
    assert [request.url.path for request in seen] == ["/openalex/works/doi:10.5555/a"]
    assert seen[0].url.params["select"] == "id,doi,is_retracted,cited_by_count"


def test_a_flag_or_count_that_is_not_given_or_odd_is_not_reported() -> None:
    assert parse_work({"doi": "https://doi.org/10.5555/a"}) == Work(None, None)
    odd = {"doi": "10.5555/a", "is_retracted": "no", "cited_by_count": True}
    assert parse_work(odd) == Work(None, None)


async def test_a_search_gives_works_with_counts_concepts_and_identifiers() -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as way:
        found = await OpenAlex(way).find("propranolol[tiab] AND migraine", 5, {"mindate": "2000", "maxdate": "2010"})

    by_pmid = {record.record.pmid: record for record in found.records}
    work_of_2003 = by_pmid["12667107"]
    wanted = ("pmid", "doi", "cited_by_count", "is_open_access", "concepts", "mesh_terms", "pages", "retracted")
    assert {name: work_of_2003.metadata.get(name) for name in wanted} == {
        "pmid": "12667107",
        "doi": "10.5555/synthetic.12667107",
        "cited_by_count": 41,
        "is_open_access": True,
        "concepts": ["Migraine", "Propranolol"],
        "mesh_terms": ["Migraine Disorders"],
        "pages": "171-178",
        "retracted": False,
    }
    assert (work_of_2003.citation.source, work_of_2003.citation.date) == ("openalex", "2003-06-01")
    assert "To understand how US physicians use migraine prophylactic drugs, we" in work_of_2003.content
    [request] = seen
    assert request.url.params["search"] == "propranolol AND migraine"
    assert request.url.params["filter"] == "from_publication_date:2000-01-01,to_publication_date:2010-12-31"


async def test_the_first_of_january_stands_for_a_year_alone() -> None:
    async with recorded() as way:
        found = await OpenAlex(way).find("donepezil", 5)

    assert [record.citation.date for record in found.records] == ["2002"]


async def test_later_pages_go_on_behind_the_cursor() -> None:
    async with recorded() as way:
        source = OpenAlex(way)
        pages = [await source.find("migraine", 1, {"page": number}) for number in (1, 2)]

    assert [len(page.records) for page in pages] == [1, 1]
    assert pages[0].records[0].key != pages[1].records[0].key


@pytest.mark.parametrize(
    ("status", "headers", "error", "reason"),
    [
        (429, {"x-ratelimit-remaining": "0"}, RateLimitError, "allowance for today is used up"),
        (429, {}, RateLimitError, "asks for fewer requests"),
        (401, {}, AccessRefused, r"refused the key \(401\)"),
        (400, {}, SourceRefused, r"refused the query \(400\)"),
    ],
)
async def test_a_spent_budget_is_told_from_haste(
    status: int, headers: dict[str, str], error: type[SearchError], reason: str
) -> None:
    answer = httpx.Response(status, headers=headers, json={"error": "x", "message": "y"})
    async with recorded({"*": answer}) as way:
        with pytest.raises(error, match=reason) as raised:
            await OpenAlex(way).find("migraine")
    assert type(raised.value) is error


async def test_a_query_that_no_address_can_hold_is_sent_as_words_and_says_so() -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as way:
        found = await OpenAlex(way).find(" OR ".join(f'"migraine variant {number}"' for number in range(200)))

    assert len(str(seen[0].url)) < 4094
    assert found.warnings == ["the query was too long for OpenAlex and was shortened to its words"]


async def test_it_is_searched_with_a_key_alone_and_where_settings_name_it() -> None:
    assert "openalex" in searchable()
    assert "openalex" not in list_offered()
    async with recorded(endpoints=Endpoints.public({})) as way:
        with pytest.raises(SourceRefused, match="OPENALEX_API_KEY"):
            await OpenAlex(way).find("migraine")


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
                await fetch_work(f"10.5555/{number}", way)
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
            await fetch_work("10.5555/a", way)

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
            await fetch_work("10.5555/a", way)

    assert type(caught.value) is error
    assert "at the earliest" not in caught.value.reason
