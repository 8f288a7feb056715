"""Crossref: later notices on a publication (retraction, concern, correction), by its DOI.

`updated-by` lists the notices on a publication, from publishers and Retraction Watch; `update-to` lists the
publications it is itself a notice on. https://www.crossref.org/documentation/retrieve-metadata/rest-api/
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import punctuation
from typing import Any
from urllib.parse import quote

from ...errors import SourceRefused, UnreadableReply
from ...evidence import checked_identifier
from ...http.reply import Reply, at, dicts, reported, text, without_repeats
from ...http.transport import Transport
from ...records.parts import SaidNotice
from ...search import local_library
from ..card import SourceCard
from ..publications import iso_date, leads_elsewhere

CARD = SourceCard(
    name="crossref",
    place=140,
    title="Crossref",
    purpose="Tells what was later said of a work.",
    address="https://api.crossref.org",
    documentation="https://doi.org/10.64000/wadve-3tj60",
    per_second=1,  # lists of works
    per_second_with_email=3,
    fresh_days=1,  # a retraction should show on the next day
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
_RETRACTED = frozenset(f"{said}{what}" for said in ("RETRACTED", "WITHDRAWN") for what in ("", " ARTICLE", " CHAPTER"))


@dataclass(frozen=True, slots=True)
class Updates:
    """Crossref's data on one publication."""

    doi: str
    notices: Sequence[SaidNotice] = ()
    """Oldest first; undated ones come first. Their `kind` is retraction, concern, correction or reinstatement, their
    `source` publisher or retraction-watch."""
    notice_of: tuple[str, ...] = ()
    """DOIs of the publications that this one is itself a notice on."""

    @property
    def retracted(self) -> bool:
        last = [each["kind"] for each in self.notices if each["kind"] in ("retraction", "reinstatement")]
        return bool(last) and last[-1] == "retraction"


async def small_question(transport: Transport) -> str:
    found = await updates(["10.1136/bmj.n71"], transport)
    return f"knows {len(found)} of 1 work asked about"


async def updates(dois: Sequence[str], transport: Transport) -> dict[str, Updates]:
    """Look up the notices on publications; those unknown to Crossref are missing from the result.

    Args:
        dois: in any form; invalid ones are left out.
        transport: sends the requests.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    if (library := local_library(transport)) is not None:
        works = (parse_work(held) for doi in dois if (held := library.work("crossref", doi)))
        return {work.doi: work for work in works if work}
    wanted = list(dict.fromkeys(doi for each in dois if (doi := checked_identifier("doi", each))))
    alone = [doi for doi in wanted if "," in doi]  # the filter's own separator
    together = [doi for doi in wanted if "," not in doi]
    found: dict[str, Updates] = {}
    for start in range(0, len(together), DOIS_PER_REQUEST):
        found |= await _fetch_several(together[start : start + DOIS_PER_REQUEST], transport)
    for doi in alone:
        found |= await _fetch_one(doi, transport)
    return found


async def _fetch_several(dois: Sequence[str], transport: Transport) -> dict[str, Updates]:
    """Look up a few publications at once; if Crossref refuses one of them, the others are looked up without it."""
    params = {
        "filter": ",".join(f"doi:{doi}" for doi in dois),
        "select": "DOI,title,updated-by,update-to",
        "rows": len(dois),
        "mailto": transport.endpoints.email,
    }
    try:
        return await transport.get("crossref", "works", params=params, read=lambda reply: parse_works(reply.json()))
    except SourceRefused:
        if len(dois) == 1:
            raise
    half, found, refusal = len(dois) // 2, dict[str, Updates](), None
    for part in (dois[:half], dois[half:]):
        try:
            found |= await _fetch_several(part, transport)
        except SourceRefused as error:
            refusal = error
    if not found and refusal:
        raise refusal
    return found


async def _fetch_one(doi: str, transport: Transport) -> dict[str, Updates]:
    if leads_elsewhere(doi):
        return {}

    def read(reply: Reply) -> dict[str, Updates]:
        if reply.status == 404:  # `Resource not found.`, as plain text
            return {}
        work = at(reply.json(), "message")
        if not isinstance(work, dict) or "DOI" not in work:
            raise UnreadableReply("crossref", "answered without a work")
        return {each.doi: each for each in [parse_work(work)] if each}

    params = {"mailto": transport.endpoints.email}
    return await transport.get("crossref", f"works/{quote(doi, safe='/')}", params=params, read=read, also=(404,))


def parse_works(data: Any) -> dict[str, Updates]:
    """Parse a list of publications, by DOI.

    Raises:
        UnreadableReply: not a list of publications.

    >>> notice = {"type": "retraction", "DOI": "10.5555/N", "updated": {"date-parts": [[2010, 2, 6]]}}
    >>> parse_works({"message": {"items": [{"DOI": "10.5555/A", "updated-by": [notice]}]}})["10.5555/a"].retracted
    True
    """
    items = at(data, "message", "items")
    if not isinstance(items, list):
        raise UnreadableReply("crossref", "answered without a list of works")
    works = {work.doi: work for item in items if isinstance(item, dict) and (work := parse_work(item))}
    if items and not works:
        raise UnreadableReply("crossref", "answered with works that have no DOI")
    return works


def parse_work(work: Mapping[str, Any]) -> Updates | None:
    doi = checked_identifier("doi", work.get("DOI"))
    if doi is None:
        return None
    notices = list[SaidNotice]()
    for each in dicts(work, "updated-by"):
        if kind := _kind(each):
            parts = at(each, "updated", "date-parts")
            first = parts[0] if isinstance(parts, list) and parts else None
            date = iso_date(*map(str, first[:3])) if isinstance(first, list) and first else None
            number, source = checked_identifier("doi", each.get("DOI")), text(each.get("source"))
            notices.append(reported({"kind": kind, "source": source, "doi": number, "date": date}))
    titles = work.get("title")
    heads = [str(title).partition(":") for title in (titles if isinstance(titles, list) else [titles])]
    is_marked = any(colon and head.strip(f"{punctuation} \n\t") in _RETRACTED for head, colon, _ in heads)
    if is_marked and not any(notice["kind"] == "retraction" for notice in notices):
        notices.append({"kind": "retraction", "source": "publisher"})
    targets = (checked_identifier("doi", each.get("DOI")) for each in dicts(work, "update-to") if _kind(each))
    notice_of = tuple(dict.fromkeys(target for target in targets if target and target != doi))
    return Updates(doi, sorted(without_repeats(notices), key=lambda notice: notice.get("date", "")), notice_of)


def _kind(update: Mapping[str, Any]) -> str | None:
    return _KINDS.get(str(update.get("type")).strip().lower().replace("-", "_").replace(" ", "_"))
