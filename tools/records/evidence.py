"""Evidence records, their citations, and merging of duplicates.

Two records are the same if they share a PMID, PMCID, DOI (compared in lower case), NCT number or URL, directly or
through a third record.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, field_validator, model_validator

from .card import authority, find_kind
from .kinds import (
    EVIDENCE_TYPES,
    KINDS,
    EvidenceType,
    Kind,
    Paper,
    Record,
    Trial,
    checked_identifier,
    read,
    unite,
)

_MISSPELT = 0.85  # difflib ratio of letters alone: "pubmd" and "pubmed" have 0.91, "medline" and "pubmed" 0.31


def _check_spelling(name: str) -> str:
    if name in authority() or not name.isalpha():
        return name
    if close := get_close_matches(name, authority(), 1, _MISSPELT):
        raise ValueError(f"there is no source {name!r}; did you mean {close[0]!r}? Rename a source of your own")
    return name


SourceName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$"), AfterValidator(_check_spelling)]
"""Source of a record: one of `registry.cards`, `preprint`, `web`, or a user's own source, whose name may not look like
one of those misspelt; `my-pubmed` and `pubmed2` do not."""

__all__ = ["Citation", "Evidence", "SearchResult", "checked_identifier", "date_parts", "merge", "surname"]
UNKNOWN_DATE = "Unknown"

_TITLE_LIMIT = 500  # characters, fixed by the interface
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?://([^/?#]*))?([^?#]*)(\?[^#]+)?", re.IGNORECASE)  # RFC 3986, appendix B
_RETRACTED = re.compile(
    r"^\W*(?:(?i:retracted(?: article| paper)?)\s*[:\]]"
    r"|(?:RETRACTED|WITHDRAWN|REMOVED)(?: ARTICLE| PAPER)?\s*[:\]\u2013\u2014-]"
    r"|(?i:retraction(?: note| notice)?(?: to| of| for)?)\s*:)"
    r"|[\[(](?i:retracted|withdrawn)(?i: article| paper)?(?:[.,;:] (?i:see)[^()\[\]]*)?[\])]\W*$"
)
"""Publishers' marks before or behind a title: `RETRACTED:`, `WITHDRAWN:`, `REMOVED:`, `[Retracted]`, `Retraction:`,
`(Retracted)`, `(Retracted article. See vol. 3, 2010)`.

