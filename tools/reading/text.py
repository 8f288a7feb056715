"""Split text into tokens and sentences, find sentence roles from headings, and look up cues from a table."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from ..lexicon.matching import cue_regex

SentenceRole = Literal["title", "aim", "background", "method", "result", "conclusion"]
"""The parts of structured abstracts (https://www.nlm.nih.gov/bsd/policy/structured_abstracts.html)."""
ZONES: dict[SentenceRole, str] = {
    "title": "T", "aim": "A", "background": "B", "method": "M", "result": "R", "conclusion": "C",
}  # fmt: skip

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
    """Normalise dashes, thin spaces, raised dots and quotes; the length stays the same."""
    return text.translate(_MARKS)


class Token(NamedTuple):
    """A word, number or sign, in lower case, with its character offsets."""

    text: str
    start: int
    end: int


def split_tokens(text: str) -> list[Token]:
    """Split a text normalised by `plain` into tokens, in order."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals get longer in lower case; offsets must not shift
        lowered = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    return [Token(match.group(), *match.span()) for match in _TOKEN.finditer(lowered)]


def says(cue: str, text: str) -> re.Match[str] | None:
    """Find the first match in a text of a cue named in this package's `cues.tsv`; None if there is none.

    >>> says("blinded", "A randomised, double-blind trial").group()
    'double-blind'
    """
    return cue_regex(cue, __package__).search(text)


LONGEST_SENTENCE = 4000  # characters; abstracts have up to 3,000, and the work on a sentence grows with the square


def split_spans(text: str, start: int = 0) -> list[tuple[int, int]]:
    """Split a text from `start` on into sentence offsets, not splitting at abbreviations and decimals.

    What goes on for more than `LONGEST_SENTENCE` characters is split at a blank before that, or there.
    """
    spans: list[tuple[int, int]] = []
    for end in _END.finditer(text, start):
        if _ABBREVIATED.search(text, max(start, end.start() - 8), end.start()):
            continue
        if text[start : end.start()].strip():
            spans += _split_endless(text, start, end.start())
        start = end.end()
    if text[start:].strip():
        spans += _split_endless(text, start, len(text.rstrip()))
    return spans


def _split_endless(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split a sentence that is too long to be one; any other comes back as it is."""
    parts: list[tuple[int, int]] = []
    while end - start > LONGEST_SENTENCE:
        blank = text.rfind(" ", start + 1, start + LONGEST_SENTENCE)
        middle = blank if blank > 0 else start + LONGEST_SENTENCE
        parts.append((start, middle))
        start = middle + 1 if blank > 0 else middle
    return [(first, last) for first, last in (*parts, (start, end)) if text[first:last].strip()]


def sentences(text: str) -> list[str]:
    """Split a text into sentences, with punctuation and white space normalised.

    >>> sentences("Drug A vs. placebo gave P = .03.  No deaths occurred.")
    ['Drug A vs. placebo gave P = .03.', 'No deaths occurred.']
    """
    written = plain(text)
    return [" ".join(written[start:end].split()) for start, end in split_spans(written)]


def find_heading_role(text: str, start: int) -> SentenceRole | None:
    """Return the role that a heading at an offset introduces; None if there is no known heading."""
    heading = _HEADING.match(text, start)
    return next((role for role, words in _ROLE_OF if words.fullmatch(heading["name"])), None) if heading else None


def list_zone_features(words: Sequence[str], order: int, count: int) -> list[str]:
    """List the features of a sentence, the `order`th of `count`: unique and in a fixed order, in which a head sums."""
    features = [*words, *(f"{first} {second}" for first, second in pairwise(words))]
    features += ["^" + " ".join(words[:2]), f"#at{6 * order // count}"]
    features += ["#last"] if order == count - 1 else []
    features += ["#first"] if order <= 1 else []
    features += ["#short"] if len(words) < 8 else []
    return list(dict.fromkeys(features))
