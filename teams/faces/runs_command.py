"""The ledger from the command line: what is unfinished, each turn of a run and its cost, diff, forget."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from willowbark.tools.enclosure import one_line

from ..config import Settings
from ..ledger import DEFAULT_PATH, Ledger, LedgerError, Run, Turn
from ..model_clients import BASELINE
from .export_command import LATEST, UNFINISHED, meant
from .terminal import write_lines, write_out

if TYPE_CHECKING:
    from willowbark.agents.report.content import TurnUsage

_ESTIMATED = "The baseline analyst costs nothing; its tokens are what a language model would have read and written."
_HEAD = ("agent", "round", "tokens in", "tokens out", "cost")


def found(run: str, path: Path = DEFAULT_PATH, *, unfinished: bool = False) -> str:
    """The id of a run of the ledger, by its id, its beginning, or `last`.

    Args:
        run: as somebody typed it.
        path: the ledger.
        unfinished: whether `last` is the last one that is not complete, where there is one.

    Raises:
        LedgerError: no ledger.
        UsageError: several runs begin so.
    """
    with Ledger.existing(path) as ledger:
        try:
            runs = ledger.runs()
        except LedgerError:
            if run == LATEST:
                raise
            return run  # a damaged row somewhere keeps nobody from the run that they name
    open_ones = [each.run_id for each in runs if unfinished and each.status in UNFINISHED]
    return meant(run, [*open_ones, *(each.run_id for each in runs)])


def show_turns(run_id: str, iteration: int, path: Path = DEFAULT_PATH) -> None:
    """Print what each speaker of a round handed over, and what it cost.

    Raises:
        LedgerError: no such run, or no such round in it.
    """
    with Ledger.existing(path) as ledger:
        run, turns = ledger.run(run_id), ledger.turns(run_id)
    chosen = [turn for turn in turns if turn.iteration == iteration]
    if not chosen:
        last = max((turn.iteration for turn in turns), default=0)
        raise LedgerError(f"run {run_id} has no round {iteration}; its last one is {last}")
    lines = [f"# {one_line(run.question)}", "", f"Run {run_id}, {run.status}; round {iteration} of {run.rounds}"]
    account = _account_of(run)
    for turn in chosen:
        costs = account(_usage_of(turn))
        known = None not in [each.cost_usd for each in costs]
        cost = sum(each.cost_usd or 0.0 for each in costs) if known else None
        tokens = f"{sum(each.tokens for each in costs):,} tokens, {money(cost)}"
        lines += ["", f"## {turn.source} ({tokens})", "", *_told(turn.type, turn.message["content"])]
    write_lines("\n".join(lines).splitlines(), 2)


def show_costs(run_id: str, path: Path = DEFAULT_PATH) -> None:
    """Print what each turn of a run used up of its model, each agent, and all together.

    Raises:
        LedgerError: no such run, or damaged content.
    """
    from ..run.budget import beside, saved  # noqa: PLC0415  agents take most of a second

    with Ledger.existing(path) as ledger:
        run, total = ledger.run(run_id), ledger.usage(run_id)
        used = [each for turn in ledger.turns(run_id) for each in _usage_of(turn)]
    turns = _account_of(run)([*used, *beside(used, total)])
    turns = [*turns, *saved(turns, run.cost_usd)]
    rows: list[tuple[str, ...]] = [_HEAD]
    for agent in dict.fromkeys(turn.agent for turn in turns):
        own = [turn for turn in turns if turn.agent == agent]
        rows += [_row(agent, str(turn.iteration or "all"), [turn]) for turn in own]
        rows += [_row(agent, "all", own)] if len(own) > 1 else []
    table = "\n".join(_laid_out([*rows, _row("total", "all", turns)]))
    note = f"\n\n{_ESTIMATED}" if run.model == BASELINE else ""
    head = f"# {one_line(run.question)}\n\nRun {run_id}, {run.status}; model {one_line(run.model)}\n\n{table}{note}"
    write_lines(head.splitlines())


def forget_run(run_id: str, path: Path = DEFAULT_PATH) -> None:
    """Remove a run from the ledger; its run folder stays.

    Raises:
        LedgerError: no such run, or a process is working on it.
    """
    with Ledger.existing(path) as ledger:
        ledger.forget(run_id)
    write_out(f"Forgotten: {run_id}. Its run folder, if there is one, was left as it is.")


def diff_runs(earlier: str, later: str | None, path: Path = DEFAULT_PATH) -> None:
    """Print which evidence is new, gone or changed from one run to another, and which verdicts moved."""
    write_lines(compared(earlier, later, path), 2)


def compared(earlier: str, later: str | None, path: Path = DEFAULT_PATH) -> list[str]:
    """What changed from one run to another, one line each.

    Args:
        earlier: a run.
        later: another; None takes the latest other one of the same question, and the earlier of both first.
        path: the ledger.

    Raises:
        LedgerError: no such run, one without a report, or none to compare with.
    """
    pair = [found(earlier, path)] if later is None else [found(earlier, path), found(later, path)]
    with Ledger.existing(path) as ledger:
        if later is None:
            pair = _with_another(ledger, pair[0])
        reports = [ledger.report(run_id) for run_id in pair]
    for run_id, report in zip(pair, reports, strict=True):
        if report is None:
            raise LedgerError(f"run {run_id} has no report; bring it to one with `willowbark resume {run_id}`")
    first, second = reports
    assert first is not None
    assert second is not None
    return differences(first, second)


def _with_another(ledger: Ledger, run_id: str) -> list[str]:
    """A run and the latest other complete one of its question, the earlier first."""
    asked, runs = ledger.run(run_id).question, ledger.runs()
    alike = [r.run_id for r in runs if r.question == asked and r.status == "complete" and r.run_id != run_id]
    if not alike:
        raise LedgerError(f"no other run asked “{one_line(asked)}”; ask it again with --fresh, or name a second run")
    pair = {run_id, alike[0]}
    return [each.run_id for each in reversed(runs) if each.run_id in pair]


def differences(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> list[str]:
    """What changed between two reports, one line each; they are given as JSON content."""
    lines = [f"Question: {one_line(later['research_question'])}"]
    if earlier["research_question"] != later["research_question"]:
        lines.append(f"The earlier run asked: {one_line(earlier['research_question'])}")
    before, after = ({c["name"]: c for c in report["candidates"]} for report in (earlier, later))
    for name in sorted(before.keys() | after.keys()):
        was, now = (_verdict(found.get(name)) for found in (before, after))
        if was != now:
            lines.append(f"Verdict: {name}: {was} → {now}")
    old, new = _evidence(earlier), _evidence(later)
    for key in sorted(old.keys() | new.keys()):
        if key not in old:
            lines.append(f"New: {key}: {new[key][0]}")
        elif key not in new:
            lines.append(f"Gone: {key}: {old[key][0]}")
        elif old[key] != new[key]:
            lines.append(f"Changed: {key}: {new[key][0]}")
    return lines if len(lines) > 1 else [*lines, "Nothing moved: same evidence, same verdicts."]


def without_clock(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report without its clock fields: when it was made, and when each search was asked."""
    log = [{name: value for name, value in entry.items() if name != "asked_at"} for entry in report["search_log"]]
    return {**report, "generated_at": None, "search_log": log}


