"""A study is assembled from readings of single drugs, and says of each what its reading said."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.appraisal.stance import derive_stance
from willowbark.tools.reading.assembler import UNKNOWN, assemble_study
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Comparator, Effect, QuotedPassage, Reading, Role
from willowbark.tools.records.study import Study

TITLE = "Propranolol, timolol and placebo in migraine"
RESULT = "Attacks fell by half with propranolol (OR 2.1; 95% CI 1.4 to 3.2)."
END = "Propranolol prevents migraine."
DOCUMENT = Document.cut(TITLE, f"{RESULT} {END}")


def passage(text: str) -> QuotedPassage:
    start = DOCUMENT.whole.index(text)
    return QuotedPassage(text=text, start=start, end=start + len(text))


def reading(drug: str = "propranolol", role: Role = "tested", **more: Any) -> Reading:
    fields = {"kind": "efficacy", "comparator": "placebo", "effect": "better", "passages": (passage(RESULT),), **more}
    return Reading(key="pmid:1", drug=drug, condition="migraine", role=role, reader="learned", version="1", **fields)


def assemble(*readings: Reading) -> Study:
    return assemble_study(readings, DOCUMENT)


def test_a_comparison_has_its_arms_direction_passage_and_estimate() -> None:
    study = assemble(reading(participants=80))
    row = study.comparisons[0]
    assert (row.arm, row.versus, row.favours, row.significant) == ("propranolol", "placebo", "arm", True)
    assert row.passage is not None
    assert row.passage.text == RESULT
    assert row.estimate is not None
    assert (row.estimate.measure, row.estimate.value, row.estimate.low) == ("OR", 2.1, 1.4)
    assert row.participants == 80


def test_the_people_of_three_arms_are_no_participants_of_one_comparison() -> None:
    study = assemble(reading(participants=80), reading("timolol", participants=80))
    assert [row.participants for row in study.comparisons] == [None, None]


def test_the_estimate_of_another_drug_is_none_of_the_drugs() -> None:
    study = assemble(reading("timolol"))
    assert study.comparisons[0].estimate is None


def test_an_active_comparator_is_named_by_the_only_other_drug_compared() -> None:
    control = reading("timolol", "comparator", comparator="active", effect="no_difference")
    study = assemble(reading(comparator="active"), control)
    assert study.comparisons[0].versus == "timolol"
    assert derive_stance(study, "timolol").says == "comparator"


def test_of_two_possible_comparators_none_is_named() -> None:
    others = [reading(drug, "comparator", comparator="active") for drug in ("timolol", "metoprolol")]
    study = assemble(reading(comparator="active"), *others)
    assert study.comparisons[0].versus == UNKNOWN
    assert derive_stance(study, "propranolol").is_against_nothing is False


def test_a_missed_primary_outcome_stands_before_another_that_was_met() -> None:
    study = assemble(reading(primary="not_met"))
    assert [(row.primary, row.favours) for row in study.comparisons] == [(True, "neither"), (False, "arm")]
    stance = derive_stance(study, "propranolol")
    assert stance.says == "missed"
    assert stance.comparison is not None
    assert stance.comparison.passage is None


@pytest.mark.parametrize(("quote", "says"), [(RESULT, "missed"), (TITLE, "contradicts")])
def test_no_difference_refutes_where_the_authors_conclude_it(quote: str, says: str) -> None:
    study = assemble(reading(effect="no_difference", passages=(passage(quote),)))
    assert derive_stance(study, "propranolol").says == says


def test_a_result_on_something_else_is_on_another_condition() -> None:
    study = assemble(reading(match="complication"))
    assert study.comparisons[0].condition == "a complication of migraine"


@pytest.mark.parametrize(("drug", "says"), [("timolol", "none"), ("propranolol", "supports")])
def test_what_people_took_before_is_not_credited_with_what_helped_them_then(drug: str, says: str) -> None:
    quote = "After failure of timolol, propranolol halved attacks of migraine."
    document = Document.cut(TITLE, quote)
    start = document.whole.index(quote)
    told = (QuotedPassage(text=quote, start=start, end=start + len(quote)),)
    study = assemble_study([reading(drug, comparator="before_after", passages=told)], document)
    assert derive_stance(study, drug).says == says


readings = st.builds(
    reading,
    st.sampled_from(["propranolol", "timolol"]),
    st.sampled_from(get_args(Role)),
    comparator=st.sampled_from(get_args(Comparator)),
    effect=st.sampled_from(get_args(Effect)),
    alone=st.booleans(),
    hedged=st.booleans(),
    non_inferior=st.booleans(),
)


@given(readings)
def test_no_study_supports_what_its_reading_did_not(made: Reading) -> None:
    if derive_stance(assemble(made), made.drug).says == "supports":
        assert made.verdict == "supports"


def test_the_part_that_the_condition_plays_is_told_of_the_study() -> None:
    assert assemble(reading(condition_role="prevent_target")).condition_role == "prevent_target"
    assert assemble(reading()).condition_role is None
