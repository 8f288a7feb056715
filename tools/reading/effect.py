"""Whether a sentence says that a treatment raised, lowered or did not change an outcome.

The words and their order decide: a statement of no difference first, then significance as the numbers give it, then
the comparison word nearest to the outcome, read from the side of the treatment that is asked about.
"""

import re
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from . import effect_words as say
from .numbers import P_VALUE, RATIOS, effect_sizes, intervals, p_values_in
from .pairs import first_is_larger, row_is_larger
from .polarity import higher_is_better
from .sentences import clauses, plain, sentences, stem, stems
from .sides import Sides, sides, speaks_against


class Effect(StrEnum):
    """What became of an outcome under the treatment, against the comparison."""

    increase = "increase"
    decrease = "decrease"
    no_difference = "no_difference"


class EffectFinding(BaseModel):
    """An effect with the words it was read from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    effect: Effect | None
    """None means that the text states no effect."""
    reason: str
    sentence: str


MIN_SHARE = 0.2  # of the outcome's stems: below it a sentence speaks of something else (set on development data)


def effect_of(
    sentence: str, intervention: str | None = None, outcome: str | None = None, comparator: str | None = None
) -> EffectFinding:
    """Read from a statement of results what the intervention did to the outcome.

    Args:
        sentence: one sentence or a short passage that states a result.
        intervention: the treatment asked about; None means the one the sentence speaks for.
        outcome: what was measured; None means whatever the sentence measures.
        comparator: what it was compared with; None means whatever the sentence compares with.

    >>> effect_of("Pain was lower with placebo than with drug A.", "drug A", "pain", "placebo").effect
    <Effect.increase: 'increase'>
    """
    row = row_is_larger(plain(sentence)) if sentence.strip().count("\n") >= 2 else None
    if row:
        larger, cells = row
        moved = Effect.no_difference if larger is None else Effect.increase if larger else Effect.decrease
        return EffectFinding(effect=moved, reason=cells, sentence=sentence)
    text = " ".join(plain(sentence).split())
    effect, reason = _read(_passage(text, outcome), intervention, outcome, comparator)
    return EffectFinding(effect=effect, reason=reason, sentence=sentence)


def effect_in(
    text: str, intervention: str | None = None, outcome: str | None = None, comparator: str | None = None
) -> EffectFinding:
    """Read an abstract: of the sentences that state an effect, the one that speaks most of the outcome decides.

    Aims and methods don't count; a conclusion counts when no result names the outcome as well.
    """
    best = EffectFinding(effect=None, reason="no sentence names the outcome", sentence="")
    for sentence in ranked_results(text, intervention, outcome):
        finding = effect_of(sentence, intervention, outcome, comparator)
        if finding.effect:
            return finding
    return best


def ranked_results(text: str, intervention: str | None, outcome: str | None) -> list[str]:
    """Give the sentences of an abstract that could state the outcome's result, the likeliest first."""
    wanted, ours = stems(outcome or ""), stems(intervention or "")
    scored: list[tuple[float, int, str]] = []
    section = ""
    for i, sentence in enumerate(sentences(text)):
        section = _section(sentence) or section
        if section in say.UNREAD or sentence.endswith("?") or say.AIM.search(sentence) or sentence.startswith("TITLE:"):
            continue
        own = stems(sentence)
        share = len(own & wanted) / max(1, len(wanted))
        if outcome and share < MIN_SHARE:
            continue
        stated = bool(say.NULL.search(sentence)) or bool(say.CUE.search(sentence)) + bool(P_VALUE.search(sentence))
        within = bool(say.WITHIN.search(sentence)) and not say.COMPARED.search(sentence)
        scored.append((share + 0.15 * stated + 0.1 * bool(own & ours) - 0.2 * within, -i, sentence))
    return [sentence for _, _, sentence in sorted(scored, key=lambda item: item[:2], reverse=True)]


def _section(sentence: str) -> str:
    """The heading that opens a sentence of a structured abstract, in lower case; empty without one."""
    match = say.HEADING.match(sentence)
    return match[1].split()[0].lower() if match else ""


def _passage(text: str, outcome: str | None) -> str:
    """The clause on the outcome, with what the sentence later says of the same difference."""
    pieces = [(i, clause) for i, sentence in enumerate(sentences(text)) for clause in clauses(sentence)]
    if not pieces:
        return text
    wanted = stems(outcome or "")
    best = max(range(len(pieces)), key=lambda i: (len(stems(pieces[i][1]) & wanted), -i))
    sentence, passage = pieces[best]
    for number, clause in pieces[best + 1 :]:
        if number <= sentence + 1 and say.BACK_REFERENCE.search(clause) and not _names_other(clause, wanted):
            passage = f"{passage}, {clause}"
        elif number > sentence + 1:
            break
    return passage


def _names_other(clause: str, wanted: frozenset[str]) -> bool:
    return len(stems(clause) - wanted) > 14


