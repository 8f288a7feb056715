"""Origins of a screening's records: a local library, or the sources, each searched once per condition."""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.http.reply import read_each
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import BUNDLED, Library, make_evidence, open_library
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


class RecordLines(NamedTuple):
    """The records of a search as they are stored, which travel to a worker and are read there."""

    keys: Sequence[str]
    """Of the records, best first."""
    lines: Sequence[str]
    """JSON: rows of a library, in any order, or else records."""
    is_library: bool

    def records(self) -> list[Evidence]:
        """Read the records, ranked as in a run."""
        if self.is_library:
            records = read_each(self.lines, partial(make_evidence, source="pubmed"))[0]
        else:
            records = [Evidence.model_validate_json(line) for line in self.lines]
        by_key = {record.key: record for record in records}
        found = [by_key[key] for key in self.keys if key in by_key]
        ranked = (each.model_copy(update={"relevance": 1 - at / len(found)}) for at, each in enumerate(found))
        return link(settle(merge(ranked)))


class Databases(NamedTuple):
    """What a library says of drugs and conditions, opened where it is asked."""

    path: str
    digest: str
    """Of its files; empty for the bundled one."""

    async def look_up(self, condition: str, drugs: Sequence[str]) -> list[Evidence]:
        """Return the entries on a condition and drugs."""
        library = _open_once(self)
        names = [name for name in library.contents.sources if takes_names(name)]
        async with Transport(Endpoints(library=library)) as transport:
            replies = [await source_class(name)(transport).look_up(condition, *drugs) for name in names]
        return list(chain.from_iterable(reply.records for reply in replies))


@lru_cache(maxsize=1)
def _open_once(databases: Databases) -> Library:
    return open_library(databases.path)


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
        has_entries = library is not None and any(map(takes_names, held))
        self.databases = Databases(library.path, library.digest) if library and has_entries else Databases(BUNDLED, "")
        """The library itself where it has entries, else the bundled one."""
        self.digest = library.digest if library else " ".join(self._endpoints[name].base_url for name in held)
        self.path = library.path if library else ""
        self.about = library.summary if library else " and ".join(map(title_of, self._searched))

    def open(self) -> Transport:
        """Open a connection to the sources, which the caller closes."""
        return Transport(self._endpoints, limiter=self._limiter)

    def searched(self, transport: Transport) -> list[Source]:
        """Return the sources to search for studies."""
        return [source_class(name)(transport) for name in self._searched]

    def keep(self, search: str, found: Mapping[str, Evidence]) -> None:
        """Store the records that the sources found; a library needs no copy."""
        if self._library is None and found:
            rows = [{"key": key, "record": record.model_dump_json()} for key, record in found.items()]
            self._kept.write(search, rows)

    def kept(self, search: str) -> dict[str, Evidence]:
        """Return the stored records of an earlier search of the sources, by key."""
        return {row["key"]: Evidence.model_validate_json(row["record"]) for row in self._kept.rows(search)}

    def lines(self, search: Search) -> RecordLines:
        """Return the records of a search as they are stored."""
        if self._library:
            return RecordLines(search.keys, self._library.lines(search.keys), is_library=True)
        kept = [row["record"] for row in self._kept.rows(search.hash)]
        return RecordLines(search.keys, kept, is_library=False)
