"""The web gives leads: a record stands where a page names its number and the record's own source knows it."""

import asyncio
import importlib
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import httpx
import pytest
from recorded import DOWN, recorded

from willowbark.agents.autogen import list_tools_of
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.texts import References, write_lines
from willowbark.agents.specialist import SpecialistAgent
from willowbark.agents.specialists import specialist_agent
from willowbark.teams.config import Settings
from willowbark.teams.faces.doctor import describe_unused, list_addresses
from willowbark.teams.ledger import Ledger
from willowbark.teams.model_clients import describe_model
from willowbark.teams.research_team import default_participants
from willowbark.tools.errors import SearchError, SourceRefused, SourceUnavailable, UsageError
from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.transport import ExchangeLog, Recorder, RetryPolicy, Transport
from willowbark.tools.installation import advise_extra
from willowbark.tools.library import open_library
from willowbark.tools.records.registry import cards, choose_engine, list_offered, web_engines
from willowbark.tools.search import Status, source_class
from willowbark.tools.sources.studies import duckduckgo
from willowbark.tools.sources.studies.brave import Brave
from willowbark.tools.sources.studies.leads import MOST_CHARACTERS, MOST_WORDS, Lead, find_numbers, write_web_query

KEY = "BSAs3cr3tk3y0fmine"
ENGINES = web_engines()
BASELINE = BaselineChatCompletionClient()


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
    assert list(find_numbers(Lead(url, text))) == numbers


def test_a_query_keeps_to_the_limits_of_a_search_engine() -> None:
    sent = write_web_query(" AND ".join([f"({' OR '.join(f'word{number}' for number in range(9))})"] * 40))

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


def parsed(hits: object) -> list[Lead]:
    return list(duckduckgo.parse(Reply("duckduckgo", 200, {}, json.dumps(hits).encode())))


def test_addresses_are_read_as_they_stand_and_behind_the_forwarder_but_those_of_advertisements() -> None:
    hits = [
        {"href": "https://pubmed.ncbi.nlm.nih.gov/1/", "title": "A", "body": "PMID: 7"},
        {"href": "//duckduckgo.com/l/?uddg=https%3A%2F%2Fdoi.org%2F10.1000%2Fa&rut=1", "title": "B", "body": "C"},
        {"href": "https://duckduckgo.com/y.js?ad_domain=x.example&u3=PMID", "title": "PMID: 3", "body": ""},
        {"href": "javascript:alert(1)", "title": "PMID: 4", "body": ""},
        {"href": "https://[", "title": "PMID: 5", "body": ""},
        {"title": "PMID: 6"},
        "PMID: 8",
    ]
    assert parsed(hits) == [
        Lead("https://pubmed.ncbi.nlm.nih.gov/1/", "A PMID: 7"),
        Lead("https://doi.org/10.1000/a", "B C"),
    ]


@pytest.mark.parametrize(("variable", "name"), [("SERPAPI_API_KEY", "serpapi"), ("OPENALEX_API_KEY", "openalex")])
async def test_a_key_that_goes_as_a_parameter_is_shown_nowhere(variable: str, name: str) -> None:
    log, seen = ExchangeLog(), list[httpx.Request]()
    public = Endpoints.public({variable: KEY})
    answer = httpx.Response(200, json={"error": KEY})
    async with recorded({"*": answer}, seen, endpoints=public, recorder=log) as way:
        with pytest.raises(SearchError) as raised:
            await source_class(name)(way).find("migraine")

    assert seen[0].url.params["api_key"] == KEY
    assert KEY not in f"{log.exchanges} {raised.value}"


async def test_a_record_says_that_the_web_led_to_it_and_the_report_shows_it() -> None:
    async with recorded() as way:
        found = await Brave(way).find("propranolol AND migraine", 50)

    places = {record.key: record.record.found_in for record in found.records}
    assert places["pmid:12667107"] == ["brave", "pubmed"]
    assert places["nct:NCT00846495"] == ["brave", "clinicaltrials"]
    references = References({record.key: record for record in found.records})
    references.cite(["pmid:12667107"])
    [entry] = references.list_entries()
    assert entry["web"] == ["Brave Search"]
    lines = write_lines("course", "references", entries=[(entry, "2003")], accessed={}, most=3)
    assert "Found on the web (Brave Search)." in " ".join(lines)


# --- ddgs itself, which asks a page on the loopback ---

PAGE = """<!DOCTYPE html><html><body><div class="links_main links_deep result__body"><h2 class="result__title">
<a class="result__a" href="https://pubmed.ncbi.nlm.nih.gov/12667107/">Migraine prophylactic drugs</a></h2>
<a class="result__snippet" href="https://pubmed.ncbi.nlm.nih.gov/12667107/">Proof of efficacy</a></div></body></html>"""


