"""The three stages of a screening."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from willowbark.tools.appraisal.stored import StoredReader
from willowbark.tools.errors import SearchError, UsageError
from willowbark.tools.files.tables import csv_rows
from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.library import BUNDLED, Library
from willowbark.tools.questions import Question, parse_question
from willowbark.tools.questions.kinds import QUESTIONS
from willowbark.tools.reading.corrections import CorrectionBook
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.reading.store import ReadSubject, StudyShelf, dump_content, hash_text
from willowbark.tools.records.registry import title_of
from willowbark.tools.search import Status

from .conditions import ConcludingWorker, ListingWorker, hash_of
from .engines import Engine, ReaderRow, TrainedReader, WorkUnit, read_here, run_in_order
from .origins import Origin, Search
from .results import NO_VERDICT, ConditionRows, write_results
from .tables import TableFolder

if TYPE_CHECKING:  # AutoGen takes most of a second
    from .models import ModelReader

CONDITION_COLUMNS = ("condition", "disease", "name")
DRUG_COLUMNS = ("drug", "name")
MOST_RECORDS = 300
"""Records of a condition from each source."""
_MOST_IN_QUERY = 20  # drugs; with more, all records on the condition are searched
_CONDITIONS_A_PART = 25
_TELLS_EVERY_S = 2.0


@dataclass
class ReadingTally:
    """What a reader read: of the readings `due`, those `held`, and of these those `made` by this call."""

    kept: dict[str, str] = field(default_factory=dict)
    """All readings by hash, as JSON, those of earlier calls among them."""
    due: int = 0
    held: int = 0
    taken: int = 0
    """Of those held, from a store of studies."""
    made: int = 0
    seconds: float = 0.0
    unread: list[str] = field(default_factory=list)
    """Why some were not made."""


@dataclass
class Screening:
    """What a screening did, and where its results are."""

    out: Path
    keys: dict[str, list[str]] = field(default_factory=dict)
    """Keys of the records of each condition that was searched."""
    refused: list[str] = field(default_factory=list)
    """Conditions that could not be searched, and why."""
    read: ReadingTally = field(default_factory=ReadingTally)
    by_model: ReadingTally = field(default_factory=ReadingTally)
    cells: int = 0
    """Drugs with a verdict."""
    files: list[Path] = field(default_factory=list)

    @property
    def records(self) -> int:
        """Records of all conditions; a record on several counts once for each."""
        return sum(map(len, self.keys.values()))

    @property
    def empty(self) -> list[str]:
        """Conditions without a record."""
        return [condition for condition, keys in self.keys.items() if not keys]


def read_names(file: Path, columns: Sequence[str]) -> list[str]:
    """Read the distinct names in a CSV file, from the first of these columns that its header line has.

    Raises:
        UsageError: the file cannot be read, has none of these columns, or contains no name.
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
        raise UsageError(f"{file}: column {column} holds no name")
    return list(names)


