"""Origins of a screening's records: a local library, or the sources, each searched once per condition."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import BUNDLED, Library, open_library
from willowbark.tools.records.evidence import Evidence, merge
from willowbark.tools.records.registry import takes_names, title_of
from willowbark.tools.search import Source, source_class
from willowbark.tools.works.identity import link, settle

from .tables import TableFolder

_SEARCHED = ("pubmed", "clinicaltrials")


class Search(NamedTuple):
    """Result of a search."""

    hash: str
    """Hash of the query and of what was searched."""
    keys: list[str]
    """Keys of the records, best first."""


class Origin:
    """Provides the records of a screening; arguments as in `screen`. `out` stores those that the sources give."""

    def __init__(
        self,
        library: Library | None,
        out: Path,
        endpoints: Endpoints | None = None,
        limiter: RateLimiter | None = None,
    ) -> None:
        self._library = library
        self._limiter = limiter
        self._endpoints = Endpoints(library=library) if library else endpoints or Endpoints.public()
        self._kept = TableFolder(out / "records")
        held = library.contents.sources if library else _SEARCHED
        self._searched = [name for name in _SEARCHED if name in held]
        self._facts = library if library and any(map(takes_names, held)) else open_library(BUNDLED)
        """Holds what databases say of drugs and conditions: the library itself, else the bundled one."""
        self.digest = library.digest if library else " ".join(self._endpoints[name].base_url for name in held)
        self.path = library.path if library else ""
        self.about = library.summary if library else " and ".join(map(title_of, self._searched))

    def open(self) -> Transport:
        """Open a connection to the sources, which the caller closes."""
        return Transport(self._endpoints, limiter=self._limiter)

    def searched(self, transport: Transport) -> list[Source]:
        """Return the sources to search for studies."""
        return [source_class(name)(transport) for name in self._searched]

    def open_databases(self) -> Transport:
        """Open what databases say of drugs, which the caller closes."""
        return Transport(Endpoints(library=self._facts), limiter=self._limiter)

    def databases(self, transport: Transport) -> list[Source]:
        """Return the sources to look drugs up in, of `open_databases`."""
        return [source_class(name)(transport) for name in self._facts.contents.sources if takes_names(name)]

    def keep(self, search: str, found: Mapping[str, Evidence]) -> None:
        """Store the records that the sources found; a library needs no copy."""
        if self._library is None and found:
            rows = [{"key": key, "record": record.model_dump_json()} for key, record in found.items()]
            self._kept.write(search, rows)

    def kept(self, search: str) -> dict[str, Evidence]:
        """Return the stored records of an earlier search of the sources, by key."""
        return {row["key"]: Evidence.model_validate_json(row["record"]) for row in self._kept.rows(search)}

    def records(self, search: Search) -> list[Evidence]:
        """Return the records of a search, ranked as in a run."""
        held = (
            {number.key: number for number in self._library.by_numbers(search.keys, "pubmed")}
            if self._library
            else None
        )
        by_key = self.kept(search.hash) if held is None else held
        found = [by_key[key] for key in search.keys if key in by_key]
        ranked = (each.model_copy(update={"relevance": 1 - at / len(found)}) for at, each in enumerate(found))
        return link(settle(merge(ranked)))
