"""What people who work with Willowbark meet, in figures: `make bench-people ARGS="--shelf FOLDER --write"`.

It asks the five questions of the bundled library, corrects a row by command and on the page (where Playwright and a
Chromium are), asks the MCP server five questions and one of them six times, and reads the user files in FOLDER. With
`--write` the table goes into `docs/explanation/benchmarks.md`. Seconds depend on the machine and what else it does.
"""

import argparse
import asyncio
import importlib.util
import inspect
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.marked import replace_part
from benchmarks.screenshots import browser_path
from benchmarks.truth import QUESTIONS

import willowbark
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.faces.mcp import Server
from willowbark.teams.ledger import DEFAULT_PATH, Ledger
from willowbark.teams.run.research import research
from willowbark.tools.errors import WillowbarkError
from willowbark.tools.files import FileRecord, read_records
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import open_library

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "benchmarks.md"
DEMO = "Which existing drugs could prevent migraine attacks?"
HEAD = "| figure | due | measured |\n|---|---|---|\n"
REPEATS = 6
RUN_MS = 300_000

MISSPELT: Mapping[str, Callable[[], object]] = {
    "ask": lambda: willowbark.ask(DEMO, ofline=True),  # type: ignore[call-arg]
    "research": lambda: asyncio.run(research(DEMO, libary="x")),  # type: ignore[call-arg]
    "Team": lambda: willowbark.Team(max_turn=3),  # type: ignore[call-arg]
    "RunOptions": lambda: willowbark.RunOptions(question=DEMO, depht="quick"),  # type: ignore[call-arg]
}
"""Calls with an option that does not exist."""


class Figure(NamedTuple):
    """A row of the table."""

    name: str
    due: str
    measured: str


