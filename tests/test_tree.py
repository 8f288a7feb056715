"""MeSH's tree tells which condition is a form of which, under any of their names and in both directions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.lexicon.conditions import known_names
from willowbark.tools.lexicon.tree import find_in_tree, find_relation, list_tree_numbers

NAMES = sorted(name for name in set(known_names()) if list_tree_numbers(name))
WIDER = {"narrower": "wider", "wider": "narrower", "same": "same"}


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ("major depressive disorder", "depression", "narrower"),
        ("Major Depressive Disorder", "depressive symptoms", "narrower"),
        ("treatment-resistant depression", "depression", "narrower"),
        ("postpartum depression", "depression", "narrower"),
        ("bipolar depression", "depression", "other"),
        ("type 2 diabetes", "diabetes", "narrower"),
        ("inflammatory bowel disease", "ulcerative colitis", "wider"),
        ("heart failure with reduced ejection fraction", "heart failure", "narrower"),
        ("plaque psoriasis", "psoriasis", "same"),
        ("portal hypertension", "hypertension", "other"),
        ("pulmonary arterial hypertension", "hypertension", "other"),
        ("pulmonary hypertension", "hypertension", "other"),
        ("chronic migraine", "migraine", "narrower"),
        ("diabetic nephropathy", "diabetes", "complication"),
        ("diabetic nephropathy", "type 2 diabetes", "complication"),
        ("diabetic nephropathy", "chronic kidney disease", "other"),
        ("gout", "migraine", "other"),
    ],
)
def test_a_condition_is_placed_in_the_tree_by_any_of_its_names(one: str, other: str, relation: str) -> None:
    assert find_relation(one, other) == relation


@given(st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_what_is_narrower_one_way_is_wider_the_other_way(one: str, other: str) -> None:
    relation = find_relation(one, other)
    back = find_relation(other, one)
    if relation in ("same", "wider") or back in ("same", "wider"):
        assert back == "same" if relation == "same" else back in ("narrower", "complication", "wider")
    assert not (relation == "narrower" and back in ("complication", "other"))


@given(st.sampled_from(NAMES))
def test_every_name_of_the_lexicon_is_the_same_as_itself_in_capitals(name: str) -> None:
    assert find_relation(name, name) == "same"


def test_a_wider_name_that_the_lexicon_lists_is_not_the_conditions_own() -> None:
    assert find_relation("insomnia", "sleep apnea") == "other"
    assert find_relation("sleep apnea", "insomnia") == "other"


def test_names_that_only_mesh_has_are_found_and_the_longer_of_two_is_meant() -> None:
    found = find_in_tree("Patients with MALT lymphoma, major depressive disorder or polycystic ovary syndrome")
    assert [each.text for each in found] == ["MALT lymphoma", "major depressive disorder", "polycystic ovary syndrome"]
