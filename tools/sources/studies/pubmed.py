"""PubMed, through NCBI's E-utilities: ESearch for PMIDs, EFetch for records, ELink for citations.

https://www.ncbi.nlm.nih.gov/books/NBK25499/. PubMed maps words to MeSH headings and narrower ones, but not quoted
phrases (https://pubmed.ncbi.nlm.nih.gov/help/#automatic-term-mapping): if a condition is named only by quoted phrases,
its heading is added.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Annotated, Any
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring
from pydantic import BeforeValidator, Field, StringConstraints

from ...errors import RateLimitError, SearchError, SourceRefused, SourceUnavailable, UnreadableReply
from ...evidence import checked_identifier
from ...http.reply import Reply, at, count
from ...lexicon import find_conditions
from ...lexicon.conditions import is_in_mesh
from ...search import Filters, Source, SourceReply, local_library
from ..card import SourceCard
from ..lookups import Item
from ..publications import Citations, DatedFilters, checked_pmid, plain_words, redacted
from .pubmed_record import Articles, parse_articles

CARD = SourceCard(
    name="pubmed",
    place=20,
    title="PubMed",
    purpose="Search PubMed for published studies, reviews and meta-analyses; gives abstracts, publication types and"
    " MeSH terms.",
    address="https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
    documentation="https://www.ncbi.nlm.nih.gov/books/NBK25497/",
    per_second=3,
    typical_s=0.6,
    per_second_with_key=10,
    key="NCBI_API_KEY",
    without_key="PubMed is asked 3 times a second, not 10",
    fresh_days=1,  # new records every day
    hosts=("pubmed.ncbi.nlm.nih.gov",),
    gives="publication",
    dialect="boolean",
    use="searched",
    specialist="literature",
)

IDS_PER_FETCH = 90  # above 200 NCBI asks for POST; its servers are reported to fail GETs from 100 on
_LONGEST_TRANSLATION = 1000  # characters kept
_SHORTEST_MAPPED = 6  # letters per word; shorter ones are abbreviations, which PubMed mostly maps to something else
_GROUP = re.compile(r"[^()]+")
_PHRASE = re.compile(r'"([^"]+)"')
_EARLIEST, _LATEST = date(1500, 1, 1), date(3000, 12, 31)  # ESearch applies a date range only if it has both ends
_LEFT_OUT = {
    "phrasesnotfound": "has nothing under",
    "fieldsnotfound": "knows no field",
    "phrasesignored": "ignored",
    "quotedphrasesnotfound": "knows no phrase",
    "outputmessages": "says:",
}
"""What PubMed left out of a query, and why, by PubMed's own names."""
_REFUSED = ("empty term", "invalid db name", "api key invalid", "api key not wellformed")


@dataclass(frozen=True, slots=True)
class Hits:
    """Result of an ESearch."""

    total: int
    pmids: list[str]
    """Best first."""
    notes: list[str] = field(default_factory=list)
    """Parts of the query that PubMed left out, and why."""
    url: str = ""
    translation: str = ""
    """The query as PubMed translated it: terms mapped to headings, unknown phrases split."""


class PubMedFilters(DatedFilters, frozen=True):
    """Filters for a search of PubMed."""

    publication_types: Annotated[
        list[Annotated[str, StringConstraints(pattern=r'^[^"\[\]]+$')]],
        BeforeValidator(lambda said: [said] if isinstance(said, str) else said),
    ] = Field(default=[], description="Any of these, by PubMed's names, such as Randomized Controlled Trial")


