"""Which kind of question is asked, told by cues in a table over the question with its names masked."""

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
    "uses": "What is {drug} studied for?",
    "negative": "Which drugs were shown not to help in {condition}?",
}
"""A question of each kind, with places for what it is about."""
PLACES: Mapping[str, str] = {
    "condition": "A condition or a state, such as migraine",
    "drug": "A generic name, such as propranolol",
    "other_drug": "The drug to compare it with",
}


class Name(NamedTuple):
    """A drug, a class of drugs, a condition or a way to give drugs that a question names; `end` exclusive."""

    name: str
    start: int
    end: int
    text: str
    kind: Literal["drug", "class", "condition", "route"]

    @property
    def is_drug(self) -> bool:
        """Whether it is a drug or a class of drugs."""
        return self.kind in ("drug", "class")


class _Row(NamedTuple):
    kind: Kind
    needs: str
    cues: re.Pattern[str]
    asking: frozenset[str]


def kind_of(text: str, names: Sequence[Name]) -> Kind:
    """The kind of a question.

    Words without a question's form ("metformin PCOS") and a drug beside a condition ask for treatment, where nothing
    says otherwise.

    Args:
        text: the question.
        names: the drugs, classes and conditions that it names.
    """
    words = mask_names(text, names)
    drugs = words.count("DRUG")
    fits = {"": True, "drug": drugs > 0, "two": drugs > 1, "open": drugs == 0}
    masked = " ".join(words)
    for row in _rows():
        if fits[row.needs] and row.cues.search(masked):
            return row.kind
    if words[1:2] and words[1] in question_words("yes or no") and drugs and "COND" not in words:
        return "harm"  # "does it slow the heart?": whatever it does
    has_form = len(words) > 1 and words[1] in question_words("opening")
    return "other" if has_form and not {"DRUG", "COND"} <= set(words) else "treat"


def question_words(row: str) -> tuple[str, ...]:
    """The words of a row of `cues.tsv`."""
    return cue_list(row, __package__)


def asks_yes_or_no(text: str) -> bool:
    """Whether a question begins as those do that want a yes or a no."""
    return text.lower().split(maxsplit=1)[0] in question_words("yes or no")


@cache
def asking_words(kind: Kind) -> frozenset[str]:
    """Words by which a question of a kind says what kind of answer it wants; few records hold them."""
    return frozenset[str]().union(*(row.asking for row in _rows() if row.kind == kind))


def mask_names(text: str, names: Sequence[Name]) -> list[str]:
    """The words of a question in lower case after ^, names masked; a class that is asked for is no named drug.

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
            if name.kind == "condition" and canonical_condition(name.text) is None:  # a deed tells the kind by itself
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
