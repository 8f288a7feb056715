"""F0: what the way out costs on a day without faults, against bare clients sending the same requests."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from willowbark.tools.handler import SearchHandler
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.recent import RecentReplies
from willowbark.tools.http.transport import ExchangeLog, Transport
from willowbark.tools.records.registry import list_offered, web_engines
from willowbark.tools.search import source_class

from .running import QUESTIONS, run
from .server import SeenRequest, SourceServer
from .verdict import Figure, Row, exactly, percentile

_QUERIES = ("migraine", "smoking cessation", "diabetic nephropathy", "portal hypertension")
_RESULTS = 5
_ADDED_S = 0.05
_AMISS = ("Not available:", "Not understood:")


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request as the server saw it, without its body."""

    source: str
    address: str


class _Bare:
    """The same client with nothing around it."""

    def __init__(self) -> None:
        self._httpx = httpx.AsyncClient(trust_env=False)

    async def send_all(self, sent: Sequence[_Sent]) -> float:
        """Send one source's requests after one another, sources side by side; seconds until the last answer."""
        chains: dict[str, list[str]] = {}
        for request in sent:
            chains.setdefault(request.source, []).append(request.address)
        before = time.perf_counter()
        await asyncio.gather(*map(self._chain, chains.values()))
        return time.perf_counter() - before

    async def _chain(self, addresses: Sequence[str]) -> None:
        for address in addresses:
            await self._httpx.get(address)

    async def close(self) -> None:
        await self._httpx.aclose()


def _asked() -> list[str]:
    """Name the sources: no web engine, whose pages name what no source has, faults or none."""
    return [name for name in list_offered() if name not in web_engines()]


def quiet_day(runs: int, seed: int) -> Row:
    """F0: all sources answer, nothing is asked twice, little time is added."""
    before = time.perf_counter()
    with SourceServer() as server:
        figures = asyncio.run(_measure(server, runs))
        result = asyncio.run(run(QUESTIONS[0], Endpoints.at(server.url), factor=1.0))
    amiss = [line for line in result.limitations if line.startswith(_AMISS)]
    figures.append(exactly("lines of a report that name anything as lost", len(amiss), 0))
    took = time.perf_counter() - before
    return Row("F0", runs, "searches without faults", seed, took, figures, amiss, [result.summary])


async def _measure(server: SourceServer, runs: int) -> list[Figure]:
    endpoints = Endpoints.at(server.url)
    log, bare = ExchangeLog(), _Bare()
    whole, added = 0, list[float]()
    never: RecentReplies[Any] = RecentReplies(fresh_s=-1.0)  # repeated searches are to be sent here
    async with Transport(endpoints, recorder=log, recent=never) as transport:
        handler = SearchHandler([source_class(name)(transport) for name in _asked()])
        sent = {query: await _requests_of(server, handler, query) for query in _QUERIES}
        await bare.send_all(sent[_QUERIES[0]])  # connections open, as the handler's are
        log.exchanges.clear()
        for number in range(runs):
            query = _QUERIES[number % len(_QUERIES)]
            least = await bare.send_all(sent[query])
            started = time.perf_counter()
            found = await handler.execute(query, _RESULTS)
            added.append(time.perf_counter() - started - least)
            whole += len(found.sources_searched) == len(_asked()) and not found.errors
    await bare.close()
    calls = sum(exchange.attempt == 1 for exchange in log.exchanges)
    return [
        exactly("searches with all sources", whole, runs),
        exactly("requests for each needed one", len(log.exchanges) / max(1, calls), 1.0),
        Figure("added p99, ms", percentile(added, 0.99) * 1000, at_most=_ADDED_S * 1000, timed=True),
        Figure("added median, ms", percentile(added, 0.5) * 1000, at_most=_ADDED_S * 1000, timed=True),
    ]


async def _requests_of(server: SourceServer, handler: SearchHandler, query: str) -> list[_Sent]:
    start = len(server.requests)
    await handler.execute(query, _RESULTS)
    return [_sent(server.url, seen) for seen in server.requests[start:]]


def _sent(url: str, seen: SeenRequest) -> _Sent:
    address = f"{url}/{seen.source}/{seen.path}"
    return _Sent(seen.source, f"{address}?{seen.query}" if seen.query else address)
