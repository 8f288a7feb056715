"""Classify questions, and what each name does in them, by weights learned from questions written by many hands.

The names are masked first, so that the weights hold for any drug and condition. `heads.tsv` holds the weights;
`benchmarks/train_questions.py` learns them and prints what they are worth.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, get_args

from ..lexicon import canonical_condition
from ..lexicon.heads import Head, compute_softmax, read_heads
from ..lexicon.matching import cue_list, split_tokens

QuestionKind = Literal[
    "treat", "prevent", "harm", "avoid", "safety", "compare", "mechanism", "status", "negative", "uses", "other"
]
"""`harm`: does a drug cause something. `avoid`: which drugs should not be given in a condition. `safety`: is a named
drug safe in a population. `status`: approvals and trials. `negative`: what does not help. `uses`: what a drug is
studied for. `other`: none of these."""
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
ON_HARM: frozenset[QuestionKind] = frozenset(("harm", "avoid", "safety"))
"""Kinds that ask about harm rather than benefit."""
QUESTIONS: Mapping[QuestionKind, str] = {
    "treat": "Which existing drugs might treat {condition}?",
    "prevent": "Which existing drugs could prevent {condition}?",
    "harm": "Can {drug} cause {condition}?",
    "avoid": "Which drugs should be avoided in {condition}?",
    "safety": "Is {drug} safe in {condition}?",
    "compare": "Is {drug} better than {other_drug} for {condition}?",
    "mechanism": "How does {drug} work in {condition}?",
    "status": "Is {drug} approved or in trials for {condition}?",
    "uses": "What is {drug} studied for?",
    "negative": "Which drugs were shown not to help in {condition}?",
}
"""A question of each kind, with placeholders."""
PLACES: Mapping[str, str] = {
    "condition": "A condition or a state, such as migraine",
    "drug": "A generic name, such as propranolol",
    "other_drug": "The drug to compare it with",
}

MASKS: Mapping[str, str] = {"drug": "DRUG", "class": "CLASS", "condition": "COND", "route": "ROUTE"}
"""The word that stands for a name, by its kind."""
_DRUGS = frozenset(("DRUG", "CLASS", "ROUTE"))
_MARKS = frozenset(",;:.?!()-/")
_LISTING = re.compile(r"\s*(?:[,/]\s*(?:(?:and|or|nor)\s+)?|\b(?:and|or|nor|and/or)\s+)", re.IGNORECASE)
_STEM, _WINDOW = 5, 6  # letters of a word's beginning; words on each side of a name


class NamedEntity(NamedTuple):
    """A drug, drug class, condition or route of administration named in a question; `end` exclusive."""

    name: str
    start: int
    end: int
    text: str
    kind: Literal["drug", "class", "condition", "route"]

    @property
    def is_drug(self) -> bool:
        return self.kind in ("drug", "class")


class Guess(NamedTuple):
    kind: QuestionKind
    sure: float
    """Probability, 0 to 1."""
    next: QuestionKind


def classify_question(text: str, names: Sequence[NamedEntity]) -> Guess:
    """Classify a question by the names in it.

    A condition without the words of a question ("metformin PCOS") counts as one on treatment.
    """
    words, _ = mask_names(text, names)
    if set(words) <= {*MASKS.values(), *get_question_words("drugs in general"), *_MARKS, "and", "for", "in", "acute"}:
        return Guess("treat", 1.0, "uses")
    likely = compute_softmax(_load_heads()["kind"].score_classes(list_ngrams(words)))
    first, second = likely.argsort()[::-1][:2]
    return Guess(KINDS[first], float(likely[first]), KINDS[second])


def has_role(
    role: Literal["left out", "of people"], text: str, names: Sequence[NamedEntity], kind: QuestionKind
) -> list[NamedEntity]:
    """List the names that a question leaves out ("without triptans"), or the conditions that describe people."""
    lists = {join_list(names_of_list): names_of_list for names_of_list in group_wordings(text, names)}
    words, places = mask_names(text, [*lists])
    head = _load_heads()[role]
    roles = list[NamedEntity]()
    if role == "left out" and set(get_question_words("excludes")).isdisjoint(words):
        return roles
    for name, place in places.items():
        apart, there = head.score_classes(list_surroundings(words, place, kind))
        if there > apart and (name.kind == "condition" or role == "left out"):
            roles += lists[name]
    return roles


def group_wordings(text: str, names: Sequence[NamedEntity]) -> list[list[NamedEntity]]:
    """Group names that stand in a list, which share what they do in a question: "SSRIs, lithium or mirtazapine"."""
    lists = list[list[NamedEntity]]()
    for name in names:
        last = lists[-1][-1] if lists else name
        if _LISTING.fullmatch(text[last.end : name.start]) and (last.kind == "condition") is (name.kind == "condition"):
            lists[-1].append(name)
        else:
            lists.append([name])
    return lists


def join_list(names: Sequence[NamedEntity]) -> NamedEntity:
    return names[0]._replace(end=names[-1].end) if names[1:] else names[0]


def get_question_words(row: str) -> tuple[str, ...]:
    return cue_list(row, __package__)


def asks_yes_or_no(text: str) -> bool:
    """Whether a question begins like a yes-or-no question."""
    return text.lower().split(maxsplit=1)[0] in get_question_words("yes or no")


def mask_names(text: str, names: Sequence[NamedEntity]) -> tuple[list[str], dict[NamedEntity, int]]:
    """Split a question into lower-case words and punctuation, masking names; also return the place of each name.

    The words of a condition that is described, not named, follow its mask: they show the kind.

    >>> triptans = NamedEntity("triptans", 6, 14, "triptans", "class")
    >>> names = [triptans, NamedEntity("migraine", 23, 31, "migraine", "condition")]
    >>> mask_names("Which triptans fail in migraine?", names)[0]
    ['which', 'CLASS', 'fail', 'in', 'COND', '?']
    """
    words = list[str]()
    places = dict[NamedEntity, int]()
    starts = {name.start: name for name in names}
    end = 0
    for token in split_tokens(text):
        if token.start < end:
            continue
        words += (mark for mark in text[end : token.start] if mark in _MARKS)
        end = token.end
        if name := starts.get(token.start):
            places[name] = len(words)
            end = name.end
            words.append(MASKS[name.kind])
            if name.kind == "condition" and canonical_condition(name.text) is None:
                words += [word.key for word in split_tokens(name.text)]
        else:
            words.append(token.key)
    return [*words, *(mark for mark in text[end:] if mark in _MARKS)], places


def list_ngrams(words: Sequence[str]) -> Iterator[str]:
    """Yield the features that show the kind of a question: up to three words in a row, and beginnings of long words."""
    framed = ["^", *words, "$"]
    for size in (1, 2, 3):
        yield from (" ".join(framed[at : at + size]) for at in range(len(framed) - size + 1))
    yield from (f"{word[:_STEM]}*" for word in words if len(word) > _STEM)


def list_surroundings(words: Sequence[str], place: int, kind: QuestionKind) -> Iterator[str]:
    """Yield the features that show what a name does in a question: the words around it, in place and in any order."""
    left = ["^"] * _WINDOW + list(words[max(0, place - _WINDOW) : place])
    right = [*words[place + 1 : place + 1 + _WINDOW], *["$"] * _WINDOW]
    for distance in range(1, _WINDOW + 1):
        before = left[-distance]
        after = right[distance - 1]
        yield from (f"-{distance} {before}", f"+{distance} {after}", f"- {before}", f"+ {after}")
    for size in (2, 3, 4):
        yield from (f"- {' '.join(left[-size:])}", f"+ {' '.join(right[:size])}")
    yield f"{left[-1]} _ {right[0]}"
    yield from (f"in {word}" for word in words)
    is_drug = words[place] in _DRUGS
    alike = [at for at, word in enumerate(words) if (word in _DRUGS if is_drug else word == words[place])]
    yield from (words[place], kind, f"{kind} {min(alike.index(place), 3)} of {min(len(alike), 4)}")


@cache
def _load_heads() -> Mapping[str, Head]:
    return read_heads(files(__package__).joinpath("heads.tsv").read_text(encoding="utf-8"))
