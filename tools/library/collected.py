"""Search the collected records by passage: sentence windows in SQLite's full-text index, ranked by BM25.

A window is a sentence with its neighbours. Records and windows are ranked separately (`bm25()` of FTS5, on Porter
stems), and the rankings are combined by reciprocal rank fusion (Cormack, Clarke and Büttcher 2009,
https://doi.org/10.1145/1571941.1572114). Text addressed to machines is left out.
https://www.sqlite.org/fts5.html
"""

import asyncio
import json
import math
import sqlite3
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from pydantic import BaseModel

from ..errors import UsageError
from ..lexicon import common_drug_names, find_drugs
from ..lexicon.matching import content_words
from ..lexicon.variants import list_other_names, list_spellings
from ..questions.kinds import get_question_words
from ..reading.screening import readable
from ..reading.sections import TITLE, name_own_part, places
from ..reading.text import split_spans
from ..records import Kind
from ..records.enclosure import visible
from ..records.evidence import Evidence, merge
from ..records.registry import kind_of

MAX_WINDOWS = 400  # per record; the parts read of full texts have fewer sentences
MAX_PASSAGE = 700  # characters
MAX_PASSAGES = 50  # per answer
PER_RECORD = 2  # passages per record in an answer
_NEIGHBOURS = 1  # sentences on either side
_RANKED = 300  # windows, and records, per ranking
_K = 60  # constant of reciprocal rank fusion, as published
_MAX_WORDS = 64  # per question
_MAX_DRUGS = 8  # per question that are also searched by synonyms
_MAX_NAMES = 40  # per question, of the conditions and outcomes that it names
_WIDE = 4  # characters between two sentences: wider gaps come from screening
_SPACE = 1000  # window numbers reserved per record
_SCHEMA = """
CREATE TABLE collected (id INTEGER PRIMARY KEY, evidence TEXT NOT NULL);
CREATE TABLE identifier (name TEXT PRIMARY KEY, record INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX identifier_record ON identifier (record);
CREATE VIRTUAL TABLE whole USING fts5 (title, text, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE passage
    USING fts5 (sentence, text, section UNINDEXED, tokenize = 'porter unicode61 remove_diacritics 2');
"""
_PASSAGES = "SELECT rowid, text, section FROM passage WHERE passage MATCH ? ORDER BY bm25(passage), rowid LIMIT ?"
_RECORDS = "SELECT rowid, -bm25(whole) FROM whole WHERE whole MATCH ? ORDER BY bm25(whole), rowid LIMIT ?"

_HOLDING = "SELECT DISTINCT record FROM identifier WHERE name IN (SELECT value FROM json_each(?))"


class Passage(BaseModel, frozen=True, extra="forbid"):
    """Sentences of a record, verbatim, with their source."""

    key: str
    title: str
    citation: str
    url: str
    year: int | None
    """None: not reported."""
    kind: Kind
    section: str
    """`Title`, `Abstract`, `Registry entry`, `Database entry` and the like, or a heading of the full text."""
    text: str
    """The matching sentence with its neighbours; at most `MAX_PASSAGE` characters."""
    retracted: bool = False
    is_preprint: bool


class Answer(BaseModel, frozen=True, extra="forbid"):
    """The best passages on a question."""

    query: str
    passages: list[Passage]
    matching: int
    """Number of records with a word of the question."""
    truncated: bool = False
    """Whether more passages were found."""


