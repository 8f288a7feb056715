"""Parts of a record by name (title, abstract, sections of the full text), and excerpts of the full text.

What limitations concern is listed by CONSORT 2010, items 20 and 21.
"""

from collections.abc import Callable
from itertools import chain
from typing import Literal, NamedTuple

from ..lexicon import find_drugs
from ..records import ArticleSection
from ..records.evidence import Evidence
from ..records.registry import cards
from .numbers import tells_figures
from .screening import readable
from .text import says, sentences

SectionKind = Literal["results", "limitations", "table"]
"""Kind of a full-text section."""
DecidingReason = Literal["pivotal trial", "disagrees with others", "asked for"]
"""Why a full text is read whole; the last: somebody named the publication."""
ABSTRACT = "Abstract"
TITLE = "Title"
MOST_RESULTS = 2000  # characters of a record's results in a prompt; the abstract beside them has up to 2,500
MOST_LIMITS = 800  # characters of its limitations in a prompt
MOST_ROWS = 600  # characters of its tables' rows in a prompt
MOST_OF_WHOLE = 40_000  # characters of results, and of tables, of a record that decides: some 10,000 tokens each
CODE_READS = 6000  # characters of results read by code, whose readers were trained on abstracts
MAX_LIMITS = 2  # quoted per study
MIN_LIMIT_CHARACTERS = 30
MAX_LIMIT_CHARACTERS = 400  # shorter sentences announce, longer ones discuss
GAP = "\n[…]\n"  # marks omitted sentences, so that no quote spans them


class SectionPlace(NamedTuple):
    """A section of a full text."""

    kind: str
    """results, limitations or table."""
    title: str
    """Heading in the article, with those above it: `Discussion > Limitations`; for a table its label."""
    text: str

    @property
    def lines(self) -> list[str]:
        """Its paragraphs, or a table's rows; empty if there is no text."""
        return self.text.splitlines()


def get_licence(record: Evidence) -> str | None:
    """Return the licence of the full text; None if none was read."""
    full_text = record.paper and record.paper.full_text
    return full_text.get("licence") if full_text else None


def places(record: Evidence, kind: SectionKind | None = None) -> list[SectionPlace]:
    """Return the sections of the full text, in the article's order; only those of a kind, if one is given."""
    full_text = record.paper and record.paper.full_text
    listed = full_text.get("sections", ()) if full_text else ()
    sections = [
        SectionPlace(section.get("kind", ""), section.get("title", ""), section.get("text", "")) for section in listed
    ]
    return [place for place in sections if kind is None or place.kind == kind]


def find_section(
    record: Evidence, quote: str, same: Callable[[str], str] = lambda text: " ".join(text.split())
) -> str | None:
    """Return the part of a record that contains a quote; texts are compared as `same` normalises them.

    Returns:
        `Title`, `Abstract`, `Registry entry` or `Database entry`, or a heading of the full text; None if the quote is
        not found.
    """
    target = same(quote)
    if not target:
        return None
    if target in same(record.citation.title):
        return TITLE
    if target in same(record.content):
        return name_own_part(record)
    return next((place.title for place in places(record) if target in same(place.text)), None)


def name_own_part(record: Evidence) -> str:
    """Return the label of a record's own text: `Abstract`, `Registry entry`, `Database entry`, …"""
    card = cards().get(record.citation.source)
    return card.entries if card else ABSTRACT


def is_full_text(section: str | None) -> bool:
    """Whether a part returned by `find_section` belongs to the full text."""
    return section is not None and section not in (ABSTRACT, TITLE, *(card.entries for card in cards().values()))


class SectionPassage(NamedTuple):
    """A passage of a record and its section."""

    section: str
    quote: str


def find_stated_limits(record: Evidence) -> list[SectionPassage]:
    """Return limitations that a study states itself: at most two verbatim sentences of its full text.

    Sentences that name a limitation and its subject come first, then those in a section on limitations that name
    only the subject.
    """
    ranked: list[tuple[int, int, SectionPassage]] = []
    for place in places(readable(record), "limitations"):
        own = bool(says("limit", place.title))
        for sentence in sentences(place.text):
            names_limit = bool(says("limit", sentence))
            about = bool(says("about", sentence))
            fits = MIN_LIMIT_CHARACTERS <= len(sentence) <= MAX_LIMIT_CHARACTERS
            if fits and about and (names_limit or own) and find_section(record, sentence) == place.title:
                ranked.append((not names_limit, len(ranked), SectionPassage(place.title, sentence)))
    return [passage for *_, passage in sorted(ranked)[:MAX_LIMITS]]


def cut_opening_results(record: Evidence) -> str:
    """Return the results of the full text from their beginning, in whole lines, as far as code reads them."""
    room = CODE_READS
    lines = list[str]()
    for line in chain.from_iterable(place.lines for place in places(record, "results")):
        room -= len(line)
        if room < 0:
            lines.append(line[: len(line) + room].rpartition(". ")[0])
            break
        lines.append(line)
    return "\n".join(filter(None, lines))


def get_whole_reason(record: Evidence) -> str:
    """Return why a model is shown the whole results and tables of a record; empty where it is shown excerpts."""
    text = record.paper and record.paper.full_text
    return text.get("decides", "") if text else ""


def make_excerpt(record: Evidence, rows: int = MOST_ROWS, results: int = MOST_RESULTS) -> Evidence:
    """Cut a record's full text to what a model should read.

    Keeps limitations, and results and table rows that name a drug or a figure, at most so many characters of each.
    """
    full_text = record.paper and record.paper.full_text
    if not full_text:
        return record
    room = {"results": results, "limitations": MOST_LIMITS, "table": rows}
    cut_sections = list[ArticleSection]()
    for place in places(record):
        text = _select_sentences(place.text, room.get(place.kind, 0))
        room[place.kind] = room.get(place.kind, 0) - len(text)
        if text:
            cut_sections.append(ArticleSection(kind=place.kind, title=place.title, text=text))
    return record.noting(full_text={**full_text, "sections": cut_sections})


def _select_sentences(text: str, room: int) -> str:
    """Return the most informative sentences in order, with a mark where others were left out."""
    if len(text) <= room:
        return text
    every = sentences(text)
    weights = [
        bool(find_drugs(sentence)) + tells_figures(sentence) + bool(says("limit", sentence)) for sentence in every
    ]
    order = sorted(range(len(every)), key=lambda i: (-weights[i], i))
    chosen: list[int] = []
    for i in order:
        if len(every[i]) + len(GAP) <= room:
            chosen.append(i)
            room -= len(every[i]) + len(GAP)
    chosen.sort()
    joined = [(GAP if i and chosen[at - 1] != i - 1 else " ") + every[i] for at, i in enumerate(chosen)]
    return "".join(joined).strip()
