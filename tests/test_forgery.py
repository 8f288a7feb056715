"""Forged claims on the bundled library's records are refused, and sentences of these records stand as they are."""

import random

import pytest
from benchmarks.forgers import CUTS, Told, claim
from benchmarks.forgery import SEED, forged, publications, told, verified


@pytest.fixture(scope="module")
def found() -> list[Told]:
    records = {record["pmid"]: record for record in publications(None)}
    rng = random.Random(SEED)
    keys = rng.sample(sorted(records), len(records))
    return [each for key in keys if records[key].get("abstract") and (each := told(records[key], rng))]


def test_hardly_any_forgery_passes_and_no_cut_quote(found: list[Told]) -> None:
    passed = {kind: count for kind, (count, _) in forged(found, verbose=False).items() if count}
    assert passed == {
        "a number of another arm": 1,
        "a direction of another outcome": 1,
        "a number changed": 1,
        "units": 1,
        "designs": 1,
        "adverbs": 1,
    }
    assert not CUTS.keys() & passed.keys()


def test_what_a_record_says_stands_in_its_own_words_and_without_what_is_in_brackets(found: list[Told]) -> None:
    made = [(each, claim(each, text)) for each in found for text in (each.quote, _bare(each.quote))]
    refused = [one.text for each, one in made if one is not None and not verified(one, each.record)]
    assert len(refused) == 3, refused  # of 58


def _bare(quote: str) -> str:
    """A sentence without its first pair of brackets."""
    before, _, after = quote.partition(" (")
    return before + after.partition(")")[2] if after else quote
