"""The learned reader: signs and words of a record, small heads, fields that are consistent. No network.

Linear heads over words and phrases say what each sentence tells and what each field might be; trees over counts and
what the linear heads say decide on role and verdict. The other fields are those that are most probable together and
lead to the verdict by the one table in `reading`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, reduce
from itertools import chain, product
from typing import NamedTuple, cast, get_args

import numpy as np

from .document import Document
from .facts import Facts, facts_of
from .features import View, cases, outline, phrases
from .heads import Floats, Head, Settled, Weights, softmax, weights
from .numbers import figures
from .reading import (
    Asked,
    Comparator,
    Effect,
    Match,
    OutcomeKind,
    Passage,
    Reading,
    Role,
    Verdict,
    indication_from,
    verdict_from,
)
from .signs import Numbers, signs
from .text import groups

Combination = tuple[Role, Match, OutcomeKind, Comparator, Effect, bool, bool]
_SELDOM = (0.0, -2.0)  # log prior of a guarded result and of non-inferiority, against none
_MAYBE = frozenset("may might could possibly potentially promising trend preliminary".split())
_TOLD = ("+", "-", "~")
_NAMING = {"DRUG": 1.0, "COND": 0.3}
"""What a sentence that names them is worth more as a quote, in log odds: see `weights.md`."""
_TELLS_FIGURES = 0.1
"""The probability of carrying the verdict from which on a result with figures is shown beside a quote without any: of
149 such sentences, of records that the heads learnt from, 77 in 100 told the result behind the verdict when read, 18 a
side of it (a subgroup, another outcome), 5 something else. A third of the quotes without figures get one."""
_DOES_HARM: tuple[tuple[str, str], ...] = (("kind", "harm"), ("effect", "worse"))
_CARRIES: dict[Verdict, str] = {"supports": "+", "contradicts": "-", "neutral": "~"}


class Seen:
    """A view with all that the trees look at."""

    def __init__(self, view: View, heads: Weights) -> None:
        self.view, self.heads = view, heads

    @cached_property
    def sentences(self) -> dict[int, Floats]:
        """What the sentence head says of each sentence that could carry a verdict, by its order."""
        view, context, told = self.view, context_of(self.view), telling(self.view)
        places = (view.document.once(_places, self.heads.sentence, _features, *_case(view, at, context)) for at in told)
        return dict(zip(told, map(softmax, self.heads.sentence.scores_at(places)), strict=True))

    @cached_property
    def fields(self) -> dict[str, Floats]:
        """What the linear heads say of each field."""
        view, joined = self.view, self.heads.fields.joined
        of_sentences = (view.document.once(_places, joined, phrases, *case) for case in cases(view))
        return self.heads.fields.probabilities(dict.fromkeys(chain(*of_sentences, joined.places(outline(view)))))

    @cached_property
    def numbers(self) -> Numbers:
        """The row the trees decide on."""
        found = signs(self.view)
        found.update(summed(self.view, self.sentences, self.heads.sentence.classes))
        for name, told in self.fields.items():
            found.update(named(name, self.heads.fields.classes[name], told))
        return found


def _places(head: Head, features: Callable[..., Iterator[str]], *of: object) -> list[int]:
    """The rows of a sentence's features in a head."""
    return head.places(features(*of))


def telling(view: View) -> list[int]:
    """The sentences that could carry a verdict: title, results, conclusions, the last, and those that name the drug."""
    last = len(view.sentences) - 1
    return [
        at
        for at, words in enumerate(view.sentences)
        if view.document.zones[at] in "TRC" or at == last or "DRUG" in words
    ]


def named(field: str, classes: Sequence[str], told: Floats) -> Numbers:
    """Probabilities of a field as numbers with names."""
    return {f"p:{field}:{name}": float(chance) for name, chance in zip(classes, told, strict=True)}


def summed(view: View, sentences: Mapping[int, Floats], classes: Sequence[str]) -> Numbers:
    """What the sentences say together: the best, the second, the sum, by part of the record."""
    found: Numbers = {}
    zones, last = view.document.zones, len(view.sentences) - 1
    for sign in _TOLD:
        column = classes.index(sign)
        chances = {at: float(told[column]) for at, told in sentences.items()}
        ranked = sorted(chances.values(), reverse=True)
        found[f"best{sign}"] = ranked[0] if ranked else 0.0
        found[f"second{sign}"] = ranked[1] if len(ranked) > 1 else 0.0
        found[f"sum{sign}"] = sum(ranked)
        found[f"drug{sign}"] = max((chances[at] for at in chances if "DRUG" in view.sentences[at]), default=0.0)
        found[f"both{sign}"] = max(
            (chances[at] for at in chances if {"DRUG", "COND"} <= set(view.sentences[at])), default=0.0
        )
        for zone in "TRC":
            found[f"{zone}{sign}"] = max((chances[at] for at in chances if zones[at] == zone), default=0.0)
        found[f"end{sign}"] = chances.get(last, 0.0)
    return found


