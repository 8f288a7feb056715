"""Waits are read with care, and every time of a policy can be compressed."""

import email.utils

import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.http.limiter import RetryPolicy, retry_after_s


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 17:28:30 GMT", None),
        ("1e9", None),
        ("-5", None),
        ("nan", None),
        ("9" * 400, None),
        ("", None),
        (None, None),
        ("Wed, 99 Oct 99999 07:28:30 GMT", None),
    ],
    ids=str,
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str | None, seconds: float | None) -> None:
    now = email.utils.parsedate_to_datetime("Wed, 21 Oct 2015 07:28:00 GMT").timestamp()

    assert retry_after_s(header, now) == seconds


@given(st.text() | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [A-Z+-]*\d*"))
def test_no_retry_after_breaks_the_reader(header: str) -> None:
    seconds = retry_after_s(header)

    assert seconds is None or 0 <= seconds <= 3600


@pytest.mark.parametrize(
    ("seconds", "timeouts_s"),
    [(5, [1.67, 2.5]), (12, [4.0, 6.0]), (30, [6.0, 9.0, 13.5, 15.0]), (60, [12.0, 15.0]), (120, [15.0])],
    ids=str,
)
def test_a_call_of_so_many_seconds_has_time_for_a_second_attempt(seconds: float, timeouts_s: list[float]) -> None:
    policy = RetryPolicy.within(seconds)

    assert policy.deadline_s == seconds
    assert [policy.timeout_s(silences) for silences in range(len(timeouts_s))] == pytest.approx(timeouts_s, abs=0.01)
    assert policy.timeout_s(0) + policy.timeout_s(1) + policy.first_wait_s < seconds
