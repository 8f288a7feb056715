"""Typed records by `kind`: publication, trial, drug, disease, protein, process, label and others.

In every field, None or an empty list means "not reported"; where an empty list carries a meaning, only None means that.
The entries of lists may hold more keys than are declared.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from html import unescape
from re import IGNORECASE
from re import compile as pattern
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    model_serializer,
    model_validator,
    with_config,
)
from typing_extensions import TypedDict

_NUMBERED = {"pmid": ("", 9), "pmcid": ("PMC", 9), "nct_id": ("NCT", 8), "chembl_id": ("CHEMBL", 10)}
"""Prefix, and most digits allowed; NLM's have 1 to 8 today, one is spare."""
# Crossref's recommended expression, any suffix; suffixes made from SICIs have one pair of angle brackets
_DOI = pattern(r"10\.[0-9]{4,9}/(?:[^\s\"<>]+|[^\s\"<>]*\([^\s\"<>]*<[^\s\"<>]*:[^\s\"<>]*>[^\s\"<>]*)")
_DOI_PREFIX = pattern(r"^(https?://(dx\.)?doi\.org/|doi:\s*)", IGNORECASE)
EvidenceType = Literal["mechanism", "candidate", "clinical", "safety"]
"""What a record is evidence on: how a disease or drug works, which drugs there are, what patients gained, harms."""
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


class ArticleSection(_Open, total=False):
    kind: str
    """results, limitations or table."""
    title: str
    text: str


class FullText(_Open, total=False):
    source: str
    pmcid: str
    licence: str
    sections: list[ArticleSection]
    addressed_to_machines: bool
    """True if sentences addressed to machines were removed."""
    is_cut: bool
    """True if results, limitations or tables go on beyond what is kept of an article."""
    decides: str
    """Why a model is shown the whole results and tables; absent where it is shown excerpts."""


class Intervention(_Open, total=False):
    """An intervention of a trial: type (`DRUG`), name, its other names (brands, research codes)."""

    type: str
    name: str
    other_names: list[str]


class RegisteredArm(_Open, total=False):
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
    """title, description, time_frame, unit, groups, values, analyses."""
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


def _make_validator(kind: str) -> BeforeValidator:
    def check(value: object) -> str | None:
        identifier = checked_identifier(kind, value)
        if value is not None and identifier is None:
            raise ValueError(f"no {kind}")
        return identifier

    return BeforeValidator(check)


class Fields(BaseModel, frozen=True, extra="forbid", defer_build=True):  # built with the first record
    """Fields common to records of every kind."""

    kind: str
    """Each kind narrows this to its own value."""
    pmid: Annotated[str | None, _make_validator("pmid")] = None
    pmcid: Annotated[str | None, _make_validator("pmcid")] = None
    doi: Annotated[str | None, _make_validator("doi")] = None
    """Lower case."""
    nct_id: Annotated[str | None, _make_validator("nct_id")] = None
    """Registry number, of a trial's own record."""
    has_abstract: bool | None = None
    """False if only a title is available."""
    is_preprint: bool | None = None
    mesh_terms: list[str] = []
    linked_trials: list[str] = []
    """Keys of the pool's trials that a paper reports."""
    linked_papers: list[str] = []
    """Keys of the pool's papers that report a trial."""
    fetched_as: str | None = None
    """Why the record was fetched, if no search found it."""
    found_by: list[str] = []
    """The record that led to this one, if any: `cites PMID 123`, `cited by PMID 123`."""
    found_in: list[str] = []
    """Names of the sources whose records were merged, and of agents' tools that named it (`helper-find_papers`)."""
    given_by: str | None = None
    """Agent and tool whose words these are, where no source confirmed them; None for a source's own record."""
    same_as: list[str] = []
    """Additional identifiers of the merged records."""
    extra: dict[str, Any] = {}
    """Data outside the declared fields or of the wrong type: by hand, by another version or for another kind."""

    @model_validator(mode="before")
    @classmethod
    def _drop_unreported(cls, data: Any) -> Any:
        """Drop unreported values, because pydantic stores the set of given fields for each of thousands of records."""
        if not isinstance(data, dict):
            return data
        unsaid = _list_defaults(cls)
        return {name: value for name, value in data.items() if name not in unsaid or value != unsaid[name]}

    def reported(self) -> dict[str, Any]:
        """Return the reported values by name, including those in `extra`."""
        return {**self.extra, **self.declared()}

    def declared(self) -> dict[str, Any]:
        """Return the reported values of the declared fields, by name."""
        unsaid = _list_defaults(type(self))
        values = self.__dict__.items()
        return {name: value for name, value in values if value is not None and name in unsaid and value != unsaid[name]}

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        return self.reported().items()

    @model_serializer
    def _serialize(self) -> dict[str, Any]:
        return {**self.reported(), "kind": self.kind}


