"""The records in a library's files, and their conversion to evidence.

A library is a folder of files, or a single file: JSON lines, one record per line, whose fields decide its type, or
what `tools.files` reads. `docs/how-to/run-offline.md` describes the lines for users, `bring-your-own-files.md` beside
it the files. What is bent in a file costs itself alone: a line that is no record is left out, a bent identifier or full
text is left off its record, too long a text is cut, and each is named with file and line.
"""

import hashlib
import json
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_json

from ..errors import UnreadableReply, UsageError
from ..files import UnreadableRecord, read_records
from ..files.form import KNOWN_FORMS
from ..files.reader import form_of_file, is_plain
from ..files.structured import own_fields
from ..local_files import UnusableFile, open_lines, open_regular, parse_json
from ..records import Notice, Publication
from ..records.enclosure import one_line
from ..records.evidence import UNKNOWN_DATE, Citation, Evidence, SourceName, checked_identifier, surname
from ..sources.publications import NOTICE_TYPES, find_trial_numbers, write_content
from ..sources.studies.clinicaltrials import parse_study
from ..wording import counted, listed
from ..works.fulltext import ArticleText, parse_full_text

BROADER = {"Randomized Controlled Trial": "Clinical Trial"}
"""PubMed's tree of publication types: a search for the broader type includes the narrower."""
LONGEST_TEXT = 100_000  # characters; the longest abstracts have some 30,000, and longer texts take long to read

_DEEPEST = 60  # objects and lists within one another; studies with results stay below 20
_WORD = re.compile(r"[^\W_]+")
_NAME_WORDS = 6  # of a title, in the name of a record without number
_NAME_CHARACTERS = 200  # of an abstract that tell two records of one title apart
_SHORT_LINE = 4_000  # characters of a line whose texts and depth need no look
_IDENTIFIERS = {"doi": "doi", "published_doi": "doi", "pmcid": "pmcid"}
"""Fields that a publication can do without, and the kind of identifier that each holds."""
_DATE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?")
_HAS_CONTENT = frozenset({"title", "protocolSection", "metadata", "asked_by", "citing"})
_LOOK_UP = "`willowbark library build FOLDER --from {file}` looks up what is lacking"
_SAME_IN_RECORDS = set(
    "pmid pmcid doi ppr_id journal journal_abbreviation volume issue pages publication_types mesh_terms".split()
)

READ_FILES = ("studies.db", "studies.parquet")
"""Beginnings of the names of files that `willowbark library read` leaves beside the records: they are none of these."""


