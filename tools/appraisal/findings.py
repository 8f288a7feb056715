"""What each clause of a record says of a drug: a finding for it, against it, or one that leaves it open.

A sentence is cut into clauses. In each, a change (fell, fewer, improved), a judgement (effective, inferior) or a null
(did not differ) is tied to an outcome whose better side is known and to the arm it speaks of. Outcome, subject and
verb carry over to the next clause where that names none.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from . import finding_words as say
from .arms import Arm, Mine, arms_in
from .changes import Carried, cues, is_good
from .cutting import clauses_of, marked
from .direction import Direction
from .effect import Effect
from .values import better_than_inert, change_in


class Finding(NamedTuple):
    """What a clause says of the drug."""

    direction: Direction
    weight: float
    """1 for a plain result; less for a side issue, more for a comparison with placebo or a primary outcome."""
    reason: str
    effect: Effect | None = None
    hedged: bool = False
    named: bool = False
    """Whether the clause names the drug or its class, or the record speaks of no other drug."""


_PRONOUN = re.compile(r"\b(?:raised|lowered|reduced|increased|decreased|changed?) it\b", re.IGNORECASE)
_ELIDED = re.compile(r"\b(?:did|does|was|were) not\W*(?:§[+-]\W*)?$|^(?:not|nor|neither|none)\b", re.IGNORECASE)
_NO_BETTER = re.compile(r"no(?:t \w+)? (?:better|more effective|superior)|not (?:better|superior)", re.IGNORECASE)
_FEW = re.compile(r"\b\d+(?:\.\d+)?\s*(?:%|percent) (?:did|were|had) (?:not|no)\b", re.IGNORECASE)
_COMBINED = re.compile(r"\b(?:combin\w+|adding|added|addition(?:al)?|together|together with)\b", re.IGNORECASE)
_RESPONSE = re.compile(r"respon|success|satisf|abstin|quit|free|remission|surviv", re.IGNORECASE)
_SAMENESS = re.compile(
    r"similar|identical|same|alike|equal|comparable|indistinguishable|differ|separate", re.IGNORECASE
)
_ONLY = re.compile(
    r"\bonly\s+(?:on |with |in |for |the |by )*$|^\s+(?:\w+ ){0,2}(?:only|alone)\b(?! (?:or|and|was|were|did))",
    re.IGNORECASE,
)
_RESERVE_WEIGHT = 0.2  # no change in an outcome that need only stay stable says little against
_BRIDGE = 45  # characters between a negation and what it negates
BESIDE_STEMS = (
    "hypertens",
    "blood pressure",
    "diabet",
    "glyc",
    "heart",
    "lipid",
    "cholesterol",
    "stroke",
    "obes",
    "cardio",
)


def findings_in(sentence: str, mine: Mine, condition: str, before: str = "") -> Iterator[Finding]:
    """Read the findings of a sentence on the drug, clause by clause.

    Args:
        sentence: one sentence, without the heading of its section.
        mine: the drug asked about, as the record names it.
        condition: the condition asked about.
        before: the sentence before it, of which `it` may speak.
    """
    text = marked(sentence)
    if sentence.rstrip().endswith("?") or (say.PLAN.search(text) and not say.RESULT.search(text)):
        return
    carried = Carried()
    if _PRONOUN.search(text) and (outcome := say.OUTCOME.search(before)):
        carried = Carried(better=bool(outcome["good"]))
    for clause in clauses_of(text):
        if not clause or len(clause) < 6:
            continue
        finding, carried = _read(clause.strip(), mine, condition, carried)
        if finding:
            yield finding._replace(direction=Direction.neutral) if say.CONFOUNDED.search(text) else finding


def _read(clause: str, mine: Mine, condition: str, carried: Carried) -> tuple[Finding | None, Carried]:
    arms = arms_in(clause, mine)
    better, is_beside = _outcome(clause, condition)
    if better is not None:
        carried = carried._replace(reserve=_is_reserve(clause))
    if is_beside:
        return None, carried._replace(better=None, stable=False)
    reference = say.REFERENCE.search(clause)
    sides = {arm.side for arm in arms if not reference or arm.start < reference.start()}
    drug_named = bool(sides)
    ours = True if sides & {"ours", "all"} else False if drug_named else carried.ours
    better = better if better is not None else carried.better
    carried = carried._replace(better=better, ours=ours if drug_named else carried.ours)
    if say.METHOD.search(clause) and not say.RESULT.search(clause):
        return None, carried
    weight = _weight(clause, {arm.side for arm in arms}, ours)
    hedged = bool(say.HEDGE.search(clause))
    finding, carried = _result(clause, arms, mine, carried, weight)
    if finding:
        named = mine.is_only_drug or any(arm.side == "ours" for arm in arms) or (not arms and bool(ours))
        return finding._replace(hedged=hedged or finding.hedged, named=named), carried
    return None, carried


def _weight(clause: str, sides: set[str], ours: bool | None) -> float:
    weight = 1.0 if "ours" in sides or (ours and re.search(r"\bneither\b", clause)) else 0.7
    weight *= 1.5 if "inert" in sides else 1.0
    weight *= 1.3 if "§+" in clause else 1.0
    weight *= (
        0.5
        if re.search(r"\bopen(?:-label)? (?:trial|study|data)", clause)
        else 1.5
        if re.search(r"\bcontrolled (?:trial|one|stud)", clause)
        else 1.0
    )
    weight *= 0.5 if re.search(r"\bthe [\d.]+ mg dose\b", clause, re.IGNORECASE) else 1.0
    weight *= 0.4 if say.MINOR.search(clause) else 1.0
    return weight * (2.0 if say.PRIMARY.search(clause) else 1.0)


def _is_reserve(clause: str) -> bool:
    reserve = say.RESERVE.search(clause)
    return bool(reserve and not re.search(r"albumin|protein|bleed|hvpg|gradient", clause, re.IGNORECASE))


@lru_cache(maxsize=256)
def _is_asked_for(condition: str) -> bool:
    """Whether outcomes that are beside the question of other conditions are what is asked about here."""
    name = condition.lower()
    if "portal" in name or "diabetic " in name:
        return False
    return any(stem in name for stem in BESIDE_STEMS)


def _outcome(clause: str, condition: str) -> tuple[bool | None, bool]:
    """Whether more of the clause's outcome is good, and whether the clause is beside the question."""
    outcome = say.OUTCOME.search(clause)
    beside = say.SAFETY.search(clause)
    if not beside and not _is_asked_for(condition):
        beside = say.BESIDE.search(clause)
    judged = re.search(
        r"\b(?:effective|efficacy|efficacious|ineffective|effectiveness|recommended)\b", clause, re.IGNORECASE
    )
    if beside and not judged and (not outcome or beside.start() <= outcome.start()):
        return None, True
    if outcome:
        return bool(outcome["good"]), False
    return None, False