class Paper(Fields, frozen=True):
    """Fields common to publications, notices and pages."""

    ppr_id: str | None = None
    """Europe PMC's preprint number."""
    journal: str | None = None
    """Title of the journal or book, or name of the preprint server."""
    journal_abbreviation: str | None = None
    """Abbreviated journal title, as printed in reference lists (`N Engl J Med`)."""
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    """Full page range (`1167-1170`), or an article number (`e5807`)."""
    language: str | None = None
    license: str | None = None
    is_open_access: bool | None = None
    cited_by_count: int | None = None
    publication_types: list[str] = []
    retracted: bool | None = None
    expression_of_concern: bool | None = None
    corrected: bool | None = None
    published_version: str | None = None
    """PMID or DOI of the published version of a preprint."""
    published_version_unknown: str | None = None
    """Why the look-up of the published version failed."""
    updated_in: list[str] = []
    """Names (`pmid:…`, `doi:…`) of the later version."""
    update_of: list[str] = []
    """Names of earlier versions."""
    notice_on: list[NoticeOn] = []
    notices: list[Reference] = []
    """Notices in the pool on this publication."""
    preprint_versions: list[Reference] = []
    earlier_versions: list[Reference] = []
    keywords: list[str] = []
    concepts: list[str] = []
    """Fields and topics that OpenAlex assigns, most certain first; at most ten."""
    chemicals: list[str] = []
    drug_codes: dict[str, str] = {}
    """Drugs by the research codes under which its text names them; registered trials of the run say which is whose."""
    nct_ids: list[str] = []
    """Trials that it names or is registered with."""
    trust_state: str | None = None
    """A `works.trust.TrustState`; None if not looked up."""
    trust_checked: list[str] | None = None
    """Sources that answered; None if not looked up, as for the fields below."""
    trust_flagged: dict[str, list[str]] | None = None
    """By flag, the sources that raise it."""
    trust_unanswered: list[str] | None = None
    """`source: why`."""
    trust_notices: list[SaidNotice] | None = None
    full_text: FullText | None = None
    full_text_unread: str | None = None
    """Why the full text was requested but not read."""

    @property
    def flags(self) -> frozenset[Flag]:
        """Return the flags raised on the publication."""
        flags = zip(FLAGS, (self.retracted, self.expression_of_concern, self.corrected), strict=True)
        return frozenset(name for name, raised in flags if raised)


class Publication(Paper, frozen=True):
    """An article, book chapter or preprint."""

    kind: Literal["publication"] = "publication"


class Notice(Paper, frozen=True):
    """A notice of retraction, concern or correction on another article. It reports no study."""

    kind: Literal["notice"] = "notice"


class WebPage(Paper, frozen=True):
    """A web page, or a record of a custom source."""

    kind: Literal["page"] = "page"


class Trial(Fields, frozen=True):
    """A trial's registry record; codes are the registry's (`TERMINATED`, `PHASE3`, `RANDOMIZED`)."""

    kind: Literal["trial"] = "trial"
    acronym: str | None = None
    overall_status: str | None = None
    why_stopped: str | None = None
    phases: list[str] = []
    study_type: str | None = None
    enrollment: int | None = None
    """Number of participants."""
    start_date: str | None = None
    completion_date: str | None = None
    sponsor: str | None = None
    conditions: list[str] = []
    interventions: list[Intervention] = []
    arms: list[RegisteredArm] = []
    primary_outcomes: list[PlannedOutcome] = []
    secondary_outcomes: list[PlannedOutcome] = []
    allocation: str | None = None
    masking: str | None = None
    primary_purpose: str | None = None
    results: PostedResults | None = None
    result_pmids: list[str] = []
    """PMIDs of papers on the trial's own results."""
    has_results: bool | None = None


class Drug(Fields, frozen=True):
    kind: Literal["drug"] = "drug"
    drug: str | None = None
    """Name in lower case."""
    chembl_id: str | None = None
    chebi_id: str | None = None
    """`CHEBI:15365`, if ChEMBL gives it."""
    molecule_type: str | None = None
    max_phase: int | float | None = None
    """0.5 (early phase 1) to 4 (marketed), for any indication."""
    first_approval: int | None = None
    """Year."""
    mechanisms: list[Mechanism] = []
    indications: list[Development] = []
    pathways: list[Pathway] = []
    warnings: list[DrugWarning] = []
    signals: list[Signal] = []
    """Signals above the critical value, strongest first."""
    contraindications: list[str] = []
    """Conditions in which the drug is contraindicated, in DrugCentral's words."""
    routes: list[str] = []
    """All routes of administration, in the source's words."""


class Disease(Fields, frozen=True):
    kind: Literal["disease"] = "disease"
    disease: str | None = None
    disease_id: str | None = None
    drugs: list[Development] = []
    targets: list[AssociatedTarget] = []


