"""Write the documentation's example reports and their index, from runs of the program: `make example-reports`.

A question on each condition of the bundled library, one on each of two drugs, and one that it cannot answer are asked
without a language model; two runs of a strong one are replayed from its recorded answers. No network, no key.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.recorded import changes, replayed

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
and are no basis for conclusions. `make example-reports` writes this page and all reports anew.

| question | read by | candidates | first line of the answer |
|---|---|---|---|
"""


def make_reports() -> Iterator[tuple[str, ResearchReport]]:
    """Run the example and each question; yield the reports by file."""
    yield EXAMPLE, asyncio.run(replay_example())
    for name, recording in RECORDED.items():
        yield name, replay_recording(recording)
    for name, question in QUESTIONS.items():
        yield name, asyncio.run(research(question, offline=True, settings=Settings(), ledger=None))


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
    client, report = asyncio.run(replayed(name))
    changed = changes(client)
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


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    lines = []
    for name, report in make_reports():
        (FOLDER / f"{name}.md").write_text(write_page(report), encoding="utf-8")
        lines.append(describe_report(name, report))
        print(f"{name}: {len(report.candidates)} candidates")
    (FOLDER / "index.md").write_text("".join([_HEAD, *lines]), encoding="utf-8")


if __name__ == "__main__":
    main()
