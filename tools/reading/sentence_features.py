"""What a learned head sees of one sentence: its words, who they stand beside, and the order of what it tells."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from .features import View
from .signs import groups

SIGNS = frozenset({"DRUG", "CLASS", "OTHER", "PLACEBO", "COND", "ELSE"})
_ORDER = {"DRUG": "D", "CLASS": "D", "OTHER": "O", "PLACEBO": "P", "COND": "X"}
_TOLD = {"good": "+", "less": "v", "more": "^", "not": "-", "same": "=", "guarded": "?", "turn": "~", "harm": "!"}


def context_of(view: View) -> str:
    """Who and what the title names: the drug, its class or others; the condition or others."""
    title = view.sentences[0] if view.sentences else []
    drug = "D" if "DRUG" in title else "K" if "CLASS" in title else "O" if "OTHER" in title else "n"
    condition = "X" if "COND" in title else "E" if "ELSE" in title else "n"
    harmed = "DRUG" in title and any(word in ("induced", "caused", "associated", "toxicity", "after") for word in title)
    return drug + condition + ("i" if harmed else "")


@cache
def _signs() -> Mapping[str, str]:
    """The sign of each word that counts in the order of what a sentence tells."""
    told = {word: [_TOLD[name] for name in names if name in _TOLD] for word, names in groups().items()}
    compared = {word: word for word in ("than", "versus", "vs", "P<", "P>")}
    return {word: signs[0] for word, signs in told.items() if signs} | compared | _ORDER


def sentence_features(view: View, order: int, context: str) -> list[str]:
    """The features of a sentence, each once."""
    return list(dict.fromkeys(_features(view, order, context)))


def _features(view: View, order: int, context: str) -> Iterator[str]:
    words, zone, left = view.sentences[order], view.page.zones[order], len(view.sentences) - 1 - order
    coarse = "M" if zone in "ABM" else zone
    drug, condition = "DRUG" in words, "COND" in words
    who = "D" if drug else "K" if "CLASS" in words else "O" if "OTHER" in words else "n"
    before = order > 0 and "DRUG" in view.sentences[order - 1]
    yield from (f"z{zone}", f"z{coarse}{who}", f"who{who}{condition:d}{'PLACEBO' in words:d}{'OTHER' in words:d}")
    yield from (f"end{min(left, 4)}", f"end{min(left, 2)}{who}", f"ctx{context}", f"ctx{context}{who}")
    yield from (f"ctx{context}{coarse}", f"prev{before:d}{who}")
    for at, word in enumerate(words):
        yield "u:" + word
        yield f"u{who}:{word}"
        if at + 1 < len(words):
            yield f"b:{word} {words[at + 1]}"
        if word == "DRUG":
            yield from _around(words, at, 5, "")
        elif word == "COND":
            yield from _around(words, at, 3, "x")
    yield from _order_of(words, who)


def _around(words: Sequence[str], at: int, reach: int, prefix: str) -> Iterator[str]:
    """The words beside one, near ones with their place."""
    for step in range(1, reach + 1):
        if at >= step:
            yield f"{prefix}<{words[at - step]}"
            if step <= 2:
                yield f"{prefix}<{step}{words[at - step]}"
        if at + step < len(words):
            yield f"{prefix}>{words[at + step]}"
            if step <= 2:
                yield f"{prefix}>{step}{words[at + step]}"


def _order_of(words: Sequence[str], who: str) -> Iterator[str]:
    """Drug, rival, placebo, condition and words of result in the order they come."""
    order: list[str] = []
    for sign in filter(None, map(_signs().get, words)):
        if not order or order[-1] != sign:
            order.append(sign)
    for at in range(len(order) - 1):
        yield f"q:{order[at]}{order[at + 1]}"
    for at in range(len(order) - 2):
        yield f"q:{order[at]}{order[at + 1]}{order[at + 2]}"
    yield "lex" + "".join(sorted(set(order) & set("+v^-=?~!"))) + who
