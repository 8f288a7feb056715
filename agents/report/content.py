"""Content of a report as data, computed by code (`assembly`); `model` adds its forms."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, Field, model_validator

from willowbark.tools.appraisal import Level, Quality
from willowbark.tools.appraisal.candidates import CandidateGroup
from willowbark.tools.appraisal.certainty import STOPPED, CandidateOutcome, StudyFacts
from willowbark.tools.appraisal.corrected import PersonsWord
from willowbark.tools.appraisal.judgement import JudgeView
from willowbark.tools.appraisal.posted import PostedFinding
from willowbark.tools.appraisal.sorting import SortedDrug
from willowbark.tools.appraisal.suitability import is_barred
from willowbark.tools.mechanism import Chain
from willowbark.tools.reading.numbers import P_VALUE, EffectSize
from willowbark.tools.reading.reading import Value, ValueKind
from willowbark.tools.records import EvidenceType
from willowbark.tools.records.study import Study
from willowbark.tools.wording import counted

from ..approval import Approval
from ..asking.claims import Claim
from ..asking.reader import UnreadRecord
from ..checking.written import WrittenAnswer
from ..pictures import write_estimate
from ..work import WorkShare
from .forms.blocks import Block, Cite
from .forms.markdown import render_blocks

DISCLAIMER = (
    "This report summarises published records for research. It is not medical advice: nobody should start, stop or "
    "change a treatment because of it."
)
NOT_REPORTED: Final = "not reported"
EFFICACY = "efficacy"  # the kind of outcome of most studies, which goes without saying
NONE_PROPOSED = "none beyond the mechanism listed"
CURATED = 0.9
PUBLISHED = 0.45  # confidence in an answer by its source, our convention
EVENTS_NOTE = "counts only; they do not show that the drug caused them"
READING = "reading"
BATCHED = "reading in batches"
"""In the account of tokens: specialists' reading, apart from their choice of queries; the same at a batch's price."""
TEXTS = "reading whole full texts"
BATCHED_TEXTS = "reading whole full texts in batches"
"""In the account of tokens: the reading of full texts that decide, in prompts of their own; likewise."""
CHECKING = "checker"
"""In the account of tokens: the calls that compare written sentences with what they cite."""
OTHER_CALLS = "other"
"""In the account of tokens: calls outside turns, such as the reading of the question and lost answers."""
RUNNING = frozenset({"RECRUITING", "NOT_YET_RECRUITING", "ENROLLING_BY_INVITATION", "ACTIVE_NOT_RECRUITING"})
"""Statuses as ClinicalTrials.gov defines them: https://clinicaltrials.gov/data-api/about-api/study-data-structure."""
TrialState = Literal["completed", "running", "stopped", "not reported"]
RecordStance = Literal["contradicts", "supports", "missed", "inconclusive", "excluded"]
_NUMBERS = re.compile(r"(?:\d[\d.,]*)(?:\s*(?:±|\+/-)\s*\d[\d.,]*)?")
_UP_TO = frozenset("< <= ≤ =".split())
_LEVEL = 0.05
_THAN = {finding: f"{finding} than" for finding in ("better", "worse", "no worse")}
_AGAINST = _THAN | {"no difference": "no difference from"}
_LABELLED = {"contraindicated": "contraindication on the label"}


class ReportSection(BaseModel, extra="forbid"):
    """A part of the report."""

    title: str
    content: str
    """Markdown; `[3]` is the third reference."""
    citations: list[str] = []
    """Keys of the records first cited here, in order."""
    blocks: list[Block] = []
    """The same content for renderers."""

    @classmethod
    def of(cls, title: str, blocks: Iterable[Block], citations: Iterable[str] = ()) -> Self:
        """Build a section from blocks."""
        block_list = list(blocks)
        return cls(title=title, content=render_blocks(block_list), citations=list(citations), blocks=block_list)


class SummaryPart(BaseModel, extra="forbid"):
    """One sentence or two of the first screen."""

    label: str = ""
    """A drug, `Failed or harmful`, `Cautions`, …; empty for the answer and the advice."""
    text: str
    citations: list[str] = []

    @property
    def line(self) -> str:
        """The part with its label."""
        return f"{self.label}: {self.text}" if self.label else self.text


class StudyLimit(BaseModel, extra="forbid"):
    """A limitation reported by the study itself."""

    key: str
    section: str
    """Heading of the full text above it."""
    quote: str