@cache
def _leading(classes: tuple[tuple[str, ...], ...]) -> dict[Verdict, np.ndarray]:
    """What is added to the combinations of fields that lead to a verdict or not, in the order of `product`."""
    names: tuple[Verdict, ...] = get_args(Verdict)
    place = {name: at for at, name in enumerate(names)}
    combinations = cast("Iterator[Combination]", product(*classes, *_TOLD_OR_NOT))
    verdicts = np.fromiter((place[verdict_from(*each)] for each in combinations), np.int8)
    return {name: np.where(verdicts == at, np.float32(0), np.float32(-np.inf)) for name, at in place.items()}


_FIELDS = ("role", "match", "kind", "comparator", "effect")
_TOLD_OR_NOT = ((False, True), (False, True))  # a guarded result, non-inferiority


def consistent(verdict: Verdict, told: Mapping[str, Floats], classes: Mapping[str, tuple[str, ...]]) -> Combination:
    """The most probable fields that lead to a verdict by the table.

    Args:
        verdict: the verdict they must lead to.
        told: the probabilities of each field.
        classes: what the probabilities are of, in order.
    """
    fields = tuple(classes[name] for name in _FIELDS)
    chances = [np.log(each + 1e-6) for each in (*(told[name] for name in _FIELDS), np.exp(_SELDOM), np.exp(_SELDOM))]
    first, last = (reduce(np.add.outer, some).ravel() for some in (chances[:3], chances[3:]))  # long rows are quickest
    score = np.add.outer(first, last).ravel() + _leading(fields)[verdict]
    named = (*fields, *_TOLD_OR_NOT)
    places = np.unravel_index(score.argmax(), [len(each) for each in named])
    return cast(Combination, tuple(each[int(at)] for each, at in zip(named, places, strict=True)))


class Judged(NamedTuple):
    """What a reader thinks of a view before it decides: probabilities."""

    verdict: Floats
    role: Floats
    fields: Mapping[str, Floats]
    sentences: Mapping[int, Floats]
    """Of each sentence that could carry a verdict, by its order."""


class LearnedReader:
    """Reads by weights that were learnt from labels made by reading; the default where there is no model.

    Attributes:
        version: of the weights.
    """

    name = "learned"

    def __init__(self, heads: Weights | None = None) -> None:
        self._heads = heads or weights()
        self.version = self._heads.version
        self._classes = {**self._heads.fields.classes, "role": self._heads.role.classes}

    async def read(self, asked: Sequence[Asked]) -> list[Reading]:
        """Read each record for its drug and condition, in the same order."""
        return list(map(self.read_one, asked))

    def read_one(self, asked: Asked) -> Reading:
        """Read one record."""
        document = Document.cut(asked.title, asked.text, asked.publication_types)
        return self.read_document(document, asked.drug, asked.condition, asked.key)

    def facts_of(self, document: Document) -> Facts:
        """Tell a record's design and its participants."""
        return document.once(facts_of, document)

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        """Read a record for a drug in a condition, and for its design and participants."""
        view, facts = View(document, drug, condition), document.once(self.facts_of, document)
        judged = self._judged(view)
        verdict, probability = self._verdict(judged.verdict)
        told = {**judged.fields, "role": judged.role}
        told |= {name: told[name] * by for name, by in self._leant.items()}
        fields = consistent(verdict, told, self._classes)
        passages = _passages(view, judged.sentences, verdict, self._heads.sentence.classes)
        return Reading(
            key=key,
            drug=drug,
            condition=condition,
            role=fields[0],
            match=fields[1],
            kind=fields[2],
            comparator=fields[3],
            effect=fields[4],
            indication=indication_from(fields[1]),
            alone=fields[0] != "combined",
            design=facts.design,
            participants=facts.participants,
            hedged=fields[5],
            guarded=verdict == "supports" and _is_guarded(passages),
            non_inferior=fields[6],
            passages=passages,
            in_figures=_in_figures(view, judged.sentences, verdict, self._heads.sentence.classes, passages),
            probability=probability,
            sure=probability >= self._settled.sure.get(verdict, 0.0),
            harm=self._harm(judged),
            reader=self.name,
            version=self.version,
        )

    @property
    def _settled(self) -> Settled:
        """How probabilities become a verdict and a role."""
        return self._heads.settled

    @cached_property
    def _leant(self) -> dict[str, Floats]:
        """What the probability of each role and match is multiplied by before the best is taken."""
        lean = self._settled.lean
        return {field: np.exp([lean.get(name, 0.0) for name in self._classes[field]]) for field in ("role", "match")}

    def _harm(self, judged: Judged) -> float:
        """The probability that the drug does harm: as worse on an outcome of harm, or as a cause."""
        kind, effect = (judged.fields[field][self._classes[field].index(name)] for field, name in _DOES_HARM)
        cause = judged.role[self._classes["role"].index("cause")]
        return min(1.0, float(max(kind * effect, cause)))

    def _judged(self, view: View) -> Judged:
        seen, heads = Seen(view, self._heads), self._heads
        row = heads.role.row(seen.numbers)
        return Judged(heads.verdict.probabilities(row), heads.role.probabilities(row), seen.fields, seen.sentences)

    def _verdict(self, told: Floats) -> tuple[Verdict, float]:
        """The verdict that leads once precision is weighed in, and its calibrated probability."""
        settled = self._settled
        sharp = told**settled.sharpness
        sharp = sharp / sharp.sum()
        names: tuple[Verdict, ...] = self._heads.verdict.classes  # type: ignore[assignment]
        best = max(range(len(names)), key=lambda at: float(np.log(sharp[at] + 1e-9)) + settled.lean[names[at]])
        return names[best], min(1.0, float(sharp[best]))


