"""What a run's turns used up of its model, read from the ledger."""

from collections.abc import Sequence

from willowbark.agents.report.model import OTHER_CALLS, TurnUsage

from ..config import Settings
from ..ledger import Ledger, Run
from ..ledger.turns import Turn
from ..model_clients import BASELINE
from ..run.budget import account_of, price_of
from .runs_command import money

_ESTIMATED = "The baseline analyst costs nothing; its tokens are what a language model would have read and written."
_HEAD = ("agent", "round", "tokens in", "tokens out", "cost")


def costs_of(run: Run, turns: Sequence[Turn]) -> list[TurnUsage]:
    """What each turn used, in their order."""
    price = account_of(price_of(run.model, Settings.restored(run.settings).llm.prices))
    return [
        priced
        for turn in turns
        for priced in price(
            [
                TurnUsage(
                    agent=turn.source,
                    iteration=turn.iteration,
                    prompt_tokens=turn.prompt_tokens,
                    completion_tokens=turn.completion_tokens,
                )
            ]
        )
    ]


def costs_table(ledger: Ledger, run_id: str) -> str:
    """A table of what each turn, each agent and all together used; model calls that belong to no turn come last.

    Raises:
        LedgerError: no such run, or damaged content.
    """
    run, used = ledger.run(run_id), ledger.usage(run_id)
    turns = costs_of(run, ledger.journal(run_id).lived)
    rest = TurnUsage(
        agent=OTHER_CALLS,
        prompt_tokens=max(0, used.prompt_tokens - sum(turn.prompt_tokens for turn in turns)),
        completion_tokens=max(0, used.completion_tokens - sum(turn.completion_tokens for turn in turns)),
    )
    if rest.tokens:
        turns += account_of(price_of(run.model, Settings.restored(run.settings).llm.prices))([rest])
    turns.sort(key=lambda turn: (turn.iteration is None, turn.iteration or 0, turn.agent))
    rows: list[tuple[str, ...]] = [_HEAD]
    for agent in dict.fromkeys(turn.agent for turn in turns):
        own = [turn for turn in turns if turn.agent == agent]
        rows += [_row(agent, str(turn.iteration or "all"), [turn]) for turn in own]
        rows += [_row(agent, "all", own)] if len(own) > 1 else []
    table = "\n".join(_laid_out([*rows, _row("total", "all", turns)]))
    return f"{table}\n\n{_ESTIMATED}" if run.model == BASELINE else table


def _row(agent: str, iteration: str, turns: Sequence[TurnUsage]) -> tuple[str, ...]:
    costs = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
    counts = [sum(turn.prompt_tokens for turn in turns), sum(turn.completion_tokens for turn in turns)]
    return (
        agent,
        iteration,
        *(f"{count:,}" for count in counts),
        money(sum(costs) if len(costs) == len(turns) else None),
    )


def _laid_out(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
