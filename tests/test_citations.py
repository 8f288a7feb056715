"""Following citations: what PubMed and Europe PMC say cites a publication or is cited by it, and when that is asked."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest
from autogen_core import CancellationToken
from autogen_core.models import SystemMessage, UserMessage
from builders import asked, record, verdict
from faults.breakage import FaultyServer
from faults.plan import FaultPlan
from recorded import Answer, publish, recorded
from test_baseline import to_assess
from test_europepmc import hit, page
from test_pubmed import article, article_set

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.baseline.assessing import MAX_CHASED, assessment
from willowbark.agents.context import RunContext
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.specialists import literature_agent
from willowbark.tools.errors import RateLimitError, SearchError, SourceRefused, SourceUnavailable, UnreadableReply
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.records.evidence import Evidence, merge
from willowbark.tools.search import Status
from willowbark.tools.sources.publications import MAX_CITATIONS
from willowbark.tools.sources.studies.europepmc import EuropePMC
from willowbark.tools.sources.studies.pubmed import PubMed
from willowbark.tools.toolbox import GetCitations, SourceTool, write_citations_query


def links(citing: list[int] | None = None, cited: list[int] | None = None, similar: tuple[int, ...] = (77,)) -> bytes:
    """An ELink reply as PubMed gives it: similar articles first, a kind without links left out."""
    kinds = {"pubmed_pubmed": similar, "pubmed_pubmed_citedin": citing, "pubmed_pubmed_refs": cited}
    groups = "".join(
        f"<LinkSetDb><DbTo>pubmed</DbTo><LinkName>{name}</LinkName>\n"
        + "".join(f"<Link>\n<Id>{pmid}</Id>\n</Link>" for pmid in pmids)
        + "</LinkSetDb>"
        for name, pmids in kinds.items()
        if pmids
    )
    head = '<?xml version="1.0"?>\n<!DOCTYPE eLinkResult PUBLIC "-//NLM//DTD elink 20101123//EN" "https://x/y.dtd">'
    start = "<LinkSet><DbFrom>pubmed</DbFrom><IdList><Id>5</Id></IdList>"
    return f"{head}\n<eLinkResult>{start}{groups}</LinkSet></eLinkResult>".encode()


def pubmed(reply: bytes | httpx.Response, seen: list[httpx.Request] | None = None) -> PubMed:
    given = reply if isinstance(reply, httpx.Response) else httpx.Response(200, content=reply)

    def fetch(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=article_set(*map(article, request.url.params["id"].split(","))))

    return PubMed(recorded({"*/elink.fcgi": given, "*/efetch.fcgi": fetch}, seen))


def entries(kind: str, *pmids: int) -> httpx.Response:
    listed = [{"id": str(pmid), "source": "MED", "citationType": "journal article"} for pmid in pmids]
    unmatched = [{"title": "A book that has no number", "match": "N"}, {"id": "PPR7", "source": "PPR"}]
    body = {"version": "6.9", "hitCount": len(pmids) + 2, f"{kind}List": {kind: [*unmatched, *listed]}}
    return httpx.Response(200, json=body)


def europe_pmc(citations: httpx.Response, seen: list[httpx.Request] | None = None) -> EuropePMC:
    def search(request: httpx.Request) -> httpx.Response:
        words = request.url.params["query"].strip("()").replace(")", "").split()
        return page(*(hit(each.partition(":")[2]) for each in words if "EXT_ID" in each))

    answers: dict[str, Answer] = {"*/citations": citations, "*/references": entries("reference", 3), "*/search": search}
    return EuropePMC(recorded(answers, seen))


def ways(records: list[Evidence]) -> dict[str, list[str]]:
    return {each.key: each.record.found_by for each in records}


async def test_pubmed_gives_what_cites_and_what_is_cited_with_the_way_named_in_two_requests() -> None:
    seen = list[httpx.Request]()
    reply = await pubmed(links([30, 20], [3]), seen).citations("5")

    assert ways(reply.records) == {
        "pmid:30": ["cites PMID 5"],
        "pmid:20": ["cites PMID 5"],
        "pmid:3": ["cited by PMID 5"],
    }
    assert (reply.status, reply.total, reply.query) == (Status.OK, 3, "citations of PMID 5")
    assert [request.url.path for request in seen] == ["/pubmed/elink.fcgi", "/pubmed/efetch.fcgi"]
    asked = {"db": "pubmed", "dbfrom": "pubmed", "id": "5", "cmd": "neighbor", "tool": "willowbark"}
    assert dict(seen[0].url.params).items() >= asked.items()


async def test_long_lists_are_cut_and_that_is_said() -> None:
    reply = await pubmed(links(list(range(1000, 1100)), [3])).citations("5")

    assert len(reply.records) == MAX_CITATIONS + 1
    assert reply.warnings == [f"the first {MAX_CITATIONS} of 100 that cite it"]
    assert reply.total == MAX_CITATIONS + 1  # no further page can be asked for


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (b"<eLinkResult><ERROR>Empty id list - nothing todo</ERROR></eLinkResult>", SourceUnavailable),
        (b"<eLinkResult><ERROR>Invalid db name specified: x</ERROR></eLinkResult>", SourceRefused),
        (b"<other/>", UnreadableReply),
        (httpx.Response(200, json={"error": "API rate limit exceeded"}), RateLimitError),
        ({"version": "6.9"}, UnreadableReply),
        ({"errCode": 404, "errMsg": "no such article"}, SourceRefused),
        ({"hitCount": 3, "citationList": {"citation": []}}, UnreadableReply),
    ],
)
async def test_every_way_in_which_links_fail_is_told_apart(reply: Any, error: type[SearchError]) -> None:
    source = europe_pmc(httpx.Response(200, json=reply)) if isinstance(reply, dict) else pubmed(reply)
    with pytest.raises(error):
        await source.citations("5")


@pytest.mark.parametrize("number", ["", "PMC5", "5 OR 6", "0"])
async def test_what_is_no_pmid_is_not_asked(number: str) -> None:
    seen = list[httpx.Request]()
    for source in (pubmed(links(), seen), europe_pmc(entries("citation"), seen)):
        with pytest.raises(SourceRefused):
            await source.citations(number)
    assert not seen


async def test_europe_pmc_gives_both_in_three_requests_and_passes_over_what_has_no_pmid() -> None:
    seen = list[httpx.Request]()
    reply = await europe_pmc(entries("citation", 30), seen).citations("5")

    assert ways(reply.records) == {"pmid:30": ["cites PMID 5"], "pmid:3": ["cited by PMID 5"]}
    assert [request.url.path.rpartition("/")[2] for request in seen] == ["citations", "references", "search"]
    assert seen[2].url.params["query"] == "(EXT_ID:30 OR EXT_ID:3) AND SRC:MED"


PAPERS = (
    {"pmid": "11", "title": "[SYNTHETIC] Timolol in migraine", "abstract": "Timolol lowered attacks."},
    {"pmid": "12", "title": "[SYNTHETIC] A later look", "abstract": "It was looked at again."},
    {"pmid": "13", "title": "[SYNTHETIC] An earlier one", "abstract": "It was looked at first."},
)


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Replies of both sources on what cites the first paper, one of them unknown, and on what it cites."""
    root = publish(tmp_path_factory.mktemp("replies"), *PAPERS)
    (root / "pubmed" / "elink.xml").write_bytes(links([12, 99], [13]))
    for kind, pmids in {"citation": ("12", "99"), "reference": ("13",)}.items():
        entries_of = [{"id": pmid, "source": "MED", "title": "T"} for pmid in pmids]
        data = {"hitCount": len(pmids), f"{kind}List": {kind: entries_of}}
        (root / "europepmc" / f"{kind}s.json").write_text(json.dumps(data))
    return root


