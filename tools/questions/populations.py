"""Who a question asks about, beyond those with a disease: pregnant women, children, older people."""

from functools import cache

from ..lexicon.matching import read_table, split_names, tokens


def find_population(text: str) -> str | None:
    """The first population of the table that a text names; None where it names none.

    >>> find_population("Can pregnant women take sumatriptan?"), find_population("Is it safe in asthma?")
    ('pregnancy', None)
    """
    return next((name for name in _words() if speaks_of(text, name)), None)


def speaks_of(text: str, population: str) -> bool:
    """Whether a text names a population of the table."""
    said = f" {' '.join(token.key for token in tokens(text))} "
    return any(f" {word}" in said for word in _words()[population])


@cache
def _words() -> dict[str, tuple[str, ...]]:
    """For each population the beginnings of its words, as tokens are written; whole words end in a blank."""
    return {
        row["name"]: tuple(map(_beginning, split_names(row["words"])))
        for row in read_table("populations.tsv", __package__)
    }


def _beginning(word: str) -> str:
    key = " ".join(token.key for token in tokens(word))
    return key if word.endswith("*") else f"{key} "