class PubMed(Source):
    """PubMed: abstracts of the biomedical literature."""

    card = CARD
    filters = PubMedFilters

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Search PubMed by words or in its own syntax with field tags, most relevant first; otherwise as `find`."""
        asked, most = PubMedFilters.of(self.name, filters), max(1, max_results)
        if not query.strip():
            raise SourceRefused(self.name, "cannot search for nothing: the query is empty")
        wanted = " OR ".join(f'"{kind}"[Publication Type]' for kind in asked.publication_types)
        term = f"({with_headings(query)}) AND ({wanted})" if wanted else with_headings(query)
        start = (asked.page - 1) * most
        params = {"term": term, "retmode": "json", "sort": "relevance", "retmax": most, "retstart": start or None}
        if asked.mindate or asked.maxdate:
            first, last = asked.mindate or _EARLIEST, asked.maxdate or _LATEST
            params |= {"datetype": "pdat", "mindate": f"{first:%Y/%m/%d}", "maxdate": f"{last:%Y/%m/%d}"}
        with self.transport.shelf.queue(self.name) as reached:
            hits = await self.transport.get(
                self.name,
                "esearch.fcgi",
                params={**self._base_params(), **params},
                read=partial(_hits, start),
                post_if_long=True,
            )
            await reached()
            fetching = self.transport.shelf.take(self.name, hits.pmids, partial(self._fetch, due=True))
        return self._reply(query, term, hits, await fetching)

    async def paper(self, pmid: str) -> SourceReply:
        """Return one publication; status `empty` if PubMed has none with that PMID.

        Raises:
            SearchError: no reply, or an unreadable one; `SourceRefused` where `pmid` is no PMID.
        """
        return await self.papers(checked_pmid(self.name, pmid))

    async def papers(self, *pmids: str) -> SourceReply:
        """Return publications by PMID; the reply names those missing from PubMed. Raises as `paper`."""
        if (library := local_library(self.transport)) is not None:
            return library.papers(self, pmids)
        found, asked = await self._fetch(pmids), ", ".join(pmids)
        return self._reply(
            asked, asked, Hits(sum(each.record is not None for each in found.values()), list(pmids)), found
        )

    async def citations(self, pmid: str) -> SourceReply:
        """Return citing and cited publications that PubMed links (ELink); raises as `paper`."""
        number = checked_pmid(self.name, pmid)
        if (library := local_library(self.transport)) is not None:
            return library.citations(self, number)
        with self.transport.shelf.queue(self.name) as reached:
            links = await self.transport.get(
                self.name,
                "elink.fcgi",
                params={**self._base_params(), "dbfrom": "pubmed", "id": number, "cmd": "neighbor"},
                read=_links,
            )
            await reached()
            fetching = self.transport.shelf.take(self.name, links.chosen, partial(self._fetch, due=True))
        found = links.noted((each.record for each in (await fetching).values() if each.record), number)
        missing = len(links.chosen) - len(found)
        problems = [f"no readable record came for {missing} of them"] if missing else []
        return self.reply(f"citations of PMID {number}", found, problems=problems, notes=links.notes)

    async def _fetch(self, pmids: Sequence[str], due: bool = False) -> dict[str, Item]:
        """Fetch articles in batches; of each batch, the problems are those of each of its articles."""
        found = dict[str, Item]()
        for start in range(0, len(pmids), IDS_PER_FETCH):
            batch = pmids[start : start + IDS_PER_FETCH]
            articles = await self.transport.get(
                self.name,
                "efetch.fcgi",
                params={**self._base_params(), "id": ",".join(batch), "retmode": "xml"},
                read=partial(_articles, due=due),
                post_if_long=True,
            )
            by_pmid = {record.record.pmid: record for record in articles.records}
            found |= {pmid: Item(by_pmid.get(pmid), articles.unread) for pmid in batch}
        return found

    def _base_params(self) -> dict[str, str | None]:
        """Return the parameters NCBI expects in every request: https://www.ncbi.nlm.nih.gov/books/NBK25497/"""
        return {"db": "pubmed", "tool": "willowbark", "email": self.transport.endpoints.email}

    def _reply(self, query: str, sent: str, hits: Hits, found: Mapping[str, Item]) -> SourceReply:
        records = [record for pmid in hits.pmids if (record := found[pmid].record)]
        missing = [pmid for pmid in hits.pmids if found[pmid].record is None]
        unread = list(dict.fromkeys(line for each in found.values() for line in each.problems))
        lacking = [f"no readable record came for PMID {', '.join(missing)}"] if missing else []
        return self.reply(
            sent,
            records,
            words=plain_words(query),
            total=hits.total,
            problems=[*unread, *lacking] if records else unread,
            notes=hits.notes if records else [*hits.notes, *lacking],
            url=hits.url,
            understood=hits.translation,
        )