def screen(
    conditions: Sequence[str],
    library: Library | None,
    engine: Engine,
    out: Path,
    *,
    drugs: Sequence[str] = (),
    most: int = MOST_RECORDS,
    tell: Callable[[str], None] = lambda _: None,
    endpoints: Endpoints | None = None,
    limiter: RateLimiter | None = None,
    model: "ModelReader | None" = None,
    shelf: StudyShelf | None = None,
    corrections: CorrectionBook | None = None,
) -> Screening:
    """Screen conditions for drugs, over a library or the public sources.

    Args:
        conditions: names in free text.
        library: searched instead of the sources; None searches the sources.
        engine: reads the records.
        out: folder for tables and results; work of earlier calls found there is not repeated.
        drugs: search only for these; empty searches for all.
        most: records per condition from each source.
        tell: receives progress lines.
        endpoints: of the sources; the public ones by default.
        limiter: enforces the sources' rate limits; by default shared by all of this user's processes.
        model: reads in place of the trained reader, which stays the second reader; None leaves all to that.
        shelf: stores of studies that the trained reader takes from and gives to, closed by the caller; None has none.
        corrections: what people say of records, which counts before every reader; None: nothing.

    Raises:
        UsageError: a folder or a table cannot be read or written, a drug is unknown, or a model's budget is used up.
    """
    known = {drug: canonical_drug(drug) for drug in drugs}
    if unknown := [drug for drug, name in known.items() if name is None]:
        raise UsageError(f"not known as a drug: {', '.join(unknown[:5])}; write generic names")
    wanted = tuple(dict.fromkeys(name for name in known.values() if name))
    done = Screening(out)
    asked = dict[str, Question]()
    of_any_drug = dict[str, Question]()
    for condition in conditions:
        question = of_any_drug[condition] = parse_question(QUESTIONS["treat"].format(condition=condition))
        if question.objection:
            done.refused.append(f"{condition}: {question.objection}")
        else:
            asked[condition] = replace(question, kind="uses", drugs=wanted) if wanted else question
    tell(f"searching for {len(asked):,} conditions")
    origin = Origin(library, out, endpoints, limiter)
    searches = asyncio.run(_search(asked, origin, TableFolder(out / "search"), wanted, most, done.refused, tell))
    asked = {condition: question for condition, question in asked.items() if condition in searches}
    done.keys = {condition: each.keys for condition, each in searches.items()}
    hashes = dict[str, list[str]]()
    due = _list_due(asked, searches, origin, engine, hashes)
    shelf = shelf or StudyShelf(None)
    done.read = _read(due, TrainedReader(), engine, TableFolder(out / "readings"), tell, _ShelfRows(shelf))
    shelf.flush()
    if model is not None:
        tell(f"reading with {model.name}")
        origin.about += f", its publications read by {model.name}"
        by_model = (model.list_due(origin.lines(searches[name]).records(), of_any_drug[name]) for name in asked)
        reads = read_here if model.in_batch else engine
        done.by_model = _read(by_model, model, reads, TableFolder(out / "model"), tell)

    def units() -> Iterator[WorkUnit]:
        for name, question in asked.items():
            readings = {each: done.read.kept[each] for each in hashes[name] if each in done.read.kept}
            row = {"condition": name, "question": question, "any_drug": of_any_drug[name], "readings": readings}
            yield name, [{**row, "records": origin.lines(searches[name])}]

    # A library's own entries, and what a model read, are at hand here alone.
    concludes = engine if model is None and origin.databases.path == BUNDLED else read_here
    book = corrections or CorrectionBook()
    worker = ConcludingWorker(origin.databases, shelf, book, model, done.by_model.kept)
    found = _conclude(units(), worker, concludes, list(asked), tell)
    done.cells = sum(row["certainty"] != NO_VERDICT for rows in found.values() for row in rows.matrix)
    done.files = write_results(out, found, {name: question.text for name, question in asked.items()}, origin)
    return done


async def _search(
    asked: Mapping[str, Question],
    origin: Origin,
    table: TableFolder,
    drugs: Sequence[str],
    most: int,
    refused: list[str],
    tell: Callable[[str], None],
) -> dict[str, Search]:
    """Search for each condition, once for each distinct query; results of earlier calls come from the table.

    A condition whose search failed is added to `refused`, and searched again by the next call.
    """
    either = " OR ".join(f'"{drug}"' for drug in drugs) if len(drugs) <= _MOST_IN_QUERY else ""
    queries = {
        name: f"({question.query}) AND ({either})" if either else question.query for name, question in asked.items()
    }
    searches = {name: hash_of(origin.digest, query.casefold(), most) for name, query in queries.items()}
    known = {row["search"]: row["keys"] for row in table.rows()}
    due = list(dict.fromkeys(search for search in searches.values() if search not in known))
    first = {search: name for name, search in reversed(searches.items())}
    failed = dict[str, str]()
    async with origin.open() as transport:
        sources = origin.searched(transport)

        async def ask(search: str) -> dict[str, Any] | None:
            name = first[search]
            if not (records := origin.kept(search)):  # else interrupted between storing records and table
                try:
                    for source in sources:
                        reply = await source.find(queries[name], most)
                        records |= {record.key: record for record in reply.records}
                        if reply.status is Status.PARTIAL:
                            tell(f"{name}: {title_of(source.name)} {'; '.join(reply.warnings)}")
                except SearchError as error:
                    failed[search] = f"{title_of(source.name)} {error}"
                    return None
                origin.keep(search, records)
            known[search] = list(records)
            return {"search": search, "condition": name, "query": queries[name], "keys": known[search]}

        for start in range(0, len(due), _CONDITIONS_A_PART):
            part = due[start : start + _CONDITIONS_A_PART]
            if rows := [row for row in await asyncio.gather(*map(ask, part)) if row]:
                table.write(hash_of(*(row["search"] for row in rows)), rows)
                if not origin.path:
                    tell(f"searched {min(start + len(part), len(due)):,} of {len(due):,} queries")
    refused += [f"{name}: {failed[search]}" for name, search in searches.items() if search in failed]
    return {name: Search(search, known[search]) for name, search in searches.items() if search in known}


