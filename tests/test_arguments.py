"""Arguments of searches and tools: what clients and models really write is understood, what cannot be is named."""

import json
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from autogen_ext.models.openai import OpenAIChatCompletionClient
from openai_server import OpenAIServer, strict_problem
from pydantic import BaseModel, ValidationError
from recorded import recorded

from willowbark.tools.arguments import is_absent, read_phases
from willowbark.tools.errors import SourceRefused
from willowbark.tools.questions.query import raise_operators
from willowbark.tools.records.registry import cards, searchable
from willowbark.tools.search import SearchFilters, source_class
from willowbark.tools.sources.studies.clinicaltrials import TrialFilters
from willowbark.tools.toolbox import GetCitations, GetMechanisms, GetPaper, GetTrial, SourceTool

BOOLEAN = tuple(name for name in ("pubmed", "europepmc", "clinicaltrials") if cards()[name].dialect == "boolean")
TOOLS = [*(SourceTool(name) for name in searchable()), GetPaper(), GetCitations(), GetTrial(), GetMechanisms()]


class Answer(BaseModel):
    """What an agent of somebody else's answers with."""

    drug: str


async def address_sent(tool: Any, **arguments: Any) -> str:
    """Where a tool sends its first request, without the percent signs of addresses."""
    seen = list[Any]()
    async with recorded(seen=seen) as transport:
        tool.bind(transport, "0" * 16)
        await tool.run_json(arguments, CancellationToken())
    return str(dict(seen[0].url.params))


@pytest.mark.parametrize("blank", ["", "  ", None, [], [""]])
@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("pubmed", "mindate"),
        ("pubmed", "maxdate"),
        ("pubmed", "page"),
        ("pubmed", "publication_types"),
        ("europepmc", "preprints"),
        ("clinicaltrials", "status"),
        ("clinicaltrials", "phase"),
        ("clinicaltrials", "study_type"),
        ("clinicaltrials", "has_results"),
    ],
)
async def test_a_blank_argument_is_as_none_given(source: str, name: str, blank: Any) -> None:
    plain = await address_sent(SourceTool(source), query="gout flares")

    assert await address_sent(SourceTool(source), query="gout flares", **{name: blank}) == plain
    assert source_class(source).filters.of(source, {name: blank}) == source_class(source).filters()


@pytest.mark.parametrize(
    ("written", "phases"),
    [
        ("Phase 3", ["PHASE3"]),
        ("phase iv", ["PHASE4"]),
        ("Phase 2/Phase 3", ["PHASE2", "PHASE3"]),
        ("PHASE2/PHASE3", ["PHASE2", "PHASE3"]),
        ("Phase I/II", ["PHASE1", "PHASE2"]),
        (["Phase 1", "", "phase1"], ["PHASE1"]),
        ("Early Phase 1", ["EARLY_PHASE1"]),
        ("Not Applicable", ["NA"]),
        (2, ["PHASE2"]),
    ],
)
def test_phases_are_read_in_words(written: Any, phases: list[str]) -> None:
    assert TrialFilters.of("clinicaltrials", {"phase": written}).phase == phases


@pytest.mark.parametrize(
    ("written", "statuses"),
    [
        ("Active, not recruiting", ["ACTIVE_NOT_RECRUITING"]),
        ("Recruiting, Not yet recruiting", ["RECRUITING", "NOT_YET_RECRUITING"]),
        ("enrolling by invitation", ["ENROLLING_BY_INVITATION"]),
        ("Unknown status", ["UNKNOWN"]),
        (["Completed", "terminated"], ["COMPLETED", "TERMINATED"]),
    ],
)
def test_statuses_are_read_in_words(written: Any, statuses: list[str]) -> None:
    assert TrialFilters.of("clinicaltrials", {"status": written}).status == statuses


def test_kinds_of_studies_and_preprints_are_read_in_any_case() -> None:
    assert TrialFilters.of("clinicaltrials", {"study_type": "Observational study"}).study_type == "OBSERVATIONAL"
    assert TrialFilters.of("clinicaltrials", {"study_type": "Interventional"}).study_type == "INTERVENTIONAL"
    assert source_class("europepmc").filters.of("europepmc", {"preprints": "None"}) == source_class(
        "europepmc"
    ).filters.of("europepmc", {"preprints": "none"})


