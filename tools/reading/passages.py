"""Which sentences of a record can hold its results: not its background, its aim, its methods.

Without headings an abstract opens with what was known before; its own results begin after the sentence that says what
was asked or done.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from . import finding_words as say
from .sentences import sentences

_CONCLUSION = re.compile(
    r"^(?:ABSTRACT\.)?(?:(?:authors'? )?conclusions?(?: and [\w ]+)?|interpretation|discussion|"
    r"significance|implications?|summary)\s?[:.]+\s*|^(?-i:CONCLUSIONS?|INTERPRETATION|DISCUSSION)\s+(?=(?-i:[A-Z]))",
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
_HEADING = re.compile(r"^(?:ABSTRACT\.)?(?:[A-Z][A-Za-z&/ ]{3,40}\s?:|[A-Z]{6,}(?: [A-Z]{3,}){0,3} (?=[A-Z][a-z]))")
_NOT_RESULTS = re.compile(
    r"^(?:ABSTRACT\.)?(?:background|aims?|objectives?|purpose|introduction|methods?|design|setting|context|patients|"
    r"(?:patients|materials?|subjects|study design|design)[\w ,]{0,30}methods?|interventions?|rationale|"
    r"measurements?|participants|"
    r"main outcome measures?|outcome measures?|hypothesis|study (?:design|population))(?:[\w /&]{0,24})?\s?[:.]",
    re.IGNORECASE,
)
_NOT_RESULTS_CAPITAL = re.compile(
    r"^(?:BACKGROUND|AIMS?|OBJECTIVES?|PURPOSE|INTRODUCTION|METHODS?|DESIGN|SETTING|CONTEXT|PATIENTS|RATIONALE|"
    r"MATERIALS?|MAIN OUTCOME|OUTCOME|HYPOTHESIS|STUDY|RESEARCH DESIGN)\b"
)
_KNOWN = re.compile(
    r"\b(?:has|have) (?:been|not been|never been|recently been|long been) (?:\w+ )?(?:recommended|used|shown|reported|"
    r"proposed|suggested|found|demonstrated|established|implicated|advocated|associated|studied|investigated|"
    r"considered)|"
    r"\b(?:previous(?:ly)?|earlier|recent|prior|short-term|several|many|some|other|few|experimental|animal) "
    r"(?:\w+[ -]){0,3}(?:stud(?:y|ies)|trials?|reports?|work|data|evidence|investigations?)\b|"
    r"\b(?:it is|is|are|remains?) (?:\w+ )?(?:unknown|unclear|controversial|debated|not known|poorly understood)|"
    r"\blittle is known\b|\bpreviously (?:reported|shown|demonstrated|described)\b|"
    r"\b(?:is|are) (?:an? |the )?(?:\w+ly )?(?:common|frequent|widely|known|believed|thought|established|used|"
    r"major|leading)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:we|this (?:\w+ )?(?:study|trial|paper|report|analysis)|the (?:present|current) (?:\w+ )?(?:study|trial)|"
    r"the (?:aim|purpose|objective|goal)s?|in an? (?:\w+[ -]){0,6}(?:study|trial)|(?:were|"
    r"was) (?:\w+ )?(?:randomi[sz]ed|"
    r"randomly|studied|enrolled|compared|included|treated|evaluated|investigated|assigned|examined)|"
    r"randomi[sz]ed (?:to|into)|double-blind|our (?:aim|objective|purpose))\b",
    re.IGNORECASE,
)
_TITLE_VERB = re.compile(
    r"(?<!to )(?<!for )(?<!and )\b(?:reduces?|improves?|prevents?|increases?|decreases?|lowers?|"
    r"attenuates?|ameliorates?|alleviates?|slows?|delays?|inhibits?|improved|superior|is|are|does|do|did|fails?|has|"
    r"have|"
    r"protects?|promotes?|enhances?|worsens?|exacerbates?|relieves?|suppresses|greater|effective|stabili[sz]es|"
    r"beneficial|"
    r"insufficient|postponement)\b|^\W*(?:no (?:\w+ )?(?:effects?|benefits?|influence|evidence|advantage|difference)|"
    r"lack of|"
    r"failure of|absence of)\b",
    re.IGNORECASE,
)
TITLE_WEIGHT = 2.5  # a title that states a result states the main one
CONCLUSION_WEIGHT = 2.0
LAST_SENTENCES = 3  # an abstract without headings concludes in its last sentences
_OPENING_WORDS = 70  # characters: what is known stands at the head of its sentence
OPENING = 0.6  # share of an abstract in which its aim must stand for what precedes it to be background


class Passage(NamedTuple):
    """A sentence with the weight of the section it stands in."""

    text: str
    base: float


@lru_cache(maxsize=1024)
def passages(title: str, text: str) -> tuple[Passage, ...]:
    """Give the sentences that can hold results: the title if it states one, and all but background, aims, methods."""
    body = sentences(text)
    conclusions = (
        set(concluding_sentences(body)) if has_conclusion(body) else {s for s in body if _CONCLUDING.search(s)}
    )
    found = [Passage(title, TITLE_WEIGHT)] if _TITLE_VERB.search(title) and not title.rstrip().endswith("?") else []
    skipping, first = False, _first_of_its_own(body)
    for place, sentence in enumerate(body):
        if opens := _opens(sentence):
            skipping = opens == "other"
        if sentence in conclusions:
            found.append(Passage(sentence, CONCLUSION_WEIGHT))
        elif not skipping and place >= first:
            found.append(Passage(sentence, 1.0))
    return tuple(found)


def _opens(sentence: str) -> str | None:
    """Whether a sentence opens a section of results or another one; None where it opens none."""
    if _NOT_RESULTS.match(sentence) or _NOT_RESULTS_CAPITAL.match(sentence):
        return "other"
    return "results" if _HEADING.match(sentence) else None


def _first_of_its_own(body: Sequence[str]) -> int:
    """The place of the first sentence that is not background, in an abstract without headings."""
    if any(_opens(sentence) for sentence in body):
        return 0
    opening = body[: int(len(body) * OPENING) + 1]
    asked = next((i for i, s in enumerate(opening) if say.PLAN.search(s) or _ASKED.search(s)), None)
    return asked or 0


def bare(sentence: str) -> str:
    """A sentence without the heading of its section."""
    without = _CONCLUSION.sub("", sentence)
    return _HEADING.sub("", without) if without == sentence else without


def is_background(sentence: str) -> bool:
    """Whether a sentence tells what was known before the study."""
    known = _KNOWN.search(sentence)
    return (
        known is not None
        and known.start() < _OPENING_WORDS
        and not _CONCLUDING.search(sentence)
        and not say.MEASURED.search(sentence)
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
