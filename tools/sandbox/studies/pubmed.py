"""PubMed's E-utilities: ESearch in JSON, EFetch and ELink in XML, by GET and POST.

https://www.ncbi.nlm.nih.gov/books/NBK25499/. Numbers that PubMed does not hold are silently missing from EFetch; a
search without hits names what was not found; a search that fails says so with status 200.
https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd: what is not known of a record is left out.
"""

import calendar
import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ..library import OWN_WORDS, Library, Publication
from ..syntax import Combined, Node, Term, parse
from .publications import Publications

_DEFAULT_RETMAX, _LARGEST_RETMAX = 20, 10_000
_LARGEST_RETSTART = 9998
_XML = '<?xml version="1.0" ?>\n'
_DOCTYPE = (
    '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN"'
    ' "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n'
)
_LINKS = (
    '<!DOCTYPE eLinkResult PUBLIC "-//NLM//DTD elink 20101123//EN"'
    ' "https://eutils.ncbi.nlm.nih.gov/eutils/dtd/20101123/elink.dtd">\n'
)
_HEADER = {"type": "esearch", "version": "0.3"}
_INITIALS = re.compile(r"(.+?) ([A-Z][A-Za-z]{0,3})(?: (Jr|Sr|2nd|3rd|I{2,3}))?")
_SPLIT_RANGE = re.compile(r'"?([\d/]+)"?\s*\[([^\[\]]+)\]\s*:\s*"?([\d/]+)"?\s*\[\2\]')


def routes(library: Library) -> list[Route]:
    """The three programs below `/pubmed`."""
    publications = Publications(library)

    async def esearch(request: Request) -> Response:
        return _esearch(publications, await _asked(request))

    async def efetch(request: Request) -> Response:
        return _efetch(publications, await _asked(request))

    async def elink(request: Request) -> Response:
        return _elink(publications, await _asked(request))

    return [
        Route("/pubmed/elink.fcgi", elink, methods=["GET", "POST"]),
        Route("/pubmed/esearch.fcgi", esearch, methods=["GET", "POST"]),
        Route("/pubmed/efetch.fcgi", efetch, methods=["GET", "POST"]),
    ]


async def _asked(request: Request) -> dict[str, str]:
    """The parameters, of the address and of a form."""
    asked = dict(request.query_params)
    if request.method == "POST":
        asked.update(parse_qsl((await request.body()).decode(errors="replace"), keep_blank_values=True))
    return asked


def _esearch(publications: Publications, asked: Mapping[str, str]) -> Response:
    if asked.get("retmode") != "json":
        return PlainTextResponse("The sandbox answers ESearch in JSON only.", status_code=400)
    if problem := _problem(asked):
        return JSONResponse({"header": _HEADER, "esearchresult": {"ERROR": problem}})
    node = parse(_SPLIT_RANGE.sub(r"\1:\3[\2]", asked["term"]), flat=True)
    if "mindate" in asked and "maxdate" in asked:
        dated = Term("", field="pdat", low=asked["mindate"], high=asked["maxdate"])
        node = Combined("AND", node, dated) if node else None
    found = [each for each in publications.found(node) if each.pmid]
    if asked.get("sort") != "relevance":
        found.sort(key=lambda each: (each.date or "", each.pmid or ""), reverse=True)
    start, most = _number(asked, "retstart", 0), min(_number(asked, "retmax", _DEFAULT_RETMAX), _LARGEST_RETMAX)
    page = [each.pmid or "" for each in found[start : start + most]]
    result: dict[str, object] = {
        "count": str(len(found)),
        "retmax": str(len(page)),
        "retstart": str(start),
        "idlist": page,
        "translationset": [],
        "querytranslation": _translation(node),
    }
    if not found:
        missing = [f'"{term.text}"' if term.phrase else term.text for term in publications.index.missing(node)]
        result["errorlist"] = {"phrasesnotfound": missing, "fieldsnotfound": _unknown_fields(publications, node)}
        result["warninglist"] = {
            "phrasesignored": [],
            "quotedphrasesnotfound": [],
            "outputmessages": ["No items found."],
        }
    return JSONResponse({"header": _HEADER, "esearchresult": result})


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


def _unknown_fields(publications: Publications, node: Node | None) -> list[str]:
    if node is None:
        return []
    if isinstance(node, Combined):
        return _unknown_fields(publications, node.left) + _unknown_fields(publications, node.right)
    return [node.field] if node.field and not publications.index.knows_field(node.field) else []


def _efetch(publications: Publications, asked: Mapping[str, str]) -> Response:
    pmids = dict.fromkeys(each for each in asked.get("id", "").replace(",", " ").split() if each.isdecimal())
    if not pmids:
        return _xml("<eFetchResult>\n\t<ERROR>Empty id list - nothing todo</ERROR>\n</eFetchResult>", status=400)
    known = publications.by_pmid
    articles = "".join(_article(known[pmid]) for pmid in pmids if pmid in known)
    return _xml(f"{_DOCTYPE}<PubmedArticleSet>\n{articles}</PubmedArticleSet>")


