"""Forged claims on the bundled library's records are refused, and sentences of these records stand as they are."""

import random

import pytest
from benchmarks.forgers import Told, claim
from benchmarks.forgery import SEED, forged, publications, told, verified


@pytest.fixture(scope="module")
def found() -> list[Told]:
    records = {record["pmid"]: record for record in publications(None)}
    rng = random.Random(SEED)
    keys = rng.sample(sorted(records), len(records))
    return [each for key in keys if records[key].get("abstract") and (each := told(records[key], rng))]


def test_hardly_any_forgery_passes_and_no_cut_quote(found: list[Told]) -> None:
    assert {kind: count for kind, (count, _) in forged(found, verbose=False).items() if count} == {}


def test_what_a_record_says_stands_in_its_own_words(found: list[Told]) -> None:
    made = [(each, claim(each)) for each in found]
    refused = [one.quote for each, one in made if one is not None and not verified(one, each.record)]
    assert len(refused) == 2, refused
