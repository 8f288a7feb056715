"""The three stages of a screening."""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from willowbark import __version__
from willowbark.tools.appraisal.appraised import Readings, condition_of, load_reader
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates, on_condition, wanted_drugs
from willowbark.tools.errors import SearchError, UsageError
from willowbark.tools.evidence import Evidence, merge
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.library import Library
from willowbark.tools.questions import Question
from willowbark.tools.questions.kinds import QUESTIONS
from willowbark.tools.questions.question import parse_question
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.reading.screening import readable
from willowbark.tools.registry import kind_of, takes_names, title_of
from willowbark.tools.search import source_class
from willowbark.tools.works.identity import settle
from willowbark.tools.works.linking import link

from .engines import Engine, Unit
from .results import write_results
from .tables import Table, csv_rows

CONDITION_COLUMNS = ("condition", "disease", "name")
DRUG_COLUMNS = ("drug", "name")
MOST_RECORDS = 300
"""Of a condition, from each source."""
_MOST_IN_QUERY = 20  # drugs; of more, all records on the condition are looked through
_SEARCHED = ("pubmed", "clinicaltrials")
_UNIT = 100  # readings
_CONDITIONS_A_PART = 25


@dataclass
class Screening:
    """What a screening did, and where its results are."""

    out: Path
    conditions: int = 0
    empty: list[str] = field(default_factory=list)
    """Conditions without a record."""
    refused: list[str] = field(default_factory=list)
    """Conditions that cannot be asked about, and why."""
    records: int = 0
    """Of all conditions; one on several counts for each."""
    readings: int = 0
    """Different ones that were needed."""
    read_now: int = 0
    read_s: float = 0.0
    cells: int = 0
    files: list[Path] = field(default_factory=list)


def read_names(file: Path, columns: Sequence[str]) -> list[str]:
    """The names that a CSV file lists, each once.

    Args:
        file: with a line of headings; commas, semicolons or tabs.
        columns: headings under which they may stand; the first that is there counts.

    Raises:
        UsageError: it cannot be read, has none of these columns, or holds no name.
    """
    try:
        header, rows = csv_rows(file.read_text(encoding="utf-8-sig").splitlines(keepends=True))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8'})") from None
    column = next((name for name in columns if name in header), None)
    if column is None:
        raise UsageError(f"{file}: its first line has to name a column {' or '.join(columns)}")
    names = dict[str, None]()
    for number, row in rows:
        if isinstance(row, str):
            raise UsageError(f"{file}: line {number}: {row}; put names that hold a comma in quotes")
        names[" ".join(row.get(column, "").split())] = None
    names.pop("", None)
    if not names:
        raise UsageError(f"{file}: no name stands under {column}")
    return list(names)


def screen(
    conditions: Sequence[str],
    library: Library,
    engine: Engine,
    out: Path,
    *,
    drugs: Sequence[str] = (),
    most: int = MOST_RECORDS,
    tell: Callable[[str], None] = lambda _: None,
) -> Screening:
    """Screen conditions for drugs, over a library.

    Args:
        conditions: as anybody writes them.
        library: searched in the sources' place.
        engine: reads.
        out: tables and results; what earlier calls left there is not done again.
        drugs: those alone to look for; none looks for all.
        most: records of a condition from each source.
        tell: gets a line on what happens.

    Raises:
        UsageError: a folder or a table cannot be read or written, or a drug is not known.
    """
    unknown = [name for name in drugs if canonical_drug(name) is None]
    if unknown:
        raise UsageError(f"not known as a drug: {', '.join(unknown[:5])}; write generic names")
    wanted = tuple(dict.fromkeys(name for drug in drugs if (name := canonical_drug(drug))))
    done = Screening(out)
    asked: dict[str, Question] = {}
    for condition in conditions:
        question = parse_question(QUESTIONS["treat"].format(condition=condition))
        if question.objection:
            done.refused.append(f"{condition}: {question.objection}")
        else:
            asked[condition] = replace(question, kind="uses", drugs=wanted) if wanted else question
    done.conditions = len(asked)
    tell(f"searching for {len(asked):,} conditions")
    keys = asyncio.run(_search(asked, library, Table(out / "search"), wanted, most, done.refused))
    asked = {condition: question for condition, question in asked.items() if condition in keys}
    done.empty = [condition for condition in asked if not keys[condition]]
    done.records = sum(map(len, keys.values()))
    kept = _read(asked, keys, library, engine, Table(out / "readings"), done, tell)
    found = asyncio.run(_conclude(asked, keys, library, kept, tell))
    done.cells = sum(len(candidates) for candidates, _ in found.values())
    done.files = write_results(out, found, {name: question.text for name, question in asked.items()}, library)
    return done