def _result(
    clause: str, arms: list[Arm], mine: Mine, carried: Carried, weight: float
) -> tuple[Finding | None, Carried]:
    if found := _equal(clause, arms, mine, carried, weight):
        return found, carried
    if opened := say.OPEN.search(clause):
        is_ours = _speaks_of_ours(arms, mine, carried)
        return (Finding(Direction.neutral, weight, f"open: {opened.group()}") if is_ours else None), carried
    if found := _others_only(clause, arms, mine, weight):
        return found, carried
    if (
        values := better_than_inert(clause, arms, carried.better, alone=mine.is_only_drug and mine.has_inert)
    ) is not None:
        is_better, reason = values
        if is_better is None and not say.UNCHANGED.search(clause):
            return Finding(Direction.neutral, weight, reason), carried
        if ("§-" in clause and "§+" not in clause) or say.UNCHANGED.search(clause):
            return Finding(Direction.contradicts, weight, f"p not below 0.05: {reason}", Effect.no_difference), carried
        return Finding(_side(bool(is_better)), weight, reason), carried
    null = say.UNCHANGED.search(clause)
    change = _change(clause, arms, mine, carried, weight)
    if null and (_is_verdict(null, arms) or not change or null.start() <= change[1] + 12 or not change[0]):
        return _null(clause, null, arms, mine, carried, weight)
    if change:
        return change[0], carried._replace(verb=change[2], stable=False)
    if carried.verb and _ELIDED.search(clause) and _speaks_of_ours(arms, mine, carried):
        return Finding(_side(carried.verb < 0), weight, "but not with it", Effect.no_difference), carried
    response = say.OUTCOME.search(clause)
    if response and _RESPONSE.search(response.group()) and "§+" in clause and _speaks_of_ours(arms, mine, carried):
        return Finding(Direction.supports, weight * 0.7, f"{response.group()}, p below 0.05"), carried
    if (
        (moved := change_in(clause))
        and carried.better is not None
        and "§+" in clause
        and not carried.reserve
        and _speaks_of_ours(arms, mine, carried)
    ):
        return Finding(_side((moved > 0) == carried.better), weight, "from one value to another, p below 0.05"), carried
    if say.STABLE.search(clause) and any(arm.side == "ours" for arm in arms):
        return None, carried._replace(stable=carried.better is False)
    return None, carried