def _is_guarded(passages: Sequence[Passage]) -> bool:
    return any(_MAYBE & set(passage.text.lower().split()) for passage in passages)


def _passages(view: View, told: Mapping[int, Floats], verdict: Verdict, classes: Sequence[str]) -> tuple[Passage, ...]:
    """The sentence that carries the verdict best, one that names the drug rather than another: no aim, no background.

    The title stands in only if nothing else is there.
    """
    if verdict == "none":
        return ()
    column, zones = classes.index(_CARRIES[verdict]), view.document.zones
    able = [at for at in told if zones[at] in "RCM"] or [at for at in told if zones[at] == "T"]
    if not able:
        return ()

    return (_passage(view, max(able, key=lambda at: _worth(view, at, told[at][column]) - (zones[at] == "M"))),)


def _in_figures(
    view: View, told: Mapping[int, Floats], verdict: Verdict, classes: Sequence[str], passages: Sequence[Passage]
) -> Passage | None:
    """The result with figures that carries the verdict best, where the passages have none."""
    if not passages or any(figures(passage.text) for passage in passages):
        return None
    column, zones = classes.index(_CARRIES[verdict]), view.document.zones
    able = [at for at in told if zones[at] == "R" and told[at][column] >= _TELLS_FIGURES]
    able.sort(key=lambda at: -_worth(view, at, told[at][column]))
    return next((found for at in able if figures((found := _passage(view, at)).text)), None)


def _worth(view: View, at: int, chance: float) -> float:
    """How well a sentence does as a quote, by the chance that it carries the verdict and whom it names."""
    named = sum(more for sign, more in _NAMING.items() if sign in view.sentences[at])
    return float(np.log(chance + 1e-9)) + named


def _passage(view: View, at: int) -> Passage:
    sentence = view.document.sentences[at]
    section = "Title" if sentence.headed == "title" else "Abstract"
    return Passage(text=sentence.quote, section=section, start=sentence.start, end=sentence.start + len(sentence.quote))


SIGNS = frozenset({"DRUG", "CLASS", "OTHER", "PLACEBO", "COND", "ELSE"})
_ORDER = {"DRUG": "D", "CLASS": "D", "OTHER": "O", "PLACEBO": "P", "COND": "X"}
_IN_ORDER = {"good": "+", "less": "v", "more": "^", "not": "-", "same": "=", "guarded": "?", "turn": "~", "harm": "!"}


def context_of(view: View) -> str:
    """Who and what the title names: the drug, its class or others; the condition or others."""
    title = view.sentences[0] if view.sentences else ()
    drug = "D" if "DRUG" in title else "K" if "CLASS" in title else "O" if "OTHER" in title else "n"
    condition = "X" if "COND" in title else "E" if "ELSE" in title else "n"
    harmed = "DRUG" in title and any(word in ("induced", "caused", "associated", "toxicity", "after") for word in title)
    return drug + condition + ("i" if harmed else "")


@cache
def _signs() -> Mapping[str, str]:
    """The sign of each word that counts in the order of what a sentence tells."""
    told = {word: [_IN_ORDER[name] for name in names if name in _IN_ORDER] for word, names in groups().items()}
    compared = {word: word for word in ("than", "versus", "vs", "P<", "P>")}
    return {word: signs[0] for word, signs in told.items() if signs} | compared | _ORDER


def sentence_features(view: View, order: int, context: str) -> list[str]:
    """The features of a sentence, each once."""
    return list(dict.fromkeys(_features(*_case(view, order, context))))


def _case(view: View, order: int, context: str) -> tuple[tuple[str, ...], str, int, bool, str]:
    """What the features of a sentence follow from: its words, its part of the record, how many come after it, up to
    four, whether the one before names the drug, and the title.
    """
    before = order > 0 and "DRUG" in view.sentences[order - 1]
    return view.sentences[order], view.document.zones[order], min(len(view.sentences) - 1 - order, 4), before, context


def _features(words: Sequence[str], zone: str, left: int, before: bool, context: str) -> Iterator[str]:
    coarse = "M" if zone in "ABM" else zone
    drug, condition = "DRUG" in words, "COND" in words
    who = "D" if drug else "K" if "CLASS" in words else "O" if "OTHER" in words else "n"
    yield from (f"z{zone}", f"z{coarse}{who}", f"who{who}{condition:d}{'PLACEBO' in words:d}{'OTHER' in words:d}")
    yield from (f"end{left}", f"end{min(left, 2)}{who}", f"ctx{context}", f"ctx{context}{who}")
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
