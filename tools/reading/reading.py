"""`Reading`: what a record reports about a drug in a condition; all later steps use readings only."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field

from ..records.study import ConditionRole

Role = Literal[
    "tested", "comparator", "combined", "background", "cause", "outcome", "mentioned", "other_use", "not_a_drug_here"
]
"""The drug's role in a record. `comparator`: active control of another drug. `combined`: given with others, its own
effect not separable. `background`: everybody takes it. `cause`: it causes, induces or models the condition.
`outcome`: it is measured. `mentioned`: named in passing. `other_use`: tested, but for another condition."""
Match = Literal["same", "narrower", "complication", "broader", "other"]
"""The record's condition relative to the one asked about; `narrower` is a subtype or subgroup of it."""
OutcomeKind = Literal["efficacy", "harm", "surrogate", "process", "none"]
"""`surrogate` is a marker of uncertain meaning; `process` is kinetics, cost or use."""
Comparator = Literal["placebo", "none", "active", "dose", "before_after", "not_reported"]
"""`none` is no treatment or usual care, including add-on against background treatment alone."""
Effect = Literal["better", "no_difference", "worse", "mixed", "not_reported"]
"""Effect of the drug versus the comparator on the outcome that matters for the condition."""
Primary = Literal["met", "not_met", "not_reported"]
"""Result on the primary outcome, or on the main comparison if no outcome is called primary."""
IndicationKind = Literal["condition", "complication", "other"]
"""Reason for giving the drug: the condition asked about, a complication or symptom of it, or something else in people
who have it."""
Design = Literal[
    "rct", "systematic_review", "meta_analysis", "review", "cohort", "case_control", "cross_sectional", "case_report",
    "protocol", "animal", "in_vitro", "guideline", "other",
]  # fmt: skip
SURE_OF_HARM = 0.6
"""Minimum probability to report harm (`weights.md`)."""
ValueKind = Literal["estimate", "dose", "comparator", "participants", "tolerability"]
"""`estimate`: the effect with its interval. `dose`: amount and frequency. `tolerability`: withdrawals, or an adverse
effect."""
Verdict = Literal["supports", "contradicts", "neutral", "none"]
"""`none`: the record does not report on the drug's efficacy in the condition."""


class Direction(StrEnum):
    """Direction of a study's main comparison for a drug in a condition."""

    supports = "supports"
    contradicts = "contradicts"
    inconclusive = "inconclusive"
    not_assessed = "not assessed"
    """Efficacy in the condition is not reported, or could not be read."""


def convert_verdict(verdict: Verdict) -> Direction:
    """Convert a reader's verdict to a direction."""
    return Direction({"neutral": "inconclusive", "none": "not assessed"}.get(verdict, verdict))


class StudyDesign(StrEnum):
    """Design of a study; a preprint is a flag of a record, not a design."""

    systematic_review = "systematic_review"
    """Systematic review or meta-analysis."""
    rct_blinded = "rct_blinded"
    rct_open = "rct_open"
    rct = "rct"
    """Randomised, blinding not reported."""
    cohort = "cohort"
    """With or without a comparison group, or a cross-sectional study."""
    case_control = "case_control"
    case_series = "case_series"
    case_report = "case_report"
    narrative_review = "narrative_review"
    guideline = "guideline"
    in_vivo = "in_vivo"
    """In animals."""
    in_vitro = "in_vitro"
    registry_entry = "registry_entry"
    """A registered or planned trial: a plan, whether or not results are posted."""
    unknown = "unknown"

    @property
    def tier(self) -> int:
        """Rank by the Oxford levels of evidence: 1 (strongest) to 5, and 6 for records without data of their own.

        https://www.cebm.ox.ac.uk/resources/levels-of-evidence/ocebm-levels-of-evidence
        """
        return next(tier for tier, names in _TIERS.items() if self.value in names)

    @property
    def is_preclinical(self) -> bool:
        """Whether it is done in animals or cells."""
        return self.value in ("in_vivo", "in_vitro")

    @property
    def label(self) -> str:
        """The design in words."""
        labels = {"rct_blinded": "blinded RCT", "rct_open": "open-label RCT", "unknown": "design not reported"}
        return labels.get(self.value) or self.value.replace("_", " ").replace("rct", "RCT")


_TIERS = {
    1: ("systematic_review",),
    2: ("rct_blinded", "rct_open", "rct"),
    4: ("case_control", "cohort", "case_series"),
    5: ("case_report", "in_vivo", "in_vitro"),
    6: ("narrative_review", "guideline", "registry_entry", "unknown"),
}
RANDOMISED: frozenset[StudyDesign] = frozenset({StudyDesign.rct_blinded, StudyDesign.rct_open, StudyDesign.rct})


