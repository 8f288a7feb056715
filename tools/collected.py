"""What was collected, to be asked again: records in sentence windows, in SQLite's full-text index, ranked by BM25.

A window is a sentence with its neighbours. Records and windows are ranked apart by words (`bm25()` of FTS5, on Porter's
stems) and, where there is an embedder, by meaning too; rankings are joined by reciprocal rank fusion (Cormack, Clarke
and Büttcher 2009, https://doi.org/10.1145/1571941.1572114). What is addressed to machines stands in no window.
https://www.sqlite.org/fts5.html
"""

import asyncio
import json
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import BaseModel, Field

from .embedding import Embedder, Vectors
from .enclosure import visible
from .errors import UsageError
from .evidence import Evidence, merge
from .lexicon import common_drug_names, find_drugs
from .ranking import content_words
from .reading.screening import readable
from .reading.text import sentence_spans
from .records import Kind
from .registry import kind_of
from .works.sections import TITLE, own_part, places

MAX_RECORDS = 5000  # kept; above, the oldest go
MAX_WINDOWS = 400  # of one record; full texts have fewer sentences in what is read of them
MAX_PASSAGE = 700  # characters
MAX_PASSAGES = 50  # of one answer
PER_RECORD = 2  # passages of one record in an answer
_NEIGHBOURS = 1  # sentences on either side
_RANKED = 300  # windows, and records, that a ranking gives
_K = 60  # of reciprocal rank fusion, as published
_MAX_WORDS = 64  # of a question
_MAX_DRUGS = 8  # of a question that are looked for by other names too
_WIDE = 4  # characters between two sentences: wider gaps are what screening left
_BUSY_TIMEOUT_S = 60.0
_ASKING = frozenset(
    "any associated been better between cause caused causes common currently define describe does effect effects"
    " function give has involved known list main most name play plays please record records role roles said say says"
    " tell than there use used work".split()
)
"""Words of questions that say nothing of what is asked about, beside the stop words of ranking."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY, evidence TEXT NOT NULL, first INTEGER, last INTEGER);
CREATE TABLE IF NOT EXISTS name (name TEXT PRIMARY KEY, record INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS name_record ON name (record);
CREATE VIRTUAL TABLE IF NOT EXISTS whole USING fts5 (title, text, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE IF NOT EXISTS part
    USING fts5 (said, text, section UNINDEXED, record UNINDEXED, tokenize = 'porter unicode61 remove_diacritics 2');
"""
_WINDOWS = "SELECT rowid, record FROM part WHERE part MATCH ? ORDER BY bm25(part), rowid LIMIT ?"
_RECORDS = "SELECT rowid, -bm25(whole) FROM whole WHERE whole MATCH ? ORDER BY bm25(whole), rowid LIMIT ?"


class Passage(BaseModel, frozen=True, extra="forbid"):
    """Some sentences of a record, as they stand there, and where they are from."""

    key: str
    title: str
    citation: str
    """Authors, date, title and address in a line."""
    url: str
    """As the source gives it."""
    year: int | None
    """None is not reported."""
    kind: Kind
    section: str
    """`Title`, `Abstract`, `Registry entry`, `Database entry` and the like, or a heading of the full text."""
    text: str
    """The sentence that was found, with its neighbours; at most `MAX_PASSAGE` characters."""
    retracted: bool
    is_preprint: bool


class Answer(BaseModel, frozen=True, extra="forbid"):
    """The best passages on a question."""

    query: str
    passages: list[Passage] = Field(default_factory=list)
    """Best first."""
    matching: int = Field(default=0, ge=0)
    """Records that hold a word of the question, or of `truncated` lists the best of them."""
    truncated: bool = False
    """Whether further passages were found."""
    notes: list[str] = Field(default_factory=list)
    """What could not be done: that meaning could not be compared, say."""


