"""Which kind of question is asked, told by cues in a table over the question with its names masked."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, get_args

from ..lexicon.matching import cues, read_table, tokens

Kind = Literal["treat", "prevent", "harm", "avoid", "safety", "compare", "mechanism", "status", "negative", "other"]
"""`harm`: does a drug cause something. `avoid`: which drugs should not be given in a condition. `safety`: is a named
drug safe in a population. `status`: approvals and trials. `negative`: what does not help. `other`: none of these."""
KINDS: tuple[Kind, ...] = get_args(Kind)
ON_HARM: frozenset[Kind] = frozenset(("harm", "avoid", "safety"))
"""Those that do not ask what helps."""
QUESTIONS: Mapping[Kind, str] = {
    "treat": "Which existing drugs might treat {condition}?",
    "prevent": "Which existing drugs could prevent {condition}?",
    "harm": "Can {drug} cause {condition}?",
    "avoid": "Which drugs should be avoided in {condition}?",
    "safety": "Is {drug} safe in {condition}?",
    "compare": "Is {drug} better than {other_drug} for {condition}?",
    "mechanism": "How does {drug} work in {condition}?",
    "status": "Is {drug} approved or in trials for {condition}?",
    "negative": "Which drugs were shown not to help in {condition}?",
}
"""A question of each kind, with places for what it is about."""
PLACES: Mapping[str, str] = {
    "condition": "A condition or a state, such as migraine",
    "drug": "A generic name, such as propranolol",
    "other_drug": "The drug to compare it with",
}

DRUG, ASKED_FOR, CONDITION = "DRUG", "DRUGS", "COND"
_ASKING = frozenset("which what list name any whose other".split())
_DRUGS_IN_GENERAL = frozenset(
    "drug drugs medicine medicines medication medications pill pills treatment treatments therapy therapies painkiller "
    "painkillers agents compounds".split()
)
_OPENINGS = frozenset("what which who whose where when why how is are was were do does did can could has have".split())


class Name(NamedTuple):
    """A name in a question: `mask` is DRUG or CONDITION, `end` exclusive."""

    mask: str
    start: int
    end: int


class _Row(NamedTuple):
    kind: Kind
    needs: str
    cues: str


def kind_of(text: str, names: Sequence[Name]) -> Kind:
    """The kind of a question.

    Words without a question's form ("metformin PCOS") and a drug beside a condition ask for treatment, where nothing
    says otherwise.

    Args:
        text: the question.
        names: the drugs, classes and conditions that it names.
    """
    words = masked(text, names)
    named = words.count(DRUG)
    fits = {"": True, "drug": named > 0, "two": named > 1, "open": named == 0}
    said = " ".join(words)
    for row in _rows():
        if fits[row.needs] and _pattern(row.cues).search(said):
            return row.kind
    return "treat" if {DRUG, CONDITION} <= set(words) or words[1:2] == [] or words[1] not in _OPENINGS else "other"


def without_asking(text: str, kind: Kind, names: Sequence[Name]) -> str:
    """A question without the words by which it says what kind of answer it wants.

    >>> without_asking("What harm do statins do?", "harm", [Name("DRUG", 13, 20)])
    'What  do statins do?'
    """
    for token in reversed(tokens(text)):
        is_named = any(name.start <= token.start < name.end for name in names)
        if token.key in _asking()[kind] and not is_named:
            text = text[: token.start] + text[token.end :]
    return text


@cache
def _asking() -> Mapping[Kind, frozenset[str]]:
    rows = read_table("kinds.tsv", __package__)
    return {
        kind: frozenset(word for row in rows if row["kind"] == kind for word in row["asking"].split()) for kind in KINDS
    }


def masked(text: str, names: Sequence[Name]) -> list[str]:
    """The words of a question in lower case after ^, names masked; a class that is asked for is no named drug.

    >>> masked("Which triptans fail in migraine?", [Name("DRUG", 6, 14), Name("COND", 23, 31)])
    ['^', 'which', 'DRUGS', 'fail', 'in', 'COND']
    """
    words = ["^"]
    starts = {name.start: name for name in names}
    taken = 0
    for token in tokens(text):
        if name := starts.get(token.start):
            taken = name.end
            asked_for = name.mask == DRUG and words[-1] in _ASKING
            words.append(ASKED_FOR if asked_for else name.mask)
        elif token.start >= taken:
            words.append(ASKED_FOR if token.key in _DRUGS_IN_GENERAL else token.key)
    return words


@cache
def _rows() -> tuple[_Row, ...]:
    return tuple(
        _Row(row["kind"], row["needs"], row["cues"])  # type: ignore[arg-type]
        for row in read_table("kinds.tsv", __package__)
    )


@cache
def _pattern(written: str) -> re.Pattern[str]:
    """Made when a question comes to it."""
    return cues(written, re.NOFLAG)
