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
from ..questions import Question, parse_query
from ..questions.trials import remove_kinds
from ..records.evidence import Evidence, checked_identifier
from ..search import Filters, Source, SourceReply
from ..sources.drugs.reactome import MAX_IDS
from ..sources.publications import Citations, extract_words
from .index import MANIFEST, LibraryIndex, open_index
from .kept_index import Tell, make_in_memory, open_or_make
from .rows import (
    ArticleRow,
    CitationRow,
    EntryRow,
    PublicationRow,
    StudyRow,
    compute_digest,
    list_record_files,
    parse_row,
)

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
    files = list_record_files(folder)
    digest = compute_digest(files)
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


def read_environment(environ: Mapping[str, str] = os.environ) -> Endpoints:
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
        contents = self.contents
        about = ""
        if contents.topics:
            *some, last = contents.topics
            about = f" on {', '.join(some)} and {last}" if some else f" on {last}"
        counts = f"{contents.publications:,} publications and {contents.trials:,} trials{about}"
        if contents.unread:
            others = " and others" if contents.unread[1:] else ""
            counts += f"; faults in its files: {contents.unread[0]}{others}"
        if self.path == BUNDLED:
            return f"the library that comes with Willowbark ({counts}; its texts are paraphrased)"
        return f"the library {Path(self.path).name} ({counts})"

    def find(self, source: Source, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Answer a search of a source; raises `SourceRefused` for filters that the source does not know."""
        filter_values = source.filters.of(source.name, filters).model_dump()
        page = filter_values.pop("page")
        size = max(1, max_results)
        if source.name not in self.contents.sources:
            return source.reply(query, [], notes=[f"{NOT_CHECKED}: the library holds nothing of this source"])
        if source.card is not None and source.card.dialect == "names":
            question = parse_query(source.name, query)
            records, total = self._find_entries(source, question, size, (page - 1) * size)
            return source.reply(query, records, words=question.words, total=total)
        first = filter_values.pop("mindate", None)
        last = filter_values.pop("maxdate", None)
        notes = [f"full texts are {NOT_CHECKED}"] if filter_values.pop("full_text", False) else []
        tags = [[f"source:{source.name}"]]
        for name, value in filter_values.items():
            values = value if isinstance(value, list) else [value]
            if any(item is not None for item in values):
                tags.append([f"{name}:{item}".lower() for item in values])
        is_registry = source.card is not None and source.card.gives == "trial"
        lines, total = self.search(
            remove_kinds(query) if is_registry else query,
            tags=tags,
            days=(first and int(f"{first:%Y%m%d}"), last and int(f"{last:%Y%m%d}")),
            most=size,
            start=(page - 1) * size,
            left_to_right=source.name == "pubmed",
        )
        records, unread = read_each(lines, partial(make_evidence, source=source.name))
        return source.reply(query, records, words=extract_words(query), total=total, problems=unread, notes=notes)

    def _find_entries(self, source: Source, question: Question, most: int, start: int) -> tuple[list[Evidence], int]:
        """Return entries on the drugs and conditions that a query names, or if it names none, entries that contain its
        words; with the total number."""
        matches, _ = self._list_entries(source.name, [*question.conditions, *question.drugs])
        if matches or question.drugs:
            return matches[start : start + most], len(matches)
        lines, total = self.search(
            " OR ".join(f'"{condition}"' for condition in question.conditions) or question.words,
            tags=[[f"source:{source.name}"]],
            most=most,
            start=start,
        )
        return [make_evidence(line, source.name) for line in lines], total

    def look_up(self, source: Source, names: Sequence[str]) -> SourceReply:
        """Look things up by name, mostly drugs; the reply names those without an entry."""
        records, lacking = self._list_entries(source.name, names)
        notes = [f"{NOT_CHECKED}: the library holds no entry on {', '.join(lacking)}"] if lacking else []
        first_records = records[:MAX_IDS] if source.name == "reactome" else records
        return source.reply(", ".join(names), first_records, notes=notes)

    def _list_entries(self, source: str, names: Sequence[str]) -> tuple[list[Evidence], list[str]]:
        """Return a source's entries, those matching most names first, and the names without an entry."""
        places_by_name: dict[str, list[int]] = {}  # name in the index -> positions in `names`
        for place, name in enumerate(names):
            for spelling in {name.strip().casefold(), canonical_drug(name), canonical_condition(name)} - {None}:
                places_by_name.setdefault(f"{source}:{spelling}", []).append(place)
        matches: list[tuple[int, list[int], str, Evidence]] = []
        missing = dict(enumerate(names))
        for line in self.named(*places_by_name):
            row = parse_row(line)
            if isinstance(row, EntryRow):
                places: set[int] = set()
                for name in row.indexed()["name"]:
                    places.update(places_by_name.get(name, ()))
                matches.append((-len(places), sorted(places), row.evidence.key, row.evidence))
                missing = {place: name for place, name in missing.items() if place not in places}
        matches.sort(key=lambda match: match[:3])
        return [evidence for *_, evidence in matches], list(missing.values())

    def papers(self, source: Source, pmids: Sequence[str]) -> SourceReply:
        """Return publications by PMID, in the given order; the reply names the missing ones."""
        records = self.by_numbers([f"pmid:{pmid}" for pmid in pmids], source.name)
        by_pmid = {record.record.pmid: record for record in records}
        lacking = [pmid for pmid in pmids if pmid not in by_pmid]
        notes = [f"{NOT_CHECKED}: the library does not hold PMID {', '.join(lacking)}"] if lacking else []
        return source.reply(", ".join(pmids), [by_pmid[pmid] for pmid in pmids if pmid in by_pmid], notes=notes)

    def by_numbers(self, names: Iterable[str], source: str = "europepmc") -> list[Evidence]:
        """Return the publications with the given numbers (`pmid:…`, `pmcid:…`, `doi:…`); unknown ones are left out."""
        return read_each(self.lines(names), partial(make_evidence, source=source))[0]  # callers name the missing

    def lines(self, names: Iterable[str]) -> list[str]:
        """Return what `by_numbers` returns as it is stored, for `make_evidence`."""
        return self.named(*(name.lower() if name.startswith("doi:") else name for name in names))

    def publications(self, order: Callable[[list[Any]], None] = lambda _: None) -> Iterator[Evidence]:
        """Yield all publications and preprints, page by page; `order` changes the order of pages and within them."""
        for lines in self.walk(["source:pubmed", "source:europepmc"], order):
            yield from read_each(lines, _make_publication)[
                0
            ]  # what cannot be read was named when the library was opened

    def studies(self) -> Iterator[Evidence]:
        """Yield all publications, preprints and registered trials, page by page."""
        yield from self.publications()
        for lines in self.walk(["source:clinicaltrials"], lambda _: None):
            yield from read_each(lines, partial(make_evidence, source="clinicaltrials"))[0]

    def citations(self, source: Source, pmid: str) -> SourceReply:
        """Return the publications that cite one and those that it cites, as far as the library holds them."""
        lines = self.named(f"citing:{pmid}", f"cited:{pmid}")
        rows = [row for line in lines if isinstance(row := parse_row(line), CitationRow)]
        links = Citations(
            sorted({row.citing for row in rows if row.cited == pmid}, key=int, reverse=True),
            sorted({row.cited for row in rows if row.citing == pmid}, key=int, reverse=True),
        )
        records = links.noted(self.by_numbers([f"pmid:{pmid}" for pmid in links.chosen], source.name), pmid)
        lacking = len(links.chosen) - len(records)
        notes = [*links.notes, *([f"the library does not hold {lacking} of them"] if lacking else [])]
        if not rows:
            notes = [f"{NOT_CHECKED}: the library holds no citations of PMID {pmid}"]
        return source.reply(f"citations of PMID {pmid}", records, notes=notes)

    def trial(self, source: Source, nct_id: str) -> SourceReply:
        records = [make_evidence(line, source.name) for line in self.named(f"nct:{nct_id}")]
        notes = [] if records else [f"{NOT_CHECKED}: the library does not hold {nct_id}"]
        return source.reply(nct_id, records, notes=notes)

    def full_text(self, pmcid: str) -> str:
        """Return the JATS XML of an article; raises `SourceRefused` if there is none."""
        for line in self.named(f"pmcid:{pmcid}"):
            row = parse_row(line)
            if isinstance(row, PublicationRow) and row.full_text:
                return row.full_text
        raise SourceRefused("europepmc", f"was {NOT_CHECKED}: the library holds no full text of it")

    def work(self, source: str, doi: str) -> dict[str, Any] | None:
        """Return a source's record of a publication in the source's own format; None if the library lacks it."""
        number = checked_identifier("doi", doi)
        for row in map(parse_row, self.named(f"doi:{number}") if number else ()):
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


def make_evidence(line: str, source: str) -> Evidence:
    """Read a stored line as a record, as a source would give it."""
    row = parse_row(line)
    if isinstance(row, PublicationRow | ArticleRow):
        return row.evidence(source)
    assert isinstance(row, StudyRow | EntryRow)
    return row.evidence() if isinstance(row, StudyRow) else row.evidence


def _make_publication(line: str) -> Evidence:
    row = parse_row(line)
    assert isinstance(row, PublicationRow | ArticleRow)
    is_preprint = isinstance(row, PublicationRow) and row.pmid is None
    return row.evidence("europepmc" if is_preprint else "pubmed")
