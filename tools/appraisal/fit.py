"""How a study's question fits the one asked: its aim, its condition and its people against what is asked.

| the study's condition, or what it was given for | fit |
|---|---|
| the one asked about, under any of its names | same |
| a form of it by MeSH's tree; its name with words before it | narrower |
| what it is a form of | wider |
| what it leads to: below a heading of complications; "due to", "associated with" it | complication |
| another, in people who have the one asked about | comorbid |
| the one asked about, as something that the drug does | adverse_effect |
| another; or the one asked about with another aim | other |

Of several conditions the best fit counts, in the order of `FITS`. Only *same* and *narrower* let a study support or
fail a drug. Whom the drug was given to is apart from what for: "hypertension in diabetes" is on hypertension.

| asked | the study's aim | the same aim |
|---|---|---|
| to prevent | prevent; treat | yes; no |
| at once, in an attack | treat; prevent | yes; no |
| to treat | treat | yes |
| to treat | prevent | if its people have the condition, or what returns is prevented (attacks, flares, relapses) |
| any | harm, mechanism, other | no |
| any | not told | yes |
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from ..lexicon.matching import stems
from ..lexicon.tree import Relation, find_in_tree, find_relation, list_tree_numbers
from ..questions import Question
from ..reading.assembler import COMPLICATION, ELSEWHERE
from ..reading.document import Document
from ..records.study import Aim, Comparison, StatedView, Study

Fit = Literal["same", "narrower", "complication", "comorbid", "adverse_effect", "wider", "other"]
FITS: tuple[Fit, ...] = get_args(Fit)
"""The best first."""
COUNTED: frozenset[Fit] = frozenset({"same", "narrower"})
_LED_TO = re.compile(
    r"\b(?:due to|owing to|secondary to|caused by|associated with|related to|resulting from|following|after|"
    r"complications? (?:of|from)|complicating)\s+",
    re.IGNORECASE,
)
"""Between what is treated and its cause; the cause comes last."""
_LEADING_TO = re.compile(r"[- ](?:induced|associated|related)\s+(?!with\b|to\b|by\b)", re.IGNORECASE)
"""Between a cause and what is treated."""
_IN_PEOPLE = re.compile(
    r"\b(?:in|among)\s+|\b(?:of|for)\s+(?=(?:[\w-]+\s+){0,3}?(?:patients?|people|adults?|children|women|men)\b)",
    re.IGNORECASE,
)
"""Between what is treated and in whom."""
_RETURNS = re.compile(
    r"\b(?:attacks?|flares?|relapse\w*|recurren\w+|exacerbation\w*|episod\w+|crisis|crises|bouts?|seizures?|"
    r"secondary prevention|maintenance|migraines?|headaches?)\b",
    re.IGNORECASE,
)


class Topic(NamedTuple):
    """What a study, or one comparison of it, is on."""

    condition: str
    """What is to be treated or prevented, in the record's words; empty if it is not told."""
    people: str = ""
    """In whom, beyond having the condition; empty if it is not told."""
    aim: Aim | None = None
    """None: not told."""


def judge_fit(topic: Topic, question: Question) -> Fit:
    """Return how a study's question fits the one asked, by the tables above.

    A question that names no condition is fitted by every study.
    """
    if not question.conditions:
        return "same"
    fit = min((_fit_condition(topic, condition) for condition in question.conditions), key=FITS.index)
    if fit in COUNTED and topic.aim == "harm":
        return "adverse_effect"
    return fit if fit not in COUNTED or has_asked_aim(topic, question) else "other"


def has_asked_aim(topic: Topic, question: Question) -> bool:
    """Whether a study asked with the aim of the question, by the second table."""
    if topic.aim is None:
        return True
    if question.is_preventive:
        return topic.aim == "prevent"
    if topic.aim == "treat":
        return True
    if topic.aim != "prevent" or question.is_acute:
        return False
    has_condition = any(_is_named(topic.people, condition) for condition in question.conditions)
    return has_condition or _RETURNS.search(topic.condition) is not None


@lru_cache(maxsize=4096)
def _fit_condition(topic: Topic, asked_condition: str) -> Fit:
    parts = _split(topic)
    fits: list[Fit] = [_find_relation(name, asked_condition) for name in _list_names(parts.target)]
    if _is_named(parts.cause, asked_condition):
        fits.append("complication")
    if _is_named(parts.people, asked_condition):
        fits.append("comorbid")
    return min(fits, key=FITS.index, default="other")


class _Parts(NamedTuple):
    """The words of a study's condition: for what, because of what, in whom."""

    target: str
    cause: str
    people: str


def _split(topic: Topic) -> _Parts:
    """Split a condition's words; where only one part names a condition, that is for what."""
    text = topic.condition
    if text.startswith(COMPLICATION):
        return _Parts("", text.removeprefix(COMPLICATION), topic.people)
    if text.startswith(ELSEWHERE):
        return _Parts("", "", text.removeprefix(ELSEWHERE))
    target, people = _cut(text, _IN_PEOPLE)
    target, cause = _cut(target, _LED_TO)
    before = _LEADING_TO.search(target)
    if before and find_in_tree(target[before.end() :]):
        cause = f"{cause} ; {target[: before.start()]}"
        target = target[before.end() :]
    return _Parts(target, cause, f"{people} ; {topic.people}")


def _cut(text: str, mark: re.Pattern[str]) -> tuple[str, str]:
    """Cut a text at the first mark with a condition on either side; the whole and nothing if there is none."""
    for match in mark.finditer(text):
        if find_in_tree(text[: match.start()]) and find_in_tree(text[match.end() :]):
            return text[: match.start()], text[match.end() :]
    return text, ""


def _list_names(text: str) -> list[str]:
    """List the conditions that a text names; the text itself if it names none that is known."""
    return [mention.name for mention in find_in_tree(text)] or [part for part in [text.strip(" ;.")] if part]


def _is_named(text: str, asked_condition: str) -> bool:
    return any(_find_relation(name, asked_condition) in COUNTED for name in _list_names(text))


def _find_relation(name: str, asked_condition: str) -> Relation:
    """Return what a condition is to the one asked about; of one that nobody knows, its words tell."""
    relation = find_relation(name, asked_condition)
    if (
        relation == "other"
        and not list_tree_numbers(asked_condition)
        and frozenset(stems(asked_condition)) <= frozenset(stems(name))
    ):
        return "narrower"
    return relation


def get_topic(study: Study, part: Comparison | StatedView | None = None) -> Topic:
    """Return what a study, or one comparison or statement of it, is on; a part's own condition and aim come first."""
    own = part.condition if part else None
    aim = part.aim if part else None
    people = part.people if isinstance(part, StatedView) else ""
    return Topic(own or study.condition, people or study.people, aim or study.aim)


def get_topic_of_title(document: Document, listed: Iterable[str] = ()) -> Topic:
    """Return what a record's title says that its study is on; with a registered trial's `listed` conditions."""
    return Topic(" ; ".join((document.title, *listed)))
