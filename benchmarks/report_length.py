"""How long a report is: its words, and those of its first screen; `python -m benchmarks.report_length`.

Asks the five bundled conditions, or `--library DIR QUESTION …`, counts what stands between spaces in the Markdown
without the appendix, and fails where a report has more than 4,000 words or a first screen more than 200.
"""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import NamedTuple

from willowbark.agents.report.forms.markdown import blocks_in_markdown
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.run.research import research

QUESTIONS = (
    "Which existing drugs could prevent migraine attacks?",
    "Which existing drugs might treat diabetic nephropathy?",
    "Which existing drugs might treat portal hypertension?",
    "Which existing drugs could treat Alzheimer's disease?",
    "Which existing drugs could help people quit smoking?",
)
MOST = (4_000, 200)


class Length(NamedTuple):
    """Words of a report."""

    whole: int
    """Without the appendix."""
    first_screen: int


def count_words(report: ResearchReport) -> Length:
    """Count the words of a report and of its first screen."""
    first = report.to_tree().sections[0]
    return Length(len(report.to_markdown().split()), len(blocks_in_markdown(first.blocks).split()))


def main() -> None:
    """Ask, print a line a question, and fail where a report is too long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("questions", nargs="*", default=QUESTIONS)
    parser.add_argument("--library", type=Path, help="folder of records; without one the bundled library")
    arguments = parser.parse_args()
    too_long = []
    for question in arguments.questions:
        report = asyncio.run(research(question, library=str(arguments.library or "bundled"), ledger=None))
        length = count_words(report)
        print(f"{length.whole:>6,} words, first screen {length.first_screen:>3}, {report.line}")
        too_long += [question] if any(a > b for a, b in zip(length, MOST, strict=True)) else []
    if too_long:
        sys.exit(f"too long: {'; '.join(too_long)}")


if __name__ == "__main__":
    main()
