"""The steps of a chain, what they rest on and weigh, and the sentences of publications that say one.

How sure a step is follows from what says it, by these figures; none of them is measured, all of them are conventions.

| what says it | weight |
|---|---|
| a database of mechanisms, with the kind of action | 0.9; 0.6 without it |
| a database that lists a protein among those of a pathway or process | 0.8 |
| a curated entry that a protein has a part in the disease | 0.8 |
| an association score of Open Targets | the score, 0.8 at most |
| sentences of n records that name both ends | 1 - 0.6^n, 0.7 at most; a hedged one counts half |
| proteins of the disease that take part in the same process | 1 - Π(1 - w/2), w their own steps; 0.7 at most |
| proteins that work together by STRING | half the score |

Of several kinds the heaviest counts, since databases copy each other; each record that denies the step halves it.

A sentence counts where it names both ends by their names, not where the record does somewhere else. One that speaks of
a treatment (it names a drug, an inhibitor, a blocker, an antagonist) says that acting on the target was tried, not that
the target has a part in the condition, and does not count for that. Whether a sentence denies that two things have to
do with each other, or only supposes it, is told by a few words; everything else counts as said.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field

from willowbark.tools.registry import kind_of

from ..appraisal.appraised import condition_names
from ..evidence import Evidence
from ..lexicon.stemming import content_words, stem, stems, stems_among
from ..questions import Question
from ..reading.document import Document, Sentence
from ..reading.text import says

NodeKind = Literal["drug", "target", "process", "disease"]
Basis = Literal[
    "action",
    "action not named",
    "membership",
    "involvement",
    "association",
    "interaction",
    "sentence",
    "shared protein",
]
WEIGHTS: dict[Basis, float] = {"action": 0.9, "action not named": 0.6, "membership": 0.8, "involvement": 0.8}
MOST_BY_SCORE = 0.8
MOST_BY_SENTENCES = 0.7
_MISSED_BY_ONE = 0.6  # chance that a step which one sentence names is none
_SHARED = 0.5
_DENIED = 0.5


Direction = Literal["same", "opposite", "unknown"]
"""How a drug acts on its target beside drugs approved for the condition: as they do, or the other way."""
_MORE = (
    "ACTIVATOR|AGONIST|OPENER|PARTIAL AGONIST|POSITIVE ALLOSTERIC MODULATOR|POSITIVE MODULATOR|RELEASING AGENT"
).split("|")
_LESS = (
    "ALLOSTERIC ANTAGONIST|ANTAGONIST|ANTISENSE INHIBITOR|BLOCKER|DEGRADER|INHIBITOR|INVERSE AGONIST|"
    "NEGATIVE ALLOSTERIC MODULATOR|NEGATIVE MODULATOR|RNAI INHIBITOR|SEQUESTERING AGENT"
).split("|")
"""Action types of ChEMBL's vocabulary that make a target do more, and less; the others have no sign."""


def sign_of(action_type: str | None) -> int:
    """1 where an action makes a target do more, -1 where less, 0 where that is not known.

    >>> sign_of("AGONIST"), sign_of("Blocker"), sign_of("BINDING AGENT"), sign_of(None)
    (1, -1, 0, 0)
    """
    kind = (action_type or "").upper()
    return (kind in _MORE) - (kind in _LESS)


class Node(NamedTuple):
    """An end of a step."""

    kind: NodeKind
    name: str
    number: str = ""
    """Its identifier: CHEMBL27, P08588, R-HSA-390696, GO:0042310; empty where none is known."""


class Backing(BaseModel, frozen=True, extra="forbid"):
    """One thing that says a step, or denies it."""

    key: str
    """Of the record."""
    source: str
    """Name of the record's source."""
    basis: Basis
    number: str = ""
    """Identifier under which the source holds it; empty for sentences."""
    quote: str = ""
    """The record's own sentence, whole; empty where the source is a table."""
    denies: bool = False
    hedged: bool = False
    score: float | None = Field(default=None, ge=0, le=1)
    """Of an association, an interaction or a shared protein; None for the others."""


class Step(BaseModel, frozen=True, extra="forbid"):
    """A step from one node to the next."""

    start: Node
    end: Node
    relation: str
    backings: list[Backing] = []
    """Empty where nothing says it: the step is missing."""

    @property
    def is_missing(self) -> bool:
        """Whether nothing says it."""
        return not any(not each.denies for each in self.backings)

    @property
    def weight(self) -> float:
        """How sure it is, 0 to 1, by the table above; 0 for a missing one."""
        return weight_of(self.backings)

    @property
    def quoted(self) -> Backing | None:
        """What is shown for it: a sentence where there is one, databases before publications."""
        told = [each for each in self.backings if each.quote and not each.denies]
        return min(told, key=lambda each: (each.basis == "sentence", each.hedged), default=None)


def weight_of(backings: Iterable[Backing]) -> float:
    """How sure a step is, by what says it.

    >>> weight_of([Backing(key="a", source="chembl", basis="action")])
    0.9
    >>> weight_of([Backing(key=k, source="pubmed", basis="sentence", quote="…", denies=k == "c") for k in "abc"])
    0.32
    """
    given = list(backings)
    sentences = {
        each.key: 0.5 if each.hedged else 1.0 for each in given if each.basis == "sentence" and not each.denies
    }
    found = [WEIGHTS[each.basis] for each in given if each.basis in WEIGHTS and not each.denies]
    found += [min(MOST_BY_SCORE, each.score or 0.0) for each in given if each.basis == "association"]
    found += [_SHARED * (each.score or 0.0) for each in given if each.basis == "interaction"]
    shared = {each.number: 1 - _SHARED * (each.score or 0.0) for each in given if each.basis == "shared protein"}
    found.append(min(MOST_BY_SENTENCES, 1 - math.prod(shared.values())))
    found.append(min(MOST_BY_SENTENCES, 1 - _MISSED_BY_ONE ** sum(sentences.values())))
    denying = len({each.key for each in given if each.denies})
    return round(max(found) * _DENIED**denying, 4)


