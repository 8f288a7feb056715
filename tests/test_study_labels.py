"""What labels of whole studies teach of single drugs follows from the rules by which verdicts follow from studies."""

from typing import Any

from benchmarks.training.studies import DrugLabel, list_drug_labels


def compare(**changes: Any) -> dict[str, Any]:
    """Return a label's comparison of propranolol with placebo."""
    row = {
        "arm": "propranolol", "versus": "placebo", "against": "arm", "versus_kind": "placebo",
        "endpoint": "efficacy", "primary": True, "condition": None, "subgroup": False, "favours": "arm",
        "significant": True, "equivalence": None, "basis": "own_data", "sentences": [[40, 90]],
    }  # fmt: skip
    return row | changes


def label(*comparisons: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the label of a trial of propranolol in migraine, in people who have asthma."""
    drug = {"name": "propranolol", "role": "tested", "alone": True}
    arms = [
        {"name": "propranolol", "role": "drug", "drugs": ["propranolol"]},
        {"name": "placebo", "role": "placebo", "drugs": []},
        {"name": "timolol", "role": "drug", "drugs": ["timolol"]},
    ]
    conditions = [{"name": "migraine", "role": "prevent_target"}, {"name": "asthma", "role": "people"}]
    row = {
        "record": "pmid:1", "part": "training", "aim": "prevent", "design": "rct", "people": [],
        "conditions": conditions, "drugs": [drug], "arms": arms, "comparisons": comparisons, "statements": [],
        "sure": 1,
    }  # fmt: skip
    return row | changes


def tell(*comparisons: dict[str, Any], **changes: Any) -> DrugLabel:
    """Return what a label says of its one drug in its one target."""
    (row,) = list_drug_labels(label(*comparisons, **changes))
    return row


def test_a_gain_over_placebo_supports_and_its_sentence_carries_it() -> None:
    row = tell(compare())
    told = {name: row.values[name] for name in ("verdict", "effect", "comparator", "kind", "primary")}
    assert told == {
        "verdict": "supports", "effect": "better", "comparator": "placebo", "kind": "efficacy", "primary": "met",
    }  # fmt: skip
    assert (row.condition, row.start, row.is_sure) == ("migraine", 40, True)


def test_no_difference_from_placebo_is_a_failure_as_readers_of_single_drugs_had_it() -> None:
    row = tell(compare(favours="neither", significant=False))
    told = (row.values["verdict"], row.values["effect"], row.values["primary"])
    assert told == ("contradicts", "no_difference", "not_met")


def test_a_comparator_is_neither_credited_nor_blamed() -> None:
    drug = {"name": "timolol", "role": "comparator", "alone": None}
    row = tell(compare(versus="timolol", versus_kind="active"), drugs=[drug])
    assert (row.values["verdict"], row.values["comparator"]) == ("neutral", "active")
    assert "effect" not in row.values
    assert "alone" not in row.values


def test_a_study_without_a_target_says_nothing_of_its_drugs() -> None:
    assert list(list_drug_labels(label(compare(), conditions=[{"name": "asthma", "role": "people"}]))) == []


def test_a_result_on_another_condition_says_nothing_of_the_target() -> None:
    row = tell(compare(condition="asthma"))
    assert (row.values["verdict"], row.start) == ("none", None)


def test_a_gain_in_its_own_arm_tells_no_comparator() -> None:
    row = tell(compare(versus=None, against="baseline", versus_kind="baseline"))
    assert row.values["verdict"] == "supports"
    assert "comparator" not in row.values


def test_what_authors_state_counts_where_nothing_was_compared() -> None:
    view = {"drug": "propranolol", "says": "works", "basis": "judgement", "condition": None, "sentences": [[5, 9]]}
    row = tell(statements=[view])
    assert (row.values["verdict"], row.start) == ("supports", 5)


def test_what_authors_cite_of_others_is_no_verdict_of_their_study() -> None:
    view = {"drug": "propranolol", "says": "works", "basis": "cited", "condition": None, "sentences": [[5, 9]]}
    row = tell(statements=[view])
    assert (row.values["verdict"], row.start) == ("none", None)
