"""Evidence: what a source said, who said it, and when two records are the same one.

Identity is a union: two records are one when they share a PMID, PMCID, DOI (compared in lower case), NCT number or URL,
directly or through a third record.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from typing import Any, ClassVar, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

SourceName = Literal[
    "clinicaltrials",
    "pubmed",
    "europepmc",
    "openalex",
    "opentargets",
    "chembl",
    "openfda",
    "preprint",
    "web",
]
"""Where a record comes from: the list of the sources, each the name of its file in `tools/sources/` (see `registry`).

The order is that of authority and of search: of records that are one, the first source's speaks for all. Two names
have no file: `preprint` marks records that Europe PMC hands out without peer review, `web` those of a source of the
user's own.
"""

SOURCE_NAMES: tuple[str, ...] = get_args(SourceName)
UNKNOWN_DATE = "Unknown"

_TITLE_LIMIT = 500  # characters, by contract
_PATTERNS = {
    "pmid": re.compile(r"[1-9][0-9]{0,8}"),  # NLM: 1 to 8 digits today, one spare
    "pmcid": re.compile(r"PMC[1-9][0-9]{0,8}"),
    "doi": re.compile(r"10\.[0-9]{4,9}/[^\s\"<>]+"),  # Crossref's recommended expression, any suffix
    "nct_id": re.compile(r"NCT[0-9]{8}"),
}
_DOI_PREFIX = re.compile(r"^(https?://(dx\.)?doi\.org/|doi:\s*)", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?")

Metadata = dict[str, Any]


def checked_identifier(kind: str, value: object) -> str | None:
    """Give an identifier in its one written form, or None when it is not one.

    Args:
        kind: `pmid`, `pmcid`, `doi` or `nct_id`.
        value: what a source or a model wrote.

    >>> checked_identifier("doi", "https://doi.org/10.1000/ABC")
    '10.1000/abc'
    >>> checked_identifier("pmid", "not a number") is None
    True
    """
    return _checked(kind, str(value).strip()) if value is not None else None


@lru_cache(maxsize=8192)
def _checked(kind: str, text: str) -> str | None:
    """Remembered: merging asks after the same identifiers over and over."""
    if kind == "doi":
        text = _DOI_PREFIX.sub("", text).lower()
    elif kind == "pmid":
        text = text.removeprefix("PMID:").strip()
    else:
        text = text.upper()
    return text if _PATTERNS[kind].fullmatch(text) else None


class Citation(BaseModel):
    """Who said it, where, when."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    MAX_AUTHORS_IN_CITATION: ClassVar[int] = 3

    source: SourceName
    title: str = Field(min_length=1, max_length=_TITLE_LIMIT)
    """1 to 500 characters; longer titles are cut with `…`."""
    url: str
    date: str = UNKNOWN_DATE
    """`YYYY-MM-DD`, or the precision the source gives (`2019-12`, `2019`), or `Unknown`."""
    authors: list[str] = Field(default_factory=list)
    """`Surname Initials`; empty where the source names none."""

    @field_validator("title", mode="before")
    @classmethod
    def _cut_title(cls, title: object) -> object:
        if isinstance(title, str):
            title = " ".join(title.split())
            return title if len(title) <= _TITLE_LIMIT else title[: _TITLE_LIMIT - 1] + "…"
        return title

    @field_validator("date")
    @classmethod
    def _checked_date(cls, date: str) -> str:
        if date != UNKNOWN_DATE and not _DATE.fullmatch(date):
            raise ValueError(f"date {date!r} is none of YYYY-MM-DD, YYYY-MM, YYYY, {UNKNOWN_DATE}")
        return date

    @property
    def formatted(self) -> str:
        """The citation in a line: `Smith J, Jones A, Brown B et al. (2024-01-15). Title. URL`."""
        shown = ", ".join(self.authors[: self.MAX_AUTHORS_IN_CITATION]) or "No authors listed"
        if len(self.authors) > self.MAX_AUTHORS_IN_CITATION:
            shown += " et al."
        end = "" if self.title.endswith((".", "?", "!", "…")) else "."
        return f"{shown} ({self.date}). {self.title}{end} {self.url}"


