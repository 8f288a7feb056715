"""The parts of a record, by name: title and abstract, and the sections of a full text that was read (`fulltext`)."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from ..evidence import Evidence
from ..registry import cards

Kind = Literal["results", "limitations", "table"]
"""What a section of a full text is about."""
ABSTRACT, TITLE = "Abstract", "Title"


class Place(NamedTuple):
    """A section of a full text that was read."""

    kind: str
    """results, limitations or table."""
    title: str
    """As the article heads it, with the headings above it: `Discussion > Limitations`; a table's label."""
    text: str


def licence_of(record: Evidence) -> str | None:
    """The licence of the full text that was read; None where none was."""
    read = record.paper and record.paper.full_text
    return read.get("licence") if read else None


def places(record: Evidence, kind: Kind | None = None) -> list[Place]:
    """The sections of the full text that were read, in the article's order.

    Args:
        record: with or without a full text.
        kind: only these; None takes all.
    """
    read = record.paper and record.paper.full_text
    listed = read.get("sections", ()) if read else ()
    found = [Place(each.get("kind", ""), each.get("title", ""), each.get("text", "")) for each in listed]
    return [place for place in found if kind is None or place.kind == kind]


def _spaced(text: str) -> str:
    return " ".join(text.split())


def section_of(record: Evidence, quote: str, same: Callable[[str], str] = _spaced) -> str | None:
    """The part of a record in which a quote stands.

    Args:
        record: with or without a full text.
        quote: a passage.
        same: brings texts into the form in which they are compared; by default white space is folded.

    Returns:
        `Title`, `Abstract`, `Registry entry` or `Database entry`, or a heading of the full text; None where the quote
        stands nowhere.

    >>> from willowbark.tools.evidence import Citation, Evidence
    >>> cited = Citation(source="pubmed", title="A trial", url="https://pubmed.ncbi.nlm.nih.gov/1/")
    >>> section_of(Evidence(content="A trial\\n\\nPain  fell.", citation=cited), "Pain fell.")
    'Abstract'
    """
    wanted = same(quote)
    if not wanted:
        return None
    if wanted in same(record.citation.title):
        return TITLE
    if wanted in same(record.content):
        return own_part(record)
    return next((place.title for place in places(record) if wanted in same(place.text)), None)


def own_part(record: Evidence) -> str:
    """What the text of a record is called: `Abstract`, `Registry entry`, `Database entry`, …"""
    card = cards().get(record.citation.source)
    return card.entries if card else ABSTRACT


def is_full_text(section: str | None) -> bool:
    """Whether a part that `section_of` gave is one of the full text."""
    return section is not None and section not in (ABSTRACT, TITLE, *(card.entries for card in cards().values()))
