"""Addresses, rate limits and keys of the sources.

`NCBI_EMAIL` is the contact address sent to NCBI and Crossref; each source's card names the variable of its key. A key
or a contact address raises the limits as the card states.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr

from ..errors import UsageError
from ..registry import cards, offered
from ..sources.card import SourceCard

LIMIT_SHARE = 0.8
"""Fraction of a published limit that we use: requests bunch up in transit, and others may share the address."""


class Endpoint(BaseModel, frozen=True, extra="forbid"):
    base_url: str
    """Base URL, without a trailing slash."""
    per_second: float | None = Field(default=None, gt=0)
    """Published limit in requests per second; None where the server sets none."""
    per_day: int | None = Field(default=None, gt=0)
    """Published limit in requests per day; None where there is none."""
    key: SecretStr | None = None
    """API key, never shown in a URL; optional, but the limit is lower without it."""
    key_in: Literal["body", "parameter", "header"] = "body"
    """Where the key goes: `api_key` in the body, a query parameter added only when sending, or a header."""
    key_header: str = "x-api-key"

    @classmethod
    def public(cls, card: SourceCard, environ: Mapping[str, str]) -> "Endpoint":
        key = environ.get(card.key, "").strip() if card.key else ""
        email = environ.get("NCBI_EMAIL", "").strip()
        with_key, with_email = key and card.per_second_with_key, email and card.per_second_with_email
        return cls(
            base_url=card.address,
            per_second=with_key or with_email or card.per_second,
            per_day=card.per_day_with_key if key else card.per_day,
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
    """A `search.Library` that answers in place of the sources, without network; None queries the sources."""

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
            if not self.may_search(source):
                raise UsageError(
                    f"tools.sources: {source} is not searched without a key: set {cards()[source].key} in the "
                    f"environment, or leave it out; without one there are {', '.join(offered())}"
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
    def at(cls, url: str, *, live_like: bool = False) -> "Endpoints":
        """Point all sources at one replacement server, each under its own path: `http://127.0.0.1:8000/pubmed`.

        Args:
            url: address of the server; a UsageError refuses what is none.
            live_like: apply each public source's rate limit without a key.
        """
        root = url.rstrip("/")
        if not re.fullmatch(r"https?://[^/\s\[\]]+|https?://\[[0-9a-f:]+\](:\d+)?", root):
            raise UsageError(f"{url!r} is not the address of a server, such as http://127.0.0.1:8000")
        return cls(
            by_source={
                name: Endpoint(base_url=f"{root}/{name}", per_second=card.per_second if live_like else None)
                for name, card in cards().items()
            },
            is_public=False,
        )


def _list_public(environ: Mapping[str, str]) -> dict[str, Endpoint]:
    return {name: Endpoint.public(card, environ) for name, card in cards().items()}
