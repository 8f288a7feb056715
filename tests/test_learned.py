"""The reader: what is shown of a record, the verdict's table and thresholds, consistent fields, passages."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import numpy as np
import pytest
from faults.bundled import bundled_publications
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.reading.document import Document
from willowbark.tools.reading.encoder import LONGEST, cut_view, load_encoder
from willowbark.tools.reading.fields import FIELDS
from willowbark.tools.reading.learned import LearnedReader, _find_quoted, find_consistent
from willowbark.tools.reading.reading import Comparator, Effect, Match, OutcomeKind, Role, derive_verdict
from willowbark.tools.reading.view import Pieces, View

TITLE = "Propranolol in migraine: a placebo-controlled trial"
TEXT = (
    "AIM: We examined whether propranolol prevents migraine attacks. "
    "METHODS: Ninety adults with migraine were randomly assigned to propranolol 160 mg or placebo for 12 weeks. "
    "RESULTS: Attacks fell from 6.1 to 2.9 a month with propranolol and from 6.0 to 5.4 with placebo (P < 0.001). "
    "CONCLUSIONS: Propranolol was significantly more effective than placebo in the prevention of migraine."
)
HARM_TITLE = "Cisplatin-induced nausea"
HARM_TEXT = (
    "We report two patients who developed severe nausea after cisplatin. "
    "Nausea began within an hour of the infusion of cisplatin and ended on the third day. "
    "Clinicians should expect cisplatin-induced nausea."
)

fields = st.tuples(
    *(st.sampled_from(get_args(each)) for each in (Role, Match, OutcomeKind, Comparator, Effect)),
    st.booleans(),
    st.booleans(),
)


@given(fields)
def test_the_table_never_makes_more_of_fields_than_they_say(found: tuple) -> None:
    role, _, kind, _, effect, hedged, non_inferior = found
    verdict = derive_verdict(*found)
    told_of = role not in ("cause", "background", "outcome", "other_use", "not_a_drug_here")
    if not told_of or kind in ("harm", "process", "none"):
        assert verdict == "none"
    if verdict == "supports":
        assert (effect == "better" and not hedged) or (effect == "no_difference" and non_inferior)


def test_a_failure_quoted_from_a_sentence_on_another_drug_alone_is_not_sure() -> None:
    title = "Propranolol and timolol for migraine prevention: a randomised placebo-controlled trial"
    aim = "We compared timolol, propranolol and placebo in 96 patients. RESULTS: There were 96 patients. CONCLUSIONS: "
    shown = {}
    for said in ("Propranolol was", "Timolol was"):
        text = f"{aim}{said} not more effective than placebo in the prevention of migraine and had no benefit."
        found = LearnedReader().read_document(Document(title, text), "propranolol", "migraine")
        shown[said] = (found.verdict, found.sure)
    assert shown == {"Propranolol was": ("contradicts", True), "Timolol was": ("contradicts", False)}


@pytest.mark.parametrize(
    ("role", "comparator", "effect", "verdict"),
    [
        ("tested", "placebo", "better", "supports"),
        ("tested", "placebo", "no_difference", "contradicts"),
        ("tested", "none", "no_difference", "contradicts"),
        ("tested", "active", "no_difference", "neutral"),
        ("tested", "active", "worse", "contradicts"),
        ("comparator", "active", "worse", "neutral"),
        ("comparator", "placebo", "worse", "contradicts"),
        ("mentioned", "not_reported", "better", "supports"),
    ],
)
def test_the_table(role: Role, comparator: Comparator, effect: Effect, verdict: str) -> None:
    assert derive_verdict(role, "same", "efficacy", comparator, effect, False, False) == verdict


def test_a_page_shows_the_drug_asked_about_and_hides_its_name() -> None:
    page = Document(TITLE, TEXT)
    words = [word for sentence in View(page, "propranolol", "migraine").sentences for word in sentence]
    assert {"DRUG", "COND", "PLACEBO"} <= set(words)
    assert not {"propranolol", "migraine", "placebo"} & set(words)
    assert "OTHER" in [word for sentence in View(page, "topiramate", "migraine").sentences for word in sentence]


def test_headings_say_what_sentences_are_for() -> None:
    assert Document(TITLE, TEXT).zones == ["T", "A", "M", "R", "C"]


@given(st.sampled_from(["supports", "contradicts", "neutral", "none"]), st.integers(0, 2**32 - 1))
def test_the_fields_lead_to_the_verdict_they_were_chosen_for(verdict: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    told = {name: random.dirichlet(np.ones(len(each))).astype(np.float32) for name, each in FIELDS.items()}
    assert derive_verdict(*find_consistent(verdict, told)) == verdict


LETTERS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)


@given(st.lists(LETTERS, min_size=1, max_size=30, unique=True), LETTERS)
def test_pieces_put_together_are_the_word_or_it_is_unknown(names: list[str], word: str) -> None:
    blank = [f"[{at}]" for at in range(Pieces.LAST_SPECIAL + 1)]
    pieces = Pieces([*blank, *names, *(f"##{name}" for name in names)])
    cut = pieces.of(word)
    assert cut == (Pieces.UNKNOWN,) or "".join(pieces.names[at].removeprefix("##") for at in cut) == word


@given(st.integers(0, 60), st.integers(1, 40))
def test_of_a_long_record_title_and_end_are_kept_and_the_room_is_not_exceeded(count: int, words: int) -> None:
    middle = " ".join(f"Patients {'improved ' * words}in week {at}." for at in range(count))
    view = View(Document(TITLE, f"{middle} Propranolol prevents migraine."), "propranolol", "migraine")
    seen = cut_view(view, load_encoder().pieces)
    assert len(seen.pieces) <= LONGEST
    assert seen.orders == sorted(seen.orders)
    assert {0, len(view.sentences) - 1} <= set(seen.orders)
    assert len(seen.places) == len(seen.orders)


def test_nothing_is_learnt_of_a_name() -> None:
    one = load_encoder().encode(View(Document(TITLE, TEXT), "propranolol", "migraine"))
    renamed = Document(
        *(each.replace("ropranolol", "imolol").replace("Pim", "Tim").replace("pim", "tim") for each in (TITLE, TEXT))
    )
    other = load_encoder().encode(View(renamed, "timolol", "migraine"))
    np.testing.assert_array_equal(one.whole, other.whole)


def test_threads_at_once_read_what_one_reads_alone() -> None:
    reader, page = LearnedReader(), Document(TITLE, TEXT)
    alone = reader.read_document(page, "propranolol", "migraine")
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: reader.read_document(page, "propranolol", "migraine"), range(8))) == {alone}


def test_nothing_of_the_encoder_is_imported_before_something_is_read() -> None:
    program = "import sys, willowbark.teams.faces.cli, willowbark.tools.appraisal.appraised as a; a.Readings()"
    subprocess.run([sys.executable, "-c", f"{program}; assert 'onnxruntime' not in sys.modules"], check=True)


def test_a_trial_with_a_clear_result_supports_and_quotes_it() -> None:
    reading = LearnedReader().read_document(Document(TITLE, TEXT), "propranolol", "migraine")
    assert (reading.verdict, reading.role) == ("supports", "tested")
    (passage,) = reading.passages
    assert f"{TITLE}. {TEXT}"[passage.start : passage.end] == passage.text
    assert passage.text.startswith(("RESULTS", "CONCLUSIONS"))


def test_a_record_that_names_no_placebo_compares_with_none() -> None:
    [record] = (each for each in bundled_publications() if each.pmid == "9200654")
    document = Document(record.title, record.abstract or "")
    assert "placebo" not in document.whole
    assert LearnedReader().read_document(document, "lisinopril", "diabetic nephropathy").comparator == "active"


def test_a_quote_without_figures_has_a_result_with_figures_beside_it() -> None:
    whole, without_end = (
        LearnedReader().read_document(Document(TITLE, text), "propranolol", "migraine")
        for text in (TEXT, TEXT.partition("CONCLUSIONS")[0])
    )

    assert whole.passages[0].text.startswith("CONCLUSIONS: Propranolol was significantly more effective")
    assert whole.in_figures is not None
    assert f"{TITLE}. {TEXT}"[whole.in_figures.start : whole.in_figures.end] == whole.in_figures.text
    assert "(P < 0.001)" in whole.in_figures.text
    assert "(P < 0.001)" in without_end.passages[0].text
    assert without_end.in_figures is None


def test_a_sentence_that_names_the_drug_is_quoted_before_one_that_says_as_much_without_it() -> None:
    text = "RESULTS: Attacks were rarer with treatment. Attacks were rarer with propranolol. Attacks were much rarer."
    view = View(Document(TITLE, text), "propranolol", "migraine")
    told = {at: np.array([0.5, 0.1, 0.3, 0.1]) for at in range(len(view.sentences))}
    assert _find_quoted(view, told, "supports") == 2


def test_what_a_drug_causes_it_does_not_treat_and_a_record_without_a_verdict_quotes_nothing() -> None:
    read = LearnedReader().read_document
    found = [read(Document(HARM_TITLE, HARM_TEXT), "cisplatin", "nausea"), read(Document("", ""), "aspirin", "pain")]
    assert [(each.verdict, each.passages) for each in found] == [("none", ())] * 2
    assert found[0].role == "cause"
    assert load_encoder().pieces.of("a" * 1_000_000) == (Pieces.UNKNOWN,)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("High relief of migraine with propranolol", ""),
        (
            "Propranolol in migraine",
            "Propranolol may prevent migraine. 90 adults will be randomised to it or placebo. "
            "Results are expected in 2031.",
        ),
        (
            "Propranolol for migraine: protocol of a randomised trial",
            "Migraine is common. We will randomise 90 adults to propranolol or placebo. "
            "We expect that propranolol will prevent attacks better than placebo.",
        ),
    ],
    ids=["title alone", "announced", "protocol"],
)
def test_a_title_alone_and_a_plan_carry_no_verdict(title: str, text: str) -> None:
    found = LearnedReader().read_document(Document(title, text), "propranolol", "migraine")

    assert (found.verdict, found.effect, found.primary, found.passages) == ("none", "not_reported", "not_reported", ())


def test_the_only_sentence_with_an_estimate_gives_the_result_in_figures() -> None:
    text = (
        "In this randomised, double-blind trial 180 adults with migraine took propranolol or placebo. {} "
        "Propranolol prevented migraine attacks compared with placebo."
    )
    rates = "Response rates were 51% and 29%, respectively (odds ratio 2.55 [95% CI 1.4-4.7])."
    title = "Propranolol for the prevention of migraine"
    found = LearnedReader().read_document(Document(title, text.format(rates)), "propranolol", "migraine")
    assert found.in_figures is not None
    assert found.in_figures.text == rates
    harms = "Adverse events led to withdrawal in 9% and 2%, respectively (odds ratio 4.1 [95% CI 1.2-14])."
    found = LearnedReader().read_document(Document(title, text.format(harms)), "propranolol", "migraine")
    assert found.in_figures is None
