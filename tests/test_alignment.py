"""A sentence is laid on a passage word by word: what is added, moved or turned round is found."""

import pytest

from willowbark.agents.report.alignment import added

ARMS = "Attacks fell by 44% with propranolol and by 21% with placebo, but sleep did not improve."
PAIR = "Compared with placebo, propranolol reduced attacks (44% vs 21%; p<0.001) at 12 weeks in women."
LIST = "Propranolol, timolol and placebo reduced attacks by 44%, 40% and 21%, respectively."
TWO = "Propranolol increased sleep and decreased attacks."
HEDGED = "Propranolol may slightly reduce attacks in some patients."
RATS = "In rats propranolol reduced spreading depression."


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Propranolol reduced attacks by 44%.", ARMS),
        ("Propranolol reduced attacks by 44% compared with placebo.", ARMS),
        ("Propranolol reduced attacks (44% vs 21%) compared with placebo.", PAIR),
        ("In women, propranolol reduced attacks at 12 weeks.", PAIR),
        ("Propranolol, timolol and placebo lowered attacks by 44%, 40% and 21%.", LIST),
        ("Propranolol decreased attacks.", TWO),
        ("Attacks fell with propranolol.", "Propranolol reduced attacks."),
        ("Propranolol may slightly reduce attacks in some patients.", HEDGED),
        ("In rats, propranolol reduced spreading depression.", RATS),
    ],
)
def test_what_a_passage_says_shorter_or_in_another_order_is_laid_on_it(text: str, quote: str) -> None:
    assert added(text, quote, "", "propranolol") is None


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Propranolol reduced attacks by 21%.", ARMS),
        ("Attacks fell by 21% with propranolol and by 44% with placebo.", ARMS),
        ("Propranolol improved sleep.", ARMS),
        ("Propranolol reduced attacks but did not improve pain.", ARMS),
        ("Propranolol increased attacks by 44%.", ARMS),
        ("Propranolol reduced attacks by 44 mg.", ARMS),
        ("Compared with propranolol, placebo reduced attacks.", PAIR),
        ("Compared with placebo, propranolol reduced attacks (21% vs 44%).", PAIR),
        ("Propranolol reduced attacks (p>0.001).", PAIR),
        ("Propranolol reduced attacks at 12 months.", PAIR),
        ("Propranolol reduced attacks in men.", PAIR),
        ("In a randomised trial propranolol reduced attacks.", PAIR),
        ("Propranolol markedly reduced attacks.", PAIR),
        ("Propranolol reduced attacks by 40%.", LIST),
        ("Propranolol reduced attacks by 44%.", LIST),  # nothing is taken out of a list of numbers
        ("Propranolol reduced attacks by 21%.", PAIR),
        ("Propranolol increased attacks.", TWO),
        ("Propranolol decreased sleep.", TWO),
        ("Propranolol reduced attacks.", HEDGED),
        ("Propranolol may reduce attacks in all patients.", HEDGED),
        ("Propranolol reduced spreading depression in patients.", RATS),
        ("Timolol reduced attacks.", PAIR),
    ],
)
def test_what_is_added_moved_or_turned_round_is_found(text: str, quote: str) -> None:
    assert added(text, quote, "", "propranolol") is not None


def test_people_and_condition_may_be_named_by_the_title_but_no_number() -> None:
    quote = "Propranolol reduced attacks."
    assert added("Propranolol reduced attacks in migraine.", quote, "Propranolol in migraine", "propranolol") is None
    assert added("Propranolol reduced 62 attacks.", quote, "Propranolol in 62 adults", "propranolol") is not None


def test_a_negation_that_ends_the_sentence_is_not_left_off() -> None:
    quote = "Attacks fell with propranolol, but changes in sleep were not observed."
    assert added("Propranolol changed sleep.", quote, "", "propranolol") is not None