async def followed(agent: Any, replies: Path, plan: FaultPlan | None = None) -> FindingsMessage:
    """What the literature agent hands over where the judge asks for citations."""
    with FaultyServer(plan, replies=replies) as server:
        async with Transport(Endpoints.at(server.url), policy=RetryPolicy(attempts=1)) as way:
            agent.join(RunContext(way))
            search = {"closes": "More on it.", "specialist": "literature", "query": write_citations_query("11")}
            more = verdict(
                next_searches=[search],
                next_search_queries=[write_citations_query("11")],
                next_specialists=["literature"],
            )
            response = await agent.on_messages([asked(), more], CancellationToken())
    assert isinstance(response.chat_message, FindingsMessage)
    return response.chat_message


async def test_a_judge_that_asks_for_citations_gets_them_from_both_sources_and_nothing_else_is_asked(
    replies: Path,
) -> None:
    found = (await followed(literature_agent(BaselineChatCompletionClient()), replies)).content

    assert [(each.source, each.asked, len(each.records)) for each in found.replies] == [
        ("pubmed", "citations of PMID 11", 2),
        ("europepmc", "citations of PMID 11", 2),
    ]
    assert "no readable record came for 1 of them" in found.replies[0].warnings
    assert ways(merge(found.records)) == {"pmid:12": ["cites PMID 11"], "pmid:13": ["cited by PMID 11"]}