In lower case "withdrawn:" is a word of a title like any other."""
_DATE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?")


def date_parts(date: str) -> tuple[int, ...]:
    """Split a date into year, month and day, as far as given; empty for anything else."""
    return tuple(map(int, date.split("-"))) if _DATE.fullmatch(date) else ()


def surname(author: str) -> str:
    """Return the surname of an author written `Surname AB`, with or without a suffix such as `Jr`.

    >>> surname("van der Berg AB"), surname("Smith J Jr"), surname("STEP Group")
    ('van der Berg', 'Smith', 'STEP Group')
    """
    words = author.split()
    if len(words) > 1 and words[-1] in ("Jr", "Sr", "II", "III"):
        words.pop()
    if len(words) > 1 and words[-1].isalpha() and words[-1].isupper() and len(words[-1]) <= 4:
        words.pop()
    return " ".join(words)


class Citation(BaseModel, frozen=True, extra="forbid"):
    """Bibliographic citation of a record."""

    MAX_AUTHORS_IN_CITATION: ClassVar[int] = 3

    source: SourceName
    title: str = Field(min_length=1, max_length=_TITLE_LIMIT)
    """1 to 500 characters; longer titles are cut with `…`."""
    url: str
    date: str = Field(default=UNKNOWN_DATE, pattern=rf"^({_DATE.pattern}|{UNKNOWN_DATE})$")
    """`YYYY-MM-DD`, or the precision the source gives (`2019-12`, `2019`), or `Unknown`."""
    authors: list[str] = []
    """`Surname Initials`; empty if the source names none."""

    @field_validator("title", mode="before")
    @classmethod
    def _cut_title(cls, title: object) -> object:
        if isinstance(title, str):
            title = " ".join(title.split())
            return title if len(title) <= _TITLE_LIMIT else title[: _TITLE_LIMIT - 1] + "…"
        return title

    @property
    def formatted(self) -> str:
        """The citation on one line: `Smith J, Jones A, Brown B et al. (2024-01-15). Title. URL`."""
        authors = ", ".join(self.authors[: self.MAX_AUTHORS_IN_CITATION]) or "No authors listed"
        if len(self.authors) > self.MAX_AUTHORS_IN_CITATION:
            authors += " et al."
        end = "" if self.title.endswith((".", "?", "!", "…")) else "."
        return f"{authors} ({self.date}). {self.title}{end} {self.url}"


class Evidence(BaseModel, frozen=True, extra="forbid", serialize_by_alias=True, defer_build=True):
    """A record from one or more sources.

    Created with a typed `record`, or with `metadata`, a mapping of its fields; the kind is given by its
    `kind`, else by the source. In JSON, the record is called `metadata`.

    >>> cited = Citation(source="pubmed", title="A trial", url="https://pubmed.ncbi.nlm.nih.gov/1/")
    >>> found = Evidence(content="A trial", citation=cited, metadata={"pmid": 1})
    >>> found.metadata["pmid"], found.record.pmid, found.record.kind
    ('1', '1', 'publication')
    """

    content: str = Field(min_length=1)
    """Title and text; without an abstract just the title, with `has_abstract` False."""
    citation: Citation
    relevance: float = Field(default=0.0, ge=0.0, le=1.0)
    """0 to 1, computed from the question and the source's own rank; 0 before ranking."""
    record: Record = Field(discriminator="kind", serialization_alias="metadata")
    """Typed data reported by the source."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            content: str,
            citation: Citation,
            relevance: float = 0.0,
            record: Record | None = None,
            metadata: Mapping[str, Any] | None = None,
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _read_metadata(cls, data: Any) -> Any:
        """Parse `metadata` as the kind it names, else the kind that the source gives."""
        if not isinstance(data, Mapping) or data.get("record") is not None:
            return data
        metadata = data.get("metadata")
        if not isinstance(metadata, Mapping | None):
            raise ValueError("metadata is not a mapping of fields")
        fields = {str(name): value for name, value in (metadata or {}).items()}
        kind = fields.pop("kind") if fields.get("kind") in KINDS else None
        cited = data.get("citation")  # validated later if it names no source
        source = cited.get("source") if isinstance(cited, Mapping) else getattr(cited, "source", None)
        of_source: Kind = find_kind(source) if isinstance(source, str) else "page"
        rest = {name: value for name, value in data.items() if name not in ("metadata", "record")}
        return {**rest, "record": read(kind or of_source, fields)}

    @model_validator(mode="after")
    def _note_retraction(self) -> Self:
        """Flag a publication or page whose title says that it is retracted or withdrawn, whatever its source says."""
        paper = self.record
        if isinstance(paper, Paper) and paper.kind != "notice" and _RETRACTED.search(self.citation.title):
            object.__setattr__(self, "record", paper.model_copy(update={"retracted": True}))
        return self

    @classmethod
    def entry(
        cls, source: SourceName, title: str, lines: Iterable[str], record: Record, url: str, date: str = UNKNOWN_DATE
    ) -> Self:
        """Create a database entry with a title and one line per statement."""
        citation = Citation(source=source, title=title, url=url, date=date)
        return cls(content="\n".join([title, "", *lines]), citation=citation, record=record)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The record's reported fields by name, read-only; a missing key means not reported."""
        return MappingProxyType(self.record.reported())

    @property
    def paper(self) -> Paper | None:
        """The record as a publication, notice or page; None for other kinds."""
        return self.record if isinstance(self.record, Paper) else None

    @property
    def trial(self) -> Trial | None:
        return self.record if isinstance(self.record, Trial) else None

    def noting(self, **fields: Any) -> Self:
        """Return the record with changed fields; None removes a field."""
        return self.model_copy(update={"metadata": {**self.record.reported(), **fields}})

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy like pydantic; new `metadata` is parsed as a record of the same kind."""
        changed = dict(update or {})
        if "metadata" in changed:
            changed["record"] = read(self.record.kind, changed.pop("metadata"))
        return super().model_copy(update=changed, deep=deep)

    @property
    def identifiers(self) -> frozenset[str]:
        """Identifiers shared with duplicates: `pmid:…`, `pmcid:…`, `doi:…`, `nct:…`, `url:…`."""
        return frozenset(_list_names(self.record, self.citation.url))

    @property
    def key(self) -> str:
        """The record's key in claims and references: PMID, else NCT number, DOI, PMCID or URL."""
        return next(_list_names(self.record, self.citation.url), f"title:{self.citation.title}")

    @property
    def has_abstract(self) -> bool:
        return self.record.has_abstract is not False

    @property
    def evidence_type(self) -> EvidenceType | None:
        """What the record is evidence on, by its kind; None for a notice or a page.

        The report's `evidence_table` refines it by what was read: a study in animals is on the mechanism.
        """
        return EVIDENCE_TYPES.get(self.record.kind)

    @property
    def is_preprint(self) -> bool:
        """Whether the record is known to lack peer review."""
        return self.citation.source == "preprint" or self.record.is_preprint is True

    def says_as(self, other: "Evidence") -> bool:
        """Whether it equals another record apart from its relevance."""
        if (self.content, self.citation, self.record) != (other.content, other.citation, other.record):
            return False
        return repr(self.record.extra) == repr(other.record.extra)  # unlike ==, tells True from 1

    def _repr_html_(self) -> str:
        """Render the record for notebooks; its text is escaped, since it is untrusted."""
        title = escape(self.citation.title)
        address = self.citation.url
        head = f'<a href="{escape(address)}">{title}</a>' if address.startswith("https://") else title
        byline = ", ".join(self.citation.authors[: Citation.MAX_AUTHORS_IN_CITATION]) or "No authors listed"
        text = self.content.removeprefix(self.citation.title).strip()
        return (
            f"<strong>{head}</strong><br>{escape(byline)} ({escape(self.citation.date)}), {self.citation.source}, "
            f"<code>{escape(self.key)}</code><details><summary>Text</summary><p>{escape(text)}</p></details>"
        )