class Evidence(BaseModel):
    """One record of one or more sources, as the agents see it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    content: str = Field(min_length=1)
    """Title and text; a record without an abstract holds its title alone and has `metadata["has_abstract"]` False."""
    citation: Citation
    relevance: float = Field(default=0.0, ge=0.0, le=1.0)
    """0 to 1, computed from the question and the source's own rank; 0 before ranking."""
    metadata: Metadata = Field(default_factory=dict)
    """Source-dependent; a missing key means that the source did not report it."""

    @property
    def identifiers(self) -> frozenset[str]:
        """Everything that makes a record the same as another: `pmid:…`, `pmcid:…`, `doi:…`, `nct:…`, `url:…`."""
        found = {
            f"{kind.removesuffix('_id')}:{value}"
            for kind in _PATTERNS
            if (value := checked_identifier(kind, self.metadata.get(kind)))
        }
        if url := _plain_url(self.citation.url):
            found.add(f"url:{url}")
        return frozenset(found)

    @property
    def key(self) -> str:
        """The record's name in claims and references: its PMID, else NCT number, DOI, PMCID or URL."""
        order = ("pmid:", "nct:", "doi:", "pmcid:", "url:")
        return min(self.identifiers or {f"title:{self.citation.title}"}, key=lambda i: (_rank(i, order), i))

    @property
    def has_abstract(self) -> bool:
        """Whether there is more to read than a title."""
        return bool(self.metadata.get("has_abstract", True))

    @property
    def is_preprint(self) -> bool:
        """Whether the record is known to lack peer review."""
        return self.citation.source == "preprint" or bool(self.metadata.get("is_preprint"))

    def _repr_html_(self) -> str:
        """The record as notebooks show it; its text is escaped, since anyone may have written it."""
        title, address = escape(self.citation.title), self.citation.url
        head = f'<a href="{escape(address)}">{title}</a>' if address.startswith("https://") else title
        byline = ", ".join(self.citation.authors[: Citation.MAX_AUTHORS_IN_CITATION]) or "No authors listed"
        text = self.content.removeprefix(self.citation.title).strip()
        return (
            f"<strong>{head}</strong><br>{escape(byline)} ({escape(self.citation.date)}), {self.citation.source}, "
            f"<code>{escape(self.key)}</code><details><summary>Text</summary><p>{escape(text)}</p></details>"
        )


class SearchResult(BaseModel):
    """What one search over several sources gave."""

    model_config = ConfigDict(extra="forbid")

    query: str
    evidence: list[Evidence] = Field(default_factory=list)
    sources_searched: list[SourceName] = Field(default_factory=list)
    """The sources that answered, with or without hits."""
    total_found: int = Field(default=0, ge=0)
    """Hits that the sources report, before the cut to what was asked and before duplicates are merged."""
    errors: list[str] = Field(default_factory=list)
    """One line for each source that failed, by name and reason."""


def merge(records: Iterable[Evidence]) -> list[Evidence]:
    """Unite the records that are the same one.

    Idempotent and independent of the order of `records`. Of a group, the record of the most authoritative source gives
    content and citation (a registry entry or a PubMed record before Europe PMC, a published version before its
    preprint); the metadata of all are united, the highest relevance stays. Sorted by relevance, then key.
    """
    merged = [_unite(group) for group in _groups(records)]
    return sorted(merged, key=lambda e: (-e.relevance, e.key))


def _groups(records: Iterable[Evidence]) -> list[list[Evidence]]:
    groups: list[tuple[set[str], list[Evidence]]] = []
    for record in records:
        names, members = set(_all_identifiers(record)), [record]
        apart = []
        for other_names, others in groups:
            if names & other_names:
                names |= other_names
                members = others + members
            else:
                apart.append((other_names, others))
        groups = [*apart, (names, members)]
    return [members for _, members in groups]


def _all_identifiers(record: Evidence) -> frozenset[str]:
    """The record's own identifiers and those of the records it was united from."""
    return record.identifiers | _listed(record, "same_as") | {record.key}


def _listed(record: Evidence, name: str) -> frozenset[str]:
    """A list of names in the metadata; empty where something else stands there."""
    value = record.metadata.get(name)
    return frozenset(map(str, value)) if isinstance(value, list | tuple | set | frozenset) else frozenset()


def _unite(group: Sequence[Evidence]) -> Evidence:
    if len(group) == 1:
        return group[0]
    ordered = sorted(group, key=_authority)
    first = ordered[0]
    metadata: Metadata = {}
    for record in ordered:
        for name, value in record.metadata.items():
            metadata[name] = _united(name, metadata[name], value) if name in metadata else value
    metadata["has_abstract"] = first.has_abstract
    metadata["is_preprint"] = first.is_preprint
    metadata["found_in"] = sorted({r.citation.source for r in group}.union(*(_listed(r, "found_in") for r in group)))
    metadata.pop("same_as", None)
    united = first.model_copy(update={"relevance": max(r.relevance for r in group), "metadata": metadata})
    if others := frozenset().union(*map(_all_identifiers, group)) - united.identifiers:
        metadata["same_as"] = sorted(others)
    return united


def _united(name: str, kept: Any, other: Any) -> Any:
    if name in _PATTERNS and checked_identifier(name, kept) is None:
        return other if checked_identifier(name, other) else kept
    if isinstance(kept, list) and isinstance(other, list):
        return kept + [value for value in other if value not in kept]
    if isinstance(kept, bool) and isinstance(other, bool):
        return kept or other
    if name == "cited_by_count" and isinstance(kept, int) and isinstance(other, int):
        return max(kept, other)
    return other if kept is None else kept


def _authority(record: Evidence) -> tuple[Any, ...]:
    """Sort key: the record that should speak for its group comes first; ties end in the content, never in the order."""
    return (
        record.is_preprint,
        not record.has_abstract,
        SOURCE_NAMES.index(record.citation.source),
        -len(record.content),
        repr(record),  # unlike JSON, fails on nothing that metadata may hold
    )


def _rank(text: str, prefixes: Sequence[str]) -> int:
    return next((i for i, prefix in enumerate(prefixes) if text.startswith(prefix)), len(prefixes))


@lru_cache(maxsize=8192)
def _plain_url(url: str) -> str:
    """A URL without scheme, `www.`, trailing slash and fragment, host in lower case; itself when it is not a URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.strip()
    host = parts.netloc.lower().removeprefix("www.")
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{parts.path.rstrip('/')}{query}"
