"""What the small reader tells of a drug is held to its own passage."""

from typing import Any

import pytest

from willowbark.tools.reading.assembler import assemble_study
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.holding import HeldReading, hold_to_passage
from willowbark.tools.reading.reading import QuotedPassage, Reading


def hold(quote: str, *others: str, title: str = "", drug: str = "propranolol", **more: Any) -> HeldReading:
    """Hold a reading of a record of some sentences, whose passage is the first of them."""
    document = Document.cut(title, " ".join((quote, *others)))
    return hold_to_passage(make_reading(document, quote, drug, **more), document)


def make_reading(document: Document, quote: str, drug: str, **more: Any) -> Reading:
    start = document.whole.index(quote)
    passage = QuotedPassage(text=quote, start=start, end=start + len(quote))
    fields = {"role": "tested", "comparator": "placebo", "effect": "better", "condition": "migraine", **more}
    return Reading(
        key="pmid:1", drug=drug, kind="efficacy", passages=(passage,), reader="learned", version="1", **fields
    )


def quote_of(held: HeldReading) -> str:
    return " ".join(passage.text for passage in held.reading.passages)


def test_a_sentence_on_side_effects_alone_carries_no_benefit() -> None:
    better = "CONCLUSIONS: Propranolol reduced attacks of migraine."
    assert quote_of(hold("RESULTS: Timolol had more side effects than propranolol.", better)) == better


def test_a_trial_without_another_sentence_does_not_tell_which_side_it_favours() -> None:
    held = hold("Propranolol caused more side effects.")
    assert (held.reading.role, held.reading.effect) == ("tested", "mixed")


def test_a_review_is_quoted_where_it_names_the_drug() -> None:
    named = "CONCLUSIONS: Evidence supports the efficacy of propranolol."
    held = hold("Individual plans should be pursued.", named, design="review")
    assert quote_of(held) == named


def test_a_review_that_tells_nothing_of_the_drug_has_no_result() -> None:
    held = hold("Individual plans should be pursued.", "Propranolol is a beta-blocker.", design="review")
    assert (held.reading.role, held.reading.effect) == ("mentioned", "not_reported")


def test_a_review_is_not_quoted_on_another_condition() -> None:
    named = "CONCLUSIONS: Propranolol is effective in migraine."
    held = hold("RESULTS: Propranolol is effective in hypertension.", named, design="review")
    assert quote_of(held) == named


@pytest.mark.parametrize(
    "quote",
    [
        "Propranolol was administered to 16 patients.",
        "Propranolol saved costs of $900.",
        "Propranolol caused more adverse events.",
    ],
)
def test_who_was_given_what_costs_and_harm_are_no_benefit(quote: str) -> None:
    assert hold(quote, comparator="before_after").reading.effect == "mixed"


def test_a_change_for_the_worse_is_not_told_as_no_difference() -> None:
    leaning = {"effect": "worse", "probability": 0.3}
    assert hold("Worsening on propranolol was significant (p < 0.01).", **leaning).reading.effect == "mixed"
    assert hold("Attacks on propranolol and placebo were alike.", **leaning).reading.effect == "no_difference"


def test_a_significant_worsening_is_not_told_as_no_difference() -> None:
    worse = "The worsening on propranolol was significant when compared to the slight decrease on placebo."
    assert hold(worse, effect="no_difference").reading.effect == "mixed"
    denied = "Propranolol caused no significant worsening."
    assert hold(denied, effect="no_difference").reading.effect == "no_difference"


def test_who_asks_for_studies_of_whether_a_drug_works_tells_no_benefit() -> None:
    asked = "Further studies are necessary to clarify the effectiveness of propranolol in the prophylaxis of migraine."
    assert hold(asked, comparator="before_after").reading.effect == "mixed"


def test_a_sentence_that_discourages_a_drug_is_no_support() -> None:
    held = hold("Plans differ.", "Propranolol should be discouraged for its modest efficacy.", design="review")
    assert held.reading.effect == "not_reported"


def test_a_review_whose_quote_names_no_placebo_does_not_tell_with_what_it_compared() -> None:
    held = hold("Propranolol seems to be effective.", design="systematic_review", participants=727)
    assert (held.reading.comparator, held.reading.participants) == ("not_reported", None)


def test_a_review_on_the_condition_keeps_its_people() -> None:
    review = {"design": "systematic_review", "participants": 727}
    held = hold("Propranolol seems to be effective.", title="Propranolol in migraine", **review)
    assert held.reading.participants == 727


