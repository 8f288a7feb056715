"""Dates, superscripts, queries and filters, as all publication sources use them."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.errors import SourceRefused
from willowbark.tools.records.evidence import Citation
from willowbark.tools.sources.publications import (
    DatedFilters,
    choose_publication_date,
    extract_words,
    find_date,
    redact,
)


@given(st.text(max_size=30) | st.from_regex(r"\d{4}[ -]\w{2,3}[ -]\d{1,2}", fullmatch=True))
def test_any_text_gives_a_date_that_can_be_cited_or_none(text: str) -> None:
    found = find_date(text)
    assert found is None or Citation(source="pubmed", title="T", url="", date=found).date == found


@pytest.mark.parametrize(
    ("issue", "online", "cited"),
    [
        ("2019", "2019-03-07", "2019-03-07"),
        ("2019-12-01", "2019-03-07", "2019-12-01"),
        ("2020-01", "2019-12-30", "2020-01"),
        (None, "2019-12-30", "2019-12-30"),
        (None, None, "Unknown"),
    ],
)
def test_the_online_date_only_refines_the_issues_year(issue: str | None, online: str | None, cited: str) -> None:
    assert choose_publication_date(issue, online) == cited


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ('("long covid"[tiab] OR PASC) AND metformin', "long covid PASC metformin"),
        ('metformin NOT "animal model" NOT (mice OR rats) NOT review[pt]', "metformin"),
        ('TITLE_ABS:"beta blocker" AND SRC:PPR', "beta blocker PPR"),
        ("vitamin A and E", "vitamin A and E"),
    ],
)
def test_a_query_in_words_has_no_operators(query: str, words: str) -> None:
    assert extract_words(query) == words


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        (2020, date(2020, 1, 1), date(2020, 12, 31)),
        ("2020-02", date(2020, 2, 1), date(2020, 2, 29)),
        ("2020/3/4", date(2020, 3, 4), date(2020, 3, 4)),
        (date(2020, 3, 4), date(2020, 3, 4), date(2020, 3, 4)),
        (None, None, None),
    ],
)
def test_a_boundary_is_a_first_or_a_last_day(value: object, first: date | None, last: date | None) -> None:
    found = DatedFilters.of("pubmed", {"mindate": value, "maxdate": value})
    assert (found.mindate, found.maxdate) == (first, last)


@pytest.mark.parametrize(
    "value", ["soon", "86400", "2020-13", "2020-02-31", "2020-00-01", "2020-99999999999999999999", {}]
)
def test_what_is_no_date_is_refused(value: object) -> None:
    with pytest.raises(SourceRefused, match="filter mindate"):
        DatedFilters.of("pubmed", {"mindate": value})


def test_a_sources_words_lose_addresses_and_keys() -> None:
    said = redact(
        "key 0123456789abcdef0123456789abcdef0123 at 192.0.2.1\nsee https://x.example/?api_key=1 " + "x" * 200
    )
    assert len(said) <= 120
    assert [part for part in ("0123456789abcdef", "192.0.2", "api_key", "\n") if part in said] == []
