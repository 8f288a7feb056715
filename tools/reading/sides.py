"""Which of the compared treatments a comparison speaks for.

"Better with A than with B" and "B was inferior to A" say the same of A: what counts is where each name stands relative
to the comparison word and to the word that opens the reference (`than`, `compared with`, `versus`).
"""

import re

from pydantic import BaseModel, ConfigDict

from .sentences import stem, words

_GENERIC_COMPARATOR = re.compile(
    r"\b(?:placebos?|controls?|sham|usual care|standard care|standard of care|conventional|no[- ]treatment|untreated|"
    r"comparators?|non-?treated|vehicle|saline|wait(?:ing)?[- ]?list|non-?users?)\b",
    re.IGNORECASE,
)
_GENERIC_INTERVENTION = re.compile(
    r"\b(?:interventions?|experimental|active (?:treatment|group|arm|drug)|treatment (?:group|arm)|"
    r"(?<!-)treated (?:group|patients)|"
    r"study (?:group|drug)|case group|test group|verum|supplement(?:ed|ation) group|users)\b",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\b(?:than|(?:as |when )?compared (?:with|to)|in comparison (?:with|to)|compared|versus|vs\.?|"
    r"relative to|over|against|"
    r"(?:superior|inferior) to|rather than|in contrast (?:with|to)|contrary to|unlike)(?!\w)",
    re.IGNORECASE,
)
_COMMON = frozenset(
    "group arm drug compound treatment therapi dose daili twice once day week month mg kg ml mcg g h "
    "hour minut per plus with standard "
    "patient receiv or and a an the of in on to for by from at 1 2 3 i ii iii b c oral tablet intraven "
    "inject care".split()
)


class Sides(BaseModel):
    """Where a sentence names the two sides: character positions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    intervention: tuple[int, ...] = ()
    comparator: tuple[int, ...] = ()


def sides(sentence: str, intervention: str | None, comparator: str | None) -> Sides:
    """Find where a sentence names the intervention and where the comparator.

    Args:
        sentence: the sentence to read.
        intervention: the treatment asked about; None means that only generic names count (`intervention group`).
        comparator: what it is compared with; None means that only generic names count (`placebo`, `controls`).
    """
    ours, theirs = _names(intervention), _names(comparator)
    ours, theirs = ours - theirs or ours, theirs - ours or theirs
    found_ours = _positions(sentence, ours, intervention)
    found_theirs = _positions(sentence, theirs, comparator)
    swapped = bool(intervention and _GENERIC_COMPARATOR.search(intervention) and not ours - _generic_stems())
    generic = [m.start() for m in _GENERIC_COMPARATOR.finditer(sentence)]
    generic_ours = [m.start() for m in _GENERIC_INTERVENTION.finditer(sentence)]
    if swapped:
        found_ours, found_theirs = found_ours | set(generic), found_theirs | set(generic_ours)
    else:
        found_ours, found_theirs = found_ours | set(generic_ours), found_theirs | set(generic)
    found_ours, found_theirs = _without(sentence, found_ours, found_theirs)
    return Sides(
        intervention=tuple(sorted(found_ours - found_theirs)), comparator=tuple(sorted(found_theirs - found_ours))
    )


def _without(sentence: str, ours: set[int], theirs: set[int]) -> tuple[set[int], set[int]]:
    """Count `without A` and `non-A` for the other side, and the shared part of `A plus B` for the combination."""
    negated = {m.end(1) for m in re.finditer(r"\b(no |non-?|without )", sentence, re.IGNORECASE)}
    starts = {m.start() for m in re.finditer(r"\bnon-?", sentence, re.IGNORECASE)}
    turned = {p for p in ours if p in negated or p in starts}
    joined = {p for p in theirs if ours and re.search(r"(?:\+|\bplus|/)\s*$", sentence[:p])}
    return ours - turned, (theirs - joined) | turned


def speaks_against(sentence: str, position: int, found: Sides) -> bool:
    """Tell whether a comparison word at `position` speaks of the comparator, so that it means the reverse for us."""
    if not found.comparator and not found.intervention:
        return False
    reference = _reference_side(sentence, position, found)
    if reference:
        return reference == "intervention"
    subject = _subject_side(sentence, position, found)
    return subject == "comparator"


def names_comparator(sentence: str) -> bool:
    """Whether a sentence names a placebo, a control group or the like."""
    return bool(_GENERIC_COMPARATOR.search(sentence))


def _reference_side(sentence: str, position: int, found: Sides) -> str | None:
    """The side that stands right after `than`, `compared with`: the nearest such word to the comparison."""
    marks = sorted(_REFERENCE.finditer(sentence), key=lambda m: abs(m.start() - position))
    for mark in marks:
        after = [(p, "intervention") for p in found.intervention if mark.start() <= p]
        after += [(p, "comparator") for p in found.comparator if mark.start() <= p]
        before = [(p, "intervention") for p in found.intervention if p < mark.start()]
        before += [(p, "comparator") for p in found.comparator if p < mark.start()]
        numeric = re.match(r"vs|versus", mark.group(), re.IGNORECASE) and re.search(
            r"\d\s*%?\)?\s*$", sentence[: mark.start()]
        )
        if after and not numeric:
            nearest = min(after)
            if nearest[0] - mark.end() <= 60:
                return nearest[1]
        if before and not numeric and mark.start() > position:
            return "comparator" if max(before)[1] == "intervention" else None
    return None


def _subject_side(sentence: str, position: int, found: Sides) -> str | None:
    both = [(p, "intervention") for p in found.intervention] + [(p, "comparator") for p in found.comparator]
    after = [(p - position, side) for p, side in both if p >= position]
    before = [(position - p, side) for p, side in both if p < position]
    placed = [
        (distance, side)
        for distance, side in after
        if re.search(
            r"\b(?:in|with|for|by|among|after|following|of|on|from)\b", sentence[position : position + distance]
        )
    ]
    if placed and (not before or min(placed)[0] <= 80):
        return min(placed)[1]
    if before:
        return min(before)[1]
    return min(after)[1] if after else None


def _generic_stems() -> frozenset[str]:
    return frozenset({"control", "placebo", "sham", "usual", "convent", "no", "untreat"})


def _names(text: str | None) -> frozenset[str]:
    if not text:
        return frozenset()
    parts = [part for word in words(text) for part in {word, *word.split("-")}]
    return frozenset(s for part in parts if len(part) > 1 and (s := stem(part)) not in _COMMON)


def _positions(sentence: str, names: frozenset[str], text: str | None) -> set[int]:
    found = {
        m.start()
        for m in re.finditer(r"[A-Za-z0-9α-ω]+(?:[.\-][A-Za-z0-9]+)*", sentence)
        if stem(m.group()) in names or any(stem(p) in names for p in m.group().split("-") if len(p) > 2)
    }
    for label in re.findall(
        r"\b(?:[Gg]roup|[Aa]rm|[Dd]rug|[Tt]reatment|[Cc]ompound)\s*-?\s*([A-Z0-9]{1,3})\b", text or ""
    ):
        pattern = (
            rf"\b(?:group|arm|drug|treatment|compound)s?\s*-?\s*{re.escape(label)}\b|"
            rf"\b{re.escape(label)}\s+(?:group|arm)\b"
        )
        found |= {m.start() for m in re.finditer(pattern, sentence, re.IGNORECASE)}
    if initials := _initials(text):
        found |= {m.start() for m in re.finditer(rf"\b(?:{'|'.join(map(re.escape, initials))})\b", sentence)}
    return found


def _initials(text: str | None) -> list[str]:
    """Possible short forms: of `low-molecular-weight heparin`, LMWH."""
    letters = "".join(
        w[0] for w in re.findall(r"[A-Za-z]+", text or "") if w.lower() not in {"of", "and", "with", "plus", "the"}
    )
    return [letters.upper()] if 2 < len(letters) < 7 else []
