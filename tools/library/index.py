"""The index of a library: full-text search by tantivy (https://github.com/quickwit-oss/tantivy), in memory or on disk.

Queries follow the syntax of PubMed and Europe PMC: AND, OR, NOT, groups, quoted phrases, a star at a word's end,
adjacent words that must all occur; fields after a term (`migraine[tiab]`) or before it (`TITLE:migraine`).
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tantivy import (
    Document,
    FieldType,
    Filter,
    Index,
    Occur,
    Query,
    Schema,
    SchemaBuilder,
    TextAnalyzer,
    TextAnalyzerBuilder,
    Tokenizer,
)

from ..errors import UsageError
from ..local_files import UnusableFile, parse_json, read_whole
from ..records.registry import cards
from .rows import ArticleRow, PublicationRow, StudyRow, read_rows

_TEXTS = ("title", "abstract", "heading", "substance", "author", "journal", "type", "number")
_EVERYWHERE = ("title", "abstract", "heading", "substance", "number")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ti", "title"), ("title",)),
    **dict.fromkeys(("ab", "abstract"), ("abstract",)),
    **dict.fromkeys(("tiab", "title/abstract", "title_abs", "ot"), ("title", "abstract")),
    **dict.fromkeys(("mh", "mesh", "mesh terms", "majr", "mesh major topic", "kw"), ("heading",)),
    **dict.fromkeys(("nm", "supplementary concept", "substance"), ("substance", "heading")),
    **dict.fromkeys(("pt", "ptyp", "publication type", "pub_type"), ("type",)),
    **dict.fromkeys(("au", "author", "auth"), ("author",)),
    **dict.fromkeys(("ta", "journal"), ("journal",)),
    **dict.fromkeys(("uid", "pmid", "ext_id", "si", "secondary source id", "accession_id"), ("number",)),
    **dict.fromkeys(("dp", "pdat", "date - publication", "pub_year", "first_pdate"), ("day",)),
}
"""Fields by PubMed's tags and Europe PMC's prefixes; an unknown one searches everywhere."""
_SPLIT_RANGE = re.compile(r'"?([\d/]+)"?\s*\[([^\[\]]+)\]\s*:\s*"?([\d/]+)"?\s*\[\2\]')  # 2019[dp] : 2021[dp]
_TOKEN = re.compile(
    r'"(?P<phrase>[^"]*)"|\[(?P<range>[^\[\]]*? TO [^\[\]]*)\]'
    r"|(?:AREA|RANGE|EXPAND|SEARCH|COVER)\[(?P<area>[^\[\]]*)\]|\[(?P<tag>[^\[\]]*)\]"
    r'|(?P<bracket>[()])|(?P<prefix>[A-Z][A-Za-z_]+):(?=[^\s:])|(?P<word>[^\s()"\[\]]+)'
)
_OPERATORS = (("word", "AND"), ("word", "OR"), ("word", "NOT"))
_DEEPEST = 50  # nested groups; deeper opening brackets are ignored
_HEAP_BYTES = 64_000_000
_PAGE = 2_000  # records, of a walk
_MOST_NAMES = 10_000  # most records that can be looked up at once
MAX_PROBLEMS = 20
_LARGEST_MANIFEST_BYTES = 512 * 1024 * 1024  # all of PubMed, with the numbers of what was deleted, takes some 20 MB
FORMAT = 1
"""Format version of manifest and index; a library in another format is refused."""
MANIFEST = "library.json"
BUILT_INDEX = "index"
"""Manifest of a library made by `building`, and the folder of its index."""


@dataclass(frozen=True, slots=True)
class LibraryContents:
    digest: str
    publications: int
    trials: int
    topics: tuple[str, ...]
    """Most frequent first."""
    sources: tuple[str, ...]
    """Sources that it can replace in searches and look-ups."""
    unread: tuple[str, ...] = ()
    """A line for what is bent in its files, with file and line: the first 20, and how many more there are."""


class _Problems:
    """Keeps the first of the lines on what is bent: a file of another kind may have millions."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def tell(self, line: str) -> None:
        self.count += 1
        if self.count <= MAX_PROBLEMS:
            self.lines.append(line)

    def first_ones(self) -> tuple[str, ...]:
        more = self.count - len(self.lines)
        return (*self.lines, f"and {more:,} more") if more else tuple(self.lines)


