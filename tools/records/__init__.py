"""What a record reports, by kind: a publication, trial, drug, disease, protein, process, label, … told apart by `kind`.

Of every field, None or an empty list means "not reported"; a field for which an empty list says something has None for
that.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_serializer, model_validator

from .parts import (
    FLAGS,
    Application,
    Arm,
    AssociatedTarget,
    Development,
    DrugWarning,
    Flag,
    FullText,
    Intervention,
    Involvement,
    Mechanism,
    NamedDrug,
    NoticeOn,
    Partner,
    Pathway,
    PlannedOutcome,
    PostedResults,
    Reference,
    SaidNotice,
    Signal,
    checked_identifier,
)


def _identifier(kind: str) -> BeforeValidator:
    def check(value: object) -> str | None:
        if value is not None and (value := checked_identifier(kind, value)) is None:
            raise ValueError(f"no {kind}")
        return value

    return BeforeValidator(check)


def none_reported() -> list[Any]:
    """An empty list. What pydantic asks of a field's factory, it finds in `list` itself much later."""
    return []


class Fields(BaseModel, frozen=True, extra="forbid", defer_build=True):  # built with the first record
    """What records of every kind may report."""

    kind: str
    """Narrowed by each kind to its own."""
    pmid: Annotated[str | None, _identifier("pmid")] = None
    pmcid: Annotated[str | None, _identifier("pmcid")] = None
    doi: Annotated[str | None, _identifier("doi")] = None
    """In lower case."""
    nct_id: Annotated[str | None, _identifier("nct_id")] = None
    """Of a trial's own record."""
    has_abstract: bool | None = None
    """False where a title is all there is to read."""
    is_preprint: bool | None = None
    mesh_terms: list[str] = Field(default_factory=none_reported)
    linked_trials: list[str] = Field(default_factory=none_reported)
    """Keys of the trials of a pool that a paper reports."""
    linked_papers: list[str] = Field(default_factory=none_reported)
    """Keys of the papers of a pool that report a trial."""
    fetched_as: str | None = None
    """Why it was fetched, where no search found it."""
    found_by: list[str] = Field(default_factory=none_reported)
    """The way to it, where that led over another record: `cites PMID 123`, `cited by PMID 123`."""
    found_in: list[str] = Field(default_factory=none_reported)
    """Names of the sources whose records were united."""
    same_as: list[str] = Field(default_factory=none_reported)
    """Further identifiers of the records that were united."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """What was said beyond the declared fields or not in their form: by hand, by another version, by another kind."""

    @model_validator(mode="before")
    @classmethod
    def _told(cls, said: Any) -> Any:
        """What is reported alone: pydantic keeps a list of all that it is told of each of thousands of records."""
        if not isinstance(said, dict):
            return said
        unsaid = _unsaid(cls)
        return {name: value for name, value in said.items() if name not in unsaid or value != unsaid[name]}

    def reported(self) -> dict[str, Any]:
        """What is reported, by name: without what is not, with what stands in `extra`."""
        return {**self.extra, **self.declared()}

    def declared(self) -> dict[str, Any]:
        """What is reported in the declared fields, by name."""
        unsaid = _unsaid(type(self))
        held = self.__dict__.items()
        return {name: said for name, said in held if said is not None and name in unsaid and said != unsaid[name]}

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        return self.reported().items()

    @model_serializer
    def _written(self) -> dict[str, Any]:
        return {**self.reported(), "kind": self.kind}


class Paper(Fields, frozen=True):
    """What publications, notices and pages share."""

    ppr_id: str | None = None
    """Europe PMC's number of a preprint."""
    journal: str | None = None
    """Title of the journal or book, or name of the preprint server."""
    journal_abbreviation: str | None = None
    """The journal's short title, as reference lists print it (`N Engl J Med`)."""
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    """Both ends in full (`1167-1170`), or what stands for them (`e5807`)."""
    language: str | None = None
    license: str | None = None
    is_open_access: bool | None = None
    cited_by_count: int | None = None
    publication_types: list[str] = Field(default_factory=none_reported)
    retracted: bool | None = None
    expression_of_concern: bool | None = None
    corrected: bool | None = None
    published_version: str | None = None
    """PMID or DOI of the article that a preprint became."""
    published_version_unknown: str | None = None
    """Why it could not be looked up."""
    updated_in: list[str] = Field(default_factory=none_reported)
    """Names (`pmid:…`, `doi:…`) of its later version."""
    update_of: list[str] = Field(default_factory=none_reported)
    """Names of its earlier versions."""
    notice_on: list[NoticeOn] = Field(default_factory=none_reported)
    notice_of: list[str] = Field(default_factory=none_reported)
    """DOIs of the works that it is a notice on, as Crossref says."""
    notices: list[Reference] = Field(default_factory=none_reported)
    """Notices of a pool that speak of it."""
    preprint_versions: list[Reference] = Field(default_factory=none_reported)
    earlier_versions: list[Reference] = Field(default_factory=none_reported)
    keywords: list[str] = Field(default_factory=none_reported)
    chemicals: list[str] = Field(default_factory=none_reported)
    nct_ids: list[str] = Field(default_factory=none_reported)
    """Trials that it names or is registered with."""
    trust_state: str | None = None
    """A `works.trust.TrustState`; None where it was not looked up."""
    trust_checked: list[str] | None = None
    """Sources that answered; None where it was not looked up, as of the fields below."""
    trust_flagged: dict[str, list[str]] | None = None
    """By flag, the sources that raise it."""
    trust_unanswered: list[str] | None = None
    """`source: why`."""
    trust_notices: list[SaidNotice] | None = None
    full_text: FullText | None = None
    full_text_unread: str | None = None
    """Why the full text was asked for and not read."""

    @property
    def flags(self) -> frozenset[Flag]:
        """What is said against it."""
        said = zip(FLAGS, (self.retracted, self.expression_of_concern, self.corrected), strict=True)
        return frozenset(name for name, raised in said if raised)


