"""Recorded replies in place of a network, at httpx's own seam; `faults.replies` finds the file that answers."""

import html
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar
from xml.sax.saxutils import escape

import httpx
from faults.replies import REPLIES, Reply, answer, asked_by

from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.http.transport import ExchangeLog, Transport
from willowbark.tools.search import Source
from willowbark.tools.sources.publications import remove_markup

Answer = httpx.Response | Callable[[httpx.Request], httpx.Response]
S = TypeVar("S", bound=Source)
HERE = "http://127.0.0.1:1"
DOWN = httpx.Response(503)
PAGE = httpx.Response(200, html="<!DOCTYPE html><html><body>Down for maintenance</body></html>")


def reply_to(request: httpx.Request, replies: Path = REPLIES) -> Reply:
    """The recorded reply to a request."""
    kind = request.headers.get("content-type", "")
    return answer(
        asked_by(request.method, request.url.path, request.url.query.decode(), request.content, kind), replies
    )


def recorded(
    others: Mapping[str, Answer] | None = None,
    seen: list[httpx.Request] | None = None,
    replies: Path = REPLIES,
    **more: Any,
) -> Transport:
    """A transport that answers from recorded replies, quick to give up.

    Args:
        others: answers by glob of source and path, such as `crossref/*`, that come before the recorded ones.
        seen: gets every request.
        replies: their folder.
        more: as `Transport` takes it.
    """

    def send(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        path = request.url.path.lstrip("/")
        for pattern, other in (others or {}).items():
            if fnmatchcase(path, pattern):
                given = other if isinstance(other, httpx.Response) else other(request)
                return httpx.Response(given.status_code, headers=given.headers, stream=httpx.ByteStream(given.content))
        found = reply_to(request, replies)
        stream = httpx.ByteStream(found.body)
        return httpx.Response(found.status, headers={"content-type": found.kind}, stream=stream)

    policy = RetryPolicy(attempts=1, first_wait_s=0.001, longest_wait_s=0.002)
    given = {"policy": policy, "recorder": ExchangeLog(), "limiter": RateLimiter(None), **more}
    return Transport(given.pop("endpoints", Endpoints.at(HERE)), network=httpx.MockTransport(send), **given)


def answering(source: type[S], other: Answer, seen: list[httpx.Request] | None = None, **more: Any) -> S:
    """A source that gets the same answer to whatever it asks."""
    return source(recorded({"*": other}, seen, **more))


def publish(
    folder: Path,
    *papers: Mapping[str, Any],
    full_texts: Mapping[str, str] | None = None,
    trials: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """A folder of replies with these papers and trials alone; all else is as it is recorded.

    Args:
        folder: where it is made.
        papers: `pmid` or `ppr_id`, `title`, and `abstract`, `authors`, `doi`, `pmcid`, `types` where there are any.
        full_texts: by PMCID.
        trials: studies as ClinicalTrials.gov writes them.
    """
    shutil.copytree(REPLIES, folder, dirs_exist_ok=True)
    for file in folder.glob("europepmc/PMC*.xml"):
        file.unlink()
    xml, hits = "", list[dict[str, Any]]()
    for paper in papers:
        pmid, doi, pmcid = paper.get("pmid"), paper.get("doi"), paper.get("pmcid")
        types = paper.get("types", ["Journal Article"])
        ids = {"doi": doi, "pmc": pmcid}
        if pmid:
            xml += (
                f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article>"
                f"<ArticleTitle>{escape(paper['title'])}</ArticleTitle>"
                f"<Abstract><AbstractText>{escape(paper.get('abstract', ''))}</AbstractText></Abstract><AuthorList>"
                + "".join(f"<Author><LastName>{escape(name)}</LastName></Author>" for name in paper.get("authors", ()))
                + "</AuthorList><PublicationTypeList>"
                + "".join(f"<PublicationType>{name}</PublicationType>" for name in types)
                + "</PublicationTypeList></Article></MedlineCitation><PubmedData><ArticleIdList>"
                + "".join(f'<ArticleId IdType="{kind}">{name}</ArticleId>' for kind, name in ids.items() if name)
                + "</ArticleIdList></PubmedData></PubmedArticle>\n"
            )
        hit = {
            "id": pmid or paper["ppr_id"],
            "source": "MED" if pmid else "PPR",
            "pmid": pmid,
            "pmcid": pmcid,
            "doi": doi,
            "title": paper["title"],
            "abstractText": html.escape(paper.get("abstract", ""), quote=False),
            "authorList": {"author": [{"fullName": name} for name in paper.get("authors", ())]},
            "pubTypeList": {"pubType": types if pmid else ["Preprint"]},
        }
        hits.append({name: value for name, value in hit.items() if value})
    (folder / "pubmed" / "efetch.xml").write_text(f"<PubmedArticleSet>{xml}</PubmedArticleSet>", encoding="utf-8")
    listed = {"hitCount": len(hits), "resultList": {"result": hits}}
    (folder / "europepmc" / "search.json").write_text(json.dumps(listed), encoding="utf-8")
    for pmcid, text in (full_texts or {}).items():
        (folder / "europepmc" / f"{pmcid}.xml").write_text(text, encoding="utf-8")
    studies = {"totalCount": len(trials), "studies": list(trials)}
    (folder / "clinicaltrials" / "studies.json").write_text(json.dumps(studies), encoding="utf-8")
    return folder


def recorded_papers(word: str = "") -> list[dict[str, Any]]:
    """The recorded publications with an abstract that hold a word, as `publish` takes them."""
    hits = json.loads((REPLIES / "europepmc" / "search.json").read_bytes())["resultList"]["result"]
    return [
        {
            **{name: hit[name] for name in ("pmid", "doi", "title") if name in hit},
            "abstract": remove_markup(hit["abstractText"]),
            "authors": [each["fullName"] for each in hit.get("authorList", {}).get("author", ()) if "fullName" in each],
            "types": hit.get("pubTypeList", {}).get("pubType", []),
        }
        for hit in hits
        if hit.get("pmid") and hit.get("abstractText") and word.lower() in json.dumps(hit).lower()
    ]


def recorded_trials(word: str = "") -> list[dict[str, Any]]:
    """The recorded studies that hold a word, as ClinicalTrials.gov writes them."""
    studies = json.loads((REPLIES / "clinicaltrials" / "studies.json").read_bytes())["studies"]
    return [study for study in studies if word.lower() in json.dumps(study).lower()]
