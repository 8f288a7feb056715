"""Content of a report: sections, candidates, tables and references, all as data; `model` adds its forms.

Counts, grades and references are computed by code (`assembly`); the report agent is in `reporter`.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, Field

from willowbark.tools.appraisal import Level, Quality, SeriousEvents
from willowbark.tools.appraisal.approvals import Group
from willowbark.tools.mechanism.steps import Chain
from willowbark.tools.reading.numbers import P_VALUE, EffectSize
from willowbark.tools.reading.reading import Comparator, Indication, Primary, Value, ValueKind
from willowbark.tools.wording import counted

from ..approval import Approval
from ..asking.claims import Claim
from ..pictures.figures import Outcome, estimate
from .forms.blocks import Block
from .forms.markdown import blocks_in_markdown

DISCLAIMER = (
    "This report summarises published records for research. It is not medical advice: nobody should start, stop or "
    "change a treatment because of it."
)
NOT_REPORTED: Final = "not reported"
EFFICACY = "efficacy"
"""The kind of outcome of most studies, which goes without saying."""
REPURPOSING = "Repurposing candidate"
NONE_PROPOSED = "none beyond the mechanism listed"
CURATED, PUBLISHED = 0.9, 0.45  # confidence in an answer by its source, our convention
EVENTS_NOTE = "counts only; they do not show that the drug caused them"
READING = "reading"
"""In the account of tokens: specialists' reading, as opposed to their choice of queries."""
BATCHED = "reading in batches"
"""The same at a batch's price."""
OTHER_CALLS = "other"
"""In the account of tokens: calls outside turns, such as the choice of speakers and lost answers."""
STOPPED = frozenset({"TERMINATED", "WITHDRAWN", "SUSPENDED"})
RUNNING = frozenset({"RECRUITING", "NOT_YET_RECRUITING", "ENROLLING_BY_INVITATION", "ACTIVE_NOT_RECRUITING"})
"""Statuses as ClinicalTrials.gov defines them: https://clinicaltrials.gov/data-api/about-api/study-data-structure."""
Stance = Literal["contradicts", "supports", "inconclusive", "excluded"]
_NUMBERS = re.compile(r"(?:\d[\d.,]*)(?:\s*(?:±|\+/-)\s*\d[\d.,]*)?")
_UP_TO, _LEVEL = frozenset("< <= ≤ =".split()), 0.05
_AGAINST = {each: f"{each} than" for each in ("better", "worse", "no worse")} | {"no difference": "no difference from"}
_LABELLED = {"contraindicated": "contraindication on the label"}


class ReportSection(BaseModel, extra="forbid"):
    """A part of the report."""

    title: str
    content: str
    """Markdown; `[3]` is the third reference."""
    citations: list[str] = []
    """Keys of the records cited, in the order of their first mention."""
    blocks: list[Block] = []
    """The same content for renderers."""

    @classmethod
    def of(cls, title: str, blocks: Iterable[Block], citations: Iterable[str] = ()) -> Self:
        """Build a section from blocks, with the same as Markdown."""
        given = list(blocks)
        return cls(title=title, content=blocks_in_markdown(given), citations=list(citations), blocks=given)


class SummaryPart(BaseModel, extra="forbid"):
    """One sentence or two of the first screen."""

    label: str = ""
    """Topic of the part: a drug, `No benefit`, `Harms`, …; empty for the answer and others without a name."""
    text: str
    citations: list[str] = []
    """Keys of the supporting records."""

    @property
    def line(self) -> str:
        """The part as shown in the summary."""
        return f"{self.label}: {self.text}" if self.label else self.text


class StudyLimit(BaseModel, extra="forbid"):
    """A limitation reported by the study itself."""

    key: str
    section: str
    """Heading of the full text above it."""
    quote: str
    """Verbatim."""


class BestEstimate(BaseModel, extra="forbid"):
    """Result of a drug's most informative supporting study."""

    key: str
    """Key of the study."""
    result: str | None = None
    """Direction of the result: better, no difference, worse, mixed; None if not reported, as below."""
    figures: str = ""
    """The effect estimate with its confidence interval, or the figures of a passage with a p value."""
    comparator: str | None = None
    participants: int | None = None
    preclinical: str = ""
    """"in vivo" or "in vitro"; empty for a study in people."""

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
            self.preclinical
            or (
                "participants not reported" if self.participants is None else counted(self.participants, "participant")
            ),
        )
        return ", ".join(filter(None, parts))


