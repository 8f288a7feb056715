"""Registry of sources: the modules in `tools/sources/` that define a card.

All other differences between sources are looked up in the cards here.
"""

import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec

from .card import OF_NO_SOURCE, SourceCard, find_kind, load_source_modules
from .evidence import Evidence
from .kinds import Kind


@cache
def cards() -> Mapping[str, SourceCard]:
    """Return the cards by name, in order of search and authority."""
    return {name: module.CARD for name, module in load_source_modules().items()}


def searchable(specialist: str | None = None) -> tuple[str, ...]:
    """List the sources that settings may name, for one specialist or all."""
    specialists = (card for card in cards().values() if card.specialist is not None)
    return tuple(card.name for card in specialists if specialist in (None, card.specialist))


def list_offered(specialist: str | None = None) -> tuple[str, ...]:
    """List the default sources of a run, for one specialist or all: those that need no key, and one web engine."""
    engine = choose_engine()
    return tuple(
        name for name in searchable(specialist) if cards()[name].use in ("searched", "on_demand") or name == engine
    )


def web_engines() -> tuple[str, ...]:
    """List the web's search engines in their order, whether they can be asked here or not."""
    return tuple(card.name for card in cards().values() if card.use == "web")


def choose_engine() -> str | None:
    """Return the first web engine whose key is set or whose package is installed; None if there is none."""
    # one alone: the engines find much the same pages, and each search of a second one may cost money
    return next((name for name in web_engines() if _is_available(cards()[name])), None)


def _is_available(card: SourceCard) -> bool:
    if card.package is not None:
        return has_package(card)
    return card.key is not None and bool(os.environ.get(card.key, "").strip())


def has_package(card: SourceCard) -> bool:
    """Whether the package that carries a source's requests is installed, or the source needs none."""
    return card.package is None or find_spec(card.package) is not None


def drop_web(names: Iterable[str]) -> tuple[str, ...]:
    """Leave out the web's engines; names that are nothing else stay, so that a run has something to search."""
    listed = tuple(names)
    others = tuple(name for name in listed if name not in web_engines())
    return others or listed


def title_of(name: str) -> str:
    """Return a source's display name; the name itself if the source is unknown."""
    return cards()[name].title if name in cards() else OF_NO_SOURCE.get(name, (name,))[0]


def given_by(name: str) -> str:
    """Return the source that provides records of a name: Europe PMC for preprints, else the same."""
    return "europepmc" if name == "preprint" else name


def get_fresh_days(name: str) -> float:
    """Return how many days a source's replies may be reused by other runs; 0 for unknown sources."""
    return cards()[name].fresh_days if name in cards() else 0


@cache
def linked_hosts() -> frozenset[str]:
    """Return the hosts that a report may link to: the sources' public pages and the DOI resolver."""
    return frozenset({"doi.org"}.union(*(card.hosts for card in cards().values())))


def gives(name: str) -> Kind:
    return find_kind(name)


def kind_of(record: Evidence) -> Kind:
    return record.record.kind


def takes_names(name: str) -> bool:
    """Whether a source is searched by names of conditions and drugs, not by boolean queries."""
    return name in cards() and cards()[name].dialect == "names"


def select_by_condition(names: Iterable[str]) -> frozenset[str]:
    """Select the name-based sources to search for the condition: those meant for it, or all if there is none."""
    candidates = [cards()[name] for name in names if takes_names(name) and cards()[name].use == "searched"]
    meant_for_it = [card for card in candidates if card.by_condition]
    return frozenset(card.name for card in meant_for_it or candidates)
