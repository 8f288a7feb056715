"""The learned reader: a page's signs, the verdict's table, consistent fields, passages, weights."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.reading.document import Document
from willowbark.tools.reading.features import View
from willowbark.tools.reading.heads import Trees, weights
from willowbark.tools.reading.learned import LearnedReader, _passages, consistent
from willowbark.tools.reading.reading import (
    Asked,
    Comparator,
    Effect,
    Match,
    OutcomeKind,
    Reader,
    Role,
    verdict_from,
)

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
    verdict = verdict_from(*found)
    if role in ("cause", "background", "outcome", "other_use", "not_a_drug_here") or kind in (
        "harm",
        "process",
        "none",
    ):
        assert verdict == "none"
    if verdict == "supports":
        assert (effect == "better" and not hedged) or (effect == "no_difference" and non_inferior)


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
    assert verdict_from(role, "same", "efficacy", comparator, effect, False, False) == verdict


def test_offsets_lead_back_to_the_words() -> None:
    text = Document(TITLE, TEXT)
    assert text.whole == f"{TITLE}. {TEXT}"
    for token in text.tokens:
        assert text.whole[token.start : token.end].lower() == token.text


def test_a_hyphen_parts_the_drug_from_what_it_induced() -> None:
    view = View(Document(HARM_TITLE, HARM_TEXT), "cisplatin", "nausea")
    assert view.sentences[0][:3] == ("DRUG", "induced", "COND")


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
    classes = {
        name: get_args(each)
        for name, each in (
            ("role", Role), ("match", Match), ("kind", OutcomeKind), ("comparator", Comparator), ("effect", Effect),
        )
    }  # fmt: skip
    told = {name: random.dirichlet(np.ones(len(each))).astype(np.float32) for name, each in classes.items()}
    assert verdict_from(*consistent(verdict, told, classes)) == verdict


def test_trees_walk_to_the_leaf_that_the_numbers_lead_to() -> None:
    trees = Trees(
        {
            "classes": ["a", "b"], "columns": ["x"], "depth": 1, "bias": [0, 0], "roots": [0, 3],
            "feature": [0, 0, 0, 0], "threshold": [1.5, 1e30, 1e30, 1e30], "left": [1, 1, 2, 3],
            "value": [0, -20000, 20000, 0],
        }
    )  # fmt: skip
    low, high = (trees.probabilities(trees.row({"x": number})) for number in (1.0, 2.0))
    assert low[1] > 0.8 > 0.2 > high[1]


def test_the_weights_name_the_classes_of_a_reading() -> None:
    heads = weights()
    assert set(heads.role.classes) == set(get_args(Role))
    for name, each in (("match", Match), ("kind", OutcomeKind), ("comparator", Comparator), ("effect", Effect)):
        assert set(heads.fields.classes[name]) == set(get_args(each))


async def test_a_trial_with_a_clear_result_supports_and_quotes_it() -> None:
    reader = LearnedReader()
    assert isinstance(reader, Reader)
    asked = Asked(key="1", title=TITLE, text=TEXT, drug="propranolol", condition="migraine")
    (reading,) = await reader.read([asked])
    assert (reading.verdict, reading.role) == ("supports", "tested")
    (passage,) = reading.passages
    assert f"{TITLE}. {TEXT}"[passage.start : passage.end] == passage.text
    assert passage.text.startswith(("RESULTS", "CONCLUSIONS"))
    assert reading == reader.read_one(asked)


async def test_a_quote_without_figures_has_a_result_with_figures_beside_it() -> None:
    asked = Asked(key="k", title=TITLE, text=TEXT, drug="propranolol", condition="migraine")
    whole = LearnedReader().read_one(asked)
    without_end = LearnedReader().read_one(asked.model_copy(update={"text": TEXT.partition("CONCLUSIONS")[0]}))

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
    [quoted] = _passages(view, told, "supports", ("+", "-", "0", "~"))
    assert quoted.text == "Attacks were rarer with propranolol."


@pytest.mark.parametrize(
    ("title", "text", "drug", "condition", "role"),
    [(HARM_TITLE, HARM_TEXT, "cisplatin", "nausea", "cause"), ("", "", "aspirin", "pain", None)],
    ids=["what a drug causes it does not treat", "an empty record"],
)
def test_a_record_without_a_verdict_quotes_nothing(
    title: str, text: str, drug: str, condition: str, role: str | None
) -> None:
    reading = LearnedReader().read_one(Asked(key="2", title=title, text=text, drug=drug, condition=condition))
    assert (reading.verdict, reading.passages) == ("none", ())
    assert role in (None, reading.role)
