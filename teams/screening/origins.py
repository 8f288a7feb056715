"""Where the records of a screening come from: a local library, or the sources, each asked once for a condition."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from willowbark.tools.evidence import Evidence, merge
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.limiter import RateLimiter
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import Library
from willowbark.tools.registry import takes_names, title_of
from willowbark.tools.search import Source, source_class
from willowbark.tools.works.identity import settle
from willowbark.tools.works.linking import link

from .tables import Table

_SEARCHED = ("pubmed", "clinicaltrials")


class Search(NamedTuple):
    """What a search found."""

    hash: str
    """Of what was asked, and of whom."""
    keys: list[str]
    """Of the records, best first."""


class Origin:
    """Gives records.

    Args:
        library: searched in the sources' place; None asks the sources.
        out: folder of the screening; what the sources gave is kept there, and asked for once.
        endpoints: where the sources are; the public ones by default.
        limiter: keeps the sources' limits; shared by the processes of this user by default.
    """

    def __init__(
        self,
        library: Library | None,
        out: Path,
        endpoints: Endpoints | None = None,
        limiter: RateLimiter | None = None,
    ) -> None:
        self._library, self._limiter = library, limiter
        self._endpoints = Endpoints(library=library) if library else endpoints or Endpoints.public()
        self._kept = Table(out / "records")
        held = library.contents.sources if library else _SEARCHED
        self._searched = [name for name in _SEARCHED if name in held]
        self._databases = [name for name in held if takes_names(name)]
        self.digest = library.digest if library else " ".join(self._endpoints[name].base_url for name in held)
        self.path = library.path if library else ""
        self.about = library.summary if library else " and ".join(map(title_of, self._searched))

    def open(self) -> Transport:
        """The way to the sources, to be closed."""
        return Transport(self._endpoints, limiter=self._limiter)

    def searched(self, transport: Transport) -> list[Source]:
        """Those that are searched for studies."""
        return [source_class(name)(transport) for name in self._searched]

    def databases(self, transport: Transport) -> list[Source]:
        """Those that are asked about drugs: of a library alone."""
        return [source_class(name)(transport) for name in self._databases]

    def keep(self, search: str, found: Mapping[str, Evidence]) -> None:
        """Keep what the sources gave to a search; a library has it anyway."""
        if self._library is None and found:
            rows = [{"key": key, "record": record.model_dump_json()} for key, record in found.items()]
            self._kept.write(search, rows)

    def kept(self, search: str) -> dict[str, Evidence]:
        """The records of a search by key, where the sources were asked for it earlier."""
        return {row["key"]: Evidence.model_validate_json(row["record"]) for row in self._kept.rows(search)}

    def records(self, search: Search) -> list[Evidence]:
        """The records of a search as a run would rank them."""
        held = {each.key: each for each in self._library.by_numbers(search.keys, "pubmed")} if self._library else None
        by_key = self.kept(search.hash) if held is None else held
        found = [by_key[key] for key in search.keys if key in by_key]
        ranked = (each.model_copy(update={"relevance": 1 - at / len(found)}) for at, each in enumerate(found))
        return link(settle(merge(ranked)))
