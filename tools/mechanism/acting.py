"""Sentences of publications that tell how a drug acts, found by words that were learnt from sentences which were read.

The weights, `acting.tsv`, are made and measured by `benchmarks/acting.py`: of the sentences on drugs not learnt from
that reach `LEAST`, 85 in 100 tell it, and of those that tell it 42 in 100 reach it.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from willowbark.tools.registry import kind_of

from ..appraisal.appraised import asked_of
from ..appraisal.candidates import is_asked_about
from ..evidence import Evidence
from ..lexicon import find_drug_classes, find_drugs
from ..lexicon.matching import read_table
from ..questions.query import ParsedQuestion
from ..ranking import stems
from ..reading.features import Page
from ..reading.screening import readable

LEAST = 0.65  # probability from which on a sentence is quoted
BESIDE = 5  # stems before and after a name whose place is looked at
_REACH = 60  # characters that hold them
MOST_OTHERS = 3
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

    Args:
        pool: all records found.
        asked: the question; one that names no drug and no class gets nothing.
    """
    if not (asked.drugs or asked.drug_classes):
        return []
    best = (max(_told(readable(record), asked), key=lambda each: each.probability, default=None) for record in pool)
    found = [each for each in best if each]
    said = [frozenset(_words(each.sentence)) for each in found]
    shared = [sum(_likeness(words, other) for other in said) for words in said]
    order = sorted(range(len(found)), key=lambda at: (-shared[at], -found[at].probability))
    return list({found[at].sentence: found[at] for at in reversed(order)}.values())[::-1]


def _likeness(words: frozenset[str], other: frozenset[str]) -> float:
    """The share of words that two sentences have in common, 0 to 1: Ochiai's."""
    return len(words & other) / math.sqrt(max(1, len(words) * len(other)))


def _told(record: Evidence, asked: ParsedQuestion) -> Iterator[Acting]:
    if kind_of(record) != "publication" or (record.paper and record.paper.retracted):
        return
    own = asked_of(record, "", "")
    page = Page(own.title, own.text, own.publication_types)
    sentences = [(page.text.quote(each.start, each.end), at) for at, each in enumerate(page.text.sentences)]
    for sentence, at in sentences:
        named = names_in(sentence)
        drug = next((each.name for each in named if _is_asked(each.name, asked)), None)
        if drug is None:
            continue
        probability = chance(features(sentence, drug, named, page.zones[at]))
        if probability >= LEAST and page.zones[at] != "A":
            yield Acting(record.key, drug, sentence, probability)


def names_in(sentence: str) -> list[Named]:
    """The drugs that a sentence names, and the classes."""
    return [
        Named(each.name, each.start, each.end) for find in (find_drugs, find_drug_classes) for each in find(sentence)
    ]


def _is_asked(name: str, asked: ParsedQuestion) -> bool:
    return name in asked.drug_classes or is_asked_about(name, asked)


def features(sentence: str, drug: str, named: Sequence[Named], zone: str) -> dict[str, int]:
    """What the weights look at: words, those beside the drug's name, other drugs, and what the sentence is for.

    Args:
        sentence: as written.
        drug: which it is looked at for.
        named: all names in it; none of their words counts.
        zone: of `Page.zones`.
    """
    names = {stem for each in named for stem in stems(sentence[each.start : each.end])}
    found = dict.fromkeys((f"w:{stem}" for stem in _words(sentence) if stem not in names), 1)
    found |= {f"z:{zone}": 1, "others": min(MOST_OTHERS, len({each.name for each in named}) - 1)}
    for each in named:
        if each.name == drug:
            found |= dict.fromkeys((f">{stem}" for stem in _words(sentence[each.end :][:_REACH])[:BESIDE]), 1)
            before = sentence[max(0, each.start - _REACH) : each.start]
            found |= dict.fromkeys((f"<{stem}" for stem in _words(before)[-BESIDE:]), 1)
            found["first"] = max(found.get("first", 0), int(each.start < _FROM_START))
    return found


def _words(text: str) -> list[str]:
    return [stem for stem in stems(text) if len(stem) > 1 and stem.isalpha()]


def chance(found: dict[str, int]) -> float:
    """The probability that a sentence tells how the drug acts, by its features."""
    weights = _weights()
    return 1 / (1 + math.exp(-weights[""] - sum(weights.get(name, 0.0) * count for name, count in found.items())))


@cache
def _weights() -> dict[str, float]:
    """Log odds of each feature; that of the empty name counts always."""
    return {row["feature"]: float(row["weight"]) for row in read_table("acting.tsv", __package__)}
