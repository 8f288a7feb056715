"""Write the README's excerpt from `willowbark example`, as `make example`; `tests/test_readme.py` compares them."""

import asyncio
from pathlib import Path

from benchmarks.example_reports import replay_example
from benchmarks.marked import replace_part

from willowbark.agents.checking.written import WrittenAnswer
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.run.example import LABEL

README = Path(__file__).parent.parent / "README.md"
MOST_PARTS = 3  # parts of the first screen, where no model wrote
WORDS = 110  # of a written answer: whole sentences, as many as fit


def write_excerpt(report: ResearchReport) -> str:
    """The beginning of a report's written answer with who wrote and checked it, or the first parts of its screen."""
    if report.written is not None and report.written.answer:
        return quote_answer(report.written)
    parts = [part for part in report.summary_parts if part.label != LABEL][:MOST_PARTS]
    lines = [f"> **{part.label}:** {part.text}" if part.label else f"> {part.text}" for part in parts]
    return "\n>\n".join(lines) + "\n"


def quote_answer(written: WrittenAnswer) -> str:
    """The first whole sentences of a written answer, with the records that each rests on, and its provenance."""
    lines = list[str]()
    words = 0
    for heading, sentences in written.parts():
        mark = "- " if heading else ""
        quoted = list[str]()
        for sentence in sentences:
            words += len(sentence.text.split())
            if words <= WORDS or not lines:
                quoted.append(f"> {mark}{sentence.text} [{', '.join(sentence.citations)}]")
        lines += [f"> **{heading}**", ">", *quoted, ">"] if heading and quoted else [*quoted, ">"] if quoted else []
    return "\n".join([*lines, "> …", ">", f"> *{written.provenance}*", ""])


def main() -> None:
    """Replay the example and write."""
    report = asyncio.run(replay_example())
    readme = README.read_text(encoding="utf-8")
    README.write_text(replace_part(readme, "excerpt", write_excerpt(report)), encoding="utf-8")


if __name__ == "__main__":
    main()
