"""Waits are read with care, and every time of a policy can be compressed."""

import email.utils

import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.patience import RetryPolicy, retry_after_s


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("3600", 3600.0),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 17:28:30 GMT", None),
        ("1e9", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("9" * 400, None),
        ("soon", None),
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


def test_a_scaled_policy_scales_every_time_and_no_count() -> None:
    plain, scaled = RetryPolicy(), RetryPolicy().scaled(0.5)

    assert (scaled.attempts, scaled.breaker_failures) == (plain.attempts, plain.breaker_failures)
    times = ("first_wait_s", "longest_wait_s", "attempt_timeout_s", "deadline_s", "breaker_pause_s")
    assert all(getattr(scaled, name) == getattr(plain, name) / 2 for name in times)
