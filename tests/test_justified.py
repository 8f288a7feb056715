"""Every word and name in the tables of the reader and the lexicon stands on records, or on an identifier."""

from benchmarks.justify import JUSTIFIED, entries, search, stand, unjustified, uses


def test_every_entry_is_justified() -> None:
    assert unjustified(JUSTIFIED.read_text(encoding="utf-8")) == []


def test_an_entry_that_nothing_justifies_is_named() -> None:
    table, *lines = JUSTIFIED.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("reading/signs.tsv\tplacebo\t")]

    assert unjustified("\n".join([table, *kept])) == [("reading/signs.tsv", "placebo")]


def test_records_justify_what_they_hold() -> None:
    found = search([("PMID 1", ["Migraine in pregnancy", "Placebo-controlled."])], entries())

    assert found["lexicon/conditions.tsv", "migraine"] == ["PMID 1"]
    assert found["reading/signs.tsv", "placebo"] == ["PMID 1"]
    assert found["questions/populations.tsv", "pregnan*"] == ["PMID 1"]
    assert found["lexicon/conditions.tsv", "psoriasis"] == []


def test_a_record_justifies_a_word_of_a_cue_only_where_it_stands_as_the_cue_asks() -> None:
    told = [("NCT00000001", ["The anti-tumor activity was low.", "Stopped for lack of any efficacy"])]
    found = stand(told, uses())

    assert found["appraisal/cues.tsv", "stopped for futility: lack"] == ["NCT00000001"]
    assert found["appraisal/cues.tsv", "stopped for futility: low"] == []
