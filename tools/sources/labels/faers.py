"""FAERS, how often adverse events were reported after a drug (https://open.fda.gov/apis/drug/event/).

Asked with GET `drug/event.json`: `search` (Lucene's), `count=patient.reaction.reactionmeddrapt.exact`, `limit`; a reply
has `results[]` of `term` (MedDRA's) and `count`. No hit is 404 with `No matches found!`.

Counts are no measure of risk, and each record says so. One request a drug: so it is asked only where settings name it.
"""

import asyncio
from collections.abc import Sequence

from ...errors import UnreadableReply
from ...evidence import Citation, Evidence
from ...http.reply import Reply, at, count, entries, text
from ...lexicon import canonical_drug, common_drug_names
from ...records import EventCounts
from ...records.parts import EventCount
from ...search import LookUps, SourceReply
from ..card import SourceCard
from .openfda import NO_MATCH, any_of

CARD = SourceCard(
    name="faers",
    title="FAERS",
    purpose="How often adverse events were reported to the United States Food and Drug Administration after a drug;"
    " counts of reports, no measure of risk.",
    address="https://api.fda.gov",
    documentation="https://open.fda.gov/apis/drug/event/",
    per_second=4,  # 240 a minute
    per_day=1000,
    per_day_with_key=120_000,
    typical_s=1.0,
    key="OPENFDA_API_KEY",
    key_in="parameter",
    without_key="openFDA gives 1,000 drug labels, approvals and counts of reports a day, not 120,000",
    works_without_key=True,
    off="one request a drug, for counts that show no cause",
    fresh_days=30,  # updated every quarter
    hosts=("open.fda.gov",),
    gives="events",
    entries="Database entry",
    dialect="names",
    use="named",
    by_condition=False,
    specialist="mechanism",
)
MOST_TERMS = 10


class FAERS(LookUps):
    """Counts of reported adverse events."""

    card = CARD

    async def look_up(self, *names: str) -> SourceReply:
        """Give the counts of drugs, and none twice in a run; raises as `find`."""
        return await self.shelved("drug/event.json", names, self._counts)

    async def _counts(self, drugs: Sequence[str]) -> dict[str, Evidence | str]:
        pages = await asyncio.gather(*(self._ask(drug) for drug in drugs))
        return {drug: told(drug, page) or f"no report names {drug!r}" for drug, page in zip(drugs, pages, strict=True)}

    async def _ask(self, drug: str) -> list[EventCount]:
        names = any_of(dict.fromkeys((drug, *common_drug_names(drug))))
        params = {
            "search": f"patient.drug.openfda.generic_name:{names}",
            "count": "patient.reaction.reactionmeddrapt.exact",
            "limit": MOST_TERMS,
        }
        return await self.transport.get(self.name, "drug/event.json", params=params, also=(404,), read=parse_counts)


def parse_counts(reply: Reply) -> list[EventCount]:
    """Read terms with their counts; none where nothing matches.

    Raises:
        UnreadableReply: not a list of counts; also a 404 that does not say that nothing matches.
    """
    data = reply.json()
    if reply.status == 404:
        if at(data, "error") == NO_MATCH:
            return []
        raise UnreadableReply(reply.source, "answered 404 without saying that nothing matches")
    found = entries(reply.source, data, "results", what="a list of counts", keys=("term", "count"))
    rows = ((text(each.get("term")), count(each.get("count"))) for each in found)
    return [{"term": term.lower(), "count": number} for term, number in rows if term and number is not None]


def told(drug: str, counts: Sequence[EventCount]) -> Evidence | None:
    """The record of a drug; None where nothing was reported."""
    if not counts:
        return None
    name = canonical_drug(drug) or drug.lower()
    title = f"{name.capitalize()}: adverse events reported most"
    listed = ", ".join(f"{each['term']} ({each['count']:,})" for each in counts)
    return Evidence(
        content=f"{title}\n\n{EventCounts.NOT_CAUSE}\nReported most: {listed}.",
        citation=Citation(
            source="faers", title=title, url=f"https://open.fda.gov/apis/drug/event/?drug={'-'.join(name.split())}"
        ),
        record=EventCounts(drug=name, counts=list(counts)),
    )
