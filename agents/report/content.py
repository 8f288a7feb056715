"""What a report holds: its sections, candidates, tables and references. All of it is data; `model` gives it its forms.

Counts, grades and references are computed by code (`assembly`); the agent that has it written is in `reporter`.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, Field

from willowbark.tools.appraisal import Level, Quality, SeriousEvents
from willowbark.tools.appraisal.approvals import Group
from willowbark.tools.mechanism.steps import Chain
from willowbark.tools.reading.numbers import EffectSize
from willowbark.tools.reading.reading import Comparator, Indication, Primary
from willowbark.tools.wording import counted

from ..approval import Approval
from ..asking.claims import Claim
from ..pictures.figures import Outcome
from .forms.blocks import Block
from .forms.markdown import blocks_in_markdown

DISCLAIMER = (
    "This report summarises published records for research. It is not medical advice: nobody should start, stop or "
    "change a treatment because of it."
)
NOT_REPORTED: Final = "not reported"
REPURPOSING = "Repurposing candidate"
NONE_PROPOSED = "none beyond the mechanism listed"
CURATED, PUBLISHED = 0.9, 0.45  # confidence in an answer by who says it, our convention
EVENTS_NOTE = "counts only; they do not show that the drug caused them"
READING = "reading"
"""In the account of tokens, stands for what specialists had read, beside what they chose themselves."""
BATCHED = "reading in batches"
"""The same, at the price of a batch."""
OTHER_CALLS = "other"
"""In the account of tokens, stands for what belongs to no turn: the choice of speakers, answers that were lost."""
STOPPED = frozenset({"TERMINATED", "WITHDRAWN", "SUSPENDED"})
RUNNING = frozenset({"RECRUITING", "NOT_YET_RECRUITING", "ENROLLING_BY_INVITATION", "ACTIVE_NOT_RECRUITING"})
"""Statuses as ClinicalTrials.gov defines them: https://clinicaltrials.gov/data-api/about-api/study-data-structure."""
Stance = Literal["contradicts", "supports", "inconclusive", "excluded"]
_AGAINST = {"better": "better than", "no difference": "no difference from", "worse": "worse than"}
_AGAINST |= {"not inferior": "not inferior to"}
_LABELLED = {"contraindicated": "contraindication on the label"}


class ReportSection(BaseModel, extra="forbid"):
    """A part of the report."""

    title: str
    content: str
    """Markdown; `[3]` points to the third reference."""
    citations: list[str] = []
    """Keys of the records cited, in the order of their first mention."""
    blocks: list[Block] = []
    """The same content as renderers take it."""

    @classmethod
    def of(cls, title: str, blocks: Iterable[Block], citations: Iterable[str] = ()) -> Self:
        """A section as blocks, and the same as Markdown."""
        given = list(blocks)
        return cls(title=title, content=blocks_in_markdown(given), citations=list(citations), blocks=given)


class SummaryPart(BaseModel, extra="forbid"):
    """One sentence or two of the first screen."""

    label: str = ""
    """What the part is on: a drug, `No benefit`, `Harms`, …; empty for the answer and what needs no name."""
    text: str
    citations: list[str] = []
    """Keys of the records that it rests on."""

    @property
    def line(self) -> str:
        """The part as the summary has it."""
        return f"{self.label}: {self.text}" if self.label else self.text


class StudyLimit(BaseModel, extra="forbid"):
    """What a study says itself that limits it."""

    key: str
    section: str
    """Heading of the full text under which it stands."""
    quote: str
    """To the letter."""


class BestEstimate(BaseModel, extra="forbid"):
    """What the most telling supporting study of a drug found."""

    key: str
    """Of the study."""
    result: str | None = None
    """The direction of the result: better, no difference, worse, mixed; None is not reported, as below."""
    figures: str = ""
    """The effect estimate with its confidence interval; else the figures of a passage that gives a p value."""
    comparator: str | None = None
    participants: int | None = None

    @property
    def line(self) -> str:
        """The result with its figures, comparator and participants.

        >>> found = BestEstimate(key="pmid:1", result="better", figures="OR 2.8 (1.9 to 4.3)", participants=707)
        >>> found.line
        'better: OR 2.8 (1.9 to 4.3), comparator not reported, 707 participants'
        >>> found.model_copy(update={"comparator": "placebo"}).line
        'better than placebo: OR 2.8 (1.9 to 4.3), 707 participants'
        """
        result, _, hedge = (self.result or "result not reported").partition(", ")
        against = f"{_AGAINST.get(result, f'{result} against')} {self.comparator}" if self.comparator else result
        parts = (
            f"{against}: {self.figures}" if self.figures else against,
            hedge,
            "" if self.comparator else "comparator not reported",
            "participants not reported" if self.participants is None else counted(self.participants, "participant"),
        )
        return ", ".join(filter(None, parts))


