"""A sentence is laid on a passage word by word: what is added, moved or turned round is found."""

import pytest

from willowbark.agents.asking.alignment import added, words

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


OBJECTIONS = [
    ("Most women had fewer attacks with propranolol.", "Most of the women had fewer attacks with propranolol.", None),
    (
        "Most women had fewer attacks with propranolol.",
        "Most of the older women had fewer attacks with propranolol.",
        "moves most",
    ),
    ("Propranolol reduced all attacks.", "In all women propranolol reduced sleep and attacks.", "moves all"),
    ("Propranolol reduced attacks, attacks, attacks.", "Propranolol reduced attacks.", None),
    (
        "Propranolol reduced attacks, attacks, attacks, attacks.",
        "Propranolol reduced attacks.",
        "says the same word over and over",
    ),
    (
        "Not propranolol did not reduce attacks.",
        "Propranolol did not reduce attacks.",
        "negates more than its quote does",
    ),
    ("Propranolol did not change sleep and not pain.", "Propranolol did not change sleep and not pain.", None),
    ("Propranolol changed sleep.", "Not surely propranolol changed sleep.", "leaves out not"),
    ("Propranolol changed sleep.", "Attacks did not fall. Propranolol changed sleep.", None),
    ("Propranolol changed sleep.", "Propranolol may have changed sleep.", "leaves out may"),
    ("Propranolol changed sleep.", "Propranolol changed sleep in mice.", "leaves out mice"),
    ("Propranolol changed sleep.", "Propranolol changed sleep in no woman.", "leaves out no"),
    ("Propranolol changed sleep.", "Propranolol changed sleep but no other symptom.", None),
    ("Propranolol changed sleep.", "Propranolol changed sleep; no woman left.", None),
    ("Propranolol changed sleep.", "Propranolol changed sleep, but not significantly.", "leaves out not"),
    ("Propranolol changed sleep.", "Propranolol changed sleep. Pain did not.", None),
    (
        "Propranolol changed sleep.",
        "A change in sleep with propranolol and in pain was not observed.",
        "leaves out not",
    ),
    ("Propranolol reduced attacks.", "Propranolol combined with timolol reduced attacks.", "leaves out timolol"),
    ("Propranolol reduced attacks.", "Propranolol, like timolol, reduced attacks.", None),
    (
        "Propranolol reduced attacks.",
        "Propranolol compared with timolol reduced attacks when combined with sleep.",
        None,
    ),
    (
        "Propranolol reduced attacks compared with timolol.",
        "Propranolol reduced attacks more than placebo or timolol.",
        None,
    ),
    (
        "Propranolol was better than timolol.",
        "Timolol was better than propranolol.",
        "turns the comparison with propranolol round",
    ),
    (
        "Timolol was better than propranolol.",
        "Propranolol was better than timolol.",
        "turns the comparison with timolol round",
    ),
    ("Timolol and propranolol changed sleep.", "Propranolol and timolol changed sleep.", "moves Propranolol"),
    (
        "Propranolol increased attacks.",
        "Propranolol increased sleep and decreased attacks.",
        "joins words that its quote parts",
    ),
    ("Attacks decreased with propranolol.", "Propranolol decreased attacks.", None),
    (
        "Attacks decreased, sleep increased with propranolol.",
        "Propranolol increased sleep and decreased attacks.",
        "moves decreased",
    ),
    ("Propranolol decreased attacks but not sleep.", "Propranolol decreased sleep but not attacks.", "moves but"),
    (
        "Propranolol or placebo reduced attacks.",
        "Propranolol reduced attacks.",
        "says placebo, which its quote does not",
    ),
    (
        "With propranolol 44% with placebo.",
        "Attacks fell by 44% with propranolol and by 21% with placebo.",
        "gives 44 to another arm",
    ),
    ("Propranolol reduced attacks by .44.", "Propranolol reduced attacks by 0.44.", None),
    ("Propranolol reduced attacks by 1,200.", "Propranolol reduced attacks by 1200.", None),
    ("Propranolol changed attacks by +2.", "Propranolol changed attacks by 2.", None),
    ("Propranolol changed attacks by -2.", "Propranolol changed attacks by 2.", "says -2, which its quote does not"),
    ("Propranolol reduced two attacks.", "Propranolol reduced 2 attacks.", None),
    (
        "Propranolol 5 mg reduced attacks.",
        "Propranolol 5 and 10 mg reduced attacks.",
        "gives one number of the list 5, 10",
    ),
    (
        "Propranolol reduced 5 attacks in 10 women.",
        "In 10 women propranolol reduced 5 attacks.",
        "changes the order of numbers",
    ),
    ("Propranolol reduced 5 days.", "Propranolol reduced 5 attacks within days.", "gives 5 another unit"),
    ("Propranolol reduced attacks (p < .05).", "Propranolol reduced attacks (P<0.05).", None),
    (
        "Propranolol re\u200bduced attacks.",
        "Propranolol reduced attacks.",
        "holds invisible characters, or letters that its quote lacks",
    ),
    (
        "Propranolol reduced \u0430ttacks.",
        "Propranolol reduced attacks.",
        "holds invisible characters, or letters that its quote lacks",
    ),
    ("Propranolol reduced α-waves.", "Propranolol reduced α-waves.", None),
    # what another thing did not do, another arm did, or some of them did
    ("Propranolol did not reduce attacks.", "Propranolol reduced attacks and did not reduce sleep.", "moves reduced"),
    ("Propranolol did not reduce attacks.", "Propranolol reduced attacks; placebo did not.", "moves reduced"),
    ("No women improved with propranolol.", "Women improved with propranolol, with no adverse events.", "moves women"),
    ("Propranolol reduced attacks, not sleep.", "Propranolol reduced sleep, not attacks.", "moves not"),
    (
        "Attacks fell on propranolol.",
        "Attacks fell on placebo and were stable on propranolol.",
        "leaves out placebo",
    ),
    (
        "Nausea was caused by propranolol.",
        "Nausea was caused by timolol, dizziness by propranolol.",
        "leaves out timolol",
    ),
    ("Attacks fell on propranolol.", "Attacks fell on timolol, placebo and propranolol.", None),
    (
        "Propranolol reduced attacks.",
        "Propranolol reduced attacks, although not significantly (p = 0.2).",
        "leaves out not",
    ),
    (
        "Propranolol reduced attacks.",
        "Propranolol reduced attacks; however, this was not significant after correction.",
        "leaves out not",
    ),
    ("Propranolol reduced attacks in 44%.", "Propranolol (n = 44): 12% had fewer attacks.", "gives 44 another unit"),
    ("Propranolol reduced attacks by 44%.", "Propranolol reduced attacks (44; 12%).", "gives 44 another unit"),
    (
        "With propranolol attacks fell in all.",
        "All women took propranolol and attacks fell in some.",
        "moves all",
    ),
    ("Propranolol cut attacks by half.", "Half of women took propranolol, which cut attacks.", "moves half"),
    ("It reduced attacks.", "Propranolol reduced attacks.", "does not name propranolol"),
    ("Propranolol.", "It was sunny.", "says nothing of its quote"),
]


