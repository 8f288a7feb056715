"""A line of a first screen is held to the words that it quotes; a release waits for it."""

import pytest
from benchmarks.joint import JointLabel, score_study
from benchmarks.own_quotes import ShownLine, find_denial

from willowbark.tools.records.study import Arm, Comparison, Study

PASSAGE = "Propranolol reduced attacks more than placebo (OR 2.1)."
LINE = ShownLine("propranolol", "better", "placebo", 80, "OR 2.1", PASSAGE, "Eighty patients were randomised.")


def test_a_line_that_its_quote_bears_out_is_not_denied() -> None:
    assert find_denial(LINE) == ""


@pytest.mark.parametrize(
    ("changes", "denial"),
    [
        (
            {"passage": "Propranolol reduced attacks less well than timolol."},
            "its quote says that it did less, or not more",
        ),
        ({"passage": "Timolol, but not propranolol, reduced attacks."}, "its quote says that it did less, or not more"),
        ({"comparator": "timolol"}, "its quote does not name timolol"),
        ({"passage": "Propranolol reduced attacks (OR 2.1)."}, "its quote names no placebo"),
        ({"participants": 800}, "its quote does not count 800 people"),
        ({"figures": "OR 2.7"}, "its quote does not write 2.7"),
        ({"result": "no difference"}, "its quote tells of no failure"),
        ({"passage": ""}, "it has no quote"),
    ],
)
def test_what_its_quote_does_not_hold_denies_a_line(changes: dict[str, object], denial: str) -> None:
    assert find_denial(LINE._replace(**changes)) == denial  # type: ignore[arg-type]


def study(**more: object) -> Study:
    arms = (Arm(name="a", role="drug", drugs=("propranolol",)), Arm(name="b", role="drug", drugs=("timolol",)))
    fields = {"arm": "a", "versus": "b", "endpoint": "efficacy", "favours": "arm", "significant": True, **more}
    row = Comparison.model_validate(fields)
    return Study(key="pmid:1", reader="model", version="1", arms=arms, comparisons=(row,))


def test_a_comparison_told_from_the_other_side_is_the_same() -> None:
    label = JointLabel("pmid:1", frozenset({"timolol"}), "propranolol", "versus")
    assert score_study(study(), label) == (True, True, True)


def test_direction_is_right_only_with_arms_and_comparator() -> None:
    assert score_study(study(), JointLabel("pmid:1", frozenset({"propranolol"}), "placebo", "arm")) == (
        True,
        False,
        False,
    )


def test_what_is_not_significant_favours_neither() -> None:
    label = JointLabel("pmid:1", frozenset({"propranolol"}), "timolol", "neither")
    assert score_study(study(significant=False), label) == (True, True, True)
