"""The local library: a folder of records that replaces the sources, without network.

`Endpoints(library=open_library(…))` makes it answer for every source of a run, through the methods of `Library`. It
reports what it lacks, as an empty reply with a warning, or as a failure where an empty reply would mislead.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import SourceRefused
from ..http.endpoints import Endpoints
from ..http.reply import read_each
from ..lexicon import canonical_condition, canonical_drug
from ..questions import Question, read_query
from ..questions.trials import for_registry
from ..records.evidence import Evidence, checked_identifier
from ..search import Filters, Source, SourceReply
from ..sources.drugs.reactome import MAX_IDS
from ..sources.publications import Citations, plain_words
from .index import MANIFEST, LibraryIndex, open_index
from .kept_index import Tell, make_in_memory, open_or_make
from .rows import ArticleRow, CitationRow, EntryRow, PublicationRow, StudyRow, digest_of, record_files, row_of

BUNDLED = "bundled"
VARIABLE = "WILLOWBARK_LIBRARY__PATH"
"""Environment variable that selects a library: `bundled`, or a folder."""
NOT_CHECKED = "not checked offline"
_BUNDLED_FOLDER = Path(__file__).parent / "bundled"


def open_library(path: str | Path, tell: Tell = lambda _: None) -> "Library":
    """Open a folder of records, or `bundled`; an unchanged library that is already open is reused.

    Args:
        path: the folder, a file of records, or `bundled`.
        tell: receives a line before a large library is indexed, which is done once, and for an index that is damaged
            or cannot be kept.

    Raises:
        UsageError: the folder cannot be read, or holds no record that can; one line.
    """
    is_bundled = str(path) == BUNDLED
    folder = _BUNDLED_FOLDER if is_bundled else Path(path).expanduser().resolve()
    files = record_files(folder)
    digest = digest_of(files)
    with _opening:  # a second thread waits for the first one's index
        library = _opened.pop((folder, digest), None)
        if library is None:
            library = Library(folder, files, digest, tell, is_bundled=is_bundled)
        _opened[folder, digest] = library
        for key in list(_opened)[:-_MOST_OPEN]:
            del _opened[key]
    return library


_MOST_OPEN = 8
_opened: dict[tuple[Path, str], "Library"] = {}
"""Libraries by folder and digest, the latest used last."""
_opening = threading.Lock()


def endpoints_of_environment(environ: Mapping[str, str] = os.environ) -> Endpoints:
    """Return the endpoints for tools used alone: a library named in the environment, else the public sources."""
    path = environ.get(VARIABLE, "").strip()
    return Endpoints(library=open_library(path)) if path else Endpoints.public(environ)


class Library(LibraryIndex):
    """Answers for the sources from an index of records; `path` is `bundled`, or the `folder`.

    Raises:
        UsageError: its files hold no record that can be read, or its index cannot be used.
    """

    def __init__(self, folder: Path, files: Sequence[Path], digest: str, tell: Tell, *, is_bundled: bool) -> None:
        if files[0].name == MANIFEST:
            super().__init__(open_index(folder), None, digest)
        elif is_bundled:
            super().__init__(*make_in_memory(folder, files, digest))
        else:
            super().__init__(*open_or_make(folder, files, digest, tell))
        self.path = BUNDLED if is_bundled else str(folder)
        self.folder = folder

    @property
    def digest(self) -> str:
        return self.contents.digest

    @property
    def summary(self) -> str:
        """Describe the library and its contents in one line, for reports."""
        held = self.contents
        about = ""
        if held.topics:
            *some, last = held.topics
            about = f" on {', '.join(some)} and {last}" if some else f" on {last}"
        counts = f"{held.publications:,} publications and {held.trials:,} trials{about}"
        if held.unread:
            others = " and others" if held.unread[1:] else ""
            counts += f"; faults in its files: {held.unread[0]}{others}"
        if self.path == BUNDLED:
            return f"the library that comes with Willowbark ({counts}; its texts are paraphrased)"
        return f"the library {Path(self.path).name} ({counts})"

    def find(self, source: Source, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Answer a search of a source; raises `SourceRefused` for filters that the source does not know."""
        asked = source.filters.of(source.name, filters).model_dump()
        page = asked.pop("page")
        size = max(1, max_results)
        if source.name not in self.contents.sources:
            return source.reply(query, [], notes=[f"{NOT_CHECKED}: the library holds nothing of this source"])
        if source.card is not None and source.card.dialect == "names":
            asked_for = read_query(source.name, query)
            records, total = self._find_entries(source, asked_for, size, (page - 1) * size)
            return source.reply(query, records, words=asked_for.words, total=total)
        first = asked.pop("mindate", None)
        last = asked.pop("maxdate", None)
        notes = [f"full texts are {NOT_CHECKED}"] if asked.pop("full_text", False) else []
        tags = [[f"source:{source.name}"]]
        for name, value in asked.items():
            values = value if isinstance(value, list) else [value]
            if any(each is not None for each in values):
                tags.append([f"{name}:{each}".lower() for each in values])
        is_registry = source.card is not None and source.card.gives == "trial"
        lines, total = self.search(
            for_registry(query) if is_registry else query,
            tags=tags,
            days=(first and int(f"{first:%Y%m%d}"), last and int(f"{last:%Y%m%d}")),
            most=size,
            start=(page - 1) * size,
            left_to_right=source.name == "pubmed",
        )
        records, unread = read_each(lines, partial(self._evidence, source=source.name))
        return source.reply(query, records, words=plain_words(query), total=total, problems=unread, notes=notes)

    def _find_entries(self, source: Source, asked: Question, most: int, start: int) -> tuple[list[Evidence], int]:
        """Return entries on the drugs and conditions that a query names, or if it names none, entries that contain its
        words; with the total number."""
        named, _ = self._entries(source.name, [*asked.conditions, *asked.drugs])
        if named or asked.drugs:
            return named[start : start + most], len(named)
        lines, total = self.search(
            " OR ".join(f'"{condition}"' for condition in asked.conditions) or asked.words,
            tags=[[f"source:{source.name}"]],
            most=most,
            start=start,
        )
        return [self._evidence(line, source.name) for line in lines], total

    def look_up(self, source: Source, names: Sequence[str]) -> SourceReply:
        """Look things up by name, mostly drugs; the reply names those without an entry."""
        found, lacking = self._entries(source.name, names)
        notes = [f"{NOT_CHECKED}: the library holds no entry on {', '.join(lacking)}"] if lacking else []
        shown = found[:MAX_IDS] if source.name == "reactome" else found
        return source.reply(", ".join(names), shown, notes=notes)

    def _entries(self, source: str, names: Sequence[str]) -> tuple[list[Evidence], list[str]]:
        """Return a source's entries, those matching most names first, and the names without an entry."""
        wanted: dict[str, list[int]] = {}  # name in the index -> positions in `names`
        for place, name in enumerate(names):
            for each in {name.strip().casefold(), canonical_drug(name), canonical_condition(name)} - {None}:
                wanted.setdefault(f"{source}:{each}", []).append(place)
        found = list[tuple[int, list[int], str, Evidence]]()
        for line in self.named(*wanted):
            row = row_of(line)
            if isinstance(row, EntryRow):
                places = sorted({place for name in row.indexed()["name"] for place in wanted.get(name, ())})
                found.append((-len(places), places, row.evidence.key, row.evidence))
        answered = {place for _, places, _, _ in found for place in places}
        lacking = [name for place, name in enumerate(names) if place not in answered]
        return [each[-1] for each in sorted(found, key=lambda each: each[:3])], lacking

    def papers(self, source: Source, pmids: Sequence[str]) -> SourceReply:
        """Return publications by PMID, in the given order; the reply names the missing ones."""
        records = self.by_numbers([f"pmid:{pmid}" for pmid in pmids], source.name)
        by_pmid = {record.record.pmid: record for record in records}
        lacking = [pmid for pmid in pmids if pmid not in by_pmid]
        notes = [f"{NOT_CHECKED}: the library does not hold PMID {', '.join(lacking)}"] if lacking else []
        return source.reply(", ".join(pmids), [by_pmid[pmid] for pmid in pmids if pmid in by_pmid], notes=notes)

    def by_numbers(self, names: Iterable[str], source: str = "europepmc") -> list[Evidence]:
        """Return the publications with the given numbers (`pmid:…`, `pmcid:…`, `doi:…`); unknown ones are left out."""
        lines = self.named(*(name.lower() if name.startswith("doi:") else name for name in names))
        return read_each(lines, partial(self._evidence, source=source))[0]  # callers name those that are missing

    def publications(self, order: Callable[[list[Any]], None] = lambda _: None) -> Iterator[Evidence]:
        """Yield all publications and preprints, page by page; `order` changes the order of pages and within them."""
        for lines in self.walk(["source:pubmed", "source:europepmc"], order):
            yield from read_each(lines, _publication)[0]  # what cannot be read was named when the library was opened

    def studies(self) -> Iterator[Evidence]:
        """Yield all publications, preprints and registered trials, page by page."""
        yield from self.publications()
        for lines in self.walk(["source:clinicaltrials"], lambda _: None):
            yield from read_each(lines, partial(self._evidence, source="clinicaltrials"))[0]

    def citations(self, source: Source, pmid: str) -> SourceReply:
        """Return the publications that cite one and those that it cites, as far as the library holds them."""
        lines = self.named(f"citing:{pmid}", f"cited:{pmid}")
        rows = [row for line in lines if isinstance(row := row_of(line), CitationRow)]
        links = Citations(
            sorted({row.citing for row in rows if row.cited == pmid}, key=int, reverse=True),
            sorted({row.cited for row in rows if row.citing == pmid}, key=int, reverse=True),
        )
        records = links.noted(self.by_numbers([f"pmid:{each}" for each in links.chosen], source.name), pmid)
        lacking = len(links.chosen) - len(records)
        notes = [*links.notes, *([f"the library does not hold {lacking} of them"] if lacking else [])]
        if not rows:
            notes = [f"{NOT_CHECKED}: the library holds no citations of PMID {pmid}"]
        return source.reply(f"citations of PMID {pmid}", records, notes=notes)

    def trial(self, source: Source, nct_id: str) -> SourceReply:
        records = [self._evidence(line, source.name) for line in self.named(f"nct:{nct_id}")]
        notes = [] if records else [f"{NOT_CHECKED}: the library does not hold {nct_id}"]
        return source.reply(nct_id, records, notes=notes)

    def full_text(self, pmcid: str) -> str:
        """Return the JATS XML of an article; raises `SourceRefused` if there is none."""
        for line in self.named(f"pmcid:{pmcid}"):
            row = row_of(line)
            if isinstance(row, PublicationRow) and row.full_text:
                return row.full_text
        raise SourceRefused("europepmc", f"was {NOT_CHECKED}: the library holds no full text of it")

    def work(self, source: str, doi: str) -> dict[str, Any] | None:
        """Return a source's record of a publication in the source's own format; None if the library lacks it."""
        number = checked_identifier("doi", doi)
        for row in map(row_of, self.named(f"doi:{number}") if number else ()):
            if not isinstance(row, PublicationRow):
                continue
            if source == "crossref" and row.crossref is not None:
                return {"DOI": row.doi, **row.crossref}
            if source == "openalex" and row.openalex is not None:
                ids = {"pmid": f"https://pubmed.ncbi.nlm.nih.gov/{row.pmid}/"} if row.pmid else {}
                return {"doi": f"https://doi.org/{row.doi}", "ids": ids, **row.openalex}
            if source == "biorxiv" and row.published_doi:
                return {"collection": [{"preprint_doi": row.doi, "published_doi": row.published_doi}]}
        return None

    def _evidence(self, line: str, source: str) -> Evidence:
        row = row_of(line)
        if isinstance(row, PublicationRow | ArticleRow):
            return row.evidence(source)
        assert isinstance(row, StudyRow | EntryRow)
        return row.evidence() if isinstance(row, StudyRow) else row.evidence


def _publication(line: str) -> Evidence:
    row = row_of(line)
    assert isinstance(row, PublicationRow | ArticleRow)
    is_preprint = isinstance(row, PublicationRow) and row.pmid is None
    return row.evidence("europepmc" if is_preprint else "pubmed")
