"""Labels of whole studies: the file holds what its page says, and answers are read as they are meant."""

import csv
import json
from collections import Counter
from typing import Any

import pytest
from benchmarks import label_studies
from benchmarks.label_studies import (
    AGAIN,
    AGAINST,
    AIMS,
    ARM_ROLES,
    BASES,
    CONDITION_ROLES,
    DESIGNS,
    DRAWN,
    DRUG_ROLES,
    ENDPOINTS,
    EQUIVALENCE,
    FAVOURS,
    FIRST,
    PARTS,
    PEOPLE,
    STATED,
    VERSUS_KINDS,
    Answer,
    AnswerError,
    Page,
    part_of,
    read_rows,
)
from benchmarks.labels import is_apart, labels

LONGEST = 4000  # characters of a record with its title
RECORD = {
    "pmid": "1",
    "title": "Pindolol and metoprolol in hypertension",
    "abstract": "We gave pindolol or placebo to 40 people. Blood pressure fell more with pindolol. Headache was felt.",
}


def all_rows() -> list[dict[str, Any]]:
    return [*read_rows(FIRST).values(), *read_rows(AGAIN).values()]


def spans_of(row: dict[str, Any]) -> list[list[int]]:
    spans = list(row["conclusion"])
    for part in (*row["comparisons"], *row["statements"]):
        spans += part["sentences"]
    for part in (*row["conditions"], *row["drugs"]):
        spans += part["mentions"]
    return spans


def answer(written: str) -> dict[str, Any]:
    return Answer(Page.of(RECORD)).read(written.split())


def test_no_record_is_in_two_parts_or_in_another_than_its_hash_says() -> None:
    with DRAWN.open(encoding="utf-8") as file:
        drawn = list(csv.DictReader(file, delimiter="\t"))
    keys = Counter(row["record"] for row in drawn)
    assert max(keys.values()) == 1
    assert {row["record"]: row["part"] for row in drawn} == {key: part_of(key) for key in keys}
    assert set(read_rows(FIRST)) <= set(keys)
    assert [row["record"] for row in all_rows() if row["part"] != part_of(row["record"])] == []


def test_no_record_that_older_labels_keep_apart_is_labelled_and_none_with_older_labels_measures() -> None:
    older = {f"pmid:{label.pmid}": is_apart(label) for label in labels()}
    apart = {f"pmid:{label.pmid}" for label in labels() if is_apart(label)}
    rows = read_rows(FIRST)
    assert not apart & set(rows)
    assert {rows[key]["part"] for key in older.keys() & rows.keys()} == {"training"}


def test_offsets_lie_inside_the_record_and_are_whole_numbers() -> None:
    for row in all_rows():
        for start, end in spans_of(row):
            assert 0 <= start < end <= LONGEST, row["record"]


def test_every_value_is_one_that_the_page_names() -> None:
    for row in all_rows():
        key = row["record"]
        assert row["aim"] in AIMS.values(), key
        assert row["design"] in DESIGNS, key
        assert row["part"] in PARTS, key
        assert set(row["people"]) <= set(PEOPLE), key
        assert row["sure"] in (0, 1), key
        assert {part["role"] for part in row["conditions"]} <= set(CONDITION_ROLES.values()), key
        assert {part["role"] for part in row["drugs"]} <= set(DRUG_ROLES.values()), key
        assert {part["role"] for part in row["arms"]} <= {"drug", *ARM_ROLES.values()}, key
        for part in row["statements"]:
            assert part["says"] in STATED.values(), key
            assert part["basis"] in BASES.values(), key


