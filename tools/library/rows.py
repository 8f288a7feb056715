"""The records in a library's files, and their conversion to evidence.

A library is a folder of JSON Lines files (`*.jsonl`, or `*.jsonl.gz`), one record per line; a record's fields decide
its type, not the name of its file. `docs/how-to/run-offline.md` describes them for users.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from ..errors import UsageError
from ..records import Notice, Publication
from ..records.evidence import UNKNOWN_DATE, Citation, Evidence, SourceName
from ..sources.publications import NOTICE_TYPES, trial_numbers, written
from ..sources.studies.clinicaltrials import parse_study
from ..works.fulltext import ArticleText, parse_full_text

BROADER = {"Randomized Controlled Trial": "Clinical Trial"}
"""PubMed's tree of publication types: a search for the broader type includes the narrower."""
_SAME_IN_RECORDS = set(
    "pmid pmcid doi ppr_id journal journal_abbreviation volume issue pages publication_types mesh_terms".split()
)


class LibraryRow(BaseModel, frozen=True, extra="ignore"):
    """A record of a library; `provenance` says where its facts come from."""

    provenance: str = ""

    def indexed(self) -> dict[str, list[Any]]:
        """Return the values to index, by field.

        `name` holds the names for look-ups (`pmid:1`), `tag` the sources that return it and the filters that it passes
        (`source:pubmed`, `phase:phase3`), `day` the first day of its date (20190301), the others its words.
        """
        raise NotImplementedError


class PublicationRow(LibraryRow, frozen=True):
    """An article of PubMed, or a preprint of Europe PMC."""

    pmid: str | None = Field(default=None, pattern=r"^\d{1,8}$")
    """None for preprints."""
    ppr_id: str | None = Field(default=None, pattern=r"^PPR\d+$")
    """Europe PMC's preprint number; without one, no search finds the record."""
    title: str = Field(min_length=1)
    authors: list[str] = []
    """`Surname AB`; groups by name."""
    date: str | None = Field(default=None, pattern=r"^\d{4}(-\d\d){0,2}$")
    """As precise as known."""
    journal: str | None = None
    journal_abbreviation: str | None = None
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    """Full page range: `851-860`."""
    doi: str | None = None
    pmcid: str | None = None
    publication_types: list[str] = []
    nct_ids: list[str] = []
    mesh_terms: list[str] = []
    topic: str = "other"
    abstract: str | None = None
    crossref: dict[str, Any] | None = None
    """As Crossref writes it, with updates."""
    openalex: dict[str, Any] | None = None
    """As OpenAlex writes it."""
    published_doi: str | None = None
    """For a preprint, the published article."""
    full_text: str | None = Field(default=None, repr=False)
    """JATS XML of an open-access article."""

    def indexed(self) -> dict[str, list[Any]]:
        """Index it for PubMed and Europe PMC, a preprint for Europe PMC only."""
        sources = ["pubmed", "europepmc"] if self.pmid else ["europepmc"] if self.ppr_id else []
        tags = [*(f"source:{each}" for each in sources), f"preprints:{'none' if self.pmid else 'only'}"]
        return _index_paper(vars(self), vars(self), tags, [self.abstract])

    def read_full_text(self) -> ArticleText | None:
        """Read its full text; None if there is none. Raises `UnreadableReply` if it is not JATS."""
        return parse_full_text(self.full_text.encode(), self.pmcid or "") if self.full_text else None

    def evidence(self, source: str) -> Evidence:
        """Return the record as `pubmed` or `europepmc` would."""
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
            record=kind.model_validate(
                {
                    **self.model_dump(include=_SAME_IN_RECORDS),
                    "license": full_text.licence.rpartition(" ")[0].lower()
                    if full_text and full_text.licence
                    else None,
                    "is_open_access": True if full_text else None,
                    "is_preprint": is_preprint or "Preprint" in types,
                    "retracted": "Retracted Publication" in types if by_pubmed or types else None,
                    "expression_of_concern": False if by_pubmed or types else None,
                    "corrected": False if by_pubmed or types else None,
                    "nct_ids": list(dict.fromkeys([*self.nct_ids, *named] if by_pubmed else named)),
                    "has_abstract": bool(self.abstract),
                }
            ),
        )


class ArticleRow(LibraryRow, frozen=True):
    """An article from PubMed's baseline, with the fields of `pubmed.article_facts`."""

    facts: dict[str, Any]
    file: str = ""
    """Baseline file that it was read from."""

    def indexed(self) -> dict[str, list[Any]]:
        """Index it like PubMed: keywords with title and abstract, substances by `[nm]`."""
        said, abstract = self.facts["metadata"], self.facts["content"].partition("\n\n")[2]
        return _index_paper(said, self.facts["citation"], ["source:pubmed"], [abstract, *said["keywords"]])

    def evidence(self, _source: str = "pubmed") -> Evidence:
        return Evidence.model_validate(self.facts)


