"""Numbers that an abstract reports are those of the drug and of the people they are shown for."""

import pytest

from willowbark.tools.reading.numbers import find_effect_sizes, list_figures

ROW = "The effects against placebo were: aspirin (RR 0.5); ibuprofen RR 0.6, 95% CI 0.5 to 0.7; naproxen RR 0.7."


@pytest.mark.parametrize(("drug", "values"), [("aspirin", [0.5]), ("ibuprofen", [0.6]), ("propranolol", [])])
def test_an_effect_size_in_a_row_is_that_of_the_drug_before_it(drug: str, values: list[float]) -> None:
    assert [size.value for size in find_effect_sizes([ROW], drug)] == values


def test_an_effect_size_in_a_sentence_that_names_no_drug_is_that_of_the_record() -> None:
    assert [size.value for size in find_effect_sizes(["Death was rarer (HR 0.78)."], "aspirin")] == [0.78]


@pytest.mark.parametrize(
    "sentence",
    ["Aspirin widened the SD of RR (16.0 +/- 6.6 ms).", "Aspirin lowered HR (-5 bpm).", "Mean RR 820 ± 40 ms."],
)
def test_a_heart_rate_is_no_hazard_ratio(sentence: str) -> None:
    assert find_effect_sizes([sentence], "aspirin") == []


def test_doses_and_pressures_are_no_figures_of_a_result_and_ranges_stay_whole() -> None:
    assert list_figures("Response was 12-20% on 5/6.25 mg, at 128/75 mm Hg, and fell by -3%.") == ["12-20%", "-3%"]


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Mortality fell by 24 percent (95 percent CI, 13 to 33 percent).", ["24 percent", "95 percent CI, 13 to 33"]),
        ("More reached HbA1c <7.0% or a response of >=50% (≥2.5%, ≥10-20%).", []),
        ("Antibodies to IL-12/23 helped 12/23 patients.", ["12/23"]),
    ],
)
def test_figures_are_shares_in_words_too_and_no_bounds_or_names(sentence: str, found: list[str]) -> None:
    assert list_figures(sentence) == found
