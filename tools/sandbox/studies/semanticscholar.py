"""Semantic Scholar's search in bulk, over the library's articles: plus, bar, minus, quotes and parentheses.

https://api.semanticscholar.org/api-docs/graph. The sandbox needs no key and takes any; its numbers of papers are hashes
of the library's own.
"""

import hashlib
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library, Publication
from ..matching import Document, Index
from ..syntax import parse

_SIGNS = {"+": "AND", "|": "OR"}
_LARGEST = 1000


def routes(library: Library) -> list[Route]:
    """The one address below `/semanticscholar`."""
    papers = {each.pmid: each for each in library.publications if each.pmid}
    index = Index(
        (Document(pmid, {"title": each.title, "text": each.abstract or ""}) for pmid, each in papers.items()),
        default=("title", "text"),
        aliases={},
    )

    async def search(request: Request) -> Response:
        query = request.query_params.get("query", "")
        if not query.strip():
            return JSONResponse({"error": "Missing required parameter: 'query'"}, status_code=400)
        words = (f"NOT {word[1:]}" if word[0] == "-" and word[1:] else _SIGNS.get(word, word) for word in query.split())
        found = [papers[pmid] for pmid in index.search(parse(" ".join(words)))]
        return JSONResponse({"total": len(found), "token": None, "data": [_paper(each) for each in found[:_LARGEST]]})

    return [Route("/semanticscholar/paper/search/bulk", search, methods=["GET"])]


def _paper(held: Publication) -> dict[str, Any]:
    numbers = {"PubMed": held.pmid, "DOI": held.doi, "PubMedCentral": held.pmcid and held.pmcid.removeprefix("PMC")}
    return {
        "paperId": hashlib.sha1(str(held.pmid).encode(), usedforsecurity=False).hexdigest(),
        "externalIds": {name: value for name, value in numbers.items() if value},
        "title": held.title,
        "abstract": held.abstract,
        "year": int(held.date[:4]) if held.date else None,
        "publicationDate": held.date if held.date and len(held.date) == 10 else None,
        "authors": [{"name": name} for name in held.authors],
        "journal": {"name": held.journal} if held.journal else None,
        "publicationTypes": [each.replace(" ", "").replace("-", "") for each in held.publication_types],
    }
