"""Sentences, clauses and stems of abstracts: the units that the rules read.

Stemming is Snowball English (https://snowballstem.org/algorithms/english/stemmer.html).
"""

import re
from functools import lru_cache

import snowballstemmer

_ABBREVIATED = re.compile(
    r"(?:\b(?:vs|e\.g|i\.e|et al|al|approx|ca|cf|fig|figs|no|dr|st|resp|ref|refs|vol|sp|spp|subsp)\.|\b[A-Z]\.)$",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=[\"'(\[]?[A-Z0-9])|\n+")
_CLAUSE_END = re.compile(
    r";\s+|:\s+(?=(?-i:[a-z]))|,?\s+(?:but|whereas|while|although|though|however|yet|except)\b,?\s*|"
    r",\s+and\s+(?=(?:[\w-]+\s+){1,8}(?:was|were|did|had|is|are|improved|increased|decreased|reduced)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z0-9α-ω]+(?:[.\-][a-z0-9α-ω]+)*|[a-z]+'[a-z]+", re.IGNORECASE)
_STOP = frozenset(
    "a an the of in on at to for from by with and or nor as is are was were be been being this that these those it its "
    "their there which who whom than then into per via both each all any between among within during after before at "
    "we our they he she had has have did do does not no group groups arm arms patients patient participants subjects "
    "women men children treatment treated therapy study trial mean median total using use used rate score scores level "
    "levels number change changes value values baseline week weeks month months day days year years significant "
    "significantly difference differences mg ml kg g".split()
)
_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=1)
def _marks() -> dict[int, str]:
    """Characters that publishers use for the same thing."""
    spaces = dict.fromkeys(map(ord, "\u00a0\u2009\u200a\u202f\u2002\u2003\u2005\u2006"), " ")
    return spaces | {
        0x2212: "-",
        0x2013: "-",
        0x2014: "-",
        0x2010: "-",
        0x2011: "-",
        0x00B7: ".",
        0x2019: "'",
        0x2018: "'",
    }


def plain(text: str) -> str:
    """Write dashes, thin spaces, raised dots and quotes in one way; the length stays the same.

    >>> plain("OR\\u2009=\\u20090\\u00b785 (0\\u00b765\\u20131\\u00b712)")
    'OR = 0.85 (0.65-1.12)'
    """
    return text.translate(_marks())


def sentences(text: str) -> list[str]:
    """Split a text into its sentences, keeping abbreviations and decimals whole.

    >>> sentences("Drug A vs. placebo gave P = .03. No deaths occurred.")
    ['Drug A vs. placebo gave P = .03.', 'No deaths occurred.']
    """
    parts: list[str] = []
    for piece in _SENTENCE_END.split(plain(text)):
        if parts and _ABBREVIATED.search(parts[-1]):
            parts[-1] = f"{parts[-1]} {piece}"
        elif piece.strip():
            parts.append(piece)
    return [" ".join(part.split()) for part in parts]


def clauses(sentence: str) -> list[str]:
    """Split a sentence where it turns: at `but`, `whereas`, `;` and the like."""
    return [part.strip(" ,") for part in _CLAUSE_END.split(sentence) if part.strip(" ,")]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Cut a word to its stem, in lower case."""
    return str(_stemmer.stemWord(word.lower()))


def words(text: str) -> list[str]:
    """Give the words of a text in lower case, hyphenated ones whole."""
    return [word.lower() for word in _WORD.findall(text)]


def stems(text: str) -> frozenset[str]:
    """Give the stems of the words that carry meaning.

    >>> sorted(stems("the patients' migraine attacks"))
    ['attack', 'migrain']
    """
    found: set[str] = set()
    for word in words(text):
        found.update(stem(part) for part in (word, *word.split("-")) if part not in _STOP and len(part) > 1)
    return frozenset(found)
