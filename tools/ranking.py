"""Words, stems, and how relevant a record is to a question: BM25 and the source's own order."""

import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence, Set
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
_ENGLISH = Stemmer.Stemmer("english")
_stemming = threading.Lock()  # a stemmer works in place, and records are read in threads


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of an English word in lower case, by https://snowballstem.org/algorithms/english/stemmer.html."""
    with _stemming:
        return str(_ENGLISH.stemWord(word))


def words(text: str) -> list[str]:
    """The words of a text in lower case, in order, without accents: Sjögren and Sjogren are one word."""
    if not text.isascii():
        text = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return _WORD.findall(text.lower())


def content_words(text: str) -> list[str]:
    """The content words of a text in lower case, in order."""
    return [word for word in words(text) if word not in _STOP_WORDS]


@lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """The stemmed content words of a text, in order.

    >>> stems("Which drugs prevent migraine attacks?")
    ('prevent', 'migrain', 'attack')
    """
    return tuple(map(stem, content_words(text)))


def stems_among(words: Iterable[str], wanted: Set[str]) -> list[str]:
    """The stems of words that are among the wanted ones, in order, repeats kept."""
    return [found for word in words if (found := stem(word)) in wanted]


def rank(question: str, records: Sequence[Evidence]) -> list[Evidence]:
    """Give each record its relevance (0 to 1) to the question; best first.

    A record's place in `records` counts as its source's rank. Ties end in the key, so the order is always the same.
    """
    wanted = frozenset(stems(question))
    counted = [_count_stems(record.citation.title, record.content, wanted) for record in records]
    holding = Counter(word for _, found in counted for word, _ in found)
    weights = {word: math.log(1 + (len(records) - held + 0.5) / (held + 0.5)) for word, held in holding.items()}
    mean_length = sum(length for length, _ in counted) / max(1, len(counted))
    scores = [
        sum(weights[word] * n / (n + _K1 * (1 - _B + _B * length / mean_length)) for word, n in found)
        for length, found in counted
    ]
    best = max(scores, default=0.0) or 1.0
    ranked = []
    for place, (record, score) in enumerate(zip(records, scores, strict=True)):
        relevance = BM25_SHARE * score / best + (1 - BM25_SHARE) * (1 - place / len(records))
        ranked.append(record.model_copy(update={"relevance": round(relevance, 4)}))
    return sorted(ranked, key=lambda record: (-record.relevance, record.key))


@lru_cache(maxsize=16384)
def _count_stems(title: str, text: str, wanted: frozenset[str]) -> tuple[int, tuple[tuple[str, int], ...]]:
    """How many content words there are, and how often each wanted stem; cached for the next round."""
    found = content_words(f"{(title + ' ') * _TITLE_WEIGHT}{text}")
    return len(found), tuple(sorted(Counter(stems_among(found, wanted)).items()))


def bare(name: str, kept: str = "") -> str:
    """A name without signs that a source could take for syntax: letters, digits, underscores, blanks, and what is kept.

    >>> bare("5-HT1B (human)", "-")
    '5-HT1B human'
    """
    return " ".join("".join(each if each.isalnum() or each in kept or each == "_" else " " for each in name).split())
