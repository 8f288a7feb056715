"""How long a report is: its words, and those of its first screen, as they stand between spaces in the Markdown."""

from typing import NamedTuple

from willowbark.agents.report.forms.markdown import render_blocks
from willowbark.agents.report.model import ResearchReport

MOST = (3_000, 200, 12_000)
"""Words that a report, its first screen and its appendix may have; a line for each drug beyond 24 is not counted."""


class Length(NamedTuple):
    """Words of a report."""

    whole: int
    """Without the appendix, and without a line for each drug that has no more than this line."""
    first_screen: int
    appendix: int


def count_words(report: ResearchReport) -> Length:
    """Count the words of a report, of its first screen and of its appendix."""
    text = report.to_markdown()
    beyond = sum(len(line.split()) for line in _list_further_drugs(text))
    first = report.to_tree().sections[0]
    screen = len(render_blocks(first.blocks).split())
    return Length(len(text.split()) - beyond, screen, len(report.to_appendix().split()))


def _list_further_drugs(text: str) -> list[str]:
    """List the lines of a report that each tell of one drug beyond those with more."""
    _, _, section = text.partition("\n## Further drugs\n")
    return [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| ")]
