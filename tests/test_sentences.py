"""Sentences made to be checked: what stands with an honest, a careless and a lying checker."""

from collections import Counter

from benchmarks.sentences import TRUE, list_standing, make_checkers, read_basis, read_made_sentences

KINDS = (
    "dose",
    "arm",
    "time",
    "people",
    "head and restriction",
    "composite",
    "subgroup",
    "mixture of two records",
    "certainty",
    "recommendation",
    "safety claim",
    "mechanism",
)


def test_there_are_true_sentences_and_forged_ones_of_each_kind_on_records_that_were_read() -> None:
    sentences = read_made_sentences()
    counts = Counter(each.kind for each in sentences)
    assert counts[TRUE] >= 60
    assert [kind for kind in KINDS if counts[kind] < 5] == []
    held = read_basis().sources
    assert [each.draft.text for each in sentences if not set(each.draft.keys) <= set(held)] == []


async def test_true_sentences_stand_and_forged_ones_fall_with_an_honest_checker() -> None:
    sentences = read_made_sentences()
    stand = await list_standing(sentences, make_checkers(sentences)["honest"], read_basis())
    forged = [each for each in sentences if each.kind != TRUE]
    assert sum(each.kind == TRUE for each in stand) >= 0.97 * (len(sentences) - len(forged))
    assert sum(each.kind != TRUE for each in stand) <= 0.02 * len(forged)


async def test_no_false_figure_drug_or_identifier_stands_though_the_checker_lies() -> None:
    sentences = read_made_sentences()
    stand = await list_standing(sentences, make_checkers(sentences)["liar"], read_basis())
    assert [each.draft.text for each in stand if each.false] == []
    assert [each.draft.text for each in stand if each.kind == TRUE] == []
