"""ClinicalTrials.gov, API version 2 (https://clinicaltrials.gov/data-api/api).

Asked with GET, answered in JSON:

* `studies` with `query.term` (boolean form), `filter.advanced` (`AREA[StudyType]INTERVENTIONAL`, joined by ` AND ` with
  `AREA[Phase](PHASE2 OR PHASE3)` and `AREA[HasResults]true` or `…false`), `filter.overallStatus` (joined by `|`),
  `countTotal=true`, `pageSize`, `pageToken`; gives `studies[]`, `totalCount` (first page only) and `nextPageToken`;
* `studies/{nct_id}`; gives one study, 404 for an unknown number.

A refusal is 400 with one line of plain text. `clinicaltrials_record` reads the studies.
"""

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from ..errors import SearchError, SourceRefused, UnreadableReply
from ..evidence import Evidence, checked_identifier
from ..http.transport import Reply
from ..questions.query import plain_query
from ..ranking import rank
from ..search import Filters, Source, SourceReply, Status
from .card import SourceCard
from .clinicaltrials_record import parse_study
from .publications import check_filters

CARD = SourceCard(
    name="clinicaltrials",
    title="ClinicalTrials.gov",
    purpose="Interventional trials of ClinicalTrials.gov: design, phase, size, status, why stopped, posted results.",
    address="https://clinicaltrials.gov/api/v2",
    documentation="https://clinicaltrials.gov/data-api/api",
    per_second=1.25,  # none published; robots.txt asks for one a second
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

STATUSES = frozenset(
    "ACTIVE_NOT_RECRUITING COMPLETED ENROLLING_BY_INVITATION NOT_YET_RECRUITING RECRUITING SUSPENDED TERMINATED"
    " WITHDRAWN UNKNOWN AVAILABLE NO_LONGER_AVAILABLE TEMPORARILY_NOT_AVAILABLE APPROVED_FOR_MARKETING WITHHELD".split()
)
"""Overall statuses, https://clinicaltrials.gov/data-api/about-api/study-data-structure#enum-Status."""
PHASES = frozenset("NA EARLY_PHASE1 PHASE1 PHASE2 PHASE3 PHASE4".split())

_PAGE_SIZE = 100  # studies; the API gives up to 1,000, of up to 1 MB each
_TAG = re.compile(r"\b[A-Za-z]+\[[^\]]*\]|\[[^\]]*\]")  # AREA[Phase], [tiab]: tags of this API and of PubMed
_RESERVED = re.compile(r"[\[\],*]")
_LOOSE_ENDS = re.compile(r"(?:^|(?<=\())(?:\s*\b(?:AND|OR)\b)+|(?:\b(?:AND|OR|NOT)\b\s*)+(?:$|(?=\)))")
_ADDRESS = re.compile(r"\S*(?:://|www\.)\S*")


class ClinicalTrials(Source):
    """Registered trials, with the reasons for which some were stopped and the results that were posted."""

    card = CARD

    async def find(self, query: str, max_results: int = 10, filters: Filters | None = None) -> SourceReply:
        """Search interventional trials of every status: one that was stopped is evidence too.

        Args:
            query: words, or the boolean form that `preprocess_query` gives.
            max_results: 1 to 50 records.
            filters: `status` (list of `STATUSES`), `phase` (list of `PHASES`), `has_results` (bool), `page`
                (from 1).

        Raises:
            SourceRefused: nothing to search for, an unknown filter, or a query that the API does not accept.
            SearchError: no answer, or no readable one.
        """
        params: dict[str, object] = {
            "query.term": clean_term(query),
            **filter_params(filters or {}),
            "countTotal": "true",
            "pageSize": min(max_results, _PAGE_SIZE),
        }
        studies: list[Any] = []
        number, sent = int((filters or {}).get("page", 1)), str(params["query.term"])
        total, url, token = 0, "", self.transport.marks.get((self.name, sent, number))
        if number > 1 and (self.name, sent, number) not in self.transport.marks:  # the page before: of an earlier life
            await self.find(query, max_results, {**(filters or {}), "page": number - 1})
            token = self.transport.marks[self.name, sent, number]
        if number > 1 and token is None:
            return SourceReply(source=self.name, query=sent, status=Status.EMPTY)
        warnings: list[str] = []
        while True:
            try:
                page, shown = await self._ask("studies", {**params, "pageToken": token})
            except SearchError as error:
                if not studies:
                    raise
                warnings.append(f"gave the first {len(studies)} trials, then failed: {error.reason}")
                break
            total, url = (total, url) if studies else (int(page.get("totalCount") or 0), shown)
            studies += page["studies"]
            token = page.get("nextPageToken")
            if not token or not page["studies"] or len(studies) >= max_results:
                break
        self.transport.marks[self.name, sent, number + 1] = token
        records, unread = parse_studies(studies[:max_results])
        if unread:
            warnings.append(f"{unread} of {len(studies)} trials came without a registry number and were left out")
        status = Status.PARTIAL if warnings else Status.OK if records else Status.EMPTY
        return SourceReply(
            source=self.name,
            query=str(params["query.term"]),
            status=status,
            records=rank(plain_query(query), records),
            total=max(total, len(records)),
            warnings=warnings,
            url=url,
        )

    async def trial(self, nct_id: str) -> SourceReply:
        """Look one trial up by its number; `empty` where the registry has none.

        Raises:
            SourceRefused: not an NCT number.
            SearchError: no answer, or no readable one.
        """
        known = checked_identifier("nct_id", nct_id)
        if known is None:
            raise SourceRefused(self.name, f"{nct_id[:40]!r} is not an NCT number (NCT and 8 digits)")
        found, url = await self._ask(f"studies/{known}", {})
        record = parse_study(found) if found else None
        warnings = [] if record else [f"there is no trial {known}"]
        if record and record.record.nct_id != known:
            warnings = [f"{known} is an older number of {record.record.nct_id}"]
        return SourceReply(
            source=self.name,
            query=known,
            status=Status.OK if record else Status.EMPTY,
            records=[record] if record else [],
            total=1 if record else 0,
            warnings=warnings,
            url=url,
        )

    async def _ask(self, path: str, params: Mapping[str, object]) -> tuple[dict[str, Any], str]:
        """Give a reply's object (empty for 404) and what was asked."""
        also = (400, 404) if "/" in path else (400,)
        return await self.transport.get(self.name, path, params=params, also=also, read=partial(_read, path))


def clean_term(query: str) -> str:
    """Make a query safe for the API: no reserved characters, no tags, no loose ends, brackets and quotes in pairs.

    Raises:
        SourceRefused: nothing is left to search for.

    >>> clean_term('(migraine[tiab] OR "sick headache") AND propranolol, oral')
    '(migraine OR "sick headache") AND propranolol oral'
    >>> clean_term('migraine AND (timolol')
    'migraine AND timolol'
    """
    term = _RESERVED.sub(" ", _TAG.sub(_word_of_tag, query))
    if term.count('"') % 2:
        term = term.replace('"', " ")
    term = re.sub(r'"([^"]*)"', _quoted, term)
    if not _balanced(term):
        term = re.sub(r"[()]", " ", term)
    former = ""
    while term != former:  # each round can bare another empty pair or loose end
        former = term
        term = re.sub(r"\(\s*\)", " ", term)
        term = re.sub(r"\s+", " ", re.sub(r"(?<=\()\s+|\s+(?=\))", "", term)).strip()
        term = _LOOSE_ENDS.sub("", term).strip()
    if not any(map(str.isalnum, term)):
        raise SourceRefused(ClinicalTrials.name, "the query holds no words to search for")
    return term


def _word_of_tag(tag: re.Match[str]) -> str:
    """The word that a PubMed tag hangs on (`migraine[tiab]`), or nothing for this API's own (`AREA[Phase]`)."""
    word = tag.group().partition("[")[0]
    return "" if word in ("AREA", "SEARCH", "RANGE", "EXPANSION", "COVERAGE", "DISTANCE") else word


def _quoted(phrase: re.Match[str]) -> str:
    words = " ".join(re.sub(r"[()]", " ", phrase.group(1)).split())
    return f'"{words}"' if words else " "


def _balanced(term: str) -> bool:
    depth = 0
    for character in term:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0


def filter_params(filters: Filters) -> dict[str, object]:
    """Give the request parameters of a set of filters.

    Raises:
        SourceRefused: an unknown filter or value.

    >>> filter_params({"phase": ["PHASE2", "PHASE3"]})["filter.advanced"]
    'AREA[StudyType]INTERVENTIONAL AND AREA[Phase](PHASE2 OR PHASE3)'
    """
    check_filters(ClinicalTrials.name, filters, ("status", "phase", "has_results", "page"))
    advanced = ["AREA[StudyType]INTERVENTIONAL"]
    if phases := _chosen("phase", filters.get("phase"), PHASES):
        advanced.append(f"AREA[Phase]({' OR '.join(phases)})")
    if filters.get("has_results") is not None:
        advanced.append(f"AREA[HasResults]{str(bool(filters['has_results'])).lower()}")
    statuses = _chosen("status", filters.get("status"), STATUSES)
    return {"filter.advanced": " AND ".join(advanced), "filter.overallStatus": "|".join(statuses) or None}


def _chosen(name: str, value: Any, known: frozenset[str]) -> list[str]:
    asked = [value] if isinstance(value, str) else list(value or ())
    chosen = [str(each).strip().upper().replace(" ", "_") for each in asked]
    if unknown := [each for each in chosen if each not in known]:
        raise SourceRefused(ClinicalTrials.name, f"no {name} {unknown[0][:40]!r}; there are {', '.join(sorted(known))}")
    return chosen


def _read(path: str, reply: Reply) -> tuple[dict[str, Any], str]:
    if reply.status == 404:
        return {}, reply.url
    if reply.status == 400:
        raise SourceRefused(reply.source, f"refused the query: {refusal(reply.body)}")
    found = reply.json()
    wanted, kind = ("studies", list) if path == "studies" else ("protocolSection", dict)
    if not isinstance(found, dict) or not isinstance(found.get(wanted), kind):
        raise UnreadableReply(reply.source, f"answered without {wanted}")
    return found, reply.url


def refusal(body: bytes) -> str:
    """The API's own reason in one short line, without addresses.

    >>> refusal(b"Unknown area name: `X`\\nsee https://clinicaltrials.gov/x")
    'Unknown area name: `X` see'
    """
    said = " ".join(_ADDRESS.sub("", body[:2000].decode("utf-8", "replace")).split())
    return said[:200] if said and not said.startswith("<") else "no reason given"


def parse_studies(studies: Iterable[Any]) -> tuple[list[Evidence], int]:
    """Read studies; gives the records, and how many had no registry number."""
    read = [parse_study(study) for study in studies]
    return [record for record in read if record], read.count(None)