def run_willowbark(*arguments: str, folder: Path) -> str:
    """Run a command as its user does; return its seconds, those of a processor included.

    Raises:
        SystemExit: it failed.
    """
    began = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "willowbark", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise SystemExit(f"willowbark {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{time.monotonic() - began:.1f} s ({worked:.1f} s of a processor)"


def measure_command(folder: Path) -> Figure:
    """Correct a row of a run by one command."""
    with Ledger(folder / DEFAULT_PATH) as ledger:
        report = asyncio.run(research(DEMO, offline=True, ledger=ledger))
    leader = report.candidates[0]
    record = leader.supporting_citations[0]
    seconds = run_willowbark(
        "correct", "last", record, "--drug", leader.name, "--says", "contradicts", "--by", "Anna", folder=folder
    )
    return Figure("from a wrong row to a mended report, by command", "1 command", f"1 command, {seconds}")


@contextmanager
def serve_page(folder: Path) -> Iterator[str]:
    """Serve the page over the bundled library; yields its address, token included."""
    command = [sys.executable, "-m", "willowbark", "serve", "--offline", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as served:  # noqa: S603
        assert served.stderr is not None
        yield served.stderr.readline().split()[2]
        served.terminate()


def measure_page(folder: Path) -> Figure:
    """Correct a row on the page: seconds from the first click to what moved, in a headless Chromium."""
    name = "from a wrong row to a mended report, on the page"
    due = "10 s, 3 clicks"
    if importlib.util.find_spec("playwright") is None:
        return Figure(name, due, "not measured: Playwright is not installed")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  for developers alone

    with sync_playwright() as browsers, serve_page(folder) as address:
        browser = browsers.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        page.get_by_role("textbox").first.fill(DEMO)
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".report").wait_for(timeout=RUN_MS)
        began = time.monotonic()
        page.get_by_role("link", name="Workbench").first.click()
        row = page.locator('#study-table tr[data-row][data-says="supports"]').first
        row.locator("[data-change]").click()
        page.locator(".below .claim").get_by_role("button", name="contradicts").click()
        page.locator("#moved").get_by_text("found no benefit").first.wait_for(timeout=RUN_MS)
        seconds = time.monotonic() - began
        browser.close()
    return Figure(name, due, f"{seconds:.1f} s, 3 clicks")


def measure_review() -> Figure:
    """Seeded errors among the ten rows of `review`, by its own benchmark."""
    command = [sys.executable, "-m", "benchmarks.review"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    line = next(line for line in printed.splitlines() if line.startswith("review: "))
    name = "seeded errors that move a conclusion, among the ten rows of `review` (300 runs)"
    return Figure(name, "80 %", line.removeprefix("review: ").replace(" among 10 rows", "").replace("%", " %"))


def list_values(report: ResearchReport) -> dict[tuple[str, str], str]:
    """What a report says of each study of each drug, with its quote, by drug and record."""
    rows = {}
    for row in report.evidence_table:
        rows[row.drug, row.key] = row.model_dump_json()
    return rows


def measure_rerun(reports: Sequence[ResearchReport]) -> Figure:
    """Ask the questions again, and compare each row of evidence with the first answer's."""
    same = 0
    rows = 0
    for report in reports:
        again = asyncio.run(research(report.research_question, offline=True))
        first = list_values(report)
        second = list_values(again)
        rows += len(first.keys() | second.keys())
        same += sum(first[name] == second.get(name) for name in first)
    share = same / max(1, rows)
    return Figure("rows that a rerun gives with the same values and quotes", "99 %", f"{same} of {rows} ({share:.0%})")


def measure_files(shelf: Path | None) -> Figure:
    """Read the user files of a folder."""
    name = "user files that are read; records"
    if shelf is None:
        return Figure(name, "all; 97 %", "not measured: name a folder with `--shelf`")
    files = sorted(path for path in shelf.iterdir() if path.is_file())
    read = 0
    records = 0
    failures = 0
    for path in files:
        items = list(read_records(path))
        whole = [item for item in items if isinstance(item, FileRecord)]
        read += bool(whole)
        records += len(whole)
        failures += len(items) - len(whole)
    share = records / max(1, records + failures)
    return Figure(name, "all; 97 %", f"{read} of {len(files)}; {records} of {records + failures} ({share:.0%})")


async def _say_nothing(_step: int, _line: str) -> None:
    """Hear no progress."""


def list_gaps(answer: Mapping[str, Any], report: ResearchReport) -> list[str]:
    """What keeps an answer over MCP from being passed on as it is: cut or foreign quotes, what is left behind."""
    sentences = " ".join(" ".join(row.sentence.split()) for row in report.evidence_table)
    quotes = [line["quote"].removesuffix(" […]") for line in answer["lines"]]
    named = [caution for candidate in report.candidates for caution in candidate.cautions]
    problems = {
        "a quote that is not in its record": [quote for quote in quotes if quote not in sentences],
        "a quote cut within a sentence": [quote for quote in quotes if quote.endswith("…")],
        "a summary cut within a sentence": ["…"] if "…" in answer["summary"] else [],
        "no provenance": [] if answer["provenance"] else ["provenance"],
        "no disclaimer": [] if answer["disclaimer"] else ["disclaimer"],
        "no gaps": [] if answer["gaps"] else ["gaps"],
        "cautions left behind": ["cautions"] if named and not answer["cautions"] else [],
        "a caution that says neither record nor table": [
            caution["drug"] for caution in answer["cautions"] if not caution["source"] and "; " not in caution["text"]
        ],
        "no studies": [] if quotes else ["studies"],
    }
    return [name for name, found in problems.items() if found]


async def measure_mcp(folder: Path) -> list[Figure]:
    """Ask the MCP server five questions, then one of them six times with a short limit."""
    whole = 0
    problems = list[str]()
    async with Transport(Endpoints(library=open_library("bundled"))) as transport:
        server = Server(Settings(), transport, folder / "mcp.db")
        server.patience_s = RUN_MS / 1000
        for question in QUESTIONS.values():
            called = await server.answer_call("research", {"question": question}, _say_nothing)
            answer = called.model_dump(mode="json", by_alias=True)["structuredContent"]
            with Ledger.existing(folder / "mcp.db") as ledger:
                report = ResearchReport.model_validate(ledger.report(answer["run_id"]))
            gaps = list_gaps(answer, report)
            whole += not gaps
            problems += gaps
        repeating = Server(Settings(), transport, folder / "repeats.db")
        repeating.patience_s = 0.3
        ids = set[str]()
        status = ""
        calls = 0
        while calls < REPEATS or status != "complete":
            called = await repeating.answer_call("research", {"question": DEMO}, _say_nothing)
            answer = called.model_dump(mode="json", by_alias=True)["structuredContent"]
            status = str(answer["status"])
            ids.add(str(answer["run_id"]))
            calls += 1
    because = f" ({', '.join(sorted(set(problems)))})" if problems else ""
    repeats = f"{len(ids)} {'run' if len(ids) == 1 else 'runs'}, {'its answer' if status == 'complete' else status}"
    return [
        Figure("answers over MCP that can be passed on as they are", "5 of 5", f"{whole} of {len(QUESTIONS)}{because}"),
        Figure(f"the same question {REPEATS} times or more over MCP with a short limit", "1 run, its answer", repeats),
    ]


def measure_misspelt() -> Figure:
    """Call with options that do not exist."""
    caught = 0
    for call in MISSPELT.values():
        try:
            answer = call()
        except (WillowbarkError, TypeError, ValueError):
            caught += 1
        else:
            if inspect.iscoroutine(answer):
                answer.close()
    name = "wrong option names that a call catches (mypy and pyright: `make types-test`)"
    return Figure(name, "all", f"{caught} of {len(MISSPELT)}")


def count_not_reported(report: ResearchReport) -> Figure:
    """Count "not reported" in the demo's report and appendix."""
    text = f"{report.to_markdown()}\n{report.to_appendix()}"
    number = len(re.findall(r"not reported", text, re.IGNORECASE))
    return Figure("“not reported” in the demo's report and appendix", "20 at most", str(number))


def measure_example(folder: Path) -> Figure:
    """Run `willowbark example`."""
    seconds = run_willowbark("example", folder=folder)
    return Figure("`willowbark example`", "20 s", seconds)


def measure_all(shelf: Path | None) -> Iterator[Figure]:
    """Measure each figure, the quick ones first."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield measure_files(shelf)
        yield measure_misspelt()
        yield measure_example(folder)
        reports = [asyncio.run(research(question, offline=True)) for question in QUESTIONS.values()]
        yield count_not_reported(asyncio.run(research(DEMO, offline=True)))
        yield measure_rerun(reports)
        yield measure_command(folder)
        yield measure_page(folder)
        yield from asyncio.run(measure_mcp(folder))
    yield measure_review()


def main() -> None:
    """Print the table line by line, and write it into its page if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shelf", type=Path, help="a folder of user files")
    parser.add_argument("--write", action="store_true", help="write the table into the documentation")
    asked = parser.parse_args()
    print(HEAD, end="")
    lines = []
    for figure in measure_all(asked.shelf):
        line = f"| {figure.name} | {figure.due} | {figure.measured} |\n"
        print(line, end="", flush=True)
        lines.append(line)
    if asked.write:
        day = datetime.now(UTC).date()
        load = os.getloadavg()[2]
        about = f"Measured on {day} by `make bench-people`, on {os.cpu_count()} cores under a load of {load:.0f}."
        table = f"{HEAD}{''.join(lines)}\n{about}\n"
        PAGE.write_text(replace_part(PAGE.read_text(encoding="utf-8"), "people", table), encoding="utf-8")


if __name__ == "__main__":
    main()