def _read(
    clause: str, intervention: str | None, outcome: str | None, comparator: str | None
) -> tuple[Effect | None, str]:
    found = sides(clause, intervention, comparator)
    significant = _significance(clause, outcome)
    cues = comparison_cues(clause)
    null = _null(clause, outcome, cues, significant)
    if null:
        return Effect.no_difference, null
    if significant is False:
        return Effect.no_difference, "not significant by its p value or confidence interval"
    cue = _nearest(clause, cues, outcome)
    both = say.BOTH.search(clause)
    if both and (degrees := [c for c in cues if say.DEGREE.fullmatch(c.group()) and c.start() > both.start()]):
        cue, both = degrees[0], None
    if both and (not cue or not re.search(r"\b(?:than|compared|versus|vs)\b", clause)):
        return Effect.no_difference, both.group()
    if cue:
        up = _rises(clause, cue, cues, outcome)
        improved = say.IMPROVE.match(cue.group()) or (
            say.DEGREE.fullmatch(cue.group())
            and say.IMPROVEMENT.search(clause, cue.start() - 70 if cue.start() > 70 else 0, cue.end() + 40)
        )
        if improved and not stems("improvement") & stems(outcome or "") and higher_is_better(outcome or "") is False:
            up = not up
        if speaks_against(clause, cue.start(), found):
            up = not up
        return (Effect.increase if up else Effect.decrease), cue.group()
    return _by_numbers(clause, found)


def _by_numbers(clause: str, found: Sides) -> tuple[Effect | None, str]:
    pair = first_is_larger(clause, found)
    if pair:
        return (Effect.increase if pair[0] else Effect.decrease), pair[1]
    for size in effect_sizes(clause):
        null = 1.0 if size.measure in RATIOS else 0.0
        if size.value != null and size.measure != "SMD":
            return (Effect.increase if size.value > null else Effect.decrease), f"{size.measure} {size.value:g}"
    return None, "no comparison"


def _significance(clause: str, outcome: str | None) -> bool | None:
    """What the p value nearest to the outcome says, else the confidence intervals; None where there are neither."""
    values = [(m, p.significant) for m, p in zip(P_VALUE.finditer(clause), p_values_in(clause), strict=True)]
    verdicts = [v for _, v in values if v is not None]
    if len(set(verdicts)) == 1:
        return verdicts[0]
    if verdicts:
        start = min((m.start() for m in _anchor(clause, outcome)), default=0)
        return min(((m.start() < start, abs(m.start() - start), bool(v)) for m, v in values if v is not None))[2]
    sizes = [s.excludes_no_effect for s in effect_sizes(clause) if s.excludes_no_effect is not None]
    if sizes:
        return any(sizes)
    crossing = [low <= 0 <= high for low, high in intervals(clause)]
    return False if crossing and all(crossing) else None


def _null(clause: str, outcome: str | None, cues: list[re.Match[str]], significant: bool | None) -> str | None:
    hits = list(say.NULL.finditer(clause))
    if not hits:
        return None
    if significant is True and cues:
        firm = [m for m in hits if re.search(r"between|compar|differ", clause[m.start() : m.end() + 40])]
        if not firm:
            return None
        hits = firm
    return hits[0].group()


def _nearest(clause: str, cues: list[re.Match[str]], outcome: str | None) -> re.Match[str] | None:
    wanted = stems(outcome or "")
    outside = [c for c in cues if stem(c.group()) not in wanted] or cues
    anchor = _anchor(clause, outcome)
    return min(outside, key=lambda c: min((_gap(c, a) for a in anchor), default=c.start()), default=None)


def _gap(cue: re.Match[str], place: re.Match[str]) -> int:
    """Characters between a cue and a word of the outcome."""
    return max(place.start() - cue.end(), cue.start() - place.end(), 0)


def _rises(clause: str, cue: re.Match[str], cues: list[re.Match[str]], outcome: str | None) -> bool:
    """Whether the cue says more: a greater reduction and a smaller increase both mean less of what was measured."""
    wanted = stems(outcome or "")
    up = bool(cue["up"])
    if say.DEGREE.fullmatch(cue.group()):
        moves = [c for c in cues if say.MOVE.fullmatch(c.group()) and -60 < c.start() - cue.start() < 60]
        moves += [] if moves else [m for m in say.BETTER_NOUN.finditer(clause) if abs(m.start() - cue.start()) < 60]
        move = min(moves, key=lambda c: abs(c.start() - cue.start()), default=None)
        if (
            move
            and stem(move.group()) not in wanted
            and re.search(r"reduc|decreas|declin|drop|fall|fell|lower", move.group(), re.IGNORECASE)
        ):
            return not up
    elif say.MOVE.fullmatch(cue.group()) and stem(cue.group()) not in wanted:
        degrees = [c for c in cues if say.DEGREE.fullmatch(c.group()) and 0 < abs(c.start() - cue.start()) < 50]
        if any(c["down"] for c in degrees):
            return not up
    elif say.MOVE.fullmatch(cue.group()) and cue["down"]:
        return True
    return up


def null_statement(clause: str) -> str | None:
    """Give the words by which a clause denies an effect; None where it does not."""
    match = say.NULL.search(clause)
    return match.group() if match else None


def comparison_cues(clause: str) -> list[re.Match[str]]:
    """Find the words of more and less; group `up` or `down` holds the word."""
    blocked = [m.span() for m in say.NOT_A_CUE.finditer(clause)]
    return [m for m in say.CUE.finditer(clause) if not any(a <= m.start() < b for a, b in blocked)]


def _anchor(clause: str, outcome: str | None) -> list[re.Match[str]]:
    wanted = stems(outcome or "")
    return [m for m in re.finditer(r"[\w-]+", clause) if stems(m.group()) & wanted]