class DrugCandidate(BaseModel, extra="forbid"):
    """A drug with evidence on the condition, for or against."""

    name: str
    generic_name: str | None = None
    current_indications: list[str] = []
    """Marketed indications; empty where the sources report none."""
    mechanism: str = NOT_REPORTED
    """Mechanism of action and targets as the drug databases give it."""
    proposed_mechanism: str = NOT_REPORTED
    """How it might act on the condition, as databases tell of its targets; `NONE_PROPOSED` where they tell no more than
    its mechanism."""
    chain: Chain | None = None
    """The way from the drug over its target and a process to the condition, each step with what says it; None where the
    report has no mechanism graph."""
    argument: ReportSection | None = None
    """The chain in three sentences, cited; None where no record says what the drug acts on."""
    in_asked_class: bool | None = None
    """Whether it is known to belong to a class of drugs that the question names; None where the question names none."""
    evidence_quality: Quality
    certainty: Level | Literal["not reported"] = NOT_REPORTED
    """GRADE-like level."""
    certainty_reasons: list[str] = []
    """Each step that led to the level."""
    held_down_by: list[str] = []
    """Why certainty was lowered, a reason a step."""
    clinical_status: str = NOT_REPORTED
    group: Group = "not_checked"
    """Whether it is new for the condition or already approved or standard for it; `not_checked` without approval
    data."""
    cautions: list[str] = []
    """Withdrawn, contraindicated, boxed warning, each with its source; empty where none is known."""
    combination: list[str] = []
    """Drugs with which it was studied together so that its own part cannot be told."""
    best_estimate: BestEstimate | None = None
    """None where no study supports it."""
    supporting_citations: list[str] = []
    """Keys of the supporting records."""
    contradicting_citations: list[str] = []
    """Keys of the contradicting records."""
    undecided_citations: list[str] = []
    """Keys of the inconclusive records."""
    claims: list[Claim] = []
    """Verified claims, each with the passage it rests on and the section that this stands in."""
    study_limits: list[StudyLimit] = []
    """What its studies say themselves that limits them; empty where no full text with such a passage was read."""

    @property
    def marks(self) -> list[str]:
        """Its cautions in a few words each: `withdrawn`, `contraindication on the label`, `boxed warning`."""
        kinds = dict.fromkeys(caution.partition(":")[0].lower() for caution in self.cautions)
        return [_LABELLED.get(kind, kind) for kind in kinds]

    def stance_of(self, row: "EvidenceRow") -> Stance:
        """How a record counts in the appraisal; retracted ones are excluded."""
        if row.retracted:
            return "excluded"
        if row.key in self.supporting_citations:
            return "supports"
        return "contradicts" if row.key in self.contradicting_citations else "inconclusive"


class Pico(BaseModel, extra="forbid"):
    """Whom a record studied, what was given, against what, and what came of it, in words; None is not reported."""

    population: str | None = None
    """The conditions of a registered trial; of a publication, how those it studied relate to the condition asked
    about."""
    intervention: str | None = None
    """The drug, and what it was in the study where it was not the one tested."""
    comparator: str | None = None
    outcome: str | None = None
    """The posted or the first planned outcome of a trial; of a publication, the kind of outcome."""
    result: str | None = None
    """How the drug did against the comparator."""