def _is_verdict(null: re.Match[str], arms: list[Arm]) -> bool:
    """Whether a null speaks for its whole clause, whatever change stands before it."""
    if _NO_BETTER.match(null.group()):
        return True
    return any(arm.side == "inert" for arm in arms) and re.search(r"differ|significan", null.group()) is not None


def _side(helps: bool) -> Direction:
    return Direction.supports if helps else Direction.contradicts


def _speaks_of_ours(arms: list[Arm], mine: Mine, carried: Carried) -> bool:
    """Whether a clause speaks of the drug: by name, as one of all, or because nothing else is meant."""
    sides = {arm.side for arm in arms}
    if sides & {"ours", "all"}:
        return True
    if "other" in sides:
        return False
    return carried.ours if carried.ours is not None and not sides else mine.is_subject


def _equal(clause: str, arms: list[Arm], mine: Mine, carried: Carried, weight: float) -> Finding | None:
    equal = say.EQUAL_EFFECT.search(clause)
    if not equal or not _speaks_of_ours(arms, mine, carried):
        return None
    if re.search(
        rf"{say.NOT.pattern}[^,;]{{0,25}}$", clause[: equal.start()], re.IGNORECASE
    ) and not equal.group().lower().startswith("not"):
        return None
    if any(arm.side == "inert" for arm in arms):
        return Finding(Direction.contradicts, weight, equal.group(), Effect.no_difference)
    return Finding(Direction.supports, weight, equal.group(), Effect.no_difference)


def _others_only(clause: str, arms: list[Arm], mine: Mine, weight: float) -> Finding | None:
    """ "Only A reduced X", asked about B."""
    if any(arm.side == "ours" for arm in arms) or mine.is_only_drug or not mine.is_subject:
        return None
    others = [arm for arm in arms if arm.side == "other"]
    alone = any(_ONLY.search(clause[: arm.start]) or _ONLY.search(clause[arm.end :]) for arm in others)
    if alone and (say.FALL.search(clause) or say.BETTER.search(clause) or say.RISE.search(clause)):
        return Finding(Direction.contradicts, weight, "only with another drug", Effect.no_difference)
    return None


def _null(
    clause: str, null: re.Match[str], arms: list[Arm], mine: Mine, carried: Carried, weight: float
) -> tuple[Finding | None, Carried]:
    """A difference or change that was not found: against the drug if from nothing, else neither."""
    sides = {arm.side for arm in arms}
    named_ours = "ours" in sides
    if say.STABLE.search(null.group()) and named_ours:
        carried = carried._replace(stable=carried.better is False)
    if (
        re.match(
            rf".{{0,{_BRIDGE}}}\b(?:worse|inferior|rise|increase|adverse|harm)", clause[null.start() :], re.IGNORECASE
        )
        and carried.better is False
    ):
        return None, carried
    if not _speaks_of_ours(arms, mine, carried) or _FEW.search(clause):
        return None, carried
    if "inert" in sides and not named_ours and not say.REFERENCE.search(clause):
        return None, carried
    if _COMBINED.search(clause) and {"ours", "other"} <= sides:
        return Finding(Direction.neutral, weight, f"of a combination: {null.group()}"), carried
    open_question = Finding(
        Direction.neutral, weight, f"no difference from another treatment: {null.group()}", Effect.no_difference
    )
    if carried.reserve:
        weight *= _RESERVE_WEIGHT
    compares = (
        say.REFERENCE.search(clause)
        or re.search(r"\b(?:between|among|groups|arms)\b", clause)
        or (_SAMENESS.search(null.group()))
    )
    against = Finding(Direction.contradicts, weight, null.group(), Effect.no_difference)
    if "inert" in sides:
        return against, carried
    if compares:
        nameless = not named_ours and "other" not in sides
        if mine.has_inert and (nameless and mine.is_only_drug):
            return against._replace(weight=weight * 0.8), carried
        return open_question, carried
    if named_ours or (sides & {"all"} and re.search(r"\bneither\b", clause, re.IGNORECASE)):
        return against, carried
    if mine.is_only_drug or carried.ours:
        return against._replace(weight=weight * 0.8), carried
    return open_question, carried