@pytest.mark.parametrize(
    ("name", "value"), [("phase", "Phase 5"), ("status", "halted"), ("study_type", "survey"), ("sites", "Oslo")]
)
def test_what_cannot_be_understood_is_named_with_what_there_is(name: str, value: str) -> None:
    with pytest.raises(SourceRefused) as refused:
        TrialFilters.of("clinicaltrials", {name: value})

    assert f"filter {name}" in refused.value.reason
    assert "its filters are page, mindate" in refused.value.reason
    with pytest.raises(ValidationError, match=name):
        SourceTool("clinicaltrials").args_type().model_validate({"query": "gout", name: value})


async def test_numbers_are_read_as_numbers_and_in_small_letters() -> None:
    assert "'id': '12453029'" in await address_sent(GetPaper(), pmid=12453029)
    seen = list[Any]()
    async with recorded(seen=seen) as transport:
        tool = GetTrial()
        tool.bind(transport, "0" * 16)
        reply = await tool.run_json({"nct_id": "nct02540993"}, CancellationToken())
    assert seen[0].url.path.endswith("/studies/NCT02540993")
    assert [record.key for each in reply.replies for record in each.records] == ["nct:NCT02540993"]
    for wrong in (True, -3, 1.5):
        with pytest.raises(ValidationError):
            GetPaper().args_type().model_validate({"pmid": wrong})


@pytest.mark.parametrize("source", BOOLEAN)
async def test_operators_in_small_letters_ask_as_those_in_capitals(source: str) -> None:
    small = await address_sent(SourceTool(source), query="gout or pseudogout and not (colchicine or steroids)")

    assert small == await address_sent(SourceTool(source), query="gout OR pseudogout AND NOT (colchicine OR steroids)")
    assert "TITLE_ABS:or" not in small
    assert "TITLE_ABS:and" not in small


@pytest.mark.parametrize(
    "query",
    [
        '"trial and error"',
        "gout[and]",
        "patients did not respond",
        "sarcoma not otherwise specified",
        "gout and",
        "not gout",
        "android nothing order",
    ],
)
def test_words_that_are_no_operators_stay(query: str) -> None:
    assert raise_operators(query) == query


def test_no_code_is_made_up_where_none_is_meant() -> None:
    assert read_phases("", ["PHASE1"]) == []
    assert [is_absent(each) for each in (0, False, "x", [0])] == [False] * 4
    assert SearchFilters.of("pubmed", {"page": "2"}).page == 2


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_is_offered_as_strict_providers_take_it(tool: Any) -> None:
    assert tool.schema["strict"] is True
    assert strict_problem(tool.schema["parameters"]) is None
    given = dict.fromkeys(tool.schema["parameters"]["required"])
    given.update({"query": "gout"} if "query" in given else {})
    given.update({"drugs": ["colchicine"]} if "drugs" in given else {})
    given.update({name: "12345678" for name in ("pmid", "citations_of") if name in given})
    given.update({"nct_id": "NCT02540993"} if "nct_id" in given else {})
    assert tool.args_type().model_validate(given).model_dump(exclude_defaults=True)


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore:Resolved model mismatch", "ignore:Pydantic serializer warnings")
async def test_autogens_own_agent_offers_our_tools_where_it_is_to_answer_in_a_form() -> None:
    def answer(body: dict[str, Any]) -> Any:
        if any(message["role"] == "tool" for message in body["messages"]):
            return json.dumps({"drug": "topiramate"})
        return {"search_pubmed": {"query": "migraine", "page": None, "mindate": "", "maxdate": None}}

    server = OpenAIServer(answer, takes_bounds=True)  # of the form of answers, which is the agent's own
    async with recorded() as transport:
        tool = SourceTool("pubmed", max_results=2)
        tool.bind(transport, "0" * 16)
        with server.running() as url:
            client = OpenAIChatCompletionClient(model="gpt-4o", api_key="x", base_url=url)
            agent = AssistantAgent("reader", client, tools=[tool], output_content_type=Answer, max_tool_iterations=2)
            result = await agent.run(task="Which drug prevents migraine?")
            await client.close()

    assert server.refused == []
    assert [body["tools"][0]["function"]["strict"] for body in server.bodies] == [True, True]
    assert result.messages[-1].content == Answer(drug="topiramate")  # type: ignore[union-attr]
