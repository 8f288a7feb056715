"""Sentences of publications that tell how a drug acts, found by words that were learnt from sentences which were read.

The weights, `acting.tsv`, are made and measured by `benchmarks/acting.py`: of sentences that name a drug which nothing
was learnt from, 83 in 100 of those that reach `LEAST` tell it, and a quarter of those that tell it reach `LEAST`. From
`LEAST_OF_FEW` on 74 in 100 tell it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile
from typing import NamedTuple

from willowbark.tools.registry import kind_of

from ..appraisal.appraised import asked_of
from ..appraisal.candidates import is_asked_about, is_left_out
from ..evidence import Evidence
from ..lexicon import find_drug_classes, find_drugs
from ..lexicon.matching import read_table
from ..questions.query import ParsedQuestion
from ..ranking import stem, words
from ..reading.features import Page
from ..reading.screening import readable

LEAST = 0.65  # probability from which on a sentence is quoted
LEAST_OF_FEW = 0.5  # and where there are fewer than
FEW = 3
BESIDE = 5  # stems before and after a name whose place is looked at
_REACH = 60  # characters before and after a name within which they are looked for
MOST_OTHERS = 3
_DENIED = frozenset((">not", ">neither", ">no", ">without"))
"""Words beside a drug's name by which a sentence denies that it acts so."""
_FROM_START = 5  # characters before a name that begins a sentence


class Named(NamedTuple):
    """A drug, or a class of drugs, where a sentence names it."""

    name: str
    start: int
    end: int


class Acting(NamedTuple):
    """A sentence of a publication on how a drug acts."""

    key: str
    drug: str
    """Its generic name, or the class asked about."""
    sentence: str
    """Whole."""
    probability: float
    """That it tells how the drug acts, 0 to 1."""


def acting(pool: Sequence[Evidence], asked: ParsedQuestion) -> list[Acting]:
    """Of each publication the sentence that tells best how a drug asked about acts; those that say most alike first.

    Where few are likely to tell it, the likeliest stand. The same sentence of several publications is told once; what
    denies is left out.

    Args:
        pool: all records found.
        asked: the question; one that names no drug and no class gets nothing.
    """
    if not (asked.drugs or asked.drug_classes):
        return []
    best = (max(_told(readable(record), asked), key=lambda each: each.probability, default=None) for record in pool)
    likely = sorted((each for each in best if each), key=lambda each: -each.probability)
    found = [each for at, each in enumerate(likely) if at < FEW or each.probability >= LEAST]
    said = [frozenset(_words(each.sentence)) for each in found]
    shared = [sum(_likeness(one, other) for other in said) for one in said]
    order = sorted(range(len(found)), key=lambda at: (-shared[at], -found[at].probability))
    once: dict[str, Acting] = {}
    for at in order:
        once.setdefault(found[at].sentence, found[at])
    return list(once.values())


def _likeness(words: frozenset[str], other: frozenset[str]) -> float:
    """The share of words that two sentences have in common, 0 to 1: Ochiai's."""
    return len(words & other) / math.sqrt(max(1, len(words) * len(other)))


def _told(record: Evidence, asked: ParsedQuestion) -> Iterator[Acting]:
    if kind_of(record) != "publication" or (record.paper and record.paper.retracted):
        return
    own = asked_of(record, "", "")
    page = Page(own.title, own.text, own.publication_types)
    for at, each in enumerate(page.text.sentences):
        sentence = page.text.quote(each.start, each.end)
        named = names_in(sentence)
        for drug in dict.fromkeys(each.name for each in named if _is_asked(each.name, asked)):
            found = features(sentence, drug, named, page.zones[at])
            probability = chance(found)
            if probability >= LEAST_OF_FEW and page.zones[at] != "A" and not denies(found):
                yield Acting(record.key, drug, sentence, probability)


def names_in(sentence: str) -> list[Named]:
    """The drugs that a sentence names, and the classes."""
    return [
        Named(each.name, each.start, each.end) for find in (find_drugs, find_drug_classes) for each in find(sentence)
    ]


def _is_asked(name: str, asked: ParsedQuestion) -> bool:
    return name in asked.drug_classes or (is_asked_about(name, asked) and not is_left_out(name, asked))


def features(sentence: str, drug: str, named: Sequence[Named], zone: str) -> dict[str, int]:
    """What the weights look at: words, those beside the drug's name, other drugs, and what the sentence is for.

    Args:
        sentence: as written.
        drug: which it is looked at for.
        named: all names in it; none of their words counts among the words.
        zone: of `Page.zones`.
    """
    names = {word for each in named for word in _words(sentence[each.start : each.end])}
    found = dict.fromkeys((f"w:{word}" for word in _words(sentence) if word not in names), 1)
    found |= {f"z:{zone}": 1, "others": min(MOST_OTHERS, len({each.name for each in named}) - 1)}
    for each in named:
        if each.name == drug:
            found |= dict.fromkeys((f">{word}" for word in _words(sentence[each.end :][:_REACH])[:BESIDE]), 1)
            before = sentence[max(0, each.start - _REACH) : each.start]
            found |= dict.fromkeys((f"<{word}" for word in _words(before)[-BESIDE:]), 1)
            found["first"] = max(found.get("first", 0), int(each.start < _FROM_START))
    return found


def denies(found: Mapping[str, int]) -> bool:
    """Whether a sentence says beside the drug's name that it does not act so, by its features."""
    return not _DENIED.isdisjoint(found)


def _words(text: str) -> list[str]:
    """The stems of all words, names up to their first figure: `cyp2d6` and `cyp3a4` are of one kind."""
    named = ("".join(takewhile(str.isalpha, word)) for word in words(text))
    return [stem(word) for word in named if len(word) > 1]


def chance(found: Mapping[str, int]) -> float:
    """The probability that a sentence tells how the drug acts, by its features."""
    weights = _weights()
    return 1 / (1 + math.exp(-weights[""] - sum(weights.get(name, 0.0) * count for name, count in found.items())))


@cache
def _weights() -> dict[str, float]:
    """Log odds of each feature; that of the empty name counts always."""
    return {row["feature"]: float(row["weight"]) for row in read_table("acting.tsv", __package__)}
