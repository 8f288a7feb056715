"""Interpret a posted statistical analysis: significance, direction, and whether its interval excludes an effect.

A p value above the threshold is no proof of no effect (Cochrane Handbook, chapter 15,
https://www.cochrane.org/authors/handbooks-and-manuals/handbook/current/chapter-15). An analysis shows "no
appreciable effect" only if its confidence interval excludes one and the estimate does not lean in the drug's favour.
Appreciable is a quarter more or less for ratios, as in GRADE
(https://doi.org/10.1016/j.jclinepi.2011.01.012), and a fifth of a standard deviation for means, Cohen's small effect
(same chapter), since drugs in use are seldom much better.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..reading.registry_entries import Comparison, events_are_good, more_is_better, named_thresholds, posted_number
from ..reading.text import says

Verdict = Literal["better", "worse", "no appreciable difference", "not shown", "not inferior"]

ALPHA = 0.05  # two-sided, as in ICH E9 (https://www.ich.org/page/efficacy-guidelines); half of it one-sided
FULL_LEVEL = 95.0  # percent; interval level equivalent to two-sided p of 0.05
RATIO_BOUNDS = (0.75, 1.25)  # GRADE: a quarter less or more
STANDARD_BOUND = 0.2  # standard deviations; a small effect, Cochrane Handbook 15.5.3
LEANING = 0.5  # below this p, a favourable estimate counts as leaning in the drug's favour

_COUNTED = frozenset(
    "participant participants patient patients subject subjects people persons individuals event events attack "
    "attacks".split()
)
_P = re.compile(
    r"^(?:p\s*)?(?P<sign>[<>≤≥=]{0,2})\s*(?P<value>\d*\.?\d+(?:e-?\d+)?)(?:\s*[*†a-z]{0,2})?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ReadAnalysis:
    """Result of one analysis for the drug."""

    verdict: Verdict
    p: float | None
    """The p value, or its bound; None if none is posted."""
    alpha: float
    """Significance threshold for p."""
    sentence: str
    against: str
    reason: str


def read_analysis(analysis: Mapping[str, Any], outcome: Mapping[str, Any], pair: Comparison) -> ReadAnalysis | str:
    """Read an analysis of a drug against its comparator.

    Args:
        analysis: as returned by `clinicaltrials.parse_results`.
        outcome: the posted outcome it belongs to.
        pair: which of its groups had the drug.

    Returns:
        The reading, or the reason why it cannot be read.
    """
    p, alpha = _p_value(analysis), _alpha(analysis)
    low, high, level = (posted_number(analysis.get(name)) for name in ("ci_lower", "ci_upper", "ci_percent"))
    interval = (min(low, high), max(low, high)) if low is not None and high is not None else None
    measured = str(analysis.get("effect") or "")
    null = 1.0 if says("ratio", measured) else 0.0 if says("difference", measured) else None  # the value of no effect
    outside = None  # whether the interval excludes it; None also if one below 95 % does
    if interval and null is not None:
        within = interval[0] <= null <= interval[1]
        outside = False if within else True if level is not None and level >= FULL_LEVEL else None
    kind = str(analysis.get("non_inferiority") or "")
    significant = p[0] if p else outside
    told = str(analysis.get("sentence") or "")

    def found(verdict: Verdict, reason: str) -> ReadAnalysis:
        return ReadAnalysis(verdict, p[1] if p else None, alpha, told, pair.against, reason)

    if "INFERIORITY" in kind or "EQUIVALENCE" in kind:
        significant, p = outside, None  # its p value tests another hypothesis
        if not outside:
            return found("not inferior", "a test of non-inferiority or equivalence")
    if significant is None:
        return "neither a p value that can be read nor an interval is posted" if p is None else "p leaves it open"
    is_full = level is not None and math.isclose(level, FULL_LEVEL) and alpha == ALPHA  # as p is
    if p and outside is not None and p[0] != outside and is_full:
        return "p value and confidence interval disagree"
    favours = _favours(analysis, outcome, pair, null)
    if not significant:
        leans = favours is not False and (p is None or p[1] < LEANING)
        if _narrow(interval, null, outcome, pair) and not leans:
            return found("no appreciable difference", "its interval excludes an appreciable one")
        return found("not shown", "not significant" + ("" if interval else ", and no interval is posted"))
    if isinstance(favours, str):
        return favours
    return found("better" if favours else "worse", f"significant, in favour of {pair.drug if favours else pair.other}")


def _p_value(analysis: Mapping[str, Any]) -> tuple[bool | None, float] | None:
    """Return whether p is significant (None: undecided) and its value or bound; None if unreadable."""
    match = _P.match(str(analysis.get("p_value") or "").replace(" ", ""))
    if not match:
        return None
    value, sign, alpha = float(match["value"]), match["sign"], _alpha(analysis)
    if value > 1:
        return None
    if sign.startswith(("<", "≤")):
        return (True if value <= alpha else None), value
    if sign.startswith((">", "≥")):
        return (False if value >= alpha else None), value
    return value < alpha or (value == alpha < ALPHA), value


def _alpha(analysis: Mapping[str, Any]) -> float:
    """Return the threshold: 0.05, half for one-sided tests, or less if the record states its own."""
    told = " ".join(str(analysis.get(name) or "") for name in ("method", "p_comment", "about", "comment"))
    one_sided = bool(says("one-sided", told)) or bool(analysis.get("one_sided"))
    named = (each for each in named_thresholds(str(analysis.get("p_comment") or "")) if each >= 0.0001)
    return min([ALPHA / 2 if one_sided else ALPHA, *named])


def _narrow(
    interval: tuple[float, float] | None, null: float | None, outcome: Mapping[str, Any], pair: Comparison
) -> bool:
    """Whether an interval excludes an appreciable effect; for means, relative to the comparator's SD."""
    if interval is None or null is None:
        return False
    if null == 1.0:
        return RATIO_BOUNDS[0] <= interval[0] and interval[1] <= RATIO_BOUNDS[1]
    kind, size = str(outcome.get("dispersion") or "").lower(), _size(outcome, pair.other)
    posted = (posted_number(each.get("spread")) for each in _of_group(outcome, pair.other))
    spreads = [spread for spread in posted if spread is not None]
    by = 1.0 if "deviation" in kind else math.sqrt(size) if "error" in kind and size else 0.0
    return len(spreads) == 1 and max(map(abs, interval)) < STANDARD_BOUND * spreads[0] * by