class BestEstimate(BaseModel, extra="forbid"):
    """Result of a drug's most informative supporting study."""

    key: str
    result: str | None = None
    """better, no difference, worse or mixed; None if not reported, as below."""
    figures: str = ""
    """Effect estimate with confidence interval, or figures with a p value."""
    comparator: str | None = None
    participants: int | None = None
    preclinical: str = ""
    """"in vivo" or "in vitro"; empty for a study in people."""
    outcome: str = ""
    """"a marker of the condition" and the like; empty for efficacy itself, and where it is not told."""

    @property
    def line(self) -> str:
        """The result with its figures, comparator and participants, as far as the study reports them.

        >>> found = BestEstimate(key="pmid:1", result="better", figures="OR 2.8 (1.9 to 4.3)", participants=707)
        >>> found.line
        'better: OR 2.8 (1.9 to 4.3), 707 participants'
        >>> found.model_copy(update={"comparator": "placebo"}).line
        'better than placebo: OR 2.8 (1.9 to 4.3), 707 participants'
        """
        result, _, hedge = (self.result or "result not reported").partition(", ")
        people = "" if self.participants is None else counted(self.participants, "participant")
        if self.comparator:
            result = f"{_AGAINST.get(result, f'{result} against')} {self.comparator}"
        figures = f"{result}: {self.figures}" if self.figures else result
        return ", ".join(filter(None, (figures, hedge, self.preclinical or people)))


class DrugCandidate(BaseModel, extra="forbid"):
    """A drug with evidence on the condition, for or against."""

    name: str
    generic_name: str | None = None
    current_indications: list[str] = []
    """Marketed ones; empty if the sources report none."""
    mechanism: str = NOT_REPORTED
    """Mechanism of action and targets from the drug databases."""
    mechanism_sources: list[str] = []
    """Keys of the database entries that give it."""
    proposed_mechanism: str = NOT_REPORTED
    """How it might act on the condition: its target, a process of the target and what links them with the condition,
    as far as records say; `NONE_PROPOSED` if these only give its mechanism."""
    chain: Chain | None = None
    """Path from the drug through its target and a process to the condition, each step with sources."""
    argument: ReportSection | None = None
    """The chain in three sentences with citations; None if no record gives the drug's target."""
    in_asked_class: bool | None = None
    """None if the question names no class."""
    evidence_quality: Quality
    certainty: Level | Literal["not reported"] = NOT_REPORTED
    """GRADE-like level."""
    certainty_reasons: list[str] = []
    """Each step that led to the level."""
    held_down_by: list[str] = []
    """Why certainty was lowered, one reason per step."""
    remarks: list[str] = []
    """On trials reported twice, retracted or stopped, and records not checked for retraction."""
    clinical_status: str = NOT_REPORTED
    group: CandidateGroup = "not_checked"
    """New for the condition, or approved or standard for it; `not_checked` without approval data."""
    cautions: list[str] = []
    """Withdrawn, contraindicated, boxed warning, each with its source; empty if none is known."""
    labelled_routes: dict[str, list[str]] = {}
    """Routes of administration by key of the record that gives them: an agency's list, a drug database."""
    combination: list[str] = []
    """Drugs it was studied together with, so that its own effect is unknown."""
    for_prevention: bool = False
    """Whether all supporting studies are on prevention, by their titles, though the question is not."""
    best_estimate: BestEstimate | None = None
    sorting: SortedDrug = SortedDrug()
    """Its place by what was found of it, with the trials counted."""
    supporting_citations: list[str] = []
    """Keys of records, as in the next two fields."""
    contradicting_citations: list[str] = []
    undecided_citations: list[str] = []
    """Of records that compared it without a clear answer, not of those that only mention it."""
    missed_citations: list[str] = []
    """Of those, the trials that missed their primary outcome, or found no difference from placebo or nothing."""
    claims: list[Claim] = []
    """Verified ones."""
    study_limits: list[StudyLimit] = []
    in_detail: bool = True
    """False for those that the table of further drugs has in a line each."""

    @model_validator(mode="before")
    @classmethod
    def _take_earlier_outcome(cls, data: Any) -> Any:
        """Move `outcome` of reports that were saved before it stood in `sorting`."""
        if not isinstance(data, Mapping) or "outcome" not in data:
            return data
        moved = {name: value for name, value in data.items() if name != "outcome"}
        sorting = moved.get("sorting") or {}
        if isinstance(sorting, Mapping):
            moved["sorting"] = {"outcome": data["outcome"], **sorting}
        return moved

    @property
    def marks(self) -> list[str]:
        """Its cautions in short: `withdrawn`, `contraindication on the label`, `boxed warning`."""
        kinds = dict.fromkeys(caution.partition(":")[0].lower() for caution in self.cautions)
        return [_LABELLED.get(kind, kind) for kind in kinds]

    @property
    def outcome(self) -> CandidateOutcome:
        """What its studies come to: failed is told only of drugs that none supports, or that are refuted."""
        return self.sorting.outcome

    @property
    def is_barred(self) -> bool:
        """Whether it was withdrawn from a market, or is not for the people whom the question names: it never leads."""
        return is_barred(self.cautions)

    @property
    def level(self) -> str:
        """The certainty that it helps, if any study supports it; else `refuted` or `unsupported`.

        A standard is in use: where these records show little of it, it is called `standard`, not doubtful.
        """
        if self.sorting.place == "standard" and self.certainty not in ("high", "moderate"):
            return "standard"
        if self.evidence_quality == "refuted" and self.outcome not in ("mixed", "supported"):
            return "refuted"
        return self.certainty if self.supporting_citations else "unsupported"

    def stance_of(self, row: "EvidenceRow") -> RecordStance:
        """Return a record's stance in the appraisal."""
        if row.retracted:
            return "excluded"
        if row.key in self.supporting_citations:
            return "supports"
        if row.key in self.contradicting_citations:
            return "contradicts"
        return "missed" if row.key in self.missed_citations else "inconclusive"


