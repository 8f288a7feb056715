"""Read what a tool that is not Willowbark's own gave: `Evidence`, JSON of any shape, or words that name records.

Everything here is a stranger's: it is bounded in size, depth and number, and nothing of it is run.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from ..records.enclosure import blocks, visible
from ..records.evidence import UNKNOWN_DATE, Citation, Evidence, checked_identifier, date_parts
from ..records.kinds import KINDS, read
from ..sources.studies.leads import Lead, find_numbers

MOST_CHARACTERS = 1_000_000  # of a result; the rest is not read
MOST_LITERAL = 300_000  # characters of what Python prints, which takes far longer to parse than JSON
MOST_DEPTH = 24
MOST_NODES = 50_000
MOST_WORKS = 50  # publications and trials of a result
_MOST_TEXT = 20_000  # characters of a record
_LONGEST_NAME = 40  # characters of a source's name

_NOT_A_WORD = re.compile("[^a-z0-9_]+")
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n```", re.DOTALL)
_DAY = re.compile(r"\b((?:19|20)\d\d)(?:-(0[1-9]|1[0-2])(?:-([0-2]\d|3[01]))?)?(?!\d)")
_IDENTIFIERS = {
    "pmid": "pmid",
    "pubmedid": "pmid",
    "nctid": "nct_id",
    "nctnumber": "nct_id",
    "doi": "doi",
    "pmcid": "pmcid",
    "pmc": "pmcid",
}
"""Kind of identifier by the name of a field, in lower case and letters alone."""
_LISTS = {"pmids": "pmid", "idlist": "pmid", "uids": "pmid", "nctids": "nct_id", "dois": "doi"}
_TITLES = ("title", "articletitle", "brieftitle", "studytitle", "officialtitle")
_TEXTS = ("abstract", "abstracttext", "briefsummary", "detaileddescription", "summary", "content", "text")
_DATES = ("date", "pubdate", "publicationdate", "year", "pubyear", "publicationyear")
_OF_OTHERS = frozenset({"references", "referencelist", "citedby", "citations", "similararticles", "related"})
"""Fields that name other works than those that were found."""
_TYPES = ("Evidence", "SearchResult", "SourceReply", "ToolReply")


@dataclass(frozen=True)
class GivenOrigin:
    """The agent and the tool that gave something."""

    agent: str
    """Empty for a tool used alone."""
    tool: str
    """Empty for an agent's own words."""
    is_typed: bool = False
    """Whether the tool is a function of the user's that declares to return `Evidence`: its records need no number."""

    @property
    def source(self) -> str:
        """The name under which it stands in records and the search log.

        >>> GivenOrigin("Helper", "findPapers").source, GivenOrigin("", "pubmed").source
        ('helper-findpapers', 'tool-pubmed')
        """
        words = "-".join(filter(None, (self.agent, self.tool or "words"))).lower()
        name = _NOT_A_WORD.sub("-", words).strip("-_")[:_LONGEST_NAME]
        if name[:1].isalpha() and not name.isalpha():  # a bare word may be a source's name, or one misspelt
            return name
        return f"tool-{name}"[:_LONGEST_NAME].rstrip("-")

    @property
    def label(self) -> str:
        """The same in words, for people."""
        return ", ".join(filter(None, (self.agent, self.tool)))


class GivenWork(NamedTuple):
    """A publication or trial that a result names."""

    names: tuple[str, ...]
    """Its numbers in the form of `Evidence.identifiers`, the one to look it up by first."""
    record: Evidence | None
    """What the result says of it, if that has a title and a text; the record's own source may say otherwise."""


@dataclass
class GivenResult:
    """What was read of a tool's result."""

    works: list[GivenWork] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What could not be read, each in a few words."""


def read_result(text: str, origin: GivenOrigin) -> GivenResult:
    """Read the publications and trials that a result names, each once.

    Args:
        text: the result as models get it.
        origin: who gave it.
    """
    result = GivenResult()
    if len(text) > MOST_CHARACTERS:
        result.problems.append(f"only the first {MOST_CHARACTERS:,} of {len(text):,} characters were read")
        text = text[:MOST_CHARACTERS]
    walk = _Walk(origin)
    try:
        for value in _list_values(text, result.problems):
            walk.see(value, 0)
    except _TooMuch as error:
        result.problems.append(str(error))
    words = " ".join(walk.words) if walk.words else text
    works = walk.works
    if not works:
        works = [GivenWork((name,), None) for name in find_numbers(Lead("", visible(words)))]
    result.works = _drop_repeats(works)
    if (more := len(result.works) - MOST_WORKS) > 0:
        result.problems.append(f"{more} of {len(result.works)} publications and trials were left out")
        result.works = result.works[:MOST_WORKS]
    return result


def declares_evidence(annotation: object) -> bool:
    """Whether a function's return annotation says that it returns records."""
    return any(name in str(annotation) for name in _TYPES)


