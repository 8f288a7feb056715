"""A small library whose records Crossref, OpenAlex and bioRxiv have something to say of; synthetic but for two.

The retracted article of 1998 and its notices, and the preprint that bioRxiv's own documentation gives as its example,
are real identifiers; their titles here are not the records' own.
"""

from typing import Any

from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.limiter import RateLimiter
from willowbark.tools.http.transport import ExchangeLog, RetryPolicy, Transport
from willowbark.tools.sandbox.library import Library, Publication
from willowbark.tools.sandbox.server import SandboxServer

RETRACTED_DOI = "10.1016/s0140-6736(97)11096-0"
RETRACTED_PMID = "9500320"
CLEAN_DOI = "10.5555/synthetic.clean"
SILENT_DOI = "10.5555/synthetic.silent"
PREPRINT_DOI = "10.1101/2021.04.29.21256344"
PUBLISHED_DOI = "10.1371/journal.pone.0256482"
NOTICES = [
    {
        "DOI": "10.1016/s0140-6736(04)15715-2",
        "type": "correction",
        "source": "retraction-watch",
        "updated": {"date-parts": [[2004, 3, 6]]},
    },
    {
        "DOI": "10.1016/s0140-6736(10)60175-4",
        "type": "retraction",
        "source": "retraction-watch",
        "updated": {"date-parts": [[2010, 2, 6]]},
    },
]
ARTICLE_XML = """<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//NLM//DTD JATS//EN" "JATS-archivearticle1.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta><permissions>
<license xlink:href="https://creativecommons.org/licenses/by-nc/4.0/"><license-p>Open access.</license-p></license>
</permissions></article-meta></front><body>
<sec sec-type="intro"><title>Introduction</title><p>Fever is common.</p></sec>
<sec sec-type="methods"><title>Methods</title><p>We gave placebinol.</p></sec>
<sec sec-type="results"><title>Results</title>
<sec><title>Primary outcome</title><p>Fever fell by 1.5 degrees <xref ref-type="bibr" rid="b1">1</xref> in
<bold>not</bold> all (P&lt;0.05; 10<sup>3</sup> cells).</p><table-wrap><p>Cells of a table.</p></table-wrap></sec></sec>
<sec sec-type="discussion"><title>Discussion</title><p>Placebinol may help.</p>
<p>These results should be interpreted with caution.</p>
<sec><title>Limitations</title><p>The trial was small.</p></sec></sec></body></article>"""


def publication(number: int, doi: str | None = None, **more: Any) -> Publication:
    pmid = str(99999950 + number)
    given = {"title": f"[SYNTHETIC] Record {number} on placebinol.", "topic": "synthetic", "provenance": "Synthetic"}
    return Publication(**{"pmid": pmid, "doi": doi, "publication_types": ["Journal Article"], **given, **more})


LIBRARY = Library(
    publications=(
        publication(
            0,
            RETRACTED_DOI,
            pmid=RETRACTED_PMID,
            crossref={"title": ["A title"], "updated-by": NOTICES},
            openalex={"id": "https://openalex.org/W1", "title": "A title", "is_retracted": True, "cited_by_count": 3},
        ),
        publication(
            1,
            CLEAN_DOI,
            pmcid="PMC99999951",
            full_text=ARTICLE_XML,
            crossref={"title": ["Another title"], "author": [{"family": "Nobody"}]},
            openalex={
                "id": "https://openalex.org/W2",
                "title": "Another title",
                "is_retracted": False,
                "cited_by_count": 7,
                "abstract_inverted_index": {"Fever": [0], "fell.": [1]},
                "authorships": [{"author": {"display_name": "Ada Nobody"}}],
            },
        ),
        publication(2, SILENT_DOI, pmcid="PMC99999952"),
        publication(3, PREPRINT_DOI, pmid=None, ppr_id="PPR99999953", published_doi=PUBLISHED_DOI),
        publication(4, publication_types=["Journal Article", "Retracted Publication"]),
    )
)


def transport(server: SandboxServer, **more: Any) -> Transport:
    """The way to a sandbox, quick to give up."""
    policy = RetryPolicy(attempts=2, first_wait_s=0.001, longest_wait_s=0.002, attempt_timeout_s=60, deadline_s=120)
    given = {"policy": policy, "recorder": ExchangeLog(), "limiter": RateLimiter(None), **more}
    return Transport(Endpoints.sandbox(server.url), **given)
