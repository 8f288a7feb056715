"""What a run may use up, and what it has: tokens, money and time, warned of at 80 %, ended at 100 %.

The hard stop makes the model unavailable: the judge then ends the search, and the baseline analyst writes the report
from what is there. When the time is up, the run is cancelled. Rounds are kept by the judge.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

from autogen_core import CancellationToken
from autogen_core.models import RequestUsage

from willowbark.agents.asking import add_usage
from willowbark.agents.asking.reader import prompts_for, to_read
from willowbark.agents.assessment import SHOWN_CANDIDATES, SHOWN_READINGS
from willowbark.agents.autogen import Kept
from willowbark.agents.judge import BUDGET_RESERVE
from willowbark.agents.report.content import KEPT, OTHER_CALLS, READING, ModelCalls, TurnUsage
from willowbark.tools.appraisal.candidates import studies
from willowbark.tools.errors import WillowbarkError
from willowbark.tools.evidence import merge
from willowbark.tools.questions import parse_question
from willowbark.tools.search import SourceReply

from ..config import LLMSettings, Price, RoleSettings

WARN_SHARE = 0.8
CENT_FRACTION = 1e-7  # US dollars: less is what adding in another order comes to
# Measured by benchmarks/estimates.py, prompts and answers:
CHOICE_TOKENS = 3_300  # of the first round's searches
BATCH_TOKENS = 1_400  # of instructions and schema, said once for each batch of publications
RECORD_TOKENS = 330  # of a publication, and of what is read in it
ROUND_TOKENS, SHOWN_TOKENS = 1_500, 58  # of the judge, and of each reading that is shown to it
REPORT_TOKENS, WRITTEN_TOKENS = 1_200, 135  # of the report with its second look, and of each of these readings
NEWS = 6  # publications that a later round brings where the first has read all hits of its searches


PRICES: Mapping[str, Price] = {
    # List prices, US dollars for a million tokens, without batches or priority; newer ones go into `[llm.prices]`. They
    # change, and a model that is not listed is counted in tokens alone. What is kept of prompts has its own price: with
    # Anthropic a tenth on reading and a quarter more on keeping it for five minutes, by its documentation; with OpenAI
    # a quarter for gpt-4.1-mini in those lists, taken for its sisters too, and half for the older gpt-4o.
    "baseline": Price(input=0, output=0),
    # OpenAI (https://developers.openai.com/api/docs/pricing): not read there, but the same in several public price
    # lists dated March to November 2026.
    "openai/gpt-4.1": Price(input=2.0, output=8.0, cached=0.5),
    "openai/gpt-4.1-mini": Price(input=0.4, output=1.6, cached=0.1),
    "openai/gpt-4.1-nano": Price(input=0.1, output=0.4, cached=0.025),
    "openai/gpt-4o": Price(input=2.5, output=10.0, cached=1.25),
    "openai/gpt-4o-mini": Price(input=0.15, output=0.6, cached=0.075),
    # Anthropic, from its own pages: the first three https://docs.anthropic.com/en/docs/about-claude/pricing as of late
    # 2025, the others https://platform.claude.com/docs/en/about-claude/pricing as of 2026.
    "anthropic/claude-opus-4-20250514": Price(input=15.0, output=75.0, cached=1.5, kept=18.75),
    "anthropic/claude-sonnet-4-20250514": Price(input=3.0, output=15.0, cached=0.3, kept=3.75),
    "anthropic/claude-3-5-haiku-20241022": Price(input=0.8, output=4.0, cached=0.08, kept=1.0),
    "anthropic/claude-opus-4-5": Price(input=5.0, output=25.0, cached=0.5, kept=6.25),
    "anthropic/claude-haiku-4-5": Price(input=1.0, output=5.0, cached=0.1, kept=1.25),
}
"""By the model's name in the settings. A model on one's own machine costs nothing: see `price_of`."""


class BudgetExceeded(WillowbarkError):
    """Nothing is left for another model call."""


def price_of(model: str, own: Mapping[str, Price] | None = None) -> Price | None:
    """A model's price; None where it is not known.

    >>> price_of("openai/gpt-4.1-mini").output
    1.6
    >>> price_of("openai/something-new") is None
    True
    """
    if own and model in own:
        return own[model]
    return Price(input=0, output=0) if model.startswith("ollama/") else PRICES.get(model)


@dataclass(frozen=True)
class Prices:
    """What a run's models cost: the main one, and those of roles."""

    main: Price | None
    """None is not known."""
    others: Mapping[str, Price | None] = field(default_factory=dict)
    """By name, of the models of roles."""
    roles: RoleSettings = field(default_factory=RoleSettings)

    def of(self, model: str | None) -> Price | None:
        """The price of a model by its name; None, and a name of no role, is the main one."""
        return self.others.get(model or "", self.main)

    def of_agent(self, agent: str) -> Price | None:
        """The price of the model that an agent speaks with, as accounts name it."""
        return self.of(self.roles.of(agent))

    @property
    def known(self) -> bool:
        """Whether all of them are."""
        return self.main is not None and None not in self.others.values()


