"""The case table: what kind of study, what it found, which numbers, each read as a reader would."""

import json
from pathlib import Path
from typing import Any

import pytest

from willowbark.tools.appraisal import (
    classify_design,
    conclusion_of,
    direction_of,
    effect_sizes,
    followup_months,
    phase,
    primary_outcome,
    sample_size,
    why_stopped_kind,
)
from willowbark.tools.reading.reporting import arms

ALL = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "appraisal.jsonl").read_text(encoding="utf-8").splitlines()
]
CASES = [case for case in ALL if not case["kept_apart"]]
APART = [case for case in ALL if case["kept_apart"]]
APART_RIGHT = 0.7  # share of the directions; these were written after the rules


def having(field: str) -> pytest.MarkDecorator:
    chosen = [case for case in CASES if field in case["expect"]]
    return pytest.mark.parametrize("case", chosen, ids=[case["id"] for case in chosen])


def test_the_table_has_at_least_sixty_cases_with_a_name_each() -> None:
    assert len(CASES) >= 60
    assert len({case["id"] for case in ALL}) == len(ALL)


def test_most_directions_are_right_on_sentences_written_after_the_rules() -> None:
    asked = [case for case in APART if "sentence" in case]
    right = [
        case
        for case in asked
        if direction_of(case["sentence"], case["drug"], case["outcome"]).direction == case["expect"]["direction"]
    ]
    assert len(right) >= APART_RIGHT * len(asked)


@having("design")
def test_a_design_is_read_with_its_reason(case: dict[str, Any]) -> None:
    found = classify_design(case["title"], case["text"], case["publication_types"], case["mesh_terms"])
    assert found.design.value == case["expect"]["design"]
    assert found.reason


@having("direction")
def test_a_direction_is_read_for_the_drug_that_is_asked_about(case: dict[str, Any]) -> None:
    if "sentence" in case:
        found = direction_of(case["sentence"], case["drug"], case["outcome"])
        assert found.sentence == case["sentence"]
    else:
        found = conclusion_of(case["title"], case["text"], case["drug"], case["condition"])
    assert found.direction.value == case["expect"]["direction"]


@pytest.mark.parametrize(
    ("field", "reader"),
    [("sample_size", sample_size), ("followup_months", followup_months), ("arms", arms), ("phase", phase)],
)
def test_a_number_is_read_from_a_sentence_of_the_text_or_not_at_all(field: str, reader: Any) -> None:
    for case in CASES:
        if field not in case["expect"]:
            continue
        found = reader(case["text"])
        assert (found and found.value) == case["expect"][field], case["id"]
        assert found is None or found.sentence in " ".join(case["text"].replace("–", "-").split()), case["id"]


@having("primary_outcome")
def test_a_primary_outcome_is_quoted(case: dict[str, Any]) -> None:
    found, expected = primary_outcome(case["text"]), case["expect"]["primary_outcome"]
    assert (found is None) == (expected is None)
    if found:
        assert expected in found.value
        assert found.value in found.sentence


@having("effect_sizes")
def test_an_effect_size_comes_with_its_interval_and_p(case: dict[str, Any]) -> None:
    found = effect_sizes(case["text"])
    assert [[e.measure, e.value, e.ci_low, e.ci_high, e.p] for e in found] == case["expect"]["effect_sizes"]


@having("why_stopped_kind")
def test_a_reason_for_stopping_has_a_kind(case: dict[str, Any]) -> None:
    assert why_stopped_kind(case["why_stopped"]) == case["expect"]["why_stopped_kind"]
