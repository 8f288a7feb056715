"""Semantic Scholar, papers of every field (https://api.semanticscholar.org/api-docs/graph).

Asked with GET `paper/search/bulk`: `query` with `+` (and), `|` (or), `-` (not), quotes and parentheses, `fields`,
`sort=citationCount:desc`, `publicationDateOrYear=2010-01-01:2020-12-31`; a reply has `total`, `token` (of the next
thousand) and `data[]` of `paperId`, `externalIds` (`PubMed`, `PubMedCentral`, `DOI`), `title`, `abstract` (often null),
`year`, `publicationDate`, `authors[].name`, `journal.name`, `publicationTypes[]`, `citationCount`. A refusal is 400,
403 or 429 with `error` or `message`. The key goes in the header `x-api-key`; without one all the world shares a pool
that is mostly used up, so it is searched with a key alone.
"""

import re
from collections.abc import Mapping
from typing import Any

from ...errors import SourceRefused, UnreadableReply
from ...evidence import Citation, Evidence, checked_identifier
from ...http.reply import Reply, at, count, dicts, entries, read_each
from ...questions.query_syntax import without_tags
from ...ranking import rank
from ...records import Publication
from ...search import Filters, Page, Source, SourceReply
from ..card import SourceCard
from ..publications import NO_TITLE, DatedFilters, date_of, plain_words, trial_numbers, written
from .openalex import surname_first

CARD = SourceCard(
    name="semanticscholar",
    title="Semantic Scholar",
    purpose="Search Semantic Scholar for papers of every field, with citation counts.",
    address="https://api.semanticscholar.org/graph/v1",
    documentation="https://www.semanticscholar.org/product/api",
    per_second=1,
    typical_s=1.5,
    key="SEMANTIC_SCHOLAR_API_KEY",
    key_in="header",
    without_key="Semantic Scholar is not searched: without a key all the world shares one pool",
    fresh_days=1,
    hosts=("www.semanticscholar.org",),
    gives="publication",
    dialect="boolean",
    use="named",
    specialist="literature",
)
_FIELDS = (
    "paperId,externalIds,title,abstract,year,publicationDate,authors.name,journal,publicationTypes,citationCount,"
    "isOpenAccess"
)
_OPERATORS = ((" AND NOT ", " -"), (" NOT ", " -"), (" AND ", " + "), (" OR ", " | "))
_HEXADECIMAL = frozenset("0123456789abcdef")


class SemanticScholar(Source):
    """Semantic Scholar: every field's literature."""

    card = CARD
    filters = DatedFilters

    async def find(self, query: str, max_results: int = 10, filters: Filters | None = None) -> SourceReply:
        """Search Semantic Scholar; of the thousand most cited hits those that fit the words best.

        Raises:
            SourceRefused: no key, or the query holds no words.
            SearchError: no answer, or no readable one.
        """
        if not self.transport.endpoints.may_search(self.name):
            raise SourceRefused(self.name, f"is not searched without a key ({CARD.key})")
        asked = DatedFilters.of(self.name, filters)
        sent = in_its_words(query)
        if not plain_words(query):
            raise SourceRefused(self.name, "cannot search for nothing: the query is empty")
        dates = f"{asked.mindate or ''}:{asked.maxdate or ''}"
        params = {
            "query": sent,
            "fields": _FIELDS,
            "sort": "citationCount:desc",
            "publicationDateOrYear": dates if dates != ":" else None,
        }
        page = await self.transport.get(self.name, "paper/search/bulk", params=params, read=parse_page)
        records, unread = read_each(page.hits, parse_record)
        shown = rank(plain_words(query), records)[(asked.page - 1) * max_results : asked.page * max_results]
        return self.reply(sent, shown, words=plain_words(query), total=page.total, problems=unread, url=page.url)


def in_its_words(query: str) -> str:
    """A boolean query in its own signs, without other sources' field tags.

    >>> in_its_words('("long covid"[tiab] OR PASC) AND fatigue NOT mice')
    '("long covid" | PASC) + fatigue -mice'
    """
    words = without_tags(query)
    for sign, own in _OPERATORS:
        words = words.replace(sign, own)
    return words


def parse_page(reply: Reply) -> Page:
    """Read a page of hits.

    Raises:
        UnreadableReply: not a list of papers.
    """
    data = reply.json()
    total = count(at(data, "total"))
    if total is None:
        raise UnreadableReply(reply.source, "answered without a count")
    return Page(
        entries(reply.source, data, "data", what="a list of papers", keys=("paperId", "title")), total, url=reply.url
    )


def parse_record(hit: Mapping[str, Any]) -> Evidence | None:
    """Read one paper as evidence; None where it has no number."""
    paper = str(hit.get("paperId") or "")
    if len(paper) != 40 or not _HEXADECIMAL.issuperset(paper):
        return None
    title = " ".join(str(hit.get("title") or "").split()) or NO_TITLE
    abstract = " ".join(str(hit.get("abstract") or "").split())
    names = (each.get("name") for each in dicts(hit, "authors"))
    cited, is_open, journal = hit.get("citationCount"), hit.get("isOpenAccess"), at(hit, "journal", "name")
    types = given if isinstance(given := hit.get("publicationTypes"), list) else []
    return Evidence(
        content=written(title, abstract),
        citation=Citation(
            source="semanticscholar",
            title=title,
            url=f"https://www.semanticscholar.org/paper/{paper}",
            date=date_of(str(hit.get("publicationDate") or hit.get("year") or "")) or "Unknown",
            authors=[surname_first(name) for name in names if isinstance(name, str) and name.strip()],
        ),
        record=Publication(
            pmid=checked_identifier("pmid", at(hit, "externalIds", "PubMed")),
            pmcid=checked_identifier("pmcid", _pmcid(at(hit, "externalIds", "PubMedCentral"))),
            doi=checked_identifier("doi", at(hit, "externalIds", "DOI")),
            journal=journal if isinstance(journal, str) and journal else None,
            publication_types=[_spaced(each) for each in types if isinstance(each, str)],
            nct_ids=trial_numbers(title, abstract),
            is_open_access=is_open if isinstance(is_open, bool) else None,
            cited_by_count=cited if isinstance(cited, int) and not isinstance(cited, bool) else None,
            has_abstract=bool(abstract),
        ),
    )


def _pmcid(number: object) -> str | None:
    return f"PMC{str(number).removeprefix('PMC')}" if number else None


def _spaced(name: str) -> str:
    """A type of publication as PubMed spells it.

    >>> _spaced("ClinicalTrial"), _spaced("MetaAnalysis")
    ('Clinical Trial', 'Meta-Analysis')
    """
    return "Meta-Analysis" if name == "MetaAnalysis" else re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
