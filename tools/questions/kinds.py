"""Which kind of question is asked, told by cues in a table over the question with its names masked."""

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache
from itertools import groupby
from typing import Literal, NamedTuple, get_args

from ..lexicon.matching import read_table, split_names, tokens

Kind = Literal["treat", "prevent", "harm", "avoid", "safety", "compare", "mechanism", "status", "negative", "other"]
"""`harm`: does a drug cause something. `avoid`: which drugs should not be given in a condition. `safety`: is a named
drug safe in a population. `status`: approvals and trials. `negative`: what does not help. `other`: none of these."""
KINDS: tuple[Kind, ...] = get_args(Kind)
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
_GAP = 3  # words that `_` stands for, at most
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
    cues: tuple[tuple[str, ...], ...]


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
    known = {*words}
    for row in _rows():
        if fits[row.needs] and any(_may_be(known, cue) and _has(words, cue) for cue in row.cues):
            return row.kind
    return "treat" if {DRUG, CONDITION} <= set(words) or words[1:2] == [] or words[1] not in _OPENINGS else "other"


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


def _may_be(known: Set[str], cue: Sequence[str]) -> bool:
    """Whether the words of a question allow a cue: most don't, and need not be looked for."""
    return all(each in known or each in ("_", "..") or each.endswith("*") for each in cue)


def _has(words: Sequence[str], cue: Sequence[str]) -> bool:
    """Whether a cue's parts stand one after the other: of each the first, since any number of words may lie between."""
    at = 0
    for is_gap, part in groupby(cue, key="..".__eq__):
        if not is_gap:
            wanted = tuple(part)
            ends = (_end(words, start, wanted) for start in _starts(words, at, wanted[0]))
            at = next((end for end in ends if end is not None), -1)
            if at < 0:
                return False
    return True


def _starts(words: Sequence[str], at: int, first: str) -> Iterable[int]:
    """Where a part may begin: in a long text at few places, which a look at the single words finds."""
    places = range(at, len(words))
    if first == "_":
        return places
    if first.endswith("*"):
        return (place for place in places if words[place].startswith(first[:-1]))
    return (place for place in places if words[place] == first)


def _end(words: Sequence[str], at: int, part: Sequence[str]) -> int | None:
    """Where a part ends that begins at a word; None where it does not stand there."""
    if not part:
        return at
    if part[0] == "_":
        ends = (_end(words, place, part[1:]) for place in range(at, min(at + _GAP, len(words)) + 1))
        return next((end for end in ends if end is not None), None)
    return _end(words, at + 1, part[1:]) if at < len(words) and _is(words[at], part[0]) else None


def _is(word: str, wanted: str) -> bool:
    return word.startswith(wanted[:-1]) if wanted.endswith("*") else word == wanted


@cache
def _rows() -> tuple[_Row, ...]:
    return tuple(
        _Row(row["kind"], row["needs"], tuple(tuple(cue.split()) for cue in split_names(row["cues"])))  # type: ignore[arg-type]
        for row in read_table("kinds.tsv", __package__)
    )
