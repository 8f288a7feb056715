"""Write the documentation's example reports and their index, from runs of the program.

    python -m benchmarks.example_reports            all (`make example` does so too)
    python -m benchmarks.example_reports gout       this one, and its line of the index

A question on each condition of the bundled library, one on each of two drugs, and one that it cannot answer are asked
without a language model; two runs of a strong one are replayed from its recorded answers. No network, no key.
"""

import argparse
import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from benchmarks.recorded import describe_changes, replay_recorded

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.run.example import LABEL, example_stream
from willowbark.teams.run.research import research

FOLDER = Path(__file__).parents[1] / "docs" / "examples"
QUESTIONS: Mapping[str, str] = {
    "migraine": "Which existing drugs could prevent migraine attacks?",
    "kidney": "Which existing drugs might slow diabetic kidney disease?",
    "portal-hypertension": "Which existing drugs might treat portal hypertension?",
    "alzheimer": "Which existing drugs might treat Alzheimer disease?",
    "smoking": "Which drugs help people stop smoking?",
    "varenicline": "Does varenicline help people stop smoking?",
    "propranolol": "What might propranolol be repurposed for?",
    "gout": "Which existing drugs might treat gout?",
}
"""By file; the bundled library holds nothing on the last one, which shows what then comes."""
EXAMPLE = "kidney-by-a-model"
RECORDED: Mapping[str, str] = {"migraine-by-a-model": "migraine"}
"""By file: runs of a strong model that `benchmarks/recorded` holds, asked of the bundled library."""
_HEAD = """# Example reports

Each report was made by the program over the bundled library, whose texts are few and paraphrased: they show the form,
and are no basis for conclusions. `python -m benchmarks.example_reports` writes this page and all reports anew. Two show
what a language model makes of the records, by its recorded answers; the others are what comes without one.

| question | read by | candidates | first line of the answer |
|---|---|---|---|
"""


def make_report(name: str) -> ResearchReport:
    """Run the example, a recording or a question to its report, by the file that it goes into."""
    if name == EXAMPLE:
        return asyncio.run(replay_example())
    if name in RECORDED:
        return replay_recording(RECORDED[name])
    return asyncio.run(research(QUESTIONS[name], offline=True, settings=Settings(), ledger=None))


async def replay_example() -> ResearchReport:
    """Replay the recorded example to its report."""
    report = None
    async for event in example_stream():
        report = event.report or report
    if report is None:
        raise SystemExit("the recorded example gave no report")
    return report


def replay_recording(name: str) -> ResearchReport:
    """Replay a recorded run to its report.

    Raises:
        SystemExit: the run asked what its recording does not answer.
    """
    client, report = asyncio.run(replay_recorded(name))
    changed = describe_changes(client)
    if changed:
        raise SystemExit(f"{name}:\n{changed}")
    return report


def describe_report(name: str, report: ResearchReport) -> str:
    """Write a report's line of the index."""
    answer = next((part.text for part in report.summary_parts if part.label != LABEL), report.executive_summary)
    cells = (
        f"[{report.research_question}]({name}.md)",
        report.analyst or "",
        str(len(report.candidates)),
        answer.replace("|", "\\|"),
    )
    return f"| {' | '.join(cells)} |\n"


def write_page(report: ResearchReport) -> str:
    """Write a report's page, without the day on which it was made, which would change it each time."""
    text = report.to_markdown("report-appendix.md")
    return re.sub(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC", "Example", text)


def read_index() -> dict[str, str]:
    """Read the lines of the index, by file."""
    path = FOLDER / "index.md"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    names = [re.search(r"\]\(([\w-]+)\.md\) \|", line) for line in lines]
    return {name[1]: line for name, line in zip(names, lines, strict=True) if name}


def main() -> None:
    """Write the files that are named, or all, and the index."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    everything = [EXAMPLE, *RECORDED, *QUESTIONS]
    # argparse holds the empty list of no names against the choices, too
    parser.add_argument("name", nargs="*", choices=[*everything, []], help="only these; the others stay as they are")
    names = parser.parse_args().name or everything
    FOLDER.mkdir(exist_ok=True)
    lines = read_index()
    for name in names:
        report = make_report(name)
        (FOLDER / f"{name}.md").write_text(write_page(report), encoding="utf-8")
        lines[name] = describe_report(name, report)
        print(f"{name}: {len(report.candidates)} candidates", flush=True)
    rows = [lines[name] for name in everything if name in lines]
    (FOLDER / "index.md").write_text("".join([_HEAD, *rows]), encoding="utf-8")


if __name__ == "__main__":
    main()
