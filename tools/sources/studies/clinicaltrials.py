"""ClinicalTrials.gov, API version 2 (https://clinicaltrials.gov/data-api/api).

Queried with GET; replies are JSON:

* `studies` with `query.term` (boolean form; exclusions follow `AND NOT`), `filter.advanced`
  (`AREA[StudyType]INTERVENTIONAL`, joined by ` AND ` with `AREA[Phase](PHASE2 OR PHASE3)`, `AREA[HasResults]true` and
  `AREA[StartDate]RANGE[2015-01-01,MAX]`), `filter.overallStatus` (joined by `|`), `fields` (joined by `|`),
  `countTotal=true`, `pageSize`, `pageToken`; returns `studies[]`, `totalCount` (first page only) and `nextPageToken`;
* `studies/{nct_id}` with `fields`; returns one study, 404 for an unknown number.

An invalid request is 400 with one line of plain text. `clinicaltrials_record` parses the studies.
"""

import re
from functools import partial
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ...errors import SourceRefused, UnreadableReply
from ...evidence import checked_identifier
from ...http.reply import Reply, at, count, read_each
from ...questions import parse_question
from ...search import Filters, Page, Source, SourceReply, local_library, request_size
from ..card import SourceCard
from ..publications import DatedFilters, without_addresses
from .clinicaltrials_record import parse_study

CARD = SourceCard(
    name="clinicaltrials",
    place=10,
    title="ClinicalTrials.gov",
    purpose="Interventional trials of ClinicalTrials.gov: design, phase, size, status, why stopped, posted results.",
    address="https://clinicaltrials.gov/api/v2",
    documentation="https://clinicaltrials.gov/data-api/api",
    per_second=1.25,  # none published; robots.txt asks for one per second
    typical_s=0.9,
    wire="requests",  # its firewall is reported to refuse httpx's TLS fingerprint
    fresh_days=1,  # updated on weekdays
    hosts=("clinicaltrials.gov",),
    gives="trial",
    entries="Registry entry",
    dialect="boolean",
    use="searched",
    specialist="trials",
)

OverallStatus = Literal[
    "ACTIVE_NOT_RECRUITING",
    "COMPLETED",
    "ENROLLING_BY_INVITATION",
    "NOT_YET_RECRUITING",
    "RECRUITING",
    "SUSPENDED",
    "TERMINATED",
    "WITHDRAWN",
    "UNKNOWN",
    "AVAILABLE",
    "NO_LONGER_AVAILABLE",
    "TEMPORARILY_NOT_AVAILABLE",
    "APPROVED_FOR_MARKETING",
    "WITHHELD",
]
"""https://clinicaltrials.gov/data-api/about-api/study-data-structure#enum-Status."""
Phase = Literal["NA", "EARLY_PHASE1", "PHASE1", "PHASE2", "PHASE3", "PHASE4"]
StudyType = Literal["INTERVENTIONAL", "OBSERVATIONAL", "EXPANDED_ACCESS"]

FIELDS = (
    *(
        f"protocolSection.{name}"
        for name in (
            "identificationModule",
            "statusModule",
            "sponsorCollaboratorsModule.leadSponsor",
            "descriptionModule.briefSummary",
            "conditionsModule.conditions",
            "designModule",
            "armsInterventionsModule",
            "outcomesModule",
            "referencesModule.references",
        )
    ),
    "derivedSection.conditionBrowseModule.meshes",
    "derivedSection.interventionBrowseModule.meshes",
    "resultsSection.outcomeMeasuresModule",
    "resultsSection.adverseEventsModule.eventGroups",
    "hasResults",
)
"""Fields requested of a study; sites, contacts, eligibility and single adverse events make up most of the rest."""
_PAGE_SIZE = 100  # studies; the API allows 1,000, of up to 1 MB each
_TAG = re.compile(r"\b[A-Za-z]+\[[^\]]*\]|\[[^\]]*\]")  # AREA[Phase], [tiab]: tags of this API and of PubMed
_RESERVED = str.maketrans("[],*", "    ")
_BRACKETS = str.maketrans("()", "  ")
_LOOSE_ENDS = re.compile(r"(?:^|(?<=\())(?:\s*\b(?:AND|OR)\b)+|(?:\b(?:AND|OR|NOT)\b\s*)+(?:$|(?=\)))")
_BARE_NOT = re.compile(r'("[^"]*")|(?<=[^\s(])(?<!\bAND)(?<!\bOR)\s+NOT\b')


def _list_codes(value: object) -> object:
    """Return codes as the API writes them, from one or several values."""
    asked = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return [str(each).strip().upper().replace(" ", "_") for each in asked]


class TrialFilters(DatedFilters, frozen=True):
    """Filters for a search of trials; without any, interventional trials of every status are returned."""

    status: Annotated[list[OverallStatus], BeforeValidator(_list_codes)] = Field(
        default_factory=list, description="Any of these overall statuses; trials that stopped early are evidence too"
    )
    phase: Annotated[list[Phase], BeforeValidator(_list_codes)] = Field(
        default_factory=list, description="Any of these phases"
    )
    study_type: StudyType = "INTERVENTIONAL"
    has_results: bool | None = Field(default=None, description="With posted results only, or without them only")

    def params(self) -> dict[str, object]:
        """Return the request's parameters.

        >>> TrialFilters(phase=["PHASE2", "PHASE3"]).params()["filter.advanced"]
        'AREA[StudyType]INTERVENTIONAL AND AREA[Phase](PHASE2 OR PHASE3)'
        """
        advanced = [f"AREA[StudyType]{self.study_type}"]
        if self.phase:
            advanced.append(f"AREA[Phase]({' OR '.join(self.phase)})")
        if self.has_results is not None:
            advanced.append(f"AREA[HasResults]{str(self.has_results).lower()}")
        if self.mindate or self.maxdate:
            advanced.append(f"AREA[StartDate]RANGE[{self.mindate or 'MIN'},{self.maxdate or 'MAX'}]")
        return {"filter.advanced": " AND ".join(advanced), "filter.overallStatus": "|".join(self.status) or None}