@pytest.mark.parametrize(
    ("text", "quote", "objection"), OBJECTIONS, ids=[f"{text} | {quote}" for text, quote, _ in OBJECTIONS]
)
def test_what_is_held_against_a_sentence_is_named(text: str, quote: str, objection: str | None) -> None:
    assert added(text, quote, "", "propranolol") == objection


def test_short_names_that_a_record_gives_are_the_drug_where_they_are_whole_words() -> None:
    names = {"pr": "propranolol", "pr-x": "timolol"}

    assert added("Propranolol reduced attacks.", "PR reduced attacks.", "", "propranolol", names) is None
    assert added("Propranolol reduced attacks.", "PR-X reduced attacks.", "", "propranolol", names) is not None
    assert [word.form for word in words("PR reduced prattle.", names) if word.kind == "arm"] == ["drug propranolol"]
    assert added("Timolol reduced attacks.", "PR reduced attacks.", "", "timolol", names) is not None


def test_a_name_within_a_name_is_one_drug_and_any_name_of_the_drug_will_do() -> None:
    quote = "Insulin glargine lowered glucose, and 5-FU did not."
    names = {"glargine": "insulin glargine", "fu": "fluorouracil"}

    assert [word.written for word in words(quote, names) if word.kind == "arm"] == ["Insulin glargine", "5-FU"]
    for name in ("propranolol", "Propranolol", "Inderal"):
        assert added("It reduced attacks.", "Propranolol reduced attacks.", "", name) is not None
        assert added("Propranolol reduced attacks.", "It reduced attacks.", "", name) is None
