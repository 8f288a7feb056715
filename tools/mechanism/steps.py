"""Steps of a mechanistic chain, their evidence and weights, and the search for steps in sentences.

The weight of a step follows from its evidence by these figures, which are conventions, not measurements.

| evidence | weight |
|---|---|
| a database of mechanisms, with the kind of action | 0.9; 0.6 without it |
| a database that lists a protein among those of a pathway or process | 0.8 |
| a curated entry that a protein is involved in the disease | 0.8 |
| an association score of Open Targets | the score, 0.8 at most |
| sentences of n records that name both ends | 1 - 0.6^n, 0.7 at most; a hedged one counts half |
| proteins of the disease in the same process | 1 - Π(1 - w/2), w the weights of their steps; 0.7 at most |

Of several kinds the highest weight counts, since databases copy each other; each record that denies the step halves it.

A sentence counts only if it names both ends itself. One that mentions a treatment (a drug, an inhibitor, a blocker, an
antagonist) shows that acting on the target was tried, not that the target is involved in the condition, and does not
count for that. A few cue words decide whether a sentence denies a relation or only supposes it; all others count as
assertions.
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
from ..lexicon.matching import content_words, stem, stems, stems_among
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
    "sentence",
    "shared protein",
]
WEIGHTS: dict[Basis, float] = {"action": 0.9, "action not named": 0.6, "membership": 0.8, "involvement": 0.8}
MOST_BY_SCORE = 0.8
MOST_BY_SENTENCES = 0.7
_MISSED_BY_ONE = 0.6  # probability that a step named by one sentence is wrong
_SHARED = 0.5
_DENIED = 0.5


Direction = Literal["same", "opposite", "unknown"]
"""Direction of a drug's action on its target compared with drugs approved for the condition."""
_MORE = (
    "ACTIVATOR|AGONIST|OPENER|PARTIAL AGONIST|POSITIVE ALLOSTERIC MODULATOR|POSITIVE MODULATOR|RELEASING AGENT"
).split("|")
_LESS = (
    "ALLOSTERIC ANTAGONIST|ANTAGONIST|ANTISENSE INHIBITOR|BLOCKER|DEGRADER|INHIBITOR|INVERSE AGONIST|"
    "NEGATIVE ALLOSTERIC MODULATOR|NEGATIVE MODULATOR|RNAI INHIBITOR|SEQUESTERING AGENT"
).split("|")
"""ChEMBL action types that increase or decrease a target's activity; the others have no sign."""


def sign_of(action_type: str | None) -> int:
    """Return 1 if an action increases a target's activity, -1 if it decreases it, 0 if unknown."""
    kind = (action_type or "").upper()
    return (kind in _MORE) - (kind in _LESS)


class Node(NamedTuple):
    kind: NodeKind
    name: str
    number: str = ""
    """Its identifier: CHEMBL27, P08588, R-HSA-390696, GO:0042310; empty if unknown."""


class Backing(BaseModel, frozen=True, extra="forbid"):
    key: str
    source: str
    basis: Basis
    number: str = ""
    """Identifier in the source; empty for sentences."""
    quote: str = ""
    """Whole sentence of the record; empty if the source is a table."""
    denies: bool = False
    hedged: bool = False
    score: float | None = Field(default=None, ge=0, le=1)
    """Score of an association or shared protein; None for others."""


class Step(BaseModel, frozen=True, extra="forbid"):
    """A step from one node to the next."""

    start: Node
    end: Node
    relation: str
    backings: list[Backing] = []
    """Empty if there is no evidence: the step is missing."""

    @property
    def is_missing(self) -> bool:
        return not any(not each.denies for each in self.backings)

    @property
    def weight(self) -> float:
        return weight_of(self.backings)

    @property
    def quoted(self) -> Backing | None:
        """The evidence to quote, from databases before publications; None without a quote."""
        told = [each for each in self.backings if each.quote and not each.denies]
        return min(told, key=lambda each: (each.basis == "sentence", each.hedged), default=None)