class CollectedEvidence:
    """A searchable store of records in memory, which threads and tasks can share."""

    name = "collected"

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.executescript(_SCHEMA)
        weakref.finalize(self, self._database.close)

    def __len__(self) -> int:
        with self._lock:
            return int(self._database.execute("SELECT count(*) FROM collected").fetchone()[0])

    def ingest(self, records: Iterable[Evidence]) -> int:
        """Add records, all or none, merging each with stored copies; return how many have new content."""
        with self._lock, self._database:
            return sum([self._take(record) for record in records])

    async def passages(self, query: str, limit: int = 8) -> Answer:
        """Find the best passages for a question, at most `PER_RECORD` per record, without overlaps.

        Args:
            query: words; operators are not supported.
            limit: number of passages, 1 to `MAX_PASSAGES`.

        Raises:
            UsageError: the question has nothing to search for.
        """
        return await asyncio.to_thread(self._best_passages, query, min(max(1, limit), MAX_PASSAGES))

    async def search(self, query: str, max_results: int = 10) -> list[Evidence]:
        """Find the best records for a question in words, as stored, with their relevance; raises as `passages`."""
        return await asyncio.to_thread(self._best_records, query, max(1, max_results))

    def _best_passages(self, query: str, limit: int) -> Answer:
        """Rank windows by their own rank and their record's, combined by reciprocal rank fusion."""
        terms = _build_expression(query)
        with self._lock:
            windows = self._database.execute(_PASSAGES, (terms, _RANKED)).fetchall()
            ranks = {number: at for at, (number, _) in enumerate(self._database.execute(_RECORDS, (terms, _RANKED)))}
            matching = self._database.execute("SELECT count(*) FROM whole WHERE whole MATCH ?", (terms,)).fetchone()[0]
            scored = []
            for at, (window, text, section) in enumerate(windows):
                score = 1 / (_K + 1 + at) + 1 / (_K + 1 + ranks.get(window // _SPACE, math.inf))
                scored.append((-score, window, text, section))
            windows_of = defaultdict[int, list[int]](list)
            passages = list[Passage]()
            for _, window, text, section in sorted(scored):
                others = windows_of[window // _SPACE]
                if len(others) == PER_RECORD or any(abs(window - other) <= 2 * _NEIGHBOURS for other in others):
                    continue
                if len(passages) == limit:
                    return Answer(query=query, passages=passages, matching=matching, truncated=True)
                others.append(window)
                passages.append(_make_passage(self._record(window // _SPACE), section, text))
        return Answer(query=query, passages=passages, matching=matching)

    def _best_records(self, query: str, most: int) -> list[Evidence]:
        with self._lock:
            rows = self._database.execute(_RECORDS, (_build_expression(query), min(most, _RANKED))).fetchall()
            best = rows[0][1] if rows else 1.0
            return [
                self._record(number).model_copy(update={"relevance": round(min(1.0, score / best), 4)})
                for number, score in rows
            ]

    def _record(self, number: int) -> Evidence:
        row = self._database.execute("SELECT evidence FROM collected WHERE id = ?", (number,)).fetchone()
        return Evidence.model_validate(json.loads(row[0]))

    def _take(self, record: Evidence) -> bool:
        """Store a record; return False if it has nothing new."""
        names = json.dumps(_list_names(record))
        numbers = [number for (number,) in self._database.execute(_HOLDING, (names,)).fetchall()]
        former = [self._record(number) for number in numbers]
        united = merge([*former, record])[0]
        if len(former) == 1 and (record.says_as(former[0]) or united.says_as(former[0])):
            return False
        for number in numbers:
            self._delete(number)
        self._insert(united)
        return True

    def _insert(self, record: Evidence) -> None:
        execute = self._database.execute
        many = self._database.executemany
        written = json.dumps(record.model_dump())
        number = execute("INSERT INTO collected (evidence) VALUES (?) RETURNING id", (written,)).fetchone()[0]
        many("INSERT OR REPLACE INTO identifier VALUES (?, ?)", [(name, number) for name in _list_names(record)])
        screened = readable(record)
        body = visible(" ".join(" ".join(text.split()) for _, text in _list_sections(screened)))
        execute("INSERT INTO whole (rowid, title, text) VALUES (?, ?, ?)", (number, screened.citation.title, body))
        windows = [(number * _SPACE + at, *window) for at, window in enumerate(_cut_windows(screened))]
        many("INSERT INTO passage (rowid, sentence, text, section) VALUES (?, ?, ?, ?)", windows)

    def _delete(self, number: int) -> None:
        first = number * _SPACE
        self._database.execute("DELETE FROM passage WHERE rowid BETWEEN ? AND ?", (first, first + _SPACE - 1))
        self._database.execute("DELETE FROM whole WHERE rowid = ?", (number,))
        self._database.execute("DELETE FROM identifier WHERE record = ?", (number,))
        self._database.execute("DELETE FROM collected WHERE id = ?", (number,))


def _list_names(record: Evidence) -> list[str]:
    return sorted({record.key, *record.identifiers, *record.record.same_as})


def _build_expression(query: str) -> str:
    """Build the FTS5 expression: any word of a question in either English, or another name of what it names.

    >>> _build_expression("What is known of Inderal in anaemia?")
    '"inderal" OR "anaemia" OR "propranolol" OR "anemia" OR "anemic" OR "anaemic"'
    """
    asking = get_question_words("asks the records")
    words = [word for word in content_words(query) if word not in asking][:_MAX_WORDS]
    names: list[str] = []
    for drug in find_drugs(query)[:_MAX_DRUGS]:
        names += common_drug_names(drug.name)
    names += islice(list_other_names(query), _MAX_NAMES)
    terms = dict.fromkeys([*words, *(" ".join(content_words(name)) for name in names)])
    for term in list(terms):
        terms |= dict.fromkeys(_list_spellings(term))
    if not terms:
        raise UsageError(f"{query.strip()[:80]!r} names nothing to look for: name a drug, a condition, an outcome")
    return " OR ".join(f'"{term}"' for term in terms)


def _list_spellings(term: str) -> Iterator[str]:
    """Yield a term with each of its words spelt otherwise."""
    words = term.split()
    for place, word in enumerate(words):
        for form in list_spellings(word):
            yield " ".join([*words[:place], form, *words[place + 1 :]])


def _make_passage(record: Evidence, section: str, text: str) -> Passage:
    cited = readable(record).citation
    return Passage(
        key=record.key,
        title=cited.title,
        citation=cited.formatted,
        url=cited.url,
        year=int(cited.date[:4]) if cited.date[:4].isdecimal() else None,
        kind=kind_of(record),
        section=section,
        text=text,
        retracted=record.metadata.get("retracted") is True,
        is_preprint=record.is_preprint,
    )


def _list_sections(record: Evidence) -> Iterator[tuple[str, str]]:
    """Yield the quotable parts of a screened record with their names; its title if there is nothing else."""
    title = record.citation.title
    body = record.content
    rest = body.removeprefix(title)
    if not rest.strip():
        yield TITLE, title
    else:
        yield name_own_part(record), rest if rest.startswith("\n") else body
    yield from ((place.title, place.text) for place in places(record))


def _cut_windows(record: Evidence) -> list[tuple[str, str, str]]:
    """List each sentence of a screened record, alone and with its neighbours, and the name of its part.

    `[…]` marks text left out between two sentences.
    """
    windows_there = []
    for section, written in _list_sections(record):
        text = visible(written)
        spans = split_spans(text)
        for at, (start, end) in enumerate(spans):
            alone = " ".join(text[start:end].split())
            window = ""
            before = 0
            for first, last in spans[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS + 1]:
                gap = " […] " if window and first - before > _WIDE else " "
                window = f"{window}{gap}{' '.join(text[first:last].split())}"
                before = last
            window = window.strip()
            if len(window) > MAX_PASSAGE:
                window = alone if len(alone) <= MAX_PASSAGE else f"{alone[: MAX_PASSAGE - 1]}…"
            windows_there.append((alone, window, section))
    return windows_there[:MAX_WINDOWS]