class Publication(Paper, frozen=True):
    """An article, book chapter or preprint."""

    kind: Literal["publication"] = "publication"


class Notice(Paper, frozen=True):
    """A notice on another article: of retraction, concern or correction. It reports no study."""

    kind: Literal["notice"] = "notice"


class Page(Paper, frozen=True):
    """A page of the web, or a record of a source of the user's own."""

    kind: Literal["page"] = "page"


class Trial(Fields, frozen=True):
    """A trial's record in a registry; codes are the registry's (`TERMINATED`, `PHASE3`, `RANDOMIZED`)."""

    kind: Literal["trial"] = "trial"
    acronym: str | None = None
    overall_status: str | None = None
    why_stopped: str | None = None
    phases: list[str] = Field(default_factory=none_reported)
    study_type: str | None = None
    enrollment: int | None = None
    """Participants."""
    start_date: str | None = None
    completion_date: str | None = None
    sponsor: str | None = None
    conditions: list[str] = Field(default_factory=none_reported)
    interventions: list[Intervention] = Field(default_factory=none_reported)
    arms: list[Arm] = Field(default_factory=none_reported)
    primary_outcomes: list[PlannedOutcome] = Field(default_factory=none_reported)
    secondary_outcomes: list[PlannedOutcome] = Field(default_factory=none_reported)
    allocation: str | None = None
    intervention_model: str | None = None
    masking: str | None = None
    primary_purpose: str | None = None
    results: PostedResults | None = None
    result_pmids: list[str] = Field(default_factory=none_reported)
    """PMIDs of papers on its own results."""
    has_results: bool | None = None


class Drug(Fields, frozen=True):
    """A drug in a drug database."""

    kind: Literal["drug"] = "drug"
    drug: str | None = None
    """Name in lower case."""
    chembl_id: str | None = None
    chebi_id: str | None = None
    """`CHEBI:15365`, where ChEMBL names it."""
    molecule_type: str | None = None
    max_phase: int | float | None = None
    """0.5 (early phase 1) to 4 (marketed), whatever for."""
    first_approval: int | None = None
    """Year."""
    mechanisms: list[Mechanism] = Field(default_factory=none_reported)
    indications: list[Development] = Field(default_factory=none_reported)
    pathways: list[Pathway] = Field(default_factory=none_reported)
    warnings: list[DrugWarning] = Field(default_factory=none_reported)
    signals: list[Signal] = Field(default_factory=none_reported)
    """Those above the critical value, the strongest first."""
    contraindications: list[str] = Field(default_factory=none_reported)
    """Conditions in which DrugCentral lists it as contraindicated, as DrugCentral names them."""
    routes: list[str] = Field(default_factory=none_reported)
    """All ways in which it is given, in the source's words."""


class Disease(Fields, frozen=True):
    """A disease in a database of targets."""

    kind: Literal["disease"] = "disease"
    disease: str | None = None
    disease_id: str | None = None
    drugs: list[Development] = Field(default_factory=none_reported)
    targets: list[AssociatedTarget] = Field(default_factory=none_reported)


class Protein(Fields, frozen=True):
    """A protein in a protein database; human where `organism` does not say otherwise."""

    kind: Literal["protein"] = "protein"
    uniprot_id: str | None = None
    gene_symbol: str | None = None
    protein_name: str | None = None
    other_names: list[str] = Field(default_factory=none_reported)
    """Further names of gene and protein."""
    organism: str | None = None
    function: str | None = None
    processes: list[Pathway] = Field(default_factory=none_reported)
    """Of the Gene Ontology."""
    pathways: list[Pathway] = Field(default_factory=none_reported)
    """Of Reactome."""
    diseases: list[Involvement] = Field(default_factory=none_reported)
    string_id: str | None = None
    """STRING's number, such as 9606.ENSP00000288602."""
    partners: list[Partner] = Field(default_factory=none_reported)


