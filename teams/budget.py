"""Budgets of a run: tokens, money and time, with a warning at 80 % and a stop at 100 %.

The stop makes the model unavailable: the judge then ends the search, and the baseline analyst writes the report from
what was found. When time is up, the run is cancelled. The judge limits the rounds.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from willowbark.agents.asking import add_usage
from willowbark.agents.asking.reader import BATCH
from willowbark.agents.autogen import RequestUsage
from willowbark.agents.context import MOST_TEXTS
from willowbark.agents.report.content import BATCHED, BATCHED_TEXTS, OTHER_CALLS, READING, TEXTS, ModelCalls, TurnUsage
from willowbark.tools.errors import WillowbarkError

from .config import LLMSettings, Price, RoleSettings

WARN_SHARE = 0.8
HANGING_SHARE = 0.5  # of a run's time: a call that waited for longer when the time was up has failed
BATCH_SHARE = 0.5  # of the list price, for tokens in a batch: both providers charge half
# Of a run on a common disease, measured by benchmarks/prompt_tokens.py, prompts and answers:
PUBLICATIONS = 60
NEWS = 6  # found and read in the first round, and added by each later round
BATCH_TOKENS = 1_500  # of instructions and schema, sent once for each batch of publications
RECORD_TOKENS = 860  # of a publication, and of what is extracted from it
CHOICE_TOKENS = 14_000
JUDGE_TOKENS = 6_900  # of a round: its searches, what came and was read of them, its verdict
REPORT_TOKENS = 26_000  # the answer, its check and its mending, in the recorded runs
TEXT_TOKENS = 10_000  # of a full text that is shown whole: two real ones of 25 and 49 thousand characters took 6 and 12


PRICES: Mapping[str, Price] = {
    # List prices, US dollars for a million tokens, without batches or priority; `[llm.prices]` overrides them. They
    # change; for a model that is not listed only tokens are counted. Providers charge less for cached prompts, and
    # Anthropic a quarter more for caching them: here every token counts at its list price.
    "baseline": Price(input=0, output=0),
    # OpenAI (https://developers.openai.com/api/docs/pricing): not verified there, but identical in several public
    # price lists dated March to November 2026.
    "openai/gpt-4.1": Price(input=2.0, output=8.0),
    "openai/gpt-4.1-mini": Price(input=0.4, output=1.6),
    "openai/gpt-4.1-nano": Price(input=0.1, output=0.4),
    "openai/gpt-4o": Price(input=2.5, output=10.0),
    "openai/gpt-4o-mini": Price(input=0.15, output=0.6),
    # Anthropic, from its own pages: the first three https://docs.anthropic.com/en/docs/about-claude/pricing as of late
    # 2025, the others https://platform.claude.com/docs/en/about-claude/pricing as of 2026.
    "anthropic/claude-opus-4-20250514": Price(input=15.0, output=75.0),
    "anthropic/claude-sonnet-4-20250514": Price(input=3.0, output=15.0),
    "anthropic/claude-3-5-haiku-20241022": Price(input=0.8, output=4.0),
    "anthropic/claude-opus-4-5": Price(input=5.0, output=25.0),
    "anthropic/claude-haiku-4-5": Price(input=1.0, output=5.0),
}
"""By the model's name in the settings. A model on the user's own machine costs nothing: see `find_price`."""


class BudgetExceeded(WillowbarkError):
    """The budget allows no further model call."""


def find_price(model: str, own: Mapping[str, Price] | None = None) -> Price | None:
    """Return a model's price; None if unknown."""
    if own and model in own:
        return own[model]
    return Price(input=0, output=0) if model.startswith("ollama/") else PRICES.get(model)


@dataclass(frozen=True)
class Prices:
    """Prices of a run's models: the main one, and those of roles."""

    main: Price | None
    """None if unknown."""
    others: Mapping[str, Price | None] = field(default_factory=dict)
    """Prices of the models of roles, by model name."""
    roles: RoleSettings = field(default_factory=RoleSettings)

    @classmethod
    def of_run(cls, model: str, llm: LLMSettings) -> Self:
        """Look up the prices of a run's models: the main one and those that the settings name for roles."""
        names = [name for name in llm.roles.model_dump().values() if name]
        return cls(find_price(model, llm.prices), {name: find_price(name, llm.prices) for name in names}, llm.roles)

    @property
    def known(self) -> bool:
        """Whether all prices are known."""
        return self.main is not None and None not in self.others.values()

    def cost_usd(self, usage: RequestUsage, model: str | None = None, *, in_batch: bool = False) -> float | None:
        """Return the US dollars of a model's calls; None if its price is unknown. No `model` is the main one."""
        price = self.others.get(model or "", self.main)
        if price is None:
            return None
        full = (usage.prompt_tokens * price.input + usage.completion_tokens * price.output) / 1e6
        return full * BATCH_SHARE if in_batch else full

    def cost_of(self, turns: Sequence[TurnUsage]) -> float | None:
        """Return the cost of turns in US dollars; None if a price is unknown."""
        costs = [turn.cost_usd for turn in self.account(turns)]
        return None if None in costs else sum(cost or 0.0 for cost in costs)

    def account(self, turns: Sequence[TurnUsage]) -> list[TurnUsage]:
        """Return the turns by round and agent, with US dollars where the price is known."""
        priced = []
        for turn in sorted(turns, key=lambda turn: (turn.iteration is None, turn.iteration or 0, turn.agent)):
            usage = RequestUsage(turn.prompt_tokens, turn.completion_tokens)
            cost = self.cost_usd(usage, self.roles.of(turn.agent), in_batch=turn.agent in (BATCHED, BATCHED_TEXTS))
            priced.append(turn.model_copy(update={"cost_usd": cost}))
        return priced


