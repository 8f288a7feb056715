"""Whether a record as a whole supports a drug for a condition: the sentence in which it says so."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from . import finding_words as say
from .arms import Mine, mine_in, name_pattern
from .direction import Direction, DirectionFinding
from .findings import Finding, findings_in
from .sentences import sentences, stems

_CONCLUSION = re.compile(
    r"^(?:ABSTRACT\.)?(?:(?:authors'? )?conclusions?(?: and [\w ]+)?|interpretation|discussion|"
    r"significance|implications?|summary)\s?[:.]+\s*",
    re.IGNORECASE,
)
_CONCLUDING = re.compile(
    r"\b(?:in conclusion|we conclude|conclud\w+|in summary|to summari[sz]e|these (?:results|findings|"
    r"data)|our (?:results|findings|data)|this (?:study|trial|analysis) (?:shows?|showed|demonstrat\w+|"
    r"suggests?|provides?|confirms?|supports?)|"
    r"(?:results|findings|data) (?:suggest|indicate|show|demonstrate|support|confirm)|taken together|"
    r"overall|thus|therefore)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^(?:ABSTRACT\.)?[A-Z][A-Za-z&/ ]{3,40}\s?:")
_COMMON = frozenset(
    {"diseas", "disord", "syndrom", "chronic", "acut", "type", "prevent", "primari", "secondari", "sever"}
)
_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("nephropath", "kidney", "renal", "nephrit", "glomerul", "albuminuri", "proteinuri"),
    ("portal hypertension", "portal pressure", "varic", "cirrho", "hepatic venous pressure"),
    ("migraine", "headache"),
    ("smoking", "nicotine", "tobacco", "cigarette"),
    ("hypertension", "blood pressure", "antihypertensive"),
    ("diabet", "glyc", "insulin resistance"),
    ("alzheimer", "dementia", "cognitive"),
    ("depress", "mood"),
    ("cancer", "tumor", "tumour", "carcinoma", "neoplas", "leukemia", "lymphoma", "sarcoma", "melanoma"),
    ("steatohepatitis", "fatty liver", "nash", "nafld", "steatosis"),
    ("heart failure", "cardiomyopath", "ejection fraction"),
    ("epilep", "seizure"),
    ("arthritis", "joint inflammation"),
    ("covid", "sars-cov-2", "post-acute sequelae"),
    ("fibrosis", "fibrotic"),
    ("obes", "body weight", "weight loss"),
)
"""Words by which the same condition goes, after the entry terms and neighbours of its MeSH descriptor."""
_TITLE_WEIGHT = 2.5  # a title that states a result states the main one
_CONCLUSION_WEIGHT = 2.0
_LEADING = 1.5  # how much the one side must outweigh the other for a verdict
_ENOUGH_FOR = 0.25  # weight from which findings for a drug are a verdict
_ENOUGH_AGAINST = 0.6  # a lone side issue without a difference says nothing against
LAST_SENTENCES = 3  # an abstract without headings concludes in its last sentences
_TITLE_VERB = re.compile(
    r"(?<!to )(?<!for )(?<!and )\b(?:reduces?|improves?|prevents?|increases?|decreases?|lowers?|"
    r"attenuates?|ameliorates?|alleviates?|slows?|delays?|inhibits?|is|are|does|do|did|fails?|has|have|"
    r"protects?|promotes?|enhances?|worsens?|exacerbates?|relieves?|suppresses|greater|effective|stabili[sz]es|"
    r"beneficial|"
    r"insufficient|postponement)\b",
    re.IGNORECASE,
)
_NOT_RESULTS = re.compile(
    r"^(?:ABSTRACT\.)?(?:background|aims?|objectives?|purpose|introduction|methods?|design|setting|context|patients|"
    r"(?:patients|materials?|subjects|study design|design)[\w ,]{0,30}methods?|interventions?|rationale|"
    r"measurements?|participants|"
    r"main outcome measures?|outcome measures?|hypothesis|study (?:design|population))(?:[\w /&]{0,24})?\s?[:.]",
    re.IGNORECASE,
)


class _Sentence(NamedTuple):
    text: str
    base: float
    """Weight of the section it stands in."""


def conclusion_of(title: str, text: str, drug: str, condition: str, synonyms: Sequence[str] = ()) -> DirectionFinding:
    """Tell whether a record supports a drug for a condition, with the sentence that says so.

    Every sentence is read for findings on the drug. Findings in the title and the conclusion weigh more, those on
    secondary outcomes less; the side that leads clearly is the verdict.

    Args:
        title: the record's title.
        text: its abstract, with or without headings.
        drug: the drug asked about.
        condition: the condition asked about.
        synonyms: other names of the drug.

    >>> text = "Methods: 40 adults took A or placebo. Conclusion: Drug A did not prevent migraine."
    >>> conclusion_of("Drug A in migraine", text, "drug A", "migraine").direction
    <Direction.contradicts: 'contradicts'>
    """
    return _conclusion_of(title, text, (drug, *synonyms), condition)


@lru_cache(maxsize=4096)
def _conclusion_of(title: str, text: str, names: tuple[str, ...], condition: str) -> DirectionFinding:
    whole = f"{title}. {text}"
    if not name_pattern(names).search(whole):
        return _unclear(f"the record does not name {names[0]}", title)
    if not names_condition(whole, condition):
        return _unclear(f"the record does not name {condition}", title)
    if scope := _out_of_scope(title, text, condition):
        return _stated(Direction.neutral, "beside the question", scope, None)
    mine = mine_in(title, text, names)
    read = _sentences(title, text)
    told = [
        (finding._replace(weight=finding.weight * sentence.base), sentence.text)
        for sentence, before in zip(read, ("", *(s.text for s in read)), strict=False)
        for finding in findings_in(_bare(sentence.text), mine, condition, before)
    ]
    return _verdict(told, mine, title, text)


Told = tuple[Finding, str]


def _verdict(told: list[Told], mine: Mine, title: str, text: str) -> DirectionFinding:
    """Weigh the findings for and against."""
    is_review = bool(say.REVIEW.search(title) or say.REVIEW.search(text[:160]))
    sure = [t for t in told if not is_review or (t[0].named and not t[0].hedged)]
    weights = {side: sum(f.weight for f, _ in sure if f.direction is side) for side in Direction}
    for_it, against = weights[Direction.supports], weights[Direction.contradicts]
    if for_it >= _ENOUGH_FOR and for_it >= _LEADING * against:
        return _best(sure, Direction.supports, mine)
    if against >= _ENOUGH_AGAINST and against >= _LEADING * for_it:
        return _best(sure, Direction.contradicts, mine)
    if told:
        finding, sentence = max(told, key=lambda t: t[0].weight)
        mixed = for_it > 0 and against > 0
        reason = "mixed" if mixed else "only guarded" if finding.hedged else "not enough either way"
        return _stated(Direction.neutral, f"{reason}: {finding.reason}", sentence, finding)
    return _unclear("no sentence states a result for the drug", title)


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


@lru_cache(maxsize=1024)
def _sentences(title: str, text: str) -> tuple[_Sentence, ...]:
    """The sentences that can hold results: the title if it states one, and all but aims and methods."""
    body = sentences(text)
    conclusions = (
        set(concluding_sentences(body)) if has_conclusion(body) else {s for s in body if _CONCLUDING.search(s)}
    )
    found = [_Sentence(title, _TITLE_WEIGHT)] if _TITLE_VERB.search(title) and not title.rstrip().endswith("?") else []
    skipping = False
    for sentence in body:
        if _HEADING.match(sentence) or _NOT_RESULTS.match(sentence):
            skipping = bool(_NOT_RESULTS.match(sentence))
        if sentence in conclusions:
            found.append(_Sentence(sentence, _CONCLUSION_WEIGHT))
        elif not skipping:
            found.append(_Sentence(sentence, 1.0))
    return tuple(found)


def _bare(sentence: str) -> str:
    bare = _CONCLUSION.sub("", sentence)
    return _HEADING.sub("", bare) if bare == sentence else bare


@lru_cache(maxsize=4096)
def names_condition(text: str, condition: str) -> bool:
    """Whether a text names a condition, by a word of its name or a sign or organ it is known by."""
    wanted = stems(condition) - _COMMON
    read = stems(text)
    if wanted & read:
        return True
    words = text.lower()
    return any(
        any(name in condition.lower() for name in family) and any(name in words for name in family)
        for family in _FAMILIES
    )


def has_conclusion(body: Sequence[str]) -> bool:
    """Whether one of the sentences opens a section of conclusions."""
    return any(_CONCLUSION.match(sentence) for sentence in body)


def concluding_sentences(body: Sequence[str]) -> list[str]:
    """The sentences from the heading of the conclusion on, else the last ones, those that say they conclude first."""
    openings = [i for i, sentence in enumerate(body) if _CONCLUSION.match(sentence)]
    if openings:
        first = next((i for i in openings if "onclusion" in body[i][:40].lower()), openings[-1])
        end = next((j for j in range(first + 1, len(body)) if _HEADING.match(body[j])), len(body))
        return list(body[first:end])
    last = list(body[-LAST_SENTENCES:])
    marked = [s for s in last if _CONCLUDING.search(s)]
    return marked + [s for s in reversed(last) if s not in marked]


def _unclear(reason: str, sentence: str) -> DirectionFinding:
    return DirectionFinding(direction=Direction.unclear, reason=reason, sentence=sentence)
