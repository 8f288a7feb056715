"""A report is short enough to be read: 4,000 words, and 200 on its first screen."""

import pytest
from benchmarks.report_length import MOST, QUESTIONS, count_words
from exports_sample import empty, sample

from willowbark.teams.run.research import research


@pytest.mark.whole
@pytest.mark.parametrize("question", QUESTIONS)
async def test_reports_on_the_bundled_conditions_are_short(question: str) -> None:
    length = count_words(await research(question, offline=True, ledger=None))

    assert length.whole <= MOST[0]
    assert 20 < length.first_screen <= MOST[1]


def test_what_stands_in_the_appendix_alone_is_not_counted() -> None:
    report = sample()
    longer = sample(limitations=[*report.limitations, "Five words more than before."])

    assert count_words(longer).whole == count_words(report).whole + 6  # its list mark among them
    assert count_words(sample(search_log=[*report.search_log] * 2)) == count_words(report)
    assert count_words(empty()).first_screen < count_words(report).whole
