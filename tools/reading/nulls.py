"""What it means for the drug that a difference or change was not found.

Against placebo or no treatment it speaks against the drug; against another treatment it leaves the matter open. Between
doses of the same drug it says nothing.
"""

import re

from . import finding_words as say
from .clause import Carried, Clause, Finding
from .effect import Effect

_NO_BETTER = re.compile(r"no(?:t \w+)? (?:better|more effective|superior)|not (?:better|superior)", re.IGNORECASE)
_FEW = re.compile(r"\b\d+(?:\.\d+)?\s*(?:%|percent) (?:did|were|had) (?:not|no)\b", re.IGNORECASE)
_COMBINED = re.compile(r"\b(?:combin\w+|adding|added|addition(?:al)?|together|together with)\b", re.IGNORECASE)
_ADDING = re.compile(r"\b(?:adding|addition of)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)
_SAMENESS = re.compile(
    r"similar|identical|same|alike|equal|comparable|indistinguishable|differ|separate", re.IGNORECASE
)
_DOSES = re.compile(
    r"\b(?:among|between|of) (?:the )?(?:\w+ ){0,2}(?:doses|dosages|dose (?:levels|groups|regimens)|dosing)|"
    r"\b(?:between|among)\b[^,;]{0,30}\d+[- ]?(?:m|mc|micro)?g\w*\b[^,;]{0,30} and\b",
    re.IGNORECASE,
)
_ALIKE = re.compile(r"\b(?:similar|equal|comparable|identical) to\b", re.IGNORECASE)
_HARM = re.compile(r".{0,45}\b(?:worse|inferior|rise|increase|adverse|harm)", re.IGNORECASE)
_GROUPS = re.compile(r"\b(?:between|among|groups|arms)\b")
_NEITHER = re.compile(r"\bneither\b", re.IGNORECASE)
_RESERVE_WEIGHT = 0.2  # no change in an outcome that need only stay stable says little against
_RESERVE_AGAINST_NOTHING = 0.4  # somewhat more where the drug was set against nothing for it
_NAMELESS_WEIGHT = 0.4  # what did not change is not said
_UNNAMED_WEIGHT = 0.8  # the drug is meant, not named


def null_in(clause: Clause, null: re.Match[str]) -> tuple[Finding | None, Carried]:
    """Read a null: against the drug if it compares with nothing, else neither.

    Args:
        clause: the clause that holds it.
        null: the words that say so, or a change that is denied.
    """
    carried = clause.carried
    if say.STABLE.search(null.group()) and "ours" in clause.sides:
        carried = carried._replace(stable=carried.better is False)
    return (None if _says_nothing(clause, null) else _read(clause, null)), carried


def is_verdict(null: re.Match[str], clause: Clause) -> bool:
    """Whether a null speaks for its whole clause, whatever change stands before it."""
    if _NO_BETTER.match(null.group()):
        return True
    return "inert" in clause.sides and re.search(r"differ|significan", null.group()) is not None


def _says_nothing(clause: Clause, null: re.Match[str]) -> bool:
    """Whether a null is of something else: no harm, no difference between doses, none on placebo alone."""
    if _HARM.match(clause.text, null.start()) and clause.carried.better is False:
        return True
    if not clause.speaks_of_ours() or clause.has(_FEW) or _DOSES.search(clause.text, null.start()):
        return True
    return "inert" in clause.sides and "ours" not in clause.sides and not clause.has(say.REFERENCE)


def _read(clause: Clause, null: re.Match[str]) -> Finding:
    said, sides, mine = null.group(), clause.sides, clause.mine
    named = "ours" in sides
    added = _is_added(clause) and not ("other" in sides and _SAMENESS.search(said))
    if _compares_with_itself(clause):
        return clause.leaves_open(f"two forms of it: {said}", Effect.no_difference)
    if named and "other" in sides and _is_reference(clause):
        return clause.leaves_open(f"another treatment: {said}", Effect.no_difference)
    if clause.has(_COMBINED) and _speaks_of_a_combination(clause) and not added:
        return clause.leaves_open(f"of a combination: {said}")
    against = clause.contradicts(said, _share(clause, said))
    alone = named and mine.is_added and "other" not in sides and not _SAMENESS.search(said)
    if "inert" in sides or (named and added) or alone:
        return against
    less = against._replace(weight=against.weight * _UNNAMED_WEIGHT)
    if clause.has(say.REFERENCE) or clause.has(_GROUPS) or _SAMENESS.search(said):
        if mine.has_inert and mine.is_main and not named and "other" not in sides:
            return less
    elif named or ("all" in sides and clause.has(_NEITHER)):
        return against
    elif mine.is_only_drug or clause.carried.ours:
        return less
    return clause.leaves_open(f"no difference from another treatment: {said}", Effect.no_difference)


def _is_added(clause: Clause) -> bool:
    """Whether the clause speaks of adding the drug to something."""
    return any(arm.side == "ours" and _ADDING.search(clause.text[: arm.start]) for arm in clause.arms)


def _compares_with_itself(clause: Clause) -> bool:
    """Whether the drug stands on both sides of a comparison: two forms or doses of it."""
    places = [arm.start for arm in clause.arms if arm.side == "ours"]
    reference = say.REFERENCE.search(clause.text) or _ALIKE.search(clause.text)
    return bool(reference and places and clause.sides == {"ours"} and places[0] < reference.start() < places[-1])


def _is_reference(clause: Clause) -> bool:
    """Whether the drug is named only as what another treatment is compared with."""
    reference = say.REFERENCE.search(clause.text)
    return reference is not None and all(a.start >= reference.start() for a in clause.arms if a.side == "ours")


def _speaks_of_a_combination(clause: Clause) -> bool:
    if {"ours", "other"} <= clause.sides:
        return True
    return "ours" in clause.sides and bool(clause.mine.aliases) and not clause.has(clause.mine.pattern)


def _share(clause: Clause, said: str) -> float:
    """How much a null weighs: little where stability is all one hopes for, or where its outcome is not named."""
    share = 1.0
    if clause.carried.reserve:
        share = _RESERVE_AGAINST_NOTHING if "inert" in clause.sides else _RESERVE_WEIGHT
    is_judgement = _NO_BETTER.match(said) or say.BETTER.search(said)
    return share * (_NAMELESS_WEIGHT if clause.carried.better is None and not is_judgement else 1.0)