class _Ranked(NamedTuple):
    """What fits a question, best first."""

    windows: dict[int, int]
    """By words: number of the window, and of its record."""
    records: dict[int, float]
    """By words: number of the record, and its BM25 score."""
    matching: int
    meant: dict[int, int]
    """By meaning: as `windows`; empty without an embedder."""


class CollectedEvidence:
    """Records that can be asked.

    Threads and tasks may share one; with a file, so may processes.

    Args:
        path: a file that keeps it; None keeps everything in memory.
        max_records: that are kept; above, the oldest go.
        embedder: gives vectors, so that passages are found by meaning too; None goes by words alone.

    Attributes:
        path: as given.

    Raises:
        UsageError: the file cannot be used.
    """

    name = "collected"

    def __init__(
        self, path: Path | None = None, *, max_records: int = MAX_RECORDS, embedder: Embedder | None = None
    ) -> None:
        self.path, self._max_records = path, max_records
        self._vectors = Vectors(embedder) if embedder is not None else None
        self._lock = threading.RLock()
        with self._in_words():
            self._database = sqlite3.connect(
                path or ":memory:", timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            self._database.executescript(_SCHEMA)
        weakref.finalize(self, self._database.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, or let go of what is in memory."""
        with self._lock:
            self._database.close()

    def __len__(self) -> int:
        with self._in_words():
            return int(self._database.execute("SELECT count(*) FROM record").fetchone()[0])

    def ingest(self, records: Iterable[Evidence]) -> int:
        """Take records in; one that is the same as one that is here is united with it. How many said anything new.

        Raises:
            UsageError: the file cannot be written.
        """
        with self._in_words(), self._transaction():
            news = sum([self._take(record) for record in records])
            above = max(0, len(self) - self._max_records)
            for (number,) in self._database.execute("SELECT id FROM record ORDER BY id LIMIT ?", (above,)).fetchall():
                self._drop(number)
        return news

    async def passages(self, query: str, limit: int = 8) -> Answer:
        """The passages that fit a question best, at most `PER_RECORD` of one record.

        Args:
            query: words; none of them is an operator.
            limit: passages to give, 1 to `MAX_PASSAGES`.

        Raises:
            UsageError: the question names nothing to look for, or the file cannot be read.
        """
        found, notes = await self._ranked(query)
        best, more = await asyncio.to_thread(self._best, found, min(max(1, limit), MAX_PASSAGES))
        return Answer(query=query, passages=best, matching=found.matching, truncated=more, notes=notes)

    async def search(self, query: str, max_results: int = 10) -> list[Evidence]:
        """The records that fit a question best, as they were taken in, with their relevance to it.

        Args:
            query: words; none of them is an operator.
            max_results: records to give.

        Raises:
            UsageError: as `passages`.
        """
        found, _ = await self._ranked(query)
        scores = found.records
        if found.meant:
            scores = fused(list(scores), list(dict.fromkeys(found.meant.values())))
        return await asyncio.to_thread(self._with_relevance, scores, max(1, max_results))

    async def _ranked(self, query: str) -> tuple[_Ranked, list[str]]:
        """What fits a question, and what could not be done."""
        found = await asyncio.to_thread(self._by_words, query)
        if self._vectors is None:
            return found, []
        windows = await asyncio.to_thread(self._windows)
        try:
            nearest = await self._vectors.nearest(query, {at: text for at, (text, _) in windows.items()}, _RANKED)
        except Exception as error:  # noqa: BLE001  embedders are written by anyone, and words go on without them
            return found, [f"words alone were compared, since the embedder failed ({type(error).__name__})"]
        return found._replace(meant={at: windows[at][1] for at in nearest}), []

    def _by_words(self, query: str) -> _Ranked:
        asked = " OR ".join(f'"{term}"' for term in _terms(query))
        if not asked:
            raise UsageError(f"{query.strip()[:80]!r} names nothing to look for: name a drug, a condition, an outcome")
        with self._in_words():
            matching = self._database.execute("SELECT count(*) FROM whole WHERE whole MATCH ?", (asked,)).fetchone()
            return _Ranked(
                windows=dict(self._database.execute(_WINDOWS, (asked, _RANKED)).fetchall()),
                records=dict(self._database.execute(_RECORDS, (asked, _RANKED)).fetchall()),
                matching=matching[0],
                meant={},
            )

    def _windows(self) -> dict[int, tuple[str, int]]:
        """All windows by number: text, and number of the record."""
        with self._in_words():
            every = self._database.execute("SELECT rowid, text, record FROM part").fetchall()
        return {at: (text, record) for at, text, record in every}

    def _best(self, found: _Ranked, limit: int) -> tuple[list[Passage], bool]:
        """The best windows that don't overlap, and whether there are more; a window's record counts beside it."""
        record_of = found.windows | found.meant
        by_record = fused(list(found.records))
        scores = fused(list(found.windows), list(found.meant))
        scores = {at: score + by_record.get(record_of[at], 0.0) for at, score in scores.items()}
        taken: dict[int, list[int]] = {}
        passages: list[Passage] = []
        for at in sorted(scores, key=lambda at: (-scores[at], at)):
            others = taken.setdefault(record_of[at], [])
            if len(others) == PER_RECORD or any(abs(at - other) <= 2 * _NEIGHBOURS for other in others):
                continue
            if len(passages) == limit:
                return passages, True
            if (passage := self._passage(at, record_of[at])) is not None:
                others.append(at)
                passages.append(passage)
        return passages, False

    def _passage(self, at: int, number: int) -> Passage | None:
        """A window as it is given out; None where it went in the meantime."""
        with self._in_words():
            row = self._database.execute("SELECT text, section FROM part WHERE rowid = ?", (at,)).fetchone()
            record = self._record(number)
        if row is None or record is None:
            return None
        cited = readable(record).citation
        year = cited.date[:4]
        return Passage(
            key=record.key,
            title=cited.title,
            citation=cited.formatted,
            url=cited.url,
            year=int(year) if year.isdecimal() else None,
            kind=kind_of(record),
            section=row[1],
            text=row[0],
            retracted=record.metadata.get("retracted") is True,
            is_preprint=record.is_preprint,
        )

    def _with_relevance(self, scores: Mapping[int, float], most: int) -> list[Evidence]:
        best = max(scores.values(), default=0.0) or 1.0
        order = sorted(scores, key=lambda number: (-scores[number], number))[:most]
        with self._in_words():
            found = [(self._record(number), scores[number] / best) for number in order]
        return [
            record.model_copy(update={"relevance": round(min(1.0, share), 4)})
            for record, share in found
            if record is not None
        ]

    def _record(self, number: int) -> Evidence | None:
        row = self._database.execute("SELECT evidence FROM record WHERE id = ?", (number,)).fetchone()
        return Evidence.model_validate(json.loads(row[0])) if row else None

    def _take(self, record: Evidence) -> bool:
        """Take a record in; False where it says nothing new."""
        names = sorted({record.key, *record.identifiers, *record.record.same_as})
        marks = ", ".join("?" * len(names))
        known = self._database.execute(f"SELECT DISTINCT record FROM name WHERE name IN ({marks})", names)  # noqa: S608
        numbers = [number for (number,) in known.fetchall()]
        former = [each for number in numbers if (each := self._record(number)) is not None]
        united = merge([*former, record])[0]
        if len(former) == 1 and any(each.says_as(former[0]) for each in (record, united)):
            return False
        for number in numbers:
            self._drop(number)
        self._write(united)
        return True

    def _write(self, record: Evidence) -> None:
        write, shown = self._database.execute, readable(record)
        number = write("INSERT INTO record (evidence) VALUES (?)", (json.dumps(record.model_dump()),)).lastrowid
        names = {record.key, *record.identifiers, *record.record.same_as}
        self._database.executemany("INSERT OR REPLACE INTO name VALUES (?, ?)", [(name, number) for name in names])
        body = " ".join(" ".join(text.split()) for _, text in _sections(shown))
        write("INSERT INTO whole (rowid, title, text) VALUES (?, ?, ?)", (number, shown.citation.title, visible(body)))
        first = write("SELECT coalesce(max(last), 0) + 1 FROM record").fetchone()[0]
        rows = [(first + at, *window, number) for at, window in enumerate(_windows_of(shown))]
        fields = "rowid, said, text, section, record"
        self._database.executemany(f"INSERT INTO part ({fields}) VALUES (?, ?, ?, ?, ?)", rows)  # noqa: S608
        write("UPDATE record SET first = ?, last = ? WHERE id = ?", (first, first + len(rows) - 1, number))

    def _drop(self, number: int) -> None:
        drop = self._database.execute
        first, last = drop("SELECT first, last FROM record WHERE id = ?", (number,)).fetchone()
        drop("DELETE FROM part WHERE rowid BETWEEN ? AND ?", (first, last))
        drop("DELETE FROM whole WHERE rowid = ?", (number,))
        drop("DELETE FROM name WHERE record = ?", (number,))
        drop("DELETE FROM record WHERE id = ?", (number,))

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Hold the connection, and turn SQLite's errors into one line."""
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            where = self.path or "in memory"
            raise UsageError(f"the collected evidence ({where}) cannot be used: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of a block is written, or none of it."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise


def _terms(query: str) -> list[str]:
    """What is looked for: the words of a question, and the other common names of the drugs that it names.

    >>> _terms("What is known of Inderal?")
    ['inderal', 'propranolol']
    """
    words = [word for word in content_words(query) if word not in _ASKING][:_MAX_WORDS]
    names = [name for drug in find_drugs(query)[:_MAX_DRUGS] for name in common_drug_names(drug.name)]
    return list(dict.fromkeys([*words, *(" ".join(content_words(name)) for name in names)]))


def fused(*rankings: Sequence[int]) -> dict[int, float]:
    """Scores of what is ranked, by reciprocal rank fusion: a sum over the rankings of 1 / (60 + place).

    >>> scores = fused([7, 8], [8, 9])
    >>> sorted(scores, key=lambda each: -scores[each])
    [8, 7, 9]
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, each in enumerate(ranking, 1):
            scores[each] = scores.get(each, 0.0) + 1 / (_K + place)
    return scores


def _sections(record: Evidence) -> Iterator[tuple[str, str]]:
    """The parts of a screened record that can be quoted, with their names; its title where it has nothing else."""
    title, body = record.citation.title, record.content
    rest = body.removeprefix(title)
    if not rest.strip():
        yield TITLE, title
    else:
        yield own_part(record), rest if rest.startswith("\n") else body
    yield from ((place.title, place.text) for place in places(record))


def _windows_of(record: Evidence) -> list[tuple[str, str, str]]:
    """Each sentence of a screened record, the same with its neighbours, and the name of the part they stand in."""
    found = []
    for section, said in _sections(record):
        text = visible(said)
        spans = sentence_spans(text)
        for at, (start, end) in enumerate(spans):
            alone = " ".join(text[start:end].split())
            window = _joined(text, spans[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS + 1])
            if len(window) > MAX_PASSAGE:
                window = alone if len(alone) <= MAX_PASSAGE else f"{alone[: MAX_PASSAGE - 1]}…"
            found.append((alone, window, section))
    return found[:MAX_WINDOWS]


def _joined(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Sentences as they follow each other; `[…]` stands where something between them was left out."""
    said, before = "", None
    for start, end in spans:
        gap = " […] " if before is not None and start - before > _WIDE else " "
        said, before = f"{said}{gap}{' '.join(text[start:end].split())}", end
    return said.strip()