class SearchResult(BaseModel, extra="forbid", defer_build=True):
    """Result of one search over several sources."""

    query: str
    evidence: list[Evidence] = []
    sources_searched: list[SourceName] = []
    """The sources that answered, with or without hits."""
    total_found: int = Field(default=0, ge=0)
    """Hits reported by the sources, before limiting their number and merging duplicates."""
    errors: list[str] = []
    """One line per failed source."""


def merge(records: Iterable[Evidence]) -> list[Evidence]:
    """Merge duplicate records.

    Idempotent and independent of the order of `records`. In a group, the record from the most authoritative source
    gives content and citation (a registry entry or a PubMed record before Europe PMC, a published version before its
    preprint); the data of all are combined, with the highest relevance. Sorted by relevance, then key.
    """
    parent = dict[str, str]()
    groups = defaultdict[str, list[Evidence]](list)
    names = defaultdict[str, set[str]](set)

    def root_of(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    listed = [(record, record.key) for record in records]
    for record, key in listed:
        for name in (*record.identifiers, *record.record.same_as):
            parent[root_of(name)] = root_of(key)
    for record, key in listed:
        groups[root_of(key)].append(record)
    for name in parent:
        names[root_of(name)].add(name)
    united = [_unite(group, names[root]) for root, group in groups.items()]
    return sorted(united, key=lambda record: (-record.relevance, record.key))


def index_by_identifier(records: Iterable[Evidence]) -> dict[str, Evidence]:
    """Return records by their keys and all their other identifiers; where two share one, the later record counts."""
    by_identifier: dict[str, Evidence] = {}
    for record in records:
        by_identifier |= dict.fromkeys((record.key, *record.identifiers), record)
    return by_identifier


def _unite(group: Sequence[Evidence], names: set[str]) -> Evidence:
    """Unite duplicate records; `names` are all their identifiers, including those of earlier merges."""
    if len(group) == 1:
        return group[0]
    ordered = _rank_records(group)
    first = ordered[0]
    record = unite([version.record for version in ordered])
    sources: set[str] = set()
    for version in ordered:
        sources.update((version.citation.source, *version.record.found_in))
    metadata = {
        "has_abstract": first.has_abstract,
        "is_preprint": first.is_preprint,
        "found_in": sorted(sources),
        "same_as": sorted(names.difference(_list_names(record, first.citation.url))),
        "given_by": first.record.given_by,
    }
    relevance = max(version.relevance for version in group)
    return first.model_copy(update={"relevance": relevance, "record": record.model_copy(update=metadata)})


def _rank_records(group: Iterable[Evidence]) -> list[Evidence]:
    """List the distinct records, the most authoritative first; ties are broken by content."""
    tied: dict[tuple[Any, ...], list[Evidence]] = {}
    for record in group:
        place = authority().get(record.citation.source, len(authority()))
        is_unconfirmed = record.record.given_by is not None  # or a stranger's text would pass for the source's
        rank = (is_unconfirmed, record.is_preprint, not record.has_abstract, place, -len(record.content))
        alike = tied.setdefault(rank, [])
        is_repeated = any(record.says_as(other) for other in alike)
        if not is_repeated:
            alike.append(record)
    ordered: list[Evidence] = []
    for rank in sorted(tied):
        # repr is slow, and most ranks hold one record
        ordered += sorted(tied[rank], key=repr) if tied[rank][1:] else tied[rank]
    return ordered


def _list_names(record: Record, url: str) -> Iterator[str]:
    """Yield the identifiers of a record at a URL, its key first."""
    for kind, value in (("pmid", record.pmid), ("nct", record.nct_id), ("doi", record.doi), ("pmcid", record.pmcid)):
        if value:
            yield f"{kind}:{value}"
    match = _URL.match(url.strip())  # without scheme, `www.`, trailing slash and fragment, host in lower case
    assert match  # matches any string, as each part is optional
    host, path, query = match.groups("")
    if address := f"{host.lower().removeprefix('www.')}{path.rstrip('/')}{query}":
        yield f"url:{address}"
