"""The card of a source: all its metadata in one place, the `CARD` in the file of its name below `tools/sources/`.

`records.registry` derives every table from the cards.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Literal

from pydantic import BaseModel, Field, model_validator

from .kinds import Kind

_SOURCES = Path(__file__).parent.parent / "sources"
OF_NO_SOURCE: Mapping[str, tuple[str, Kind]] = {
    "preprint": ("preprint servers", "publication"),
    "own_file": ("your own files", "publication"),
    "web": ("the web", "page"),
}
"""Names in records that have no file of their own: title and kind. `preprint` marks Europe PMC's preprints,
`own_file` records of a user's files that have no number of a source."""
ENTRIES: frozenset[Kind] = frozenset({"drug", "disease", "protein", "process", "approval", "label"})
"""Database entries, which have no authors and report no study."""
PAPERS: frozenset[Kind] = frozenset({"publication", "page"})
"""Kinds that may report a study, besides trial records."""
STUDIES = PAPERS | frozenset[Kind]({"trial"})
"""Kinds that are appraised."""
Dialect = Literal["boolean", "names", "identifiers"]
"""Form of a source's queries: boolean (with AND, OR, NOT and quotes), names of conditions and drugs one at a time, or
identifiers only."""
Use = Literal["searched", "on_demand", "web", "named", "looked_up"]
"""`searched` for every question; `on_demand`, a tool for single drugs, offered in every run; `web`, an engine, of which
the first whose key or package is there is searched for every question; `named`, searched only if listed in the
settings; `looked_up`, queried only about records already found."""


WireName = Literal["requests", "httpx", "the standard library"]
"""An HTTP library that carries requests."""


class SourceCard(BaseModel, frozen=True, extra="forbid"):
    """Name, address, limits and query form of a source."""

    name: str = Field(pattern=r"^[a-z]+$")
    """Name of its module, used by tools, endpoints and settings."""
    place: int = 1000
    """Order of search and of authority: when records are merged, the first source's text is kept."""
    title: str
    purpose: str
    """One sentence for the models that choose among tools."""
    address: str = Field(pattern=r"^https://[^\s?#]+[^/\s?#]$")
    documentation: str
    per_second: float = Field(gt=0)
    """Requests per second: the published limit, or a modest one if there is none."""
    burst: int = Field(default=0, ge=0)
    """Requests that may go at once beyond the even pace, where a source counts them by the minute."""
    typical_s: float = Field(default=0.8, gt=0)
    """Typical response time in seconds, for rehearsals; assumed, as none is published."""
    wires: tuple[WireName, ...] = ("httpx",)
    """Libraries that carry its requests: the first, and after a 403 each of the others in turn."""
    way_out: str | None = None
    """What a user can do where it refuses every request."""
    passing_statuses: tuple[int, ...] = ()
    """Statuses of refusals that it is known to send in passing; each is worth one more attempt."""
    has_daily_budget: bool = False
    """Whether it counts a day's requests; a run's first goes alone then, as the budget may be used up."""
    per_second_with_key: float | None = Field(default=None, gt=0)
    per_second_with_email: float | None = Field(default=None, gt=0)
    """With a contact address (`NCBI_EMAIL`)."""
    key: str | None = None
    """Environment variable of its key; None if it takes none."""
    key_in: Literal["body", "parameter", "header"] = "body"
    """Where the key goes: `api_key` in the body, a query parameter that is never shown, or a header."""
    key_header: str = "x-api-key"
    without_key: str | None = None
    """What still works without the key, for the doctor."""
    package: str | None = None
    """Package that carries its requests, of the extra `web`; None for our own HTTP client."""
    off: str | None = None
    """Why a source that needs no key is not, or not always, searched by default, for the doctor."""
    fresh_days: float = Field(default=1, ge=0)
    """Days for which a cached reply may be reused by other runs."""
    hosts: tuple[str, ...] = ()
    """Hosts of its public pages, to which reports may link."""
    gives: Kind
    """Kind of its records, unless they state another."""
    dialect: Dialect
    use: Use
    by_condition: bool = True
    """For sources queried by name: whether a run looks up the condition; False if another source lists the same."""
    tool: str | None = Field(default=None, pattern=r"^get_[a-z_]+$")
    """Tool name of an on-demand source; None for the others, which have `search_NAME`."""
    specialist: str | None = None
    """Specialist that uses it; None for a source used only for look-ups."""

    @model_validator(mode="after")
    def _check_consistency(self) -> "SourceCard":
        if (self.use == "looked_up") is not (self.specialist is None):
            raise ValueError(f"{self.name}: a source that is searched belongs to a specialist, any other to none")
        if (self.use == "on_demand") is not (self.tool is not None):
            raise ValueError(f"{self.name}: a source that is asked on demand names its tool, and no other does")
        if (self.off is not None) is not (self.use in ("named", "web") and self.key is None):
            raise ValueError(f"{self.name}: a source that is off says why, and no other does")
        if self.use == "web" and (self.key is None) is (self.package is None):
            raise ValueError(f"{self.name}: a web engine has either a key or a package")
        if (self.key is None) is not (self.without_key is None):
            raise ValueError(f"{self.name}: a key comes with what goes on without it")
        return self

    @property
    def entries(self) -> str:
        """Label for the text of its records."""
        titles = {"trial": "Registry entry", "label": "Drug label"}
        return titles.get(self.gives, "Database entry" if self.gives in ENTRIES else "Abstract")

    @property
    def needs_key(self) -> bool:
        """Whether searching it requires a key."""
        return self.use in ("named", "web") and self.key is not None


@cache
def load_source_modules() -> Mapping[str, ModuleType]:
    """Return the modules that hold a card, by name, in the order of the cards' places; imported on first use."""
    modules = dict[str, ModuleType]()
    for folder in sorted(path for path in _SOURCES.iterdir() if (path / "__init__.py").is_file()):
        for file in sorted(folder.glob("[a-z]*.py")):
            module = import_module(f"willowbark.tools.sources.{folder.name}.{file.stem}")
            card = vars(module).get("CARD")
            if isinstance(card, SourceCard):
                if card.name != file.stem:
                    raise TypeError(f"{module.__name__} holds the card of {card.name}")
                modules[card.name] = module
    return dict(sorted(modules.items(), key=lambda item: (item[1].CARD.place, item[0])))


@cache
def authority() -> Mapping[str, int]:
    """Return the rank of each source name in records; names not listed, of custom sources, rank last."""
    return {name: place for place, name in enumerate((*load_source_modules(), *OF_NO_SOURCE))}


def find_kind(name: str) -> Kind:
    """Return the kind of a source's records unless they state another; `page` for a source without a file here."""
    if name in OF_NO_SOURCE:
        return OF_NO_SOURCE[name][1]
    module = load_source_modules().get(name)
    card: SourceCard | None = module.CARD if module else None
    return card.gives if card else "page"