@dataclass(eq=False)
class Budget:
    """Counts the tokens and the cost of a run's model calls."""

    prices: Prices = Prices(None)
    """Money is counted where they are known."""
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    warn: Callable[[str], None] = lambda _: None
    """Called once with a message, at 80 % of a limit."""
    calls: ModelCalls = field(default_factory=ModelCalls)
    """Numbers of all calls and of failed ones."""

    def __post_init__(self) -> None:
        self._used = RequestUsage(prompt_tokens=0, completion_tokens=0)
        self._cost_usd = 0.0
        self._warned = False
        self._under_way: list[float] = []

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens so far."""
        return self._used.prompt_tokens + self._used.completion_tokens

    @property
    def share(self) -> float:
        """Used fraction of the tightest limit; 0 without limits."""
        shares = [0.0]
        if self.max_tokens is not None:
            shares.append(self.tokens / self.max_tokens)
        if self.max_cost_usd is not None and self.prices.known:
            shares.append(self._cost_usd / self.max_cost_usd)
        return max(shares)

    def check(self) -> None:
        """Raise BudgetExceeded if a limit is reached."""
        if self.share >= 1:
            raise BudgetExceeded(f"the run's budget is used up: {self}")

    def used(self, usage: RequestUsage, model: str | None = None, *, in_batch: bool = False) -> None:
        """Count one answered call; arguments as in `Prices.cost_usd`."""
        self.calls = self.calls.model_copy(update={"made": self.calls.made + 1})
        add_usage(self._used, usage)
        self._cost_usd += self.prices.cost_usd(usage, model, in_batch=in_batch) or 0.0
        if self.share >= WARN_SHARE and not self._warned:
            self._warned = True
            self.warn(f"{self.share:.0%} of the budget is used up: {self}")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Note that a call is under way for as long as this context is open."""
        began = time.monotonic()
        self._under_way.append(began)
        try:
            yield
        finally:
            if began in self._under_way:
                self._under_way.remove(began)

    def end_waiting(self, elapsed_s: float) -> None:
        """Count a call as failed that has waited for most of a run whose time is up: its server hangs."""
        if not self._under_way:
            return
        waited_s = time.monotonic() - min(self._under_way)
        if waited_s >= HANGING_SHARE * elapsed_s:
            self._under_way.clear()
            self.failed(f"no answer within {waited_s:.0f} s, when the run's time was up")

    def failed(self, reason: str) -> None:
        """Count one unanswered call; one that the budget refused is not counted as the model's failure."""
        if reason != BudgetExceeded.__name__:
            call_count = self.calls.made + 1
            failed = self.calls.failed + 1
            self.calls = ModelCalls(made=call_count, failed=failed, reason=reason)

    def account(self, turns: Sequence[TurnUsage]) -> list[TurnUsage]:
        """Return the turns with their costs, and usage outside of turns as an entry of its own."""
        other_usage = TurnUsage(
            agent=OTHER_CALLS,
            prompt_tokens=max(0, self._used.prompt_tokens - sum(turn.prompt_tokens for turn in turns)),
            completion_tokens=max(0, self._used.completion_tokens - sum(turn.completion_tokens for turn in turns)),
        )
        return self.prices.account([*turns, other_usage] if other_usage.tokens else turns)

    def __str__(self) -> str:
        tokens = f"{self.tokens:,} tokens" + (f" of {self.max_tokens:,}" if self.max_tokens is not None else "")
        if not self.prices.known:
            return f"{tokens}, at a price that is not known"
        money = f"${self._cost_usd:.4f}" + (f" of ${self.max_cost_usd:g}" if self.max_cost_usd is not None else "")
        return f"{tokens}, {money}"


def estimate(model: str, max_iterations: int, llm: LLMSettings, most_records: int) -> str:
    """Estimate in one line the cost of a run on a common disease that uses all its rounds; a rare one needs less.

    >>> estimate("openai/gpt-4.1-mini", 2, LLMSettings(), 60)
    'up to about 184,000 tokens, $0.12'
    >>> estimate("openai/something-new", 2, LLMSettings(), 60)
    'up to about 184,000 tokens, at a price that is not known'
    """
    publications = min(PUBLICATIONS + NEWS * (max_iterations - 1), most_records)
    tokens = {
        BATCHED_TEXTS if llm.batch else TEXTS: 0 if llm.economy else TEXT_TOKENS * MOST_TEXTS,
        BATCHED if llm.batch else READING: BATCH_TOKENS * -(-publications // BATCH) + RECORD_TOKENS * publications,
        "judge": JUDGE_TOKENS * max_iterations,
        "report": REPORT_TOKENS,
        "literature": CHOICE_TOKENS * max_iterations,
    }
    turns = [
        TurnUsage(agent=agent, prompt_tokens=number * 4 // 5, completion_tokens=number - number * 4 // 5)
        for agent, number in tokens.items()
    ]
    cost = Prices.of_run(model, llm).cost_of(turns)
    money = "at a price that is not known" if cost is None else f"${cost:.2f}"
    return f"up to about {round(sum(tokens.values()), -3):,} tokens, {money}"