def _elink(publications: Publications, asked: Mapping[str, str]) -> Response:
    """What cites a publication and what it cites; a kind of which there is none has no list."""
    if (asked.get("dbfrom"), asked.get("db"), asked.get("cmd")) != ("pubmed", "pubmed", "neighbor"):
        return PlainTextResponse("The sandbox links PubMed with PubMed, by cmd=neighbor.", status_code=400)
    pmid = asked.get("id", "")
    if not pmid.isdecimal():
        return _xml("<eLinkResult>\n\t<ERROR>Empty id list - nothing todo</ERROR>\n</eLinkResult>")
    named = zip(("pubmed_pubmed_citedin", "pubmed_pubmed_refs"), publications.linked(pmid), strict=True)
    groups = "".join(
        f"<LinkSetDb><DbTo>pubmed</DbTo><LinkName>{name}</LinkName>"
        + "".join(f"<Link><Id>{each}</Id></Link>" for each in found)
        + "</LinkSetDb>"
        for name, found in named
        if found
    )
    start = f"<LinkSet><DbFrom>pubmed</DbFrom><IdList><Id>{pmid}</Id></IdList>"
    return _xml(f"{_LINKS}<eLinkResult>{start}{groups}</LinkSet></eLinkResult>")


def _xml(body: str, status: int = 200) -> Response:
    return Response(_XML + body, status, media_type="text/xml; charset=UTF-8")


def _article(record: Publication) -> str:
    """One `PubmedArticle`, in the order of PubMed's DTD."""
    short = record.journal_abbreviation
    journal = f"{_known('Title', record.journal)}{_known('ISOAbbreviation', short)}"
    issue = f"{_known('Volume', record.volume)}{_known('Issue', record.issue)}"
    pages = f"<Pagination>{_known('MedlinePgn', record.pages)}</Pagination>" if record.pages else ""
    medline = f"<MedlineJournalInfo>{_known('MedlineTA', short)}</MedlineJournalInfo>" if short else ""
    date = _date(record.date)
    doi = f'<ELocationID EIdType="doi" ValidYN="Y">{escape(record.doi)}</ELocationID>' if record.doi else ""
    abstract = ""
    if record.abstract:
        abstract = (
            f"<Abstract><AbstractText>{escape(record.abstract)}</AbstractText>"
            f"<CopyrightInformation>{OWN_WORDS}</CopyrightInformation></Abstract>"
        )
    return (
        f'<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{record.pmid}</PMID>'
        f'<Article PubModel="Print"><Journal><JournalIssue CitedMedium="Print">{issue}<PubDate>{date}</PubDate>'
        f"</JournalIssue>{journal}</Journal><ArticleTitle>{escape(record.title)}</ArticleTitle>{pages}{doi}{abstract}"
        f"{_authors(record)}"
        f"{_trials(record)}"
        f"{_each('PublicationTypeList', 'PublicationType', record.publication_types)}</Article>{medline}"
        f"{_headings(record)}"
        f"</MedlineCitation><PubmedData><PublicationStatus>ppublish</PublicationStatus>{_identifiers(record)}"
        "</PubmedData></PubmedArticle>\n"
    )


def _date(date: str | None) -> str:
    """Year, month and day as PubMed writes them, as far as they are known."""
    year, month, day = [*(date or "").split("-"), "", ""][:3]
    parts = (("Year", year), ("Month", calendar.month_abbr[int(month)] if month else ""), ("Day", day))
    return "".join(f"<{name}>{value}</{name}>" for name, value in parts if value)


def _authors(record: Publication) -> str:
    if not record.authors:
        return ""
    return f'<AuthorList CompleteYN="Y">{"".join(map(_author, record.authors))}</AuthorList>'


def _author(name: str) -> str:
    person = _INITIALS.fullmatch(name)
    if person is None:
        return f'<Author ValidYN="Y"><CollectiveName>{escape(name)}</CollectiveName></Author>'
    initials = "".join(f" {each}" if each.isupper() else each for each in person[2]).strip()
    suffix = f"<Suffix>{person[3]}</Suffix>" if person[3] else ""
    return (
        f'<Author ValidYN="Y"><LastName>{escape(person[1])}</LastName><ForeName>{initials}</ForeName>'
        f"<Initials>{person[2]}</Initials>{suffix}</Author>"
    )


def _trials(record: Publication) -> str:
    if not record.nct_ids:
        return ""
    numbers = _each("AccessionNumberList", "AccessionNumber", record.nct_ids)
    bank = f"<DataBank><DataBankName>ClinicalTrials.gov</DataBankName>{numbers}</DataBank>"
    return f'<DataBankList CompleteYN="Y">{bank}</DataBankList>'


def _headings(record: Publication) -> str:
    headings = "".join(
        f'<MeshHeading><DescriptorName MajorTopicYN="N">{escape(term)}</DescriptorName></MeshHeading>'
        for term in record.mesh_terms
    )
    return f"<MeshHeadingList>{headings}</MeshHeadingList>" if headings else ""


def _identifiers(record: Publication) -> str:
    known = (("pubmed", record.pmid), ("doi", record.doi), ("pmc", record.pmcid))
    ids = "".join(f'<ArticleId IdType="{kind}">{escape(value)}</ArticleId>' for kind, value in known if value)
    return f"<ArticleIdList>{ids}</ArticleIdList>"


def _known(name: str, value: str | None) -> str:
    return f"<{name}>{escape(value)}</{name}>" if value else ""


def _each(container: str, name: str, values: Iterable[str]) -> str:
    inner = "".join(f"<{name}>{escape(value)}</{name}>" for value in values)
    return f"<{container}>{inner}</{container}>" if inner else ""
