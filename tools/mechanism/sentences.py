"""Sentences of publications that name two things at once: a target and the condition, a process and the condition.

A sentence counts where it names both by their names, not where the record does somewhere else. One that speaks of a
treatment (it names a drug, an inhibitor, a blocker, an antagonist) says that acting on the target was tried, not that
the target has a part in the condition, and does not count for that. Whether a sentence denies that two things have to
do with each other, or only supposes it, is told by a few words; everything else counts as said.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from willowbark.tools.registry import kind_of

from ..appraisal.appraised import condition_names
from ..evidence import Evidence
from ..lexicon import find_drugs
from ..questions.query import ParsedQuestion
from ..ranking import stems
from ..reading.text import sentence_spans
from .steps import Backing

_DENIES = re.compile(
    r"\b(?:no|not|neither|nor|without|lack of|unlikely)\b[^.;]{0,40}?"
    r"\b(?:roles?|involv\w+|associat\w+|relat(?:ed|ion)\w*|link\w*|contribut\w+|correlat\w+|mediat\w+|implicat\w+)",
    re.IGNORECASE,
)
_HEDGES = re.compile(
    r"\b(?:may|might|could|possib\w+|suggest\w*|hypothesi\w+|speculat\w+|putative\w*|presum\w+|unclear|whether)\b",
    re.IGNORECASE,
)
_TREATS = re.compile(
    r"\b(?:inhibitors?|blockers?|blockade|(?:ant)?agonists?|modulators?|antibod\w+|treat\w*|therap\w+|prophyla\w+)\b",
    re.IGNORECASE,
)
_SYMBOL = re.compile(r"[A-Z][A-Z0-9]{2,9}")
_ENGLISH = frozenset("ACE AIDS CAT IMPACT MAX MET REST SET TANK".split())
"""Gene symbols that texts also write for something else; ACE is one, and is found by the enzyme's name."""
_SHORTEST = 5  # letters of a stem by which a name of one word is known


class Spoken(NamedTuple):
    """A sentence as it is searched."""

    key: str
    source: str
    text: str
    stems: frozenset[str]
    symbols: frozenset[str]
    names_condition: bool

    @property
    def treats(self) -> bool:
        """Whether it speaks of a treatment."""
        return bool(_TREATS.search(self.text) or find_drugs(self.text))


class Names:
    """The names of one thing, as sentences may hold them.

    Args:
        names: gene symbols and names in words.
    """

    def __init__(self, names: Iterable[str]) -> None:
        given = [name for name in names if name]
        self._symbols = {name for name in given if _SYMBOL.fullmatch(name) and name not in _ENGLISH}
        told = (frozenset(stems(name)) for name in given if not _SYMBOL.fullmatch(name))
        self._words = {words for words in told if _tells(words)}

    def stand_in(self, sentence: Spoken) -> bool:
        """Whether a sentence names it."""
        return bool(self._symbols & sentence.symbols) or any(words <= sentence.stems for words in self._words)


def _tells(words: frozenset[str]) -> bool:
    """Whether the words of a name are enough to know the thing by."""
    long = [word for word in words if len(word) >= _SHORTEST and not word.isdigit()]
    return bool(long) and (len(words) > 1 or len(words) == len(long))


def spoken(pool: Sequence[Evidence], asked: ParsedQuestion) -> list[Spoken]:
    """All sentences of the publications of a pool, as `readable` gives them, that were not retracted; cut once."""
    names = [frozenset(stems(name)) for name in condition_names(asked)]
    return [sentence for record in pool for sentence in _of_record(record, names)]


def _of_record(record: Evidence, names: Sequence[frozenset[str]]) -> Iterator[Spoken]:
    if kind_of(record) != "publication" or (record.paper and record.paper.retracted):
        return
    for start, end in sentence_spans(record.content):
        text = record.content[start:end]
        words = frozenset(stems(text))
        symbols = frozenset(_SYMBOL.findall(text))
        yield Spoken(record.key, record.citation.source, text, words, symbols, any(name <= words for name in names))


def backings(found: Iterable[Spoken], *names: Names, of_treatments: bool = True) -> list[Backing]:
    """Sentences that hold all of the names, one a record, as what says a step.

    Args:
        found: the sentences.
        names: of the things that a sentence must name.
        of_treatments: whether those count that speak of a treatment.
    """
    told: dict[str, Backing] = {}
    for sentence in found:
        if sentence.key in told or not all(each.stand_in(sentence) for each in names):
            continue
        if of_treatments or not sentence.treats:
            told[sentence.key] = Backing(
                key=sentence.key,
                source=sentence.source,
                basis="sentence",
                quote=" ".join(sentence.text.split()),
                denies=bool(_DENIES.search(sentence.text)),
                hedged=bool(_HEDGES.search(sentence.text)),
            )
    return list(told.values())