class _TooMuch(Exception):
    """A result is nested too deep or too long."""


def _list_values(text: str, problems: list[str]) -> Iterator[Any]:
    """Yield the data in a text: records in blocks, JSON as a whole, in lines or fenced, or what Python prints."""
    enclosed: list[str] = []
    for block in blocks(text):
        enclosed += filter(None, block.lines)
    if enclosed:
        yield from filter(None, map(_parse_json, enclosed))
        return
    stripped = text.strip()
    parts = _FENCE.findall(stripped) or [stripped]
    for part in parts:
        if not part.startswith(("{", "[", "Evidence(")):
            continue
        value = _parse_json(part)
        if value is None:
            lines = [_parse_json(line) for line in part.splitlines() if line.startswith(("{", "["))]
            value = [line for line in lines if line is not None] or _parse_repr(part)
        if value is None:
            problems.append("JSON that cannot be read")
        else:
            yield value


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _parse_repr(text: str) -> Any:
    """Read what Python prints of lists, dictionaries and records; AutoGen hands a function's list to models so."""
    if len(text) > MOST_LITERAL or _measure_depth(text) > MOST_DEPTH:
        return None
    try:
        return _read_literal(ast.parse(text, mode="eval").body)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _measure_depth(text: str) -> int:
    """Return the depth of brackets, those in strings included."""
    depth = deepest = 0
    for sign in text:
        if sign in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in ")]}":
            depth -= 1
    return deepest


def _read_literal(node: ast.expr) -> Any:
    """Return the value of a literal or of a printed record; ValueError for anything else."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_read_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {str(_read_literal(key)): _read_literal(value) for key, value in pairs if key is not None}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
            fields = {str(keyword.arg): _read_literal(keyword.value) for keyword in keywords}
            return _add_kind(name, fields)
    raise ValueError("not a literal")


def _add_kind(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Name the kind of a printed record, which stands in its class, as in JSON."""
    kinds = {form.__name__: kind for kind, form in KINDS.items()}
    return {**fields, "kind": kinds[name]} if name in kinds else fields


class _Walk:
    """Goes through data and collects the works in it."""

    def __init__(self, origin: GivenOrigin) -> None:
        self.origin = origin
        self.works: list[GivenWork] = []
        self.words: list[str] = []
        """Texts seen, in which numbers may stand if no field holds any."""
        self._nodes = 0

    def see(self, value: Any, depth: int) -> None:
        self._nodes += 1
        if depth > MOST_DEPTH or self._nodes > MOST_NODES:
            raise _TooMuch("data nested too deep or too long: the rest was not read")
        if isinstance(value, str):
            self.words.append(value)
        elif isinstance(value, Mapping):
            self._see_mapping(value, depth)
        elif isinstance(value, Sequence):
            for item in value:
                self.see(item, depth + 1)

    def _see_mapping(self, value: Mapping[str, Any], depth: int) -> None:
        if (record := _parse_evidence(value, self.origin)) is not None:
            self.works.append(_make_work(record, self.origin))
            return
        flat = _flatten(value)
        work = _read_fields(flat, self.origin)
        if work is not None:
            self.works.append(work)
        for name, kind in _LISTS.items():
            listed = flat.get(name)
            numbers = listed if isinstance(listed, list) else []
            names = filter(None, (_make_identifier(kind, number) for number in numbers))
            self.works += [GivenWork((name,), None) for name in names]
        for name, item in value.items():
            if _simplify_name(name) not in _OF_OTHERS:
                self.see(item, depth + 1)


def _simplify_name(name: object) -> str:
    return re.sub(r"[^a-z]", "", str(name).lower())


def _flatten(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields by plain name; those of a registry's modules, which belong to one trial, as if they were one's."""
    fields = {_simplify_name(name): item for name, item in value.items()}
    modules = fields.get("protocolsection")
    for module in modules.values() if isinstance(modules, Mapping) else ():
        if isinstance(module, Mapping):
            fields |= {_simplify_name(name): item for name, item in module.items()}
    for entry in _list_entries(fields.get("articleids")):
        kind = {"pubmed": "pmid", "doi": "doi", "pmc": "pmcid"}.get(str(entry.get("idtype")))
        if kind:
            fields.setdefault(kind, entry.get("value"))
    return fields


def _list_entries(value: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _make_identifier(kind: str, value: Any) -> str | None:
    """Return a number in the form of `Evidence.identifiers`; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value)[:300].strip()
    if kind == "pmcid" and text.isdecimal():
        text = f"PMC{text}"
    checked = checked_identifier(kind, text)
    return f"{kind.removesuffix('_id')}:{checked}" if checked else None