class StudyRow(LibraryRow, frozen=True):
    """A study in the format of ClinicalTrials.gov's API."""

    study: dict[str, Any] = Field(repr=False)
    topic: str = "other"

    def indexed(self) -> dict[str, list[Any]]:
        """Index it for ClinicalTrials.gov; keywords are what the registry searches besides title and summary."""
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
        """Return the record as ClinicalTrials.gov would; a UsageError names a study that lacks a required field."""
        if (found := parse_study(self.study)) is None:
            raise UsageError(f"{self.indexed()['name'][0]}: the library's record of this trial cannot be read")
        return found


class EntryRow(LibraryRow, frozen=True):
    """A database's entry on one thing: a drug, a target, a label, a disease."""

    source: SourceName
    asked_by: list[str] = Field(min_length=1)
    """Names of the drugs and conditions for which it is returned, in lower case."""
    evidence: Evidence

    def indexed(self) -> dict[str, list[Any]]:
        return {
            "name": [f"{self.source}:{name}" for name in self.asked_by],
            "tag": [f"source:{self.source}"],
            "title": [self.evidence.citation.title],
            "abstract": [self.evidence.content],
        }


class CitationRow(LibraryRow, frozen=True):
    """A citation of one publication by another."""

    citing: str = Field(pattern=r"^\d{1,8}$")
    cited: str = Field(pattern=r"^\d{1,8}$")

    def indexed(self) -> dict[str, list[Any]]:
        return {"name": [f"citing:{self.citing}", f"cited:{self.cited}"]}


def _index_paper(
    said: Mapping[str, Any], cited: Mapping[str, Any], tags: Sequence[str], texts: list[str | None]
) -> dict[str, list[Any]]:
    """Return the values to index of a publication, from the fields of its record and its citation."""
    types = [*said["publication_types"], *(BROADER[each] for each in said["publication_types"] if each in BROADER)]
    doi, preprint = said["doi"], said.get("ppr_id")
    numbers = {"pmid": said["pmid"], "doi": doi and doi.lower(), "pmcid": said["pmcid"], "ppr": preprint}
    return {
        "name": [f"{kind}:{number}" for kind, number in numbers.items() if number],
        "tag": [*tags, *(f"publication_types:{each.lower()}" for each in types)],
        "day": _first_day(None if cited["date"] == UNKNOWN_DATE else cited["date"]),
        "title": [cited["title"]],
        "abstract": texts,
        "heading": said["mesh_terms"],
        "substance": said.get("chemicals", []),
        "author": cited["authors"],
        "journal": [said["journal"], said["journal_abbreviation"]],
        "type": types,
        "number": [said["pmid"] or preprint, *said["nct_ids"]],
    }


def record_files(folder: Path) -> list[Path]:
    """Return the files of a library, sorted by name; for a built library only the manifest."""
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
    """Return the SHA-256 hash of the names and contents of files, in 16 hexadecimal digits."""
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
    """Yield the records of files one by one, each with its line.

    Raises:
        UsageError: a file cannot be read or ends early, a line is not a record, or a publication is listed twice.
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
            raise UsageError(f"library {file}, line {number}: is not JSON; the file may be cut") from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise UsageError(f"library {file}, line {number}: {where}: {first['msg']}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            said = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise UsageError(f"library {file}, line {number}: {said}") from None


def row_of(line: str) -> LibraryRow:
    """Parse a line as a record, whose type follows from its fields; a ValueError says what is wrong with it."""
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise ValueError("is a bare value, not a record")
    if "protocolSection" in fields:
        about = fields.pop("willowbark", {})
        row = StudyRow.model_validate({"study": fields, **about})
        row.indexed()  # raises if the study lacks a field needed for the index
        return row
    for form, marks in ((EntryRow, "asked_by"), (CitationRow, "citing")):
        if marks in fields:
            return form.model_validate(fields)
    if "metadata" in fields:
        return ArticleRow.model_construct(file=fields.pop("file", ""), facts=fields)
    if "title" in fields:
        return PublicationRow.model_validate(fields)
    raise ValueError(f"is not a record that a library knows (fields: {', '.join(list(fields)[:5]) or 'none'})")


def _first_day(date: str | None) -> list[int]:
    """Return the first day that a date can mean, as [20190301] for 2019-03; empty if there is no date."""
    return [int("".join([*date.split("-"), "01", "01"][:3]))] if date else []