class Chain(BaseModel, frozen=True, extra="forbid"):
    """The best way from a drug to the condition, with what says each step and what nothing says."""

    drug: str
    steps: list[Step]
    confidence: float = Field(ge=0, le=1)
    """That the drug acts on the condition along this way or another one that is known, by `arithmetic`."""
    arithmetic: str
    direction: Direction = "unknown"
    compared: list[str] = []
    """Drugs approved for the condition that act on the same target, by which the direction is told."""
    opposing: list[str] = []
    """Keys of the records that say so, where these act the other way."""
    others: int = 0
    """Further ways that are whole."""
    missing: list[str] = []
    """What no record says, in words."""

    @property
    def nodes(self) -> list[Node]:
        """The nodes in order."""
        return [self.steps[0].start, *(step.end for step in self.steps)] if self.steps else []

    def node(self, kind: NodeKind) -> Node | None:
        """The node of a kind; None where the chain has none."""
        return next((each for each in self.nodes if each.kind == kind), None)

    def keys(self, *, denying: bool = False) -> list[str]:
        """Keys of the records that say its steps, or deny them."""
        told = (each.key for step in self.steps for each in step.backings if each.denies is denying)
        return list(dict.fromkeys(told))


_SYMBOL = re.compile(r"[A-Z][A-Z0-9]{2,9}")
_ENGLISH = frozenset("ACE AIDS CAT IMPACT MAX MET REST SET TANK".split())
"""Gene symbols that texts also write for something else; ACE is one, and is found by the enzyme's name."""
_SHORTEST = 5  # letters of a stem by which a name of one word is known


class Names:
    """The names of one thing, as sentences may hold them.

    Args:
        names: gene symbols and names in words.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.symbols, self.words = set[str](), set[frozenset[str]]()
        for name in filter(None, names):
            if _SYMBOL.fullmatch(name):
                self.symbols |= {name} - _ENGLISH
                continue
            words = frozenset(stems(name))  # a phrase, in any order: "insulin release", "release of insulin"
            long = [word for word in words if len(word) >= _SHORTEST and not word.isdigit()]
            if long and (len(words) > 1 or len(words) == len(long)):  # else too little to know the thing by
                self.words.add(words)


class SentenceIndex:
    """The sentences of the publications of a pool that were not retracted, found by what they name.

    Args:
        pool: records as `readable` gives them.
        asked: the question.
        named: all names that will be looked for.
    """

    def __init__(self, pool: Iterable[Evidence], asked: Question, named: Iterable[Names]) -> None:
        condition = [frozenset(stems(name)) for name in condition_names(asked)]
        wanted = frozenset[str]().union(*condition, *(words for names in named for words in names.words))
        self._sentences: list[tuple[Evidence, Sentence]] = [
            (record, sentence)
            for record in pool
            if kind_of(record) == "publication" and not (record.paper and record.paper.retracted)
            for sentence in Document.of(record).sentences
        ]
        self._holding = defaultdict[str, set[int]](set)
        for at, (_, said) in enumerate(self._sentences):
            for word in (*_SYMBOL.findall(said.quote), *stems_among(content_words(said.quote), wanted)):
                self._holding[word].add(at)
        self._on_condition = self._places_of(condition)

    def backings(self, *names: Names, on_condition: bool = False) -> list[Backing]:
        """Sentences that hold all of the names, one a record, as what says a step.

        Args:
            names: of the things that a sentence must name.
            on_condition: whether it must name the condition too, and speak of no treatment.
        """
        places = [self._places_of(each.words, each.symbols) for each in names]
        if on_condition:
            places.append(self._on_condition)
        found: dict[str, Backing] = {}
        for at in sorted(set.intersection(*places)):
            record, said = self._sentences[at]
            if record.key in found or (on_condition and (says("treats", said.text) or said.drugs)):
                continue
            found[record.key] = Backing(
                key=record.key,
                source=record.citation.source,
                basis="sentence",
                quote=" ".join(said.quote.split()),
                denies=bool(says("denies", said.text)),
                hedged=bool(says("supposes", said.text)),
            )
        return list(found.values())

    def _places_of(self, names: Iterable[frozenset[str]], symbols: Iterable[str] = ()) -> set[int]:
        """Where any of the names stands as a phrase, or any of the symbols."""
        found = set[int]().union(*(self._holding.get(symbol, set()) for symbol in symbols))
        for words in filter(None, names):
            together = set.intersection(*(self._holding.get(word, set()) for word in words))
            found |= {at for at in together - found if len(words) == 1 or self._is_phrase(words, at)}
        return found

    def _is_phrase(self, words: frozenset[str], at: int) -> bool:
        """Whether words stand together in a sentence, in any order, with one word between them at most."""
        said = [stem(word) for word in content_words(self._sentences[at][1].quote)]
        size = len(words) + 1
        return any(words <= set(said[place : place + size]) for place in range(max(1, len(said) - size + 1)))
