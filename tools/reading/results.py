"""What a clause says of the drug: a change, a judgement, two values, a null, or a matter left open."""

import re
from collections.abc import Set

from . import finding_words as say
from .arms import Arm
from .changes import cues, is_good
from .clause import Carried, Clause, Finding
from .direction import Direction
from .effect import Effect
from .nulls import is_verdict, null_in
from .values import better_than_inert, change_in

_ELIDED = re.compile(r"\b(?:did|does|was|were) not\W*(?:§[+-]\W*)?$|^(?:not|nor|neither|none)\b", re.IGNORECASE)
_RESPONSE = re.compile(r"respon|success|satisf|abstin|quit|free|remission|surviv", re.IGNORECASE)
_ONLY = re.compile(
    r"\bonly\s+(?:on |with |in |for |the |by )*$|^\s+(?:\w+ ){0,2}(?:only|alone)\b(?! (?:or|and|was|were|did))",
    re.IGNORECASE,
)
_AT_HEAD = re.compile(r"\W*(?:as|when|and|thus|overall)?\W*", re.IGNORECASE)
_FAVOURS = re.compile(r"\bfavou?r(?:ed|s|ing)? (?!\w+ by\b)", re.IGNORECASE)
_WHOSE = re.compile(
    r"\b(?:patients?|subjects|those|children|adults|individuals|participants|women|men|(?:non-?)?responders?) "
    r"(?:who (?:did|had|were|have|do) (?:no|not)|without|with no|not)(?:\W+\w+){0,4}\W*$",
    re.IGNORECASE,
)
"""What tells whom a sentence speaks of: "in patients without improvement" is no result."""
_SUPERIOR = re.compile(r"\bsuperior", re.IGNORECASE)
_COMPARES = re.compile(
    r"(?:higher|lower|more|fewer|greater|less|larger|smaller|better|worse|commoner|rarer|longer|shorter|faster|slower)",
    re.IGNORECASE,
)
_NEGATED = re.compile(rf"{say.NOT.pattern}[^,;]{{0,45}}$", re.IGNORECASE)
_NOT_EQUAL = re.compile(rf"{say.NOT.pattern}[^,;]{{0,25}}$", re.IGNORECASE)
_UNCOMPARED = 0.4  # a change for the worse that is set against nothing may be the illness's own course
_BEFORE_CUE = 60  # characters before a cue in which a negation counts
_LEAST = 12  # characters by which a change must precede a null to be what the clause says


def result_of(clause: Clause) -> tuple[Finding | None, Carried]:
    """Read what a clause says of the drug, and what it hands on to the next."""
    carried = clause.carried
    if found := _equal(clause):
        return found, carried
    if opened := say.OPEN.search(clause.text):
        return (clause.leaves_open(f"open: {opened.group()}") if clause.speaks_of_ours() else None), carried
    if found := _others_only(clause) or _values(clause):
        return found, carried
    null, change = say.UNCHANGED.search(clause.text), _change(clause)
    if null and (not change or not change[0] or null.start() <= change[1] + _LEAST or is_verdict(null, clause)):
        return null_in(clause, null)
    if change:
        return change[0], carried._replace(verb=change[2], stable=False)
    return _without_a_verb(clause)


def _equal(clause: Clause) -> Finding | None:
    """As good as another treatment speaks for the drug, as good as placebo against it."""
    equal = say.EQUAL_EFFECT.search(clause.text)
    if not equal or not clause.speaks_of_ours():
        return None
    if _NOT_EQUAL.search(clause.text[: equal.start()]) and not equal.group().lower().startswith("not"):
        return None
    if "inert" in clause.sides and clause.has(_SUPERIOR):
        return None
    direction = Direction.contradicts if "inert" in clause.sides else Direction.supports
    return Finding(direction, clause.weight, equal.group(), Effect.no_difference)


def _others_only(clause: Clause) -> Finding | None:
    """ "Only A reduced X", asked about B."""
    if "ours" in clause.sides or clause.mine.is_only_drug or not clause.mine.is_subject:
        return None
    others = [arm for arm in clause.arms if arm.side == "other"]
    alone = any(_ONLY.search(clause.text[: arm.start]) or _ONLY.search(clause.text[arm.end :]) for arm in others)
    if alone and (clause.has(say.FALL) or clause.has(say.BETTER) or clause.has(say.RISE)):
        return clause.contradicts("only with another drug", named=True)
    return None


def _values(clause: Clause) -> Finding | None:
    """Two values side by side: the drug's and that of placebo or another treatment."""
    if clause.has(_FAVOURS):
        return None
    alone = clause.mine.is_only_drug and clause.mine.has_inert
    values = better_than_inert(clause.text, clause.arms, clause.carried.better, alone=alone)
    if values is None:
        return None
    is_better, reason = values
    unchanged = clause.has(say.UNCHANGED)
    if not is_better and "inert" not in clause.sides and not clause.mine.is_only_drug:
        return clause.leaves_open(f"loses to another treatment: {reason}")
    if is_better is None and not unchanged:
        return clause.leaves_open(reason)
    if clause.failed or unchanged:
        return clause.contradicts(f"p not below 0.05: {reason}")
    return clause.stands(reason, helps=bool(is_better))