class DrugCandidate(BaseModel, extra="forbid"):
    """A drug with evidence on the condition, for or against."""

    name: str
    generic_name: str | None = None
    current_indications: list[str] = []
    """Marketed indications; empty if the sources report none."""
    mechanism: str = NOT_REPORTED
    """Mechanism of action and targets from the drug databases."""
    proposed_mechanism: str = NOT_REPORTED
    """How it might act on the condition, from databases on its targets; `NONE_PROPOSED` if they only give its
    mechanism."""
    chain: Chain | None = None
    """Path from the drug through its target and a process to the condition, each step with sources; None if the report
    has no mechanism graph."""
    argument: ReportSection | None = None
    """The chain in three sentences with citations; None if no record gives the drug's target."""
    in_asked_class: bool | None = None
    """Whether it is known to belong to a drug class named in the question; None if the question names none."""
    evidence_quality: Quality
    certainty: Level | Literal["not reported"] = NOT_REPORTED
    """GRADE-like level."""
    certainty_reasons: list[str] = []
    """Each step that led to the level."""
    held_down_by: list[str] = []
    """Why certainty was lowered, one reason per step."""
    remarks: list[str] = []
    """Trials that several records report, retracted and stopped ones, records not checked for retraction."""
    clinical_status: str = NOT_REPORTED
    group: Group = "not_checked"
    """Whether it is new for the condition or already approved or standard for it; `not_checked` without approval
    data."""
    cautions: list[str] = []
    """Withdrawn, contraindicated, boxed warning, each with its source; empty if none is known."""
    combination: list[str] = []
    """Drugs it was studied in combination with, so that its own effect is unknown."""
    for_prevention: bool = False
    """Whether all supporting studies are on prevention, by their titles, though the question is not."""
    best_estimate: BestEstimate | None = None
    """None if no study supports it."""
    supporting_citations: list[str] = []
    """Keys of the supporting records."""
    contradicting_citations: list[str] = []
    """Keys of the contradicting records."""
    undecided_citations: list[str] = []
    """Keys of the records that compared it without a clear answer; those that only mention it are not among them."""
    claims: list[Claim] = []
    """Verified claims, each with its passage and the passage's section."""
    study_limits: list[StudyLimit] = []
    """Limitations reported by its studies; empty if no full text with such a passage was read."""

    @property
    def marks(self) -> list[str]:
        """Its cautions in a few words each: `withdrawn`, `contraindication on the label`, `boxed warning`."""
        kinds = dict.fromkeys(caution.partition(":")[0].lower() for caution in self.cautions)
        return [_LABELLED.get(kind, kind) for kind in kinds]

    def stance_of(self, row: "EvidenceRow") -> Stance:
        """Return a record's stance in the appraisal; retracted ones are excluded."""
        if row.retracted:
            return "excluded"
        if row.key in self.supporting_citations:
            return "supports"
        return "contradicts" if row.key in self.contradicting_citations else "inconclusive"


class Pico(BaseModel, extra="forbid"):
    """Population, intervention, comparator and outcome of a record, in words; None if not reported."""

    population: str | None = None
    """Conditions of a registered trial; for a publication, how its participants relate to the condition asked
    about."""
    intervention: str | None = None
    """The drug, with its role in the study if it was not the one tested."""
    comparator: str | None = None
    outcome: str | None = None
    """Posted or first planned outcome of a trial; for a publication, the kind of outcome."""
    result: str | None = None
    """Result of the drug against the comparator."""


