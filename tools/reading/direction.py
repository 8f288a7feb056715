"""Whether a sentence speaks for a drug, against it, or neither.

An effect counts by what it means for the patient: fewer attacks and longer survival are good, fewer survivors are not.
A difference from placebo that was not found speaks against; one from another drug is neutral, unless the sentence says
that the two are equally effective. Sentences on safety say nothing of efficacy; aims and methods say nothing at all.
"""

import re
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from . import direction_words as say
from .effect import Effect, comparison_cues, effect_of, null_statement
from .polarity import higher_is_better
from .sentences import clauses, plain, stems
from .sides import names_comparator, sides, speaks_against


class Direction(StrEnum):
    """Where a statement stands on "the drug helps"."""

    supports = "supports"
    contradicts = "contradicts"
    neutral = "neutral"
    """A result that speaks neither for nor against: mixed, on safety, no difference from another drug."""
    unclear = "unclear"
    """No result: an aim, a method, background, or words the rules do not read."""


class DirectionFinding(BaseModel):
    """A direction with the words it was read from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    direction: Direction
    effect: Effect | None = None
    """What became of the outcome; None means that the sentence states no effect."""
    reason: str
    sentence: str
    against_nothing: bool | None = None
    """Whether the record compares with placebo or no treatment; None means that it was not looked at."""
    hedged: bool = False
    """Whether it is said in guarded words alone: may, promising, a trend."""


def direction_of(sentence: str, intervention: str | None = None, outcome: str | None = None) -> DirectionFinding:
    """Read on which side of "the drug helps" a sentence stands.

    Args:
        sentence: one sentence.
        intervention: the drug asked about; of "A was better than B" it decides whom the sentence speaks for. None means
            the drug that the sentence speaks for.
        outcome: what was measured or is treated; None means whatever the sentence measures.

    >>> direction_of("Drug A did not reduce the number of attacks.").direction
    <Direction.contradicts: 'contradicts'>
    >>> direction_of("Relapses were less frequent with drug A than with drug B.", "drug B").direction
    <Direction.contradicts: 'contradicts'>
    """
    text = " ".join(plain(sentence).split())

    def found(direction: Direction, reason: str, effect: Effect | None = None) -> DirectionFinding:
        return DirectionFinding(direction=direction, effect=effect, reason=reason, sentence=sentence)

    if text.endswith("?") or (say.PLAN.search(text) and not null_statement(text)):
        return found(Direction.unclear, "a question or an aim, not a result")
    if need := say.NEED.search(text):
        head = re.split(r"[,;](?=[^,;]*$)", text[: need.start()])[0] if re.search(r"[,;]", text[: need.start()]) else ""
        earlier = _read(head, intervention, outcome) if len(head.split()) > 4 else None
        if not earlier or earlier[0] is Direction.unclear:
            return found(Direction.neutral, f"open: {need.group()}")
        return found(earlier[0], earlier[2], earlier[1])
    direction, effect, reason = _read(text, intervention, outcome)
    if direction is Direction.unclear and say.METHOD.search(text):
        reason = "background or method, not a result"
    return found(direction, reason, effect)


Reading = tuple[Direction, Effect | None, str]


def _read(text: str, intervention: str | None, outcome: str | None) -> Reading:
    if say.METHOD.search(text) and not re.search(r"\bp\s*[<=>]|significan|effective|than\b", text):
        return Direction.unclear, None, "background or method, not a result"
    text, denied = _without_other(text, intervention)
    if denied:
        return Direction.contradicts, Effect.no_difference, "but not with it"
    if whole := _whole_sentence(text, intervention):
        return whole
    parts = _efficacy_parts(say.CONCEDED.sub(" ", text))
    if re.search(r"\b(?:whereas|while|in contrast)\b", text, re.IGNORECASE):
        parts = [part for part in parts if sides(part, intervention, None).intervention] or parts
    readings = [_read_clause(part, intervention, outcome) for part in parts]
    told = [r for r in readings if r[0] in (Direction.supports, Direction.contradicts)]
    if len({r[0] for r in told}) == 2:
        return _mixed(text, told, outcome)
    if told:
        return told[0]
    if neutral := next((r for r in readings if r[0] is Direction.neutral), None):
        return neutral
    if safety := say.SAFETY.search(text):
        return Direction.neutral, None, f"beside efficacy: {safety.group()}"
    return Direction.unclear, None, "no effect is stated"


def _without_other(text: str, intervention: str | None) -> tuple[str, bool]:
    """Take ", but not B," out of a sentence, and tell whether B is the drug asked about."""
    match = say.NOT_THE_OTHER.search(text)
    if not match or not re.search(r"[a-z]", text[match.end() :], re.IGNORECASE):
        return text, False
    is_ours = bool(intervention and sides(match["other"], intervention, None).intervention)
    return f"{text[: match.start()]} {text[match.end() :].strip()}", is_ours


def _whole_sentence(text: str, intervention: str | None) -> Reading | None:
    """Statements that turn on their second half: "A lowered X, but the difference was not significant"."""
    equal = say.EQUAL.search(text)
    if (
        equal
        and not re.search(r"\bplacebo\b", text[equal.start() :], re.IGNORECASE)
        and not say.SAFETY.search(text[equal.start() : equal.end() + 12])
    ):
        if say.NEGATION.search(text[max(0, equal.start() - 30) : equal.start()]) and not re.match(
            r"non|not", equal.group(), re.IGNORECASE
        ):
            return None
        return Direction.supports, Effect.no_difference, equal.group()
    favour = re.search(r"\b(?:in )?favou?r(?:s|ed|ing)?(?: of)? ", text, re.IGNORECASE)
    if favour and not say.NEGATION.search(text[: favour.start()]):
        named = sides(text[favour.end() : favour.end() + 60], intervention, None)
        if named.intervention or named.comparator:
            ours = min(named.intervention, default=999) < min(named.comparator, default=999)
            return (Direction.supports if ours else Direction.contradicts), None, favour.group().strip()
    late = re.search(
        r"\b(?:but|although|though|however|yet|albeit)\b[^.]*\b(?:differences?|this|it|these|effects?|"
        r"reductions?|trends?)\b[^.;]{0,40}(?:not (?:statistically )?significan\w+|did not reach|"
        r"non-?significan\w+|failed to reach)",
        text,
        re.IGNORECASE,
    )
    return _no_difference(text, intervention, late.group()) if late else None


def _mixed(text: str, told: list[Reading], outcome: str | None) -> Reading:
    if outcome and stems(outcome):
        on_outcome = effect_of(text, outcome=outcome)
        for reading in told:
            if on_outcome.effect is reading[1] and on_outcome.effect:
                return reading
    return Direction.neutral, None, f"mixed: {told[0][2]} / {told[1][2]}"


def _efficacy_parts(text: str) -> list[str]:
    """The clauses that speak of efficacy; a clause of safety alone is left out."""
    parts = [
        piece for part in clauses(text) for piece in re.split(r",?\s+and\s+(?=(?:was|were|is|are|had|has) )", part)
    ]
    kept = []
    for part in parts:
        safety = say.SAFETY.search(part)
        if safety and not re.search(r"\b(?:effective|efficac\w+|efficient|improv\w+|reduc\w+)\b", part, re.IGNORECASE):
            continue
        kept.append(part)
    return kept


def _read_clause(clause: str, intervention: str | None, outcome: str | None) -> Reading:
    null = null_statement(clause)
    if null and not re.search(r"\bas (?:effective|efficacious|good) as\b", null):
        judged = _judgement(clause, intervention)
        if judged and judged[0] is Direction.supports and not say.NEGATION.search(null):
            return judged
        if re.search(r"superior|better|more effective|effective", null):
            return _no_difference(clause, intervention, null)
        bad = [c for c in comparison_cues(clause) if _worsens(clause, c)]
        if re.search(r"\b(?:no|not|without)\b", null) and bad and not re.search(r"differ", null):
            return Direction.neutral, Effect.no_difference, f"no harm: {null}"
        return _no_difference(clause, intervention, null)
    finding = effect_of(clause, intervention, outcome)
    if finding.effect is Effect.no_difference:
        return _no_difference(clause, intervention, finding.reason)
    judged = _judgement(clause, intervention)
    by_outcome = _by_outcome(clause, intervention, outcome)
    return (
        by_outcome
        or judged
        or _by_values(clause, finding.effect, finding.reason, outcome)
        or (Direction.unclear, finding.effect, "no outcome whose better side is known")
    )


def _no_difference(text: str, intervention: str | None, reason: str) -> Reading:
    """No difference from nothing speaks against; no difference from another treatment is neutral."""
    if intervention and _is_reference(text, intervention) and not re.search(r"as (?:effective|good)", reason):
        return Direction.neutral, Effect.no_difference, f"another treatment is no better: {reason}"
    if say.COMPARES.search(text) and not say.INERT.search(text) and not say.NAMELESS_GROUPS.search(text):
        return Direction.neutral, Effect.no_difference, f"no difference from another treatment: {reason}"
    return Direction.contradicts, Effect.no_difference, reason


def _is_reference(text: str, intervention: str) -> bool:
    """Whether a treatment stands where `than` or `compared with` puts the reference."""
    mark = say.REFERENCE_MARK.search(text)
    if not mark:
        return False
    return bool(sides(text[mark.end() : mark.end() + len(intervention) + 4], intervention, None).intervention)


def _judgement(clause: str, intervention: str | None) -> Reading | None:
    """A verdict in words: effective, beneficial, inferior, no better."""
    bad, good = say.BAD_WORD.search(clause), say.GOOD_WORD.search(clause)
    word = bad or good
    if not word:
        return None
    helps = word is good
    before = clause[max(0, word.start() - 45) : word.start()]
    if (negation := say.NEGATION.search(before)) and not re.search(r",|;", before[negation.end() :]):
        helps = not helps
    compared = re.search(r"\b(?:than|to|over|compared)\b", clause[word.end() :])
    compares = compared or names_comparator(clause[: word.start()].rsplit(",", 1)[-1])
    if compares and speaks_against(clause, word.start(), sides(clause, intervention, None)):
        helps = not helps
    return (Direction.supports if helps else Direction.contradicts), None, word.group()


def _by_outcome(clause: str, intervention: str | None, outcome: str | None) -> Reading | None:
    """A change of an outcome whose better side is known."""
    for cue in comparison_cues(clause):
        if say.GOOD_WORD.fullmatch(cue.group()) or say.BAD_WORD.fullmatch(cue.group()):
            continue
        if say.GOOD_WORD.match(clause[cue.end() :].lstrip()):
            continue
        better = _better_side(clause, cue, outcome)
        if better is None:
            continue
        up = bool(cue["up"]) and (
            not say.LESS.fullmatch(cue.group()) or bool(re.match(r"\s+(?:the )?(?:time|onset)\b", clause[cue.end() :]))
        )
        flipped = speaks_against(clause, cue.start(), sides(clause, intervention, None))
        rises = up != flipped
        negated = say.NEGATION.search(clause[max(0, cue.start() - 30) : cue.start()])
        helps = (rises == better) != bool(negated)
        effect = Effect.increase if rises else Effect.decrease
        return (Direction.supports if helps else Direction.contradicts), effect, cue.group()
    return None


def _by_values(clause: str, effect: Effect | None, reason: str, outcome: str | None) -> Reading | None:
    """Two values side by side, of an outcome whose better side is known."""
    subject = re.split(r"\d", clause, maxsplit=1)[0]
    better = higher_is_better(subject)
    better = higher_is_better(outcome) if better is None and outcome else better
    if effect is None or better is None:
        return None
    helps = (effect is Effect.increase) == better
    return (Direction.supports if helps else Direction.contradicts), effect, reason


def _worsens(clause: str, cue: re.Match[str]) -> bool:
    better = _better_side(clause, cue, None)
    return better is not None and bool(cue["up"]) != better


def _better_side(clause: str, cue: re.Match[str], outcome: str | None) -> bool | None:
    """Whether more is better of what a cue speaks of: of the words after it, else before it, else of the outcome."""
    if turned := say.TURNED.match(clause[cue.end() :]):
        better = higher_is_better(turned["what"])
        if better is not None:
            return better if turned["rise"] else not better
    after = re.split(
        r"\b(?:in|with|compared|than|versus|vs|among|for|by|after|during|when|patients?)\b|[,;(]", clause[cue.end() :]
    )[0]
    before = re.split(r"[,;)]|\b(?:group|patients?|with)\b", clause[: cue.start()])[-1]
    within = re.match(r"[^,;]{0,30}?\b(?:in|of) (?:the )?([a-z][^,;]{3,60})", clause[cue.end() :])
    for words in (after, before, within[1] if within else ""):
        if (better := higher_is_better(words)) is not None:
            return better
    return higher_is_better(outcome) if outcome and stems(outcome) & stems(clause) else None