class Page(BaseHTTPRequestHandler):
    """DuckDuckGo's page, which tells the class of its server what it was asked."""

    def do_POST(self) -> None:
        """Answer as the server is set to, after it is set free."""
        server = self.server
        assert isinstance(server, PageServer)
        asked = self.rfile.read(int(self.headers["content-length"])).decode()
        server.asked.append(parse_qs(asked)["q"][0])
        if len(server.asked) == 2:
            server.second.set()
        server.free.wait(30)
        self.send_response(server.status)
        self.send_header("content-length", str(len(server.body)))
        self.end_headers()
        self.wfile.write(server.body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class PageServer(ThreadingHTTPServer):
    """A loopback server in DuckDuckGo's place."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.status, self.body, self.asked = 200, PAGE.encode(), list[str]()
        self.second, self.free = threading.Event(), threading.Event()
        self.free.set()


@pytest.fixture
def page_server(ddgs_installed: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[PageServer]:
    """DuckDuckGo as ddgs reaches it."""
    engine = importlib.import_module("ddgs.engines").ENGINES["text"]["duckduckgo"]
    with PageServer() as server:
        monkeypatch.setattr(engine, "search_url", f"http://127.0.0.1:{server.server_address[1]}/html/")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.free.set()
        server.shutdown()


async def by_ddgs(timeout_s: float = 60.0, recorder: Recorder | None = None) -> Sequence[Lead]:
    """The leads of a search of the public DuckDuckGo, whose requests ddgs carries."""
    policy = RetryPolicy(attempts=1, first_timeout_s=timeout_s, attempt_timeout_s=timeout_s)
    limiter = RateLimiter(None, sleep=lambda _: asyncio.sleep(0))
    async with Transport(Endpoints.public({}), policy=policy, limiter=limiter, recorder=recorder) as way:
        return await duckduckgo.DuckDuckGo(way).leads("propranolol migraine")


async def test_duckduckgo_is_asked_through_ddgs_and_each_exchange_is_recorded(page_server: PageServer) -> None:
    log = ExchangeLog()
    [lead] = await by_ddgs(recorder=log)

    assert lead == Lead("https://pubmed.ncbi.nlm.nih.gov/12667107/", "Migraine prophylactic drugs Proof of efficacy")
    assert page_server.asked == ["propranolol migraine"]
    [exchange] = log.exchanges
    assert exchange.url == "https://html.duckduckgo.com/html/?q=propranolol+migraine"
    assert (exchange.source, exchange.status, exchange.error) == ("duckduckgo", 200, None)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [(202, PAGE, "refused the request"), (200, "<html></html>", "there are none, or it takes programs for robots")],
)
async def test_a_refusal_is_named_and_never_no_results(
    page_server: PageServer, status: int, body: str, reason: str
) -> None:
    page_server.status, page_server.body = status, body.encode()
    with pytest.raises(SourceRefused, match=reason):
        await by_ddgs()


async def test_a_page_that_does_not_come_ends_in_time_and_is_cancelled_at_once(page_server: PageServer) -> None:
    page_server.free.clear()
    with pytest.raises(SourceUnavailable, match="no whole answer within"):
        await by_ddgs(timeout_s=0.5)
    search = asyncio.create_task(by_ddgs())
    assert await asyncio.to_thread(page_server.second.wait, 20)
    search.cancel()
    async with asyncio.timeout(20):
        with pytest.raises(asyncio.CancelledError):
            await search


async def test_a_replay_needs_neither_ddgs_nor_a_network(page_server: PageServer, tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        with ledger.start("Q?", settings={}, model=describe_model(BASELINE), sandboxed=False) as journal:
            first = await by_ddgs(recorder=journal)
        sys.modules["ddgs"] = None  # type: ignore[assignment]
        again = await by_ddgs(recorder=ledger.journal(journal.run_id))

    assert again == first
    assert len(page_server.asked) == 1


async def test_another_ddgs_than_the_one_known_is_refused_in_a_line(
    page_server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("ddgs.engines"), "ENGINES", {})
    with pytest.raises(SourceRefused, match=r"the installed version of ddgs is not one that Willowbark knows"):
        await by_ddgs()


# --- which engine is searched, and where ---


def test_the_web_is_searched_by_the_first_engine_that_can_be_asked(
    monkeypatch: pytest.MonkeyPatch, ddgs_installed: None
) -> None:
    engines = list[str | None]()
    for variable in ("", "SERPAPI_API_KEY", "BRAVE_API_KEY"):
        if variable:
            monkeypatch.setenv(variable, KEY)
        engines.append(choose_engine())
        assert set(Settings().tools.sources) & set(web_engines()) == {choose_engine()}
        assert f"search_{choose_engine()}" in {
            tool.name for tool in list_tools_of(specialist_agent("literature", BASELINE))
        }

    assert engines == ["duckduckgo", "serpapi", "brave"]


def test_a_library_is_searched_without_the_web(ddgs_installed: None) -> None:
    settings = Settings().overridden({"library.path": "bundled"})

    assert "duckduckgo" in settings.tools.sources
    assert set(settings.searched_sources) == set(settings.tools.sources) - {"duckduckgo"}
    specialists = [each for each in default_participants(BASELINE, settings) if isinstance(each, SpecialistAgent)]
    assert "search_duckduckgo" not in {tool.name for each in specialists for tool in list_tools_of(each)}


async def test_a_search_of_a_library_asks_no_engine(page_server: PageServer) -> None:
    async with Transport(Endpoints(library=open_library("bundled"))) as way:
        found = await duckduckgo.DuckDuckGo(way).find("migraine")

    assert (found.status, page_server.asked) == (Status.EMPTY, [])


def test_without_a_key_or_the_package_the_doctor_says_how_an_engine_is_turned_on() -> None:
    endpoints = Endpoints.public({})
    lines = "\n".join(describe_unused(list_addresses(endpoints, Settings()), endpoints))

    assert not set(web_engines()) & set(list_offered())
    assert "brave: off (the web is not searched by Brave; set BRAVE_API_KEY)" in lines
    assert "serpapi: off (the web is not searched by SerpApi; set SERPAPI_API_KEY)" in lines
    assert f"duckduckgo: off ({cards()['duckduckgo'].off}; {advise_extra('web')})" in lines
    with pytest.raises(UsageError, match=r"duckduckgo is searched by the package ddgs, which is not installed"):
        endpoints.require(["pubmed", "duckduckgo"])


async def test_an_engine_without_its_key_is_refused_unasked() -> None:
    async with Transport(Endpoints.public({})) as way:
        with pytest.raises(SourceRefused, match=r"is not searched without a key \(BRAVE_API_KEY\)"):
            await Brave(way).find("migraine")