class EvidenceRow(BaseModel, extra="forbid"):
    """What one record says of one drug: a row of the supports/contradicts table."""

    key: str
    drug: str
    direction: str
    """supports, contradicts, inconclusive or not assessed."""
    design: str
    """Study design in words."""
    date: str
    title: str
    sentence: str = ""
    """The passage that the direction was read from; empty where there is none."""
    section: str | None = None
    """Where that passage stands: `Abstract`, `Title`, `Registry entry`, or a heading of the full text; None without
    one."""
    sample_size: int | None = None
    """Participants; None is not reported."""
    followup_months: float | None = None
    """None is not reported."""
    effects: list[EffectSize] = []
    """Effect sizes on the outcome that the direction was read from, with their sentences; those of the full text's
    results where the whole abstract gives none."""
    figures: list[str] = []
    """The figures of that passage, else of `in_figures`, as written, where there is no effect size and no other drug is
    named there."""
    in_figures: str = ""
    """Another sentence of the record, which gives the result in figures where the passage has none; empty where none
    was found."""
    in_figures_section: str | None = None
    """Where that sentence stands; None without one."""
    second_reader: str | None = None
    """What the rules take a record to say that a model read, as `direction`; it counts nowhere. None without one."""
    effects_section: str | None = None
    """Where the effect sizes stand; None without any."""
    is_preprint: bool = False
    harm: bool = False
    """Whether the study reports harm by the drug."""
    retracted: bool | None = None
    """None means that it could not be checked."""
    concern: bool | None = None
    """Whether an expression of concern stands; None means that it could not be checked."""
    tested: bool = True
    """Whether the study tests the drug: it is not the comparator of another one, and not named in passing."""
    alone: bool = True
    """Whether the drug's own part can be told; False in a combination whose parts were not compared."""
    comparator: Comparator = "not_reported"
    against: str | None = None
    """The active comparator by name; None where there is none or it is not named."""
    comparator_works: bool = False
    """Whether other studies of the report show with moderate or high certainty that this comparator works."""
    primary: Primary = "not_reported"
    indication: Indication = "condition"
    in_title: bool = True
    """Whether the title names the condition asked about, and not just as that of people treated for another one."""
    surrogate: bool = False
    """Whether the outcome is a mere marker of the condition."""
    unnamed: str | None = None
    """Men, children, … who are asked about and of whom the record does not speak; None where there are none."""
    why_stopped_kind: str | None = None
    """safety, futility, benefit or administrative; None where the trial was not stopped or gives no reason."""
    trial: str | None = None
    """The trial that it reports, by number, acronym, or author and size; None where it reports none or several."""
    pools: list[str] = []
    """Trials that a pooled analysis names."""
    pico: Pico | None = None
    """The question that the record answers; None where no reading says it."""

    @property
    def tested_figures(self) -> list[str]:
        """The figures as far as the first p value; none without one: such figures may be of anything."""
        place = next((at for at, figure in enumerate(self.figures, 1) if figure[:1] in "pP"), 0)
        return self.figures[:place]


class PostedResult(BaseModel, extra="forbid"):
    """What a trial's posted results say of one drug."""

    drug: str
    direction: str
    """supports, contradicts, inconclusive or not assessed."""
    reason: str
    """How the direction came about."""
    outcome: str | None = None
    """The primary outcome it was read from; None where none could be read."""
    sentence: str = ""
    """The posted analysis it was read from; empty where none could be read."""
    serious_events: list[SeriousEvents] = []
    """Participants with serious adverse events by group: numbers alone, no claim that the drug caused them."""


class TrialRow(BaseModel, extra="forbid"):
    """A registered trial on the condition."""

    key: str
    nct_id: str
    title: str
    drugs: list[str] = []
    status: str | None = None
    """As the registry writes it; None is not reported."""
    phases: list[str] = []
    enrollment: int | None = None
    start_date: str | None = None
    completion_date: str | None = None
    why_stopped: str | None = None
    why_stopped_kind: str | None = None
    """safety, futility, benefit or administrative; None where the trial was not stopped or gives no reason."""
    has_results: bool = False
    posted: list[PostedResult] = []
    """What its posted results say of each of its drugs; empty where none are posted."""

    @property
    def outcome(self) -> Outcome:
        """How the trial ended, as far as the registry says."""
        if self.status in STOPPED:
            return "stopped"
        if self.status in RUNNING:
            return "running"
        return "completed" if self.status == "COMPLETED" else "not reported"

    @property
    def status_words(self) -> str:
        """Its status as people write it: `not yet recruiting`."""
        return self.status.replace("_", " ").lower() if self.status else NOT_REPORTED

    @property
    def phase_words(self) -> str:
        """Its phase as people write it.

        >>> TrialRow(key="nct:NCT02188459", nct_id="", title="", phases=["PHASE2", "PHASE3"]).phase_words
        'phase 2/3'
        """
        numbers = [phase.removeprefix("PHASE") for phase in self.phases if phase != "NA"]
        if not numbers:
            return "phase not applicable" if self.phases else f"phase {NOT_REPORTED}"
        return f"phase {'/'.join(numbers)}".replace("EARLY_PHASE", "early ")


class SearchLogEntry(BaseModel, extra="forbid"):
    """One query to one source, and what came of it."""

    source: str
    query: str
    specialist: str
    iteration: int
    status: str
    taken: int
    """Records handed over."""
    found: int
    """Hits that the source reports."""
    filters: dict[str, str] | None = None
    """Limits that were sent with the query, by the source's own names; empty for none, None for not noted."""
    asked_at: datetime | None = None
    warnings: list[str] = []
    understood: str = ""
    """The query as the source says that it understood it; empty where it doesn't say."""


