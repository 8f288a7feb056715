"""Recorded replies of the sources, found by the path and by what is asked for; no query language is understood.

`tests/replies/SOURCE/NAME.json` (or `.xml`, `.html`) answers requests for `/SOURCE/…/NAME`. Where `LISTS` says which of
its fields is a list, a request gets the rows that hold one of its words or identifiers, those with the most first: what
none of them knows is absent. A few addresses need a rule of their own, below. A new source needs a file, and no more.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

REPLIES = Path(__file__).parent.parent / "tests" / "replies"
_KINDS = {".json": "application/json", ".xml": "text/xml; charset=UTF-8", ".html": "text/html; charset=utf-8"}
_WORDS = re.compile(r'"([^"]+)"|(10\.\d{4,}/[^\s,"]+)|([\w-]+)')
_OPERATORS = re.compile(r"\[[^\]]*\]|\b[A-Za-z_.]+:(?=\S)")  # tags of fields
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a source answers."""

    status: int
    kind: str
    body: bytes

    @classmethod
    def json(cls, data: object, status: int = 200) -> "Reply":
        """An answer in JSON."""
        return cls(status, "application/json", json.dumps(data, ensure_ascii=False).encode())


class Asked(NamedTuple):
    """A request to a source."""

    source: str
    path: str
    """Below the source, without a slash before it."""
    params: Mapping[str, str]
    """Of the address, and of a form in the body."""
    body: str = ""


class Listed(NamedTuple):
    """Where the rows of a reply are, and which parameters ask for them."""

    rows: str
    asked: str
    """The parameter that names what is sought; empty for the body."""
    size: str = ""
    total: str = ""
    mark: str = ""
    """The parameter of later pages, whose value here is the number of rows before them."""
    following: str = ""
    """The field that holds the mark of the next page."""
    none: tuple[int, object] | None = None
    """What is answered where nothing is found, if not an empty list."""


NO_MATCH = (404, {"error": {"code": "NOT_FOUND", "message": "No matches found!"}})
LISTS = {
    "clinicaltrials/studies": Listed("studies", "query.term", "pageSize", "totalCount", "pageToken", "nextPageToken"),
    "europepmc/search": Listed(
        "resultList.result", "query", "pageSize", "hitCount", "cursorMark", following="nextCursorMark"
    ),
    "uniprot/search": Listed("results", "query", "size"),
    "reactome/ids": Listed("", ""),
    "mychem/query": Listed("hits", "q", "size", "total"),
    "openfda/label": Listed("results", "search", "limit", "meta.results.total", none=NO_MATCH),
    "drugsfda/drugsfda": Listed("results", "search", "limit", "meta.results.total", none=NO_MATCH),
    "openalex/works": Listed("results", "search", "per_page", "meta.count", "cursor", "meta.next_cursor"),
    "crossref/works": Listed("message.items", "filter", "rows", "message.total-results"),
}


def answer(asked: Asked, root: Path = REPLIES) -> Reply:
    """What the recorded replies have to say; 404 where there are none."""
    source, path = asked.source, asked.path
    for pattern, rule in RULES:
        if found := re.fullmatch(pattern, f"{source}/{path}"):
            return rule(asked, root, *map(unquote, found.groups()))
    name = f"{source}/{re.sub(r'[.](json|fcgi)$', '', path.rstrip('/')).rpartition('/')[2]}"
    file = next((root / f"{name}{each}" for each in _KINDS if (root / f"{name}{each}").is_file()), None)
    if file is None:
        return Reply.json({"error": "nothing is recorded"}, 404)
    if name not in LISTS:
        return Reply(200, _KINDS[file.suffix], file.read_bytes())
    listed, data = LISTS[name], recorded(file)
    sought = asked.params.get(listed.asked, "") if listed.asked else asked.body
    found_rows = about(sought, _rows(data, listed.rows))
    if not found_rows and listed.none:
        return Reply.json(listed.none[1], listed.none[0])
    mark = asked.params.get(listed.mark, "")
    start = int(mark) if mark.isdecimal() else 0
    end = start + int(asked.params.get(listed.size, "1000"))
    page = found_rows[start:end]
    if not listed.rows:
        return Reply.json(page)
    data = _with(data, listed.rows, page)
    if listed.total:
        data = _with(data, listed.total, len(found_rows))
    if listed.following and end < len(found_rows):
        data = _with(data, listed.following, str(end))
    return Reply.json(data)


