"""How long a report is: its words, and those of its first screen, as they stand between spaces in the Markdown."""

from typing import NamedTuple

from willowbark.agents.report.forms.markdown import blocks_in_markdown
from willowbark.agents.report.model import ResearchReport

MOST = (3_000, 200, 12_000)
"""Words that a report, its first screen and its appendix may have; a line for each drug beyond 24 is not counted."""


class Length(NamedTuple):
    """Words of a report."""

    whole: int
    """Without the appendix."""
    first_screen: int
    appendix: int


def count_words(report: ResearchReport) -> Length:
    """Count the words of a report, of its first screen and of its appendix."""
    first = report.to_tree().sections[0]
    whole = len(report.to_markdown().split())
    return Length(whole, len(blocks_in_markdown(first.blocks).split()), len(report.to_appendix().split()))
