"""The local library: a folder of records that answers in the sources' place, without network.

`Endpoints(library=open_library(…))` makes every source of a run be answered by it, through the methods of `Library`.
What it does not hold it says so, as an empty reply with a warning, or as a failure where silence would be an answer.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import platformdirs

from ..errors import SourceRefused
from ..evidence import Evidence, checked_identifier
from ..http.endpoints import Endpoints
from ..lexicon import canonical_condition, canonical_drug
from ..questions import Question
from ..questions.question import read_query
from ..search import Filters, Source, SourceReply
from ..sources.drugs.reactome import MAX_IDS
from ..sources.publications import Citations, plain_words
from .index import LibraryContents, LibraryIndex
from .rows import ArticleRow, CitationRow, EntryRow, PublicationRow, TrialRow, digest_of, record_files, row_of

BUNDLED = "bundled"
"""Names the library that comes with the package."""
VARIABLE = "WILLOWBARK_LIBRARY__PATH"
"""Names a library in the environment: `bundled`, or a folder."""
NOT_CHECKED = "not checked offline"
_BUNDLED_FOLDER = Path(__file__).parent / "bundled"


def open_library(path: str | Path) -> "Library":
    """Open a library; one that is open already and has not changed is given again.

    Args:
        path: a folder of records, or `bundled`.

    Raises:
        UsageError: there is no such folder, or it cannot be read; one line.
    """
    folder = _BUNDLED_FOLDER if str(path) == BUNDLED else Path(path).expanduser().resolve()
    return _opened(folder, str(path) == BUNDLED, digest_of(record_files(folder)))


@lru_cache(maxsize=8)
def _opened(folder: Path, is_bundled: bool, digest: str) -> "Library":
    index = LibraryIndex(folder, Path(platformdirs.user_cache_dir("willowbark")) / "library")
    return Library(BUNDLED if is_bundled else str(folder), index)


def endpoints_of_environment(environ: Mapping[str, str] = os.environ) -> Endpoints:
    """Where tools that are used alone find their sources: a library that the environment names, else the public ones.

    Raises:
        UsageError: the library cannot be read.
    """
    path = environ.get(VARIABLE, "").strip()
    return Endpoints(library=open_library(path)) if path else Endpoints.public(environ)


class Library:
    """Answers for the sources, from an index.

    Attributes:
        path: `bundled`, or the folder.
        contents: what it holds.
    """

    def __init__(self, path: str, index: LibraryIndex) -> None:
        self.path = path
        self._index = index

    @property
    def contents(self) -> LibraryContents:
        """What it holds."""
        return self._index.contents

    @property
    def digest(self) -> str:
        """Of its files."""
        return self.contents.digest

    def count_years(self) -> dict[int, int]:
        """How many records date from each year."""
        return self._index.count_years()

    @property
    def summary(self) -> str:
        """What it is and holds, for reports, in one line."""
        held, about = self.contents, ""
        if held.topics:
            *some, last = held.topics
            about = f" on {', '.join(some)} and {last}" if some else f" on {last}"
        counts = f"{held.publications:,} publications and {held.trials:,} trials{about}"
        if self.path == BUNDLED:
            return f"the library that comes with Willowbark ({counts}; its texts are paraphrased)"
        return f"the library {Path(self.path).name} ({counts})"

    def find(self, source: Source, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Answer a search of a source.

        Raises:
            SourceRefused: filters that the source does not know, or nothing to search for.
        """
        asked = source.filters.of(source.name, filters).model_dump()
        page, size = asked.pop("page"), max(1, max_results)
        if source.name not in self.contents.sources:
            return source.reply(query, [], notes=[f"{NOT_CHECKED}: the library holds nothing of this source"])
        if source.card is not None and source.card.dialect == "names":
            asked_for = read_query(source.name, query)
            records, total = self._find_entries(source, asked_for, size, (page - 1) * size)
            return source.reply(query, records, words=asked_for.words, total=total)
        if not query.strip():
            raise SourceRefused(source.name, "cannot search for nothing: the query is empty")
        first, last = asked.pop("mindate", None), asked.pop("maxdate", None)
        notes = [f"full texts are {NOT_CHECKED}"] if asked.pop("full_text", False) else []
        tags = [[f"source:{source.name}"]]
        for name, value in asked.items():
            values = value if isinstance(value, list) else [value]
            if any(each is not None for each in values):
                tags.append([f"{name}:{each}".lower() for each in values])
        lines, total = self._index.search(
            query,
            tags=tags,
            days=(first and int(f"{first:%Y%m%d}"), last and int(f"{last:%Y%m%d}")),
            most=size,
            start=(page - 1) * size,
            left_to_right=source.name == "pubmed",
        )
        records = [self._evidence(line, source.name) for line in lines]
        return source.reply(query, records, words=plain_words(query), total=total, notes=notes)

    def _find_entries(self, source: Source, asked: Question, most: int, start: int) -> tuple[list[Evidence], int]:
        """The entries on the drugs and conditions that a query names; where it names none of them, those that hold its
        words; and how many there are in all."""
        named, _ = self._entries(source.name, [*asked.conditions, *asked.drugs])
        if named or asked.drugs:
            return named[start : start + most], len(named)
        lines, total = self._index.search(
            " OR ".join(f'"{each}"' for each in asked.conditions) or asked.words,
            tags=[[f"source:{source.name}"]],
            most=most,
            start=start,
        )
        return [self._evidence(line, source.name) for line in lines], total

    def look_up(self, source: Source, names: Sequence[str]) -> SourceReply:
        """Answer a look-up of things by their names, mostly drugs; those that it holds nothing on are named."""
        found, lacking = self._entries(source.name, names)
        notes = [f"{NOT_CHECKED}: the library holds no entry on {', '.join(lacking)}"] if lacking else []
        shown = found[:MAX_IDS] if source.name == "reactome" else found
        return source.reply(", ".join(names), shown, notes=notes)

    def _entries(self, source: str, names: Sequence[str]) -> tuple[list[Evidence], list[str]]:
        """A source's entries on things, those on most of them first; and the things on which there is none."""
        wanted: dict[str, list[int]] = {}  # names in the index -> places among the things asked for
        for place, name in enumerate(names):
            for each in {name.strip().casefold(), canonical_drug(name), canonical_condition(name)} - {None}:
                wanted.setdefault(f"{source}:{each}", []).append(place)
        found = list[tuple[int, list[int], str, Evidence]]()
        for line in self._index.named(*wanted):
            row = row_of(line)
            if isinstance(row, EntryRow):
                places = sorted({place for name in row.indexed()["name"] for place in wanted.get(name, ())})
                found.append((-len(places), places, row.evidence.key, row.evidence))
        answered = {place for _, places, _, _ in found for place in places}
        lacking = [name for place, name in enumerate(names) if place not in answered]
        return [each[-1] for each in sorted(found, key=lambda each: each[:3])], lacking

    def papers(self, source: Source, pmids: Sequence[str]) -> SourceReply:
        """Give publications by their PMIDs, in that order; those that it does not hold are named."""
        records = self.by_numbers([f"pmid:{pmid}" for pmid in pmids], source.name)
        by_pmid = {record.record.pmid: record for record in records}
        lacking = [pmid for pmid in pmids if pmid not in by_pmid]
        notes = [f"{NOT_CHECKED}: the library does not hold PMID {', '.join(lacking)}"] if lacking else []
        return source.reply(", ".join(pmids), [by_pmid[each] for each in pmids if each in by_pmid], notes=notes)

    def by_numbers(self, names: Iterable[str], source: str = "europepmc") -> list[Evidence]:
        """Give the publications of some numbers (`pmid:…`, `pmcid:…`, `doi:…`); unknown ones are left out."""
        lines = self._index.named(*(name.lower() if name.startswith("doi:") else name for name in names))
        return [self._evidence(line, source) for line in lines]

    def citations(self, source: Source, pmid: str) -> SourceReply:
        """Give what cites a publication and what it cites, as far as it holds that."""
        lines = self._index.named(f"citing:{pmid}", f"cited:{pmid}")
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
        """Give one trial by its NCT number."""
        records = [self._evidence(line, source.name) for line in self._index.named(f"nct:{nct_id}")]
        notes = [] if records else [f"{NOT_CHECKED}: the library does not hold {nct_id}"]
        return source.reply(nct_id, records, notes=notes)

    def full_text(self, pmcid: str) -> str:
        """Give the JATS XML of an article.

        Raises:
            SourceRefused: it holds none.
        """
        for line in self._index.named(f"pmcid:{pmcid}"):
            row = row_of(line)
            if isinstance(row, PublicationRow) and row.full_text:
                return row.full_text
        raise SourceRefused("europepmc", f"was {NOT_CHECKED}: the library holds no full text of it")

    def work(self, source: str, doi: str) -> dict[str, Any] | None:
        """Give what a source says of a work, as the source writes it; None where it does not hold that."""
        number = checked_identifier("doi", doi)
        for row in map(row_of, self._index.named(f"doi:{number}") if number else ()):
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
        assert isinstance(row, TrialRow | EntryRow)
        return row.evidence() if isinstance(row, TrialRow) else row.evidence
