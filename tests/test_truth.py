"""The demo's five answers beside a reading of its records: who leads, who must not, and how sure one may be."""

from collections import Counter
from pathlib import Path

import pytest
from benchmarks import truth
from benchmarks.labels import read_lines
from benchmarks.questions import read_table_rows
from benchmarks.report_length import MOST, count_words
from benchmarks.truth import (
    LEVELS,
    PAIR_FIELDS,
    QUESTIONS,
    Judged,
    judge,
    list_leading,
    make_reports,
    name_drug,
    read_leaders,
)

from willowbark.agents.report.model import ResearchReport

LIBRARY = Path(__file__).resolve().parents[1] / "tools" / "library" / "bundled"
FIRST = 3
"""Drugs of a group that a hurried reader looks at."""
KNOWN = {
    (row["topic"], row["kind"], row["what"]): row["why"]
    for row in read_table_rows(Path(__file__).parent / "cases/known_misses.tsv")
}


@pytest.fixture(scope="module")
def answers() -> dict[str, ResearchReport]:
    return dict(make_reports())


@pytest.fixture(scope="module")
def judged(answers: dict[str, ResearchReport]) -> dict[str, Judged]:
    return {topic: judge(topic, report) for topic, report in answers.items()}


@pytest.mark.parametrize("topic", QUESTIONS)
def test_who_leads_and_with_which_certainty_is_as_the_records_say_but_for_what_is_known(
    topic: str, judged: dict[str, Judged]
) -> None:
    found = {miss[:3]: miss.why for miss in judged[topic].misses if not miss.kind.startswith("missing")}
    expected = {miss: why for miss, why in KNOWN.items() if miss[0] == topic}

    assert {miss: why for miss, why in found.items() if miss not in expected} == {}, "new"
    assert {miss: why for miss, why in expected.items() if miss not in found} == {}, "mended: take it out of KNOWN"


@pytest.mark.parametrize("topic", QUESTIONS)
def test_of_the_first_three_of_each_group_at_most_one_should_not_lead(
    topic: str, answers: dict[str, ResearchReport]
) -> None:
    seen: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for each in list_leading(answers[topic]):
        seen[each.group] += 1
        row = read_leaders(topic).get(name_drug(each.name))
        doubtful = row is None or (row["should_lead"] == "no" and row["direction"] != "helps")
        wrong[each.group] += seen[each.group] <= FIRST and doubtful

    assert seen
    assert max(wrong.values()) <= 1


def test_reports_and_their_appendices_are_short(answers: dict[str, ResearchReport]) -> None:
    for report in answers.values():
        length = count_words(report)
        assert length.whole <= MOST[0]
        assert 20 < length.first_screen <= MOST[1]
        assert length.whole < length.appendix <= MOST[2]


def test_what_stands_in_the_appendix_is_no_part_of_the_report(answers: dict[str, ResearchReport]) -> None:
    report = answers["migraine_prevention"]
    longer = report.model_copy(update={"search_log": [*report.search_log] * 2})
    assert count_words(longer)[:2] == count_words(report)[:2]


def test_most_results_that_are_shown_are_what_the_records_say(judged: dict[str, Judged]) -> None:
    total = sum((each.counts for each in judged.values()), Counter[str]())

    assert total["supports right"] >= 0.8 * total["supports shown"]
    assert total["contradicts right"] >= 0.8 * total["contradicts shown"] > 0
    assert total["supports right"] >= 38


def test_each_record_that_the_readers_read_is_in_the_library() -> None:
    records = {row["pmid"] for path in LIBRARY.glob("publications_*.jsonl") for row in read_lines(path)}
    trials = (LIBRARY / "trials.jsonl").read_text(encoding="utf-8")
    read = {row["record"] for row in truth.read("bundled_pairs.tsv")}
    read |= {each for row in truth.read("bundled_trials.tsv") for each in row["records"].split()}

    assert [each for each in read - records if f'"nctId": "{each}"' not in trials] == []


def test_labels_hold_the_values_that_their_page_names() -> None:
    fields = {name: {row[name] for row in truth.read("bundled_pairs.tsv")} for name in PAIR_FIELDS}

    assert fields["verdict"] == {"supports", "contradicts", "neutral", "none"}
    assert fields["primary"] == {"met", "not_met", "not_reported"}
    assert fields["indication"] == {"condition", "complication", "other"}
    assert [number for number in fields["n"] - {""} if not number.isdigit()] == []
    for row in truth.read("bundled_leaders.tsv"):
        assert LEVELS.index(row["certainty_min"]) <= LEVELS.index(row["certainty_max"]), row
