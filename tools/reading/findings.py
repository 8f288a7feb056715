"""What each clause of a record says of a drug: a finding for it, against it, or one that leaves it open.

A sentence is cut into clauses. In each, a change (fell, fewer, improved), a judgement (effective, inferior) or a null
(did not differ) is tied to an outcome whose better side is known and to the arm it speaks of. Outcome, subject and
verb carry over to the next clause where that names none.
"""

import re
from collections.abc import Iterator

from . import finding_words as say
from .arms import Arm, Mine, arms_in
from .clause import Carried, Clause, Finding
from .cutting import clauses_of, marked
from .direction import Direction
from .polarity import higher_is_better
from .results import result_of
from .topic import Topic

_PRONOUN = re.compile(r"\b(?:raised|lowered|reduced|increased|decreased|changed?) it\b", re.IGNORECASE)
_SUBJECT = re.compile(
    r"\W*(?:and |but |so )?(?:the |mean |median |an? )*(?!(?:it|they|this|these|those|both|all|neither|none|each|"
    r"there|which|"
    r"differences?|effects?|values?|rates?|levels?|changes?|scores?|falls?|reductions?|frequency|number|that|mean)\b)"
    r"([a-z][a-z-]{3,}(?: [a-z-]+){0,2}) (?:was|were|is|are|became)\b",
    re.IGNORECASE,
)
"""A clause's own subject, no pronoun: what was said of the clause before does not carry over to it."""
_IT = re.compile(
    r"\W*(?:it|this (?:drug|agent|compound|treatment|substance)|the (?:drug|agent|compound))\b", re.IGNORECASE
)
_SOME_OUTCOME = re.compile(
    r"\b(?:primary|secondary|outcomes?|end-?points?|worsen\w*|developing|having|it|this)\b", re.IGNORECASE
)
_RISK_OF = re.compile(r"\brisks?\b (?:of|for) (?P<what>[^,;]{3,50})", re.IGNORECASE)
_JUDGED = re.compile(r"\b(?:effective|efficacy|efficacious|ineffective|effectiveness|recommended)\b", re.IGNORECASE)
_NEITHER = re.compile(r"\bneither\b", re.IGNORECASE)
_OPEN_STUDY = re.compile(r"\bopen(?:-label)? (?:trial|study|data)")
_CONTROLLED = re.compile(r"\bcontrolled (?:trial|one|stud)")
_ONE_DOSE = re.compile(r"\bthe [\d.]+ mg dose\b", re.IGNORECASE)
_NOT_RESERVE = re.compile(r"albumin|protein|bleed|hvpg|gradient", re.IGNORECASE)
_SHORTEST = 6  # characters: anything less states nothing


def findings_in(sentence: str, mine: Mine, topic: Topic, before: str = "") -> Iterator[Finding]:
    """Read the findings of a sentence on the drug, clause by clause.

    Args:
        sentence: one sentence, without the heading of its section.
        mine: the drug asked about, as the record names it.
        topic: the condition asked about, as the record names it.
        before: the sentence before it, of which `it` may speak.
    """
    text = marked(sentence)
    if sentence.rstrip().endswith("?") or (say.PLAN.search(text) and not say.MEASURED.search(text)):
        return
    carried = Carried(ours=True if _IT.match(text) and _is_on_ours(before, mine) else None)
    if _PRONOUN.search(text) and (outcome := say.OUTCOME.search(before)):
        carried = carried._replace(better=bool(outcome["good"]))
    confounded = say.CONFOUNDED.search(text) is not None
    for clause in clauses_of(text):
        if not clause or len(clause) < _SHORTEST:
            continue
        finding, carried = _read(clause.strip(), mine, topic, carried)
        if finding:
            yield finding._replace(direction=Direction.neutral) if confounded else finding


def _is_on_ours(sentence: str, mine: Mine) -> bool:
    """Whether a sentence speaks of the drug and of no other treatment."""
    return {arm.side for arm in arms_in(sentence, mine)} - {"inert"} == {"ours"}


def _read(text: str, mine: Mine, topic: Topic, carried: Carried) -> tuple[Finding | None, Carried]:
    better, is_beside = _outcome(text, topic)
    if is_beside:
        return None, carried._replace(better=None, stable=False)
    arms = arms_in(text, mine)
    carried = _with_outcome(text, better, arms, carried)
    reference = say.REFERENCE.search(text)
    subjects = {arm.side for arm in arms if not reference or arm.start < reference.start()}
    if subjects:
        carried = carried._replace(ours=bool(subjects & {"ours", "all"}))
    if say.ASSOCIATION.search(text) or (say.METHOD.search(text) and not say.RESULT.search(text)):
        return None, carried
    clause = Clause(text, arms, mine, carried, _weight(text, {arm.side for arm in arms}, carried.ours))
    finding, carried = result_of(clause)
    if finding is None:
        return None, carried
    hedged = finding.hedged or clause.has(say.HEDGE)
    return finding._replace(hedged=hedged, named=finding.named or _names_ours(clause)), carried


def _with_outcome(text: str, better: bool | None, arms: list[Arm], carried: Carried) -> Carried:
    """Hand on the outcome last named, unless the clause has another one or a subject of its own."""
    if better is not None:
        reserve = say.RESERVE.search(text) is not None and not _NOT_RESERVE.search(text)
        return carried._replace(better=better, reserve=reserve)
    if (subject := _SUBJECT.match(text)) and not any(arm.start < subject.end() for arm in arms):
        return carried._replace(better=higher_is_better(subject[1]))
    return carried


def _names_ours(clause: Clause) -> bool:
    """Whether a clause names the drug, or the record leaves no doubt that it is meant."""
    if clause.mine.is_main or "ours" in clause.sides or ("all" in clause.sides and clause.mine.is_subject):
        return True
    return not clause.arms and bool(clause.carried.ours)


def _weight(text: str, sides: set[str], ours: bool | None) -> float:
    weight = 1.0 if "ours" in sides or (ours and _NEITHER.search(text)) else 0.7
    weight *= 1.5 if "inert" in sides else 1.0
    weight *= 1.3 if "§+" in text else 1.0
    weight *= 0.5 if _OPEN_STUDY.search(text) else 1.5 if _CONTROLLED.search(text) else 1.0
    weight *= 0.5 if _ONE_DOSE.search(text) else 1.0
    weight *= 0.4 if say.MINOR.search(text) else 1.0
    return weight * (2.0 if say.PRIMARY.search(text) else 1.0)


def _outcome(text: str, topic: Topic) -> tuple[bool | None, bool]:
    """Whether more of the clause's outcome is good, and whether the clause is beside the question."""
    outcome, own, beside = say.OUTCOME.search(text), topic.names_outcome(text), _beside(text, topic)
    if beside and topic.takes_pressure and beside.group().lower().startswith("pressure"):
        return False, False
    if beside and not _JUDGED.search(text) and (not outcome or beside.start() <= outcome.start()):
        return None, True
    if outcome and not own and (risk := _RISK_OF.match(text, outcome.start())) and not _is_outcome(risk["what"]):
        return None, True
    if outcome:
        return bool(outcome["good"]), False
    return (False if own else None), False


def _beside(text: str, topic: Topic) -> re.Match[str] | None:
    """Where a clause names safety, or an outcome that is not asked about."""
    patterns = (say.SAFETY,) if topic.takes_beside else (say.SAFETY, say.BESIDE)
    found = (m for pattern in patterns for m in pattern.finditer(text) if not topic.pattern.match(m.group()))
    return next(found, None)


def _is_outcome(words: str) -> bool:
    return bool(say.OUTCOME.search(words) or _SOME_OUTCOME.search(words))
