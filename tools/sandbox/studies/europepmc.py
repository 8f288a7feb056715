"""Europe PMC's search: articles of PubMed (MED) and preprints (PPR), paged by cursor; full texts; citations.

https://europepmc.org/RestfulWebService. An empty query gives status 200 with an `errCode`, as the public service does;
only whole records (`core`) in JSON are served, by relevance. Words without a field are sought in full texts, too.
Fields that the library does not know are left out; articles whose full text it does not hold are answered 404, as those
outside of Europe PMC's open collection are.
"""

import base64
import binascii
import calendar
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import xmltodict
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ..library import OWN_FULL_TEXT, FullText, Library, Publication
from ..syntax import parse
from .publications import Publications

_VERSION = "6.9"
_SEC_TYPES = ("introduction", "methods", "results", "discussion")
_LINKED = ("citations", "references")
_DEFAULT_PAGE, _LARGEST_PAGE = 25, 1000


def routes(library: Library) -> list[Route]:
    """The search, the full texts and the citations below `/europepmc`."""
    publications = Publications(library, whole=True)
    texts = {each.pmcid: each.full_text for each in publications.by_id.values() if each.pmcid and each.full_text}
    texts |= {each.pmcid: jats(each) for each in publications.full_texts.values()}

    async def search(request: Request) -> Response:
        asked = {name.lower(): value for name, value in request.query_params.items()}
        if (asked.get("format"), asked.get("resulttype")) != ("json", "core"):
            return PlainTextResponse("The sandbox answers with format=json and resultType=core only.", status_code=400)
        return JSONResponse(_searched(publications, asked, str(request.url.replace(query=None))))

    async def full_text(request: Request) -> Response:
        found = texts.get(request.path_params["pmcid"])
        return Response(found or "", status_code=200 if found else 404, media_type="application/xml;charset=UTF-8")

    async def linked(request: Request) -> Response:
        kind = str(request.path_params["kind"])
        if kind not in _LINKED:
            return PlainTextResponse("Not found", status_code=404)
        return JSONResponse(_listed(publications, request.path_params["pmid"], kind, request.query_params))

    return [
        Route("/europepmc/MED/{pmid}/{kind}", linked, methods=["GET"]),
        Route("/europepmc/{pmcid}/fullTextXML", full_text, methods=["GET"]),
        Route("/europepmc/search", search, methods=["GET"]),
    ]


def jats(text: FullText) -> str:
    """A full text as Europe PMC serves them, with the article's licence and a word on whose wording it is."""
    sections = [
        {"title": title, "p": paragraphs, **({"@sec-type": kind} if (kind := title.lower()) in _SEC_TYPES else {})}
        for title, paragraphs in text.sections.items()
    ]
    licence = {"@xlink:href": text.licence_url, "license-p": f"{text.licence}. {OWN_FULL_TEXT}"}
    numbers = {"article-id": {"@pub-id-type": "pmc", "#text": text.pmcid.removeprefix("PMC")}}
    article = {
        "@xmlns:xlink": "http://www.w3.org/1999/xlink",
        "@article-type": "research-article",
        "front": {"article-meta": {**numbers, "permissions": {"license": licence}}},
        "body": {"sec": sections},
    }
    return str(xmltodict.unparse({"article": article}))


def _listed(publications: Publications, pmid: str, kind: str, asked: Mapping[str, str]) -> dict[str, Any]:
    """What cites an article, or what it cites, in short entries."""
    found = publications.linked(pmid)[_LINKED.index(kind)]
    size = asked.get("pageSize", "")
    most = int(size) if size.isdecimal() else _DEFAULT_PAGE
    one = kind.removesuffix("s")
    return {
        "version": _VERSION,
        "hitCount": len(found),
        "request": {"id": pmid, "source": "MED", "offSet": 0, "pageSize": most},
        f"{one}List": {one: [_entry(each, publications) for each in found[:most]]},
    }


def _entry(pmid: str, publications: Publications) -> dict[str, Any]:
    known = publications.by_pmid.get(pmid)
    told = {"title": known.title, "pubYear": int(known.date[:4]) if known.date else None} if known else {}
    return {"id": pmid, "source": "MED", "citationType": "journal article", **_told(told)}


