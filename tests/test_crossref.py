"""Crossref: what was said of a work is found, and silence is told from ignorance."""

from typing import Any

import httpx
import pytest
from recorded import recorded
from trust_sample import CLEAN_DOI, RETRACTED_DOI, SILENT_DOI

from willowbark.tools.sources.studies.crossref import fetch_updates, parse_work


def work(*notices: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"DOI": "10.5555/A", "updated-by": list(notices), **more}


async def test_a_retraction_is_found_with_its_notice_date_and_who_says_so() -> None:
    async with recorded() as way:
        said = (await fetch_updates([RETRACTED_DOI.upper()], way))[RETRACTED_DOI]

    assert said.retracted
    number = "10.1016/s0140-6736(10)60175-4"
    assert said.notices[-1] == {
        "kind": "retraction",
        "source": "retraction-watch",
        "doi": number,
        "date": "2010-02-06",
    }
    assert [notice["kind"] for notice in said.notices] == ["correction", "retraction"]


async def test_works_are_asked_about_together_and_one_that_crossref_does_not_know_is_not_there() -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as way:
        way.endpoints = way.endpoints.model_copy(update={"email": "someone@example.org"})
        found = await fetch_updates([CLEAN_DOI, "10.5555/a,b", SILENT_DOI], way)
        assert await fetch_updates(["no doi"], way) == {}

    assert {doi: said.notices for doi, said in found.items()} == {CLEAN_DOI: []}
    [asked] = [request.url.params for request in seen]
    assert asked["mailto"] == "someone@example.org"
    assert asked["filter"] == f"doi:{CLEAN_DOI},doi:{SILENT_DOI}"


def test_a_work_that_was_reinstated_is_not_retracted() -> None:
    notice = {"type": "retraction", "updated": {"date-parts": [[2010, 2, 6]]}}
    said = parse_work(work({"type": "reinstatement", "updated": {"date-parts": [[2012]]}}, notice))

    assert said is not None
    assert not said.retracted


@pytest.mark.parametrize("title", ["RETRACTED: A trial", "Retracted: a trial", "Retraction: a trial"])
def test_a_title_marked_by_its_publisher_is_a_retraction(title: str) -> None:
    said = parse_work(work(title=[title]))

    assert said is not None
    assert said.retracted is title.startswith("RETRACTED")


@pytest.mark.parametrize("kind", ["new_version", "addendum", "clarification", None, 7])
def test_updates_that_take_nothing_back_are_none(kind: object) -> None:
    assert parse_work(work({"type": kind})) == parse_work(work())
