"""F5: servers that ask for patience, in every form of Retry-After."""

import asyncio
import time
from dataclasses import dataclass

from willowbark.tools.errors import SearchError
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.transport import Transport

from .breakage import FaultyServer
from .plan import Fault, FaultPlan, RetryAfter
from .server import SourceServer
from .verdict import Figure, Row, exactly

_ASKED_S = 2.0
_DATE_ROUNDS_UP_S = 1.0  # a date knows whole seconds only
_TOLERANCE_S = 1.0
_SIDE_BY_SIDE = 6


@dataclass(frozen=True, slots=True)
class _Case:
    form: RetryAfter
    asked_s: float
    least_s: float
    most_s: float
    answered: bool = True
    """Whether an answer is due after the wait; else the deadline is nearer."""


_POLICY = RetryPolicy(deadline_s=10.0, first_wait_s=0.2, longest_wait_s=1.0)
_CASES = (
    _Case("seconds", _ASKED_S, _ASKED_S, _ASKED_S + _TOLERANCE_S),
    _Case("date", _ASKED_S, _ASKED_S - 0.1, _ASKED_S + _DATE_ROUNDS_UP_S + _TOLERANCE_S),
    _Case("huge", 0, 0, _TOLERANCE_S),  # 1e9 s is nonsense: the usual short wait
    _Case("negative", 0, 0, _TOLERANCE_S),
    _Case("junk", 0, 0, _TOLERANCE_S),
    _Case("seconds", 60, 0, _TOLERANCE_S, answered=False),  # past the deadline: told at once
)


_ASKS = ("(429)", "(503)")
"""How a user reads that a source asks to wait, or is not available."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    waited_s: float
    requests: int
    answered: bool
    crash: str | None
    reason: str = ""
    """What a user reads where no answer came."""


def asked_to_wait(runs: int, seed: int) -> Row:
    """F5: waits are as asked for, nonsense is passed over, nothing crashes."""
    before = time.perf_counter()
    short, late, crashes, unanswered, worst = 0, 0, list[str](), 0, 0.0
    each = max(1, round(runs / len(_CASES)))
    reasons = list[str]()
    for case, outcomes in zip(_CASES, asyncio.run(_all(each, seed)), strict=True):
        for outcome in outcomes:
            over = outcome.waited_s - case.most_s
            worst, late, short = max(worst, over), late + (over > 0), short + (outcome.waited_s < case.least_s)
            unanswered += outcome.answered != case.answered
            reasons += [outcome.reason] if outcome.reason else []
            if outcome.crash:
                crashes.append(f"{case.form}: {outcome.crash}")
    figures = [
        exactly("waits that were cut short", short, 0),
        exactly("waits more than 1 s longer than asked", late, 0, timed=True),
        Figure("worst, s beyond that", worst, at_most=0, timed=True),
        exactly("answers that should or should not have come", unanswered, 0),
        exactly("crashes", len(crashes), 0),
    ]
    reads = dict.fromkeys(reasons)
    figures.append(
        exactly(
            "refusals that do not say what the source asks for",
            sum(not [each for each in _ASKS if each in line] for line in reads),
            0,
        )
    )
    what = "429 and 503 with Retry-After: seconds, date, 1e9, negative, junk, past the deadline"
    return Row("F5", each * len(_CASES), what, seed, time.perf_counter() - before, figures, crashes, list(reads))


async def _all(each: int, seed: int) -> list[list[_Outcome]]:
    return await asyncio.gather(*(_outcomes(case, each, seed) for case in _CASES))


async def _outcomes(case: _Case, number: int, seed: int) -> list[_Outcome]:
    found: list[_Outcome] = []
    while len(found) < number:
        batch = min(_SIDE_BY_SIDE, number - len(found))
        found += await asyncio.gather(*(_once(case, status) for status in _statuses(batch, seed)))
    return found


def _statuses(number: int, seed: int) -> list[int]:
    return [(429, 503)[(seed + place) % 2] for place in range(number)]


async def _once(case: _Case, status: int) -> _Outcome:
    fault = Fault(kind="status", status=status, retry_after=case.form, retry_after_s=case.asked_s, times=1)
    async with (
        FaultyServer(FaultPlan(faults=(fault,))) as server,
        Transport(Endpoints.at(server.url), policy=_POLICY) as transport,
    ):
        return await _timed(transport, server)


_QUERY = {"query": "migraine", "format": "json", "resultType": "core"}


async def _timed(transport: Transport, server: SourceServer) -> _Outcome:
    start, before, answered, crash = len(server.requests), time.monotonic(), False, None
    reason = ""
    try:
        await transport.get("europepmc", "search", read=Reply.json, params=_QUERY)
        answered = True
    except SearchError as error:
        reason = error.reason
    except Exception as error:  # noqa: BLE001  any other exception is what must not happen
        crash = f"{type(error).__name__}: {error}"
    return _Outcome(time.monotonic() - before, len(server.requests) - start, answered, crash, reason)