class EvidenceRow(BaseModel, extra="forbid"):
    """One record's result on one drug: a row of the supports/contradicts table."""

    key: str
    drug: str
    direction: str
    """supports, contradicts, inconclusive or not assessed."""
    design: str
    """Study design in words."""
    date: str
    title: str
    sentence: str = ""
    """Passage from which the direction was read; empty if there is none."""
    section: str | None = None
    """Location of that passage: `Abstract`, `Title`, `Registry entry`, or a heading of the full text; None without
    one."""
    sample_size: int | None = None
    """Participants; None if not reported."""
    followup_months: float | None = None
    """None if not reported."""
    effects: list[EffectSize] = []
    """Effect sizes on the outcome from which the direction was read, with their sentences; from the full text's results
    if the whole abstract has none."""
    values: list[Value] = []
    """Values of its comparison as a model took them from the record; dose and tolerability without one, too. `compared`
    has all kinds."""
    figures: list[str] = []
    """Figures of that passage, else of `in_figures`, as written; only without an effect size and if no other drug is
    named there."""
    in_figures: str = ""
    """Another sentence of the record with the result in figures if the passage has none; empty if none
    was found."""
    in_figures_section: str | None = None
    """Location of that sentence; None without one."""
    second_reader: str | None = None
    """The rules' reading of a record that a model read, as in `direction`; not counted. None without one."""
    effects_section: str | None = None
    """Location of the effect sizes; None without any."""
    is_preprint: bool = False
    harm: bool = False
    """Whether the study reports harm by the drug."""
    retracted: bool | None = None
    """None if it could not be checked."""
    concern: bool | None = None
    """Whether there is an expression of concern; None if it could not be checked."""
    tested: bool = True
    """Whether the study tests the drug, as opposed to using it as comparator or naming it in passing."""
    alone: bool = True
    """Whether the drug's own effect is known; False in a combination whose parts were not compared."""
    comparator: Comparator = "not_reported"
    against: str | None = None
    """Name of the active comparator; None if there is none or it is not named."""
    comparator_works: bool = False
    """Whether other studies in the report show with moderate or high certainty that this comparator works."""
    primary: Primary = "not_reported"
    indication: Indication = "condition"
    in_title: bool = True
    """Whether the title names the condition asked about, and no other one."""
    surrogate: bool = False
    """Whether the outcome is only a marker of the condition."""
    unnamed: str | None = None
    """Men, children, … asked about but not mentioned in the record; None if there are none."""
    why_stopped_kind: str | None = None
    """safety, futility, benefit or administrative; None where the trial was not stopped or gives no reason."""
    trial: str | None = None
    """The trial it reports, by number, acronym, or author and size; None if it reports none or several."""
    pools: list[str] = []
    """Trials named in a pooled analysis."""
    pico: Pico | None = None
    """The record's PICO; None without a reading."""

    def compared(self, what: ValueKind) -> list[Value]:
        """Return its values of a kind: those in `values`, else those of its other fields; empty if not reported."""
        if own := [each for each in self.values if each.what == what]:
            return own
        found: dict[ValueKind, list[str]] = {
            "estimate": [*dict.fromkeys(map(estimate, self.effects))] or self.tested_figures,
            "comparator": [self.pico.comparator or ""] if self.pico else [],
            "participants": [] if self.sample_size is None else [f"{self.sample_size:,}"],
        }
        return [Value(what=what, written=each) for each in found.get(what, ()) if each]

    @property
    def tested_figures(self) -> list[str]:
        """The figures up to the first p value; that alone if several values do not tell whose they are.

        Empty without a p value, and if it is significant though no difference was found: then it is on something else.
        """
        places = ((at, found) for at, figure in enumerate(self.figures) if (found := P_VALUE.match(figure)))
        place, p = next(places, (0, None))
        no_difference = self.pico is not None and self.pico.result == "no difference"
        if p is None or (p["sign"] in _UP_TO and float(p["value"]) <= _LEVEL and no_difference):
            return []
        bare = [each for each in self.figures[:place] if len(_NUMBERS.findall(each)) == 1]
        return self.figures[place if len(bare) > 1 else 0 : place + 1]


class PostedResult(BaseModel, extra="forbid"):
    """A trial's posted result on one drug."""

    drug: str
    direction: str
    """supports, contradicts, inconclusive or not assessed."""
    reason: str
    """Why it has this direction."""
    outcome: str | None = None
    """Primary outcome from which it was read; None if none could be read."""
    sentence: str = ""
    """Posted analysis from which it was read; empty if none could be read."""
    serious_events: list[SeriousEvents] = []
    """Participants with serious adverse events by group: counts only, no claim that the drug caused them."""


class TrialRow(BaseModel, extra="forbid"):
    """A registered trial on the condition."""

    key: str
    nct_id: str
    title: str
    drugs: list[str] = []
    status: str | None = None
    """As in the registry; None if not reported."""
    phases: list[str] = []
    enrollment: int | None = None
    start_date: str | None = None
    completion_date: str | None = None
    why_stopped: str | None = None
    why_stopped_kind: str | None = None
    """safety, futility, benefit or administrative; None where the trial was not stopped or gives no reason."""
    has_results: bool = False
    posted: list[PostedResult] = []
    """Its posted results on each of its drugs; empty if none are posted."""

    @property
    def outcome(self) -> Outcome:
        """How the trial ended according to the registry."""
        if self.status in STOPPED:
            return "stopped"
        if self.status in RUNNING:
            return "running"
        return "completed" if self.status == "COMPLETED" else "not reported"

    @property
    def status_words(self) -> str:
        """Its status in words: `not yet recruiting`."""
        return self.status.replace("_", " ").lower() if self.status else NOT_REPORTED

    @property
    def phase_words(self) -> str:
        """Its phase in words.

        >>> TrialRow(key="nct:NCT02188459", nct_id="", title="", phases=["PHASE2", "PHASE3"]).phase_words
        'phase 2/3'
        """
        numbers = [phase.removeprefix("PHASE") for phase in self.phases if phase != "NA"]
        if not numbers:
            return "phase not applicable" if self.phases else f"phase {NOT_REPORTED}"
        return f"phase {'/'.join(numbers)}".replace("EARLY_PHASE", "early ")


