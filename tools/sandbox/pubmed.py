"""PubMed's E-utilities: ESearch, EFetch and ESummary, by GET and POST, in JSON and XML.

https://www.ncbi.nlm.nih.gov/books/NBK25499/. Numbers that PubMed does not hold are silently missing from EFetch; a
search without hits names what was not found; a search that fails says so with status 200.
"""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .library import Publication
from .publications import Publications
from .pubmed_record import article, docsum, summary
from .syntax import Combined, Node, Term, parse

_DEFAULT_RETMAX, _LARGEST_RETMAX = 20, 10_000
_LARGEST_RETSTART = 9998
_XML = '<?xml version="1.0" ?>\n'
_DOCTYPE = (
    '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN"'
    ' "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n'
)
_SPLIT_RANGE = re.compile(r'"?([\d/]+)"?\s*\[([^\[\]]+)\]\s*:\s*"?([\d/]+)"?\s*\[\2\]')


def routes(publications: Publications) -> list[Route]:
    """The three programs below `/pubmed`."""

    async def esearch(request: Request) -> Response:
        return _esearch(publications, await _asked(request))

    async def efetch(request: Request) -> Response:
        return _efetch(publications, await _asked(request))

    async def esummary(request: Request) -> Response:
        return _esummary(publications, await _asked(request))

    return [
        Route("/pubmed/esearch.fcgi", esearch, methods=["GET", "POST"]),
        Route("/pubmed/efetch.fcgi", efetch, methods=["GET", "POST"]),
        Route("/pubmed/esummary.fcgi", esummary, methods=["GET", "POST"]),
    ]


async def _asked(request: Request) -> dict[str, str]:
    """The parameters, of the address and of a form."""
    asked = dict(request.query_params)
    if request.method == "POST":
        asked.update(parse_qsl((await request.body()).decode(errors="replace"), keep_blank_values=True))
    return asked


def _esearch(publications: Publications, asked: Mapping[str, str]) -> Response:
    in_json = asked.get("retmode") == "json"
    if problem := _problem(asked):
        if in_json:
            return JSONResponse({"header": _header("esearch"), "esearchresult": {"ERROR": problem}})
        return _xml(f"<eSearchResult><ERROR>{escape(problem)}</ERROR></eSearchResult>")
    node = parse(_SPLIT_RANGE.sub(r"\1:\3[\2]", asked["term"]), flat=True)
    if "mindate" in asked and "maxdate" in asked:
        dated = Term("", field="pdat", low=asked["mindate"], high=asked["maxdate"])
        node = Combined("AND", node, dated) if node else None
    found = [each for each in publications.found(node) if each.pmid]
    if asked.get("sort") != "relevance":
        found.sort(key=lambda each: (each.date or "", each.pmid or ""), reverse=True)
    start, most = _number(asked, "retstart", 0), min(_number(asked, "retmax", _DEFAULT_RETMAX), _LARGEST_RETMAX)
    page = [each.pmid or "" for each in found[start : start + most]]
    shown = _translation(node)
    missing = [] if found else [_phrase(term) for term in publications.index.missing(node)]
    unknown = [] if found else _unknown_fields(publications, node)
    if not in_json:
        return _xml(_search_xml(len(found), start, page, shown, missing))
    result: dict[str, object] = {
        "count": str(len(found)),
        "retmax": str(len(page)),
        "retstart": str(start),
        "idlist": page,
        "translationset": [],
        "querytranslation": shown,
    }
    if not found:
        result["errorlist"] = {"phrasesnotfound": missing, "fieldsnotfound": unknown}
        result["warninglist"] = {
            "phrasesignored": [],
            "quotedphrasesnotfound": [],
            "outputmessages": ["No items found."],
        }
    return JSONResponse({"header": _header("esearch"), "esearchresult": result})


def _header(program: str) -> dict[str, str]:
    return {"type": program, "version": "0.3"}


