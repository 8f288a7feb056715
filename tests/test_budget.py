"""What a run may use up: counted, warned of, ended, and said when a price is not known."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from autogen_core.models import CreateResult, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from builders import QUESTION

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.teams.budget import Budget, BudgetExceeded, price_of
from willowbark.teams.config import Price, Settings
from willowbark.teams.events import AgentEvent
from willowbark.teams.ledger import Ledger
from willowbark.teams.resume import replay
from willowbark.teams.run import research_stream
from willowbark.tools.endpoints import Endpoints
from willowbark.tools.sandbox.server import SandboxServer

DEAR = Price(input=1_000_000, output=1_000_000)
"""A dollar a token."""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxServer]:
    with SandboxServer() as server:
        yield server


class Dear(ReplayChatCompletionClient):
    """The baseline's answers under another name, as from a model that costs money."""

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
    quick = {"research.max_results_per_tool": 5, "research.judge_threshold": 1.0, "research.max_iterations": 3}
    return Settings().overridden({**quick, **changes})


async def followed(sandbox: SandboxServer, client: Dear, chosen: Settings, **more: Any) -> list[AgentEvent]:
    stream = research_stream(
        QUESTION, settings=chosen, model_client=client, endpoints=Endpoints.sandbox(sandbox.url), **more
    )
    return [event async for event in stream]


def test_a_warning_comes_once_at_80_percent() -> None:
    said: list[str] = []
    counting = Budget(None, max_tokens=100, warn=said.append)
    for _ in range(9):
        counting.used(usage(10))
    assert said == ["80% of the budget is used up: 80 tokens of 100, at a price that is not known"]


@pytest.mark.parametrize("limits", [{"max_tokens": 10}, {"max_cost_usd": 10.0}], ids=["tokens", "money"])
def test_a_call_beyond_the_limit_is_refused(limits: dict[str, Any]) -> None:
    counting = Budget(DEAR, **limits)
    counting.used(usage(9))
    counting.check()
    counting.used(usage(1))
    with pytest.raises(BudgetExceeded):
        counting.check()


def test_without_a_price_money_limits_nothing() -> None:
    counting = Budget(None, max_cost_usd=0.01)
    counting.used(usage(10_000_000))
    counting.check()
    assert counting.spent_usd is None


def test_own_prices_win_and_ones_own_machine_is_free() -> None:
    assert price_of("openai/gpt-4o", {"openai/gpt-4o": DEAR}) == DEAR
    assert price_of("ollama/llama3.1") == Price(input=0, output=0)


async def test_money_that_is_used_up_ends_the_search_and_still_gives_a_report(sandbox: SandboxServer) -> None:
    chosen = settings(**{"llm.prices": {"dear": DEAR.model_dump()}, "research.limits.max_cost_usd": 9000.0})
    events = await followed(sandbox, Dear(), chosen)
    report = events[-1].data

    assert report.stop_reason == "token_budget_exceeded"
    assert report.search_iterations == 1
    assert report.references
    assert any("of the budget is used up" in event.message for event in events)
    assert "dear: up to about" in events[1].message


async def test_a_budget_is_not_reset_by_a_replay(sandbox: SandboxServer) -> None:
    chosen = settings(**{"research.limits.max_tokens": 9000})
    client = Dear()
    with Ledger(None) as ledger:
        events = await followed(sandbox, client, chosen, ledger=ledger, run_id="one")
        calls = client.calls
        again = await replay("one", ledger)

    assert client.calls == calls
    first = json.loads(events[-1].data.to_json())
    assert json.loads(again.to_json())["limitations"] == first["limitations"]
    assert again.tokens_used == first["tokens_used"]
