"""Crossref: later notices on a publication (retraction, concern, correction), by its DOI.

`updated-by` lists the notices on a publication, from publishers and Retraction Watch. https://www.crossref.org/documentation/retrieve-metadata/rest-api/
"""

import asyncio
from collections.abc import Mapping, Sequence
from string import punctuation
from typing import Any, NamedTuple

from ...http.reply import at, dicts, entries, reported, text, without_repeats
from ...http.transport import Transport
from ...records import SaidNotice
from ...records.card import SourceCard
from ...records.evidence import checked_identifier
from ...search import local_library
from ..publications import format_iso_date

CARD = SourceCard(
    name="crossref",
    place=140,
    title="Crossref",
    purpose="Tells what was later said of a work.",
    address="https://api.crossref.org",
    documentation="https://doi.org/10.64000/wadve-3tj60",
    per_second=1,  # lists of works
    per_second_with_email=3,
    gives="publication",
    dialect="identifiers",
    use="looked_up",
)

DOIS_PER_REQUEST = 20  # keeps the URL below 2,000 bytes
_KINDS = {
    "retraction": "retraction",
    "partial_retraction": "retraction",
    "withdrawal": "retraction",
    "removal": "retraction",
    "expression_of_concern": "concern",
    "correction": "correction",
    "corrigendum": "correction",
    "erratum": "correction",
    "reinstatement": "reinstatement",
}
"""https://www.crossref.org/documentation/register-maintain-records/maintaining-your-metadata/registering-updates/ ;
other kinds (new versions, addenda, clarifications) retract nothing."""
_RETRACTED = frozenset(
    (
        "RETRACTED",
        "RETRACTED ARTICLE",
        "RETRACTED CHAPTER",
        "WITHDRAWN",
        "WITHDRAWN ARTICLE",
        "WITHDRAWN CHAPTER",
    )
)


class Updates(NamedTuple):
    """Crossref's data on one publication."""

    doi: str
    notices: Sequence[SaidNotice] = ()
    """Oldest first; undated ones come first. Their `kind` is retraction, concern, correction or reinstatement, their
    `source` publisher or retraction-watch."""

    @property
    def retracted(self) -> bool:
        last = [notice["kind"] for notice in self.notices if notice["kind"] in ("retraction", "reinstatement")]
        return bool(last) and last[-1] == "retraction"


async def fetch_updates(dois: Sequence[str], transport: Transport) -> dict[str, Updates]:
    """Look up the notices on up to twenty publications; those unknown, or with an invalid DOI, are missing.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    if (library := local_library(transport)) is not None:
        publications = await asyncio.to_thread(lambda: [library.work("crossref", doi) for doi in dois])
        works = [parse_work(publication) for publication in publications if publication]
        return {work.doi: work for work in works if work}
    wanted = list(dict.fromkeys(doi for number in dois if (doi := checked_identifier("doi", number))))
    if not (listed := ",".join(f"doi:{doi}" for doi in wanted if "," not in doi)):  # the filter's own separator
        return {}
    params = {
        "filter": listed,
        "select": "DOI,title,updated-by",
        "rows": DOIS_PER_REQUEST,
        "mailto": transport.endpoints.email,
    }
    return await transport.get("crossref", "works", params=params, read=lambda reply: parse_works(reply.json()))


def parse_works(data: Any) -> dict[str, Updates]:
    """Parse a list of publications, by DOI; raises `UnreadableReply` if it is none."""
    listed = entries("crossref", data, "message", "items", what="a list of works", keys=("DOI",))
    return {work.doi: work for item in listed if (work := parse_work(item))}


def parse_work(work: Mapping[str, Any]) -> Updates | None:
    doi = checked_identifier("doi", work.get("DOI"))
    if doi is None:
        return None
    notices = list[SaidNotice]()
    for update in dicts(work, "updated-by"):
        if kind := _parse_kind(update):
            parts = at(update, "updated", "date-parts")
            first = parts[0] if isinstance(parts, list) and parts else None
            date = format_iso_date(*map(str, first[:3])) if isinstance(first, list) and first else None
            number = checked_identifier("doi", update.get("DOI"))
            source = text(update.get("source"))
            notices.append(reported({"kind": kind, "source": source, "doi": number, "date": date}))
    titles = work.get("title")
    heads = [str(title).partition(":") for title in (titles if isinstance(titles, list) else [titles])]
    is_marked = any(colon and head.strip(f"{punctuation} \n\t") in _RETRACTED for head, colon, _ in heads)
    if is_marked and not any(notice["kind"] == "retraction" for notice in notices):
        notices.append({"kind": "retraction", "source": "publisher"})
    return Updates(doi, sorted(without_repeats(notices), key=lambda notice: notice.get("date", "")))


def _parse_kind(update: Mapping[str, Any]) -> str | None:
    return _KINDS.get(str(update.get("type")).strip().lower().replace("-", "_").replace(" ", "_"))