def prices_of(model: str, llm: LLMSettings) -> Prices:
    """What the models of a run cost."""
    named = [name for name in llm.roles.model_dump().values() if name]
    return Prices(price_of(model, llm.prices), {name: price_of(name, llm.prices) for name in named}, llm.roles)


class Budget:
    """Counts what a run's model calls use up.

    Args:
        price: of the model, or of all of them; None is not known, and money is not counted.
        max_tokens: of the whole run; None sets no limit.
        max_cost_usd: of the whole run; None sets no limit.
        warn: called once with a line, at 80 % of a limit.
    """

    def __init__(
        self,
        price: Price | Prices | None,
        *,
        max_tokens: int | None = None,
        max_cost_usd: float | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._prices = price if isinstance(price, Prices) else Prices(price)
        self._max_tokens = max_tokens
        self._max_cost_usd = max_cost_usd
        self._warn = warn
        self._warned = False
        self._used = RequestUsage(prompt_tokens=0, completion_tokens=0)
        self._cost_usd = 0.0
        self.calls = ModelCalls()
        """How many calls there were, and how many of them failed."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens so far."""
        return self._used.prompt_tokens + self._used.completion_tokens

    @property
    def spent_usd(self) -> float | None:
        """US dollars so far; None where the price is not known."""
        return self._cost_usd if self._prices.known else None

    @property
    def share(self) -> float:
        """The part of the tightest limit that is used up; 0 without limits."""
        shares = [0.0]
        if self._max_tokens is not None:
            shares.append(self.tokens / self._max_tokens)
        if self._max_cost_usd is not None and self._prices.known:
            shares.append(self._cost_usd / self._max_cost_usd)
        return max(shares)

    @property
    def is_low(self) -> bool:
        """Whether what is left belongs to the report."""
        return self.share > 1 - BUDGET_RESERVE

    def cost_usd(self, usage: RequestUsage, model: str | None = None, kept: Kept | None = None) -> float | None:
        """US dollars of one call of a model, None the main one; None where its price is not known."""
        return _cost_usd(self._prices.of(model), usage.prompt_tokens, usage.completion_tokens, kept)

    def cost_of(self, turns: Sequence[TurnUsage]) -> float | None:
        """US dollars of turns; None where a price is not known."""
        costs = [turn.cost_usd for turn in account_of(self._prices)(turns)]
        return None if None in costs else sum(cost or 0.0 for cost in costs)

    def check(self) -> None:
        """Let another call pass.

        Raises:
            BudgetExceeded: a limit is reached.
        """
        if self.share >= 1:
            raise BudgetExceeded(f"the run's budget is used up: {self}")

    def used(self, usage: RequestUsage, model: str | None = None, kept: Kept | None = None) -> None:
        """Count one call that a model answered; None is the main one. What was kept of its prompt has its own price."""
        self.calls = self.calls.model_copy(update={"made": self.calls.made + 1})
        add_usage(self._used, usage)
        self._cost_usd += self.cost_usd(usage, model, kept) or 0.0
        if self.share >= WARN_SHARE and not self._warned:
            self._warned = True
            self._warn(f"{self.share:.0%} of the budget is used up: {self}")

    def failed(self, reason: str) -> None:
        """Count one call that was not; that the budget itself forbade it is no failure of the model's."""
        if reason != BudgetExceeded.__name__:
            made, failed = self.calls.made + 1, self.calls.failed + 1
            self.calls = ModelCalls(made=made, failed=failed, reason=reason)

    def account(self, turns: Sequence[TurnUsage]) -> list[TurnUsage]:
        """The turns with what they cost, by round and agent; what was used beside them, and saved, comes last."""
        told = account_of(self._prices)([*turns, *beside(turns, self._used)])
        return [*told, *saved(told, self.spent_usd)]

    def __str__(self) -> str:
        tokens = f"{self.tokens:,} tokens" + (f" of {self._max_tokens:,}" if self._max_tokens is not None else "")
        if not self._prices.known:
            return f"{tokens}, at a price that is not known"
        money = f"${self._cost_usd:.4f}" + (f" of ${self._max_cost_usd:g}" if self._max_cost_usd is not None else "")
        return f"{tokens}, {money}"


def beside(turns: Sequence[TurnUsage], total: RequestUsage) -> list[TurnUsage]:
    """What was used beside the turns, as one entry; empty where nothing was."""
    rest = {
        "prompt_tokens": max(0, total.prompt_tokens - sum(turn.prompt_tokens for turn in turns)),
        "completion_tokens": max(0, total.completion_tokens - sum(turn.completion_tokens for turn in turns)),
    }
    return [TurnUsage(agent=OTHER_CALLS, **rest)] if any(rest.values()) else []


def saved(turns: Sequence[TurnUsage], cost_usd: float | None) -> list[TurnUsage]:
    """What providers' caches took off the price of turns, as one entry; empty where nothing, or no price is known.

    Args:
        turns: all of a run, and what was used beside them.
        cost_usd: of the run.
    """
    costs = [turn.cost_usd for turn in turns]
    if cost_usd is None or None in costs:
        return []
    less = cost_usd - sum(cost or 0.0 for cost in costs)
    return [TurnUsage(agent=KEPT, cost_usd=less)] if abs(less) > CENT_FRACTION else []


def account_of(prices: Prices) -> Callable[[Sequence[TurnUsage]], list[TurnUsage]]:
    """What turns tokens into a report's account: by round and agent, with US dollars where the price is known."""

    def account(turns: Sequence[TurnUsage]) -> list[TurnUsage]:
        ordered = sorted(turns, key=lambda turn: (turn.iteration is None, turn.iteration or 0, turn.agent))
        return [
            turn.model_copy(
                update={"cost_usd": _cost_usd(prices.of_agent(turn.agent), turn.prompt_tokens, turn.completion_tokens)}
            )
            for turn in ordered
        ]

    return account


def _cost_usd(
    price: Price | None, prompt_tokens: int, completion_tokens: int, kept: Kept | None = None
) -> float | None:
    if price is None:
        return None
    whole = prompt_tokens * price.input + completion_tokens * price.output
    if kept is not None and price.cached is not None:
        whole -= kept.read * (price.input - price.cached)
    if kept is not None and price.kept is not None:
        whole -= kept.written * (price.input - price.kept)
    return whole / 1e6


def rounds_warning(iteration: int, most: int) -> list[str]:
    """A line once 80 % of the rounds are over, and another is still allowed; empty at any other time.

    >>> [rounds_warning(iteration, 5) for iteration in (3, 4, 5)]
    [[], ['4 of at most 5 rounds are used up'], []]
    """
    crossed = iteration - 1 < WARN_SHARE * most <= iteration < most
    return [f"{iteration} of at most {most} rounds are used up"] if crossed else []


class Haul(NamedTuple):
    """What a first round's searches bring, as far as it tells what a run takes."""

    publications: int
    """Those that tell of drugs, and are read."""
    unread: int
    """Hits beyond them that further rounds may read."""
    shown: int
    """Readings of the leading drugs, of which judge and report are told."""


SCARCE, COMMON = Haul(publications=9, unread=0, shown=14), Haul(publications=60, unread=0, shown=70)
"""Of questions on which little is found, and as much as on common diseases: nobody knows before which it is."""


def haul_of(question: str, replies: Sequence[SourceReply]) -> Haul:
    """What searches for publications brought."""
    asked = parse_question(question)
    records = merge(record for reply in replies for record in reply.records)
    named = Counter(drug for _, drugs in studies(records, asked) for drug in drugs)
    return Haul(
        publications=len(to_read(records, asked)),
        unread=max(0, max((reply.total for reply in replies), default=0) - len(records)),
        shown=sum(min(SHOWN_READINGS, number) for _, number in named.most_common(SHOWN_CANDIDATES)),
    )


def estimate(model: str, max_iterations: int, llm: LLMSettings, most_records: int, haul: Haul | None = None) -> str:
    """One line on what a run takes, if it takes all of its rounds: from little to much found where `haul` is None.

    >>> estimate("openai/gpt-4.1-mini", 2, LLMSettings(), 60)
    'up to about 19,000 to 56,000 tokens by what is found, $0.01 to $0.04'
    >>> estimate("openai/something-new", 2, LLMSettings(), 60, Haul(publications=9, unread=0, shown=20))
    'up to about 20,000 tokens, at a price that is not known'
    """
    hauls = (SCARCE, COMMON) if haul is None else (haul,)
    parts = [_reckoned(each, max_iterations, most_records) for each in hauls]
    tokens = " to ".join(f"{round(sum(each.values()), -3):,}" for each in parts)
    told = f"up to about {tokens} tokens{' by what is found' if haul is None else ''}"
    costs = [_cost_of(prices_of(model, llm), each) for each in parts]
    money = " to ".join(f"${cost:.2f}" for cost in costs if cost is not None)
    return f"{told}, {money}" if money else f"{told}, at a price that is not known"


def _reckoned(haul: Haul, max_iterations: int, most_records: int) -> dict[str, int]:
    """Tokens by agent."""
    first = min(haul.publications, most_records)
    rounds = max_iterations - 1
    later = min(max(haul.unread, rounds * NEWS), most_records - first, rounds * max(first, NEWS))
    return {
        READING: BATCH_TOKENS * (prompts_for(first) + prompts_for(later)) + RECORD_TOKENS * (first + later),
        "judge": (ROUND_TOKENS + SHOWN_TOKENS * haul.shown) * max_iterations,
        "report": REPORT_TOKENS + WRITTEN_TOKENS * haul.shown,
        "literature": CHOICE_TOKENS,
    }


def _cost_of(prices: Prices, tokens: Mapping[str, int]) -> float | None:
    turns = [
        TurnUsage(agent=agent, prompt_tokens=number * 4 // 5, completion_tokens=number - number * 4 // 5)
        for agent, number in tokens.items()
    ]
    return Budget(prices).cost_of(turns)


class Alarm:
    """Cancels a run when its time is used up, and remembers that it did.

    Args:
        token: of the run.
        warn: called once, when most of the time is used up.
        warn_share: the part of the limit that is used up then.

    Attributes:
        rang: whether the time was used up.
    """

    def __init__(self, token: CancellationToken, warn: Callable[[], None], warn_share: float) -> None:
        self._token = token
        self._warn = warn
        self._warn_share = warn_share
        self._timers: list[asyncio.TimerHandle] = []
        self._ends: float | None = None
        self._warns: float | None = None
        self.rang = False

    def set(self, seconds: float | None, limit: float | None) -> None:
        """Start the clock.

        Args:
            seconds: until it rings; None never rings.
            limit: of the whole run, earlier lives included; the warning comes at its share of that.
        """
        if seconds is None or limit is None:
            return
        now = monotonic()
        self._ends = now + seconds
        self._warns = self._ends - (1 - self._warn_share) * limit
        self._start()

    def clear(self) -> None:
        """Stop the clock for good."""
        self._stop()
        self._ends = self._warns = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock while this is open."""
        self._stop()
        since = monotonic()
        try:
            yield
        finally:
            waited = monotonic() - since
            if self._ends is not None:
                self._ends += waited
            if self._warns is not None:
                self._warns += waited
            self._start()

    def _start(self) -> None:
        loop, now = asyncio.get_running_loop(), monotonic()
        for when, what in ((self._warns, self._warn_once), (self._ends, self._ring)):
            if when is not None:
                self._timers.append(loop.call_later(max(0.0, when - now), what))

    def _stop(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _warn_once(self) -> None:
        self._warns = None
        self._warn()

    def _ring(self) -> None:
        self.rang = True
        self._token.cancel()
