"""Parts of records: identifiers in canonical form, and the entries of lists, which may hold more keys than declared."""

from functools import lru_cache
from html import unescape
from re import IGNORECASE
from re import compile as pattern
from typing import Any, Literal, get_args

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

_NUMBERED = {"pmid": ("", 9), "pmcid": ("PMC", 9), "nct_id": ("NCT", 8), "chembl_id": ("CHEMBL", 10)}
"""Prefix, and most digits allowed; NLM's have 1 to 8 today, one is spare."""
# Crossref's recommended expression, any suffix; suffixes made from SICIs have one pair of angle brackets
_DOI = pattern(r"10\.[0-9]{4,9}/(?:[^\s\"<>]+|[^\s\"<>]*\([^\s\"<>]*<[^\s\"<>]*:[^\s\"<>]*>[^\s\"<>]*)")
_DOI_PREFIX = pattern(r"^(https?://(dx\.)?doi\.org/|doi:\s*)", IGNORECASE)
Flag = Literal["retracted", "expression_of_concern", "corrected"]
FLAGS: tuple[Flag, ...] = get_args(Flag)
"""Flags that can be raised on a publication, worst first."""


def checked_identifier(kind: str, value: object) -> str | None:
    """Return an identifier of a kind (`pmid`, `pmcid`, `doi`, `nct_id`, `chembl_id`) in canonical form, else None.

    >>> checked_identifier("doi", "https://doi.org/10.1000/ABC"), checked_identifier("pmid", "not a number")
    ('10.1000/abc', None)
    >>> checked_identifier("doi", "10.1002/(SICI)1097-0142(19990315)85:6&lt;1234::AID-CNCR5&gt;3.0.CO;2-D")
    '10.1002/(sici)1097-0142(19990315)85:6<1234::aid-cncr5>3.0.co;2-d'
    """
    return _check_text(kind, str(value).strip()) if value is not None else None


@lru_cache(maxsize=8192)
def _check_text(kind: str, text: str) -> str | None:
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
    """An entry that may hold more keys than are declared."""


class Reference(_Open, total=False):
    """Another version of a record, or a notice on it."""

    key: str
    title: str
    url: str
    date: str
    flag: str
    """For a notice, one of `FLAGS`."""


class NoticeOn(_Open):
    flag: str
    name: str
    """`pmid:…`, `doi:…` or `ppr:…`."""


class SaidNotice(_Open, total=False):
    kind: str
    doi: str
    date: str
    source: str


class Section(_Open, total=False):
    kind: str
    """results, limitations or table."""
    title: str
    text: str


class FullText(_Open, total=False):
    source: str
    pmcid: str
    licence: str
    sections: list[Section]
    addressed_to_machines: bool
    """True if sentences addressed to machines were removed."""


class Intervention(_Open, total=False):
    """An intervention of a trial: type (`DRUG`), name."""

    type: str
    name: str


class Arm(_Open, total=False):
    """An arm of a trial, with the names of its interventions."""

    label: str
    type: str
    interventions: list[str]


class PlannedOutcome(_Open, total=False):
    measure: str
    time_frame: str


class SeriousEvent(_Open, total=False):
    group: str | None
    affected: Any
    at_risk: Any


class PostedResults(_Open, total=False):
    """Posted results; numbers are the text that the registry posts (`<0.001`, `12.4`, `NA`)."""

    primary_outcomes: list[dict[str, Any]]
    """title, description, time_frame, unit, statistic, dispersion, groups, values, analyses."""
    secondary_outcomes: list[dict[str, Any]]
    """Same keys as in `primary_outcomes`."""
    serious_adverse_events: list[SeriousEvent]
    deaths: list[SeriousEvent]
    """Deaths from any cause, by group."""


class Mechanism(_Open, total=False):
    mechanism_of_action: str
    action_type: str
    target_name: str
    target_id: str
    gene_symbols: list[str]
    uniprot_ids: list[str]
    organism: str
    """Organism of the target, if not human."""
    pathways: "list[Pathway]"
    """Reactome pathways of this target."""


class Development(_Open, total=False):
    """A drug or a condition with the highest stage of development."""

    name: str
    id: str
    chembl_id: str | None
    max_phase: int | float | None
    """0.5 (early phase 1) to 4 (marketed)."""
    stage: str


class DrugWarning(_Open, total=False):
    """Withdrawal or boxed warning of a drug, according to a database."""

    kind: str
    """`withdrawn` or `boxed warning`; others in the database's words, in lower case."""
    about: str
    """Kind of harm, such as hepatotoxicity."""
    country: str
    year: int
    description: str


class Signal(_Open, total=False):
    """An adverse event reported more often for a drug than for others; this does not prove causation."""

    term: str
    count: int
    log_likelihood: float
    """Log-likelihood ratio; the larger, the less likely by chance."""


class Pathway(_Open, total=False):
    """A pathway of Reactome, or a process of the Gene Ontology."""

    id: str
    name: str


class Involvement(_Open, total=False):
    """A disease in which a protein is involved, with the sentence that says so."""

    name: str
    id: str
    note: str


class NamedDrug(TypedDict):
    """Another drug that a label names, with the section and the sentence."""

    drug: str
    heading: str
    sentence: str


class Application(_Open, total=False):
    """An application for approval, by its number; `approved` is the date of first approval."""

    number: str
    sponsor: str
    brand: str
    approved: str
    status: str
    """Marketing status of its products, in the agency's words."""


class AssociatedTarget(_Open, total=False):
    symbol: str
    score: int | float | None
    genetic: int | float
    """Score from genetic associations only, 0 to 1; absent if the source has none."""
    pathway: int | float
    """Score from affected pathways only, 0 to 1; absent if the source has none."""