class Protein(Fields, frozen=True):
    """A protein in a protein database; human unless `organism` says otherwise."""

    kind: Literal["protein"] = "protein"
    uniprot_id: str | None = None
    gene_symbol: str | None = None
    protein_name: str | None = None
    other_names: list[str] = []
    """Other names of the gene and protein."""
    organism: str | None = None
    function: str | None = None
    processes: list[Pathway] = []
    """Gene Ontology processes."""
    pathways: list[Pathway] = []
    """Reactome pathways."""
    diseases: list[Involvement] = []


class Process(Fields, frozen=True):
    kind: Literal["process"] = "process"
    process_id: str | None = None
    process_name: str | None = None
    summary: str | None = None


class DrugApproval(Fields, frozen=True):
    kind: Literal["approval"] = "approval"
    drug: str | None = None
    """Generic name in lower case."""
    agency: str | None = None
    first_approved: str | None = None
    """Earliest date among the listed applications."""
    applications: list[Application] = []
    is_sold: bool | None = None
    """Whether any product is still on sale."""
    routes: list[str] = []
    """Routes of administration of the products still on sale, in the agency's words."""


class Label(Fields, frozen=True):
    kind: Literal["label"] = "label"
    drug: str | None = None
    """Generic name; None if the label gives none."""
    set_id: str | None = None
    """DailyMed's set id."""
    sections: list[str] = []
    """Headings of the quoted sections."""
    named_drugs: list[NamedDrug] = []
    """Other drugs named in the full interactions and contraindications sections."""


Record = Publication | Trial | Drug | Disease | Protein | Process | DrugApproval | Label | Notice | WebPage
Kind = Literal["publication", "trial", "drug", "disease", "protein", "process", "approval", "label", "notice", "page"]
"""Kind of a record."""
EVIDENCE_TYPES: Mapping[Kind, EvidenceType] = {
    "publication": "clinical",
    "trial": "clinical",
    "drug": "candidate",
    "approval": "candidate",
    "disease": "mechanism",
    "protein": "mechanism",
    "process": "mechanism",
    "label": "safety",
}
"""What each kind of record is evidence on; a notice is on another record, and a page leads to one."""
KINDS: Mapping[str, type[Record]] = {form.model_fields["kind"].default: form for form in get_args(Record)}


def read(kind: Kind, fields: Mapping[str, Any]) -> Record:
    """Build a record from its fields; what the kind does not declare, or in another type, goes to `extra`.

    >>> read("trial", {"nct_id": "nct00000102", "phases": "3", "mine": 1}).reported()
    {'phases': '3', 'mine': 1, 'nct_id': 'NCT00000102'}
    """
    form = KINDS[kind]
    reported = {name: value for name, value in fields.items() if value is not None}
    declared = {name: value for name, value in reported.items() if name in _list_defaults(form)}
    try:
        record = form(**declared)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        unread = {str(problem["loc"][0]) for problem in problems}
        declared = {name: value for name, value in declared.items() if name not in unread}
        record = form(**declared)
    extra = {name: value for name, value in reported.items() if name not in declared}
    return record.model_copy(update={"extra": extra}) if extra else record


def unite(records: Sequence[Record]) -> Record:
    """Merge records; the result has the first one's kind, or is a notice if any record is one.

    The first identifier, text or number counts, and the largest count; lists are joined without duplicates; a flag is
    set if any record sets it.
    """
    first, *others = records
    changed: dict[str, Any] = {}
    extra = dict(first.extra)
    for record in others:
        for name, value in record.declared().items():
            own = changed.get(name, vars(first).get(name))
            if (united := _unite_values(name, own, value)) is not own:
                changed[name] = united
        for name, value in record.extra.items():
            extra[name] = _unite_values(name, extra.get(name), value)
    if not extra and all(type(record) is type(first) for record in others):
        return first.model_copy(update=changed) if changed else first  # these values were validated before
    is_notice = isinstance(first, Paper) and any(isinstance(record, Notice) for record in records)
    return read("notice" if is_notice else first.kind, {**extra, **first.declared(), **changed})


def _unite_values(name: str, own: Any, other: Any) -> Any:
    if own is None:
        return other
    if isinstance(own, list) and isinstance(other, list):
        new = [value for value in other if value not in own]
        return own + new if new else own
    if isinstance(own, bool) and isinstance(other, bool):
        return own or other
    if name == "cited_by_count" and isinstance(own, int) and isinstance(other, int):
        return max(own, other)
    return own


@cache
def _list_defaults(form: type[Fields]) -> Mapping[str, Any]:
    """Return the defaults of a kind's declared fields, which mean "not reported"."""
    declared = {name: field for name, field in form.model_fields.items() if name not in ("kind", "extra")}
    return {name: field.get_default(call_default_factory=True) for name, field in declared.items()}
