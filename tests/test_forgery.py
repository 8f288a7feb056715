"""Forged claims on the bundled library's records are refused, and sentences of these records stand as they are."""

import random

import pytest
from benchmarks.forgers import ResultSentence, make_claim
from benchmarks.forgery import SEED, choose_sentence, count_forged, is_verified, read_publications


@pytest.fixture(scope="module")
def found() -> list[ResultSentence]:
    records = {record["pmid"]: record for record in read_publications(None)}
    rng = random.Random(SEED)
    keys = rng.sample(sorted(records), len(records))
    return [each for key in keys if records[key].get("abstract") and (each := choose_sentence(records[key], rng))]


def test_hardly_any_forgery_passes_and_no_cut_quote(found: list[ResultSentence]) -> None:
    assert {kind: count for kind, (count, _) in count_forged(found, verbose=False).items() if count} == {}


def test_what_a_record_says_stands_in_its_own_words(found: list[ResultSentence]) -> None:
    made = [(each, make_claim(each)) for each in found]
    refused = [one.quote for each, one in made if one is not None and not is_verified(one, each.record)]
    assert len(refused) == 2, refused