def weight_of(backings: Iterable[Backing]) -> float:
    given = list(backings)
    sentences = {
        each.key: 0.5 if each.hedged else 1.0 for each in given if each.basis == "sentence" and not each.denies
    }
    found = [WEIGHTS[each.basis] for each in given if each.basis in WEIGHTS and not each.denies]
    found += [min(MOST_BY_SCORE, each.score or 0.0) for each in given if each.basis == "association"]
    shared = {each.number: 1 - _SHARED * (each.score or 0.0) for each in given if each.basis == "shared protein"}
    found.append(min(MOST_BY_SENTENCES, 1 - math.prod(shared.values())))
    found.append(min(MOST_BY_SENTENCES, 1 - _MISSED_BY_ONE ** sum(sentences.values())))
    denying = len({each.key for each in given if each.denies})
    return round(max(found) * _DENIED**denying, 4)


class Chain(BaseModel, frozen=True, extra="forbid"):
    """The best path from a drug to the condition, with evidence and missing steps."""

    drug: str
    steps: list[Step]
    confidence: float = Field(ge=0, le=1)
    """Confidence that the drug acts on the condition by this or another known path, by `arithmetic`."""
    arithmetic: str
    direction: Direction = "unknown"
    compared: list[str] = []
    """Approved drugs acting on the same target, used to find the direction."""
    opposing: list[str] = []
    """Keys of the records on these if they act in the opposite direction."""
    others: int = 0
    """Number of other complete paths."""
    missing: list[str] = []

    @property
    def nodes(self) -> list[Node]:
        return [self.steps[0].start, *(step.end for step in self.steps)] if self.steps else []

    def node(self, kind: NodeKind) -> Node | None:
        """Return the node of a kind; None if the chain has none."""
        return next((each for each in self.nodes if each.kind == kind), None)

    def keys(self, *, denying: bool = False) -> list[str]:
        """List the keys of the records that support its steps, or deny them."""
        told = (each.key for step in self.steps for each in step.backings if each.denies is denying)
        return list(dict.fromkeys(told))


_SYMBOL = re.compile(r"[A-Z][A-Z0-9]{2,9}")
_ENGLISH = frozenset("ACE AIDS CAT IMPACT MAX MET REST SET TANK".split())
"""Gene symbols with other meanings in texts; ACE, for one, is found by the enzyme's name."""
_SHORTEST = 5  # letters of a stem that identifies a one-word name


class Names:
    """The gene symbols and names in words of one node, for finding it in sentences."""

    def __init__(self, names: Iterable[str]) -> None:
        self.symbols, self.words = set[str](), set[frozenset[str]]()
        for name in filter(None, names):
            if _SYMBOL.fullmatch(name):
                self.symbols |= {name} - _ENGLISH
                continue
            words = frozenset(stems(name))  # a phrase, in any order: "insulin release", "release of insulin"
            long = [word for word in words if len(word) >= _SHORTEST and not word.isdigit()]
            if long and (len(words) > 1 or len(words) == len(long)):  # else too unspecific
                self.words.add(words)


class SentenceIndex:
    """Index of the sentences of non-retracted publications, screened by `readable`, by the names in them."""

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
        """Find sentences with all of the names, one per record, as evidence for a step.

        With `on_condition` a sentence must also name the condition, and mention no treatment.
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
        """Find sentences with any of the names as a phrase, or any of the symbols."""
        found = set[int]().union(*(self._holding.get(symbol, set()) for symbol in symbols))
        for words in filter(None, names):
            together = set.intersection(*(self._holding.get(word, set()) for word in words))
            found |= {at for at in together - found if len(words) == 1 or self._is_phrase(words, at)}
        return found

    def _is_phrase(self, words: frozenset[str], at: int) -> bool:
        """Whether words are together in a sentence, in any order, with at most one other word between."""
        said = [stem(word) for word in content_words(self._sentences[at][1].quote)]
        size = len(words) + 1
        return any(words <= set(said[place : place + size]) for place in range(max(1, len(said) - size + 1)))
