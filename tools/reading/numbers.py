"""Extract effect sizes and figures from abstracts, each with its sentence; parse numbers in words."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel

from ..lexicon import find_drugs
from ..lexicon.matching import Mention, cue_regex
from .text import plain, says

Measure = Literal["OR", "RR", "HR", "MD", "SMD", "RD", "IRR"]
RATIOS: frozenset[str] = frozenset({"OR", "RR", "HR", "IRR"})
"""Measures whose null value is 1; for the others it is 0 (Cochrane Handbook 6.4-6.5)."""

_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))"
_MEASURES: dict[Measure, str] = {
    "SMD": r"standardi[sz]ed mean differences?|Hedges'? g|Cohen'?s d|(?-i:SMDs?)",
    "MD": r"(?:adjusted |weighted |least[- ]squares )?mean (?:between-group )?differences?|treatment differences?|"
    r"(?-i:W?MDs?)",
    "HR": r"(?:adjusted |sub)?hazards? ratios?|(?-i:a?s?HRs?)",
    "IRR": r"(?:incidence )?rate ratios?|(?-i:IRRs?)",
    "OR": r"(?:adjusted |pooled )?odds ratios?|(?-i:[ac]?ORs?)",
    "RR": r"(?:adjusted |pooled )?(?:relative risks?|risk ratios?)|(?-i:[ac]?RRs?)",
    "RD": r"(?:absolute )?risk differences?|absolute risk reductions?|(?-i:ARR|RDs?)",
}
_LINK = (
    r"(?:\s*[\[(][A-Za-z]{1,6}[\])])?(?:\s*[\[(]9[059]\s*%\s*(?:CI|confidence intervals?)[\])])?\s*(?:\[|"
    r"\()?\s*(?:(?:of|was|is|were|equal to|(?:for|in|between) [\w\s-]{1,40}?(?:was|were|,))\s+)?[=:,]?\s*"
)
_SIZE = re.compile(
    rf"\b(?:{'|'.join(f'(?P<{measure}>{written})' for measure, written in _MEASURES.items())}){_LINK}"
    rf"(?P<value>{_NUMBER})(?![\d.]*\d|\s*%\s*(?:CI|confidence))",
    re.IGNORECASE,
)
_CI = re.compile(
    r"(?:9[059](?:\.\d)?\s*%\s*)?(?:\bCI\b|\bCrI\b|confidence\s+intervals?|"
    r"credible\s+intervals?)(?:\s*[\[(]?CI[\])]?)?\s*[,:=\[(]*\s*"
    rf"(?:of\s+|from\s+|was\s+|,\s*)?(?P<low>{_NUMBER})\s*%?\s*(?:,|;|\bto\b|-|\band\b)\s*(?P<high>{_NUMBER})",
    re.IGNORECASE,
)
_BARE_CI = re.compile(
    rf"^\s*(?:[(\[]\s*(?P<low>{_NUMBER})\s*(?:,|;|\bto\b|-)\s*(?P<high>{_NUMBER})\s*(?:[)\]]|[;,]\s*p\b)|"
    rf"[,;]\s*(?P<from>{_NUMBER})\s*(?:\bto\b|-)\s*(?P<to>{_NUMBER})\s*(?:[)\];,]|$))",
    re.IGNORECASE,
)
_SEVERAL = re.compile(rf"^\s*(?:,\s*{_NUMBER}\s*,?\s*)*(?:and|or)\s+{_NUMBER}(?![\d.]*\s*(?:%|[a-z]))", re.IGNORECASE)
"""Several values in a row, which cannot be assigned: "odds ratios 1.52 and 1.58"."""
_SPREAD = ("±", "+/-", "+-")
"""Spread after a mean: used for heart rates and R-R intervals, never for ratios."""
P_VALUE = re.compile(
    r"\bp(?:[-\s]?values?)?(?:\s+(?:for|of)\s+[\w\s-]{1,30}?)?\s*[,:]?\s*(?P<sign><=|>=|=|<|>|≤|≥|of|"
    r"was|is|:)\s*(?P<value>0?\.\d+|0|1(?:\.0+)?)"
    r"(?:\s*[×x]\s*10\s*\^?\s*(?P<power>-\d+))?",
    re.IGNORECASE,
)


_BOUNDS = "≥>≤<"
_PAIR = re.compile(r"(\d+)\s*/\s*(\d+)")
_SHARE = r"\s*(?:%|per ?cent\b)"
_FIGURES = re.compile(
    rf"[{_BOUNDS}]=?\s*\d+(?:\.\d+)?(?:\s*-\s*\d+(?:\.\d+)?)?{_SHARE}|"
    r"\bp(?:[-\s]?values?)?\s*(?:<=|>=|=|<|>|≤|≥)\s*0?\.\d+"
    rf"|(?:9[059]{_SHARE}\s*)?\b(?:CI|confidence intervals?)\b[\s:,=(\[]*-?\d+(?:\.\d+)?\s*%?\s*(?:-|to|,)\s*"
    r"-?\d+(?:\.\d+)?|-?\d+(?:\.\d+)?\s*(?:±|\+/-)\s*\d+(?:\.\d+)?"
    r"|(?<![A-Z]-)\b\d+\s*/\s*\d+\b(?!\.\d|\s*m[gm])|(?<![\d.,/])\b\d+(?:,\d{3})* of (?:the )?\d+(?:,\d{3})*\b(?!\.\d)"
    rf"|-?\d+(?:\.\d+)?(?:{_SHARE})?\s*(?:vs\.?|versus|compared (?:with|to))\s*-?\d+(?:\.\d+)?(?:{_SHARE})?"
    rf"|(?:\b\d+(?:\.\d+)?\s*-\s*|-)?\b\d+(?:\.\d+)?{_SHARE}(?!\s*(?:CI|confidence))"
    r"|\b\d+(?:\.\d+)?-fold\b",
    re.IGNORECASE,
)
_NOT_OF_KIND = {
    "participants": re.compile(r"%|\bper ?cent\b|\d\.\d|\bp\s*[<=>≤≥]|\d\s*(?:mg|g|mcg)\b"),
    "dose": re.compile(r"\bp\s*[<=>≤≥]|\bci\b|\bn\s*="),
}
_BARE = re.compile(r"-?\d[\d.,]*(?:\s?(?:/|of)\s?\d[\d,]*)?\s?(?:%|per ?cent)?(?:\s?\([\d.]+\s?%\))?")
"""One figure in one group, without words."""
_TO_GROUP = re.compile(
    r"(?:\s(?:(?:patients|people|subjects|those|who|the|matching)\s)*"
    r"(?:among|by|during|for|given|in|of|on|received|receiving|taking|took|under|with)"
    r"(?:\s(?:those|patients|people|subjects|the|given|on|taking|receiving|matching))*)+\s"
)
"""From a figure to its group."""

_AFTER_DRUG = re.compile(r"[\s(,:]{1,3}|\s(?:at|of)\s")
_BEFORE_DRUG = re.compile(r"\s(?:of\s)?")


class EffectSize(BaseModel, frozen=True, extra="forbid"):
    """An effect size, with interval and p value if the same sentence gives them next to it."""

    measure: Measure
    value: float
    ci_low: float | None = None
    """None: not reported, like the upper limit of the confidence interval."""
    ci_high: float | None = None
    p: float | None = None
    """The p value, or its bound if only that is given; None: not reported."""
    sentence: str


def _read_p_value(match: re.Match[str]) -> float:
    return float(match["value"]) * 10.0 ** int(match["power"] or 0)


def tells_figures(sentence: str) -> bool:
    """Whether a sentence gives a p value, a confidence interval or an effect size."""
    text = plain(sentence)
    return bool(P_VALUE.search(text) or _CI.search(text) or _find_sizes(text))


def find_effect_sizes(sentences: Iterable[str], drug: str | None = None) -> list[EffectSize]:
    """Find the effect sizes, of a drug or of all, in sentences, with interval and p value.

    An effect size belongs to the drugs named since the previous one in its sentence, or else to those before it.

    >>> found = find_effect_sizes(["Death was rarer (HR 0.78; 95% CI 0.66-0.92; P=0.003)."])
    >>> [(e.measure, e.value, e.ci_low, e.ci_high, e.p) for e in found]
    [('HR', 0.78, 0.66, 0.92, 0.003)]
    >>> text = "Against placebo: aspirin OR 0.8, 95% CI 0.7 to 0.9; ibuprofen OR 0.6, 95% CI 0.5 to 0.7."
    >>> [found.value for found in find_effect_sizes([text], "ibuprofen")]
    [0.6]
    """
    effects: list[EffectSize] = []
    for sentence in sentences:
        sizes = _find_sizes(sentence)
        drugs_near = set[str]()
        last = 0
        mentions = find_drugs(sentence) if sizes and drug else []
        everyone = {mention.name for mention in mentions}
        for size, start, end in sizes:
            drugs_near = {mention.name for mention in mentions if last <= mention.start < start} or drugs_near
            if not everyone or drug in (drugs_near or everyone):
                effects.append(size)
            last = end
    return effects


def find_dosed_drugs(text: str, start: int, end: int, mentions: Sequence[Mention]) -> set[str]:
    """Find whose a dose can be: the drugs in its words, else right beside it, else the nearest and the last before.

    Beside it is "aspirin 75 mg"; in "aspirin, 75 mg heparin" it is heparin's alone.
    """
    within = {mention.name for mention in mentions if start <= mention.start < end}
    if within:
        return within
    before = {
        mention.name: text[mention.end : start]
        for mention in mentions
        if _AFTER_DRUG.fullmatch(text, mention.end, start)
    }
    after = {mention.name for mention in mentions if _BEFORE_DRUG.fullmatch(text, end, mention.start)}
    is_apart = any("(" in gap or "," in gap or ":" in gap for gap in before.values())
    adjacent = after if after and (is_apart or not before) else set(before)
    if adjacent:
        return adjacent
    near = min(mentions, key=lambda mention: max(mention.start - end, start - mention.end))
    last_before = [mention for mention in mentions if mention.end <= start][-1:]
    return {mention.name for mention in (near, *last_before)}


def is_of_other_arm(text: str, start: int, end: int, others: Sequence[Mention]) -> bool:
    """Whether a figure stands right behind placebo or another drug, or before "with placebo" and the like."""
    untreated = cue_regex("nothing", __package__).finditer(text)
    arms = [*((other.start, other.end) for other in others), *(match.span() for match in untreated)]
    to_group = _TO_GROUP.match(text, end)
    return any(text[last:start] in (" ", ": ") or (to_group and to_group.end() == first) for first, last in arms)


def is_of_other_kind(what: str, value: str) -> bool:
    """Whether a normalised value cannot be participants or a dose, as `what` says it is."""
    return what in _NOT_OF_KIND and _NOT_OF_KIND[what].search(value) is not None


def is_bare(value: str) -> bool:
    """Whether a value is one figure of one group, without words."""
    return _BARE.fullmatch(value) is not None


def list_figures(sentence: str) -> list[str]:
    """List the figures of a result as written: percentages, pairs, intervals, p values.

    Left out are doses, times, responder thresholds ("≥50%"), blood pressures ("129/77"), numbers in names ("IL-12/23").

    >>> list_figures("Attacks fell by 44% (95% CI 20 to 60; p<0.001) on 160 mg within 12 weeks, 3.1 ± 0.4 vs placebo.")
    ['44%', '95% CI 20 to 60', 'p<0.001', '3.1 ± 0.4']
    >>> list_figures("It rose from 127/79 to 137/84 and in 8/15 (P < 0.01).")
    ['8/15', 'P < 0.01']
    """
    texts = (" ".join(match.group().split()) for match in _FIGURES.finditer(plain(sentence)))
    pairs = ((figure, _PAIR.fullmatch(figure)) for figure in texts if figure[0] not in _BOUNDS)
    return [figure for figure, pair in pairs if pair is None or int(pair[1]) <= int(pair[2])]


def _find_sizes(sentence: str) -> list[tuple[EffectSize, int, int]]:
    """Find effect sizes with start and end offsets, including the interval."""
    sizes: list[tuple[EffectSize, int, int]] = []
    hits = list(_SIZE.finditer(sentence))
    for at, match in enumerate(hits):
        measure: Measure = next(name for name in _MEASURES if match[name])
        rest = sentence[match.end() : hits[at + 1].start() if at + 1 < len(hits) else len(sentence)]
        factors = says("factors", sentence[: match.start()])
        subject = sentence[: factors.start()] if factors else ""
        # prognostic factor, not treatment: "failure was associated with encephalopathy (OR 4.0)"
        is_prognosis = bool(subject) and not says("treatment", subject) and not find_drugs(subject)
        value = _read_float(match["value"])
        is_no_ratio = measure in RATIOS and (value <= 0 or rest.lstrip().startswith(_SPREAD))
        if is_prognosis or is_no_ratio or _SEVERAL.match(rest):
            continue
        rest = re.split(r";\s+(?=[A-Za-z]{4,})|,\s+(?:and|but|whereas|while)\s", rest, maxsplit=1)[0]
        interval = _CI.search(rest) or _BARE_CI.search(rest)
        low, high = _read_limits(interval) if interval else (None, None)
        end = match.end()
        if low is not None and high is not None and not low <= value <= high:
            low = high = None
        elif interval:
            end += interval.end("high" if interval["high"] else "to")
        p = P_VALUE.search(rest)
        effect = EffectSize(
            measure=measure, value=value, ci_low=low, ci_high=high, p=_read_p_value(p) if p else None, sentence=sentence
        )
        sizes.append((effect, match.start(), end))
    return sizes


def _read_limits(match: re.Match[str]) -> tuple[float, float]:
    groups = match.groupdict()
    low = _read_float(groups["low"] or groups["from"])
    high = _read_float(groups["high"] or groups["to"])
    return (low, high) if low <= high else (low, abs(high)) if low <= abs(high) else (high, low)


def _read_float(text: str) -> float:
    return float(text.replace(",", ""))


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
_BELOW_HUNDRED = {**{word: number for number, word in enumerate(_ONES)}, **_TENS}
NUMBER_WORDS = frozenset((*_BELOW_HUNDRED, "hundred", "thousand"))


def parse_number(text: str) -> int | None:
    """Parse a whole number in digits or words; None if it is neither.

    >>> [parse_number(t) for t in ("1,099", "Forty-two", "one hundred and twenty", "many")]
    [1099, 42, 120, None]
    """
    digits = text.replace(",", "").replace(" ", "").strip()
    if digits.isdigit():
        return int(digits)
    total = current = 0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _BELOW_HUNDRED:
            current += _BELOW_HUNDRED[word]
        elif word == "hundred":
            current = max(1, current) * 100
        elif word == "thousand":
            total = total + max(1, current) * 1000
            current = 0
        elif word != "and":
            return None
    return total + current or None
