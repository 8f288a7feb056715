"""OpenAlex: what it says of one work; what it does not say is not reported."""

import httpx
from recorded import recorded

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