@pytest.mark.parametrize(
    ("quote", "title"),
    [
        ("The combination improved pain.", "Combination of propranolol and amitriptyline in migraine"),
        ("The combination improved pain.", "Propranolol/amitriptyline in migraine"),
        ("A combination of propranolol with low dose amitriptyline reduced attacks.", ""),
        ("Attacks fell with propranolol hydrochloride and amitriptyline combinations.", ""),
        ("Attacks fell with propranolol 40 mg combined with amitriptyline 10 mg.", ""),
    ],
)
def test_a_joined_drug_is_not_credited_alone(quote: str, title: str) -> None:
    held = hold(quote, title=title)
    assert (held.reading.alone, held.partners) == (False, ("amitriptyline",))


def test_an_abbreviation_joined_with_a_drug_is_a_partner_without_a_name() -> None:
    held = hold("Propranolol/AMT reduced attacks.")
    assert held.partners == ("another drug",)


def test_two_drugs_given_together_are_a_combination() -> None:
    held = hold("Mood improved in the group treated with propranolol and timolol together.")
    assert (held.partners, held.reading.alone) == (("timolol",), False)


def test_a_drug_tested_alone_beside_a_combination_is_credited() -> None:
    held = hold("Propranolol alone reduced attacks.", title="Propranolol plus amitriptyline, or propranolol")
    assert (held.reading.alone, held.partners) == (True, ())


@pytest.mark.parametrize(("condition", "effect"), [("migraine", "better"), ("tension-type headache", "no_difference")])
def test_a_failure_in_one_of_two_conditions_is_told_of_that_one(condition: str, effect: str) -> None:
    quote = "Propranolol is useful in migraine but cannot be recommended for tension-type headache."
    assert hold(quote, condition=condition).reading.effect == effect


def test_a_result_on_the_other_condition_of_a_title_is_not_on_the_one_asked_about() -> None:
    quote = "Propranolol reduced attacks of migraine."
    title = "Propranolol in migraine and tension-type headache"
    assert hold(quote, title=title, condition="tension-type headache").reading.match == "other"
    assert hold(quote, title=title).reading.match == "same"


@pytest.mark.parametrize(
    "quote",
    [
        "Adding a diet was more effective than propranolol alone.",
        "Amitriptyline, but not propranolol, reduced attacks.",
        "Pain fell, with non-significantly greater relief with propranolol.",
    ],
)
def test_a_drug_that_did_less_is_not_called_better(quote: str) -> None:
    held = hold(quote, comparator="active").reading
    assert held.role == "comparator" or held.effect == "mixed"


@pytest.mark.parametrize(
    "quote",
    [
        "Propranolol gave efficacy comparable to that of timolol.",
        "Propranolol had similar attack-reducing effects to both timolol and metoprolol.",
        "Propranolol and timolol showed similar efficacy.",
    ],
)
def test_equal_efficacy_is_no_superiority(quote: str) -> None:
    held = hold(quote, comparator="active").reading
    assert (held.effect, held.non_inferior) == ("no_difference", True)


def test_two_doses_without_a_difference_refute_nothing() -> None:
    quote = "Both doses of propranolol were equivalent."
    document = Document.cut("", quote)
    reading = make_reading(document, quote, "propranolol", comparator="dose", effect="no_difference")
    assert [row.against for row in assemble_study([reading], document).comparisons] == ["baseline_on_drug"]


@pytest.mark.parametrize(
    ("end", "comparator"),
    [("relative to propranolol alone.", "not_reported"), ("than propranolol or placebo.", "placebo")],
)
def test_what_was_no_better_than_a_control_tells_nothing_of_it_beside_placebo(end: str, comparator: str) -> None:
    held = hold(f"Timolol provided no additional relief {end}", effect="no_difference")
    assert (held.reading.role, held.reading.comparator) == ("comparator", comparator)


def test_a_models_reading_is_not_held_again() -> None:
    document = Document.cut("", "Timolol had more side effects.")
    reading = make_reading(document, document.whole, "propranolol").model_copy(update={"reader": "model"})
    assert hold_to_passage(reading, document).reading == reading


def test_where_the_record_gives_a_drug_alone_too_its_own_result_is_told() -> None:
    own = "RESULTS: In every drug-treated group attacks were reduced in comparison with placebo."
    joined = "CONCLUSIONS: Combined treatment with propranolol and timolol was better still."
    held = hold(joined, own, "METHODS: Groups took propranolol, timolol, both, or placebo.")
    assert (quote_of(held), held.reading.alone) == (own, True)