def _read_fields(fields: Mapping[str, Any], origin: GivenOrigin) -> GivenWork | None:
    """Read a publication or trial from its fields; None if they hold none."""
    names = [_make_identifier(kind, fields.get(name)) for name, kind in _IDENTIFIERS.items()]
    title = _find_text(fields, _TITLES)
    bare = fields.get("id")
    if title:  # else an `id` may be anything's
        names += [_make_identifier(kind, bare) for kind in ("nct_id", "pmid", "doi", "pmcid")]
        names.append(_make_identifier("pmid", fields.get("uid")))
    numbers = tuple(dict.fromkeys(name for name in names if name))
    if not numbers:
        return None
    text = _find_text(fields, _TEXTS)
    return GivenWork(numbers, _make_record(numbers, title, text, fields, origin) if title and text else None)


def _find_text(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    for name in names:
        value = fields.get(name)
        if isinstance(value, list):  # an abstract in sections
            value = " ".join(_join_words(part) for part in value)
        text = visible(value).strip() if isinstance(value, str) else ""
        if text:
            return text[:_MOST_TEXT]
    return ""


def _join_words(section: Any) -> str:
    if isinstance(section, Mapping):
        return " ".join(part for part in section.values() if isinstance(part, str))
    return section if isinstance(section, str) else ""


def _make_record(
    names: Sequence[str], title: str, text: str, fields: Mapping[str, Any], origin: GivenOrigin
) -> Evidence | None:
    numbers: dict[str, str] = {}
    for name in reversed(names):  # so that of two numbers of a kind the first stays
        kind, _, number = name.partition(":")
        numbers[kind] = number
    is_trial = "nct" in numbers and "pmid" not in numbers
    record_fields: dict[str, Any] = {"nct_id" if kind == "nct" else kind: number for kind, number in numbers.items()}
    citation = Citation(
        source=origin.source,
        title=title,
        url=_find_address(numbers),
        date=_find_date(fields),
        authors=_list_authors(fields.get("authors")),
    )
    record = read(
        "trial" if is_trial else "publication", {**record_fields, "given_by": origin.label, "has_abstract": True}
    )
    return Evidence(content=f"{citation.title}\n\n{text}", citation=citation, record=record)


def _find_address(numbers: Mapping[str, str]) -> str:
    """Return the public page of a number, whatever address a stranger gives."""
    pages = {
        "pmid": "https://pubmed.ncbi.nlm.nih.gov/{}/",
        "nct": "https://clinicaltrials.gov/study/{}",
        "doi": "https://doi.org/{}",
        "pmcid": "https://pmc.ncbi.nlm.nih.gov/articles/{}/",
    }
    return next((page.format(numbers[kind]) for kind, page in pages.items() if kind in numbers), "")


def _find_date(fields: Mapping[str, Any]) -> str:
    for name in _DATES:
        match = _DAY.search(str(fields.get(name, ""))[:40])
        if match:
            date = "-".join(filter(None, match.groups()))
            return date if date_parts(date) else UNKNOWN_DATE
    return UNKNOWN_DATE


def _list_authors(value: Any) -> list[str]:
    if not isinstance(value, list):
        return []
    names = [author.get("name") if isinstance(author, Mapping) else author for author in value[:100]]
    return [visible(name)[:100] for name in names if isinstance(name, str) and name.strip()]


def _parse_evidence(value: Mapping[str, Any], origin: GivenOrigin) -> Evidence | None:
    """Read data in the form of `Evidence`; None if it is not in it."""
    if not isinstance(value.get("citation"), Mapping) or not isinstance(value.get("content"), str):
        return None
    metadata = value.get("metadata") or value.get("record")
    fields = {name: value[name] for name in ("content", "citation") if name in value}
    try:
        record = Evidence.model_validate({**fields, "metadata": metadata or {}}, extra="ignore")
    except ValidationError:
        return None
    if origin.is_typed:
        return record
    citation = record.citation.model_copy(update={"source": origin.source})
    return record.model_copy(update={"citation": citation, "content": record.content[:_MOST_TEXT]})


def _make_work(record: Evidence, origin: GivenOrigin) -> GivenWork:
    data = record.record
    numbers = [("pmid", data.pmid), ("nct", data.nct_id), ("doi", data.doi), ("pmcid", data.pmcid)]
    names = tuple(f"{kind}:{number}" for kind, number in numbers if number)
    has_text = record.has_abstract and record.content.strip() != record.citation.title
    counts = origin.is_typed or (names and has_text)
    return GivenWork(names, record.noting(given_by=origin.label) if counts else None)


def _drop_repeats(works: Iterable[GivenWork]) -> list[GivenWork]:
    """Return each work once, with what is said of it if anything is."""
    distinct = list[GivenWork]()
    places = dict[str, int]()
    for work in works:
        own = work.names or ((work.record.key,) if work.record else ())
        place = next((places[name] for name in own if name in places), len(distinct))
        if place == len(distinct):
            distinct.append(work)
        else:
            earlier = distinct[place]
            names = tuple(dict.fromkeys([*earlier.names, *work.names]))
            distinct[place] = GivenWork(names, earlier.record or work.record)
        places.update(dict.fromkeys(own, place))
    return distinct
