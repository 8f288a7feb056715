"""What a question asks first goes by its kind, and the rest follows."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from autogen_core import CancellationToken
from autogen_core.models import CreateResult, RequestUsage
from builders import asked, scripted
from recorded import recorded

from willowbark.agents.context import RunContext
from willowbark.agents.routing import is_first, route_of, routes
from willowbark.agents.specialists import literature_agent, specialist_agent
from willowbark.teams import AgentEvent, research_stream
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.questions import parse_question
from willowbark.tools.questions.kinds import KINDS

MECHANISM = "How does propranolol work in migraine?"
TRIALS = "Which trials of candesartan in migraine were stopped?"
APPROVAL = "Is propranolol approved for migraine?"
USES = "What is propranolol studied for?"
TREATMENT = "Which existing drugs could prevent migraine attacks?"
FIRST = {
    MECHANISM: {"get_mechanisms", "search_opentargets", "search_uniprot", "search_pubmed"},
    TRIALS: {"search_clinicaltrials", "search_pubmed"},
    APPROVAL: {"get_label", "get_approvals", "get_mechanisms", "search_pubmed"},
    USES: {"get_mechanisms", "get_label", "search_clinicaltrials"},
    TREATMENT: {"search_pubmed", "search_europepmc", "search_clinicaltrials", "search_opentargets", "search_uniprot"},
}


def tools_in(events: Sequence[AgentEvent], iteration: int) -> set[str | None]:
    """The tools that were called in a round."""
    return {event.tool for event in events if event.type == "searching" and event.iteration == iteration}


@pytest.mark.parametrize(
    ("question", "route"),
    [
        (MECHANISM, "mechanisms"),
        (TRIALS, "trials"),
        (APPROVAL, "approval and safety"),
        ("Is propranolol safe in asthma?", "approval and safety"),
        ("Can topiramate cause depression?", "approval and safety"),
        (USES, "drug facts"),
        ("aspirin repurposing", "drug facts"),
        (TREATMENT, "treatment"),
        ("Is topiramate better than propranolol for migraine?", "treatment"),
        ("Which drugs might treat ALS and which were tried and failed?", "treatment"),
    ],
)
def test_a_question_goes_by_its_kind(question: str, route: str) -> None:
    assert route_of(parse_question(question)).name == route


def test_every_kind_has_a_row_and_the_tools_of_users_come_first_in_all() -> None:
    kinds = {kind for route in routes().values() for kind in route.kinds}

    assert kinds == set(KINDS)
    for route in routes().values():
        assert is_first(route, "search_my_registry")
    assert len({route.tools for route in routes().values()}) == 5


def test_the_documented_table_is_the_one_in_use() -> None:
    page = Path("docs/explanation/routing.md").read_text("utf-8")

    for route in routes().values():
        tools = "all" if route.tools is None else ", ".join(f"`{tool}`" for tool in sorted(route.tools))
        assert f"| {route.name} | {', '.join(route.kinds)} | {tools} | {route.why} |" in page


@pytest.mark.parametrize("question", FIRST)
async def test_round_one_asks_the_first_tools_alone_and_the_next_the_others(question: str) -> None:
    stream = research_stream(question, offline=True, depth="quick", max_iterations=2)
    events = [event async for event in stream]
    report = events[-1].report
    route = route_of(parse_question(question))
    lines = [event.message for event in events if event.type == "progress"]

    assert report is not None
    assert lines[0] == f"A question on {route.name} asks " + lines[0].partition(" asks ")[2]
    assert tools_in(events, 1) == FIRST[question]
    if route.tools is not None:
        assert tools_in(events, 2) >= {"search_europepmc"}
        left_out = [text for text in report.limitations if "Not asked before" in text]
        assert left_out == []


async def test_what_one_round_leaves_out_is_named_in_the_limitations() -> None:
    events = [event async for event in research_stream(TRIALS, offline=True, depth="quick", max_iterations=1)]
    report = events[-1].report
    assert report is not None
    (line,) = [line for line in report.limitations if "Not asked before the search ended" in line]

    assert "Europe PMC" in line
    assert "a question on trials asks search_clinicaltrials, search_pubmed first" in line


async def test_the_kinds_ask_different_sources_first_of_recorded_replies_too(endpoints: Endpoints) -> None:
    called = {}
    for question in (MECHANISM, TRIALS, APPROVAL, TREATMENT):
        stream = research_stream(question, endpoints=endpoints, max_iterations=1, max_results=5)
        called[question] = tools_in([event async for event in stream], 1)

    assert called == {question: FIRST[question] for question in called}


async def test_a_model_is_offered_the_first_tools_alone_in_round_one() -> None:
    said = CreateResult(finish_reason="stop", content="-", usage=RequestUsage(1, 1), cached=False)
    client = scripted(said, said, said)
    agent = literature_agent(client)
    async with recorded() as transport:
        agent.join(RunContext(transport))
        await agent.on_messages([asked(MECHANISM)], CancellationToken())

    offered = [tool["name"] for tool in client.create_calls[0]["tools"]]
    assert "search_pubmed" in offered
    assert "search_europepmc" not in offered


async def test_a_specialist_whose_tools_come_later_listens_and_asks_nobody() -> None:
    client = scripted()
    agent = specialist_agent("trials", client)
    async with recorded() as transport:
        run = RunContext(transport)
        literature_agent(scripted()).join(run)
        agent.join(run)
        message = (await agent.on_messages([asked(MECHANISM)], CancellationToken())).chat_message

    assert client.create_calls == []
    assert message.content.later == {"search_clinicaltrials": "queries"}
    assert message.content.summary == "Nothing searched: left for later rounds"


async def test_sources_that_never_come_first_are_asked_if_there_are_no_others() -> None:
    stream = research_stream(MECHANISM, offline=True, depth="quick", max_iterations=1, sources=["europepmc"])
    events = [event async for event in stream]

    assert "search_europepmc" in tools_in(events, 1)
