"""The records of a library as they stand in its files, and the evidence that they are.

A library is a folder of JSON Lines files (`*.jsonl`, or `*.jsonl.gz`), a record a line; the fields that a record has
tell what it is, its file's name does not. `docs/how-to/run-offline.md` describes them for people.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, Field, ValidationError

from ..errors import UsageError
from ..evidence import UNKNOWN_DATE, Citation, Evidence, SourceName
from ..records import Notice, Publication
from ..sources.publications import NOTICE_TYPES, trial_numbers, written
from ..sources.studies.clinicaltrials_record import parse_study
from ..works.jats import FullText, parse_full_text

BROADER = {"Randomized Controlled Trial": "Clinical Trial"}
"""PubMed's tree of publication types: who asks for the broader finds the narrower."""


class LibraryRow(BaseModel, frozen=True, extra="ignore"):
    """A record of a library.

    Attributes:
        provenance: where its facts were read.
    """

    KIND: ClassVar[str]
    provenance: str = ""

    def indexed(self) -> dict[str, list[Any]]:
        """What it is found by, by field of the index.

        `name` holds what it is looked up by (`pmid:1`), `tag` the sources that give it and the filters that it passes
        (`source:pubmed`, `phase:phase3`), `day` the first day that its date can mean (20190301); the others its words.
        """
        raise NotImplementedError


class PublicationRow(LibraryRow, frozen=True):
    """An article of PubMed, or a preprint of Europe PMC."""

    KIND: ClassVar[str] = "publication"
    pmid: str | None = Field(default=None, pattern=r"^\d{1,8}$")
    """None for preprints."""
    ppr_id: str | None = Field(default=None, pattern=r"^PPR\d+$")
    """Europe PMC's number of a preprint; one without is held, and found by no search."""
    title: str = Field(min_length=1)
    authors: list[str] = []
    """`Surname AB`, groups by their names."""
    date: str | None = Field(default=None, pattern=r"^\d{4}(-\d\d){0,2}$")
    """As precise as it is known."""
    journal: str | None = None
    journal_abbreviation: str | None = None
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    """Both ends in full: `851-860`."""
    doi: str | None = None
    pmcid: str | None = None
    publication_types: list[str] = []
    nct_ids: list[str] = []
    mesh_terms: list[str] = []
    topic: str = "other"
    abstract: str | None = None
    crossref: dict[str, Any] | None = None
    """The work as Crossref writes it, updates included; None where Crossref's word on it is not known."""
    openalex: dict[str, Any] | None = None
    """The work as OpenAlex writes it; None likewise."""
    published_doi: str | None = None
    """Of a preprint: the article it became; None where that is not known."""
    full_text: str | None = Field(default=None, repr=False)
    """JATS XML of an open-access article."""

    def indexed(self) -> dict[str, list[Any]]:
        """PubMed and Europe PMC give it, a preprint Europe PMC alone."""
        types = [*self.publication_types, *(BROADER[each] for each in self.publication_types if each in BROADER)]
        numbers = {"pmid": self.pmid, "doi": self.doi and self.doi.lower(), "pmcid": self.pmcid, "ppr": self.ppr_id}
        sources = ["pubmed", "europepmc"] if self.pmid else ["europepmc"] if self.ppr_id else []
        return {
            "name": [f"{kind}:{number}" for kind, number in numbers.items() if number],
            "tag": [
                *(f"source:{each}" for each in sources),
                *(f"publication_types:{each.lower()}" for each in types),
                f"preprints:{'none' if self.pmid else 'only'}",
            ],
            "day": _first_day(self.date),
            "title": [self.title],
            "abstract": [self.abstract],
            "heading": self.mesh_terms,
            "author": self.authors,
            "journal": [self.journal, self.journal_abbreviation],
            "type": types,
            "number": [self.pmid or self.ppr_id, *self.nct_ids],
        }

    def read_full_text(self) -> FullText | None:
        """Read its full text; None where there is none.

        Raises:
            UnreadableReply: it is no JATS.
        """
        return parse_full_text(self.full_text.encode(), self.pmcid or "") if self.full_text else None

    def evidence(self, source: str) -> Evidence:
        """The record as `pubmed` or `europepmc` would give it."""
        types, is_preprint, by_pubmed = self.publication_types, self.pmid is None, source == "pubmed"
        named = trial_numbers(self.title, self.abstract or "")
        kind = Notice if NOTICE_TYPES.intersection(types) else Publication
        full_text = None if by_pubmed else self.read_full_text()
        given_as: SourceName = "pubmed" if by_pubmed else "preprint" if is_preprint else "europepmc"
        return Evidence(
            content=written(self.title, self.abstract or "", preprint=is_preprint or "Preprint" in types),
            citation=Citation(
                source=given_as,
                title=self.title,
                url=f"https://pubmed.ncbi.nlm.nih.gov/{self.pmid}/"
                if by_pubmed
                else f"https://europepmc.org/article/{'PPR' if is_preprint else 'MED'}/{self.pmid or self.ppr_id}",
                date=self.date or UNKNOWN_DATE,
                authors=self.authors,
            ),
            record=kind(
                pmid=self.pmid,
                pmcid=self.pmcid,
                doi=self.doi,
                ppr_id=self.ppr_id,
                journal=self.journal,
                journal_abbreviation=self.journal_abbreviation,
                volume=self.volume,
                issue=self.issue,
                pages=self.pages,
                license=full_text.licence.rpartition(" ")[0].lower() if full_text and full_text.licence else None,
                is_open_access=True if full_text else None,
                publication_types=types,
                is_preprint=is_preprint or "Preprint" in types,
                retracted="Retracted Publication" in types if by_pubmed or types else None,
                expression_of_concern=False if by_pubmed or types else None,
                corrected=False if by_pubmed or types else None,
                mesh_terms=self.mesh_terms,
                nct_ids=list(dict.fromkeys([*self.nct_ids, *named] if by_pubmed else named)),
                has_abstract=bool(self.abstract),
            ),
        )