class SearchLogEntry(BaseModel, extra="forbid"):
    """One query to one source, with its result."""

    source: str
    query: str
    specialist: str
    iteration: int
    status: str
    taken: int
    """Records returned."""
    found: int
    """Hits reported by the source."""
    filters: dict[str, str] | None = None
    """Limits sent with the query, by the source's names; empty for none, None if not recorded."""
    asked_at: datetime | None = None
    warnings: list[str] = []
    understood: str = ""
    """The query as interpreted by the source; empty if not reported."""


class Flow(BaseModel, extra="forbid"):
    """Flow of records (PRISMA 2020, https://doi.org/10.1136/bmj.n71)."""

    identified: dict[str, int] = {}
    """Records by source, before duplicates are merged."""
    duplicates: int = 0
    """Records merged into another one."""
    screened: int = 0
    excluded: dict[str, int] = {}
    """Records excluded, by reason."""
    included: int = 0
    """Records appraised for a candidate."""


class TurnUsage(BaseModel, extra="forbid"):
    """Language model usage of an agent's turn."""

    agent: str
    """Name of the agent, or `OTHER_CALLS`."""
    iteration: int | None = None
    """The round, from 1; None for all rounds."""
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = None
    """US dollars at the model's list price without caching; None if the price is not known."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


class ModelCalls(BaseModel, frozen=True, extra="forbid"):
    """Counts of a run's model calls and failures."""

    made: int = 0
    failed: int = 0
    reason: str = ""
    """Why the last one failed, from the provider's message without keys."""

    @property
    def said(self) -> str:
        """The failures in words; empty without any."""
        return f"failed {self.failed} of {self.made} calls: {self.reason}" if self.failed else ""


class ReportContent(BaseModel, extra="forbid"):
    """Full content of the answer to a question."""

    title: str
    executive_summary: str = Field(min_length=100, max_length=1000)
    """100 to 1000 characters."""
    summary_parts: list[SummaryPart] = []
    """The summary part by part."""
    research_question: str
    answer: ReportSection | None = None
    """Evidence for the answer if the question asks for harm, safety, a comparison, a mechanism, status or what does
    not help; None for others."""
    methodology: ReportSection
    hypotheses_tested: list[dict[str, Any]] = []
    """Fields of `MechanismHypothesis`, with the verdict on each."""
    disease_mechanism: ReportSection | None = None
    """The condition's known targets and processes with citations; None if the question names no condition."""
    safety: ReportSection | None = None
    """Status and harms of the candidates; None without any."""
    mechanistic_findings: ReportSection
    clinical_findings: ReportSection
    drug_candidates: list[str] = []
    """Names, best supported first."""
    candidates: list[DrugCandidate] = []
    limitations: list[str] = []
    gaps: list[str] = []
    """Gaps found by the judge when the search ended."""
    judged: list[str] = []
    """The judge's scores then for mechanisms and clinical evidence, with its reasons."""
    key_findings: list[str] = []
    """Sentences of the records that the judge then named as deciding the question, each with its drug and record."""
    conclusion: str
    references: list[dict[str, Any]] = []
    """number, key, title, authors, source, date, url and flags of each record cited; journal, journal_abbreviation,
    volume, issue, pages and identifiers if the source gives them."""
    sources_searched: list[str] = []
    library: str = ""
    """The local library that answered in the sources' place; empty if they answered themselves."""
    total_papers_reviewed: int = Field(default=0, ge=0)
    search_iterations: int = Field(default=0, ge=0)
    tokens_used: int = Field(default=0, ge=0)
    """Prompt and completion tokens; with the baseline analyst an estimate for a language model."""
    usage: list[TurnUsage] = []
    """Tokens and cost by agent and round; empty without a language model or an account."""
    analyst: str | None = None
    """The writer: the model, or its fallback with the reason; None if unknown."""
    model_failed: bool = False
    """Whether the fallback wrote it because the model failed."""
    approval: Approval | None = None
    """Who decided on the candidates before the report was written; None if unknown."""
    stop_reason: str
    unread: int = Field(default=0, ge=0)
    """Records found but not read because the run was stopped."""
    confidence_score: float = Field(ge=0.0, le=1.0)
    """0 to 1, from the judging model, or computed from the candidates' certainty if none judged."""
    claims_kept: int = Field(default=0, ge=0)
    claims_repaired: int = Field(default=0, ge=0)
    """Number of kept claims that were accepted after correction."""
    claims_dropped: int = Field(default=0, ge=0)
    evidence_table: list[EvidenceRow] = []
    """Every record appraised for a candidate, by candidate in order."""
    trials: list[TrialRow] = []
    search_log: list[SearchLogEntry] = []
    flow: Flow = Field(default_factory=Flow)
    disclaimer: str = DISCLAIMER
    generated_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
