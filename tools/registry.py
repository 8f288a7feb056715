"""The sources there are: the files below `tools/sources/` that hold a card.

Everything else that differs between sources is read off the cards here.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from .evidence import Evidence
from .records import Kind
from .sources.card import OF_NO_SOURCE, SourceCard, given_kind, source_modules


@cache
def cards() -> Mapping[str, SourceCard]:
    """The cards by name, in the order of search and of authority."""
    return {name: module.CARD for name, module in source_modules().items()}


def offered(specialist: str | None = None) -> tuple[str, ...]:
    """The sources of a run whose settings name none: all that need no key, of one specialist or of all."""
    return tuple(card.name for card in _of(specialist) if card.use in ("searched", "on_demand"))


def searchable(specialist: str | None = None) -> tuple[str, ...]:
    """The sources that settings may name, of one specialist or of all."""
    return tuple(card.name for card in _of(specialist))


def _of(specialist: str | None) -> Iterable[SourceCard]:
    found = (card for card in cards().values() if card.specialist is not None)
    return (card for card in found if specialist in (None, card.specialist))


def title_of(name: str) -> str:
    """A source's name for people; the name itself where it is of a source unknown here."""
    return cards()[name].title if name in cards() else OF_NO_SOURCE.get(name, (name,))[0]


def given_by(name: str) -> str:
    """The source that hands out the records of a name: Europe PMC for preprints, any other its own."""
    return "europepmc" if name == "preprint" else name


def fresh_days(name: str) -> float:
    """Days for which a source's reply may answer another run; 0 for a source unknown here."""
    return cards()[name].fresh_days if name in cards() else 0


@cache
def linked_hosts() -> frozenset[str]:
    """Hosts that a report may link to: the sources' public pages, and the resolver of DOIs."""
    return frozenset({"doi.org"}.union(*(card.hosts for card in cards().values())))


def gives(name: str) -> Kind:
    """What a source's records are, where they don't say otherwise; a page for a source unknown here."""
    return given_kind(name)


def kind_of(record: Evidence) -> Kind:
    """What a record is."""
    return record.record.kind


def takes_names(name: str) -> bool:
    """Whether a source is asked by names of conditions and drugs, not in boolean form."""
    return name in cards() and cards()[name].dialect == "names"


def asked_for_conditions(names: Iterable[str]) -> frozenset[str]:
    """Those of the sources that take names which are asked for the condition: all, where none is the one for that."""
    known = [cards()[name] for name in names if takes_names(name) and cards()[name].use == "searched"]
    return frozenset(card.name for card in known if card.by_condition or not any(each.by_condition for each in known))