def _problem(asked: Mapping[str, str]) -> str | None:
    """What keeps a search from being done; None for nothing."""
    if asked.get("db", "pubmed") != "pubmed":
        return f"Invalid db name specified: {asked['db']}"
    if not asked.get("term", "").strip():
        return "Empty term and query_key - nothing todo"
    if _number(asked, "retstart", 0) > _LARGEST_RETSTART:
        return (
            "Search Backend failed: Exception:\n'retstart' cannot be larger than 9998. For PubMed, ESearch can only"
            " retrieve the first 9,999 records matching the query."
        )
    return None


def _number(asked: Mapping[str, str], name: str, otherwise: int) -> int:
    text = asked.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() else otherwise


def _search_xml(count: int, start: int, page: list[str], shown: str, missing: list[str]) -> str:
    ids = "".join(f"<Id>{pmid}</Id>\n" for pmid in page)
    errors = "".join(f"<PhraseNotFound>{escape(phrase)}</PhraseNotFound>" for phrase in missing)
    notes = f"<ErrorList>{errors}</ErrorList>" if errors else ""
    if not count:
        notes += "<WarningList><OutputMessage>No items found.</OutputMessage></WarningList>"
    return (
        f"<eSearchResult><Count>{count}</Count><RetMax>{len(page)}</RetMax><RetStart>{start}</RetStart>"
        f"<IdList>{ids}</IdList><TranslationSet/><QueryTranslation>{escape(shown)}</QueryTranslation>{notes}"
        "</eSearchResult>"
    )


def _translation(node: Node | None) -> str:
    """The query as PubMed says it understood it."""
    if node is None:
        return ""
    if isinstance(node, Combined):
        left = f"{_translation(node.left)} " if node.left else ""
        right = _translation(node.right)
        return f"{left}{node.operator} {f'({right})' if isinstance(node.right, Combined) else right}"
    if node.low is not None:
        return f"{node.low}:{node.high}[{_field(node)}]"
    return f'"{node.text}"[{_field(node)}]'


def _field(term: Term) -> str:
    return "All Fields" if term.field is None else term.field


def _phrase(term: Term) -> str:
    return f'"{term.text}"' if term.phrase else term.text


def _unknown_fields(publications: Publications, node: Node | None) -> list[str]:
    if node is None:
        return []
    if isinstance(node, Combined):
        return _unknown_fields(publications, node.left) + _unknown_fields(publications, node.right)
    return [node.field] if node.field and not publications.index.knows_field(node.field) else []


def _asked_for(publications: Publications, asked: Mapping[str, str]) -> tuple[list[str], list[Publication]]:
    """The numbers asked for, each once, and the records among them."""
    pmids = list(dict.fromkeys(re.findall(r"\d+", asked.get("id", ""))))
    start, most = _number(asked, "retstart", 0), _number(asked, "retmax", _LARGEST_RETMAX)
    pmids = pmids[start : start + most]
    return pmids, [publications.by_pmid[pmid] for pmid in pmids if pmid in publications.by_pmid]


def _efetch(publications: Publications, asked: Mapping[str, str]) -> Response:
    pmids, records = _asked_for(publications, asked)
    if not pmids:
        return _xml("<eFetchResult>\n\t<ERROR>Empty id list - nothing todo</ERROR>\n</eFetchResult>", status=400)
    articles = "".join(map(article, records))
    return _xml(f"{_DOCTYPE}<PubmedArticleSet>\n{articles}</PubmedArticleSet>")


def _xml(body: str, status: int = 200) -> Response:
    return Response(_XML + body, status, media_type="text/xml; charset=UTF-8")


def _esummary(publications: Publications, asked: Mapping[str, str]) -> Response:
    pmids, records = _asked_for(publications, asked)
    if asked.get("retmode") != "json":
        if not pmids:
            return _xml("<eSummaryResult><ERROR>Empty id list - nothing todo</ERROR></eSummaryResult>")
        return _xml(f"<eSummaryResult>\n{''.join(map(docsum, records))}</eSummaryResult>")
    if not pmids:
        return JSONResponse({"header": _header("esummary"), "esummaryresult": ["Empty id list - nothing todo"]})
    result: dict[str, object] = {"uids": pmids}
    for pmid in pmids:
        record = publications.by_pmid.get(pmid)
        result[pmid] = summary(record) if record else {"uid": pmid, "error": "cannot get document summary"}
    return JSONResponse({"header": _header("esummary"), "result": result})