class QuotedPassage(BaseModel, frozen=True, extra="forbid"):
    """A whole sentence, or several in a row, of a record."""

    text: str = Field(min_length=1)
    """Verbatim."""
    section: str = "Abstract"
    """`Title`, `Abstract`, `Registry entry`, or a heading of the full text."""
    start: int = Field(ge=0)
    """Character offset of the first letter in `title + ". " + text`; in its section for the full text."""
    end: int = Field(ge=0)
    """Character offset after the last letter."""


class Value(BaseModel, frozen=True, extra="forbid"):
    """A value of a controlled comparison, as its record writes it."""

    what: ValueKind
    written: str = Field(min_length=1)
    """Verbatim where it was quoted."""
    outcome: str = ""
    """Outcome of an estimate, or the adverse effect; empty if not told."""
    quote: str = ""
    """Verbatim sentences or table rows that hold it; empty for a figure that rules took from the whole record."""
    section: str = ""
    """As in `QuotedPassage`."""

    @property
    def line(self) -> str:
        """The value with its outcome, if told."""
        return f"{self.written} ({self.outcome})" if self.outcome else self.written


class Reading(BaseModel, frozen=True, extra="forbid"):
    """One record's finding on one drug in one condition."""

    key: str
    drug: str
    condition: str
    role: Role
    condition_role: ConditionRole | None = None
    """None: not told, or not surely."""
    match: Match = "same"
    kind: OutcomeKind = "none"
    comparator: Comparator = "not_reported"
    against: str | None = None
    """The active comparator by name; None if there is none or it is not named."""
    effect: Effect = "not_reported"
    primary: Primary = "not_reported"
    indication: IndicationKind = "condition"
    alone: bool = True
    """Whether the drug's own effect is separable; False in a combination whose parts were not compared."""
    design: Design = "other"
    participants: int | None = Field(default=None, ge=0)
    """Number randomised or analysed; None: not reported."""
    hedged: bool = False
    """Whether the result is reported only in hedged words: may, might, a trend."""
    non_inferior: bool = False
    """Whether the drug was shown to be no worse than an active drug that works, or gained as much as it did."""
    passages: tuple[QuotedPassage, ...] = ()
    """Whole sentences that carry the verdict; empty if the verdict is none."""
    values: tuple[Value, ...] = ()
    """Values of its comparison that a model took from the record; empty without a model."""
    in_figures: QuotedPassage | None = None
    """Another whole sentence that gives the result in figures if `passages` have none; None if there is none."""
    probability: float = Field(default=1.0, ge=0.0, le=1.0)
    """Calibrated probability of the verdict; 1 if it comes from posted data."""
    sure: bool = True
    """Whether verdicts with this probability are right often enough to count; otherwise low confidence."""
    harm: float | None = Field(default=None, ge=0.0, le=1.0)
    """Probability that it reports harm by the drug; None if the reader derives harm from the other fields."""
    reader: str
    version: str

    @property
    def does_harm(self) -> bool:
        """Whether it reports harm by the drug with enough confidence: worse than without it, or a cause."""
        if self.harm is not None:
            return self.harm >= SURE_OF_HARM
        return self.role == "cause" or (self.kind == "harm" and self.effect == "worse")

    @property
    def verdict(self) -> Verdict:
        """The verdict that follows from the fields; it is never predicted."""
        return derive_verdict(
            self.role, self.match, self.kind, self.comparator, self.effect, self.hedged, self.non_inferior
        )


def derive_verdict(
    role: Role,
    match: Match,
    kind: OutcomeKind,
    comparator: Comparator,
    effect: Effect,
    hedged: bool,
    non_inferior: bool,
) -> Verdict:
    """Derive the verdict from the fields; the one table for it.

    The verdict is none if the drug's effect is not studied or mentioned, the condition is another, or the outcome is
    not efficacy. Better supports. Worse contradicts, and so does no difference from placebo or nothing; no difference
    from an active drug is neutral unless non-inferiority was shown. Mixed, hedged and unreported effects are neutral.
    A comparator is judged by its own effect: a better result of another drug does not contradict it. A review's
    passing mention of an effect counts.
    """
    if role not in _CREDITED or match in ("broader", "other") or kind not in ("efficacy", "surrogate"):
        return "none"
    is_active = comparator in ("active", "dose")
    if effect == "better":
        return "neutral" if hedged else "supports"
    if effect == "worse":
        return "neutral" if is_active and role == "comparator" else "contradicts"
    if effect == "no_difference" and is_active:
        return "supports" if non_inferior else "neutral"
    return "contradicts" if effect == "no_difference" else "neutral"


_CREDITED = frozenset({"tested", "combined", "comparator", "mentioned"})
