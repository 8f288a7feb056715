"""Python as a newcomer guesses it: names, sources by themselves, settings, frames."""

import asyncio
import subprocess
import sys

import httpx
import pytest
from recorded import recorded

import willowbark
from willowbark import tools
from willowbark.teams import ResearchTeam
from willowbark.tools import pubmed
from willowbark.tools.errors import SourceRefused, SourceUnavailable, UsageError
from willowbark.tools.handler import SearchHandler
from willowbark.tools.http.recent import RecentReplies
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import searchable
from willowbark.tools.search import SearchTool
from willowbark.tools.sources.studies.pubmed import PubMed

GUESSED = ["ask", "research", "Team", "tools", "ResearchTeam", "ResearchReport", "Settings", "Evidence"]
NAMED_OTHERWISE = ["run", "Willowbark", "Client", "Agent", "Report", "Config", "search", "pubmed"]


def test_what_a_newcomer_imports_is_there_and_what_is_named_otherwise_says_how() -> None:
    assert set(GUESSED) <= set(dir(willowbark))
    assert [name for name in GUESSED if getattr(willowbark, name) is None] == []
    assert willowbark.Team is ResearchTeam
    for name in NAMED_OTHERWISE:
        with pytest.raises(ImportError, match=r"willowbark has no \w+; use .*`from willowbark"):
            exec(f"from willowbark import {name}")
    assert not hasattr(willowbark, "nonsense")


def test_the_package_is_imported_without_any_of_its_floors() -> None:
    loaded = "import sys, willowbark; print([n for n in sys.modules if n.startswith(('willowbark.', 'autogen'))])"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True).strip() == "[]"


FIRST_RUN = """
import asyncio, sys
from willowbark.teams import research_stream

class Finder:
    def find_spec(self, name, path=None, target=None):
        if asyncio._get_running_loop() is not None:
            on_loop.append(name)

async def begin():
    stream = research_stream("Which drugs prevent migraine?", offline=True, ledger=None)
    await anext(stream)
    await stream.aclose()

on_loop = []
sys.meta_path.insert(0, Finder())
asyncio.run(begin())
print([n for n in on_loop if n.startswith(("willowbark.agents", "willowbark.teams", "autogen", "numpy"))])
print("willowbark.teams.run.course" in sys.modules)
"""


def test_the_first_run_of_a_process_imports_nothing_heavy_on_the_event_loop() -> None:
    assert subprocess.check_output([sys.executable, "-c", FIRST_RUN], text=True).split("\n")[:2] == ["[]", "True"]


async def test_a_source_is_searched_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")

    found = await pubmed.search("migraine AND propranolol", max_results=3)
    reply = await pubmed.find("migraine", max_results=3, page=2)
    drugs = await tools.chembl.look_up("propranolol")

    assert len(found) == 3
    assert [each for each in (*found, *drugs) if not isinstance(each, Evidence)] == []
    assert (reply.source, len(reply.records)) == ("pubmed", 3)
    assert set(dir(tools)) == set(searchable())
    with pytest.raises(SourceRefused, match="its filters are page, mindate"):
        await pubmed.search("migraine", year=2001)


async def test_a_source_needs_no_connection_of_its_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")
    alone = PubMed()

    first, second = await asyncio.gather(alone.search("propranolol", 3), alone.search("topiramate", 3))
    async with PubMed() as opened:
        paper = await opened.papers(str(first[0].record.pmid))

    assert (len(first), len(second)) == (3, 3)
    assert [record.key for record in paper.records] == [first[0].key]
    with pytest.raises(UsageError, match=r"no connection open: use `async with PubMed\(\) as source:`"):
        await alone.papers("1")


async def test_a_source_by_itself_is_a_search_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")

    result = await SearchHandler([tools.pubmed, tools.clinicaltrials]).execute("migraine", 3)

    assert isinstance(tools.pubmed, SearchTool)
    assert isinstance(PubMed(), SearchTool)
    assert tools.pubmed.get_metadata().rate_limit == 3
    assert (result.sources_searched, result.errors) == (["pubmed", "clinicaltrials"], [])


async def test_the_same_search_asks_a_source_once() -> None:
    requests: list[httpx.Request] = []
    async with recorded(None, requests) as transport:
        first = await PubMed(transport).search("migraine", 10)
        number = len(requests)
        first.clear()
        again = await PubMed(transport).search("migraine", 10)
        after = len(requests)
        more = await PubMed(transport).find("migraine", 10, {"page": 2})

    assert again, "a list that was emptied is not the one that is kept"
    assert 0 < number == after
    assert len(requests) > after, "the next page is another search"
    assert more.query


async def test_a_search_that_failed_is_made_again() -> None:
    requests: list[httpx.Request] = []
    async with recorded({"pubmed/*": httpx.Response(503)}, requests) as transport:
        numbers = []
        for _ in range(2):
            with pytest.raises(SourceUnavailable):
                await PubMed(transport).search("migraine", 10)
            numbers.append(len(requests))

    assert numbers[1] > numbers[0]


def test_recent_replies_are_few_and_end() -> None:
    now = [0.0]
    recent = RecentReplies[str](most=2, fresh_s=900, clock=lambda: now[0])
    for search in ("a", "b"):
        recent.put(search, search.upper())
    assert recent.get("a") == "A"

    recent.put("c", "C")
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == ("A", None, "C")

    now[0] = 901
    assert (recent.get("a"), recent.get("c")) == (None, None)