def fill_index(index: Index, folder: Path, files: Sequence[Path], digest: str) -> LibraryContents:
    """Index the records of a library's files, and commit them; returns what they are.

    Raises:
        UsageError: the files hold no record that can be read; one line.
    """
    kinds = Counter[type]()
    topics = Counter[str]()
    sources = set[str]()
    problems = _Problems()
    index.register_tokenizer("english", make_analyzer())
    writer = index.writer(_HEAP_BYTES, num_threads=1)  # one thread: equal scores keep the order of the files
    for row, line in read_rows(files, problems.tell):
        fields = row.indexed()
        writer.add_document(make_document(fields, line.encode()))
        kinds[type(row)] += 1
        tags = fields.get("tag", ())
        sources.update(tag.removeprefix("source:") for tag in tags if tag.startswith("source:"))
        if isinstance(row, PublicationRow | StudyRow) and row.topic != "other":
            topics[row.topic.replace("_", " ")] += 1
    if problems.lines and not kinds:
        raise UsageError(f"library {folder}: holds no record that can be read; {problems.lines[0]}")
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return LibraryContents(
        digest=digest,
        publications=kinds[PublicationRow] + kinds[ArticleRow],
        trials=kinds[StudyRow],
        topics=tuple(topic for topic, _ in topics.most_common()),
        sources=tuple(sorted(sources)),
        unread=problems.first_ones(),
    )


class LibraryIndex:
    """Finds records of a library and returns them as lines of its files.

    Args:
        index: holds the records.
        contents: what they are; None counts those of a library that `building` made.
        digest: of the library, where `contents` is None.
    """

    def __init__(self, index: Index, contents: LibraryContents | None, digest: str = "") -> None:
        self._is_built = contents is None
        self._analyzer = make_analyzer()
        index.register_tokenizer("english", self._analyzer)
        self._schema = index.schema
        self._searcher = index.searcher()
        self.contents = contents or self._count_contents(digest)

    def _count_contents(self, digest: str) -> LibraryContents:
        tagged = {name: self._count_tagged(f"source:{name}") for name in cards()}
        sources = {"pubmed", *(name for name, count in tagged.items() if count)}
        trials = tagged["clinicaltrials"]
        return LibraryContents(digest, self._searcher.num_docs - trials, trials, (), tuple(sorted(sources)))

    def _count_tagged(self, tag: str) -> int:
        hits = self._searcher.search(Query.term_query(self._schema, "tag", tag), limit=1)
        return getattr(hits, "count", None) or 0  # tantivy's stubs lack it

    def named(self, *names: str) -> list[str]:
        query = Query.term_set_query(self._schema, "name", list(names))
        return self._lines(query, max(1, min(self._searcher.num_docs, _MOST_NAMES)), 0)[0] if names else []

    def search(
        self,
        query: str,
        *,
        tags: Sequence[Sequence[str]] = (),
        days: tuple[int | None, int | None] = (None, None),
        most: int,
        start: int = 0,
        left_to_right: bool = False,
    ) -> tuple[list[str], int]:
        """Find the records that match a query, best first; returns up to `most` of them and the total number.

        Args:
            query: in the syntax described at the top of this module.
            tags: groups of tags; a record must have one tag of each group, such as `source:pubmed`.
            days: first and last date allowed, as `20190301`; None leaves that end open.
            most: number of records to return.
            start: number of records to skip.
            left_to_right: apply operators in order, as PubMed does; otherwise AND binds tighter than OR.
        """
        words = QueryReader(self._schema, self._analyzer, left_to_right, self._is_built).read(query)
        if words is None:
            return [], 0
        filters = [Query.term_set_query(self._schema, "tag", list(group)) for group in tags]
        if days != (None, None):
            filters.append(_make_date_query(self._schema, *days))
        parts = [
            (Occur.Must, words),
            *((Occur.Must, Query.const_score_query(query_filter, 0.0)) for query_filter in filters),
        ]
        return self._lines(Query.boolean_query(parts), most, start)

    def walk(self, tags: Sequence[str], order: Callable[[list[Any]], None]) -> Iterator[list[str]]:
        """Yield all records with one of these tags, in pages; `order` puts a page, and the years, into its order."""
        tagged = Query.term_set_query(self._schema, "tag", list(tags))
        dated = _make_date_query(self._schema, None, None)
        slices = [Query.boolean_query([(Occur.Must, tagged), (Occur.MustNot, dated)])]
        ends = {end: {end: {"field": "day"}} for end in ("min", "max")}
        days = self._searcher.aggregate(Query.all_query(), ends)
        first, last = (int(days[end]["value"] or 0) // 10_000 for end in ends)
        for year in range(first, last + 1):
            own = _make_date_query(self._schema, year * 10_000, year * 10_000 + 9_999)
            slices.append(Query.boolean_query([(Occur.Must, tagged), (Occur.Must, own)]))
        order(slices)
        for query in slices:
            start = 0
            while lines := self._lines(query, _PAGE, start)[0]:
                start += len(lines)
                order(lines)
                yield lines

    def _lines(self, query: Query, most: int, start: int) -> tuple[list[str], int]:
        results = self._searcher.search(query, limit=most, offset=start)
        total: int = getattr(results, "count", None) or 0  # tantivy's stubs lack it
        return [self._searcher.doc(address)["record"][0].decode() for _, address in results.hits], total


def make_analyzer() -> TextAnalyzer:
    """Build an analyzer that splits text into English stems, without accents and hyphens."""
    build = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(60))
    return build.filter(Filter.lowercase()).filter(Filter.ascii_fold()).filter(Filter.stemmer("English")).build()