def with_headings(query: str) -> str:
    """Add the MeSH heading of each condition that a group of the query names only by quoted phrases.

    PubMed also finds a heading by its synonyms. A query with field tags is not changed.

    >>> with_headings('("heart failure" OR "cardiac failure") AND (migraine OR "migraine disorders")')
    '(("heart failure" OR "heart failure"[mh]) OR "cardiac failure") AND (migraine OR "migraine disorders")'
    """

    def with_its_headings(group: re.Match[str]) -> str:
        words = (each for each in _PHRASE.sub(" ", group[0]).split() if len(each) >= _SHORTEST_MAPPED)
        told = set(map(_find_mesh_name, words))

        def beside(phrase: re.Match[str]) -> str:
            name = _find_mesh_name(phrase[1])
            if name is None or name in told:
                return phrase[0]
            told.add(name)
            return f'({phrase[0]} OR "{name}"[mh])'

        return _PHRASE.sub(beside, group[0])

    return query if "[" in query else _GROUP.sub(with_its_headings, query)


def _find_mesh_name(words: str) -> str | None:
    """Return the common name of the condition named in full by the words; None if the table lists no MeSH heading."""
    whole = (each for each in find_conditions(words) if (each.start, each.end) == (0, len(words)))
    return next((each.name for each in whole if is_in_mesh(each.name)), None)


def _hits(start: int, reply: Reply) -> Hits:
    """Parse an ESearch reply; `start` is the number of hits skipped.

    Raises:
        RateLimitError: too many requests; the message may come with status 200, and contains the caller's IP or key.
        SourceUnavailable: the search failed at NCBI.
        SourceRefused: NCBI refuses this search.
        UnreadableReply: not an ESearch result.
    """
    data = reply.json()
    _refuse_error(data)
    result = at(data, "esearchresult")
    if not isinstance(result, dict):
        raise UnreadableReply("pubmed", "answered without a search result")
    if "ERROR" in result:
        raise _failure(str(result["ERROR"]))
    total, found = count(result.get("count")), result.get("idlist")
    if total is None or not isinstance(found, list):
        raise UnreadableReply("pubmed", "answered without a count or a list of PMIDs")
    pmids = list(dict.fromkeys(pmid for item in found if (pmid := checked_identifier("pmid", item))))
    if total > start and not pmids:
        raise UnreadableReply("pubmed", f"counts {total} hits and lists none")
    notes = list[str]()
    for part in (result.get("errorlist"), result.get("warninglist")):
        for kind, words in part.items() if isinstance(part, dict) else ():
            for phrase in words if isinstance(words, list) else ():
                if phrase != "No items found.":  # the count says so
                    notes.append(f"{_LEFT_OUT.get(kind, kind)} {redacted(phrase)}")
    translation = " ".join(str(result.get("querytranslation") or "").split())[:_LONGEST_TRANSLATION]
    return Hits(total, pmids, notes, reply.url, translation)


def _refuse_error(data: Any) -> None:
    if isinstance(data, dict) and "error" in data:
        if "rate limit" in str(data["error"]).lower():
            raise RateLimitError("pubmed", "asks for fewer requests")
        raise _failure(str(data["error"]))


def _failure(said: str) -> SearchError:
    if any(phrase in said.lower() for phrase in _REFUSED):
        return SourceRefused("pubmed", f"refuses the search: {redacted(said)}")
    return SourceUnavailable("pubmed", f"reports an error: {redacted(said)}")


def _links(reply: Reply) -> Citations:
    """Parse an ELink reply; a publication without links of a kind has no list of it. Raises as `_hits`."""
    if reply.body.lstrip().startswith(b"{"):
        _refuse_error(reply.json())
    try:
        root = fromstring(reply.xml())
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise UnreadableReply("pubmed", f"answered with broken links ({type(error).__name__})") from None
    if (said := root.findtext(".//ERROR")) is not None:
        raise _failure(said)
    if root.tag != "eLinkResult":
        raise UnreadableReply("pubmed", "answered without links")
    named = {
        group.findtext("LinkName"): [
            pmid for each in group.iterfind("Link/Id") if (pmid := checked_identifier("pmid", each.text))
        ]
        for group in root.iterfind("LinkSet/LinkSetDb")
    }
    return Citations(named.get("pubmed_pubmed_citedin", []), named.get("pubmed_pubmed_refs", []))


def _articles(reply: Reply, *, due: bool = False) -> Articles:
    """Parse an EFetch reply; `due` means that a search has just named its articles. Raises as `_hits`."""
    if reply.body.lstrip().startswith(b"{"):
        _refuse_error(reply.json())
    articles = parse_articles(reply.xml())
    if due and not articles.records:
        raise UnreadableReply("pubmed", "gave none of the records that its search named")
    return articles
