"""What a run may use up: counted, warned of, ended, and said when a price is not known."""

import asyncio
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, CreateResult, RequestUsage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient
from builders import QUESTION, short_run
from faults.server import SourceServer

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.teams.budget import Budget, BudgetExceeded, Prices, find_price
from willowbark.teams.config import Price, Settings
from willowbark.teams.events import AgentEvent
from willowbark.teams.ledger import Ledger, Model
from willowbark.teams.ledger.model_calls import JournaledClient
from willowbark.teams.run.research import replay, research_stream
from willowbark.tools.http.endpoints import Endpoints

pytestmark = pytest.mark.whole

DEAR = Price(input=1_000_000, output=1_000_000)
"""A dollar a token."""


class Dear(ReplayChatCompletionClient):
    """The baseline's answers under another name, as from a model that costs money."""

    reads_requests = True

    def __init__(self) -> None:
        self._baseline = BaselineChatCompletionClient()
        super().__init__(["unused"], model_info=self._baseline.model_info)
        self.display_name = "dear"
        self.calls = 0

    async def create(self, *arguments: Any, **options: Any) -> CreateResult:
        self.calls += 1
        return await self._baseline.create(*arguments, **options)


def usage(tokens: int) -> RequestUsage:
    return RequestUsage(prompt_tokens=tokens, completion_tokens=0)


def settings(**changes: Any) -> Settings:
    return short_run(**{"research.judge_threshold": 1.0, "research.max_iterations": 3, **changes})


async def followed(
    sources: SourceServer, client: ChatCompletionClient, chosen: Settings, **more: Any
) -> list[AgentEvent]:
    stream = research_stream(
        QUESTION, settings=chosen, model_client=client, endpoints=Endpoints.at(sources.url), **more
    )
    return [event async for event in stream]


def test_a_warning_comes_once_at_80_percent() -> None:
    said: list[str] = []
    counting = Budget(max_tokens=100, warn=said.append)
    for _ in range(9):
        counting.used(usage(10))
    assert said == ["80% of the budget is used up: 80 tokens of 100, at a price that is not known"]
    Budget(Prices(find_price("unheard/of")), max_cost_usd=0.01).check()  # money limits nothing without a price
    assert find_price("openai/gpt-4o", {"openai/gpt-4o": DEAR}) == DEAR
    assert find_price("ollama/llama3.1") == Price(input=0, output=0)


@pytest.mark.parametrize("limits", [{"max_tokens": 10}, {"max_cost_usd": 10.0}], ids=["tokens", "money"])
def test_a_call_beyond_the_limit_is_refused(limits: dict[str, Any]) -> None:
    counting = Budget(Prices(DEAR), **limits)
    counting.used(usage(9))
    counting.check()
    counting.used(usage(1))
    with pytest.raises(BudgetExceeded):
        counting.check()


async def test_money_that_is_used_up_ends_the_search_and_still_gives_a_report(sources: SourceServer) -> None:
    chosen = settings(**{"llm.prices": {"dear": DEAR.model_dump()}, "research.limits.max_cost_usd": 3000.0})
    events = await followed(sources, Dear(), chosen)
    report = events[-1].data

    assert report.stop_reason == "token_budget_exceeded"
    assert report.search_iterations == 1
    assert report.references
    assert [event for event in events if "of the budget is used up" in event.message], events
    assert "dear: up to about" in events[1].message


async def test_a_budget_for_a_single_call_still_ends_in_a_report(sources: SourceServer) -> None:
    """The hard stop: the first calls use up everything, the baseline analyst does the rest."""
    client = Dear()
    report = (await followed(sources, client, settings(**{"research.limits.max_tokens": 50})))[-1].data

    assert report.stop_reason == "token_budget_exceeded"
    assert report.references
    assert "BudgetExceeded" in "\n".join(report.limitations)
    assert client.calls <= 3  # the specialists, side by side


async def test_the_account_adds_up_to_the_budget_by_agent_and_round(sources: SourceServer) -> None:
    chosen = settings(**{"llm.prices": {"dear": DEAR.model_dump()}, "research.max_iterations": 2})
    with Ledger(None) as ledger:
        report = (await followed(sources, Dear(), chosen, ledger=ledger, run_id="one"))[-1].data
        run, again = ledger.run("one"), await replay("one", ledger)

    assert {turn.agent for turn in report.usage} == {"literature", "trials", "mechanism", "judge", "report"}
    assert {turn.iteration for turn in report.usage} == {1, 2}
    assert sum(turn.tokens for turn in report.usage) == report.tokens_used == run.tokens
    assert sum(turn.cost_usd for turn in report.usage) == pytest.approx(run.cost_usd) == pytest.approx(run.tokens)
    assert again.usage == report.usage
    assert "| **total** | all |" in report.to_appendix()


async def test_without_a_price_the_account_says_tokens_only(sources: SourceServer) -> None:
    report = (await followed(sources, Dear(), settings()))[-1].data

    assert sum(turn.tokens for turn in report.usage) == report.tokens_used
    assert {turn.cost_usd for turn in report.usage} == {None}
    assert "The model's price is unknown: tokens only." in report.to_appendix()


async def test_counts_of_tokens_that_no_model_has_do_not_end_a_run() -> None:
    told = [RequestUsage(10**30, -5), RequestUsage(7, 10**30)]
    said = [CreateResult(finish_reason="stop", content="an answer", usage=each, cached=False) for each in told]
    with Ledger(None) as ledger, ledger.start("q", settings={}, model=Model("x", "x", {}), sandboxed=True) as journal:
        client = JournaledClient(ReplayChatCompletionClient(said), Budget(), journal, "scripted")
        for question in ("one", "two"):
            await client.create([UserMessage(content=question, source="user")])
        (run,) = ledger.runs()

    assert journal.failure is None
    assert run.model_calls == 2
    assert run.tokens == 2 * 10_000_000 + 7


async def test_a_stopped_run_asks_no_model_any_more() -> None:
    stop, model = CancellationToken(), ReplayChatCompletionClient(["an answer"])
    client = JournaledClient(model, Budget(), None, "scripted", stop)
    stop.cancel()

    with pytest.raises(asyncio.CancelledError):
        await client.create([UserMessage(content=QUESTION, source="user")])

    assert model.total_usage().prompt_tokens == 0
