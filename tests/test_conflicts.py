"""Figures on which abstract and full text disagree are named with both sentences; what may be two things is not."""

import pytest

from willowbark.tools.records.parts import Section
from willowbark.tools.works.fulltext import MAX_QUOTE_CHARS, conflicts


def section(text: str, title: str = "Results") -> Section:
    return Section(kind="table" if title.startswith("Table") else "results", title=title, text=text)


@pytest.mark.parametrize(
    ("abstract", "text", "what"),
    [
        ("44 participants were randomised.", "In all, 40 participants were randomized.", "participants randomised"),
        ("We enrolled 120 adult patients.", "A total of 112 patients were enrolled.", "participants enrolled"),
        ("1,204 women were analysed.", "Outcomes of 1240 women were analyzed.", "participants analysed"),
        (
            "It fell (HR 0.38; 95% CI 0.23-0.64).",
            "The hazard ratio was 0.38 (95% CI 0.23 to 0.46).",
            "HR",
        ),
        ("It fell (OR 2.4; 95% CI 1.3-4.4).", "It fell (OR 2.8; 95% CI 1.3-4.4).", "OR"),
        ("The primary outcome was rarer (RR 0.60).", "The primary endpoint was rarer (RR 0.80).", "RR"),
    ],
    ids=["randomised", "enrolled", "analysed", "limit", "value", "primary outcome"],
)
def test_a_figure_that_differs_is_named_with_both_sentences(abstract: str, text: str, what: str) -> None:
    [found] = conflicts(abstract, [section(text)])

    assert found == {"what": what, "abstract": abstract, "full_text": text, "section": "Results"}


@pytest.mark.parametrize(
    ("abstract", "text"),
    [
        ("44 participants were randomised.", "In all, 44 participants were randomised and 40 were analysed."),
        ("44 participants were randomised.", "Of 44 who gave consent, 40 participants were randomised."),
        ("44 were randomised, of which 40 completed.", "40 participants were randomised."),
        ("44 participants were randomised.", "22 participants were randomised to placebinol."),
        ("797 people were randomised.", "In the PET substudy 60 people were randomised."),
        ("797 people were randomised.", "28 patients were randomised."),
        ("44 participants were randomised.", "40 participants completed the trial."),
        ("It fell (OR 2.4; 95% CI 1.3-4.4).", "It fell (OR 2.38; 95% CI 1.32-4.41)."),
        ("It fell (OR 2.4; 95% CI 1.3-4.4).", "Nausea was rarer (OR 0.5; 95% CI 0.2-0.9)."),
        ("It fell (OR 2.4; 95% CI 1.3-4.4).", "It fell (RR 2.8; 95% CI 1.3-4.4)."),
        ("It fell.", "40 patients were randomised (OR 2.8; 95% CI 1.3-4.4)."),
        ("", ""),
    ],
    ids=[
        "the same, and those analysed",
        "told elsewhere in the text",
        "told elsewhere in the abstract",
        "an arm",
        "a part of the study",
        "another order of size",
        "another stage",
        "more decimals",
        "another outcome",
        "another measure",
        "the abstract is silent",
        "nothing",
    ],
)
def test_what_may_be_figures_of_two_things_is_no_conflict(abstract: str, text: str) -> None:
    assert conflicts(abstract, [section(text)]) == []


def test_rows_of_tables_are_compared_too() -> None:
    row = "Attacks; Placebinol vs placebo > OR (95% CI): 2.8 (1.3-4.4)"
    [found] = conflicts("Attacks fell (OR 2.4; 95% CI 1.3-4.4).", [section(row, "Table 2")])

    assert (found["what"], found["full_text"], found["section"]) == ("OR", row, "Table 2")


def test_numbers_beyond_reason_are_no_participants() -> None:
    many = "4" * 5000

    assert conflicts(f"{many} patients were randomised.", [section(f"1{many} patients were randomised.")]) == []
    assert conflicts(f"It fell (OR {many}.0).", [section(f"It fell (OR 1{many}.0).")]) == []


def test_long_sentences_are_cut() -> None:
    long = "44 patients were randomised, " + "with care, " * 100 + "all of them."
    [found] = conflicts(long, [section("40 patients were randomised.")])

    assert len(found["abstract"]) == MAX_QUOTE_CHARS
