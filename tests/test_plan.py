"""The plan of a run: few requests, none twice, and a word on how much was read."""

from collections import Counter

import pytest
from builders import QUESTION

from willowbark.teams import research
from willowbark.tools.http.transport import ExchangeLog

pytestmark = pytest.mark.whole

MOST_REQUESTS = 60  # of the question that `make demo` asks


async def test_a_run_asks_little_and_nothing_twice_and_says_how_much_it_read() -> None:
    log = ExchangeLog()
    report = await research(QUESTION, offline=True, recorder=log)

    assert len(log.exchanges) <= MOST_REQUESTS
    twice = {
        e.url: count for e in log.exchanges if (count := Counter(each.request for each in log.exchanges)[e.request]) > 1
    }
    assert not twice
    assert "hits were read" in report.executive_summary
    assert "; all " in report.executive_summary