class Process(Fields, frozen=True):
    """A pathway in a pathway database."""

    kind: Literal["process"] = "process"
    process_id: str | None = None
    process_name: str | None = None
    summary: str | None = None


class Approval(Fields, frozen=True):
    """What an agency approved of a drug."""

    kind: Literal["approval"] = "approval"
    drug: str | None = None
    """Generic name in lower case."""
    agency: str | None = None
    first_approved: str | None = None
    """The earliest day among the applications that are listed."""
    applications: list[Application] = Field(default_factory=none_reported)
    is_sold: bool | None = None
    """Whether any of its products is not discontinued."""
    routes: list[str] = Field(default_factory=none_reported)
    """Ways in which those of its products are given that are not discontinued, in the agency's words."""


class Label(Fields, frozen=True):
    """The label of a drug product."""

    kind: Literal["label"] = "label"
    drug: str | None = None
    """Generic name; None where the label names none."""
    generic_names: list[str] = Field(default_factory=none_reported)
    brand_names: list[str] = Field(default_factory=none_reported)
    manufacturers: list[str] = Field(default_factory=none_reported)
    set_id: str | None = None
    """DailyMed's number."""
    sections: list[str] = Field(default_factory=none_reported)
    """Headings of what is quoted."""
    has_boxed_warning: bool | None = None
    named_drugs: list[NamedDrug] = Field(default_factory=none_reported)
    """Other drugs that its interactions and contraindications name, read from the whole sections."""


Record = Publication | Trial | Drug | Disease | Protein | Process | Approval | Label | Notice | Page
Kind = Literal["publication", "trial", "drug", "disease", "protein", "process", "approval", "label", "notice", "page"]
"""What a record is."""
KINDS: Mapping[str, type[Record]] = {form.model_fields["kind"].default: form for form in get_args(Record)}


def read(kind: Kind, said: Mapping[str, Any]) -> Record:
    """Read reported fields as a record; what the kind does not declare, or not in that form, goes to `extra`.

    >>> read("trial", {"nct_id": "nct00000102", "phases": "3", "mine": 1}).reported()
    {'phases': '3', 'mine': 1, 'nct_id': 'NCT00000102'}
    """
    form = KINDS[kind]
    known = {name: value for name, value in said.items() if name in _unsaid(form) and value is not None}
    try:
        found = form(**known)
    except ValidationError as error:
        unread = {str(each["loc"][0]) for each in error.errors(include_url=False, include_context=False)}
        known = {name: value for name, value in known.items() if name not in unread}
        found = form(**known)
    extra = {name: value for name, value in said.items() if name not in known and value is not None}
    return found.model_copy(update={"extra": extra}) if extra else found


def unite(records: Sequence[Record]) -> Record:
    """What records that are one report together; of several, the first one's kind, or a notice where any is one.

    Of an identifier, a text or a number the first counts, of a count the largest; lists are joined, each entry once;
    a flag holds where any record raises it.
    """
    first, *others = records
    changed: dict[str, Any] = {}
    extra = dict(first.extra)
    for record in others:
        for name, value in record.declared().items():
            kept = changed.get(name, vars(first).get(name))
            if (united := _united(name, kept, value)) is not kept:
                changed[name] = united
        for name, value in record.extra.items():
            extra[name] = _united(name, extra.get(name), value)
    if not extra and all(type(record) is type(first) for record in others):
        return first.model_copy(update=changed) if changed else first  # what was read need not be read again
    is_notice = isinstance(first, Paper) and any(isinstance(record, Notice) for record in records)
    return read("notice" if is_notice else first.kind, {**extra, **first.declared(), **changed})


def _united(name: str, kept: Any, other: Any) -> Any:
    if kept is None:
        return other
    if isinstance(kept, list) and isinstance(other, list):
        new = [value for value in other if value not in kept]
        return kept + new if new else kept
    if isinstance(kept, bool) and isinstance(other, bool):
        return kept or other
    if name == "cited_by_count" and isinstance(kept, int) and isinstance(other, int):
        return max(kept, other)
    return kept


@cache
def _unsaid(form: type[Fields]) -> Mapping[str, Any]:
    """What stands in the declared fields of a kind where nothing is reported."""
    declared = {name: field for name, field in form.model_fields.items() if name not in ("kind", "extra")}
    return {name: field.get_default(call_default_factory=True) for name, field in declared.items()}