class LibraryRow(BaseModel, frozen=True, extra="ignore"):
    """A record of a library; `provenance` says where its facts come from."""

    provenance: str = ""

    def check(self) -> None:
        """Raise a ValueError where the record could not be handed out."""

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
    """Europe PMC's preprint number. A publication with neither number is a record of a file of one's own."""
    title: str = Field(min_length=1)
    authors: list[str] = []
    """`Surname AB`; groups by name."""
    date: str | None = None
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
    is_searched: bool = True
    """False for a record that is only handed out by its number."""
    full_text: str | None = Field(default=None, repr=False)
    """JATS XML of an open-access article."""

    def indexed(self) -> dict[str, list[Any]]:
        """Index it for PubMed and Europe PMC, a preprint for Europe PMC only."""
        sources = ["europepmc"] if self.ppr_id and not self.pmid else ["pubmed", "europepmc"]
        tags = [f"source:{source}" for source in sources if self.is_searched]
        tags.append("preprints:only" if self.ppr_id and not self.pmid else "preprints:none")
        values = _index_paper(vars(self), vars(self), tags, [self.abstract])
        if self.is_own:
            values["name"].append(f"own:{self.own_name}")
        return values

    @property
    def is_own(self) -> bool:
        """Whether it has no number of PubMed or Europe PMC, as records of databases of other kinds."""
        return self.pmid is None and self.ppr_id is None

    @property
    def own_name(self) -> str:
        """Its name in addresses where it has no number: the same for the same title and text in another file."""
        words = _WORD.findall(" ".join([surname(self.authors[0])] if self.authors else []) + f" {self.date or ''}"[:5])
        words += _WORD.findall(self.title)[:_NAME_WORDS]
        text = "".join(_WORD.findall(f"{self.title} {(self.abstract or '')[:_NAME_CHARACTERS]}")).casefold()
        return f"{'-'.join(words).lower()}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def _address(self, by_pubmed: bool) -> str:
        if self.is_own:
            return f"https://doi.org/{self.doi}" if self.doi else f"file:{self.own_name}"
        if by_pubmed:
            return f"https://pubmed.ncbi.nlm.nih.gov/{self.pmid}/"
        return f"https://europepmc.org/article/{f'MED/{self.pmid}' if self.pmid else f'PPR/{self.ppr_id}'}"

    def _source(self, by_pubmed: bool) -> SourceName:
        if self.is_own:
            return "own_file"
        if by_pubmed:
            return "pubmed"
        return "europepmc" if self.pmid else "preprint"

    def read_full_text(self) -> ArticleText | None:
        """Read its full text; None if there is none. Raises `UnreadableReply` if it is not JATS."""
        return parse_full_text(self.full_text.encode(), self.pmcid or "") if self.full_text else None

    def evidence(self, source: str) -> Evidence:
        """Return the record as `pubmed` or `europepmc` would."""
        types = self.publication_types
        is_preprint = self.ppr_id is not None and self.pmid is None
        by_pubmed = source == "pubmed"
        numbers = find_trial_numbers(self.title, self.abstract or "")
        kind = Notice if NOTICE_TYPES.intersection(types) else Publication
        full_text = None if by_pubmed else self.read_full_text()
        return Evidence(
            content=write_content(self.title, self.abstract or "", preprint=is_preprint or "Preprint" in types),
            citation=Citation(
                source=self._source(by_pubmed),
                title=self.title,
                url=self._address(by_pubmed),
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
                    "nct_ids": list(dict.fromkeys([*self.nct_ids, *numbers] if by_pubmed else numbers)),
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
        metadata = self.facts["metadata"]
        abstract = self.facts["content"].partition("\n\n")[2]
        return _index_paper(metadata, self.facts["citation"], ["source:pubmed"], [abstract, *metadata["keywords"]])

    def check(self) -> None:
        self.evidence()

    def evidence(self, _source: str = "pubmed") -> Evidence:
        return Evidence.model_validate(self.facts)


class StudyRow(LibraryRow, frozen=True):
    """A study in the format of ClinicalTrials.gov's API."""

    study: dict[str, Any] = Field(repr=False)
    topic: str = "other"

    def indexed(self) -> dict[str, list[Any]]:
        """Index it for ClinicalTrials.gov; keywords are what the registry searches besides title and summary."""
        part: dict[str, Any] = self.study["protocolSection"]
        identity = part["identificationModule"]
        conditions = part.get("conditionsModule", {})
        design = part.get("designModule", {})
        status = part.get("statusModule", {})
        arms = part.get("armsInterventionsModule", {})
        outcomes = part.get("outcomesModule", {})
        tags = [
            "source:clinicaltrials",
            f"status:{status.get('overallStatus')}",
            f"study_type:{design.get('studyType')}",
            *(f"phase:{phase}" for phase in design.get("phases", ())),
            f"has_results:{self.study.get('hasResults', False)}",
        ]
        headings = [*conditions.get("conditions", ()), *conditions.get("keywords", ())]
        for intervention in arms.get("interventions", []):
            headings += [intervention.get("name"), *intervention.get("otherNames", ())]
        headings += [arm.get("label") for arm in arms.get("armGroups", ())]
        for module in self.study.get("derivedSection", {}).values():
            headings += [mesh["term"] for mesh in module.get("meshes", ())]
        headings += [outcome.get("measure") for outcome in outcomes.get("primaryOutcomes", ())]
        headings.append(part.get("sponsorCollaboratorsModule", {}).get("leadSponsor", {}).get("name"))
        return {
            "name": [f"nct:{identity['nctId']}"],
            "tag": [tag.lower() for tag in tags],
            "day": _find_first_day(status.get("startDateStruct", {}).get("date")),
            "title": [identity.get(name) for name in ("briefTitle", "officialTitle", "acronym")],
            "abstract": [part.get("descriptionModule", {}).get("briefSummary")],
            "heading": headings,
            "number": [identity["nctId"]],
        }

    def check(self) -> None:
        self.evidence()

    def evidence(self) -> Evidence:
        """Return the record as ClinicalTrials.gov would; a UsageError names a study that lacks a required field."""
        if (record := parse_study(self.study)) is None:
            raise UsageError(f"{self.indexed()['name'][0]}: the library's record of this trial cannot be read")
        return record


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
    fields: Mapping[str, Any], citation: Mapping[str, Any], tags: Sequence[str], texts: list[str | None]
) -> dict[str, list[Any]]:
    """Return the values to index of a publication, from the fields of its record and its citation."""
    types = [*fields["publication_types"], *(BROADER[kind] for kind in fields["publication_types"] if kind in BROADER)]
    doi = fields["doi"]
    preprint = fields.get("ppr_id")
    numbers = {"pmid": fields["pmid"], "doi": doi and doi.lower(), "pmcid": fields["pmcid"], "ppr": preprint}
    return {
        "name": [f"{kind}:{number}" for kind, number in numbers.items() if number],
        "tag": [*tags, *(f"publication_types:{type_.lower()}" for type_ in types)],
        "day": _find_first_day(None if citation["date"] == UNKNOWN_DATE else citation["date"]),
        "title": [citation["title"]],
        "abstract": texts,
        "heading": fields["mesh_terms"],
        "substance": fields.get("chemicals", []),
        "author": citation["authors"],
        "journal": [fields["journal"], fields["journal_abbreviation"]],
        "type": types,
        "number": [fields["pmid"] or preprint, *fields["nct_ids"]],
    }


def list_record_files(folder: Path) -> list[Path]:
    """Return the files of a library, sorted by name; for a built library only the manifest, for a file that file.

    Hidden files, and checksums beside others, are no records.
    """
    if folder.is_file():
        return [folder]
    if (folder / "library.json").is_file():
        return [folder / "library.json"]
    try:
        visible = [path for path in folder.iterdir() if not path.name.startswith((".", *READ_FILES))]
        files = sorted(path for path in visible if path.suffix != ".md5")
    except OSError as error:
        raise UsageError(f"library {folder}: the folder cannot be read ({error.strerror})") from None
    if not files:
        raise UsageError(f"library {folder}: holds no records; put files of them there: {KNOWN_FORMS}")
    return files


def compute_digest(files: Sequence[Path]) -> str:
    """Return the SHA-256 hash of the names and contents of files, in 16 hexadecimal digits.

    Of a file that cannot be read, the reason counts in place of its content.
    """
    digest = hashlib.sha256()
    for file in files:
        try:
            with open_regular(file) as stream:
                digest.update(f"{file.name}\n{file.stat().st_size}\n".encode())
                while part := stream.read(1 << 20):
                    digest.update(part)
        except OSError as error:
            digest.update(f"{file.name}\n{error.strerror}\n".encode())
        except UnusableFile as error:
            digest.update(f"{file.name}\n{error}\n".encode())
    return digest.hexdigest()[:16]


def read_rows(files: Sequence[Path], tell: Callable[[str], None]) -> Iterator[tuple[LibraryRow, str]]:
    """Yield the records of files one by one, each with its line, mended where need be.

    Args:
        files: in this order; of a publication or trial that is listed twice, the first counts.
        tell: receives a line for everything that is left out, cut or left off, with the name of its file and its line;
            and for each file, how many of its records are a number or a title alone.
    """
    places: dict[str, str] = {}
    bare = BareRecords()
    for file in files:
        try:
            is_lines = form_of_file(file) == "lines" and is_plain(file)
        except UnusableFile as error:
            tell(f"{file.name}: {error}")
            continue
        if is_lines:
            yield from _read_file_of_lines(file, places, tell)
        else:
            yield from read_file_rows(file, places, tell, bare)
    for line in bare.lines(places):
        tell(line)


class RepeatedRecord(ValueError):
    """A record is in another place already; `name` is its number there."""

    def __init__(self, name: str, place: str) -> None:
        super().__init__(f"{name} is already in {place}")
        self.name = name


class BareRecords:
    """Records of files that are a number alone, have no abstract, or came before."""

    def __init__(self) -> None:
        self.numbers: dict[str, list[str]] = {}
        """By file: `pmid:1`, `nct:NCT00000001`, `doi:…`, `pmcid:…` of records without a title."""
        self.titles: dict[str, list[str]] = {}
        """By file: the numbers of those with a title and no abstract."""
        self.repeated: dict[str, list[str]] = {}
        """By file: the names of those that came before, in this file or another."""

    def lines(self, places: Container[str]) -> Iterator[str]:
        """Yield a line for each file with such records, but for numbers of which another file has the record."""
        for file, numbers in self.numbers.items():
            lacking = [number for number in numbers if number not in places]
            if lacking:
                line = f"{counted(len(lacking), 'record')} left out, a number alone ({listed(lacking)})"
                yield f"{file}: {line}; {_LOOK_UP.format(file=file)}"
        for file, numbers in self.titles.items():
            line = f"{counted(len(numbers), 'record')} without abstract, used by title alone ({listed(numbers)})"
            yield f"{file}: {line}; {_LOOK_UP.format(file=file)}"
        for file, names in self.repeated.items():
            yield f"{file}: {counted(len(names), 'record')} read before, counted once ({listed(names)})"


def read_file_rows(
    file: Path,
    places: dict[str, str],
    tell: Callable[[str], None],
    bare: BareRecords,
    tell_broken: Callable[[str], None] | None = None,
) -> Iterator[tuple[LibraryRow, str]]:
    """Yield the records of a file of any form, as `read_rows` does.

    Args:
        file: of any form that `tools.files` reads.
        places: by name, where the records are that there are already; those of this file are added.
        tell: as in `read_rows`.
        bare: receives records without title or abstract, and those that came before.
        tell_broken: receives why the file cannot be read, or not to its end, in place of `tell`.
    """
    count = 0
    try:
        for item in read_records(file):
            here = f"{file.name}, {item.place}"
            if isinstance(item, UnreadableRecord):
                tell(f"{here}: {item.why}; left out")
                continue
            number = _find_number(item.fields)
            if number and not _HAS_CONTENT.intersection(item.fields):
                bare.numbers.setdefault(file.name, []).append(number)
                continue
            try:
                row, line = _make_row(item.fields, here, tell)
                _check_index(row, here, places)
            except RepeatedRecord as error:
                bare.repeated.setdefault(file.name, []).append(error.name)
                continue
            except (ValueError, KeyError, TypeError, AttributeError, UsageError) as error:
                tell(f"{here}: {_describe_reason(error)}; left out")
                continue
            if number and isinstance(row, PublicationRow) and not row.abstract:
                bare.titles.setdefault(file.name, []).append(number)
            count += 1
            yield row, line
    except UnusableFile as error:
        after = f", after {counted(count, 'record')}" if count else ""
        if tell_broken is None:
            tell(f"{file.name}{after}: {error}")
        else:
            tell_broken(f"{after.removeprefix(', ')} it {error}" if after else str(error))


def _find_number(fields: Mapping[str, Any]) -> str | None:
    kinds = (("pmid", "pmid"), ("nct_id", "nct"), ("doi", "doi"), ("pmcid", "pmcid"))
    return next((f"{name}:{fields[field]}" for field, name in kinds if fields.get(field)), None)


def _make_row(fields: Mapping[str, Any], here: str, tell: Callable[[str], None]) -> tuple[LibraryRow, str]:
    """Return the record of a file and its line; raises as `_read_line`."""
    if "title" in fields and "provenance" not in fields:
        fields = {**fields, "provenance": here}
    row = _read_line(to_json(fields), here, tell)
    assert row is not None
    return row


def _read_file_of_lines(
    file: Path, places: dict[str, str], tell: Callable[[str], None]
) -> Iterator[tuple[LibraryRow, str]]:
    done = 0  # lines
    try:
        with open_lines(file) as lines:
            for number, content in lines:
                here = f"{file.name}, line {number}"
                done = number
                try:
                    row = _read_line(content, here, tell)
                    if row is None:
                        continue
                    _check_index(row[0], here, places)
                except (ValueError, KeyError, TypeError, AttributeError, UsageError) as error:
                    tell(f"{here}: {_describe_reason(error)}; left out")
                    continue
                yield row
    except UnusableFile as error:
        tell(f"{file.name}{f', after line {done}' if done else ''}: {error}")


def _read_line(content: bytes | None, here: str, tell: Callable[[str], None]) -> tuple[LibraryRow, str] | None:
    """Return the record of a line, and the line as it is to be kept; None for a blank line.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, UsageError: it is no record, or one that cannot be used.
    """
    if content is None:
        raise ValueError("is longer than 32 MB")
    line = content.decode("utf-8-sig")
    if not line.strip():
        return None
    fields = parse_json(line)
    if not isinstance(fields, dict):
        raise ValueError("is a bare value, not a record")
    renamed = own_fields(fields) if "title" in fields else fields
    is_renamed = renamed is not fields
    fields = renamed
    notes = _mend(fields, line)
    if notes or is_renamed:
        line = json.dumps(fields, ensure_ascii=False)
    row = _build_row(fields)
    row.check()
    for note in notes:
        tell(f"{here}: {note}")
    return row, line


def _mend(fields: dict[str, Any], line: str) -> list[str]:
    """Cut, or leave off, what the rest of a record can do without; return a note for each. ValueError: too deep."""
    notes: list[str] = []
    if "title" in fields and "asked_by" not in fields and "metadata" not in fields:
        for name, kind in _IDENTIFIERS.items():
            if fields.get(name) is not None and checked_identifier(kind, fields[name]) is None:
                del fields[name]
                notes.append(f"{name}: is no {kind.upper()}; left off")
        if fields.get("date") is not None and not _DATE.fullmatch(str(fields["date"])):
            del fields["date"]
            notes.append("date: is no date (2019, 2019-03, 2019-03-05); left off")
        if fields.get("full_text") is not None and not _is_full_text(fields["full_text"]):
            del fields["full_text"]
            notes.append("full_text: is not the XML of an article (JATS); left off")
    if len(line) > _SHORT_LINE or line.count("[") + line.count("{") > _DEEPEST:
        _cut_texts(fields, "", 1, notes)
    if "\\u" in line and _has_half_characters(fields):
        whole = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
        fields.update(json.loads(whole))
        notes.append("half characters (surrogates) are replaced by ?")
    return notes


def _is_full_text(text: Any) -> bool:
    try:
        return isinstance(text, str) and parse_full_text(text.encode(), "") is not None
    except (UnreadableReply, UnicodeEncodeError):
        return False


def _has_half_characters(fields: dict[str, Any]) -> bool:
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _cut_texts(holder: Any, path: str, depth: int, notes: list[str]) -> None:
    """Cut every text that is too long, wherever in a record it stands, except its full text."""
    if depth > _DEEPEST:
        raise ValueError(f"is nested more than {_DEEPEST} deep")
    for place, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
        here = f"{path}.{place}" if path else str(place)
        if isinstance(value, dict | list):
            _cut_texts(value, here, depth + 1, notes)
        elif isinstance(value, str) and len(value) > LONGEST_TEXT and here != "full_text":
            holder[place] = value[:LONGEST_TEXT]
            notes.append(f"{here}: cut to {LONGEST_TEXT:,} of {len(value):,} characters")


def _check_index(row: LibraryRow, here: str, places: dict[str, str]) -> None:
    """Raise a ValueError where a record cannot be indexed, or is in another place already."""
    indexed = row.indexed()
    for field, values in indexed.items():
        expected = int if field == "day" else str
        if not {type(None), expected}.issuperset(map(type, values)):
            raise ValueError(f"{field}: is no {'date' if field == 'day' else 'text'}")
    for name in indexed["name"]:
        there = places.setdefault(name, here) if name.startswith(("pmid:", "nct:", "own:")) else here
        if there != here:
            raise RepeatedRecord(name, there)


def _describe_reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return "is not JSON; the file may be cut"
    if isinstance(error, UnicodeDecodeError):
        return "is not in UTF-8"
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    if isinstance(error, KeyError):
        return f"lacks {error}"
    return one_line(str(error))


def parse_row(line: str) -> LibraryRow:
    """Parse a line as a record, whose type follows from its fields; a ValueError says what is wrong with it."""
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise ValueError("is a bare value, not a record")
    return _build_row(fields)


def _build_row(fields: dict[str, Any]) -> LibraryRow:
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


def _find_first_day(date: str | None) -> list[int]:
    """Return the first day that a date can mean, as [20190301] for 2019-03; empty if there is no date."""
    return [int("".join([*date.split("-"), "01", "01"][:3]))] if date else []