def about(text: str, rows: Sequence[Row]) -> list[Row]:
    """The rows that hold words or identifiers of a request, those with the most first; all where it has none."""
    wanted = words_of(text)
    if not wanted:
        return list(rows)
    texts = [json.dumps(row, ensure_ascii=False).lower() for row in rows]
    held = [sum(word in text for word in wanted) for text in texts]
    return [rows[place] for place in sorted(range(len(rows)), key=lambda place: -held[place]) if held[place]]


_KINDS_OF_STUDIES = frozenset(
    ("randomized controlled trial", "meta-analysis", "systematic review", "randomized", "randomised", "placebo")
)
"""What a query for trials says beside its subject: a record is not about placebo."""


@cache
def words_of(text: str) -> tuple[str, ...]:
    """The phrases, identifiers and longer words of a request, in lower case.

    >>> words_of('("sick headache"[tiab] OR TITLE:migraine) AND SRC:MED NOT EXT_ID:12')
    ('sick headache', 'migraine', '12')
    """
    found = ["".join(each) for each in _WORDS.findall(_OPERATORS.sub(" ", text.replace('"[', '" [')))]
    told = dict.fromkeys(each.lower() for each in found if len(each) > 3 or any(map(str.isdecimal, each)))
    return tuple(each for each in told if each not in _KINDS_OF_STUDIES)


@cache
def recorded(file: Path) -> Any:
    """What a file in JSON holds; not to be changed."""
    return json.loads(file.read_bytes())


def _rows(data: Any, path: str) -> Any:
    for step in filter(None, path.split(".")):
        data = data[step]
    return data


def _with(data: Row, path: str, value: object) -> Row:
    """A copy with another value at a path."""
    first, _, rest = path.partition(".")
    return {**data, first: _with(data[first], rest, value) if rest else value}


@cache
def _articles(root: Path) -> tuple[str, dict[str, str]]:
    """The head of PubMed's recorded articles, and each of them by its PMID."""
    text = (root / "pubmed" / "efetch.xml").read_text(encoding="utf-8")
    found = re.findall(r"<PubmedArticle>.*?</PubmedArticle>", text, re.DOTALL)
    return text.partition("<PubmedArticleSet>")[0], {re.findall(r"<PMID[^>]*>(\d+)<", each)[0]: each for each in found}


def _esearch(asked: Asked, root: Path) -> Reply:
    rows = [{"pmid": pmid, "text": text} for pmid, text in _articles(root)[1].items()]
    found = [row["pmid"] for row in about(asked.params.get("term", ""), rows)]
    start, data = int(asked.params.get("retstart", "0")), recorded(root / "pubmed/esearch.json")
    page = found[start : start + int(asked.params.get("retmax", "20"))]
    result = {**data["esearchresult"], "count": str(len(found)), "retmax": str(len(page)), "idlist": page}
    return Reply.json({**data, "esearchresult": result})


def _efetch(asked: Asked, root: Path) -> Reply:
    head, articles = _articles(root)
    found = "".join(articles[each] for each in asked.params.get("id", "").split(",") if each in articles)
    return Reply(200, _KINDS[".xml"], f"{head}<PubmedArticleSet>{found}</PubmedArticleSet>".encode())


def _chembl(asked: Asked, root: Path, table: str) -> Reply:
    if not (root / "chembl" / f"{table}.json").is_file():
        return Reply.json({f"{table}s": [], "page_meta": {"next": None, "total_count": 0}})
    data = recorded(root / f"chembl/{table}.json")
    [key] = data.keys() - {"page_meta"}
    limit, start = int(asked.params.get("limit", "20")), int(asked.params.get("offset", "0"))
    filters = {name: value for name, value in asked.params.items() if name not in ("limit", "offset", "format")}
    found = [row for row in data[key] if all(row_fits(row, *each) for each in filters.items())]
    meta = {"total_count": len(found), "next": "more" if start + limit < len(found) else None}
    return Reply.json({key: found[start : start + limit], "page_meta": {**data["page_meta"], **meta}})