def test_comparisons_are_of_arms_that_the_study_has() -> None:
    for row in all_rows():
        arms = {arm["name"]: arm for arm in row["arms"]}
        for part in row["comparisons"]:
            assert part["arm"] in arms, row["record"]
            assert part["versus"] in (*arms, None), row["record"]
            assert part["arm"] != part["versus"], row["record"]
            assert (part["versus"] is None) is (part["against"] in AGAINST.values()), row["record"]
            assert part["versus_kind"] in VERSUS_KINDS, row["record"]
            assert set(part["contrast"]) <= set(arms[part["arm"]]["drugs"]), row["record"]
            assert part["endpoint"] in ENDPOINTS.values(), row["record"]
            assert part["favours"] in FAVOURS.values(), row["record"]
            assert part["significant"] in (True, False, None), row["record"]
            assert part["equivalence"] in EQUIVALENCE.values(), row["record"]
            assert part["basis"] in BASES.values(), row["record"]
            assert part["sentences"], row["record"]


def test_conditions_and_drugs_that_a_finding_names_are_listed() -> None:
    for row in all_rows():
        conditions = {part["name"] for part in row["conditions"]}
        drugs = {part["name"] for part in row["drugs"]}
        findings = [*row["comparisons"], *row["statements"]]
        assert {part["condition"] for part in findings} <= {*conditions, None}, row["record"]
        assert {part["drug"] for part in row["statements"]} <= drugs, row["record"]
        assert {drug for arm in row["arms"] for drug in arm["drugs"]} <= drugs, row["record"]


def test_no_text_of_a_record_is_kept() -> None:
    for line in FIRST.read_text(encoding="utf-8").splitlines():
        words = [part["name"] for kind in ("conditions", "drugs") for part in json.loads(line)[kind]]
        assert max((len(name.split()) for name in words), default=0) <= 6, line[:40]


def test_an_answer_names_arms_results_and_sentences() -> None:
    row = answer("T rct 40/- 1t aT b=metoprolol bC h:headache n:a=20,P=20 a>*P:e!:2 a=b:h:3@headache .a:wj:2 k2 ??")
    first, second = row["comparisons"]
    assert (first["arm"], first["versus"], first["contrast"]) == ("pindolol", "placebo", ["pindolol"])
    assert (first["favours"], first["significant"], first["primary"]) == ("arm", True, True)
    assert (second["versus_kind"], second["favours"], second["significant"]) == ("active", "neither", False)
    assert second["condition"] == "headache"
    whole = Page.of(RECORD).document.whole
    assert [whole[start:end] for start, end in first["sentences"]] == ["Blood pressure fell more with pindolol."]
    assert [(arm["name"], arm["n"]) for arm in row["arms"]] == [("pindolol", 20), ("placebo", 20), ("metoprolol", None)]
    assert row["sure"] == 0


def test_an_equals_sign_between_arms_is_a_comparison_and_no_name() -> None:
    row = answer("T rct 1t a,bT a=b:e:2")
    assert {part["name"] for part in row["drugs"]} == {"pindolol", "metoprolol"}
    assert row["comparisons"][0]["favours"] == "neither"


def test_a_combination_isolates_what_the_other_arm_has_not() -> None:
    row = answer("T rct 1t aT bB a+b>b:e:2")
    assert row["comparisons"][0]["contrast"] == ["pindolol"]
    assert row["comparisons"][0]["versus_kind"] == "background_alone"
    assert {part["name"]: part["alone"] for part in row["drugs"]} == {"pindolol": True, "metoprolol": True}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("T rct 1t a>P:e:9", "has no sentence 9"),
        ("T rct 9t", "has no condition 9"),
        ("T rct 1t zT", "has no drug z"),
        ("T rct 1t nonsense", "'nonsense' means nothing"),
        ("1t aT", "the aim or the design is missing"),
    ],
)
def test_an_answer_that_cannot_be_read_is_refused_with_its_reason(written: str, message: str) -> None:
    with pytest.raises(AnswerError, match=message):
        answer(written)


def test_agreement_counts_what_both_readings_tell() -> None:
    first = {"pmid:1": answer("T rct 40/- 1t aT a>*P:e:2")}
    second = {"pmid:1": answer("P rct 40/- 1v aT a>*P:e:2")}
    pairs = label_studies.measure_agreement(first, second)
    assert pairs["aim"] == [("treat", "prevent")]
    assert pairs["deciding contrast"] == [("['pindolol']", "['pindolol']")]