def _change(clause: Clause) -> tuple[Finding | None, int, int] | None:
    """The first change or judgement that can be read: the finding, its place, and whether it is good (1) or bad."""
    for cue, kind in cues(clause.text):
        good = is_good(clause.text, cue, kind, clause.carried)
        before = clause.text[: cue.start()]
        if good is None or _WHOSE.search(before):
            continue
        if _NEGATED.search(before[-_BEFORE_CUE:]):
            if good:
                return null_in(clause, cue)[0], cue.start(), 0
            continue
        return _assigned(clause, cue, good=good), cue.start(), 1 if good else -1
    return None


def _without_a_verb(clause: Clause) -> tuple[Finding | None, Carried]:
    """What is said without a verb of its own: "but not B", a response with its p value, "from X to Y"."""
    carried, ours = clause.carried, clause.speaks_of_ours()
    if carried.verb and ours and clause.has(_ELIDED):
        helps = Direction.supports if carried.verb < 0 else Direction.contradicts
        return Finding(helps, clause.weight, "but not with it", Effect.no_difference, named=True), carried
    if ours and "§+" in clause.text:
        response, moved = say.OUTCOME.search(clause.text), change_in(clause.text)
        if response and _RESPONSE.search(response.group()):
            return clause.supports(f"{response.group()}, p below 0.05", 0.7), carried
        if moved and carried.better is not None and not carried.reserve:
            helps_it = (moved > 0) == carried.better
            return clause.stands("from one value to another, p below 0.05", helps=helps_it), carried
    if clause.has(say.STABLE) and "ours" in clause.sides:
        return None, carried._replace(stable=carried.better is False)
    return None, carried


def _assigned(clause: Clause, cue: re.Match[str], *, good: bool) -> Finding | None:
    """Give a change to the arm it speaks of; what it then says of the drug."""
    reason, beyond = cue.group(), _compared_with(clause)
    within = [arm for arm in clause.arms if arm not in beyond]
    holders, sides = {arm.side for arm in within}, {arm.side for arm in beyond}
    against = "ours" if "ours" in sides and "ours" not in holders else beyond[0].side if beyond else None
    meant = not holders and against != "ours" and clause.speaks_of_ours(within)
    if holders & {"ours", "all"} or meant:
        return _of_ours(clause, cue, within, against, good=good)
    if clause.failed:
        return None
    if against == "ours":
        return _of_the_other(clause, reason, holders, good=good)
    if holders == {"inert"} and not beyond and _COMPARES.match(reason):
        return clause.stands(f"without it {reason}", helps=not good)
    if clause.carried.stable and not good and clause.carried.ours is False:
        return clause.supports(f"level with it, {reason} without", named=True)
    return None


def _compared_with(clause: Clause) -> list[Arm]:
    """The arms that are what is compared with: those after `than`, or before the comma of "compared with A, B"."""
    text = clause.text
    last = max((arm.start for arm in clause.arms), default=-1)
    reference = next((m for m in say.REFERENCE.finditer(text) if last >= m.start()), None)
    if reference is None:
        return []
    beyond = [arm for arm in clause.arms if arm.start >= reference.start() and arm.end > reference.end()]
    comma = text.find(",", reference.end())
    if comma >= 0 and _AT_HEAD.fullmatch(text[: reference.start()]):
        return [arm for arm in beyond if arm.start < comma]
    return beyond


def _of_ours(
    clause: Clause, cue: re.Match[str], within: list[Arm], against: str | None, *, good: bool
) -> Finding | None:
    """A change under the drug, with or without another arm that it is compared with."""
    reason, holders = cue.group(), {arm.side for arm in within}
    if clause.failed:
        why = f"{reason}, p not below 0.05"
        return clause.contradicts(why) if against == "inert" else clause.leaves_open(why, Effect.no_difference)
    if not good and against == "other" and "inert" not in holders and not say.WORSE.fullmatch(reason):
        return clause.leaves_open(f"loses to another treatment: {reason}")
    if holders >= {"ours", "other"} or holders >= {"ours", "inert"}:
        return _shared(clause, cue, within, good=good)
    found = clause.stands(reason, helps=good)
    sure = "ours" in holders and ("§+" in clause.text or say.WORSE.fullmatch(reason))
    if good or against == "inert" or sure:
        return found
    return found._replace(weight=found.weight * _UNCOMPARED)


def _of_the_other(clause: Clause, reason: str, holders: Set[str], *, good: bool) -> Finding:
    """A change under another treatment than the drug, which it is compared with."""
    if holders == {"inert"}:
        return clause.stands(reason, helps=not good)
    if "other" in holders and not good:
        return clause.supports(f"another treatment is worse: {reason}", 0.7)
    return clause.leaves_open(f"another treatment is better: {reason}")


def _shared(clause: Clause, cue: re.Match[str], arms: list[Arm], *, good: bool) -> Finding:
    """A clause that names the drug beside others: the verb is for all, unless each has one of its own."""
    ours = min((a for a in arms if a.side == "ours"), key=lambda a: abs(a.start - cue.start()))
    others = [a for a in arms if a.side in ("other", "inert") and a.start < cue.start()]
    between = clause.text[cue.end() : ours.start]
    if ours.start > cue.start() and others and re.search(r"\b(?:than|to|over)\b", between):
        return clause.leaves_open(f"another treatment: {cue.group()}")
    return clause.stands(cue.group(), helps=good)
