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

OF_NO_SOURCE: Mapping[str, tuple[str, Kind]] = {
    "preprint": ("preprint servers", "publication"),
    "web": ("the web", "page"),
}
"""Names that records bear although no file is called so: title and kind. `preprint` marks what Europe PMC hands out
without peer review."""
ENTRIES: frozenset[Kind] = frozenset({"drug", "disease", "protein", "process", "approval", "label"})
"""Entries of databases, which have no authors and report no study."""
PAPERS: frozenset[Kind] = frozenset({"publication", "page"})
"""What may report a study beside the trials' own records."""
STUDIES = PAPERS | frozenset[Kind]({"trial"})
"""What is appraised."""
Dialect = Literal["boolean", "names", "identifiers"]
"""How a source is asked: in boolean form (the source itself reads AND, OR, NOT and quotes), by the names of conditions
and drugs, one at a time (`read_query` gives them), or by identifiers, never in words. None of them is a bag of words:
without its operators, `migraine OR headache` would ask for both."""
Use = Literal["searched", "on_demand", "named", "looked_up"]
"""`searched` for every question; `on_demand`, a tool for single drugs, offered in every run; `named`, searched where
settings name it; `looked_up`, asked about records at hand alone."""


class SourceCard(BaseModel, frozen=True, extra="forbid"):
    """What a source is, where it answers, how it may be asked."""

    name: str = Field(pattern=r"^[a-z]+$")
    """The module's own; tools, endpoints and settings know it by this name."""
    place: int = 1000
    """In the order of search and of authority: of records that are one, the first source's text speaks for all."""
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
    off: str | None = None
    """Of such a source that needs no key: why it is not asked by default, for the doctor."""
    wire: Literal["httpx", "requests"] = "httpx"
    """The HTTP client whose TLS greeting it gets."""
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
    specialist: str | None = None
    """Name of the specialist whose it is (see `agents/specialists.py`); None for one that is only looked up."""

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
        return self

    @property
    def needs_key(self) -> bool:
        """Whether it is searched with a key alone."""
        return self.use == "named" and self.key is not None


@cache
def source_modules() -> Mapping[str, ModuleType]:
    """The files that hold a card, by its name and in the order of the cards' places; imported when first asked for.

    Raises:
        TypeError: a card bears another name than its file.
    """
    found = dict[str, ModuleType]()
    for folder in sorted(path for path in Path(__file__).parent.iterdir() if (path / "__init__.py").is_file()):
        for file in sorted(folder.glob("[a-z]*.py")):
            module = import_module(f".{folder.name}.{file.stem}", __package__)
            card = vars(module).get("CARD")
            if isinstance(card, SourceCard):
                if card.name != file.stem:
                    raise TypeError(f"{module.__name__} holds the card of {card.name}")
                found[card.name] = module
    return dict(sorted(found.items(), key=lambda item: (item[1].CARD.place, item[0])))


@cache
def authority() -> Mapping[str, int]:
    """The place of each name that records may bear; what is not here, a source of the user's own, comes last."""
    return {name: place for place, name in enumerate((*source_modules(), *OF_NO_SOURCE))}


def given_kind(name: str) -> Kind:
    """What a source's records are, where they don't say otherwise; a page for a source that has no file here."""
    if name in OF_NO_SOURCE:
        return OF_NO_SOURCE[name][1]
    module = source_modules().get(name)
    card: SourceCard | None = module.CARD if module else None
    return card.gives if card else "page"