def _make_date_query(schema: Schema, first: int | None, last: int | None) -> Query:
    return Query.range_query(schema, "day", FieldType.Integer, first or 0, last or 99999999)


def make_schema() -> Schema:
    schema = SchemaBuilder()
    for name in _TEXTS:
        schema.add_text_field(name, tokenizer_name="english", index_option="position")
    for name in ("name", "tag"):
        schema.add_text_field(name, tokenizer_name="raw", index_option="basic")
    schema.add_integer_field("day", indexed=True, fast=True)
    schema.add_bytes_field("record", stored=True)
    return schema.build()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a library made by `building`; a UsageError says in one line why it cannot be used."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        raise UsageError(f"{folder}: is not a library that `willowbark library build` made")
    try:
        manifest: dict[str, Any] = parse_json(read_whole(path, _LARGEST_MANIFEST_BYTES).decode())
        if (form := manifest["format"]) == FORMAT:
            return manifest
    except UnusableFile as error:
        raise UsageError(f"library {path}: {error}") from None
    except (ValueError, TypeError, LookupError):
        raise make_manifest_error(folder) from None
    raise UsageError(f"library {folder}: of format {form}, not {FORMAT}; build it again in another folder")


def make_manifest_error(folder: Path) -> UsageError:
    return UsageError(f"library {folder / MANIFEST}: is damaged; delete the folder and build it again")


def open_index(folder: Path) -> Index:
    """Open the index of a library made by `building`; raises as `read_manifest`."""
    read_manifest(folder)
    try:
        index = Index.open(str(folder / BUILT_INDEX))
        index.reload()
        return index
    except (OSError, ValueError) as error:  # tantivy's own errors are ValueErrors
        why = f"its index cannot be opened ({error}); if it is damaged, delete the folder and build it again"
        raise UsageError(f"library {folder}: {why}") from None


def make_document(fields: Mapping[str, Sequence[Any]], line: bytes) -> Document:
    document = Document(record=line)
    for field, values in fields.items():
        for value in filter(None, values):
            (document.add_integer if field == "day" else document.add_text)(field, value)
    return document


