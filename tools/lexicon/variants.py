"""Other words for what a text says: spellings of another country, other names of conditions and outcomes.

For searches of collected records, where a word too many costs nothing: a form that nobody writes matches nothing.
"""

import re
from collections.abc import Iterator
from functools import cache

from .conditions import condition_synonyms, find_known_conditions
from .matching import PhraseIndex, phrase_key, read_table, split_names

_ENDINGS = r"(?=(?:e|es|ed|er|ing|ations?)$)"


@cache
def _load_spelling_rules() -> tuple[tuple[re.Pattern[str], str, re.Pattern[str], str], ...]:
    """Return British part, its American spelling, American part, its British spelling, a row each."""
    rules = []
    for row in read_table("spellings.tsv"):
        british = row["british"]
        american = row["american"]
        before = "^" if row["place"] == "start" else ""
        after = _ENDINGS if row["place"] == "end" else ""
        rules.append(
            (re.compile(f"{before}{british}{after}"), american, re.compile(f"{before}{american}{after}"), british)
        )
    return tuple(rules)


def list_spellings(word: str) -> tuple[str, ...]:
    """Return the forms that a word in lower case may have in another English, without itself.

    All British or all American, and each with one part changed; many are no words.

    >>> "haematuria" in list_spellings("hematuria"), list_spellings("migraine")
    (True, ())
    """
    american = word
    british = word
    variants = list[str]()
    for british_part, american_form, american_part, british_form in _load_spelling_rules():
        if british_part.search(word):
            variants.append(british_part.sub(american_form, word))
            american = british_part.sub(american_form, american)
        elif american_part.search(word):
            variants.append(american_part.sub(british_form, word))
            british = american_part.sub(british_form, british)
    forms = dict.fromkeys([american, british, *variants])
    return tuple(form for form in forms if form != word)


@cache
def _load_entry_terms() -> tuple[PhraseIndex, dict[str, tuple[str, ...]]]:
    groups = {row["name"]: (row["name"], *split_names(row["synonyms"])) for row in read_table("entry_terms.tsv")}
    names = dict[str, str]()
    for name, terms in groups.items():
        for term in terms:
            names[phrase_key(term)] = name
            for form in list_spellings(term):
                names.setdefault(phrase_key(form), name)
    return PhraseIndex(names), groups


def list_other_names(text: str) -> Iterator[str]:
    """Yield the other names of the conditions and outcomes that a text names, group after group.

    >>> list(list_other_names("baldness"))[0]
    'alopecia'
    """
    for condition in find_known_conditions(text):
        yield from condition_synonyms(condition.name)
    index, groups = _load_entry_terms()
    for mention in index.find(text):
        yield from groups[mention.name]
