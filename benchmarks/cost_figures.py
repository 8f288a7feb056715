"""Measure the figures of `docs/explanation/cost-and-time.md` and write them there: `make figures`.

    python -m benchmarks.cost_figures [tokens] [runs] [pace]     all of them by default

Each part stands between two marks of the page, with the day and the command that gave it. `tokens` counts the prompts
of a run (`benchmarks.prompt_tokens`), `runs` takes whole runs in fresh processes and `pace` one at the public sources'
pace (both `benchmarks.smoke`). Times depend on the machine and on what else it does; counts and memory do not.
"""

import argparse
import asyncio
import statistics
import textwrap
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import prompt_tokens, smoke
from benchmarks.marked import replace_part
from faults.server import SourceServer

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "cost-and-time.md"
RUNS = 3
WIDTH = 136  # of the page's lines
PURPOSES = {
    "StudiesDraft": "readings of publications, whole abstracts, and of trials that stopped or posted results",
    "choice of searches": "choice of searches, with a look at what came",
    "FitsDraft": "which studies are on what is asked",
    "JudgeDraft": "the judge's assessments",
    "WrittenDraft": "the written answer",
    "MendedDraft": "sentences written anew",
    "CheckDraft": "the check of each written sentence",
    "ReportDraft": "the report's claims",
    "others": "what specialists say of what was read",
}
"""What each kind of prompt is for, in the order of the table."""


def describe_tokens() -> str:
    """Write the tokens of a run's prompts, by what they are for."""
    client, report = asyncio.run(prompt_tokens.measure_run(prompt_tokens.ROUNDS, prompt_tokens.QUESTION))
    total = client.tokens.total()
    kinds = [*PURPOSES, *(kind for kind in client.tokens if kind not in PURPOSES)]
    rows = [(PURPOSES.get(kind, kind), client.tokens[kind], client.calls[kind]) for kind in kinds]
    cacheable = client.cacheable.total()
    reading_tokens = client.tokens["StudiesDraft"]
    cacheable_tokens = cacheable - client.cacheable["StudiesDraft"]
    lines = ["| purpose | prompts | tokens of prompts |", "|---|---|---|"]
    lines += [f"| {purpose} | {calls} | {tokens:,} |" for purpose, tokens, calls in rows if calls]
    lines += [f"| all | {client.calls.total()} | {total:,} |", ""]
    sentences = [
        f"The run had {report.search_iterations} rounds and read {report.total_papers_reviewed} records, in"
        f" {len(client.steps)} consecutive steps.",
        f"{percent(cacheable / total)} of all tokens repeat the beginning of an earlier prompt, which a provider's"
        " cache makes cheaper",
        f"({percent(client.cached / total)} if it keeps a prompt only once that is answered).",
        f"With `--batch` {percent(reading_tokens / total)} are at half the price,"
        f" and {percent((reading_tokens + cacheable_tokens) / total)} at half the price or cacheable.",
    ]
    paragraph = " ".join(sentences).replace(" %", "\u00a0%")  # else a line may begin with the sign
    lines += [line.replace("\u00a0", " ") for line in textwrap.wrap(paragraph, WIDTH)]
    lines += ["", f"(`python -m benchmarks.prompt_tokens`, {format_today()})"]
    return "\n".join(lines)


def describe_runs() -> str:
    """Write what whole runs take, each in a fresh process."""
    question = smoke.QUESTIONS[0]
    with SourceServer() as replies:
        online = [smoke.measure_whole_run(question, f"endpoints=Endpoints.at({replies.url!r})") for _ in range(RUNS)]
    offline = [smoke.measure_whole_run(question, "offline=True") for _ in range(RUNS)]
    first_s = statistics.median(smoke.time_first_event(question) for _ in range(RUNS))

    def middle(runs: list[dict[str, float]], name: str) -> float:
        return statistics.median(run[name] for run in runs)

    def describe(what: str, runs: list[dict[str, float]]) -> list[str]:
        counts = f"{middle(runs, 'records'):.0f} records, {middle(runs, 'rounds'):.0f} rounds"
        peak_mib = middle(runs, "peak_mb")
        return [
            f"| {what} ({counts}, {middle(runs, 'requests'):.0f} requests) | {middle(runs, 'cpu_s'):.1f} s of processor"
            f" time, {peak_mib:.0f} MiB of memory at its peak |"
        ]

    lines = ["| what | figure |", "|---|---|"]
    lines += describe("a run over the offline library", offline)
    lines += describe("a run over recorded replies of the sources", online)
    lines += [f"| the command line, until its first line of progress | {first_s:.1f} s |", ""]
    lines += [f"(`make bench-smoke`, medians of {RUNS}, {format_today()})"]
    return "\n".join(lines)


def describe_pace() -> str:
    """Write what a run takes at the public sources' pace."""
    with smoke.serve_paced(1.0) as url:
        run = smoke.rehearse(smoke.QUESTIONS[0], "standard", url, 1.0)
    return "\n".join(
        [
            "| at the public sources' pace and limits | figure |",
            "|---|---|",
            f"| {run.records} records, {run.rounds} rounds, {run.requests.total()} requests | {run.wall_s:.0f} s, of"
            f" which {run.own_s:.0f} s are processor time; no order of the same requests takes less than"
            f" {run.bound_s:.0f} s |",
            f"| the event loop's longest step | {run.longest_step_s * 1000:.0f} ms of processor time |",
            "",
            f"(`make rehearse`, {format_today()})",
        ]
    )


def percent(share: float) -> str:
    """Write a share as the pages do.

    >>> percent(0.214)
    '21 %'
    """
    return f"{100 * share:.0f} %"


def format_today() -> str:
    """Return the day in words."""
    return f"{datetime.now(UTC):%d %B %Y}".lstrip("0")


PARTS: Mapping[str, Callable[[], str]] = {"tokens": describe_tokens, "runs": describe_runs, "pace": describe_pace}


def main() -> None:
    """Measure the parts asked for and write each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    options = parser.parse_args()
    for name in options.parts or PARTS:
        if name not in PARTS:
            parser.error(f"there is no part {name!r}, but {', '.join(PARTS)}")
    for name in options.parts or PARTS:
        text = PARTS[name]()
        PAGE.write_text(replace_part(PAGE.read_text(encoding="utf-8"), f"figures:{name}", text), encoding="utf-8")
        print(text, flush=True)


if __name__ == "__main__":
    main()