class QueryReader:
    """Parses a boolean query; malformed parts are ignored.

    Args:
        schema: of the index.
        analyzer: splits texts into words.
        left_to_right: see `LibraryIndex.search`.
        by_best_field: whether a term counts by the field in which it tells most. Among many records this ranks better
            than the sum over fields, by which small libraries are ordered.
    """

    def __init__(self, schema: Schema, analyzer: TextAnalyzer, left_to_right: bool, by_best_field: bool) -> None:
        self._schema = schema
        self._analyzer = analyzer
        self._left_to_right = left_to_right
        self._by_best_field = by_best_field
        self._tokens: list[tuple[str, str]] = []
        self._at = 0

    def read(self, query: str) -> Query | None:
        """Parse a query; None if it contains no term."""
        query = _SPLIT_RANGE.sub(r"\1:\3[\2]", query)
        self._tokens = [(token.lastgroup or "", token[token.lastgroup or 0]) for token in _TOKEN.finditer(query)]
        self._at = 0
        return self._group((), 0)

    def _next(self, *kinds: str) -> str | None:
        """Take the next token if it is of one of the given kinds."""
        if self._at < len(self._tokens) and self._tokens[self._at][0] in kinds:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return None

    def _group(self, fields: Sequence[str], depth: int) -> Query | None:
        """Parse up to the closing bracket, or the end."""
        before: Query | None = None  # alternatives to the part being read
        current: Query | None = None
        operator = ""
        while self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if (kind, text) == ("bracket", ")"):
                self._at += 1
                if depth:
                    break
            elif kind == "word" and text in ("AND", "OR", "NOT"):
                self._at += 1
                operator = "NOT" if "NOT" in (operator, text) else text
            else:
                item = self._item(fields, depth)
                if item is None:
                    continue
                if operator == "OR" and not self._left_to_right:
                    before = _join_alternatives(before, current)
                    current = item
                elif operator == "OR":
                    current = _join_alternatives(current, item)
                elif operator == "NOT":
                    left = current or Query.all_query()
                    current = Query.boolean_query([(Occur.Must, left), (Occur.MustNot, item)])
                else:
                    current = (
                        item if current is None else Query.boolean_query([(Occur.Must, current), (Occur.Must, item)])
                    )
                operator = ""
        return _join_alternatives(before, current)

    def _item(self, fields: Sequence[str], depth: int) -> Query | None:
        """Parse a group, a phrase, a range, or words up to the next operator."""
        if self._next("bracket"):
            return self._group(fields, depth + 1) if depth < _DEEPEST else None
        if (name := self._next("prefix", "area")) is not None:
            inner = _FIELDS.get(name.lower(), ())
            if (word := self._next("word")) is not None:
                return self._term(word, inner)
            return self._item(inner, depth + 1) if self._at < len(self._tokens) and depth < _DEEPEST else None
        if (ends := self._next("range")) is not None:
            return self._term(ends.replace(" TO ", ":"), ("day",))
        if (text := self._next("phrase")) is None:
            words = []
            while self._at < len(self._tokens) and self._tokens[self._at] not in _OPERATORS:
                if (word := self._next("word")) is None:
                    break
                words.append(word)
            tag = self._next("tag")
            if tag is None and len(words) > 1:
                every = [self._term(word, fields) for word in words]
                terms = [(Occur.Must, term) for term in every if term is not None]
                return Query.boolean_query(terms) if terms else None
            text = " ".join(words)
        else:
            tag = self._next("tag")
        if tag is None:
            return self._term(text, fields)
        return self._term(text, _FIELDS.get(tag.partition(":")[0].strip().lower(), ()))

    def _term(self, text: str, fields: Sequence[str]) -> Query | None:
        """Build a query for adjacent words in the given fields, or in all if there are none; None for no words."""
        if text in ("*", "*:*"):
            return Query.all_query()
        if "day" in fields:
            low, _, high = text.replace('"', "").partition(":")
            first, last = (re.sub(r"[^0-9]", "", text_of_day)[:8] for text_of_day in (low, high or low))
            return _make_date_query(self._schema, int(f"{first:0<8}"), int(f"{last:9<8}")) if first and last else None
        words = self._analyzer.analyze(text)
        if not words:
            return None
        queries = []
        for field in fields or _EVERYWHERE:
            if text.endswith("*") and len(words) > 1:
                query = Query.phrase_prefix_query(self._schema, field, [*words])
            elif text.endswith("*"):
                begun = "".join(filter(str.isalnum, text.lower()))
                query = Query.regex_query(self._schema, field, f"({begun}|{words[0]}).*")
            elif len(words) > 1:
                query = Query.phrase_query(self._schema, field, [*words])
            else:
                query = Query.term_query(self._schema, field, words[0])
            queries.append(query)  # a title is its own field, so its words count more; a boost ranked worse
        if self._by_best_field:
            return Query.disjunction_max_query(queries)
        return Query.boolean_query([(Occur.Should, query) for query in queries])


def _join_alternatives(one: Query | None, other: Query | None) -> Query | None:
    if one is None or other is None:
        return one or other
    return Query.boolean_query([(Occur.Should, one), (Occur.Should, other)])
