"""Preprints and their articles: identifiers prove, likeness only says who is asked about first."""

from pathlib import Path
from typing import Any

import httpx
from recorded import DOWN, publish, recorded
from trust_sample import PREPRINT_DOI, PUBLISHED_DOI

from willowbark.tools.evidence import Citation, Evidence
from willowbark.tools.works.identity import published_articles, resolve, settle

TITLE = "Placebinol for the prevention of test fever: a randomised trial"


def preprint(number: int = 1, title: str = TITLE, authors: tuple[str, ...] = ("Nobody A",), **more: Any) -> Evidence:
    return Evidence(
        content=title,
        citation=Citation(
            source="preprint",
            title=title,
            url=f"https://europepmc.org/article/PPR/PPR9999990{number}",
            date="2021-05-01",
            authors=list(authors),
        ),
        metadata={"is_preprint": True, **more},
    )


def article(number: int = 1, title: str = TITLE, authors: tuple[str, ...] = ("Nobody AB",), **more: Any) -> Evidence:
    return Evidence(
        content=title,
        citation=Citation(
            source="pubmed",
            title=title,
            url=f"https://pubmed.ncbi.nlm.nih.gov/9999990{number}/",
            date="2022",
            authors=list(authors),
        ),
        metadata={"pmid": f"9999990{number}", **more},
    )


def test_likeness_alone_unites_nothing() -> None:
    pool = [preprint(), article()]

    assert settle(pool) == pool


def test_a_preprint_whose_article_is_not_in_the_pool_stays() -> None:
    pool = [preprint(published_version="99999902"), article()]

    assert settle(pool) == pool


async def test_what_biorxiv_says_settles_it() -> None:
    pool = [preprint(doi=PREPRINT_DOI), article(doi=PUBLISHED_DOI)]
    async with recorded() as way:
        resolved = await resolve(pool, way)

    assert resolved[0].metadata["published_version"] == PUBLISHED_DOI
    assert [record.key for record in settle(resolved)] == ["pmid:99999901"]


async def test_likely_preprints_are_asked_about_first_and_no_more_than_the_limit() -> None:
    other = preprint(2, "On something else", doi="10.1101/2021.03.23.21254186")
    pool = [other, preprint(doi=PREPRINT_DOI), article(title=f"{TITLE.upper()}.")]
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as way:
        resolved = await resolve(pool, way, 1)

    assert all(PREPRINT_DOI in request.url.path for request in seen)
    assert "published_version" in resolved[1].metadata


async def test_a_failure_is_kept_as_such_and_the_pool_stays_whole() -> None:
    pool = [preprint(doi=PREPRINT_DOI), article(doi=PUBLISHED_DOI)]
    async with recorded({"biorxiv/*": DOWN}) as way:
        resolved = await resolve(pool, way)

    assert "no answer" in resolved[0].metadata["published_version_unknown"]
    assert settle(resolved) == resolved


async def test_the_article_that_a_preprint_became_is_fetched_where_the_pool_lacks_it(tmp_path: Path) -> None:
    replies = publish(tmp_path, {"pmid": "99999977", "doi": PUBLISHED_DOI, "title": "Placebinol, published"})
    waiting = preprint(doi=PREPRINT_DOI, published_version=PUBLISHED_DOI).model_copy(update={"relevance": 0.5})
    seen = list[httpx.Request]()
    async with recorded(seen=seen, replies=replies) as way:
        [found] = await published_articles([waiting], [waiting], way)
        assert await published_articles([waiting], [waiting, found], way) == []

    assert len(seen) == 1
    assert (found.metadata["pmid"], found.relevance) == ("99999977", 0.5)
    assert [record.key for record in settle([waiting, found])] == ["pmid:99999977"]


async def test_an_article_that_can_not_be_fetched_leaves_the_preprint_as_it_is() -> None:
    waiting = preprint(doi=PREPRINT_DOI, published_version=PUBLISHED_DOI)
    async with recorded({"europepmc/*": DOWN}) as way:
        assert await published_articles([waiting], [waiting], way) == []
