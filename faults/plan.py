"""What goes wrong, how often, and for whom: a plan that a `FaultyServer` follows to the letter, every run alike.

Which request fails is drawn from the seed, the source, the endpoint and the request's number there, so parallel sources
do not disturb each other's fate. `breakage` holds how each kind of fault is done.
"""

import random
from collections import Counter, deque
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal[
    "status",
    "reset",
    "truncate",
    "cut_body",
    "cut_gzip",
    "html",
    "esearch_error",
    "hang",
    "drip",
    "many_headers",
    "huge_body",
    "stall",
    "gzip_bomb",
    "stacked_encoding",
    "br",
    "zstd",
    "redirect",
]
"""
status: an error status, with or without Retry-After; reset: the connection is reset before any answer; truncate: the
body ends before its Content-Length; cut_body: JSON or XML ends midway, lengths agree; cut_gzip: the same within gzip;
html: a web page with status 200; esearch_error: ESearch's own error body with 200, other endpoints are spared; hang:
silence; drip: a byte a second; many_headers: 20,000 of them; huge_body: 1 GB of blanks; stall: the
same, but it stops after 31 MB and hangs; gzip_bomb: 1 MB that unpacks to
1 GB; stacked_encoding: gzip within gzip; br: a Brotli body that nobody asked for; zstd: 32 kB that unpack to 1 GB;
redirect: to another address.
"""
KINDS: tuple[Kind, ...] = get_args(Kind)
RetryAfter = Literal["seconds", "date", "huge", "negative", "junk"]
DeadBy = Literal["reset", "status", "hang", "html"]

_WINDOW_S = 1.0  # limits are requests a second


class Fault(BaseModel):
    """One kind of fault and whom it hits."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    source: str = "*"
    """Glob of the sources it hits, such as `pubmed`."""
    endpoint: str = "*"
    """Glob of the paths below the source, such as `esearch.fcgi` or `molecule*`."""
    rate: float = Field(default=1.0, ge=0, le=1)
    """Share of the requests; faults of one request exclude each other, so the rates of a plan add up."""
    times: int | None = Field(default=None, ge=0)
    """At most this often; None for no end."""
    status: int = Field(default=503, ge=400, le=599)
    retry_after: RetryAfter | None = None
    """Form of the Retry-After header beside the status; None sends none. Huge is 1e9, negative -5, junk no number."""
    retry_after_s: float = Field(default=1.0, ge=0)
    """Seconds that the forms `seconds` and `date` ask for; a date is rounded up to whole seconds."""
    to: str = "http://169.254.169.254/latest/meta-data/"
    """Where a redirect leads; by default where clouds keep their machines' secrets."""
    drip_s: float = Field(default=1.0, gt=0)
    """Seconds between two bytes."""
    hang_s: float = Field(default=3600.0, gt=0)
    """Seconds of silence before the connection ends."""
    stalls_after: int = Field(default=31 << 20, gt=0)
    """Bytes that come before a body stalls: nearly as much as Willowbark takes of one reply."""
    huge_bytes: int = Field(default=1 << 30, gt=0)
    """Size of a huge or stalling body, and of what a bomb unpacks to; for bombs in whole megabytes."""
    headers: int = Field(default=20_000, ge=1)

    def scaled(self, factor: float) -> "Fault":
        """The same fault with every time multiplied."""
        times = {name: getattr(self, name) * factor for name in ("retry_after_s", "drip_s", "hang_s")}
        return self.model_copy(update=times)

    def hits(self, source: str, endpoint: str) -> bool:
        """Whether a request is of those it is meant for."""
        if self.kind == "esearch_error" and (source, endpoint) != ("pubmed", "esearch.fcgi"):
            return False
        return fnmatchcase(source, self.source) and fnmatchcase(endpoint, self.endpoint)


class FaultPlan(BaseModel):
    """Everything that goes wrong in a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 0
    faults: tuple[Fault, ...] = ()
    dead: Mapping[str, DeadBy] = Field(default_factory=dict)
    """Sources that are down all run, and how."""
    limits: Mapping[str, float] = Field(default_factory=dict)
    """Requests a second by source; what comes above it is answered 429 and counted."""
    window_s: float = Field(default=_WINDOW_S, gt=0)
    """Length of the sliding window in which a limit of N lets through N times this many requests."""

    @classmethod
    def rough(cls, seed: int = 0) -> "FaultPlan":
        """A bad day: 42 % of all requests fail in ways that clients notice."""
        return cls(
            seed=seed,
            faults=(
                Fault(kind="status", status=500, rate=0.20),
                Fault(kind="status", status=429, rate=0.10),
                Fault(kind="reset", rate=0.05),
                Fault(kind="truncate", rate=0.05),
                Fault(kind="hang", rate=0.02),
            ),
        )

    @classmethod
    def treacherous(cls, seed: int = 0) -> "FaultPlan":
        """A bad day with replies that look whole and are not: 50 % of all requests, 51 % of PubMed's searches."""
        silent = (
            Fault(kind="cut_body", rate=0.02),
            Fault(kind="cut_gzip", rate=0.01),
            Fault(kind="html", rate=0.03),
            Fault(kind="esearch_error", rate=0.02),
        )
        return cls(seed=seed, faults=(*cls.rough().faults, *silent))

    def scaled(self, factor: float) -> "FaultPlan":
        """The same plan with every time multiplied, the windows of limits included: suites run compressed."""
        return self.model_copy(
            update={
                "faults": tuple(fault.scaled(factor) for fault in self.faults),
                "limits": {source: limit / factor for source, limit in self.limits.items()},
                "window_s": self.window_s * factor,
            }
        )


class FaultRun:
    """A plan at work: how far each source has come.

    Attributes:
        refused: requests above the limit, by source.
    """

    def __init__(self, plan: FaultPlan) -> None:
        self.plan = plan
        self.refused: Counter[str] = Counter()
        self._asked: Counter[tuple[str, str]] = Counter()
        self._used: Counter[int] = Counter()
        self._moments: dict[str, deque[float]] = {}

    def next(self, source: str, endpoint: str, now: float) -> Fault | None:
        """Decide what happens to a request that arrives now (monotonic seconds); None for nothing."""
        if source in self.plan.dead:
            return Fault(kind=self.plan.dead[source])
        if self._over_limit(source, now):
            self.refused[source] += 1
            return Fault(kind="status", status=429)
        return self._drawn(source, endpoint)

    def _over_limit(self, source: str, now: float) -> bool:
        """Whether the window is full; requests that were refused do not fill it."""
        limit = self.plan.limits.get(source)
        if limit is None:
            return False
        moments = self._moments.setdefault(source, deque())
        while moments and now - moments[0] >= self.plan.window_s:
            moments.popleft()
        if len(moments) + 1 > limit * self.plan.window_s + 1e-9:  # 3 a second scaled and back is not quite 3
            return True
        moments.append(now)
        return False

    def _drawn(self, source: str, endpoint: str) -> Fault | None:
        number = self._asked[source, endpoint]
        self._asked[source, endpoint] += 1
        draw = random.Random(f"{self.plan.seed}/{source}/{endpoint}/{number}").random()
        for place, fault in enumerate(self.plan.faults):
            if fault.hits(source, endpoint):
                if draw < fault.rate and (fault.times is None or self._used[place] < fault.times):
                    self._used[place] += 1
                    return fault
                draw -= fault.rate if draw >= fault.rate else 0.0
        return None