class ArticleRow(LibraryRow, frozen=True):
    """An article as PubMed's baseline gives it: the facts of `pubmed_record.article_facts`."""

    KIND: ClassVar[str] = "publication"
    facts: dict[str, Any]
    file: str = ""
    """Of the baseline, from which it was read."""

    def indexed(self) -> dict[str, list[Any]]:
        """As PubMed is searched: keywords with title and abstract, substances by `[nm]`."""
        said, cited = self.facts["metadata"], self.facts["citation"]
        types = [*said["publication_types"], *(BROADER[each] for each in said["publication_types"] if each in BROADER)]
        numbers = {"pmid": said["pmid"], "doi": said["doi"], "pmcid": said["pmcid"]}
        return {
            "name": [f"{kind}:{number}" for kind, number in numbers.items() if number],
            "tag": ["source:pubmed", *(f"publication_types:{each.lower()}" for each in types)],
            "day": _first_day(None if cited["date"] == UNKNOWN_DATE else cited["date"]),
            "title": [cited["title"]],
            "abstract": [self.facts["content"].partition("\n\n")[2], *said["keywords"]],
            "heading": said["mesh_terms"],
            "substance": said["chemicals"],
            "author": cited["authors"],
            "journal": [said["journal"], said["journal_abbreviation"]],
            "type": types,
            "number": [said["pmid"], *said["nct_ids"]],
        }

    def evidence(self, _source: str = "pubmed") -> Evidence:
        """The record as PubMed would give it."""
        return Evidence.model_validate(self.facts)


class TrialRow(LibraryRow, frozen=True):
    """A study as ClinicalTrials.gov's API writes it."""

    KIND: ClassVar[str] = "trial"
    study: dict[str, Any] = Field(repr=False)
    topic: str = "other"

    def indexed(self) -> dict[str, list[Any]]:
        """ClinicalTrials.gov gives it; its headings are what the registry searches beside title and summary."""
        part: dict[str, Any] = self.study["protocolSection"]
        identity, conditions = part["identificationModule"], part.get("conditionsModule", {})
        design, status = part.get("designModule", {}), part.get("statusModule", {})
        arms = part.get("armsInterventionsModule", {})
        interventions = arms.get("interventions", [])
        derived = self.study.get("derivedSection", {}).values()
        filters = {
            "source": ["clinicaltrials"],
            "status": [status.get("overallStatus")],
            "study_type": [design.get("studyType")],
            "phase": design.get("phases", ()),
            "has_results": [self.study.get("hasResults", False)],
        }
        return {
            "name": [f"nct:{identity['nctId']}"],
            "tag": [f"{name}:{value}".lower() for name, values in filters.items() for value in values],
            "day": _first_day(status.get("startDateStruct", {}).get("date")),
            "title": [identity.get(name) for name in ("briefTitle", "officialTitle", "acronym")],
            "abstract": [part.get("descriptionModule", {}).get("briefSummary")],
            "heading": [
                *conditions.get("conditions", ()),
                *conditions.get("keywords", ()),
                *(name for each in interventions for name in (each.get("name"), *each.get("otherNames", ()))),
                *(each.get("label") for each in arms.get("armGroups", ())),
                *(mesh["term"] for module in derived for mesh in module.get("meshes", ())),
                *(each.get("measure") for each in part.get("outcomesModule", {}).get("primaryOutcomes", ())),
                part.get("sponsorCollaboratorsModule", {}).get("leadSponsor", {}).get("name"),
            ],
            "number": [identity["nctId"]],
        }

    def evidence(self) -> Evidence:
        """The record as ClinicalTrials.gov would give it.

        Raises:
            UsageError: the study lacks what a record needs.
        """
        if (found := parse_study(self.study)) is None:
            raise UsageError(f"{self.indexed()['name'][0]}: the library's record of this trial cannot be read")
        return found