def row_fits(row: Row, name: str, wanted: str) -> bool:
    """Whether a row passes a filter of ChEMBL, such as `pref_name__in=ASPIRIN,TIMOLOL`."""
    field, *_, test = name.split("__") if "__" in name else (name, "exact")
    if name == "q":
        return wanted.lower() in json.dumps([row.get("pref_name"), row.get("molecule_synonyms")]).lower()
    given = row.get(field)
    held = [str(each.get("molecule_synonym")) for each in given] if isinstance(given, list) else [str(given or "")]
    due = wanted.lower().split(",") if test == "in" else [wanted.lower()]
    return not {each.lower() for each in held}.isdisjoint(due)


def _graphql(asked: Asked, root: Path) -> Reply:
    sent = json.loads(asked.body)
    given, [name] = sent["variables"], re.findall(r"query (\w+)", sent["query"])
    diseases, drugs = recorded(root / "opentargets/diseases.json"), recorded(root / "opentargets/drugs.json")
    if name == "Disease":
        return Reply.json({"data": {"disease": next((each for each in diseases if each["id"] == given["id"]), None)}})
    if name == "Drugs":
        return Reply.json({"data": {"drugs": [each for each in drugs if each["id"] in given["ids"]]}})

    def hits(text: str, kinds: Sequence[str]) -> list[Row]:
        known = [("disease", each) for each in diseases] + [("drug", each) for each in drugs]
        found = [(kind, each) for kind, each in known if kind in kinds and text.lower() in each["name"].lower()]
        return [{"id": each["id"], "name": each["name"], "entity": kind} for kind, each in found]

    if name == "MapIds":
        mapped = [{"term": term, "hits": hits(term, given["kinds"])} for term in given["names"]]
        return Reply.json({"data": {"mapIds": {"mappings": mapped}}})
    found = hits(given["text"], given["kinds"])
    return Reply.json({"data": {"search": {"total": len(found), "hits": found}}})


def _one_of(file: str, rows: str, held: str, missing: object, within: str = "") -> Callable[..., Reply]:
    """One of the rows of a file, by its own number at the end of the address; an envelope's field may be around it."""

    def rule(asked: Asked, root: Path, number: str) -> Reply:
        for each in _rows(recorded(root / file), rows):
            if str(_rows(each, held)).lower().removeprefix("https://doi.org/") == number.lower():
                return Reply.json({"status": "ok", within: each} if within else each)
        return Reply.json(missing, 404)

    return rule


def _published(asked: Asked, root: Path, doi: str) -> Reply:
    data = recorded(root / "biorxiv/pubs.json")
    if any(each["preprint_doi"] == doi for each in data["collection"]):
        return Reply.json(data)
    return Reply.json({"messages": [{"status": "no posts found"}], "collection": []})


def _full_text(asked: Asked, root: Path, pmcid: str) -> Reply:
    file = root / "europepmc" / f"{pmcid}.xml"
    known = file.is_file()
    return Reply(200 if known else 404, "application/xml;charset=UTF-8", file.read_bytes() if known else b"")


RULES: tuple[tuple[str, Callable[..., Reply]], ...] = (
    (r"pubmed/esearch\.fcgi", _esearch),
    (r"pubmed/efetch\.fcgi", _efetch),
    (r"chembl/(\w+)\.json", _chembl),
    (r"opentargets/graphql", _graphql),
    (r"reactome/search/query", lambda *_: Reply.json({"code": 404, "reason": "NOT_FOUND", "messages": ["No"]}, 404)),
    (
        r"clinicaltrials/studies/(NCT\d+)",
        _one_of("clinicaltrials/studies.json", "studies", "protocolSection.identificationModule.nctId", "not found"),
    ),
    (r"crossref/works/(.+)", _one_of("crossref/works.json", "message.items", "DOI", "Resource not found.", "message")),
    (r"openalex/works/doi:(.+)", _one_of("openalex/works.json", "results", "doi", {"error": "Not Found"})),
    (r"biorxiv/pubs/\w+/(.+)/na/json", _published),
    (r"europepmc/(PMC\d+)/fullTextXML", _full_text),
)


def asked_by(method: str, path: str, query: str, body: bytes, kind: str = "") -> Asked:
    """A request as a server or a client's transport has it; the path begins with the source."""
    source, _, below = path.lstrip("/").partition("/")
    text = body.decode("utf-8", "replace") if method == "POST" else ""
    form = text if "form-urlencoded" in kind else ""
    return Asked(source, below, dict(parse_qsl(query) + parse_qsl(form)), text)
