"""The web gives leads: a record stands where a page names its number and the record's own source knows it."""

import contextlib
import time

import httpx
import pytest
from recorded import DOWN, recorded

from willowbark.teams.config import Settings
from willowbark.teams.faces.doctor import addresses_of, describe_unused
from willowbark.tools.errors import UnreadableReply
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.transport import ExchangeLog
from willowbark.tools.records.registry import cards, offered
from willowbark.tools.search import Status, source_class
from willowbark.tools.sources.studies import duckduckgo
from willowbark.tools.sources.studies.brave import Brave
from willowbark.tools.sources.studies.leads import MOST_CHARACTERS, MOST_WORDS, Lead, for_the_web, numbers_in

KEY = "BSAs3cr3tk3y0fmine"
ENGINES = ("brave", "duckduckgo")


def linked(url: str, text: str = "T", *, kind: str = "result__a") -> str:
    return f'<a rel="nofollow" class="{kind}" href="{url}">{text}</a>'


def page(*links: str, head: str = "<!DOCTYPE html><html>") -> bytes:
    return f"{head}<body>{''.join(links)}</body></html>".encode()


@pytest.mark.parametrize("name", ENGINES)
async def test_what_comes_is_the_record_of_its_own_source_and_no_word_of_a_page(name: str) -> None:
    async with recorded() as way:
        found = await source_class(name)(way).find("propranolol AND migraine", 50)

    assert found.status is Status.OK
    assert {record.key for record in found.records} == {"pmid:12667107", "pmid:12482211", "nct:NCT00846495"}
    assert {record.citation.source for record in found.records} == {"pubmed", "clinicaltrials"}
    assert "My view" not in found.model_dump_json()
    assert [line.partition(" of ")[0] for line in found.warnings] == ["1", "1"]  # a page, and a number nobody knows


async def test_a_source_that_cannot_be_asked_is_named_and_costs_its_own_leads_alone() -> None:
    async with recorded({"pubmed/*": DOWN}) as way:
        found = await Brave(way).find("propranolol AND migraine")

    assert found.status is Status.PARTIAL
    assert [record.key for record in found.records] == ["nct:NCT00846495"]
    assert "pubmed: is not available (503)" in "\n".join(found.warnings)


@pytest.mark.parametrize(
    ("url", "text", "numbers"),
    [
        ("https://pubmed.ncbi.nlm.nih.gov/12345/", "", ["pmid:12345"]),
        ("https://pmc.ncbi.nlm.nih.gov/articles/PMC77/", "", ["pmcid:PMC77"]),
        ("https://europepmc.org/article/MED/9", "", ["pmid:9"]),
        ("https://www.nature.com/x", "see doi:10.1038/S41586-1.", ["doi:10.1038/s41586-1"]),
        ("https://link.springer.com/article/10.1007%2Fs00415-1#Sec2", "", ["doi:10.1007/s00415-1"]),
        ("https://x.example/10.1111/head.1.pdf?download=1", "", ["doi:10.1111/head.1"]),
        ("https://clinicaltrials.gov/study/NCT00000102?cond=x", "NCT00000102", ["nct:NCT00000102"]),
        ("https://blog.example.org/top-10-pills", "10.5 of 12345 people, NCT123", []),
        ('https://x.example/10.1000/a"onload=', "", ["doi:10.1000/a"]),
        ("https://[", "%zz", []),
    ],
)
def test_numbers_are_found_in_addresses_and_texts(url: str, text: str, numbers: list[str]) -> None:
    assert list(numbers_in(Lead(url, text))) == numbers


def test_a_query_keeps_to_the_limits_of_a_search_engine() -> None:
    sent = for_the_web(" AND ".join([f"({' OR '.join(f'word{number}' for number in range(9))})"] * 40))

    assert len(sent) <= MOST_CHARACTERS
    assert len(sent.split()) <= MOST_WORDS


async def test_the_key_goes_in_its_header_alone() -> None:
    log, seen = ExchangeLog(), list[httpx.Request]()
    public = Endpoints.public({"BRAVE_API_KEY": KEY})
    async with recorded(
        {"*": httpx.Response(200, json={"type": "search"})}, seen, endpoints=public, recorder=log
    ) as way:
        found = await Brave(way).find("migraine")

    assert seen[0].headers["x-subscription-token"] == KEY
    assert (found.status, KEY in f"{seen[0].url} {log.exchanges} {found.url}") == (Status.EMPTY, False)


def read(body: bytes) -> list[Lead]:
    return list(duckduckgo.parse(Reply("duckduckgo", 200, {}, body)))


def test_addresses_are_read_as_they_stand_and_behind_the_forwarder_but_those_of_advertisements() -> None:
    forwarded = "//duckduckgo.com/l/?uddg=https%3A%2F%2Fdoi.org%2F10.1000%2Fa&amp;rut=1"
    links = (
        linked("https://pubmed.ncbi.nlm.nih.gov/1/", "A &amp; <b>B</b>"),
        linked("https://pubmed.ncbi.nlm.nih.gov/1/", "PMID: <b>7</b>", kind="result__snippet"),
        linked(forwarded),
        linked("https://duckduckgo.com/y.js?ad_domain=x.example&u3=PMID", "PMID: 3"),
        linked("javascript:alert(1)", "PMID: 4"),
        linked("https://other.example/", "PMID: 5", kind="zcm__link"),
    )
    assert read(page(*links)) == [
        Lead("https://pubmed.ncbi.nlm.nih.gov/1/", "A & B PMID: 7"),
        Lead("https://doi.org/10.1000/a", "T"),
    ]


@pytest.mark.parametrize(
    "body",
    [page(*(["<a class=result__a href=x "] * 50_000)), page("<a " + "<" * 500_000, '<a href="https://[">x</a>')],
    ids=["never closed", "brackets"],
)
def test_a_hostile_page_is_read_or_refused_in_no_time(body: bytes) -> None:
    began = time.process_time()
    with contextlib.suppress(UnreadableReply):
        read(body)
    assert time.process_time() - began < 5  # far above what it takes


def test_the_web_is_off_and_the_doctor_says_how_it_is_turned_on() -> None:
    lines = "\n".join(describe_unused(addresses_of(Endpoints.public({}), Settings()), Endpoints.public({})))

    assert not set(ENGINES) & set(offered())
    assert "brave: off (the web is not searched by Brave; set BRAVE_API_KEY and name it under tools.sources)" in lines
    assert f"duckduckgo: off ({cards()['duckduckgo'].off}; name it under tools.sources)" in lines
    chosen = Settings().overridden({"tools.sources": ["pubmed", "duckduckgo"]})
    assert "duckduckgo" in addresses_of(Endpoints.public({}), chosen)
