"""Print or write results of a run: its report in other formats, one of its rounds, its costs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from willowbark.tools.enclosure import one_line
from willowbark.tools.errors import UsageError

from ..config import Settings
from ..exports import FORMATS, format_of, write
from ..ledger import Ledger, LedgerError, Run, Turn
from ..model_clients import BASELINE
from ..run.workspace import RunFolder
from .runs import find_report, format_cost, load_report
from .terminal import write_lines, write_out

if TYPE_CHECKING:
    from willowbark.agents.report.content import TurnUsage

    from ..run.budget import Prices


_UNKNOWN = "price not known"


def export_run(root: Path, run: str, formats: str, out: Path | None) -> None:
    """Write a run's report in other formats, joined by commas, into a folder (None: the run's own); print the paths.

    Raises:
        UsageError: no such run or format, a missing extra, or a folder that cannot be written to.
    """
    names = [name.strip().lower() for name in formats.split(",") if name.strip()]
    if not names:
        raise UsageError(f"--to names no format; choose from {', '.join(known.name for known in FORMATS)}")
    for name in names:
        format_of(name)
    run_id = find_report(root, run)
    report = load_report(root, run_id)
    written = write(report, out if out is not None else RunFolder.at(root, run_id).path, names)
    write_out("\n".join(map(str, written)))


def show_round(run_id: str, iteration: int) -> None:
    """Print each agent's contribution to a round, and its cost.

    Raises:
        LedgerError: no such run, or no such round in it.
    """
    with Ledger.existing() as ledger:
        run, turns = ledger.run(run_id), ledger.turns(run_id)
    chosen = [turn for turn in turns if turn.iteration == iteration]
    if not chosen:
        last = max((turn.iteration for turn in turns), default=0)
        raise LedgerError(f"run {run_id} has no round {iteration}; its last one is {last}")
    lines = [f"# {one_line(run.question)}", "", f"Run {run_id}, {run.status}; round {iteration} of {run.rounds}"]
    prices = _prices_of(run)
    for turn in chosen:
        usage = prices.account(_usage_of(turn))
        cost = format_cost([each.cost_usd for each in usage], digits=4, unknown=_UNKNOWN)
        lines += ["", f"## {turn.source} ({sum(each.tokens for each in usage):,} tokens, {cost})", ""]
        content = turn.message["content"]
        match turn.type:
            case "FindingsMessage":
                for reply in content["replies"]:
                    found = f"{reply['status']}, {len(reply['records'])} of {reply['total']}"
                    lines.append(f"- {one_line(reply['source'])} · {one_line(reply['query'])}: {found}")
                lines += ["", content["summary"]]
            case "AssessmentMessage":
                reason = f" ({content['stop_reason'].replace('_', ' ')})" if content["stop_reason"] else ""
                lines += [f"{content['recommendation']}{reason}, confidence {content['confidence']:.2f}", ""]
                lines += [f"- Gap: {one_line(gap)}" for gap in content["gaps"]]
            case "ApprovalMessage":
                lines += [f"decided by {content['decided_by']}: {len(content['accepted'])} accepted", ""]
                lines += [f"- Set aside: {one['name']}" for one in content["set_aside"]]
            case _:
                lines.append(one_line(content.get("title", turn.type)))
    write_lines("\n".join(lines).splitlines(), 2)


def show_costs(run_id: str) -> None:
    """Print the tokens and the cost of each turn of a run, of each agent, and of the run.

    Raises:
        LedgerError: no such run, or damaged content.
    """
    with Ledger.existing() as ledger:
        run, total = ledger.run(run_id), ledger.usage(run_id)
        used = [each for turn in ledger.turns(run_id) for each in _usage_of(turn)]
    turns = _prices_of(run).account(used, total)

    def row(agent: str, iteration: str, turns: "Sequence[TurnUsage]") -> tuple[str, ...]:
        prompt, answer = (sum(getattr(turn, f"{name}_tokens") for turn in turns) for name in ("prompt", "completion"))
        cost = format_cost([turn.cost_usd for turn in turns], digits=4, unknown=_UNKNOWN)
        return agent, iteration, f"{prompt:,}", f"{answer:,}", cost

    rows: list[tuple[str, ...]] = [("agent", "round", "tokens in", "tokens out", "cost")]
    for agent in dict.fromkeys(turn.agent for turn in turns):
        own = [turn for turn in turns if turn.agent == agent]
        rows += [row(agent, str(turn.iteration or "all"), [turn]) for turn in own]
        rows += [row(agent, "all", own)] if len(own) > 1 else []
    rows.append(row("total", "all", turns))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"# {one_line(run.question)}", "", f"Run {run_id}, {run.status}; model {one_line(run.model)}", ""]
    for first, *numbers in rows:
        cells = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    if run.model == BASELINE:
        lines += ["", "The baseline analyst is free of charge; its tokens are what a language model would have used."]
    write_lines(lines)


def _prices_of(run: Run) -> "Prices":
    from ..run.budget import Prices  # noqa: PLC0415  agents take most of a second

    return Prices.of_run(run.model, Settings.restored(run.settings).llm)


def _usage_of(turn: Turn) -> "list[TurnUsage]":
    """List the tokens of a turn, with those for reading publications separate."""
    from willowbark.agents.report.content import BATCHED, READING, TurnUsage  # noqa: PLC0415

    read, batched = (turn.message["content"].get(name, (0, 0)) for name in ("reading_tokens", "batch_tokens"))
    tokens = {turn.source: (turn.prompt_tokens - read[0], turn.completion_tokens - read[1])}
    alone = read[0] - batched[0], read[1] - batched[1]
    tokens |= {name: used for name, used in ((READING, alone), (BATCHED, batched)) if any(used)}
    return [
        TurnUsage(agent=agent, iteration=turn.iteration, prompt_tokens=prompt, completion_tokens=completion)
        for agent, (prompt, completion) in tokens.items()
    ]
