"""Where each source answers, how often it may be asked, and with which key.

The one place in the tools that reads the environment:

* `WILLOWBARK_SANDBOX_URL` sends every source to a sandbox server (`http://127.0.0.1:PORT`);
* `NCBI_API_KEY` raises PubMed's limit from 3 to 10 requests a second; `NCBI_EMAIL` tells NCBI and Crossref whom to
  write to, which raises Crossref's limit from 1 to 3;
* `OPENALEX_API_KEY` turns OpenAlex on, which answers next to nothing without one.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from ..errors import UsageError

LIMIT_SHARE = 0.8
"""Share of a published limit that is used: requests bunch up on their way, and others may share the address."""


class Endpoint(BaseModel):
    """One source's address and limits."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    """Ends without a slash."""
    per_second: float | None = Field(default=None, gt=0)
    """Published limit in requests a second; None where the server sets none (a sandbox)."""
    wire: Literal["httpx", "requests"] = "httpx"
    """The HTTP client to use; ClinicalTrials.gov's firewall is reported to refuse httpx's TLS fingerprint."""
    key: SecretStr | None = None
    """Never sent in a URL; None works, with a lower limit."""
    key_in: Literal["body", "header"] = "body"
    """Where the key is sent: as `api_key` in the body of a request, or as a bearer in its `Authorization` header."""

    @property
    def host(self) -> str:
        """Host and port, lower case."""
        return urlsplit(self.base_url).netloc.lower()


PUBLIC: Mapping[str, Endpoint] = {
    # https://www.ncbi.nlm.nih.gov/books/NBK25497/ : 3 requests a second, 10 with a key
    "pubmed": Endpoint(base_url="https://eutils.ncbi.nlm.nih.gov/entrez/eutils", per_second=3),
    # https://clinicaltrials.gov/data-api/api : none published; robots.txt asks for one a second
    "clinicaltrials": Endpoint(base_url="https://clinicaltrials.gov/api/v2", per_second=1.25, wire="requests"),
    # https://europepmc.org/RestfulWebService : none published
    "europepmc": Endpoint(base_url="https://www.ebi.ac.uk/europepmc/webservices/rest", per_second=8),
    # https://chembl.gitbook.io/chembl-interface-documentation/web-services : none published
    "chembl": Endpoint(base_url="https://www.ebi.ac.uk/chembl/api/data", per_second=5),
    # https://platform-docs.opentargets.org/data-access/graphql-api : none published
    "opentargets": Endpoint(base_url="https://api.platform.opentargets.org/api/v4", per_second=4),
}
"""The sources that are searched."""
LOOKUPS: Mapping[str, Endpoint] = {
    # https://doi.org/10.64000/wadve-3tj60 : lists of works 1 a second, 3 with an e-mail address
    "crossref": Endpoint(base_url="https://api.crossref.org", per_second=1),
    # https://api.biorxiv.org : none published
    "biorxiv": Endpoint(base_url="https://api.biorxiv.org", per_second=1),
}
"""The sources that are only asked about records at hand: were they retracted, were they published?"""
# https://developers.openalex.org/guides/authentication : paid by the day, single works are free. The key in a header
# is what OpenAlex's support says it takes beside the parameter that its guide names.
OPENALEX = Endpoint(base_url="https://api.openalex.org", per_second=8, key_in="header")
KEYED: Mapping[str, str] = {"openalex": "OPENALEX_API_KEY"}
"""Sources that can be searched with a key alone, and the variable that holds it."""
KEYED_PER_SECOND = {"pubmed": 10.0}  # requests a second with NCBI_API_KEY
POLITE_PER_SECOND = {"crossref": 3.0}  # requests a second with NCBI_EMAIL


class Endpoints(BaseModel):
    """The addresses of all sources; the hosts named here are the only ones that tools talk to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    by_source: dict[str, Endpoint] = Field(default_factory=lambda: {**PUBLIC, **LOOKUPS})
    email: str | None = None
    """Contact that NCBI and Crossref ask for; None sends none."""
    sandboxed: bool = False
    """Whether the sources are a sandbox's: reports say so."""

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
            if source not in self.by_source and source in KEYED:
                raise UsageError(
                    f"tools.sources: {source} is not searched without a key: set {KEYED[source]} in the environment, "
                    f"or leave it out; without one there are {', '.join(PUBLIC)}"
                )

    @property
    def hosts(self) -> frozenset[str]:
        """Host and port of every endpoint."""
        return frozenset(endpoint.host for endpoint in self.by_source.values())

    @classmethod
    def public(cls, environ: Mapping[str, str] = os.environ) -> "Endpoints":
        """The public sources, with the keys that the environment holds."""
        found = {**PUBLIC, **LOOKUPS}
        email = environ.get("NCBI_EMAIL", "").strip() or None
        if key := environ.get("NCBI_API_KEY", "").strip():
            found["pubmed"] = found["pubmed"].model_copy(
                update={"key": SecretStr(key), "per_second": KEYED_PER_SECOND["pubmed"]}
            )
        if key := environ.get("OPENALEX_API_KEY", "").strip():
            found["openalex"] = OPENALEX.model_copy(update={"key": SecretStr(key)})
        if email:
            found["crossref"] = found["crossref"].model_copy(update={"per_second": POLITE_PER_SECOND["crossref"]})
        return cls(by_source=found, email=email)

    @classmethod
    def sandbox(cls, url: str) -> "Endpoints":
        """All sources on one sandbox server, each below a folder of its name: `http://127.0.0.1:8000/pubmed`.

        Raises:
            UsageError: `url` is not an http(s) address.
        """
        root = url.rstrip("/")
        if not re.fullmatch(r"https?://[^/\s\[\]]+|https?://\[[0-9a-f:]+\](:\d+)?", root):
            raise UsageError(f"WILLOWBARK_SANDBOX_URL is {url!r}; give an address such as http://127.0.0.1:8000")
        every = {**PUBLIC, **LOOKUPS, "openalex": OPENALEX}
        return cls(
            by_source={name: Endpoint(base_url=f"{root}/{name}", wire=public.wire) for name, public in every.items()},
            sandboxed=True,
        )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Endpoints":
        """A sandbox when `WILLOWBARK_SANDBOX_URL` is set, the public sources otherwise."""
        url = environ.get("WILLOWBARK_SANDBOX_URL", "").strip()
        return cls.sandbox(url) if url else cls.public(environ)
