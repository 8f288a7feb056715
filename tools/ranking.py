"""Rank records by relevance to a question: word match (BM25) and the source's own order."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from .evidence import Evidence
from .lexicon.stemming import content_words, stems, stems_among

BM25_SHARE = 0.7
"""Weight of the word match; the rest is the source's own order, which also uses fields and synonyms."""
_K1, _B = 1.2, 0.75  # Robertson & Zaragoza 2009, https://doi.org/10.1561/1500000019
_TITLE_WEIGHT = 2  # times that a word in the title counts


def rank(question: str, records: Sequence[Evidence]) -> list[Evidence]:
    """Score each record's relevance (0 to 1) to the question; best first.

    A record's position in `records` is its source's rank. Ties are broken by key, so the order is deterministic.
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
    """Count the content words and the occurrences of each wanted stem; cached for the next round."""
    found = content_words(f"{(title + ' ') * _TITLE_WEIGHT}{text}")
    return len(found), tuple(sorted(Counter(stems_among(found, wanted)).items()))