def _change(
    clause: str, arms: list[Arm], mine: Mine, carried: Carried, weight: float
) -> tuple[Finding | None, int, int] | None:
    """The first change or judgement that can be read: the finding, its place, and whether it is good (1) or bad."""
    for cue, kind in cues(clause):
        good = is_good(clause, cue, kind, carried)
        if good is None:
            continue
        negated = re.search(
            rf"{say.NOT.pattern}[^,;]{{0,{_BRIDGE}}}$", clause[max(0, cue.start() - 60) : cue.start()], re.IGNORECASE
        )
        if negated:
            if not good:
                continue
            found, _ = _null(clause, cue, arms, mine, carried, weight)
            return found, cue.start(), 0
        turn = 1 if good else -1
        finding = _assigned(clause, cue, good, arms, mine, carried, weight)
        return finding, cue.start(), turn
    return None


def _assigned(
    clause: str, cue: re.Match[str], good: bool, arms: list[Arm], mine: Mine, carried: Carried, weight: float
) -> Finding | None:
    """Give a change to the arm it speaks of; what it then says of the drug."""
    reason = cue.group()
    reference = next((m for m in say.REFERENCE.finditer(clause) if any(a.start >= m.start() for a in arms)), None)
    beyond = [a for a in arms if reference and a.start >= reference.start() and a.end > reference.end()]
    within = [a for a in arms if a not in beyond]
    holders = {a.side for a in within}
    against = beyond[0].side if beyond else None
    ours_holds = bool(holders & {"ours", "all"}) or (
        not holders and against != "ours" and _speaks_of_ours(within, mine, carried)
    )
    failed = "§-" in clause and "§+" not in clause
    if ours_holds and holders != {"inert"}:
        if failed:
            if against == "inert":
                return Finding(Direction.contradicts, weight, f"{reason}, p not below 0.05", Effect.no_difference)
            return Finding(Direction.neutral, weight, f"{reason}, p not below 0.05", Effect.no_difference)
        if not good and against == "other" and "inert" not in holders and not say.WORSE.fullmatch(reason):
            return Finding(Direction.neutral, weight, f"loses to another treatment: {reason}")
        if holders >= {"ours", "other"} or holders >= {"ours", "inert"}:
            return _shared(clause, cue, good, within, weight)
        return Finding(_side(good), weight, reason)
    if against == "ours" and not failed:
        if holders == {"inert"}:
            return Finding(_side(not good), weight, reason)
        if "other" in holders and not good:
            return Finding(Direction.supports, weight * 0.7, f"another treatment is worse: {reason}")
        return Finding(Direction.neutral, weight, f"another treatment is better: {reason}")
    if carried.stable and not good and carried.ours is False and not failed:
        return Finding(Direction.supports, weight, f"level with it, {reason} without")
    return None


def _shared(clause: str, cue: re.Match[str], good: bool, arms: list[Arm], weight: float) -> Finding | None:
    """A clause that names the drug beside others: the verb is for all, unless each has one of its own."""
    ours = min((a for a in arms if a.side == "ours"), key=lambda a: abs(a.start - cue.start()))
    others = [a for a in arms if a.side in ("other", "inert") and a.start < cue.start()]
    if ours.start > cue.start() and others and re.search(r"\b(?:than|to|over)\b", clause[cue.end() : ours.start]):
        return Finding(Direction.neutral, weight, f"another treatment: {cue.group()}")
    return Finding(_side(good), weight, cue.group())
