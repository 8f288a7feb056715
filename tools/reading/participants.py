"""Whole numbers of a sentence that may be counts of people, and participants corrected by their form.

A year is no count: "November 1995" was once read as 1,995 people.
"""

import re
from calendar import month_abbr, month_name
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ..lexicon.matching import cue_list
from .document import Document, Sentence
from .numbers import NUMBER_WORDS, parse_number
from .text import says

_PEOPLE = frozenset(
    "patient patients participant participants subject subjects adult adults woman women man men child children "
    "adolescent adolescents volunteer volunteers individual individuals people person persons infant infants neonates "
    "outpatients inpatients case cases veterans male males female females boy boys girl girls eyes rats mice dogs pigs "
    "rabbits animals students workers users residents survivors recipients controls smokers pregnancies mothers "
    "respondents babies newborns".split()
)
_LINKS = frozenset("of or and in to for with on from the".split())
_UNITS = frozenset("% mg microg mcg g kg ml iu mmol mm cm hz".split())
"""Behind a number that counts no people: "sumatriptan 100 mg"."""
_LARGEST = 50_000_000
_LEAST_BY_FORM = 10  # participants; smaller numbers in brackets are scores, weeks and references
_BRACKET_BEHIND = re.compile(r"\s(?:(?P<people>[A-Za-z]+)\s)?\(")
_IN_BRACKET = re.compile(r"\s(?P<people>[A-Za-z]+)\)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONTHS = frozenset(name.lower() for name in (*month_name[1:], *month_abbr[1:]))
_BETWEEN_YEARS = frozenset("and to through until till or".split())


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number in a text."""

    value: int
    first: int
    """Index of its first token."""
    last: int
    """Index after its last token."""
    people: bool
    """Whether a word for people or `n =` is next to it."""
    arm: bool
    """Whether `n =` precedes it."""


def list_numbers(document: Document, sentence: Sentence) -> Iterator[Number]:
    """Yield the whole numbers of a sentence that may be counts."""
    tokens = document.tokens
    at = sentence.first
    while at < sentence.last:
        first = at
        text = tokens[at].text
        at += 1
        value: int | None = None
        if text[0].isdigit():
            if at < sentence.last and len(text) <= 3 and "." not in text and "," not in text:
                after = tokens[at]
                between = document.whole[tokens[first].end : after.start]
                if len(after.text) == 3 and after.text.isdigit() and len(between) == 1 and between.isspace():
                    value = int(text + after.text)
                    at = at + 1
            if value is None:
                whole = re.fullmatch(r"[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+", text)
                value = int(text.replace(",", "")) if whole else None
        elif text.partition("-")[0] in NUMBER_WORDS:
            while at < sentence.last and (
                tokens[at].text in NUMBER_WORDS
                or (tokens[at].text == "and" and at + 1 < sentence.last and tokens[at + 1].text in NUMBER_WORDS
                    and tokens[at - 1].text in ("hundred", "thousand"))
            ):  # fmt: skip
                at += 1
            value = parse_number(" ".join(token.text for token in tokens[first:at]))
        behind = tokens[at].text if at < sentence.last else ""
        if value is None or not 1 <= value <= _LARGEST or behind in _UNITS:
            continue
        if _is_year(document, sentence, first):
            continue
        near = [token.text for token in tokens[at : min(at + 7, sentence.last)]]
        counted = takewhile(lambda word: word not in _LINKS, near[:3])
        if value == 1 and not any(word.rpartition("-")[2] in _PEOPLE for word in counted):
            continue  # not a count: "one of these drugs", "one or more"
        people = any(word.rpartition("-")[2] in _PEOPLE for word in near)
        arm = first >= 2 and tokens[first - 1].text == "=" and tokens[first - 2].text == "n"
        yield Number(value, first, at, people or arm, arm)


def _is_year(document: Document, sentence: Sentence, at: int) -> bool:
    """Whether a token is a year: 1900 to 2099 after a month, beside another year, or after a word of time.

    After a word of time a number of people is still one: "in 2013 patients with migraine".
    """
    tokens = document.tokens
    if not _YEAR.fullmatch(tokens[at].text):
        return False
    before = [token.text for token in tokens[max(sentence.first, at - 2) : at]][::-1]
    after = [token.text for token in tokens[at + 1 : min(at + 4, sentence.last)]]
    if not _MONTHS.isdisjoint(before):
        return True
    for near in (before, after):
        word, beyond = (*near, "", "")[:2]
        other = word if _YEAR.fullmatch(word) else beyond
        if _YEAR.fullmatch(other) and (word == other or word in _BETWEEN_YEARS):
            return True
    end = tokens[at].end
    if (
        before[:1] == ["from"] and document.whole[end : end + 1] == ","
    ):  # "From 1987, patients"; not "from 2021 records"
        return True
    is_in_time = bool(before) and before[0] in cue_list("time before a year", __package__)
    return is_in_time and _PEOPLE.isdisjoint(after[:2])


def settle_participants(document: Document, predicted: int | None) -> int | None:
    """Correct a predicted number of participants where a form shows that it is an arm's, or the people drawn from.

    Three forms: a total with its arms in brackets, "206 (topiramate 104, placebo 102)"; arms in brackets of their own
    in a sentence on randomisation, "topiramate (100 patients) or placebo (50 patients)"; and two matched groups of one
    size, "3,100 new users were matched with 3,100 users", out of a larger population.
    """
    for sentence in document.sentences:
        text = document.whole[sentence.start : sentence.end]
        mentions = list(list_numbers(document, sentence))
        arms = _find_arms_after_total(document, mentions)
        if not arms and says("randomised", text):
            arms = _find_arms_in_brackets(document, mentions)
        if arms and (predicted is None or predicted in arms):
            return sum(arms)
        pair = _find_matched_pair(text, mentions)
        if pair and (predicted is None or predicted in pair or predicted > sum(pair)):
            return sum(pair)
    return predicted


def _find_arms_after_total(document: Document, mentions: Sequence[Number]) -> list[int]:
    """Return the numbers in a bracket that add up to the number right before it; empty if there is no such bracket."""
    for at, total in enumerate(mentions):
        bracket = _BRACKET_BEHIND.match(document.whole, document.tokens[total.last - 1].end)
        if bracket is None or (bracket["people"] or "people").lower() not in _PEOPLE:
            continue
        inside = list[int]()
        for mention in mentions[at + 1 :]:
            if _count_open_brackets(document, total, mention) != 1:
                break
            inside.append(mention.value)
        if len(inside) > 1 and sum(inside) == total.value and min(inside) >= _LEAST_BY_FORM:
            return inside
    return []


def _count_open_brackets(document: Document, start: Number, end: Number) -> int:
    """Count the brackets that are open at a number, of those opened since another."""
    between = document.whole[document.tokens[start.last - 1].end : document.tokens[end.first].start]
    return between.count("(") - between.count(")")


def _find_arms_in_brackets(document: Document, mentions: Sequence[Number]) -> list[int]:
    """Return the arms of a sentence, each alone in its bracket with a word for people: (100 patients)."""
    arms = []
    for mention in mentions:
        before = document.whole[: document.tokens[mention.first].start]
        after = _IN_BRACKET.match(document.whole, document.tokens[mention.last - 1].end)
        if after and before.endswith("(") and after["people"].lower() in _PEOPLE:
            arms.append(mention.value)
    return arms if len(arms) > 1 and min(arms) >= _LEAST_BY_FORM else []


def _find_matched_pair(text: str, mentions: Sequence[Number]) -> list[int]:
    """Return two groups of one size that a sentence calls matched; empty if there are none, or several."""
    if not says("matched", text):
        return []
    sizes = Counter(mention.value for mention in mentions if mention.people)
    twice = [value for value, count in sizes.items() if count == 2 and value >= _LEAST_BY_FORM]
    return 2 * twice if len(twice) == 1 else []
