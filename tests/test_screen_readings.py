"""First screens that were read: facts alone, each of a condition that was written down before."""

import re

from benchmarks.screen_readings import AGAINST, PARTS, VERDICTS, list_figures, read_table


def test_each_screen_has_a_verdict_and_each_study_a_screen() -> None:
    conditions = {row["condition"]: row for row in read_table("screen_conditions.tsv")}
    assert {row["part"] for row in conditions.values()} == set(PARTS)
    assert {row["verdict"] for row in conditions.values()} <= set(VERDICTS)
    assert {row["condition"] for row in read_table("screen_readings.tsv")} <= set(conditions)


def test_what_is_wrongly_shown_has_a_cause_and_what_is_right_has_none() -> None:
    rows = read_table("screen_readings.tsv")
    assert [row for row in rows if bool(row["cause"]) is (row["right"] == "1")] == []
    assert {row["shown"] for row in rows} <= {"supports", *AGAINST}
    assert [row["record"] for row in rows if not re.fullmatch(r"pmid:\d+", row["record"])] == []


def test_the_figures_are_printed_by_part() -> None:
    lines = list(list_figures())
    assert [line.partition(":")[0] for line in lines[:2]] == list(PARTS)
