"""Whether a record as a whole supports a drug for a condition: the sentence in which it says so."""

import re
from collections.abc import Sequence
from functools import lru_cache

from . import finding_words as say
from .arms import Mine, mine_in, name_pattern
from .clause import Finding
from .direction import Direction, DirectionFinding
from .findings import findings_in
from .passages import bare, is_background, passages
from .purpose import purpose_of
from .roles import given_to_all, stands_by
from .sentences import sentences
from .topic import names_condition, topic_in

_STOPPING = re.compile(
    r"\b(?:withdrawal|discontinuation|stopping|interruption|cessation|discontinuing|withdrawing) of\b|"
    r"\b(?:after|following|upon) (?:\w+ )?(?:withdrawal|discontinuation|cessation)\b|\bonce (?:it is )?stopped\b|"
    r"\brebound\b",
    re.IGNORECASE,
)
_STOPPED = re.compile(r"\btapered off\b|\bformer(?:ly)? \w+[ -](?:users|treated)\b|\bafter withdrawal\b", re.IGNORECASE)
_LEADING = 1.5  # how much the one side must outweigh the other for a verdict
_ENOUGH_FOR = 0.25  # weight from which findings for a drug are a verdict
_ENOUGH_AGAINST = 1.0  # a plain result that names the drug; a lone side issue says nothing against
_LEADING_AGAINST = 2.0  # a verdict against takes more: it tells a reader to look no further


def conclusion_of(
    title: str, text: str, drug: str, condition: str, synonyms: Sequence[str] = (), *, intent: str = "unknown"
) -> DirectionFinding:
    """Tell whether a record supports a drug for a condition, with the sentence that says so.

    Every sentence is read for findings on the drug. Findings in the title and the conclusion weigh more, those on
    secondary outcomes less; the side that leads clearly is the verdict.

    Args:
        title: the record's title.
        text: its abstract, with or without headings.
        drug: the drug asked about.
        condition: the condition asked about.
        synonyms: other names of the drug.
        intent: what the drug is wanted for: `prevention` leaves out records that only treat an attack or event, or that
            do not say which; anything else takes all.

    >>> text = "Methods: 40 adults took A or placebo. Conclusion: Drug A did not prevent migraine."
    >>> conclusion_of("Drug A in migraine", text, "drug A", "migraine").direction
    <Direction.contradicts: 'contradicts'>
    """
    return _conclusion_of(title, text, (drug, *synonyms), condition, intent)


@lru_cache(maxsize=4096)
def _conclusion_of(title: str, text: str, names: tuple[str, ...], condition: str, intent: str) -> DirectionFinding:
    whole = f"{title}. {text}"
    if not name_pattern(names).search(whole):
        return _unclear(f"the record does not name {names[0]}", title)
    if not names_condition(whole, condition):
        return _unclear(f"the record does not name {condition}", title)
    if scope := _out_of_scope(title, text, condition):
        return _stated(Direction.neutral, "beside the question", scope, None)
    mine = mine_in(title, text, names)
    if stands_by(whole, mine.pattern) or stands_by(title, mine.pattern):
        return _stated(Direction.neutral, "named as background, rescue or cause alone", title, None)
    if given_to_all(whole, mine.pattern, has_inert=mine.has_inert, others=mine.others):
        return _stated(Direction.neutral, "given in every arm", title, None)
    if intent == "prevention" and (purpose := purpose_of(title, text, mine.pattern)) != "prevention":
        said = "treats what is there" if purpose == "relief" else "is not said to prevent"
        return _stated(Direction.neutral, f"the drug {said}", title, None)
    read, topic = passages(title, text), topic_in(whole, condition)
    told = [
        (finding._replace(weight=finding.weight * passage.base), passage.text)
        for passage, before in zip(read, ("", *(p.text for p in read)), strict=False)
        if not is_background(passage.text)
        for finding in findings_in(bare(passage.text), mine, topic, before)
    ]
    return _verdict(told, mine, title, text)


Told = tuple[Finding, str]


def _verdict(told: list[Told], mine: Mine, title: str, text: str) -> DirectionFinding:
    """Weigh the findings for and against."""
    is_review = _is_review(title, text)
    sure = [t for t in told if not is_review or (t[0].named and not t[0].hedged)]
    weights = {side: sum(f.weight for f, _ in sure if f.direction is side) for side in Direction}
    for_it, against = weights[Direction.supports], weights[Direction.contradicts]
    called = {f.direction for f, _ in sure if f.named}
    if Direction.supports in called and for_it >= _ENOUGH_FOR and for_it >= _LEADING * against:
        return _best(sure, Direction.supports, mine)
    if against > for_it and (_STOPPING.search(title) or _STOPPED.search(text)):
        return _stated(Direction.neutral, "tests what happens when it is stopped", title, None)
    if Direction.contradicts in called and against >= _ENOUGH_AGAINST and against >= _LEADING_AGAINST * for_it:
        return _best(sure, Direction.contradicts, mine)
    if told:
        finding, sentence = max(told, key=lambda t: t[0].weight)
        mixed = for_it > 0 and against > 0
        reason = "mixed" if mixed else "only guarded" if finding.hedged else "not enough either way"
        return _stated(Direction.neutral, f"{reason}: {finding.reason}", sentence, finding)
    return _unclear("no sentence states a result for the drug", title)


@lru_cache(maxsize=1024)
def _is_review(title: str, text: str) -> bool:
    """Whether a record surveys others' studies: there a guarded word or a nameless sentence is no verdict."""
    if say.REVIEW.search(title) or say.REVIEW.search(text[:160]):
        return True
    return bool(say.SURVEYS.search(text)) and not say.ENROLS.search(text)


def _best(told: list[Told], side: Direction, mine: Mine) -> DirectionFinding:
    """The finding that carries a verdict best: named with the drug, then by weight."""
    finding, sentence = max(
        (t for t in told if t[0].direction is side), key=lambda t: (bool(mine.pattern.search(t[1])), t[0].weight)
    )
    all_hedged = all(f.hedged for f, _ in told if f.direction is side)
    stated = _stated(side, finding.reason, sentence, finding._replace(hedged=all_hedged))
    return stated.model_copy(update={"against_nothing": mine.has_inert})


def _stated(direction: Direction, reason: str, sentence: str, finding: Finding | None) -> DirectionFinding:
    return DirectionFinding(
        direction=direction,
        effect=finding.effect if finding else None,
        reason=reason,
        sentence=sentence,
        hedged=bool(finding and finding.hedged),
    )


@lru_cache(maxsize=1024)
def _out_of_scope(title: str, text: str, condition: str) -> str | None:
    """The sentence in which a record says that it answers another question."""
    other = re.compile(rf"\b(?:rather than|outside|not) (?:human )?{re.escape(condition)}\b", re.IGNORECASE)
    whole = f"{title}\n{text}"
    if not (say.OUT_OF_SCOPE.search(whole) or other.search(whole)):
        return None
    return next((s for s in (title, *sentences(text)) if say.OUT_OF_SCOPE.search(s) or other.search(s)), None)


def _unclear(reason: str, sentence: str) -> DirectionFinding:
    return DirectionFinding(direction=Direction.unclear, reason=reason, sentence=sentence)