class Pico(BaseModel, extra="forbid"):
    """Population, intervention, comparator and outcome of a record, in words; None if not reported."""

    population: str | None = None
    """Of a trial its conditions; of a publication, how its participants relate to the condition asked about."""
    intervention: str | None = None
    """The drug, with its role in the study if it was not the one tested."""
    comparator: str | None = None
    outcome: str | None = None
    """Of a trial the posted or first planned one; of a publication its kind."""
    result: str | None = None


class EvidenceRow(StudyFacts, frozen=True, extra="forbid"):
    """One record's result on one drug."""

    drug: str
    direction: str
    """supports, contradicts, inconclusive or not assessed."""
    design: str
    date: str
    title: str
    sentence: str = ""
    """Passage from which the direction was read; empty if there is none."""
    evidence_type: EvidenceType = "clinical"
    """`mechanism` for studies in animals or cells, `safety` for results on harm, else `clinical`."""
    section: str | None = None
    """`Abstract`, `Title`, `Registry entry`, or a heading of the full text; None without a passage."""
    followup_months: float | None = None
    """None: not read any more; reports of earlier versions have it."""
    effects: list[EffectSize] = Field(default_factory=list)
    """Of the drug, in the passage from which the direction was read."""
    values: list[Value] = Field(default_factory=list)
    """Values of its comparison as a model took them from the record; tolerability also without a model."""
    figures: list[str] = Field(default_factory=list)
    """Other figures of the passage, as written; none where it names another drug."""
    in_figures: str = ""
    """Empty: figures of another passage are not joined any more; reports of earlier versions have it."""
    in_figures_section: str | None = None
    effects_section: str | None = None
    harm: bool = False
    pico: Pico | None = None
    """None without a reading."""
    setting: list[str] = Field(default_factory=list)
    """Other sentences of the record that name the other arm or the number of people, where the passage does not."""
    quoted_participants: int | None = None
    """`sample_size`, where the passage or the setting writes it; else None."""
    word: PersonsWord | None = None
    """What people said of it; None if nobody has."""

    def compared(self, what: ValueKind) -> list[Value]:
        """Return its values of a kind: those in `values`, else those of its other fields; empty if not reported."""
        own = [value for value in self.values if value.what == what]
        if own:
            return own
        other_fields: dict[ValueKind, list[str]] = {
            "estimate": [*dict.fromkeys(map(write_estimate, self.effects))] or self.tested_figures,
            "comparator": [self.pico.comparator or ""] if self.pico else [],
            "participants": [self._say_participants()],
        }
        return [Value(what=what, written=text) for text in other_fields.get(what, ()) if text]

    def _say_participants(self) -> str:
        if self.sample_size is not None:
            return f"{self.sample_size:,}"
        return "" if self.trial_size is None else f"{self.trial_size:,} in all arms"

    @property
    def tested_figures(self) -> list[str]:
        """The figures up to the first p value; that alone if several values do not tell whose they are.

        Empty without a p value, and if it is significant though no difference was found: then it is on something else.
        """
        place, p = self._find_p_value()
        no_difference = self.pico is not None and self.pico.result == "no difference"
        if p is None or (p["sign"] in _UP_TO and float(p["value"]) <= _LEVEL and no_difference):
            return []
        bare = [figure for figure in self.figures[:place] if len(_NUMBERS.findall(figure)) == 1]
        return self.figures[place if len(bare) > 1 else 0 : place + 1]

    def _find_p_value(self) -> tuple[int, re.Match[str] | None]:
        """Find the first figure that is a p value, with its place; 0 and None if none is."""
        for place, figure in enumerate(self.figures):
            match = P_VALUE.match(figure)
            if match:
                return place, match
        return 0, None


