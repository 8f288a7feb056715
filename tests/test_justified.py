"""Every word and name in the tables of the reader and the lexicon stands on records, or on an identifier."""

from benchmarks.justify import JUSTIFIED, entries, search, unjustified


def test_every_entry_is_justified() -> None:
    assert unjustified(JUSTIFIED.read_text(encoding="utf-8")) == []


def test_an_entry_that_nothing_justifies_is_named() -> None:
    table, *lines = JUSTIFIED.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("reading/signs.tsv\tplacebo\t")]

    assert unjustified("\n".join([table, *kept])) == [("reading/signs.tsv", "placebo")]


def test_records_justify_what_they_hold() -> None:
    record = {"pmid": "1", "title": "Migraine in pregnancy", "abstract": "Placebo-controlled."}
    found = search([record], entries())

    assert found["lexicon/conditions.tsv", "migraine"] == ["1"]
    assert found["reading/signs.tsv", "placebo"] == ["1"]
    assert found["questions/populations.tsv", "pregnan*"] == ["1"]
    assert found["lexicon/conditions.tsv", "psoriasis"] == []