def _list_due(
    asked: Mapping[str, Question],
    searches: Mapping[str, Search],
    origin: Origin,
    engine: Engine,
    names: dict[str, list[str]],
) -> Iterator[list[ReaderRow]]:
    """Yield all that the trained reader reads of each condition's records; `names` takes in its hashes by condition."""
    units = (
        (name, [{"question": question, "records": origin.lines(searches[name])}]) for name, question in asked.items()
    )
    for name, (rows, _) in run_in_order(engine, units, ListingWorker()):
        names[name] = [row["hash"] for row in rows]
        yield rows


def _read(
    due: Iterable[Iterable[ReaderRow]],
    reader: TrainedReader,
    engine: Engine,
    table: TableFolder,
    tell: Callable[[str], None],
    shelved: "_ShelfRows | None" = None,
) -> ReadingTally:
    """Have read what is due by condition, each row once, unless an earlier call or a store has it."""
    done = ReadingTally()
    seen = set[str]()
    shown = 0.0
    for row in table.rows():
        done.kept[row["hash"]] = row["reading"]
        reader.note([row])
    began = time.monotonic()

    def units() -> Iterator[WorkUnit]:
        for rows in due:
            new = {row["hash"]: row for row in rows if row["hash"] not in seen}
            seen.update(new)
            if shelved:
                found = shelved.find_all(row for name, row in new.items() if name not in done.kept)
                done.kept.update(found)
                done.taken += len(found)
            unread = [row for name, row in new.items() if name not in done.kept]
            for start in range(0, len(unread), reader.unit):
                reader.check_budget()
                unit = unread[start : start + reader.unit]
                yield hash_of(*(row["hash"] for row in unit)), unit

    for name, (rows, why) in engine(units(), reader):
        if rows:
            table.write(name, rows)
        done.kept.update((row["hash"], row["reading"]) for row in rows)
        if shelved:
            shelved.keep(rows)
        done.made += len(rows)
        done.unread += why
        reader.note(rows, why)
        done.seconds = time.monotonic() - began
        if done.seconds - shown > _TELLS_EVERY_S:
            shown = done.seconds
            tell(f"read {done.made:,} ({done.made / done.seconds:,.1f}/s)")
    done.due = len(seen)
    done.held = len(seen & done.kept.keys())
    done.seconds = time.monotonic() - began
    return done


class _ShelfRows:
    """Rows of the trained reader in stores of studies."""

    def __init__(self, shelf: StudyShelf) -> None:
        self._shelf = shelf
        self._identity = StoredReader(shelf).identity
        self._sent = dict[str, ReadSubject]()

    def find_all(self, rows: Iterable[ReaderRow]) -> dict[str, str]:
        """Return the readings, as JSON by hash, of the rows that a store holds."""
        readings = {row["hash"]: self._find(row) for row in rows}
        return {name: reading for name, reading in readings.items() if reading is not None}

    def _find(self, row: ReaderRow) -> str | None:
        document = Document.cut(row["title"], row["text"], tuple(row["types"]))
        subject = ReadSubject(hash_text(document), row["drug"], row["condition"])
        content = self._shelf.find(subject, self._identity, document)
        if content is None:
            self._sent[row["hash"]] = subject
            return None
        return Reading.model_validate({**content, "key": ""}).model_dump_json()

    def keep(self, rows: Sequence[ReaderRow]) -> None:
        """Keep what was read for rows that no store held."""
        for row in rows:
            content = dump_content(Reading.model_validate_json(row["reading"]))
            self._shelf.keep(self._sent.pop(row["hash"]), content, self._identity)


def _conclude(
    units: Iterable[WorkUnit],
    worker: ConcludingWorker,
    engine: Engine,
    names: Sequence[str],
    tell: Callable[[str], None],
) -> dict[str, ConditionRows]:
    """Have concluded on each condition; return what was found in the order of their names."""
    found = dict[str, ConditionRows]()
    for name, (rows, _) in engine(units, worker):
        found[name] = rows[0]["found"]
        if len(found) % _CONDITIONS_A_PART == 0:
            tell(f"concluded on {len(found):,} of {len(names):,} conditions")
    return {name: found[name] for name in names}
