"""Relevance: how well a record fits the question, computed from its words and the source's own rank."""

import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache

import Stemmer

from .evidence import Evidence

BM25_SHARE = 0.7
"""Weight of the word match; the rest is the source's own order, which knows fields and synonyms that words don't."""
_K1, _B = 1.2, 0.75  # Robertson & Zaragoza 2009, https://doi.org/10.1561/1500000019
_TITLE_WEIGHT = 2  # a word of the title counts as often

_WORD = re.compile(r"[^\W_]+")  # of any script; "post-COVID-19" is three words, or a search for COVID would miss it
_STOP_WORDS = frozenset(
    "a an and are as at be by can could do does drug drugs existing for from have help how in is it might not of on or"
    " that the their these this to treat treatment was were what which who will with would".split()
)

_ENDINGS = ("ed", "eds", "edly", "ing", "ings", "ingly")
_ENGLISH = Stemmer.Stemmer("english")
_stemming = threading.Lock()  # a stemmer works in place, and the sandbox searches in a thread of its own


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of an English word in lower case, by https://snowballstem.org/algorithms/english/stemmer.html."""
    with _stemming:
        return str(_ENGLISH.stemWord(word))


def _plain(text: str) -> str:
    """Lower case without accents, so that Sjögren and Sjogren are one word."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text)
    return "".join(c for c in apart if not unicodedata.combining(c)).lower()


def words(text: str) -> list[str]:
    """The words of a text in lower case, in order, without accents."""
    return _WORD.findall(_plain(text))


def content_words(text: str) -> list[str]:
    """The content words of a text in lower case, in order."""
    return [word for word in words(text) if word not in _STOP_WORDS]


def stems(text: str) -> list[str]:
    """The stemmed content words of a text, in order.

    >>> stems("Which drugs prevent migraine attacks?")
    ['prevent', 'migrain', 'attack']
    """
    return list(_stems(text))


@lru_cache(maxsize=4096)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(map(stem, content_words(text)))


def beginnings(stem: str) -> tuple[str, ...]:
    """How a word begins that has a stem: as the stem does, or as dying, whose stem is die. Others need no stemming.

    >>> beginnings("migrain"), beginnings("die")
    (('mi',), ('di', 'dy'))
    """
    return (stem[:2], f"{stem[0]}y") if stem[1:] == "ie" else (stem[:2],)


def stems_among(words: Sequence[str], wanted: Set[str]) -> list[str]:
    """The stems of words that are among the wanted ones, in order, repeats kept."""
    likely = _likely(frozenset(wanted))
    begun = (word for word in words if word[:4] in likely or word[:3] in likely or word[:2] in likely or word in likely)
    return [found for word in begun if (found := stem(word)) in wanted]


@lru_cache(maxsize=64)
def _likely(wanted: frozenset[str]) -> frozenset[str]:
    """How words begin whose stems are wanted: as these do but for the last letter, by four letters at most.

    A letter or a digit alone is the stem of itself, and a vowel of what it makes with an ending.
    """
    return frozenset(start for each in wanted for start in _starts(each))


def _starts(stem: str) -> tuple[str, ...]:
    if len(stem) == 1:
        return (stem, *(stem + ending for ending in _ENDINGS if stem in "aeiouy"))
    return (stem[: min(4, len(stem) - 1)],) if len(stem) > 3 else beginnings(stem)


def rank(question: str, records: Sequence[Evidence]) -> list[Evidence]:
    """Give each record its relevance (0 to 1) to the question; best first.

    A record's place in `records` counts as its source's rank. Ties end in the key, so the order is always the same.
    """
    if not records:
        return []
    scores = _word_match(question, [(record.citation.title, record.content) for record in records])
    best = max(scores) or 1.0
    ranked = [
        record.model_copy(update={"relevance": round(_blend(score / best, place, len(records)), 4)})
        for place, (record, score) in enumerate(zip(records, scores, strict=True))
    ]
    return sorted(ranked, key=lambda record: (-record.relevance, record.key))


def _blend(words: float, place: int, among: int) -> float:
    return BM25_SHARE * words + (1 - BM25_SHARE) * (1 - place / among)


def word_match(question: str, texts: Iterable[str]) -> list[float]:
    """BM25 score of each text for the question's words, 0 or more; 0 where none occurs."""
    return _word_match(question, [("", text) for text in texts])


def _word_match(question: str, texts: Sequence[tuple[str, str]]) -> list[float]:
    """Likewise of titles and what stands below them."""
    wanted = frozenset(stems(question))
    counted = [_counted(title, text, wanted) for title, text in texts]
    holding = Counter(word for _, found in counted for word in found)
    weights = {word: math.log(1 + (len(texts) - held + 0.5) / (held + 0.5)) for word, held in holding.items()}
    mean_length = sum(length for length, _ in counted) / max(1, len(counted))
    return [
        sum(
            weights[word] * times / (times + _K1 * (1 - _B + _B * length / mean_length))
            for word, times in found.items()
        )
        for length, found in counted
    ]


@lru_cache(maxsize=16384)
def _counted(title: str, text: str, wanted: frozenset[str]) -> tuple[int, Mapping[str, int]]:
    """How many content words there are, and how often each wanted stem; remembered for the next round."""
    words = content_words(f"{(title + ' ') * _TITLE_WEIGHT}{text}")
    return len(words), dict(sorted(Counter(stems_among(words, wanted)).items()))


def bare(name: str, kept: str = "") -> str:
    """A name without signs that a source could take for syntax: letters, digits, underscores, blanks, and what is kept.

    >>> bare("5-HT1B (human)", "-")
    '5-HT1B human'
    """
    return " ".join("".join(each if each.isalnum() or each in kept or each == "_" else " " for each in name).split())
