"""What of a full text is shown: telling sentences within a bound, and the limits that a study states."""

from typing import Any

import pytest
from builders import record

from willowbark.tools.reading.sections import (
    GAP,
    MAX_LIMITS,
    MOST_RESULTS,
    find_section,
    find_stated_limits,
    make_excerpt,
    places,
)
from willowbark.tools.records.evidence import Evidence

FILLER = "The mean age was the same in the two arms at each of the sites that took part. "


def read(results: str = "", limitations: str = "", title: str = "Discussion") -> Evidence:
    sections = [{"kind": "results", "title": "Results", "text": results}] if results else []
    sections += [{"kind": "limitations", "title": title, "text": limitations}] if limitations else []
    more: dict[str, Any] = {"full_text": {"pmcid": "PMC1", "licence": "CC BY 4.0", "sections": sections}}
    return record("1", "Propranolol in migraine", "Attacks fell on propranolol.", **more)


def test_long_results_are_cut_to_the_sentences_that_name_a_drug_or_a_figure() -> None:
    telling = "Attacks fell by half on propranolol (P=0.01)."
    [place] = places(make_excerpt(read(FILLER * 60 + telling + " " + FILLER * 60)))

    assert telling in place.text
    assert len(place.text) <= MOST_RESULTS
    assert GAP in place.text


def test_every_sentence_that_is_shown_can_be_quoted_from_the_whole_record() -> None:
    whole = read(FILLER * 60 + "Attacks fell by half on propranolol (P=0.01). " + FILLER * 60, FILLER * 40)
    shown = [piece for place in places(make_excerpt(whole)) for piece in place.text.split(GAP)]

    assert len(shown) > 1
    assert [piece for piece in shown if find_section(whole, piece) is None] == []


def test_a_record_without_full_text_stays_as_it_is() -> None:
    plain = record("1", "Propranolol in migraine", "Attacks fell on propranolol.")

    assert make_excerpt(plain) is plain
    assert find_stated_limits(plain) == []


@pytest.mark.parametrize(
    ("said", "title", "quoted"),
    [
        ("A limitation of this trial was that it had no placebo group.", "Discussion", True),
        ("Patients and staff knew the treatment, so reporting may be biased.", "Discussion > Limitations", True),
        ("Patients and staff knew the treatment, so reporting may be biased.", "Discussion", False),
        ("Our study is not without limitations of its own.", "Discussion", False),
        ("Limits: small.", "Limitations", False),
    ],
    ids=["named", "in its own section", "elsewhere", "announced", "too short"],
)
def test_a_limit_is_quoted_where_it_says_what_it_is_about(said: str, title: str, quoted: bool) -> None:
    found = find_stated_limits(read(limitations=f"{FILLER}{said}", title=title))

    assert [(limit.section, limit.quote) for limit in found] == ([(title, said)] if quoted else [])


def test_sentences_that_name_a_limit_come_first_and_no_more_than_the_bound() -> None:
    plain, named = "Many were lost to follow-up in every arm.", "A limitation is the small sample of this trial."
    found = find_stated_limits(read(limitations=f"{plain} {plain[:-1]} again. {named}", title="Limitations"))

    assert len(found) == MAX_LIMITS
    assert found[0].quote == named
