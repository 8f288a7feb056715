"""Classify questions by cues from a table, after masking the names in the question."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, get_args

from ..lexicon import canonical_condition
from ..lexicon.matching import compile_cues, cue_list, read_table, tokens

Kind = Literal[
    "treat", "prevent", "harm", "avoid", "safety", "compare", "mechanism", "status", "negative", "uses", "other"
]
"""`harm`: does a drug cause something. `avoid`: which drugs should not be given in a condition. `safety`: is a named
drug safe in a population. `status`: approvals and trials. `negative`: what does not help. `uses`: what a drug is
studied for. `other`: none of these."""
KINDS: tuple[Kind, ...] = get_args(Kind)
ON_HARM: frozenset[Kind] = frozenset(("harm", "avoid", "safety"))
"""Kinds that ask about harm rather than benefit."""
QUESTIONS: Mapping[Kind, str] = {
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


class Name(NamedTuple):
    """A drug, drug class, condition or route of administration named in a question; `end` exclusive."""

    name: str
    start: int
    end: int
    text: str
    kind: Literal["drug", "class", "condition", "route"]

    @property
    def is_drug(self) -> bool:
        """Whether it is a drug or a drug class."""
        return self.kind in ("drug", "class")


class _Row(NamedTuple):
    kind: Kind
    needs: str
    cues: re.Pattern[str]
    asking: frozenset[str]


def kind_of(text: str, names: Sequence[Name]) -> Kind:
    """Classify a question.

    Words without the form of a question ("metformin PCOS"), and a drug with a condition, default to
    treatment.

    Args:
        text: the question.
        names: the drugs, classes and conditions in it.
    """
    words = mask_names(text, names)
    drugs = words.count("DRUG")
    fits = {"": True, "drug": drugs > 0, "two": drugs > 1, "open": drugs == 0}
    masked = " ".join(words)
    for row in _rows():
        if fits[row.needs] and row.cues.search(masked):
            return row.kind
    if words[1:2] and words[1] in question_words("yes or no") and drugs and "COND" not in words:
        return "harm"  # "does it slow the heart?": an effect of the drug
    has_form = len(words) > 1 and words[1] in question_words("opening")
    return "other" if has_form and not {"DRUG", "COND"} <= set(words) else "treat"


def question_words(row: str) -> tuple[str, ...]:
    """Return the words of a row of `cues.tsv`."""
    return cue_list(row, __package__)


def asks_yes_or_no(text: str) -> bool:
    """Whether a question begins like a yes-or-no question."""
    return text.lower().split(maxsplit=1)[0] in question_words("yes or no")


@cache
def asking_words(kind: Kind) -> frozenset[str]:
    """Return words that express a kind of question rather than its subject; few records contain them."""
    return frozenset[str]().union(*(row.asking for row in _rows() if row.kind == kind))


def mask_names(text: str, names: Sequence[Name]) -> list[str]:
    """Split a question into lower-case words after ^, masking names; a class asked for is not a named drug.

    >>> names = [Name("triptans", 6, 14, "triptans", "class"), Name("migraine", 23, 31, "migraine", "condition")]
    >>> mask_names("Which triptans fail in migraine?", names)
    ['^', 'which', 'DRUGS', 'fail', 'in', 'COND']
    """
    words = ["^"]
    starts = {name.start: name for name in names}
    taken = 0
    for token in tokens(text):
        if name := starts.get(token.start):
            taken = name.end
            drug = "DRUGS" if words[-1] in question_words("asks for a class") else "DRUG"
            words.append(drug if name.is_drug else "COND")
            if name.kind == "condition" and canonical_condition(name.text) is None:  # a deed's own words show the kind
                words += [each.key for each in tokens(name.text)]
        elif token.start >= taken and token.key in ("it", "they", "them") and "DRUGS" not in words:
            words.append("DRUGS" if words[-1] == "of" else "DRUG")
        elif token.start >= taken:
            words.append("DRUGS" if token.key in question_words("drugs in general") else token.key)
    return words


@cache
def _rows() -> tuple[_Row, ...]:
    rows, cased = read_table("kinds.tsv", __package__), re.NOFLAG
    told = ((row["kind"], row["needs"], compile_cues(row["cues"], cased), row["asking"].split()) for row in rows)
    return tuple(_Row(kind, needs, cues, frozenset(asking)) for kind, needs, cues, asking in told)  # type: ignore[arg-type]
