"""Contact with the sources: each is asked for something that it holds, and its reply is held against its contract."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from ..errors import SearchError, SourceRefused, UnreadableReply
from ..http.attempts import RetryPolicy
from ..http.endpoints import Endpoints
from ..http.reply import Reply
from ..http.transport import Exchange, Transport
from ..records.registry import cards
from ..sources.publications import redact
from .documents import read_document
from .fields import fields_of, find_breaches
from .known_items import known_item

CONTACT_S = 15.0
"""Longest time that contact with all sources takes, side by side."""
Outcome = Literal["answered", "not understood", "refused", "silent"]
_FAILURE = 400
_NO_ACCESS = frozenset({401, 403})
_TOO_MANY = 429
_DOWN = 500
_REASON = 200  # characters of a source's own words
_CHANGED = "It has changed: update Willowbark, or report this line"
_UNHEARD = "Check the network and the proxy; runs name it as lost and go on"


@dataclass(frozen=True, slots=True)
class Contact:
    """How a source answered.

    Attributes:
        outcome: answered and read as expected; answered and not understood; refused; or silent.
        details: what is wrong, a line each, with the field's name; with `answered`, what will matter later.
        advice: what the user can do; empty if nothing is to be done.
    """

    source: str
    outcome: Outcome
    seconds: float
    details: tuple[str, ...] = ()
    advice: str = ""

    @property
    def line(self) -> str:
        head = {
            "answered": f"answered and read as expected ({self.seconds:.1f} s)",
            "not understood": "answered and NOT UNDERSTOOD",
            "refused": "REFUSED",
            "silent": "SILENT",
        }[self.outcome]
        text = f"{self.source}: {head}"
        if self.details:
            text += f": {'; '.join(self.details)}"
        return f"{text}. {self.advice}" if self.advice else text


class _ExchangeBook:
    """Exchanges by source, with their bodies."""

    def __init__(self) -> None:
        self.by_source = defaultdict[str, list[Exchange]](list)

    def exchanged(self, exchange: Exchange) -> None:
        self.by_source[exchange.source].append(exchange)


async def contact_sources(
    sources: Iterable[str], endpoints: Endpoints, *, within_s: float = CONTACT_S
) -> list[Contact]:
    """Ask each source one tiny question, all side by side within their limits, and check what they answer.

    Args:
        sources: names of sources.
        endpoints: where they are.
        within_s: seconds for all; a source that has not answered by then counts as silent.
    """
    book = _ExchangeBook()
    policy = RetryPolicy(
        attempts=2, longest_wait_s=2.0, first_timeout_s=within_s, attempt_timeout_s=within_s, deadline_s=within_s
    )
    async with Transport(endpoints, policy=policy, recorder=book) as transport:
        return await asyncio.gather(*(_contact(name, transport, book, within_s) for name in sources))


async def _contact(name: str, transport: Transport, book: _ExchangeBook, within_s: float) -> Contact:
    began = time.monotonic()
    item = known_item(name)
    has_item = False
    failure: SearchError | None = None
    try:
        async with asyncio.timeout(within_s):
            has_item = bool(await item.ask(transport))
    except SearchError as error:
        failure = error
    except TimeoutError:
        failure = SearchError(name, f"no whole answer within {within_s:.3g} s")
    except Exception as error:  # noqa: BLE001  a reply that no parser foresaw is what is looked for
        failure = UnreadableReply(name, f"could not be read ({type(error).__name__})")
    seconds = time.monotonic() - began
    exchanges = _last_attempts(book.by_source[name])
    moves = dict.fromkeys(
        f"{_path_of(exchange)} has moved to {exchange.moved_to} (permanent redirect)"
        for exchange in exchanges
        if exchange.moved_to
    )
    refusals = [_describe_refusal(exchange) for exchange in exchanges if (exchange.status or 0) >= _FAILURE]
    if refusals or isinstance(failure, SourceRefused):
        details = refusals or [failure.reason if failure else ""]
        return Contact(name, "refused", seconds, (*moves, *details), _advise_refused(name, exchanges))
    breaches = _find_breaches(name, exchanges, is_public=transport.endpoints.is_public)
    if item.title and not breaches and failure is None and not has_item:
        breaches = [f"{item.title}, which it holds, did not come"]
    if isinstance(failure, UnreadableReply) and not any(line.endswith(failure.reason) for line in breaches):
        breaches.append(failure.reason)
    if breaches:
        return Contact(name, "not understood", seconds, (*moves, *breaches), _CHANGED)
    if failure is not None:
        return Contact(name, "silent", seconds, (*moves, failure.reason), _UNHEARD)
    return Contact(name, "answered", seconds, tuple(moves))


def _last_attempts(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Return the last exchange of each request: an earlier one may have failed in passing."""
    return list({exchange.request: exchange for exchange in exchanges}.values())


def _path_of(exchange: Exchange) -> str:
    return unquote(urlsplit(exchange.url).path)


def _describe_refusal(exchange: Exchange) -> str:
    body = exchange.body.decode("utf-8", "replace")
    is_page = body.lstrip()[:1] == "<"
    reason = "" if is_page else redact(body)[:_REASON]
    status = f"{_path_of(exchange)} ({exchange.status})"
    return f"{status}: {reason}" if reason else status


def _find_breaches(name: str, exchanges: Sequence[Exchange], *, is_public: bool) -> list[str]:
    """Return what is wrong with the replies, a line each."""
    lines = list[str]()
    documents = defaultdict[str, list[object]](list)
    for exchange in exchanges:
        if exchange.status is None:
            continue
        reply = Reply(name, exchange.status, {}, exchange.body)
        try:
            documents[f"{_path_of(exchange)} {exchange.sent}".strip()].append(read_document(reply))
        except UnreadableReply as error:
            lines.append(f"{_path_of(exchange)} {error.reason}")
    fields = fields_of(name)
    for glob in dict.fromkeys(field.reply for field in fields):
        of_reply = [field for field in fields if field.reply == glob]
        contents = list[object]()
        for request, bodies in documents.items():
            contents += bodies if of_reply[0].fits(request) else []
        if contents:
            lines += map(str, find_breaches(of_reply, contents, is_public=is_public))
    return list(dict.fromkeys(lines))


def _advise_refused(name: str, exchanges: Iterable[Exchange]) -> str:
    """Say what to do about a refusal, by the status of the replies."""
    card = cards().get(name)
    key = card.key if card is not None else None
    statuses = {exchange.status or 0 for exchange in exchanges}
    if statuses & _NO_ACCESS and card is not None and card.way_out:
        return f"Ask from another network, or {card.way_out}"
    if statuses & _NO_ACCESS:
        return f"Check {key}, or ask from another network" if key else "Ask from another network"
    if _TOO_MANY in statuses:
        return f"Ask again later; {key} raises the limit" if key else "Ask again later"
    if max(statuses, default=0) >= _DOWN:
        return "It is down: ask again later"
    return _CHANGED
