"""Where each source answers, how often it may be asked, and with which key.

`NCBI_EMAIL` tells NCBI and Crossref whom to write to; the sources' cards name the variables of their keys. Keys and
address raise the limits that the cards say they raise.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, runtime_checkable
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr

from ..errors import UsageError
from ..registry import cards, offered
from ..sources.card import SourceCard
from .wire import Greeting

LIMIT_SHARE = 0.8
"""Share of a published limit that is used: requests bunch up on their way, and others may share the address."""


@runtime_checkable
class LocalLibrary(Protocol):
    """Records that answer in the sources' place; `search.Library` says what it answers to searches."""

    path: str
    """`bundled`, or its folder."""

    @property
    def digest(self) -> str:
        """Of its files."""

    @property
    def summary(self) -> str:
        """What it is and holds, for reports, in one line."""

    def work(self, source: str, doi: str) -> dict[str, Any] | None:
        """Give what a source says of a work, as the source writes it; None where the library does not hold that."""

    def full_text(self, pmcid: str) -> str:
        """Give the JATS XML of an article; raises `SourceRefused` where it holds none."""


class Endpoint(BaseModel, frozen=True, extra="forbid"):
    """One source's address and limits."""

    base_url: str
    """Ends without a slash."""
    per_second: float | None = Field(default=None, gt=0)
    """Published limit in requests a second; None where the server sets none."""
    per_day: int | None = Field(default=None, gt=0)
    """Published limit in requests a day; None where there is none."""
    wire: Greeting = "httpx"
    """Whose TLS greeting it gets; ClinicalTrials.gov's firewall is reported to refuse httpx's."""
    key: SecretStr | None = None
    """Shown in no URL; None works, with a lower limit."""
    key_in: Literal["body", "parameter", "header"] = "body"
    """Where the key is sent: as `api_key` in the body of a request or as a parameter that only the wire adds, or as a
    header."""
    key_header: str = "x-api-key"
    """Name of that header."""
    limited_as: str | None = None
    """What shares its limit with others of that name; None shares it with its host."""

    @classmethod
    def public(cls, card: SourceCard, environ: Mapping[str, str]) -> "Endpoint":
        """A public source, with the key and at the limit that the environment gives it."""
        key = environ.get(card.key, "").strip() if card.key else ""
        email = environ.get("NCBI_EMAIL", "").strip()
        with_key, with_email = key and card.per_second_with_key, email and card.per_second_with_email
        return cls(
            base_url=card.address,
            per_second=with_key or with_email or card.per_second,
            per_day=card.per_day_with_key if key else card.per_day,
            wire=card.wire,
            key=SecretStr(key) if key else None,
            key_in=card.key_in,
            key_header=card.key_header,
        )

    @property
    def host(self) -> str:
        """Host and port, lower case."""
        return urlsplit(self.base_url).netloc.lower()


class Endpoints(BaseModel, frozen=True, extra="forbid", arbitrary_types_allowed=True):
    """The addresses of all sources; the hosts named here are the only ones that tools talk to."""

    by_source: dict[str, Endpoint] = Field(default_factory=lambda: _public({}))
    email: str | None = None
    """Contact that NCBI and Crossref ask for; None sends none."""
    is_public: bool = True
    """Whether these are the sources themselves; not so where another server or a library answers in their place."""
    library: LocalLibrary | None = Field(default=None, repr=False)
    """Answers in the sources' place, and nothing is sent; None asks the sources."""

    def model_post_init(self, _: Any) -> None:
        """With a library, these are not the sources themselves."""
        if self.library is not None:
            object.__setattr__(self, "is_public", False)

    def __getitem__(self, source: str) -> Endpoint:
        """Give a source's endpoint.

        Raises:
            UsageError: no such source is set up.
        """
        if source not in self.by_source:
            raise UsageError(f"no source named {source!r}; there are {', '.join(sorted(self.by_source))}")
        return self.by_source[source]

    def require(self, sources: Iterable[str]) -> None:
        """Make sure that sources which are to be searched are set up.

        Raises:
            UsageError: one of them needs a key that is not there; one line, with the way out.
        """
        for source in sources:
            if not self.may_search(source):
                raise UsageError(
                    f"tools.sources: {source} is not searched without a key: set {cards()[source].key} in the "
                    f"environment, or leave it out; without one there are {', '.join(offered())}"
                )

    def may_search(self, source: str) -> bool:
        """Whether a source can be searched: it needs no key, has one, or another answers in its place."""
        card = cards().get(source)
        return card is None or not card.needs_key or not self.is_public or self[source].key is not None

    @property
    def hosts(self) -> frozenset[str]:
        """Host and port of every endpoint."""
        return frozenset(endpoint.host for endpoint in self.by_source.values())

    @classmethod
    def public(cls, environ: Mapping[str, str] = os.environ) -> "Endpoints":
        """The public sources, with the keys that the environment holds."""
        return cls(by_source=_public(environ), email=environ.get("NCBI_EMAIL", "").strip() or None)

    @classmethod
    def at(cls, url: str, *, live_like: bool = False) -> "Endpoints":
        """All sources on one server in their place, each below a folder of its name: `http://127.0.0.1:8000/pubmed`.

        Args:
            url: of the server.
            live_like: ask each source no more often than its public one may be asked without a key.

        Raises:
            UsageError: `url` is not an http(s) address.
        """
        root = url.rstrip("/")
        if not re.fullmatch(r"https?://[^/\s\[\]]+|https?://\[[0-9a-f:]+\](:\d+)?", root):
            raise UsageError(f"{url!r} is no address of a server, such as http://127.0.0.1:8000")
        return cls(
            by_source={
                name: Endpoint(
                    base_url=f"{root}/{name}",
                    wire=card.wire,
                    per_second=card.per_second if live_like else None,
                    limited_as=f"{root}/{name}",
                )
                for name, card in cards().items()
            },
            is_public=False,
        )


def _public(environ: Mapping[str, str]) -> dict[str, Endpoint]:
    return {name: Endpoint.public(card, environ) for name, card in cards().items()}
