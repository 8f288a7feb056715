"""Words of a text and their stems, for comparing and ranking records."""

import re
import threading
import unicodedata
from collections.abc import Iterable, Set
from functools import lru_cache

import Stemmer

_WORD = re.compile(r"[^\W_]+")  # in any script; "post-COVID-19" is three words, or a search for COVID would miss it
_STOP_WORDS = frozenset(
    "a an and are as at be by can could do does drug drugs existing for from have help how in is it might not of on or"
    " that the their these this to treat treatment was were what which who will with would".split()
)
_ENGLISH = Stemmer.Stemmer("english")
_stemming = threading.Lock()  # a stemmer is not thread-safe, and records are read in threads


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word (https://snowballstem.org/algorithms/english/stemmer.html)."""
    with _stemming:
        return str(_ENGLISH.stemWord(word))


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order, without accents: Sjögren and Sjogren are one word."""
    if not text.isascii():
        text = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return _WORD.findall(text.lower())


def content_words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order, without stop words."""
    return [word for word in words(text) if word not in _STOP_WORDS]


@lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """Return the stemmed content words of a text, in order.

    >>> stems("Which drugs prevent migraine attacks?")
    ('prevent', 'migrain', 'attack')
    """
    return tuple(map(stem, content_words(text)))


def stems_among(words: Iterable[str], wanted: Set[str]) -> list[str]:
    """Return the stems of words that are in `wanted`, in order, with repeats."""
    return [found for word in words if (found := stem(word)) in wanted]
