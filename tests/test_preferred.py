"""A report's answer and a free one are compared blind, and what a reader said is kept."""

import json
from pathlib import Path

import pytest
from benchmarks import preferred
from benchmarks.preferred import Comparison, describe, make_pair, read_table, take_verdict, take_verdicts, write_table

QUESTION = "Which drugs prevent migraine?"
REPORT = "Propranolol prevents attacks."
FREE = "Propranolol is good."
RECORDS = [{"key": "pmid:1", "title": "A trial", "text": "Attacks fell."}]


def pair(folder: Path, run: str = "migraine") -> str:
    """The pair of a run whose free answer is there."""
    make_pair(folder, run, QUESTION, REPORT, RECORDS)
    (folder / run / "free.txt").write_text(FREE, encoding="utf-8")
    return make_pair(folder, run, QUESTION, REPORT, RECORDS)


def judge(folder: Path, *lines: str, run: str = "migraine") -> None:
    """What a third reader writes."""
    (folder / run / "verdict.tsv").write_text("\n".join(["fact\tA\tB", *lines, ""]), encoding="utf-8")


def test_a_pair_waits_for_the_free_answer_and_does_not_tell_who_wrote_what(tmp_path: Path) -> None:
    assert "free_request.txt" in make_pair(tmp_path, "migraine", QUESTION, REPORT, RECORDS)
    request = (tmp_path / "migraine" / "free_request.txt").read_text(encoding="utf-8")
    assert "Attacks fell." in request
    assert REPORT not in request
    assert "third reader" in pair(tmp_path)
    shown = (tmp_path / "migraine" / "pair.txt").read_text(encoding="utf-8")
    assert sorted(line for line in shown.split("\n") if line) == ["A", "B", FREE, REPORT, QUESTION]
    assert "report" not in shown.casefold()
    assert list((tmp_path / "migraine").glob("key*")) == []


def test_the_order_of_a_pair_stays_and_is_not_always_the_same(tmp_path: Path) -> None:
    for number in range(40):
        pair(tmp_path, f"run{number}")
    key = json.loads((tmp_path / "key.json").read_text(encoding="utf-8"))
    assert set(key.values()) == {"A", "B"}
    before = (tmp_path / "run3" / "pair.txt").read_text(encoding="utf-8")
    pair(tmp_path, "run3")
    assert (tmp_path / "run3" / "pair.txt").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(("side", "other"), [("A", "B"), ("B", "A")])
def test_a_verdict_is_told_by_who_wrote_what(tmp_path: Path, side: str, other: str) -> None:
    pair(tmp_path)
    (tmp_path / "key.json").write_text(json.dumps({"migraine": side}), encoding="utf-8")
    words = {side: ("told", "told", side), other: ("missing", "false", other)}
    lines = [f"fact {at}\t{words['A'][at]}\t{words['B'][at]}" for at in (0, 1)]
    judge(tmp_path, *lines, f"preferred\t{side}\t")
    assert take_verdict(tmp_path, "migraine", "x") == Comparison("migraine", "x", 2, 2, 0, 0, 1, "report")
    judge(tmp_path, *lines, "preferred\tequal\t")
    assert take_verdict(tmp_path, "migraine", "x").preferred == "equal"


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (["a fact\ttold\tperhaps", "preferred\tA\t"], "line 2: under A and B stand told, missing or false"),
        (["preferred\tA\t"], "needs a line a fact"),
        (["a fact\ttold\ttold"], "needs a line a fact, and one `preferred`"),
    ],
)
def test_a_verdict_that_cannot_be_understood_is_said_in_a_line(tmp_path: Path, lines: list[str], wrong: str) -> None:
    pair(tmp_path)
    judge(tmp_path, *lines)
    with pytest.raises(SystemExit, match=wrong):
        take_verdict(tmp_path, "migraine", "x")
    with pytest.raises(SystemExit, match="there is no pair yet"):
        take_verdict(tmp_path, "nausea", "x")


def test_an_answer_beyond_its_length_is_refused(tmp_path: Path) -> None:
    make_pair(tmp_path, "migraine", QUESTION, REPORT, RECORDS)
    (tmp_path / "migraine" / "free.txt").write_text("word " * 251, encoding="utf-8")
    with pytest.raises(SystemExit, match="has 251 words"):
        make_pair(tmp_path, "migraine", QUESTION, REPORT, RECORDS)


def test_a_readers_later_verdict_replaces_the_earlier_one_and_the_sums_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "table.tsv"
    monkeypatch.setattr(preferred, "read_table", lambda: read_table(table))
    monkeypatch.setattr(preferred, "write_table", lambda rows: write_table(rows, table))
    other = Comparison("kidney", "y", 4, 3, 0, 4, 1, "free")
    write_table([other], table)
    pair(tmp_path)
    for word in ("told", "missing"):
        judge(tmp_path, f"a fact\t{word}\t{word}", "preferred\tequal\t")
        take_verdicts(tmp_path, "x", ["migraine"])
    assert read_table(table) == [other, Comparison("migraine", "x", 1, 0, 0, 0, 0, "equal")]
    assert describe(read_table(table))[-2:] == [
        "of 5 facts the reports tell 3, 0 falsely; the free answers 4, 1 falsely",
        "the report preferred or equal: 1 of 2 (due: 7 of 10)",
    ]
    assert "no pair was compared yet" in describe([])[0]