def _searched(publications: Publications, asked: Mapping[str, str], url: str) -> dict[str, Any]:
    query = asked.get("query", "").strip()
    if not query:
        return {"version": _VERSION, "errCode": 404, "errMsg": "The query parameter is empty"}
    found = publications.found(parse(query))
    size = min(int(asked["pagesize"]) if asked.get("pagesize", "").isdecimal() else _DEFAULT_PAGE, _LARGEST_PAGE)
    mark = asked.get("cursormark") or "*"
    start = _start(mark)
    answer: dict[str, Any] = {"version": _VERSION, "hitCount": len(found)}
    if start + size < len(found):
        answer["nextCursorMark"] = following = _mark(start + size)
        again = {"query": query, "cursorMark": following, "resultType": "core", "format": "json"}
        answer["nextPageUrl"] = f"{url}?{urlencode(again)}"
    answer["request"] = {
        "queryString": query,
        "resultType": "core",
        "cursorMark": mark,
        "pageSize": size,
        "synonym": asked.get("synonym", "").lower() == "true",
    }
    hits = found[start : start + size]
    answer["resultList"] = {"result": [_core(each) | _openness(each, publications) for each in hits]}
    return answer


def _mark(start: int) -> str:
    return base64.b64encode(f"from {start}".encode()).decode()


def _start(mark: str) -> int:
    """Where a page begins; a mark that was never given begins anew."""
    try:
        words = base64.b64decode(mark, validate=True).decode().split()
        return int(words[-1]) if words[:1] == ["from"] else 0
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return 0


def _core(record: Publication) -> dict[str, Any]:
    known = {
        "id": record.number,
        "source": "PPR" if record.is_preprint else "MED",
        "pmid": record.pmid,
        "pmcid": record.pmcid,
        "doi": record.doi.lower() if record.doi else None,
        "title": record.title,
        "authorString": f"{', '.join(record.authors)}." if record.authors else None,
        "pageInfo": record.pages,
        "pubYear": record.date[:4] if record.date else None,
        "firstPublicationDate": record.date if record.date and len(record.date) == len("2000-01-01") else None,
    }
    found: dict[str, Any] = {name: value for name, value in known.items() if value}
    if record.pmcid:
        found["fullTextIdList"] = {"fullTextId": [record.pmcid]}
    if record.authors:
        found["authorList"] = {"author": [_author(name) for name in record.authors]}
    if record.nct_ids:
        found["dataCrossReferenceList"] = {"dbName": ["ClinicalTrials.gov"]}
    if record.is_preprint:
        if record.journal:
            found["bookOrReportDetails"] = {
                "publisher": record.journal,
                "yearOfPublication": int(record.date[:4]) if record.date else None,
            }
    elif issue := _issue(record):
        found["journalInfo"] = issue
    if record.abstract:
        found["abstractText"] = record.abstract.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if record.publication_types:
        found["pubTypeList"] = {"pubType": record.publication_types}
    if record.mesh_terms:
        headings = [{"majorTopic_YN": "N", "descriptorName": term} for term in record.mesh_terms]
        found["meshHeadingList"] = {"meshHeading": headings}
    return found


def _openness(record: Publication, publications: Publications) -> dict[str, Any]:
    """Whether it is open, and its licence, where the library knows."""
    text = publications.full_texts.get(record.pmcid or "")
    if text is None:
        return {"isOpenAccess": "Y"} if record.full_text else {}
    return {"isOpenAccess": "Y", "inEPMC": "Y", "license": text.licence.rpartition(" ")[0].lower()}


def _author(name: str) -> dict[str, str]:
    last, _, initials = name.rpartition(" ")
    if not last or not initials.isupper() or len(initials) > 4:
        return {"collectiveName": name}
    return {"fullName": name, "lastName": last, "initials": initials}


def _issue(record: Publication) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if record.date:
        year, month, day = [*record.date.split("-"), "", ""][:3]
        words = (year, calendar.month_abbr[int(month)] if month else "", day.lstrip("0"))
        found = {
            "dateOfPublication": " ".join(filter(None, words)),
            "monthOfPublication": int(month or 0),
            "yearOfPublication": int(year),
            "printPublicationDate": f"{year}-{month or '01'}-{day or '01'}",
        }
    journal = {
        "title": record.journal,
        "medlineAbbreviation": record.journal_abbreviation,
        "isoabbreviation": record.journal_abbreviation,
    }
    known = {"volume": record.volume, "issue": record.issue, "journal": _told(journal) or None}
    return found | _told(known)


def _told(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
