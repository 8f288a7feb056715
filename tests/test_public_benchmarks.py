"""Public benchmarks: what is missing is said and is no failure, and sets are put to the reader as their lines mean."""

import csv
import sys
from pathlib import Path

import pytest
from benchmarks import public
from benchmarks.public_reviews import Comparison, compare, find_direction, find_name
from benchmarks.public_trials import COLUMNS, Trial, read_trials

from willowbark.tools.reading.document import Document


def _row(**said: str) -> dict[str, str]:
    row = {
        "title": "Lamotrigine for neuropathy: a randomized trial", "text": "No difference was found.",
        "label": "0", "outcome": "Pain score", "group": "Lamotrigine", "comparator": "Placebo",
    } | said  # fmt: skip
    return {COLUMNS[name]: value for name, value in row.items()}


def _read(tmp_path: Path, **said: str) -> Trial:
    file = tmp_path / "test_set.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        table = csv.DictWriter(opened, fieldnames=[*COLUMNS.values()])
        table.writeheader()
        table.writerow(_row(**said))
    return read_trials(file)[0]


def test_without_any_file_every_set_is_named_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["public", str(tmp_path)])

    status = public.main()

    told = capsys.readouterr().out.splitlines()
    assert status == 0
    assert told[-1].startswith("nothing measured")
    for each in public.SETS:
        assert [line for line in told if line.startswith(f"{each.name}: not measured, no ")], (each.name, told)


def test_a_set_that_breaks_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(asked: public.Asked) -> None:
        raise KeyError("text")

    held = public.BenchmarkSet("held", "", lambda asked: iter(["    1 of 1"]))
    monkeypatch.setattr(public, "SETS", (public.BenchmarkSet("broken", "", breaks), held))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "argv", ["public", str(tmp_path)])

    assert public.main() == 1


@pytest.mark.parametrize(
    ("said", "drug", "against_nothing"),
    [
        ({}, "lamotrigine", True),
        ({"group": "Placebo", "comparator": "Lamotrigine 100 mg"}, "lamotrigine", True),
        ({"group": "Arm 1", "comparator": "Usual care"}, "lamotrigine", True),
        ({"comparator": "Gabapentin"}, "lamotrigine", False),
        ({"group": "Lamotrigine + Gabapentin", "comparator": "Placebo + Gabapentin"}, "lamotrigine", True),
        ({"group": "Gabapentin + Lamotrigine", "comparator": "Placebo + Gabapentin"}, "lamotrigine", True),
        ({"comparator": "Placebo matching lamotrigine"}, "lamotrigine", True),
        ({"group": "Nerve block", "title": "Nerve block or sham after knee surgery"}, None, False),
    ],
)
def test_a_trial_is_of_the_drug_that_its_comparator_has_not(
    tmp_path: Path, said: dict[str, str], drug: str | None, against_nothing: bool
) -> None:
    trial = _read(tmp_path, **said)

    assert (trial.drug, trial.against_nothing) == (drug, against_nothing)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        (
            "Is the risk of stroke at two years higher, lower, or the same when comparing aspirin to placebo?",
            Comparison("aspirin", "placebo", "stroke"),
        ),
        (
            "Is pain higher, lower, or the same when comparing exercise and diet to diet with advice?",
            Comparison("exercise and diet", "diet with advice", "pain"),
        ),
        (
            "Is relapse higher, lower, or the same when comparing lithium with carbamazepine?",
            Comparison("lithium", "carbamazepine", "relapse"),
        ),
        ("Does aspirin help?", None),
    ],
)
def test_a_review_question_is_taken_apart(question: str, asked: Comparison | None) -> None:
    assert compare(question) == asked


def test_better_is_more_of_what_is_good_and_less_of_what_is_bad() -> None:
    assert find_direction("better", "overall survival") == "higher"
    assert find_direction("better", "mortality") == "lower"
    assert find_direction("worse", "mortality") == "higher"
    assert find_direction("no_difference", "mortality") == "no difference"


@pytest.mark.parametrize(
    ("text", "asked", "name"),
    [
        ("Venlafaxine relieved anxiety.", Comparison("antidepressants", "placebo", "anxiety"), "venlafaxine"),
        ("The BIS group woke earlier.", Comparison("bispectral index (BIS) monitoring", "assessment", "stay"), "bis"),
        ("Cuffed tubes leaked less.", Comparison("cuffed tubes", "uncuffed tubes", "stridor"), "cuffed tubes"),
        ("Surgery was brief.", Comparison("rapid ART", "standard initiation", "mortality"), None),
    ],
)
def test_an_intervention_is_found_by_the_name_that_the_study_has_for_it(
    text: str, asked: Comparison, name: str | None
) -> None:
    assert find_name(Document("A trial", text), asked) == name
