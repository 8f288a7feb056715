"""The sandbox's records: real publications, trials, drugs and diseases, summarised in the project's own words.

One JSON Lines file a kind. Identifiers, titles, authors, dates, types and figures are the records' own; abstracts and
trial summaries are not their publishers' text. `provenance` says where each record's facts were read.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from willowbark.tools.errors import UsageError

_KINDS = ("full_texts", "trials", "mechanisms", "diseases")
OWN_FULL_TEXT = "Told in Willowbark's own words after the article, which is not reproduced."
"""Stands in every served full text."""
OWN_WORDS = "Summary in Willowbark's own words, not the publisher's abstract."
"""Stands beside every served abstract where its protocol has a place for it."""


class Publication(BaseModel, frozen=True, extra="ignore"):
    """An article of PubMed, or a preprint."""

    pmid: str | None = Field(pattern=r"^\d{1,8}$")
    """None for preprints."""
    ppr_id: str | None = Field(default=None, pattern=r"^PPR\d+$")
    """Europe PMC's number of a preprint; None for articles, and where it is not confirmed."""
    title: str = Field(min_length=1)
    authors: list[str] = []
    """`Surname AB`, groups by their names."""
    date: str | None = Field(default=None, pattern=r"^\d{4}(-\d\d){0,2}$")
    """As precise as it is known; None for not at all."""
    journal: str | None = None
    journal_abbreviation: str | None = None
    """As NLM shortens the title; None where it is not known."""
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    """Both ends in full: `851-860`."""
    doi: str | None = None
    pmcid: str | None = None
    publication_types: list[str] = []
    nct_ids: list[str] = []
    mesh_terms: list[str] = []
    topic: str
    abstract: str | None = None
    """None where the record has none."""
    crossref: dict[str, Any] | None = None
    """The work as Crossref writes it, updates included; None where Crossref's word on it is not known."""
    openalex: dict[str, Any] | None = None
    """The work as OpenAlex writes it; None where OpenAlex's word on it is not known."""
    published_doi: str | None = None
    """Of a preprint: the article it became; None where that is not known."""
    full_text: str | None = Field(default=None, repr=False)
    """JATS XML of an open-access article; None where there is none to serve."""
    provenance: str

    @property
    def is_preprint(self) -> bool:
        """Whether it is a preprint, which PubMed does not serve here."""
        return self.pmid is None

    @property
    def number(self) -> str | None:
        """What Europe PMC knows it by; None for a preprint of unconfirmed number, which no source can serve."""
        return self.pmid or self.ppr_id


class FullText(BaseModel, frozen=True):
    """What an open-access article says in some of its sections, told in the project's own words."""

    pmcid: str = Field(pattern=r"^PMC\d+$")
    licence: str = Field(pattern=r"^CC (BY \d\.\d|0 1\.0)$")
    """The article's own: only CC BY and CC0 are taken."""
    licence_url: str = Field(pattern=r"^https?://creativecommons\.org/")
    sections: dict[str, list[str]]
    """Paragraphs by the article's heading."""
    provenance: str


class Trial(BaseModel, frozen=True):
    """A study of ClinicalTrials.gov, as its API writes it."""

    nct_id: str = Field(pattern=r"^NCT\d{8}$")
    study: dict[str, Any] = Field(repr=False)
    """What is served."""
    topic: str
    provenance: str


class Pathway(BaseModel, frozen=True):
    """A pathway of Reactome."""

    id: str = Field(pattern=r"^R-HSA-\d+$")
    name: str


class Mechanism(BaseModel, frozen=True, extra="ignore"):
    """What a drug does to one target; None is "not confirmed" throughout."""

    mechanism_of_action: str
    action_type: str | None = None
    target_chembl_id: str | None = Field(default=None, pattern=r"^CHEMBL\d+$")
    target_name: str | None = None
    gene_symbols: list[str] = []
    uniprot_ids: list[str] = []
    """One a gene symbol."""
    ensembl_ids: list[str] = []
    """One a gene symbol, or fewer where some are not confirmed."""
    pathways: list[Pathway] = []
    """Those that all of the targets take part in; others are not confirmed."""


class Indication(BaseModel, frozen=True, extra="ignore"):
    """A condition that a drug is approved or was tried for; None is "not confirmed" throughout."""

    mesh_id: str | None = None
    mesh_heading: str | None = None
    efo_id: str | None = None
    efo_term: str | None = None
    max_phase: float | None = None
    """0.5 to 4; 4 is approved."""


class Drug(BaseModel, frozen=True, extra="ignore"):
    """A drug with its mechanisms and indications."""

    name: str
    """In capitals, as ChEMBL writes it."""
    synonyms: list[str] = []
    molecule_chembl_id: str | None = Field(default=None, pattern=r"^CHEMBL\d+$")
    """None where it is not confirmed: ChEMBL and Open Targets can't serve the drug then."""
    molecule_type: str | None = None
    max_phase: float | None = None
    first_approval: int | None = None
    mechanisms: list[Mechanism] = []
    indications: list[Indication] = []
    provenance: str