class Flow(BaseModel, extra="forbid"):
    """How many records came and went (PRISMA 2020, https://doi.org/10.1136/bmj.n71)."""

    identified: dict[str, int] = {}
    """Records by source, before duplicates are united."""
    duplicates: int = 0
    """Records that were united with another one."""
    screened: int = 0
    excluded: dict[str, int] = {}
    """Records left out, by reason."""
    included: int = 0
    """Records appraised for a candidate."""


class TurnUsage(BaseModel, extra="forbid"):
    """What an agent's turn used up of the language model."""

    agent: str
    """Name of the agent, or `OTHER_CALLS`."""
    iteration: int | None = None
    """The round, from 1; None is all rounds."""
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = None
    """US dollars at the model's list price, as though nothing was kept; None where the price is not known."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


class ModelCalls(BaseModel, frozen=True, extra="forbid"):
    """How a run's calls of its model went."""

    made: int = 0
    failed: int = 0
    reason: str = ""
    """Why the last one failed, in the provider's words without keys."""

    @property
    def said(self) -> str:
        """What failed, in words; empty where nothing did."""
        return f"failed {self.failed} of {self.made} calls: {self.reason}" if self.failed else ""


class ReportContent(BaseModel, extra="forbid"):
    """Everything that the answer to a question holds."""

    title: str
    executive_summary: str = Field(min_length=100, max_length=1000)
    """100 to 1000 characters."""
    summary_parts: list[SummaryPart] = []
    """The summary part by part."""
    research_question: str
    answer: ReportSection | None = None
    """What the answer rests on where the question asks for harm, safety, a comparison, a mechanism, status or what
    does not help; None for others."""
    methodology: ReportSection
    hypotheses_tested: list[dict[str, Any]] = []
    """`MechanismHypothesis` fields and the verdict on each."""
    disease_mechanism: ReportSection | None = None
    """What is known of the condition's targets and processes, cited; None where the question names no condition."""
    safety: ReportSection | None = None
    """Status and harms of the candidates; None without any."""
    mechanistic_findings: ReportSection
    clinical_findings: ReportSection
    drug_candidates: list[str] = []
    """Names, best supported first."""
    candidates: list[DrugCandidate] = []
    limitations: list[str] = []
    gaps: list[str] = []
    """What the judge found missing when the search ended."""
    judged: list[str] = []
    """Its reasons then, on the whole, on mechanisms and on clinical evidence, with a model's scores, and what each
    specialist's model made of its last round, in their own words: no record was checked for them. None names a drug or
    holds a figure unless the quote of a claim says it; that stands with the record's name. So with the next."""
    key_findings: list[str] = []
    """What it found most telling then."""
    conclusion: str
    references: list[dict[str, Any]] = []
    """number, key, title, authors, source, date, url and flags of each record cited; journal, journal_abbreviation,
    volume, issue, pages and identifiers where the source gives them."""
    sources_searched: list[str] = []
    total_papers_reviewed: int = Field(default=0, ge=0)
    search_iterations: int = Field(default=0, ge=0)
    tokens_used: int = Field(default=0, ge=0)
    """Prompt and completion tokens; with the baseline analyst an estimate of what a language model would have read."""
    usage: list[TurnUsage] = []
    """Tokens and cost by agent and round; empty where no language model was used, or nobody kept account."""
    analyst: str | None = None
    """Who wrote it: the model, or who stood in for it and why; None where nobody says."""
    model_failed: bool = False
    """Whether somebody else wrote it than the model that was to."""
    approval: Approval | None = None
    """Who decided on the candidates before the report was written; None where nobody says."""
    stop_reason: str
    unread: int = Field(default=0, ge=0)
    """Records that were found and not read, since the run was stopped before their turn came."""
    confidence_score: float = Field(ge=0.0, le=1.0)
    """0 to 1: as the judging model gave it; where none judged, computed from the candidates' certainty."""
    claims_kept: int = Field(default=0, ge=0)
    claims_repaired: int = Field(default=0, ge=0)
    """Of those kept, how many were mended before they stood."""
    claims_dropped: int = Field(default=0, ge=0)
    claims_unworded: int = Field(default=0, ge=0)
    """Of those kept, how many stand as their quote alone, since the model's wording went beyond it."""
    claims_turned: int = Field(default=0, ge=0)
    """Of those kept, how many were taken by the model for another verdict than the readings give; none is shown."""
    evidence_table: list[EvidenceRow] = []
    """Every record that was appraised for a candidate, candidates in their order."""
    trials: list[TrialRow] = []
    search_log: list[SearchLogEntry] = []
    flow: Flow = Field(default_factory=Flow)
    disclaimer: str = DISCLAIMER
    generated_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
