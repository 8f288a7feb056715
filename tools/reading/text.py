"""A record cut once into what every reader needs: tokens with their places, sentences, and what each sentence is for.

Sentence roles follow the parts of structured abstracts (aim, background, method, result, conclusion) as the National
Library of Medicine labels them (https://www.nlm.nih.gov/bsd/policy/structured_abstracts.html). A heading decides where
there is one.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:  # a run begins without the weights and their numpy
    from .heads import Head

SentenceRole = Literal["title", "aim", "background", "method", "result", "conclusion"]

_TOKEN = re.compile(r"[a-z]+(?:[-'][a-z]+)*|\d+(?:[.,]\d+)*|[%<>=±≤≥]|[;:.,()]")
_MARKS = {
    **dict.fromkeys(map(ord, "\u00a0\u2009\u200a\u202f\u2002\u2003\u2005\u2006"), " "),
    **dict.fromkeys(map(ord, "\u2212\u2013\u2014\u2010\u2011"), "-"),
    0x00B7: ".",
    0x2018: "'",
    0x2019: "'",
}
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9<≥≤])|\n+")
_ABBREVIATED = re.compile(
    r"(?:\b(?:vs|e\.g|i\.e|al|approx|ca|cf|figs?|no|dr|st|resp|refs?|vol|spp?|subsp|inc)\.|\b[A-Z]\.|(?:^|\s)\d+\.)$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"\s*(?P<name>[A-Z][A-Za-z /&,-]{2,48}?)\s*:\s")
_HEADINGS: tuple[tuple[SentenceRole, str], ...] = (
    ("aim", r"aims?|objectives?|purpose|goals?|hypothesis|question"),
    ("conclusion", r"conclusions?|interpretation|significance|implications?|discussion|expert opinion|summary|comment"),
    ("result", r"results?|findings?|main results|observations?|data synthesis|outcomes?"),
    ("background", r"background|introduction|context|rationale|importance|unlabelled"),
    (
        "method",
        r"methods?|methodology|design|setting|settings|patients|participants|subjects|interventions?|materials?|"
        r"procedures?|measurements?|main outcome measures?|study selection|data sources?|data extraction|"
        r"trial registration|search strategy|animals|statistical analysis|areas covered",
    ),
)
_ROLE_OF = tuple((role, re.compile(rf"(?:[a-z/]+ ){{0,3}}?(?:{names})\b", re.IGNORECASE)) for role, names in _HEADINGS)


def plain(text: str) -> str:
    """Write dashes, thin spaces, raised dots and quotes in one way; the length stays the same."""
    return text.translate(_MARKS)


class Token(NamedTuple):
    """A word, number or sign, in lower case, with its character offsets."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a record: character offsets, its tokens, the heading it stands under."""

    start: int
    end: int
    first: int
    """Index of its first token."""
    last: int
    """Index after its last token."""
    headed: SentenceRole | None
    """What the heading above says it is for; None where no heading says."""


class Text:
    """A record's title and text as one string, cut once.

    Attributes:
        whole: the title, a full stop, a space, the text.
        offset: where the text begins in `whole`.
    """

    def __init__(self, title: str, text: str) -> None:
        title = title.strip()
        self.head = f"{title}{'' if title[-1:] in '.?!' else '.'} " if title else ""
        self.offset = len(self.head)
        self.whole = self.head + text
        self._plain = plain(self.whole)

    @cached_property
    def tokens(self) -> list[Token]:
        """All tokens in order."""
        lowered = self._plain.lower()
        if len(lowered) != len(self._plain):  # a few capitals grow when lowered; their places must not move
            lowered = "".join(low if len(low := char.lower()) == 1 else char for char in self._plain)
        return [Token(found.group(), *found.span()) for found in _TOKEN.finditer(lowered)]

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The sentences in order; the title is the first where there is one."""
        spans = [(0, len(self.head.rstrip()))] if self.head else []
        spans += sentence_spans(self._plain, self.offset)
        found: list[Sentence] = []
        at, headed = 0, None
        begins = [token.start for token in self.tokens]
        for start, end in spans:
            first, at = at, bisect_left(begins, end, at)
            if start >= self.offset:
                headed = _role_of(self._plain, start) or headed
            found.append(Sentence(start, end, first, at, headed if start >= self.offset else "title"))
        return found

    def quote(self, start: int, end: int) -> str:
        """The words between two offsets, as the record has them."""
        return self.whole[start:end]


def sentence_spans(text: str, start: int = 0) -> list[tuple[int, int]]:
    """Character offsets of each sentence of a text from `start` on, abbreviations and decimals whole.

    >>> text = "Drug A vs. placebo gave P = .03. No deaths occurred."
    >>> [text[a:b] for a, b in sentence_spans(text)]
    ['Drug A vs. placebo gave P = .03.', 'No deaths occurred.']
    """
    found: list[tuple[int, int]] = []
    for end in _END.finditer(text, start):
        if _ABBREVIATED.search(text, max(start, end.start() - 8), end.start()):
            continue
        if text[start : end.start()].strip():
            found.append((start, end.start()))
        start = end.end()
    if text[start:].strip():
        found.append((start, len(text.rstrip())))
    return found


def sentences(text: str) -> list[str]:
    """The sentences of a text, marks and white space written in one way.

    >>> sentences("Drug A vs. placebo gave P = .03.  No deaths occurred.")
    ['Drug A vs. placebo gave P = .03.', 'No deaths occurred.']
    """
    written = plain(text)
    return [" ".join(written[start:end].split()) for start, end in sentence_spans(written)]


def _role_of(text: str, start: int) -> SentenceRole | None:
    """What a heading at an offset says that follows; None where there is no heading that is known."""
    heading = _HEADING.match(text, start)
    if heading is None:
        return None
    name = heading["name"]
    return next((role for role, words in _ROLE_OF if words.fullmatch(name)), None)


def has_headings(sentences: Sequence[Sentence]) -> bool:
    """Whether a record labels its own parts: three or more of them."""
    return len({sentence.headed for sentence in sentences} - {None, "title"}) >= 3


ZONES: dict[SentenceRole, str] = {
    "title": "T", "aim": "A", "background": "B", "method": "M", "result": "R", "conclusion": "C",
}  # fmt: skip


def zone_features(words: Sequence[str], order: int, count: int) -> list[str]:
    """The features of a sentence: its words and pairs of words, how it begins, where it stands among `count`.

    Each once and always in the same order, in which a head sums their weights.
    """
    found = [*words, *(f"{first} {second}" for first, second in pairwise(words))]
    found += ["^" + " ".join(words[:2]), f"#at{6 * order // count}"]
    if order == count - 1:
        found.append("#last")
    if order <= 1:
        found.append("#first")
    if len(words) < 8:
        found.append("#short")
    return list(dict.fromkeys(found))


def zones_of(text: Text, words: Sequence[str], head: "Head") -> list[str]:
    """A letter for each sentence: T, A, B, M, R or C."""
    sentences = text.sentences
    headed = has_headings(sentences)
    found = [ZONES[each.headed] if each.headed and (headed or each.headed == "title") else "" for each in sentences]
    open_ones = [order for order, zone in enumerate(found) if not zone]
    cut = ([word for word in words[each.first : each.last] if word] for each in map(sentences.__getitem__, open_ones))
    cases = (zone_features(own, order, len(sentences)) for own, order in zip(cut, open_ones, strict=True))
    for order, zone in zip(open_ones, head.best_of(cases), strict=True):
        found[order] = zone
    return found