class EntryRow(LibraryRow, frozen=True):
    """What a database says of one thing: a drug, a target, a label, a disease."""

    KIND: ClassVar[str] = "entry"
    source: SourceName
    asked_by: list[str] = Field(min_length=1)
    """The names of the drugs and conditions that it answers, in lower case."""
    evidence: Evidence

    def indexed(self) -> dict[str, list[Any]]:
        """Its source gives it."""
        return {
            "name": [f"{self.source}:{name}" for name in self.asked_by],
            "tag": [f"source:{self.source}"],
            "title": [self.evidence.citation.title],
            "abstract": [self.evidence.content],
        }


class CitationRow(LibraryRow, frozen=True):
    """That one publication cites another."""

    KIND: ClassVar[str] = "citation"
    citing: str = Field(pattern=r"^\d{1,8}$")
    cited: str = Field(pattern=r"^\d{1,8}$")

    def indexed(self) -> dict[str, list[Any]]:
        """Either side leads to it."""
        return {"name": [f"citing:{self.citing}", f"cited:{self.cited}"]}


def record_files(folder: Path) -> list[Path]:
    """The files of a library, in the order of their names; of one that was built the manifest alone.

    Raises:
        UsageError: there is no such folder, it cannot be listed, or it holds none.
    """
    if (folder / "library.json").is_file():
        return [folder / "library.json"]
    try:
        files = sorted(each for each in folder.iterdir() if each.name.endswith((".jsonl", ".jsonl.gz")))
    except OSError as error:
        raise UsageError(f"library {folder}: the folder cannot be read ({error.strerror})") from None
    if not files:
        raise UsageError(f"library {folder}: holds no records (files that end in .jsonl or .jsonl.gz)")
    return files


def digest_of(files: Sequence[Path]) -> str:
    """SHA-256 over the names and contents of files, in 16 hexadecimal digits.

    Raises:
        UsageError: a file cannot be read.
    """
    found = hashlib.sha256()
    for file in files:
        try:
            found.update(f"{file.name}\n{file.stat().st_size}\n".encode())
            with file.open("rb") as stream:
                while part := stream.read(1 << 20):
                    found.update(part)
        except OSError as error:
            raise UsageError(f"library {file}: cannot be read ({error.strerror})") from None
    return found.hexdigest()[:16]


def read_rows(files: Sequence[Path]) -> Iterator[tuple[LibraryRow, str]]:
    """Read the records of files, one by one, each with its line.

    Raises:
        UsageError: a file cannot be read or ends early, a line is no record, or a publication stands twice.
    """
    seen: dict[str, str] = {}
    for file in files:
        number = 0
        try:
            with (
                gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as text
            ):
                for number, line in enumerate(text, 1):
                    if not line.strip():
                        continue
                    row = row_of(line)
                    for name in row.indexed()["name"]:
                        here = f"{file.name}, line {number}"
                        if name.startswith(("pmid:", "nct:")) and (there := seen.setdefault(name, here)) != here:
                            raise ValueError(f"{name} is already in {there}")
                    yield row, line
        except (EOFError, zlib.error, gzip.BadGzipFile, OSError, UnicodeDecodeError) as error:
            said = getattr(error, "strerror", None) or "it is cut or damaged"
            raise UsageError(f"library {file}: cannot be read after line {number} ({said})") from None
        except json.JSONDecodeError:
            raise UsageError(f"library {file}, line {number}: is no JSON; the file may be cut") from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise UsageError(f"library {file}, line {number}: {where}: {first['msg']}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            said = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise UsageError(f"library {file}, line {number}: {said}") from None


def row_of(line: str) -> LibraryRow:
    """The record of a line, told by the fields it has.

    Raises:
        ValueError: it is no JSON, or has the fields of no record.
    """
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise ValueError("is no record, but a bare value")
    if "protocolSection" in fields:
        about = fields.pop("willowbark", {})
        row = TrialRow.model_validate({"study": fields, **about})
        row.indexed()  # raises where the study lacks what it is found by
        return row
    for form, marks in ((EntryRow, "asked_by"), (CitationRow, "citing")):
        if marks in fields:
            return form.model_validate(fields)
    if "metadata" in fields:
        return ArticleRow.model_construct(file=fields.pop("file", ""), facts=fields)
    if "title" in fields:
        return PublicationRow.model_validate(fields)
    raise ValueError(f"is no record that a library knows (fields: {', '.join(list(fields)[:5]) or 'none'})")


def _first_day(date: str | None) -> list[int]:
    """The first day that a date can mean; none for no date.

    >>> _first_day("2019"), _first_day("2019-03"), _first_day("2019-03-14"), _first_day(None)
    ([20190101], [20190301], [20190314], [])
    """
    return [int("".join([*date.split("-"), "01", "01"][:3]))] if date else []
