"""F15: ClinicalTrials.gov behind a firewall that refuses by headers, by greeting, or everybody.

The firewall learns the prints by which it knows a library from the libraries themselves: their releases change them.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import get_args

from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.opening import open_wire
from willowbark.tools.http.reply import HEADERS, Request
from willowbark.tools.records.card import WireName

from .firewall import Firewall, Print
from .running import QUESTIONS, RunResult, run
from .server import SourceServer
from .verdict import Figure, Row, exactly

SOURCE = "clinicaltrials"
WIRES: tuple[WireName, ...] = get_args(WireName)
WAY_OUT = (
    "Not available: clinicaltrials: refused (403) over requests, httpx and the standard library; "
    "a download from clinicaltrials.gov (JSON or CSV) can be given as a file"
)
"""What a user reads where every library is refused."""
_PATIENCE_S = 20.0
_ASKED = 20  # requests that a source which refuses everything may get in a run


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    refused: tuple[WireName, ...]
    by: Callable[[Print], str]
    with_tls: bool


def by_headers(shown: Print) -> str:
    return shown.headers


def by_greeting(shown: Print) -> str:
    return shown.greeting


_CASES = (
    _Case("requests refused by its headers", WIRES[:1], by_headers, with_tls=False),
    _Case("requests and httpx refused by their headers", WIRES[:2], by_headers, with_tls=False),
    _Case("requests refused by its greeting", WIRES[:1], by_greeting, with_tls=True),
    _Case("requests and httpx refused by their greetings", WIRES[:2], by_greeting, with_tls=True),
    _Case("all refused by their headers", WIRES, by_headers, with_tls=False),
    _Case("all refused by their greetings", WIRES, by_greeting, with_tls=True),
)


def refused(runs: int, seed: int) -> Row:
    """F15: what one library is refused another fetches; where all are, the user reads so, and what to do."""
    before = time.perf_counter()
    cases = _CASES * max(1, round(runs / len(_CASES)))
    notes = list[str]()
    reads = list[str]()
    most_asked = 0
    distinct = len(WIRES)
    with SourceServer() as server:
        endpoints = Endpoints.at(server.url)
        usual = asyncio.run(run(QUESTIONS[0], endpoints, factor=1.0))
        for case in cases:
            with Firewall(with_tls=case.with_tls) as firewall:
                prints = asyncio.run(learn_prints(firewall))
                distinct = min(distinct, len({case.by(shown) for shown in prints.values()}))
                firewall.refused = [case.by(prints[name]) for name in case.refused]
                firewall.visits.clear()
                result = asyncio.run(run(QUESTIONS[0], behind(firewall, endpoints), factor=1.0))
                agents = {visit.agent for visit in firewall.visits}
                most_asked = max(most_asked, len(firewall.visits))
            problems = _check_refusal(result) if case.refused == WIRES else _check_passage(result, usual)
            if agents != {HEADERS["User-Agent"]}:
                problems.append(f"requests came as {sorted(agents)}")
            notes += [f"{case.name}: {problem}" for problem in problems]
            reads += [line for line in result.limitations if line.startswith(WAY_OUT)]
    figures = [
        exactly("libraries that each firewall tells apart", distinct, len(WIRES)),
        exactly("things told wrong or left untold", len(notes), 0),
        Figure("most requests in a run", most_asked, at_most=_ASKED),
    ]
    what = "a firewall before ClinicalTrials.gov: by headers, by greeting, everybody"
    return Row("F15", len(cases), what, seed, time.perf_counter() - before, figures, notes, list(dict.fromkeys(reads)))


async def learn_prints(firewall: Firewall) -> Mapping[WireName, Print]:
    """Show every library's print to a firewall that refuses nobody yet."""
    prints = dict[WireName, Print]()
    for name in WIRES:
        wire = open_wire(name)
        await wire.send(Request(SOURCE, "GET", f"{firewall.url}/{SOURCE}/studies"), _PATIENCE_S)
        await wire.close()
        prints[name] = firewall.visits[-1].print
    return prints


def behind(firewall: Firewall, endpoints: Endpoints) -> Endpoints:
    """Put the source behind a firewall; the others stay where they are."""
    moved = endpoints[SOURCE].model_copy(update={"base_url": f"{firewall.url}/{SOURCE}"})
    return endpoints.model_copy(update={"by_source": {**endpoints.by_source, SOURCE: moved}})


def _check_passage(result: RunResult, usual: RunResult) -> list[str]:
    """Return what a user reads otherwise than on a day without a firewall."""
    if result.failure:
        return [f"no report: {result.failure}"]
    problems = []
    if result.named(SOURCE):
        problems.append("it is named as not available")
    if result.searches != usual.searches:
        problems.append("its searches gave something else")
    if result.references != usual.references:
        problems.append("the report cites something else")
    return problems


def _check_refusal(result: RunResult) -> list[str]:
    """Return what a user is not told where nothing passes."""
    if result.failure:
        return [f"no report: {result.failure}"]
    problems = []
    if not any(line.startswith(WAY_OUT) for line in result.limitations):
        problems.append(f"the way out is not told among {list(result.limitations)}")
    statuses = {search.status for search in result.searches if search.source == SOURCE}
    if statuses != {"unavailable"}:
        problems.append(f"the search log says {sorted(statuses)}")
    if SOURCE in result.answered:
        problems.append("it is listed as searched")
    if "registered trials were not read, as ClinicalTrials.gov did not answer" not in result.summary:
        problems.append(f"the summary says {result.summary!r}")
    return problems
