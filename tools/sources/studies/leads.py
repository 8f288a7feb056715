"""Leads: web pages that name a publication or a trial.

A page is not evidence and is never quoted: if it names a PMID, PMCID, DOI or NCT number, that record is fetched from
PubMed, Europe PMC or ClinicalTrials.gov and used instead.
"""

import re
from abc import abstractmethod
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

from ...errors import SearchError
from ...http.transport import Transport
from ...questions import parse_query
from ...questions.query import remove_tags
from ...records.evidence import Evidence, checked_identifier
from ...search import Filters, SearchFilters, Source, SourceReply
from ..lookups import Item, gather_answers
from ..publications import extract_words, find_trial_numbers
from .clinicaltrials import ClinicalTrials
from .europepmc import by_numbers
from .pubmed import PubMed

MOST_PAGES = 20  # read per search
MOST_TRIALS = 5  # fetched per search, one request each
MOST_WORDS, MOST_CHARACTERS = 50, 400  # per query; Brave's limits
_ALTERNATIVES = 3  # per group in a query

_NUMBERS = {
    "pmid": re.compile(r"(?:pubmed\.ncbi\.nlm\.nih\.gov/|/pubmed/|/article/MED/|\bPMID:? ?)(\d{1,9})\b", re.IGNORECASE),
    "pmcid": re.compile(r"\b(PMC\d{1,9})\b", re.IGNORECASE),
    "doi": re.compile(r"\b(10\.\d{4,9}/[^\s\"<>?#&,;]{1,200})", re.IGNORECASE),
}
_NO_END = re.compile(r"(?:[.:)\]]|/(?:full|fulltext|abstract|pdf|epdf|html|meta|summary)|\.(?:pdf|full|html?))+$")
_GROUP = re.compile(r"\(([^()]*)\)")
_SIGNS = ((" AND NOT ", " -"), (" NOT ", " -"), ("(NOT ", "( -"), (" AND ", " "))


class Lead(NamedTuple):
    """A page found by a search engine: its address and the text of its search result."""

    url: str
    text: str


class WebSearch(Source):
    """Base class of the search engines: subclasses implement `leads`."""

    @abstractmethod
    async def leads(self, words: str) -> Sequence[Lead]:
        """Return the top pages; raises `SearchError` if there is no reply."""

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Return the publications and trials named on the top pages; there is no second page."""
        parse_query(self.name, query)
        sent = write_web_query(query)
        url = self.transport.endpoints[self.name].base_url
        if SearchFilters.of(self.name, filters).page > 1:
            return self.reply(sent, [], notes=["leads are taken from the first page alone"], url=url)
        with self.transport.shelf.queue(self.name) as reached:
            pages = (await self.leads(sent))[:MOST_PAGES]
            numbers_by_page = [list(find_numbers(page)) for page in pages]
            await reached()
            numbers = list(chain.from_iterable(numbers_by_page))
            items = await self.transport.shelf.take(self.name, numbers, self._fetch_records)
        problems = dict.fromkeys(chain.from_iterable(item.problems for item in items.values()))
        records = [self._led_to(item.record) for item in items.values() if item.record is not None]
        silent = numbers_by_page.count([])
        notes = [f"{silent} of {len(pages)} pages name no publication or trial and were excluded"] if silent else []
        lost = len(items) - len(records)
        notes += [f"{lost} of {len(items)} numbers that pages name led to no record"] if lost else []
        words = extract_words(query)
        return self.reply(sent, records[:max_results], words=words, problems=problems, notes=notes, url=url)

    def _led_to(self, record: Evidence) -> Evidence:
        """Note on a record that this engine led to it, besides the sources that have it."""
        sources = {record.citation.source, *record.record.found_in, self.name}
        return record.noting(found_in=sorted(sources))

    async def _fetch_records(self, names: Sequence[str]) -> Mapping[str, Item]:
        """Fetch the records with the given numbers (`pmid:…`), with notes on failed requests."""
        numbered = await fetch_numbers(names, self.transport)
        problems = [f"leads could not be followed: {failure}" for failure in numbered.failures]
        return {name: Item(numbered.records.get(name), problems) for name in names}


class Numbered(NamedTuple):
    """What came of a request for numbers."""

    records: Mapping[str, Evidence]
    """By every number of theirs."""
    failures: Sequence[SearchError]


async def fetch_numbers(names: Sequence[str], transport: Transport, most_trials: int = MOST_TRIALS) -> Numbered:
    """Fetch the records with the given numbers (`pmid:…`, `pmcid:…`, `doi:…`, `nct:…`) from the sources that have them.

    Args:
        names: two requests for all publications, and one for each trial.
        transport: sends the requests; a library of its own answers them instead.
        most_trials: trials after the first so many are not asked for.
    """
    pmids = [name.removeprefix("pmid:") for name in names if name.startswith("pmid:")]
    trials = [name.removeprefix("nct:") for name in names if name.startswith("nct:")]
    papers = [name for name in names if name.startswith(("doi:", "pmcid:"))]
    requests: list[Awaitable[SourceReply | list[Evidence]]]
    requests = [ClinicalTrials(transport).trial(number) for number in trials[:most_trials]]
    requests += [PubMed(transport).papers(*pmids)] if pmids else []
    requests += [by_numbers(papers, transport)] if papers else []
    answers, failures = await gather_answers(requests)
    records: list[Evidence] = []
    for answer in answers:
        records += answer if isinstance(answer, list) else answer.records
    by_number: dict[str, Evidence] = {}
    for record in reversed(records):  # so that of two with one number the first stays
        by_number |= dict.fromkeys(record.identifiers, record)
    return Numbered(by_number, failures)


def find_numbers(lead: Lead) -> Iterator[str]:
    """Yield the numbers of publications and trials named by a page, in the form of `Evidence.identifiers`.

    >>> list(find_numbers(Lead("https://www.nejm.org/doi/full/10.1056/NEJMoa1/full?q=1", "PMID: 123 and nct00000102.")))
    ['pmid:123', 'doi:10.1056/nejmoa1', 'nct:NCT00000102']
    """
    page = f"{unquote(lead.url)} {lead.text}"
    for kind, pattern in _NUMBERS.items():
        for number in dict.fromkeys(pattern.findall(page)):
            if checked := checked_identifier(kind, _NO_END.sub("", number)):
                yield f"{kind}:{checked}"
    yield from (f"nct:{number}" for number in find_trial_numbers(page))


def write_web_query(query: str) -> str:
    """Convert a boolean query for search engines: few alternatives, no word for "and", a minus for "not".

    >>> write_web_query('(prevent OR prevention OR prophylaxis OR x) AND "migraine attacks"[tiab] NOT mice')
    '(prevent OR prevention OR prophylaxis) "migraine attacks" -mice'
    """
    words = f" {remove_tags(query)}"
    for sign, own in _SIGNS:
        words = words.replace(sign, own)
    short = _GROUP.sub(_shorten, words).strip()
    if len(short) <= MOST_CHARACTERS and len(short.split()) <= MOST_WORDS:
        return short
    return " ".join(extract_words(query).split()[:MOST_WORDS])[:MOST_CHARACTERS]


def _shorten(group: re.Match[str]) -> str:
    alternatives = group[1].split(" OR ")[:_ALTERNATIVES]
    return f"({' OR '.join(alternatives)})" if len(alternatives) > 1 else alternatives[0]