def _favours(
    analysis: Mapping[str, Any], outcome: Mapping[str, Any], pair: Comparison, null: float | None
) -> bool | str:
    """Whether a difference favours the drug, by the groups' values or a ratio of events; else why it is unclear."""
    better = more_is_better(outcome)
    effect, value = str(analysis.get("effect") or ""), posted_number(analysis.get("effect_value"))
    by_values = _larger(outcome, pair)
    drug_first = next(iter(analysis.get("groups", ())), None) == pair.drug
    by_ratio = None
    if null == 1.0 and says("ratio of events", effect) and value is not None and value != 1 and drug_first:
        good = events_are_good(outcome, effect)
        by_ratio = None if good is None else (value > 1) == good
    by_value = None if by_values is None or better is None else by_values == better
    told = {each for each in (by_value, by_ratio) if each is not None}
    if len(told) == 2:
        return "the groups' values and the ratio point different ways"
    if told:
        return told.pop()
    if better is None and by_values is not None:
        return "which way the outcome is good is not said"
    return "the posted values do not say which group did better"


def _larger(outcome: Mapping[str, Any], pair: Comparison) -> bool | None:
    """Whether the drug's group has the larger value in every category posted; None if unclear."""
    ours, theirs = (_comparable(outcome, group) for group in (pair.drug, pair.other))
    signs = {ours[key] > theirs[key] for key in ours if key in theirs and ours[key] != theirs[key]}
    return signs.pop() if len(signs) == 1 and ours.keys() == theirs.keys() else None


def _comparable(outcome: Mapping[str, Any], group: str) -> dict[str, float]:
    """Return a group's values by category, counts as proportions, without baseline values."""
    size = _size(outcome, group)
    counted = str(outcome.get("unit") or "").strip(" ()").lower() in _COUNTED
    found = {
        str(each.get("category") or ""): value
        for each in _of_group(outcome, group)
        if (value := posted_number(each.get("value"))) is not None
        and not says("baseline", str(each.get("category") or ""))
    }
    return {key: value / size for key, value in found.items()} if counted and size else {} if counted else found


def _of_group(outcome: Mapping[str, Any], group: str) -> list[Mapping[str, Any]]:
    return [each for each in outcome.get("values", ()) if each.get("group") == group]


def _size(outcome: Mapping[str, Any], group: str) -> float | None:
    return next((posted_number(each.get("n")) for each in outcome.get("groups", ()) if each.get("name") == group), None)
