"""The card of a source: everything that is said of it in one place, its file.

Every table is derived from the cards by `tools.registry`: addresses and limits, keys, titles, tools, links, freshness,
what the doctor looks at. A card is the `CARD` of the source's file, which is found by its name in the folders of
`tools/sources/`.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Literal

from pydantic import BaseModel, Field, model_validator

from ..records import Kind

LOOKUPS = ("crossref", "biorxiv")
"""Sources that give no records and are only asked about those at hand."""
OF_NO_SOURCE: Mapping[str, tuple[str, Kind]] = {
    "preprint": ("preprint servers", "publication"),
    "web": ("the web", "page"),
}
"""Names that records bear although no file is called so (see `SourceName`): title and kind."""
ENTRIES: frozenset[Kind] = frozenset({"drug", "disease", "protein", "process", "approval", "events", "label"})
"""Entries of databases, which have no authors and report no study."""
PAPERS: frozenset[Kind] = frozenset({"publication", "page"})
"""What may report a study beside the trials' own records."""
STUDIES = PAPERS | frozenset[Kind]({"trial"})
"""What is appraised."""
Dialect = Literal["boolean", "names", "identifiers"]
"""How a source is asked: in boolean form (the source itself reads AND, OR, NOT and quotes), by the names of conditions
and drugs, one at a time (`questions.naming.asked_for` gives them), or by identifiers, never in words. None of them is a
bag of words: without its operators, `migraine OR headache` would ask for both."""
Use = Literal["searched", "on_demand", "named", "looked_up"]
"""`searched` for every question; `on_demand`, a tool for single drugs, offered in every run; `named`, searched where
settings name it; `looked_up`, asked about records at hand alone."""
Specialist = Literal["literature", "trials", "mechanism"]


class SourceCard(BaseModel, frozen=True, extra="forbid"):
    """What a source is, where it answers, how it may be asked."""

    name: str = Field(pattern=r"^[a-z]+$")
    """The module's own; tools, endpoints, settings and the sandbox know it by this name."""
    title: str
    """For people."""
    purpose: str
    """One sentence for the models that choose among tools."""
    address: str = Field(pattern=r"^https://[^\s?#]+[^/\s?#]$")
    """Base URL, without a slash at its end."""
    documentation: str
    """Where its protocol and limits are published."""
    per_second: float = Field(gt=0)
    """Requests a second without key or e-mail address: the published limit, or a modest one where none is published."""
    typical_s: float = Field(default=1.0, gt=0)
    """Seconds that a reply takes on an ordinary day, for rehearsals; nobody publishes them, so they are assumed."""
    per_second_with_key: float | None = Field(default=None, gt=0)
    """None where a key changes nothing."""
    per_second_with_email: float | None = Field(default=None, gt=0)
    """None where an address (`NCBI_EMAIL`) changes nothing."""
    per_day: int | None = Field(default=None, gt=0)
    """Requests a day without a key; None where no limit is published."""
    per_day_with_key: int | None = Field(default=None, gt=0)
    """None where there is no limit with one, or a key changes nothing."""
    key: str | None = None
    """Environment variable that holds its key; None where it takes none."""
    key_in: Literal["body", "parameter", "header"] = "body"
    """Where the key is sent: as `api_key` in the body of a request or as a parameter that is shown nowhere, or as a
    header."""
    key_header: str = "x-api-key"
    """Name of that header."""
    without_key: str | None = None
    """What goes on without the key, for the doctor."""
    works_without_key: bool = False
    """Of a source that settings must name: whether it can be searched without its key."""
    off: str | None = None
    """Of such a source that needs no key: why it is not asked by default, for the doctor."""
    wire: Literal["httpx", "requests"] = "httpx"
    """The HTTP client to use."""
    fresh_days: float = Field(ge=0)
    """Days for which a reply may answer the same request of another run."""
    hosts: tuple[str, ...] = ()
    """Hosts of its public pages, to which reports may link."""
    gives: Kind
    """What its records are, where they don't say otherwise."""
    entries: str = "Abstract"
    """What the text of its records is called."""
    dialect: Dialect
    use: Use
    by_condition: bool = True
    """Whether a run asks it for the condition, where it takes names; False where another source lists the same."""
    tool: str | None = Field(default=None, pattern=r"^get_[a-z_]+$")
    """Name of the tool of a source that is asked on demand; None for the others, which have `search_NAME`."""
    batches: bool = False
    """Of a source that is asked on demand: whether many drugs take one request."""
    specialist: Specialist | None = None
    """Whose it is; None for one that is only looked up."""

    @model_validator(mode="after")
    def _consistent(self) -> "SourceCard":
        if (self.use == "looked_up") is not (self.specialist is None):
            raise ValueError(f"{self.name}: a source that is searched belongs to a specialist, any other to none")
        if (self.use == "on_demand") is not (self.tool is not None):
            raise ValueError(f"{self.name}: a source that is asked on demand names its tool, and no other does")
        if (self.off is not None) is not (self.use == "named" and not self.needs_key):
            raise ValueError(f"{self.name}: a source that is off says why, and no other does")
        if (self.key is None) is not (self.without_key is None):
            raise ValueError(f"{self.name}: a key comes with what goes on without it")
        if self.key is not None and self.key_in == "parameter" and self.wire != "httpx":
            raise ValueError(f"{self.name}: requests' own log would show a key among the parameters")
        return self

    @property
    def needs_key(self) -> bool:
        """Whether it is searched with a key alone."""
        return self.use == "named" and self.key is not None and not self.works_without_key


@cache
@cache
def module_of(name: str) -> ModuleType:
    """The file of a source; imported when it is first asked for, so that nothing below the sources depends on them.

    Raises:
        ModuleNotFoundError: there is none.
        TypeError: it holds no card of that name.
    """
    folders = (folder.name for folder in Path(__file__).parent.iterdir() if (folder / f"{name}.py").is_file())
    module = import_module(f".{next(folders, 'studies')}.{name}", __package__)
    card = getattr(module, "CARD", None)
    if not isinstance(card, SourceCard) or card.name != name:
        raise TypeError(f"{module.__name__} holds no CARD of the name {name}")
    return module


def given_kind(name: str) -> Kind:
    """What a source's records are, where they don't say otherwise.

    Raises:
        ModuleNotFoundError: there is no such source.
    """
    if name in OF_NO_SOURCE:
        return OF_NO_SOURCE[name][1]
    card: SourceCard = module_of(name).CARD
    return card.gives