async def _search(
    asked: Mapping[str, Question],
    library: Library,
    table: Table,
    drugs: Sequence[str],
    most: int,
    refused: list[str],
) -> dict[str, list[str]]:
    """The keys of each condition's records, best first; those of earlier calls are taken from the table.

    A condition whose search failed is refused, and asked again by the next call.
    """
    names, found = list(asked), dict[str, list[str]]()
    known = {row["search"]: row["keys"] for row in table.rows()}
    either = " OR ".join(f'"{drug}"' for drug in drugs) if len(drugs) <= _MOST_IN_QUERY else ""
    async with Transport(Endpoints(library=library)) as transport:
        sources = [source_class(name)(transport) for name in _SEARCHED if name in library.contents.sources]
        for start in range(0, len(names), _CONDITIONS_A_PART):
            rows = []
            for name in names[start : start + _CONDITIONS_A_PART]:
                query = f"({asked[name].query}) AND ({either})" if either else asked[name].query
                search = _hash(library.digest, query, most)
                if search not in known:
                    keys = dict[str, None]()
                    try:
                        for source in sources:
                            keys |= dict.fromkeys(each.key for each in (await source.find(query, most)).records)
                    except SearchError as error:
                        refused.append(f"{name}: {title_of(source.name)} {error}")
                        continue
                    known[search] = list(keys)
                    rows.append({"search": search, "condition": name, "query": query, "keys": list(keys)})
                found[name] = known[search]
            if rows:
                table.write(_hash(*(row["search"] for row in rows)), rows)
    return found


def _records(library: Library, keys: Sequence[str]) -> list[Evidence]:
    """The records of keys as a run would rank them."""
    by_key = {record.key: record for record in library.by_numbers(keys, "pubmed")}
    found = [by_key[key] for key in keys if key in by_key]
    return link(
        settle(merge(record.model_copy(update={"relevance": 1 - at / len(found)}) for at, record in enumerate(found)))
    )


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:32]


def _name_of_reading(document: Document, drug: str, condition: str) -> str:
    """What a reading follows from, as a hash: the text, its types, drug, condition, who reads, and what it tells."""
    reader = load_reader()
    about = document.whole, document.offset, document.types, drug, condition
    return _hash(__version__, *about, reader.name, reader.version, *Reading.model_fields)


def _needed(
    asked: Mapping[str, Question], keys: Mapping[str, Sequence[str]], library: Library
) -> Iterator[dict[str, Any]]:
    """What has to be read, condition by condition; the same text for the same drug and condition comes once."""
    seen = set[str]()
    for name, question in asked.items():
        condition = condition_of(question)
        for record in map(readable, _records(library, keys[name])):
            if kind_of(record) != "publication" or not on_condition(record, question):
                continue
            document = Document.of(record)
            for drug in wanted_drugs(record, question):
                named = _name_of_reading(document, drug, condition)
                if named not in seen:
                    seen.add(named)
                    told = {"title": document.title, "text": document.text, "types": list(document.types)}
                    yield {"hash": named, **told, "drug": drug, "condition": condition}


def _read(
    asked: Mapping[str, Question],
    keys: Mapping[str, Sequence[str]],
    library: Library,
    engine: Engine,
    table: Table,
    done: Screening,
    tell: Callable[[str], None],
) -> dict[str, str]:
    """Read what was not read before; gives all readings by hash, as JSON."""
    kept = {row["hash"]: row["reading"] for row in table.rows()}
    began, shown = time.monotonic(), 0.0

    def units() -> Iterator[Unit]:
        unit = list[dict[str, Any]]()
        for row in _needed(asked, keys, library):
            done.readings += 1
            if row["hash"] not in kept:
                unit.append(row)
            if len(unit) >= _UNIT:
                yield _hash(*(each["hash"] for each in unit)), unit
                unit = []
        if unit:
            yield _hash(*(each["hash"] for each in unit)), unit

    for name, rows in engine(units()):
        table.write(name, rows)
        kept.update((row["hash"], row["reading"]) for row in rows)
        done.read_now += len(rows)
        if (now := time.monotonic()) - shown > 2:
            shown = now
            tell(f"read {done.read_now:,} ({done.read_now / max(now - began, 1e-9):,.0f}/s)")
    done.read_s = time.monotonic() - began
    return kept


class KeptReader:
    """Gives the readings of a table; reads what is not in it.

    Attributes:
        read_anew: how many were not in the table.
    """

    def __init__(self, kept: Mapping[str, str]) -> None:
        self._kept, self._reader = kept, load_reader()
        self.name, self.version = self._reader.name, self._reader.version
        self.read_anew = 0

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        """Read a record for a drug in a condition."""
        if (said := self._kept.get(_name_of_reading(document, drug, condition))) is not None:
            return Reading.model_validate_json(said).model_copy(update={"key": key})
        self.read_anew += 1
        return self._reader.read_document(document, drug, condition, key)


async def _conclude(
    asked: Mapping[str, Question],
    keys: Mapping[str, Sequence[str]],
    library: Library,
    kept: Mapping[str, str],
    tell: Callable[[str], None],
) -> dict[str, tuple[list[Candidate], dict[str, Evidence]]]:
    """The candidates of each condition, best first, with a verdict each, and the records by key."""
    found = {}
    async with Transport(Endpoints(library=library)) as transport:
        databases = [source_class(name)(transport) for name in library.contents.sources if takes_names(name)]
        for place, (name, question) in enumerate(asked.items(), 1):
            pool, readings = _records(library, keys[name]), Readings(KeptReader(kept))
            candidates = [each for each in appraise_candidates(question, pool, readings) if each.has_verdict]
            if candidates and databases:
                names = [each.drug for each in candidates]
                entries = [record for source in databases for record in (await source.look_up(*names)).records]
                pool = [*pool, *entries]
                candidates = [each for each in appraise_candidates(question, pool, readings) if each.has_verdict]
            found[name] = candidates, {record.key: record for record in pool}
            if place % _CONDITIONS_A_PART == 0:
                tell(f"concluded on {place:,} of {len(asked):,} conditions")
    return found
