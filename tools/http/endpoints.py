"""Addresses, keys and rate limits of the sources, and the limiter that keeps to them.

`NCBI_EMAIL` is the contact address sent to NCBI and Crossref; each source's card names the variable of its key. A key
or a contact address raises the limits as the card states.
"""

import asyncio
import os
import re
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import BaseModel, Field, SecretStr

from ..errors import UsageError
from ..installation import advise_extra
from ..records.card import SourceCard
from ..records.registry import cards, has_package, list_offered

LIMIT_SHARE = 0.8
"""Fraction of a published limit that we use: requests bunch up in transit, and others may share the address."""
_BUSY_TIMEOUT_S = 2.0  # other processes lock the file for well under a millisecond
_LATE_S = 0.2  # later starts would crowd the next ones: 1.2 s of starts at 80 % of a limit still stay within it
_LATE_STARTS = 5  # consecutive late starts of one request; then it starts anyway, as the event loop is too busy
_FAR_AHEAD_S = 600.0  # a start so far ahead was written with a different clock, and is not waited for
_SCHEMA = "CREATE TABLE IF NOT EXISTS limits (name TEXT PRIMARY KEY, number REAL NOT NULL)"
_RESERVE = """
INSERT INTO limits VALUES (:name, :now + :interval) ON CONFLICT (name) DO UPDATE
    SET number = :interval + iif(number > :now + :far, :now, max(:now, number)) RETURNING number - :interval
"""


class Endpoint(BaseModel, frozen=True, extra="forbid"):
    base_url: str
    """Base URL, without a trailing slash."""
    per_second: float | None = Field(default=None, gt=0)
    """Published limit in requests per second; None where the server sets none."""
    burst: int = Field(default=0, ge=0)
    """Requests that may go at once beyond the even pace, where the limit is counted by the minute."""
    key: SecretStr | None = None
    """API key, never shown in a URL; optional, but the limit is lower without it."""
    key_in: Literal["body", "parameter", "header"] = "body"
    """Where the key goes: `api_key` in the body, a query parameter added only when sending, or a header."""
    key_header: str = "x-api-key"

    @classmethod
    def public(cls, card: SourceCard, environ: Mapping[str, str]) -> "Endpoint":
        key = environ.get(card.key, "").strip() if card.key else ""
        email = environ.get("NCBI_EMAIL", "").strip()
        with_key = key and card.per_second_with_key
        with_email = email and card.per_second_with_email
        return cls(
            base_url=card.address,
            per_second=with_key or with_email or card.per_second,
            burst=card.burst,
            key=SecretStr(key) if key else None,
            key_in=card.key_in,
            key_header=card.key_header,
        )

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc.lower()


class Endpoints(BaseModel, frozen=True, extra="forbid"):
    """The addresses of all sources; the tools contact no other hosts."""

    by_source: dict[str, Endpoint] = Field(default_factory=lambda: _list_public({}))
    email: str | None = None
    """Contact address for NCBI and Crossref; None sends none."""
    is_public: bool = True
    """Whether these are the real sources; False where another server or a library replaces them."""
    library: Any = Field(default=None, repr=False)
    """A `search.LocalLibrary` that answers in place of the sources, without network; None queries the sources."""

    def model_post_init(self, _: Any) -> None:
        if self.library is not None:
            object.__setattr__(self, "is_public", False)

    def __getitem__(self, source: str) -> Endpoint:
        if source not in self.by_source:
            raise UsageError(f"no source named {source!r}; there are {', '.join(sorted(self.by_source))}")
        return self.by_source[source]

    def require(self, sources: Iterable[str]) -> None:
        """Raise a UsageError with the remedy, in one line, if a source needs a key that is not set."""
        for source in sources:
            if self.is_public and source in cards() and not has_package(cards()[source]):
                raise UsageError(
                    f"tools.sources: {source} is searched by the package {cards()[source].package}, which is not "
                    f"installed: {advise_extra('web')}, or leave it out"
                )
            if not self.may_search(source):
                raise UsageError(
                    f"tools.sources: {source} is not searched without a key: set {cards()[source].key} in the "
                    f"environment, or leave it out; without one there are {', '.join(list_offered())}"
                )

    def may_search(self, source: str) -> bool:
        """Whether a source can be searched: it needs no key, has one, or is replaced by another server or a library."""
        card = cards().get(source)
        return card is None or not card.needs_key or not self.is_public or self[source].key is not None

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset(endpoint.host for endpoint in self.by_source.values())

    @classmethod
    def public(cls, environ: Mapping[str, str] = os.environ) -> "Endpoints":
        """Build the endpoints of the public sources, with the keys from the environment."""
        return cls(by_source=_list_public(environ), email=environ.get("NCBI_EMAIL", "").strip() or None)

    @classmethod
    def at(cls, url: str) -> "Endpoints":
        """Point all sources at one replacement server, each under its own path: `http://127.0.0.1:8000/pubmed`."""
        root = url.rstrip("/")
        if not re.fullmatch(r"https?://[^/\s\[\]]+|https?://\[[0-9a-f:]+\](:\d+)?", root):
            raise UsageError(f"{url!r} is not the address of a server, such as http://127.0.0.1:8000")
        return cls(by_source={name: Endpoint(base_url=f"{root}/{name}") for name in cards()}, is_public=False)


def _list_public(environ: Mapping[str, str]) -> dict[str, Endpoint]:
    return {name: Endpoint.public(card, environ) for name, card in cards().items()}


def default_path() -> Path:
    """Return the path of the rate-limit file that a user's processes share."""
    return Path(platformdirs.user_cache_dir("willowbark")) / "limits.sqlite"


class RateLimiter:
    """Spaces out requests evenly, so that no one-second window exceeds the limit; where a burst is allowed, no minute.

    Args:
        path: SQLite file shared between processes; None, or one that cannot be written, keeps the limits in this object
            (`shared` is False).
        sleep: async function that waits a number of seconds.
    """

    def __init__(self, path: Path | None = None, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._path = path
        self._sleep = sleep
        self._database: sqlite3.Connection | None = None
        self.shared = path is not None

    async def wait(self, name: str, per_second: float, burst: int = 0) -> None:
        """Sleep until the next request to `name`, such as a host, may start; `burst` of them may run ahead of pace."""
        interval = 1.0 / per_second
        for _ in range(_LATE_STARTS):
            now = time.time()
            due = self._reserve({"name": name, "interval": interval, "now": now, "far": _FAR_AHEAD_S})
            start = max(now, due - burst * interval)
            if start > now:
                await self._sleep(start - now)
            if time.time() - start < _LATE_S:
                break

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _reserve(self, values: Mapping[str, object]) -> float:
        """Take the next start, atomically for all processes; returns it."""
        try:
            if self._database is None:
                where: Path | str = ":memory:"
                if self.shared and self._path is not None:
                    self._path.parent.mkdir(parents=True, exist_ok=True)
                    where = self._path
                self._database = sqlite3.connect(
                    where, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
                )
                self._database.execute("PRAGMA synchronous=OFF")  # losing a number costs one interval, nothing else
                self._database.execute(_SCHEMA)
            ((start,),) = self._database.execute(_RESERVE, values).fetchall()
            return float(start)
        except (sqlite3.Error, OSError):
            if not self.shared:
                raise
            self.shared = False
            self.close()
            return self._reserve(values)