class DiseaseDrug(BaseModel, frozen=True, extra="ignore"):
    """A drug of a disease's list."""

    name: str
    molecule_chembl_id: str | None = None
    max_phase: float | None = None


class DiseaseTarget(BaseModel, frozen=True, extra="ignore"):
    """A target associated with a disease."""

    symbol: str
    ensembl_id: str
    score: float = Field(ge=0, le=1)


class Disease(BaseModel, frozen=True, extra="ignore"):
    """A disease of Open Targets' ontology."""

    id: str = Field(pattern=r"^(EFO|MONDO|HP|DOID|Orphanet)_\d+$")
    name: str
    synonyms: list[str] = []
    mesh_id: str | None = None
    drugs: list[DiseaseDrug] = []
    targets: list[DiseaseTarget] = []
    provenance: str


class Library(BaseModel, frozen=True):
    """All records, in the order of their files."""

    publications: tuple[Publication, ...] = ()
    full_texts: tuple[FullText, ...] = ()
    trials: tuple[Trial, ...] = ()
    drugs: tuple[Drug, ...] = ()
    diseases: tuple[Disease, ...] = ()
    others: Mapping[str, tuple[dict[str, Any], ...]] = {}
    """Records of the remaining files as they are, by file name without `.jsonl`, for the sources that know them."""

    @field_validator("publications")
    @classmethod
    def _each_pmid_once(cls, publications: tuple[Publication, ...]) -> tuple[Publication, ...]:
        twice = [pmid for pmid, times in Counter(p.pmid for p in publications if p.pmid).items() if times > 1]
        if twice:
            raise ValueError(f"PMID {', '.join(twice)} stands more than once")
        return publications

    @classmethod
    def load(cls, folder: Path | None = None) -> "Library":
        """Read a library.

        Args:
            folder: holds `publications_*.jsonl`, `full_texts.jsonl`, `trials.jsonl`, `mechanisms.jsonl`,
                `diseases.jsonl`, none of which need be there, and further `.jsonl` files for sources that know them
                (`citations.jsonl`: which PMID is `citing` which one `cited`); None is the bundled library.

        Raises:
            UsageError: there is no such folder, or a record in it is not of the library's form.
        """
        place: Traversable = folder or resources.files(__name__)
        try:
            return cls(
                publications=tuple(_read(place, "publications_")),
                full_texts=tuple(_read(place, "full_texts.")),
                trials=tuple(map(_trial, _read(place, "trials."))),
                drugs=tuple(_read(place, "mechanisms.")),
                diseases=tuple(_read(place, "diseases.")),
                others={name: tuple(_read(place, f"{name}.")) for name in _others(place)},
            )
        except (OSError, ValidationError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"the sandbox library in {place} cannot be read: {error}") from error


@cache
def summary(folder: Path | None = None) -> str:
    """Say in one line what a library covers, for whoever asks about something else; see `Library.load`."""
    place: Traversable = folder or resources.files(__name__)
    publications = list(_read(place, "publications_"))
    trials = [each["willowbark"] for each in _read(place, "trials.")]
    found = Counter(each["topic"].replace("_", " ") for each in (*publications, *trials) if each["topic"] != "other")
    *some, last = [topic for topic, _ in found.most_common()] or ["nothing"]
    topics = f"{', '.join(some)} and {last}" if some else last
    served = sum((each.get("pmid") or each.get("ppr_id")) is not None for each in publications)
    drugs = sum(1 for _ in _read(place, "mechanisms."))
    return f"{served} publications and {len(trials)} trials on {topics}; {drugs} drugs."


@cache
def pmids() -> frozenset[str]:
    """The PMIDs of the publications that come with the package."""
    return frozenset(each["pmid"] for each in _read(resources.files(__name__), "publications_") if each.get("pmid"))


def _files(folder: Traversable) -> Iterator[Traversable]:
    """The files of a library; of the bundled one also those that lie with the local library."""
    yield from folder.iterdir()
    if folder == resources.files(__name__):
        bundled = resources.files("willowbark.tools.library").joinpath("bundled").iterdir()
        yield from (file for file in bundled if not file.name.startswith("entries"))


def _others(folder: Traversable) -> list[str]:
    names = (file.name.removesuffix(".jsonl") for file in _files(folder) if file.name.endswith(".jsonl"))
    return sorted(name for name in names if name not in _KINDS and not name.startswith("publications_"))


def _read(folder: Traversable, start: str) -> Iterator[Any]:
    files = sorted(
        (file for file in _files(folder) if file.name.startswith(start) and file.name.endswith(".jsonl")),
        key=lambda file: file.name,
    )
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip():
                yield json.loads(line)


def _trial(record: Mapping[str, Any]) -> Trial:
    """Part a record into the study as its API writes it, and what the library says of it."""
    study = {name: part for name, part in record.items() if name != "willowbark"}
    return Trial(nct_id=record["protocolSection"]["identificationModule"]["nctId"], study=study, **record["willowbark"])
