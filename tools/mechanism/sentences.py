"""Sentences of publications that name two things at once: a target and the condition, a process and the condition.

A sentence counts where it names both by their names, not where the record does somewhere else. One that speaks of a
treatment (it names a drug, an inhibitor, a blocker, an antagonist) says that acting on the target was tried, not that
the target has a part in the condition, and does not count for that. Whether a sentence denies that two things have to
do with each other, or only supposes it, is told by a few words; everything else counts as said.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from willowbark.tools.registry import kind_of

from ..appraisal.appraised import condition_names
from ..evidence import Evidence
from ..lexicon import find_drugs
from ..lexicon.matching import cued
from ..questions.query import ParsedQuestion
from ..ranking import content_words, stems, stems_among
from ..reading.text import sentence_spans
from .steps import Backing

_said = partial(cued, package=__package__)
_SYMBOL = re.compile(r"[A-Z][A-Z0-9]{2,9}")
_ENGLISH = frozenset("ACE AIDS CAT IMPACT MAX MET REST SET TANK".split())
"""Gene symbols that texts also write for something else; ACE is one, and is found by the enzyme's name."""
_SHORTEST = 5  # letters of a stem by which a name of one word is known


class Spoken(NamedTuple):
    """A sentence as it is searched."""

    key: str
    source: str
    text: str

    @property
    def treats(self) -> bool:
        """Whether it speaks of a treatment."""
        return bool(_said("treats").search(self.text) or find_drugs(self.text))


class Names:
    """The names of one thing, as sentences may hold them.

    Args:
        names: gene symbols and names in words.
    """

    def __init__(self, names: Iterable[str]) -> None:
        given = [name for name in names if name]
        self.symbols = {name for name in given if _SYMBOL.fullmatch(name) and name not in _ENGLISH}
        told = (frozenset(stems(name)) for name in given if not _SYMBOL.fullmatch(name))
        self.words = {words for words in told if _tells(words)}


def _tells(words: frozenset[str]) -> bool:
    """Whether the words of a name are enough to know the thing by."""
    long = [word for word in words if len(word) >= _SHORTEST and not word.isdigit()]
    return bool(long) and (len(words) > 1 or len(words) == len(long))


class Sentences:
    """The sentences of the publications of a pool that were not retracted, cut once, found by what they name.

    Args:
        pool: records as `readable` gives them.
        asked: the question.
        named: all names that will be looked for.
    """

    def __init__(self, pool: Iterable[Evidence], asked: ParsedQuestion, named: Iterable[Names]) -> None:
        condition = [frozenset(stems(name)) for name in condition_names(asked)]
        wanted = frozenset[str]().union(*condition, *(words for names in named for words in names.words))
        self._all = [sentence for record in pool for sentence in _of_record(record)]
        self._holding = defaultdict[str, set[int]](set)
        for at, sentence in enumerate(self._all):
            for word in (*_SYMBOL.findall(sentence.text), *stems_among(content_words(sentence.text), wanted)):
                self._holding[word].add(at)
        self._on_condition = self._of_words(condition)

    def backings(self, *names: Names, on_condition: bool = False) -> list[Backing]:
        """Sentences that hold all of the names, one a record, as what says a step.

        Args:
            names: of the things that a sentence must name.
            on_condition: whether it must name the condition too, and speak of no treatment.
        """
        places = set.intersection(*(self._of(each) for each in names), *([self._on_condition] if on_condition else ()))
        told: dict[str, Backing] = {}
        for sentence in (self._all[at] for at in sorted(places)):
            if sentence.key not in told and not (on_condition and sentence.treats):
                told[sentence.key] = Backing(
                    key=sentence.key,
                    source=sentence.source,
                    basis="sentence",
                    quote=" ".join(sentence.text.split()),
                    denies=bool(_said("denies").search(sentence.text)),
                    hedged=bool(_said("supposes").search(sentence.text)),
                )
        return list(told.values())

    def _of(self, names: Names) -> set[int]:
        """Where a thing is named."""
        return self._of_words(names.words).union(*map(self._of_word, names.symbols))

    def _of_words(self, names: Iterable[frozenset[str]]) -> set[int]:
        """Where all words of a name stand."""
        return set[int]().union(*(set.intersection(*map(self._of_word, words)) for words in names if words))

    def _of_word(self, word: str) -> set[int]:
        return self._holding.get(word, set())


def _of_record(record: Evidence) -> Iterator[Spoken]:
    if kind_of(record) == "publication" and not (record.paper and record.paper.retracted):
        for start, end in sentence_spans(record.content):
            yield Spoken(record.key, record.citation.source, record.content[start:end])
