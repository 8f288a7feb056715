"""Write the README's excerpt from `willowbark example`: `make excerpt`; `tests/test_readme.py` compares them."""

import asyncio
from pathlib import Path

from benchmarks.example_reports import replay_example

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.run.example import LABEL

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- excerpt:begin -->\n", "<!-- excerpt:end -->"
SHOWN = 3  # parts of the first screen


def write_excerpt(report: ResearchReport) -> str:
    """The first parts of a report's answer, as its own first screen has them."""
    parts = [part for part in report.summary_parts if part.label != LABEL][:SHOWN]
    lines = [f"> **{part.label}:** {part.text}" if part.label else f"> {part.text}" for part in parts]
    return "\n>\n".join(lines) + "\n"


def replace_excerpt(readme: str, excerpt: str) -> str:
    """A README with another excerpt between its marks."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{excerpt}{END}{after}"


def main() -> None:
    """Replay the example and write."""
    report = asyncio.run(replay_example())
    readme = README.read_text(encoding="utf-8")
    README.write_text(replace_excerpt(readme, write_excerpt(report)), encoding="utf-8")


if __name__ == "__main__":
    main()
