"""How long a report is: its words, and those of its first screen, as they stand between spaces in the Markdown."""

from typing import NamedTuple

from willowbark.agents.report.forms.markdown import blocks_in_markdown
from willowbark.agents.report.model import ResearchReport

MOST = (4_000, 200)
"""Words that a report, and its first screen, may have."""


class Length(NamedTuple):
    """Words of a report."""

    whole: int
    """Without the appendix."""
    first_screen: int


def count_words(report: ResearchReport) -> Length:
    """Count the words of a report and of its first screen."""
    first = report.to_tree().sections[0]
    return Length(len(report.to_markdown().split()), len(blocks_in_markdown(first.blocks).split()))