async def test_a_user_may_ask_for_citations_too() -> None:
    said = [
        SystemMessage(content="s"),
        UserMessage(content="Migraine drugs; citations of PMID 11, please", source="user"),
    ]
    answer = await BaselineChatCompletionClient().create(said, tools=[SourceTool("pubmed"), GetCitations()])

    assert isinstance(answer.content, list)
    assert [json.loads(each.arguments) for each in answer.content if each.name == "get_citations"] == [
        {"citations_of": "11"}
    ]


@pytest.mark.parametrize("sources", [("pubmed",), ("europepmc", "pubmed"), ("duckduckgo", "europepmc")])
def test_it_asks_no_source_that_is_not_wanted_also_when_loaded(sources: tuple[str, ...]) -> None:
    tool = GetCitations(sources)
    loaded = GetCitations.load_component(tool.dump_component())
    args = tool.args_type()(citations_of="11")

    for each in (tool, loaded):
        assert set(each._questions(args, recorded())) == set(sources) & {"pubmed", "europepmc"}  # type: ignore[arg-type]


def trial(number: int, effect: str = "reduced") -> Evidence:
    said = f"In a double-blind trial propranolol {effect} migraine attacks against placebo in 500 patients (p<0.001)."
    return record(
        str(number),
        f"Propranolol in migraine prevention {number}",
        said,
        publication_types=["Randomized Controlled Trial"],
    )


def chased(*records: Evidence, iteration: int = 2, before: tuple[str, ...] = ()) -> list[str]:
    request = to_assess(*records, asked_before=before).model_copy(update={"iteration": iteration})
    return [each.query for each in assessment(request).next_searches if each.query.startswith("citations of")]


@pytest.mark.parametrize(
    ("numbers", "iteration", "before", "due"),
    [
        ((11,), 2, (), ["citations of PMID 11"]),
        ((11,), 1, (), []),
        (range(11, 31), 2, (), []),
        ((), 2, (), []),
        ((11,), 2, (11,), []),
        ((11,), 2, range(50, 50 + MAX_CHASED), []),
    ],
    ids=["one record decides", "first round", "many decide", "none decides", "followed before", "many followed"],
)
def test_the_citations_of_the_one_record_on_which_a_verdict_hangs_are_asked_for(
    numbers: Iterable[int], iteration: int, before: Iterable[int], due: list[str]
) -> None:
    asked_before = tuple(f"citations of PMID {number}" for number in before)
    assert chased(*map(trial, numbers), iteration=iteration, before=asked_before) == due
