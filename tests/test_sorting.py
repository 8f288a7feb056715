"""Where a drug stands on the first screen: by the trials counted, never by another drug's result."""

from itertools import product
from typing import Any

import pytest
from builders import ScriptedReader, material, record

from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.sorting import SortedDrug
from willowbark.tools.reading.reading import QuotedPassage

QUESTION = "Which existing drugs treat migraine?"


def sort_timolol(effects: dict[str, str], **fields: Any) -> SortedDrug:
    """Sort timolol by trials, one a word, each with its effect; `fields` are of every reading."""
    pool = [
        record(
            f"{number}0000000",
            f"Timolol in migraine: trial {word}",
            f"{100 * number + 60} patients were randomised to timolol or placebo. Timolol was judged {word}.",
            publication_types=["Randomized Controlled Trial"],
        )
        for number, word in enumerate(effects, 1)
    ]
    return material(QUESTION, pool, Readings(ScriptedReader(effects, **fields))).places["timolol"]


def test_one_trial_is_too_little_to_say_that_trials_report_benefit() -> None:
    one = sort_timolol({"alpha": "better"})
    two = sort_timolol({"alpha": "better", "beta": "better"})

    assert (one.place, one.cause) == ("not_judged", "one_trial")
    assert (two.place, two.tally.reporting_benefit, two.tally.trials) == ("benefit", 2, 2)


def test_the_strongest_trial_is_quoted_in_a_sentence_that_names_the_drug() -> None:
    two = sort_timolol({"alpha": "better", "beta": "better"})
    passages = [QuotedPassage(text="It was effective and well tolerated.", start=0, end=36)]
    unnamed = sort_timolol({"alpha": "better", "beta": "better"}, passages=passages)

    assert two.strongest is not None
    assert two.strongest.quote in ("Timolol was judged alpha.", "Timolol was judged beta.")
    assert two.strongest.against == ""  # the sentence does not say placebo
    assert (unnamed.place, unnamed.strongest) == ("benefit", None)


@pytest.mark.parametrize(
    ("effects", "fields", "place"),
    [
        ({"alpha": "no_difference"}, {}, "missed"),
        ({"alpha": "worse"}, {}, "missed"),
        ({"alpha": "worse", "beta": "worse"}, {}, "failed"),
        ({"alpha": "better", "beta": "no_difference"}, {}, "mixed"),
        ({"alpha": "better", "beta": "better"}, {"role": "combined", "alone": False}, "not_judged"),
        ({"alpha": "better", "beta": "better"}, {"comparator": "active"}, "not_judged"),
        ({"alpha": "better", "beta": "better"}, {"design": "animal"}, "preclinical"),
    ],
)
def test_each_drug_has_one_place(effects: dict[str, str], fields: dict[str, Any], place: str) -> None:
    assert sort_timolol(effects, **fields).place == place


OUTCOMES = {"failed": "failed", "missed": "missed", "mixed": "mixed", "benefit": "supported"}


@pytest.mark.parametrize("effects", [*product(("better", "no_difference", "worse"), repeat=3)], ids="-".join)
@pytest.mark.parametrize("reader", ["scripted", "model"])
def test_the_place_tells_what_the_outcome_tells(effects: tuple[str, ...], reader: str) -> None:
    found = sort_timolol(dict(zip(("alpha", "beta", "gamma"), effects, strict=True)), reader=reader)

    assert OUTCOMES.get(found.place, found.outcome) == found.outcome
    assert (found.outcome == "failed") <= (found.place == "failed")
    assert "better" not in effects or found.outcome in ("supported", "mixed", "failed")


def test_what_is_not_for_the_people_asked_about_or_was_withdrawn_has_a_place_that_never_leads() -> None:
    trials = [
        record(
            f"{number}0000000",
            f"{drug} in migraine in pregnancy",
            f"300 women with migraine in pregnancy were randomised to {drug} or placebo. {drug} was better.",
            publication_types=["Randomized Controlled Trial"],
        )
        for number, drug in enumerate(("Valproic acid", "Rofecoxib"), 1)
    ]
    readings = Readings(ScriptedReader(effect="better"))
    places = material("Which existing drugs prevent migraine in pregnancy?", trials, readings).places

    assert [places[drug].place for drug in ("valproic acid", "rofecoxib")] == ["unsuited", "withdrawn"]


def test_what_three_trials_compare_with_is_standard_and_has_not_failed() -> None:
    words = ("alpha", "beta", "gamma")
    effects = dict.fromkeys(words, "worse")
    found = sort_timolol(effects, role="comparator", comparator="active")

    assert (found.place, found.tally.as_comparator, found.tally.missed) == ("standard", 3, 0)


def test_the_reading_of_a_model_needs_no_second_trial() -> None:
    found = sort_timolol({"alpha": "better"}, reader="model")

    assert (found.place, found.is_read_by_model) == ("benefit", True)
