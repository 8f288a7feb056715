"""Records cut once: drugs are signs, conditions keep their names, what is asked about is found in what was cut."""

import random

import numpy as np
import pytest
from benchmarks.training.steady import add_harmless

from willowbark.tools.lexicon import find_drugs
from willowbark.tools.reading.cut import (
    LONGEST,
    Sign,
    cut_pair,
    cut_record,
    find_names,
    list_sentence_flags,
    locate_drug,
)
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.encoder import load_encoder
from willowbark.tools.reading.view import Pieces, View
from willowbark.tools.reading.words import WordHead, find_features, join_verdicts

TITLE = "Propranolol and timolol in migraine"
TEXT = (
    "AIM: We compared propranolol with timolol in migraine. METHODS: Ninety adults with migraine took part. "
    "RESULTS: Attacks fell with propranolol (P < 0.001). CONCLUSIONS: Propranolol prevents migraine."
)


@pytest.fixture(scope="module")
def pieces() -> Pieces:
    return load_encoder().pieces


def test_drugs_are_told_apart_by_signs_and_never_by_name(pieces: Pieces) -> None:
    record = cut_record(Document(TITLE, TEXT), pieces)
    renamed = cut_record(Document(TITLE, TEXT.replace("timolol", "nadolol")), pieces)
    assert record.drugs == ("propranolol", "timolol")
    assert record.sentences[0] == renamed.sentences[0]
    listed = record.list_pieces()
    assert not set(pieces.of("propranolol")) <= set(listed)
    assert {Sign.DRUG, Sign.DRUG + 1} <= set(listed)


def test_signs_can_be_dealt_anew(pieces: Pieces) -> None:
    record = cut_record(Document(TITLE, TEXT), pieces)
    one, other = record.list_pieces(), record.list_pieces([1, 0])
    assert one != other
    assert len(one) == len(other) == record.length


def test_a_condition_keeps_its_name_behind_a_sign(pieces: Pieces) -> None:
    listed = cut_record(Document(TITLE, TEXT), pieces).list_pieces()
    at = listed.index(Sign.CONDITION)
    name = pieces.of("migraine")
    assert tuple(listed[at + 1 : at + 1 + len(name)]) == name


def test_what_is_asked_about_is_found_where_it_stands(pieces: Pieces) -> None:
    document = Document(TITLE, TEXT)
    record = cut_record(document, pieces)
    pair = cut_pair(record, View(document, "timolol", "migraine"), pieces)
    listed = record.list_pieces()
    assert {listed[at] for at in record.find_indices(pair.drug)} == {Sign.DRUG + 1}
    assert pair.is_titled
    assert pair.condition.is_in_lexicon
    flags = list_sentence_flags(record, pair)
    assert flags[:, 6].tolist() == [1, 1, 0, 0, 0]


def test_a_drug_that_the_lexicon_does_not_know_is_found_by_its_letters(pieces: Pieces) -> None:
    document = Document("Zzyrbolol in migraine", "Zzyrbolol prevents migraine.")
    unknown = find_names(document, "zzyrbolol")
    assert (unknown, find_names(document, "propranolol")) == ("zzyrbolol", "")
    record = cut_record(document, pieces, unknown)
    assert len(locate_drug(record, "zzyrbolol")) == 2


def test_a_long_record_keeps_its_title_its_end_and_results_that_name_a_drug(pieces: Pieces) -> None:
    filler = " ".join(f"BACKGROUND: Headaches of kind {number} are common in many countries." for number in range(60))
    document = Document(TITLE, f"{filler} RESULTS: Attacks fell with propranolol. CONCLUSIONS: It prevents migraine.")
    record = cut_record(document, pieces)
    zones = [sentence.zone for sentence in record.sentences]
    assert record.length <= LONGEST
    assert (zones[0], zones[-1]) == ("T", "C")
    assert "R" in {sentence.zone for sentence in record.sentences if min(sentence.pieces) < 0}


def test_harmless_sentences_leave_what_was_cut_where_it_can_be_found(pieces: Pieces) -> None:
    document = Document(TITLE, TEXT)
    record = cut_record(document, pieces)
    pair = cut_pair(record, View(document, "propranolol", "migraine"), pieces)
    steady = add_harmless(record, pieces, random.Random(3))
    moved = steady.move_pair(pair)
    assert len(steady.record.sentences) > len(record.sentences)
    before = [record.sentences[place.sentence].pieces[place.piece] for place in pair.condition.places]
    after = [steady.record.sentences[place.sentence].pieces[place.piece] for place in moved.condition.places]
    assert before == after
    assert len(moved.drug) >= len(pair.drug)


def test_words_are_told_the_same_after_they_were_stored() -> None:
    document = Document(TITLE, TEXT)
    features = find_features(View(document, "propranolol", "migraine"))
    buckets = np.unique(features)[::2]
    chance = np.random.default_rng(1)
    weights = chance.normal(size=(len(buckets), 4)).astype(np.float32)
    head = WordHead(buckets, np.full(len(buckets), 2, np.float32), weights, np.zeros(4, np.float32))
    again = WordHead.load(head.store())
    assert np.abs(head.tell(features) - again.tell(features)).max() < 0.02
    assert head.tell(np.array([], np.int64)) == pytest.approx([0.25] * 4)


def test_joined_verdicts_follow_the_surer_one() -> None:
    unsure, sure = np.array([0.3, 0.2, 0.3, 0.2], np.float32), np.array([0.01, 0.01, 0.01, 0.97], np.float32)
    joined = join_verdicts(unsure, sure, np.array([0.8, 0.4], np.float32))
    assert joined.argmax() == 3
    assert joined.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("inhaled sodium nitrite in heart failure", ["sodium nitrite"]),
        ("xylitol gum against caries", ["xylitol"]),
        ("Sativex in spasticity", ["nabiximols"]),
        ("vitamin D intake and cancer", []),
        ("vitamin D supplementation and falls", ["vitamin d"]),
        ("LY2189265 versus placebo", ["dulaglutide"]),
        ("atazanavir/ritonavir once daily", ["atazanavir", "ritonavir"]),
    ],
)
def test_names_that_trials_write_are_known(text: str, names: list[str]) -> None:
    assert [mention.name for mention in find_drugs(text)] == names
