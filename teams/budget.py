"""What a run may use up, and what it has: tokens and money, warned of at 80 %, ended at 100 %.

The hard stop makes the model unavailable: the judge then ends the search, and the baseline analyst writes the report
from what is there. Rounds and wall time are kept by the judge and by the run.
"""

from collections.abc import Callable, Mapping

from autogen_core.models import RequestUsage

from willowbark.agents.judge import BUDGET_RESERVE
from willowbark.tools.errors import WillowbarkError

from .config import Price

WARN_SHARE = 0.8
ROUND_TOKENS = 60_000  # of one round with full prompts: three specialists' searches and reflections, and the judge
REPORT_TOKENS = 45_000  # of the report's prompt, its draft and one repair


PRICES: Mapping[str, Price] = {
    # List prices without caching or batches as of mid-2025: https://openai.com/api/pricing ,
    # https://www.anthropic.com/pricing ; newer ones go into `[llm.prices]`.
    "baseline": Price(input=0, output=0),
    "openai/gpt-4.1": Price(input=2.0, output=8.0),
    "openai/gpt-4.1-mini": Price(input=0.4, output=1.6),
    "openai/gpt-4.1-nano": Price(input=0.1, output=0.4),
    "openai/gpt-4o": Price(input=2.5, output=10.0),
    "openai/gpt-4o-mini": Price(input=0.15, output=0.6),
    "anthropic/claude-opus-4-20250514": Price(input=15.0, output=75.0),
    "anthropic/claude-sonnet-4-20250514": Price(input=3.0, output=15.0),
    "anthropic/claude-3-5-haiku-20241022": Price(input=0.8, output=4.0),
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


class Budget:
    """Counts what a run's model calls use up.

    Args:
        price: of the model; None is not known, and money is not counted.
        max_tokens: of the whole run; None sets no limit.
        max_cost_usd: of the whole run; None sets no limit.
        warn: called once with a line, at 80 % of a limit.
        near_end: called at every call above 90 % of a limit, when what is left belongs to the report.

    Attributes:
        tokens: prompt and completion tokens so far.
    """

    def __init__(
        self,
        price: Price | None,
        *,
        max_tokens: int | None = None,
        max_cost_usd: float | None = None,
        warn: Callable[[str], None] = lambda _: None,
        near_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._price = price
        self._max_tokens = max_tokens
        self._max_cost_usd = max_cost_usd
        self._warn = warn
        self._near_end = near_end
        self._warned = False
        self.tokens = 0
        self._cost_usd = 0.0

    @property
    def spent_usd(self) -> float | None:
        """US dollars so far; None where the price is not known."""
        return None if self._price is None else self._cost_usd

    @property
    def share(self) -> float:
        """The part of the tightest limit that is used up; 0 without limits."""
        shares = [0.0]
        if self._max_tokens is not None:
            shares.append(self.tokens / self._max_tokens)
        if self._max_cost_usd is not None and self._price is not None:
            shares.append(self._cost_usd / self._max_cost_usd)
        return max(shares)

    @property
    def is_low(self) -> bool:
        """Whether what is left belongs to the report."""
        return self.share > 1 - BUDGET_RESERVE

    def cost_usd(self, usage: RequestUsage) -> float | None:
        """US dollars of one call; None where the price is not known."""
        if self._price is None:
            return None
        return (usage.prompt_tokens * self._price.input + usage.completion_tokens * self._price.output) / 1e6

    def check(self) -> None:
        """Let another call pass.

        Raises:
            BudgetExceeded: a limit is reached.
        """
        if self.share >= 1:
            raise BudgetExceeded(f"the run's budget is used up: {self}")

    def used(self, usage: RequestUsage) -> None:
        """Count one call."""
        self.tokens += usage.prompt_tokens + usage.completion_tokens
        self._cost_usd += self.cost_usd(usage) or 0.0
        if self.share >= WARN_SHARE and not self._warned:
            self._warned = True
            self._warn(f"{self.share:.0%} of the budget is used up: {self}")
        if self.is_low:
            self._near_end()

    def __str__(self) -> str:
        tokens = f"{self.tokens:,} tokens" + (f" of {self._max_tokens:,}" if self._max_tokens is not None else "")
        if self._price is None:
            return f"{tokens}, at a price that is not known"
        money = f"${self._cost_usd:.4f}" + (f" of ${self._max_cost_usd:g}" if self._max_cost_usd is not None else "")
        return f"{tokens}, {money}"


def estimate(model: str, max_iterations: int, own: Mapping[str, Price] | None = None) -> str:
    """One line on what a run may use at most.

    >>> estimate("openai/gpt-4.1-mini", 2)
    'up to about 165,000 tokens, $0.09'
    >>> estimate("openai/something-new", 2)
    'up to about 165,000 tokens, at a price that is not known'
    """
    tokens = ROUND_TOKENS * max_iterations + REPORT_TOKENS
    price = price_of(model, own)
    if price is None:
        return f"up to about {tokens:,} tokens, at a price that is not known"
    usage = RequestUsage(prompt_tokens=int(tokens * 0.9), completion_tokens=tokens - int(tokens * 0.9))
    return f"up to about {tokens:,} tokens, ${Budget(price).cost_usd(usage) or 0.0:.2f}"