class PostedResult(PostedFinding, frozen=True):
    """A trial's posted result on one drug."""

    drug: str


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
    sponsor: str | None = None
    """The lead sponsor; None if not reported."""
    start_date: str | None = None
    completion_date: str | None = None
    why_stopped: str | None = None
    why_stopped_kind: str | None = None
    """As in `EvidenceRow`."""
    has_results: bool = False
    posted: list[PostedResult] = []
    """On each of its drugs."""

    @property
    def outcome(self) -> TrialState:
        """How it ended according to the registry."""
        if self.status in STOPPED:
            return "stopped"
        if self.status in RUNNING:
            return "running"
        return "completed" if self.status == "COMPLETED" else "not reported"

    @property
    def status_words(self) -> str:
        """Its status in words."""
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
    """Limits sent with the query, by the source's names; None if not recorded."""
    asked_at: datetime | None = None
    warnings: list[str] = []
    understood: str = ""
    """The query as interpreted by the source; empty if not reported."""

    @property
    def time(self) -> str:
        """The minute in which it was asked."""
        return NOT_REPORTED if self.asked_at is None else f"{self.asked_at:%Y-%m-%d %H:%M}"

    @property
    def limits(self) -> str:
        """The filters in a line: `sort=relevance, retmax=10`; `none` without any."""
        if self.filters is None:
            return NOT_REPORTED
        return ", ".join(f"{name}={value}" for name, value in self.filters.items()) or "none"


class Flow(BaseModel, extra="forbid"):
    """Flow of records (PRISMA 2020, https://doi.org/10.1136/bmj.n71)."""

    identified: dict[str, int] = {}
    """By source, before duplicates are merged."""
    duplicates: int = 0
    screened: int = 0
    excluded: dict[str, int] = {}
    """By reason."""
    included: int = 0
    """Appraised for a candidate."""


class CorrectionLine(BaseModel, frozen=True, extra="forbid"):
    """One thing that people said, as the report took it."""

    record: str = ""
    """Key of the record; empty for a drug set aside."""
    drug: str = ""
    """Empty for what concerns a record as a whole."""
    line: str
    """In words, with who and when."""
    by: list[str] = []
    on: str
    """Day of the latest word, `YYYY-MM-DD`."""
    is_disputed: bool = False
    """Whether people differ, so that neither counts."""


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
        """Tokens in both directions."""
        return self.prompt_tokens + self.completion_tokens


class ModelCalls(BaseModel, frozen=True, extra="forbid"):
    """Counts of a run's model calls and failures."""

    made: int = 0
    failed: int = 0
    reason: str = ""
    """Why the last one failed, by the provider's message without keys."""

    @property
    def said(self) -> str:
        """The failures in words; empty without any."""
        return f"failed {self.failed} of {self.made} calls: {self.reason}" if self.failed else ""


