"""Changes and judgements in a clause, and whether they are good for the patient."""

import re

from . import finding_words as say
from .clause import Carried
from .polarity import higher_is_better

_DEGREE_UP = re.compile(r"(?:greater|larger|higher|more|longer)", re.IGNORECASE)
_DEGREE_DOWN = re.compile(r"(?:less|smaller|lower|fewer|slower)$", re.IGNORECASE)
_CHANGE_NOUN = re.compile(
    r"^\s*(?:[\w-]+ ){0,2}?(?P<good>reductions?|decreases?|falls?|drops?|improvements?|benefits?|relief|responses?|"
    r"efficacy|effects?)\b",
    re.IGNORECASE,
)
_RISE_NOUN = re.compile(
    r"^\s*(?:\w+ ){0,2}?(?P<bad>increases?|rises?|loss|decline|worsening|deterioration)\b", re.IGNORECASE
)
_INTRANSITIVE = re.compile(
    r"fell|fall|rose|rise|declin|drop|down|was|were|lower$|higher$|rarer|milder|shorter|smaller|improved|worsened|"
    r"halved|slower|slowly|faster|fastest|doubled|less|more|commoner|grew",
    re.IGNORECASE,
)
_PURPOSE = re.compile(
    r"(?<!shown )(?<!found )(?<!appears )(?<!appear )(?<!able )(?<!proved )(?<!proven )(?<!seem )(?<!seems "
    r")(?<!seemed )(?<!failed )(?<!fails )"
    r"(?<!appeared )(?<!known )(?<!demonstrated )(?<!likely )(?<!reported )\bto (?:\w+ly )?$",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"\b(?:normal or|have|are at|at(?: an?)?|for) $", re.IGNORECASE)
_NOUN_BEFORE = re.compile(r"(?:\ban? |\bthe |[a-z] )$", re.IGNORECASE)
_NOUN_AFTER = re.compile(r"\s*(?:of|above|below|was|were)\b", re.IGNORECASE)
_DECLINES = re.compile(r"fell|fall|declin|drop|decreas|reduc", re.IGNORECASE)
_BRINGS = re.compile(r"induc|enhanc|promot", re.IGNORECASE)
_SLOWLY = re.compile(
    r"\s*(?:by )?(?:[\d.]+ ?(?:%|percent) )?(?:(?:significantly|much) )?(?:more slowly|less)\b", re.IGNORECASE
)
_OBJECT = re.compile(
    r"\s+(?!(?:it|them|both|these|this|that|those|by|from|to|in|at|on|with|more|less|and|or|the same|significantly|"
    r"only|for|of|"
    r"over|during|after|under|than|when|as|but|risk|risks|rates?|its|their|further|markedly|slightly|all|§\S*)\b)"
    r"(?:the |an? )?[a-z][\w-]{3,} ?[\w-]*",
    re.IGNORECASE,
)
"""What follows a verb that takes an object: an object of its own, not a pronoun or an adverbial."""
_OR_LESS = re.compile(r"\d\S*(?: [\w%/]+){0,4} or $", re.IGNORECASE)
_SHARE_BEFORE = re.compile(r"\d+\s*%(?: or (?:more|greater))?\s*$")
_REACHED = re.compile(r"\b(?:was|were) (?:reached|achieved|obtained|attained|met)\b", re.IGNORECASE)


def cues(clause: str) -> list[tuple[re.Match[str], str]]:
    kinds = (("fall", say.FALL), ("rise", say.RISE), ("better", say.BETTER), ("worse", say.WORSE))
    taken = [m.span() for m in say.OUTCOME.finditer(clause)]
    found = [
        (match, kind)
        for kind, pattern in kinds
        for match in pattern.finditer(clause)
        if not (kind in ("fall", "rise") and any(start <= match.start() < end for start, end in taken))
        and not _is_threshold(clause, match)
        and not _PURPOSE.search(clause[: match.start()])
        and not _ATTRIBUTE.search(clause[: match.start()])
    ]
    return sorted(found, key=lambda pair: pair[0].start())


def _is_threshold(clause: str, cue: re.Match[str]) -> bool:
    """Whether a cue only bounds or names an outcome: "10 ppm or less", "a rise of 50% or more was seen in"."""
    if _OR_LESS.search(clause[: cue.start()]):
        return True
    if _SHARE_BEFORE.search(clause[: cue.start()]) and _REACHED.search(clause[cue.end() :]):
        return True
    return bool(
        re.match(r"rise|increase$", cue.group(), re.IGNORECASE)
        and _NOUN_BEFORE.search(clause[: cue.start()])
        and _NOUN_AFTER.match(clause[cue.end() :])
    )


def is_good(clause: str, cue: re.Match[str], kind: str, carried: Carried) -> bool | None:
    """Whether a change is good for the patient; None where that is not known."""
    if kind in ("better", "worse"):
        return kind == "better"
    rest, before = clause[cue.end() :], clause[: cue.start()]
    degree_up, degree_down = _DEGREE_UP.match(cue.group()), _DEGREE_DOWN.match(cue.group())
    if (degree_up or degree_down or _BRINGS.match(cue.group())) and _CHANGE_NOUN.match(rest):
        noun_better = _nearest(rest, before, carried.better, after=True)
        improves = bool(
            re.match(r"\s*(?:\w+ ){0,2}?(?:improvement|benefit|relief|response|efficacy|effect)", rest, re.IGNORECASE)
        )
        good = improves or noun_better is not True
        return good == (not degree_down)
    if (degree_up or degree_down) and (noun := _RISE_NOUN.match(rest)):
        noun_better = _nearest(rest, before, carried.better, after=True)
        loses = bool(re.match(r"\s*(?:\w+ ){0,2}?(?:loss|decline|worsening|deterioration)", rest, re.IGNORECASE))
        outcome = say.OUTCOME.search(rest[:70])
        loses = loses and not (outcome and outcome.start() <= noun.start("bad") < outcome.end())
        good = (noun_better is True) != loses if noun_better is not None else not loses and False
        return good == bool(degree_up)
    if kind == "fall" and re.match(
        r"prevent|delay|slow|blunt|curb|retard|attenuat|postpon|protect|ameliorat|alleviat|reliev|aborted|averted|"
        r"spared|normali",
        cue.group(),
        re.IGNORECASE,
    ):
        if _nearest(rest, before, carried.better, after=True) is None and "slow" in cue.group().lower():
            return None
        return True
    if kind == "fall" and carried.reserve and carried.better is not False and _DECLINES.match(cue.group()):
        slower, faster = re.search(r"\bslow(?:er|ly)|\bless\b", rest), re.search(r"\bfast(?:er|est)|\bmore\b", rest)
        return True if slower else False if faster else None
    if kind == "rise" and _SLOWLY.match(rest):
        kind = "fall"
    better = _nearest(rest, before, carried.better, after=not _INTRANSITIVE.match(cue.group()))
    if better is None:
        return None
    return better == (kind == "rise")


def _nearest(rest: str, before: str, carried: bool | None, *, after: bool) -> bool | None:
    """Whether more is good of the outcome that a cue speaks of: after it for `reduced`, before it for `fell`."""
    behind = say.OUTCOME.search(re.split(r"\b(?:than|compared|versus|vs)\b|[,;]", rest)[0][:70])
    ahead = next(iter(reversed(list(say.OUTCOME.finditer(before)))), None)
    if after and not behind and _OBJECT.match(rest):
        return higher_is_better(rest[:50])
    for found in (behind, ahead) if after else (ahead, behind):
        if found:
            return bool(found["good"])
    if carried is not None:
        return carried
    return higher_is_better(rest[:50] if after else before[-60:])