class ClinicalTrials(Source):
    """Registered trials, with reasons for early termination and posted results."""

    card = CARD
    filters = TrialFilters

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Search interventional trials of every status: terminated ones are evidence too."""
        asked, term = TrialFilters.of(self.name, filters), clean_term(query)
        size = request_size(max(1, max_results), _PAGE_SIZE)
        params = {"query.term": term, **asked.params(), "countTotal": "true", "pageSize": size}

        async def ask(token: str | None) -> Page:
            found, url = await self._ask("studies", {**params, "pageToken": token})
            total, following = found.get("totalCount"), found.get("nextPageToken")
            return Page(found["studies"], count(total) or 0, following if isinstance(following, str) else None, url)

        page, problems = await self.page(asked.page, max_results, str(params), ask)
        records, unread = read_each(page.hits, parse_study)
        words = parse_question(query).words
        return self.reply(term, records, words=words, total=page.total, problems=[*unread, *problems], url=page.url)

    async def trial(self, nct_id: str) -> SourceReply:
        """Look up one trial by its number; `empty` if the registry has none.

        Raises:
            SourceRefused: not an NCT number.
            SearchError: no reply, or an unreadable one.
        """
        known = checked_identifier("nct_id", nct_id)
        if known is None:
            raise SourceRefused(self.name, f"{nct_id[:40]!r} is not an NCT number (NCT and 8 digits)")
        if (library := local_library(self.transport)) is not None:
            return library.trial(self, known)
        found, url = await self._ask(f"studies/{known}", {})
        records, unread = read_each([found] if found else [], parse_study)
        notes = [] if found else [f"there is no trial {known}"]
        if records and records[0].record.nct_id != known:
            notes = [f"{known} is an older number of {records[0].record.nct_id}"]
        return self.reply(known, records, notes=notes, problems=unread, url=url)

    async def _ask(self, path: str, params: dict[str, object]) -> tuple[dict[str, Any], str]:
        """Return a reply's object (empty for 404) and its URL; requests whole studies if a field is unknown."""
        also = (400, 404) if "/" in path else (400,)
        ask = partial(self.transport.get, self.name, path, also=also, read=partial(_read, path))
        try:
            return await ask(params={**params, "fields": "|".join(FIELDS)})
        except UnknownField:
            return await ask(params=params)


class UnknownField(SourceRefused):
    """The API does not know a requested field: its data structure has changed."""


def clean_term(query: str) -> str:
    """Make a query safe for the API: no reserved characters, tags or dangling operators; brackets and quotes in pairs.

    Raises:
        SourceRefused: nothing is left to search for.

    >>> clean_term('(migraine[tiab] OR "sick headache") AND propranolol, oral')
    '(migraine OR "sick headache") AND propranolol oral'
    >>> clean_term('migraine AND (timolol'), clean_term("migraine NOT (mice OR rats)")
    ('migraine AND timolol', 'migraine AND NOT (mice OR rats)')
    """

    def word_of_tag(tag: re.Match[str]) -> str:
        """Keep the word before a PubMed tag (`migraine[tiab]`); drop this API's own tags (`AREA[Phase]`)."""
        word = tag.group().partition("[")[0]
        return "" if word in ("AREA", "SEARCH", "RANGE", "EXPANSION", "COVERAGE", "DISTANCE") else word

    term = _TAG.sub(word_of_tag, query).translate(_RESERVED)
    if term.count('"') % 2:
        term = term.replace('"', " ")
    parts = term.split('"')
    for place in range(1, len(parts), 2):
        phrase = " ".join(parts[place].translate(_BRACKETS).split())
        parts[place] = f'"{phrase}"' if phrase else " "
    term = "".join(parts)
    depths = list(accumulate({"(": 1, ")": -1}.get(character, 0) for character in term))
    if depths and (min(depths) < 0 or depths[-1]):
        term = term.translate(_BRACKETS)
    former = ""
    while term != former:  # each round can expose another empty pair or dangling operator
        former = term
        term = " ".join(term.split()).replace("( ", "(").replace(" )", ")")
        term = " ".join(term.replace("()", " ").split())
        term = _LOOSE_ENDS.sub("", term).strip()
    if not any(map(str.isalnum, term)):
        raise SourceRefused(ClinicalTrials.name, "the query holds no words to search for")
    return _BARE_NOT.sub(lambda found: found[1] or " AND NOT", term)


def _read(path: str, reply: Reply) -> tuple[dict[str, Any], str]:
    if reply.status == 404:
        return {}, reply.url
    if reply.status == 400:
        said = refusal(reply.body)
        raise (UnknownField if "invalid field name" in said else SourceRefused)(
            reply.source, f"refused the query: {said}"
        )
    found = reply.json()
    wanted, kind = ("studies", list) if path == "studies" else ("protocolSection", dict)
    if not isinstance(at(found, wanted), kind):
        raise UnreadableReply(reply.source, f"answered without {wanted}")
    return found, reply.url


def refusal(body: bytes) -> str:
    """Return the API's own reason in one short line, without addresses.

    >>> refusal(b"Unknown area name: `X`\\nsee https://clinicaltrials.gov/x")
    'Unknown area name: `X` see'
    """
    said = without_addresses(body[:2000].decode("utf-8", "replace"))
    return said[:200] if said and not said.startswith("<") else "no reason given"