class ReportContent(BaseModel, extra="forbid"):
    """The answer to a question."""

    title: str
    executive_summary: str = Field(min_length=100, max_length=1000)
    summary_parts: list[SummaryPart] = []
    """The first screen, of which the summary is as much as fits."""
    research_question: str
    asked_as: str = ""
    """The question in the words in which it was asked, where a model put it into others; empty if it did not."""
    written: WrittenAnswer | None = None
    """The answer in a language model's words, each sentence cited and checked; None where none wrote."""
    answer: ReportSection | None = None
    """Evidence for the answer to what is asked beside what helps; None for others."""
    methodology: ReportSection
    hypotheses_tested: list[dict[str, Any]] = []
    """Fields of `MechanismHypothesis`, with the verdict on each."""
    disease_mechanism: ReportSection | None = None
    """The condition's targets and processes; None if the question names no condition."""
    disease_involved: list[str] = []
    """The best established of them, each with who says so."""
    safety: ReportSection | None = None
    """None without candidates."""
    mechanistic_findings: ReportSection
    clinical_findings: ReportSection
    drug_candidates: list[str] = []
    """Names, best supported first."""
    candidates: list[DrugCandidate] = []
    limitations: list[str] = []
    gaps: list[str] = []
    """By the judge when the search ended, as the next two fields."""
    judged: list[str] = []
    """Scores for mechanisms and clinical evidence, with reasons."""
    key_findings: list[str] = []
    """Sentences of records that decide the question, each with its drug and record."""
    conclusion: str
    references: list[dict[str, Any]] = []
    """number, key, title, authors, source, date, url, evidence_type and flags of each record cited, and as far as known
    journal, journal_abbreviation, volume, issue, pages, identifiers, versions, full_text,
    web (the search engines that led to it), agents (agents' tools and functions that led to it), given_by (the agent
    and tool whose words it holds, where no source confirmed them)."""
    sources_searched: list[str] = []
    library: str = ""
    """The local library that answered in the sources' place; empty if they answered themselves."""
    total_papers_reviewed: int = Field(default=0, ge=0)
    search_iterations: int = Field(default=0, ge=0)
    tokens_used: int = Field(default=0, ge=0)
    """With the baseline analyst an estimate for a language model."""
    usage: list[TurnUsage] = []
    """By agent and round; empty without a language model or an account."""
    analyst: str | None = None
    """The model that wrote, or its fallback with the reason."""
    work: WorkShare | None = None
    """How much of the run the model did that was asked for; None if none was."""
    judge_view: JudgeView = JudgeView()
    """What the judge made of the evidence at the end, in its own words, each with the records that it rests on."""
    unread_records: list[UnreadRecord] = []
    """What was fetched and of which no model read anything that stands, each with the reason."""
    model_failed: bool = False
    """Whether the fallback wrote because the model failed."""
    approval: Approval | None = None
    """Who decided on the candidates before the report was written."""
    stop_reason: str
    unread: int = Field(default=0, ge=0)
    """Records found but not read because the run was stopped."""
    confidence_score: float = Field(ge=0.0, le=1.0)
    """From the judging model, else from the candidates' certainty."""
    confidence_reason: str = ""
    """Why, after "since"; empty in reports of earlier versions."""
    not_looked_at: list[str] = []
    """What the run could have read and did not, a phrase each."""
    claims_kept: int = Field(default=0, ge=0)
    claims_repaired: int = Field(default=0, ge=0)
    """Those kept after a correction."""
    claims_dropped: int = Field(default=0, ge=0)
    evidence_table: list[EvidenceRow] = []
    """Every record appraised for a candidate, by candidate in order."""
    studies: list[Study] = []
    """What the records of `evidence_table` compared and found, one study a record and reader whose reading counts."""
    trials: list[TrialRow] = []
    search_log: list[SearchLogEntry] = []
    flow: Flow = Field(default_factory=Flow)
    corrections: list[CorrectionLine] = []
    """What people said of its records and drugs, by record."""
    stale: list[str] = []
    """What was written before people corrected what it rests on, a phrase each."""
    notes: list[str] = []
    """What the report agent admits of its writing; among the limitations too."""
    not_understood: list[str] = []
    """What was not understood of the sources' replies; among the limitations too."""
    disclaimer: str = DISCLAIMER
    generated_at: datetime = Field(default_factory=lambda: datetime.now(UTC))

    @property
    def rows_seen(self) -> int:
        """Number of rows of `evidence_table` that a person has seen."""
        return sum(row.word is not None for row in self.evidence_table)

    def reference_of(self, key: str) -> dict[str, Any]:
        """Return a record's entry among the references; empty if it is not cited."""
        return next((reference for reference in self.references if reference["key"] == key), {})

    def cite(self, keys: Iterable[str]) -> Cite | str:
        """Cite records by their numbers; an empty text if none of them is a reference."""
        numbers = {int(each["number"]) for key in keys if (each := self.reference_of(key))}
        return Cite(tuple(sorted(numbers))) if numbers else ""
