"""What records are made of: identifiers in their one written form, and the entries of lists.

Entries are dictionaries that hold what was reported, and may hold more than is declared here.
"""

from functools import lru_cache
from html import unescape
from re import IGNORECASE
from re import compile as pattern
from typing import Any, Literal, get_args

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

_NUMBERED = {"pmid": ("", 9), "pmcid": ("PMC", 9), "nct_id": ("NCT", 8), "chembl_id": ("CHEMBL", 10)}
"""What stands before the digits, and how many these are at most; NLM's are 1 to 8 today, one spare."""
# Crossref's recommended expression, any suffix; in those made of SICIs, one pair of angle brackets
_DOI = pattern(r"10\.[0-9]{4,9}/(?:[^\s\"<>]+|[^\s\"<>]*\([^\s\"<>]*<[^\s\"<>]*:[^\s\"<>]*>[^\s\"<>]*)")
_DOI_PREFIX = pattern(r"^(https?://(dx\.)?doi\.org/|doi:\s*)", IGNORECASE)
Flag = Literal["retracted", "expression_of_concern", "corrected"]
FLAGS: tuple[Flag, ...] = get_args(Flag)
"""What may be said against a publication, worst first."""


def checked_identifier(kind: str, value: object) -> str | None:
    """Give an identifier in its one written form, or None when it is not one.

    Args:
        kind: `pmid`, `pmcid`, `doi`, `nct_id` or `chembl_id`.
        value: what a source or a model wrote.

    >>> checked_identifier("doi", "https://doi.org/10.1000/ABC")
    '10.1000/abc'
    >>> checked_identifier("doi", "10.1002/(SICI)1097-0142(19990315)85:6&lt;1234::AID-CNCR5&gt;3.0.CO;2-D")
    '10.1002/(sici)1097-0142(19990315)85:6<1234::aid-cncr5>3.0.co;2-d'
    >>> checked_identifier("pmid", "not a number") is None
    True
    """
    return _checked(kind, str(value).strip()) if value is not None else None


@lru_cache(maxsize=8192)
def _checked(kind: str, text: str) -> str | None:
    """Remembered: merging asks after the same identifiers over and over."""
    if kind == "doi":
        text = unescape(_DOI_PREFIX.sub("", text)).lower()
        return text if _DOI.fullmatch(text) else None
    text = text.removeprefix("PMID:").strip() if kind == "pmid" else text.upper()
    prefix, most = _NUMBERED[kind]
    digits = text.removeprefix(prefix)
    if not (text.startswith(prefix) and digits.isascii() and digits.isdecimal() and len(digits) <= most):
        return None
    return text if (len(digits) == most if kind == "nct_id" else digits[0] != "0") else None


@with_config(ConfigDict(extra="allow"))
class _Open(TypedDict):
    """An entry that may hold more than is declared."""


class Reference(_Open, total=False):
    """Another version of a record, or the notice that speaks of it."""

    key: str
    title: str
    url: str
    date: str
    flag: str
    """Of a notice: one of `FLAGS`."""


class NoticeOn(_Open):
    """An article that a notice is on."""

    flag: str
    """One of `FLAGS`: what the notice makes of it."""
    name: str
    """`pmid:…`, `doi:…` or `ppr:…`."""


class SaidNotice(_Open, total=False):
    """A notice as a look-up told it."""

    kind: str
    doi: str
    date: str
    source: str


class Section(_Open, total=False):
    """A section of a full text."""

    kind: str
    """results, limitations or table."""
    title: str
    text: str


class FullText(_Open, total=False):
    """What was read of an open full text."""

    source: str
    pmcid: str
    licence: str
    sections: list[Section]
    addressed_to_machines: bool
    """True where sentences that speak to machines were left out."""


class Intervention(_Open, total=False):
    """What a trial gives: type (`DRUG`), name."""

    type: str
    name: str


class Arm(_Open, total=False):
    """An arm of a trial, with the names of what it is given."""

    label: str
    type: str
    interventions: list[str]


class PlannedOutcome(_Open, total=False):
    """A primary outcome as it was registered."""

    measure: str
    time_frame: str


class SeriousEvent(_Open, total=False):
    """Serious adverse events of one group."""

    group: str | None
    affected: Any
    at_risk: Any


class PostedResults(_Open, total=False):
    """Posted results; numbers are the text that the registry posts (`<0.001`, `12.4`, `NA`)."""

    primary_outcomes: list[dict[str, Any]]
    """title, description, time_frame, unit, statistic, dispersion, groups, values, analyses."""
    secondary_outcomes: list[dict[str, Any]]
    """Likewise."""
    serious_adverse_events: list[SeriousEvent]
    serious_event_terms: list[dict[str, Any]]
    """term, groups: those that befell most people."""
    deaths: list[SeriousEvent]
    """From any cause, by group."""


class Mechanism(_Open, total=False):
    """How a drug acts, and on what."""

    mechanism_of_action: str
    action_type: str
    target_name: str
    target_id: str
    gene_symbols: list[str]
    uniprot_ids: list[str]
    organism: str
    """Of the target, where it is not human."""
    pathways: "list[Pathway]"
    """Reactome's, of this target."""


class Development(_Open, total=False):
    """A drug or a condition with the stage that development reached."""

    name: str
    id: str
    chembl_id: str | None
    max_phase: int | float | None
    """0.5 (early phase 1) to 4 (marketed)."""
    stage: str


class DrugWarning(_Open, total=False):
    """That a drug was withdrawn, or bears a boxed warning, as a database says."""

    kind: str
    """`withdrawn` or `boxed warning`; others as the database writes them, in lower case."""
    about: str
    """The kind of harm, such as hepatotoxicity."""
    country: str
    year: int
    description: str
    """In the database's own words."""


class Signal(_Open, total=False):
    """An adverse event that is reported after a drug more often than after others; that shows no cause."""

    term: str
    count: int
    """Reports."""
    log_likelihood: float
    """Ratio of log-likelihoods; the larger, the less by chance."""


class Pathway(_Open, total=False):
    """A pathway of Reactome, or a process of the Gene Ontology."""

    id: str
    name: str


class Involvement(_Open, total=False):
    """A disease that a protein has a part in, with the sentence that says so."""

    name: str
    id: str
    """MIM's number, where there is one."""
    note: str


class Partner(_Open, total=False):
    """A protein that works together with another one, by its gene symbol and STRING's number."""

    symbol: str
    id: str
    score: float
    """How likely they do, 0 to 1."""
    parts: dict[str, float]
    """What the score is made of: experiments, databases, texts."""


class NamedDrug(TypedDict):
    """Another drug that a label names: in which section, and in which sentence."""

    drug: str
    heading: str
    sentence: str


class Application(_Open, total=False):
    """An application for approval, by its number; `approved` is the day of the first approval."""

    number: str
    sponsor: str
    brand: str
    approved: str
    status: str
    """How its products are sold, in the agency's words."""


class AssociatedTarget(_Open, total=False):
    """A target by its gene symbol, with its score, 0 to 1."""

    symbol: str
    score: int | float | None
    genetic: int | float
    """By genetic associations alone, likewise; absent where the source has none."""
    pathway: int | float
    """By affected pathways alone, likewise."""
