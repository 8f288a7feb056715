"""bioRxiv and medRxiv: which article a preprint became."""

from typing import Any

import httpx
import pytest
from recorded import recorded
from trust_sample import PREPRINT_DOI, PUBLISHED_DOI

from willowbark.tools.errors import UnreadableReply
from willowbark.tools.sources.studies.biorxiv import fetch_published_doi, parse_own_number, parse_publication


@pytest.mark.parametrize("version", ["", "v2"])
async def test_a_preprint_leads_to_its_article_whatever_its_version(version: str) -> None:
    async with recorded() as way:
        found = await fetch_published_doi(PREPRINT_DOI + version, way)

    assert found == PUBLISHED_DOI


async def test_a_preprint_that_neither_server_knows_of_as_published_has_none() -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as way:
        assert await fetch_published_doi("10.1101/2021.03.23.21254186", way) is None

    assert {request.url.path.split("/")[3] for request in seen} == {"medrxiv", "biorxiv"}


@pytest.mark.parametrize("doi", ["10.5555/a", "10.1101/gad.1", "10.1101/../x", "", "10.1101/1?x"])
async def test_what_is_not_theirs_is_not_asked_about(doi: str) -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as way:
        assert await fetch_published_doi(doi, way) is None

    assert (seen, parse_own_number(doi)) == ([], None)


def test_the_older_name_of_the_preprints_doi_is_read_too() -> None:
    pair = {"biorxiv_doi": PREPRINT_DOI, "published_doi": PUBLISHED_DOI.upper(), "published_date": "2021-08-19"}
    found = parse_publication({"messages": [{"status": "ok"}], "collection": [pair]})

    assert found == PUBLISHED_DOI


@pytest.mark.parametrize("data", [None, [], {}, {"collection": []}, {"messages": [{"status": "error"}]}])
def test_an_answer_without_a_reason_is_unreadable(data: Any) -> None:
    with pytest.raises(UnreadableReply):
        parse_publication(data)