def _verdict(candidate: Mapping[str, Any] | None) -> str:
    return f"{candidate['evidence_quality']} ({candidate['certainty']})" if candidate else "not a candidate"


def _evidence(report: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """By record key: its title, and all else that the report knows of it."""
    found: dict[str, tuple[str, Any]] = {}
    for row in report["references"]:
        found[row["key"]] = (one_line(row["title"]), [{k: v for k, v in row.items() if k != "number"}])
    for row in [*report["evidence_table"], *report["trials"]]:
        found.setdefault(row["key"], (one_line(row["title"]), []))[1].append(row)
    return found


def money(cost_usd: float | None) -> str:
    """US dollars for people.

    >>> money(0.01234), money(None)
    ('$0.0123', 'price not known')
    """
    return "price not known" if cost_usd is None else f"${cost_usd:.4f}"


def _told(kind: str, content: Mapping[str, Any]) -> list[str]:
    """A turn's content in a few lines."""
    if kind == "FindingsMessage":
        searches = [
            f"- {one_line(reply['source'])} · {one_line(reply['query'])}: {reply['status']}, "
            f"{len(reply['records'])} of {reply['total']}"
            for reply in content["replies"]
        ]
        return [*searches, "", content["summary"]]
    if kind == "AssessmentMessage":
        asked = [f"- Gap: {one_line(gap)}" for gap in content["gaps"]]
        reason = f" ({content['stop_reason'].replace('_', ' ')})" if content["stop_reason"] else ""
        return [f"{content['recommendation']}{reason}, confidence {content['confidence']:.2f}", "", *asked]
    if kind == "ApprovalMessage":
        aside = [f"- Set aside: {one['name']}" for one in content["set_aside"]]
        return [f"decided by {content['decided_by']}: {len(content['accepted'])} accepted", "", *aside]
    return [one_line(content.get("title", kind))]


def _account_of(run: Run) -> "Callable[[Sequence[TurnUsage]], list[TurnUsage]]":
    """What puts a price on turns of a run."""
    from ..run.budget import account_of, prices_of  # noqa: PLC0415  agents take most of a second

    return account_of(prices_of(run.model, Settings.restored(run.settings).llm))


def _usage_of(turn: Turn) -> "list[TurnUsage]":
    """What a turn used up, what it had read apart."""
    from willowbark.agents.report.content import READING, TurnUsage  # noqa: PLC0415

    read = turn.message["content"].get("reading_tokens", (0, 0))
    tokens = {
        turn.source: (turn.prompt_tokens - read[0], turn.completion_tokens - read[1]),
        **({READING: read} if any(read) else {}),
    }
    return [
        TurnUsage(agent=agent, iteration=turn.iteration, prompt_tokens=asked, completion_tokens=said)
        for agent, (asked, said) in tokens.items()
    ]


def _row(agent: str, iteration: str, turns: "Sequence[TurnUsage]") -> tuple[str, ...]:
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
