"""What a record says of a drug in a condition: a `Reading`, made once by a reader, and the verdict that follows.

Everything after a reader works on readings alone. The verdict is derived by one table (`verdict_from`), never read.
"""

from typing import Literal

from pydantic import BaseModel, Field

Role = Literal[
    "tested", "comparator", "combined", "background", "cause", "outcome", "mentioned", "other_use", "not_a_drug_here"
]
"""What the drug is in a record. `comparator`: the active control of another drug. `combined`: given with others, its
own part cannot be told. `background`: everybody takes it. `cause`: it causes, induces or models the condition.
`outcome`: it is measured. `mentioned`: named in passing. `other_use`: tested, but for another condition."""
Match = Literal["same", "narrower", "complication", "broader", "other"]
"""The record's condition against the one asked about: `narrower` is a subtype or subgroup of it."""
OutcomeKind = Literal["efficacy", "harm", "surrogate", "process", "none"]
"""`surrogate` is a marker of uncertain meaning; `process` is kinetics, cost or use."""
Comparator = Literal["placebo", "none", "active", "dose", "before_after", "not_reported"]
"""`none` is no treatment or usual care, an add-on against its background alone among them."""
Effect = Literal["better", "no_difference", "worse", "mixed", "not_reported"]
"""Of the drug against the comparator, on the outcome that matters for the condition."""
Primary = Literal["met", "not_met", "not_reported"]
"""What became of the primary outcome, or of the main comparison where none is named."""
Indication = Literal["condition", "complication", "other"]
"""What the drug is given for: the condition asked about itself, a complication or symptom of it, or something else in
people who have it."""
Design = Literal[
    "rct",
    "systematic_review",
    "meta_analysis",
    "review",
    "cohort",
    "case_control",
    "cross_sectional",
    "case_report",
    "protocol",
    "animal",
    "in_vitro",
    "guideline",
    "other",
]
SURE_OF_HARM = 0.6
"""The probability from which on harm is told as such (`weights.md`)."""
Verdict = Literal["supports", "contradicts", "neutral", "none"]
"""`none`: the record says nothing of the drug's efficacy in the condition."""


class Passage(BaseModel, frozen=True, extra="forbid"):
    """A whole sentence, or several in a row, of a record."""

    text: str = Field(min_length=1)
    """To the letter."""
    section: str = "Abstract"
    """`Title`, `Abstract`, `Registry entry`, or a heading of the full text."""
    start: int = Field(ge=0)
    """Character offset of the first letter in `title + ". " + text`."""
    end: int = Field(ge=0)
    """Character offset after the last letter."""


class Statistic(BaseModel, frozen=True, extra="forbid"):
    """A figure as the record writes it."""

    kind: str
    """`p`, `OR`, `RR`, `HR`, `MD`, `percent`, … as written."""
    written: str
    value: float | None = None
    low: float | None = None
    """Lower bound of its interval; None where none is reported."""
    high: float | None = None
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class Reading(BaseModel, frozen=True, extra="forbid"):
    """What one record says of one drug in one condition."""

    key: str
    """The record's key."""
    drug: str
    condition: str
    role: Role
    match: Match = "same"
    kind: OutcomeKind = "none"
    comparator: Comparator = "not_reported"
    against: str | None = None
    """The active comparator by name; None where there is none or it is not named."""
    effect: Effect = "not_reported"
    primary: Primary = "not_reported"
    indication: Indication = "condition"
    alone: bool = True
    """Whether the drug's own part can be told; False in a combination whose parts were not compared."""
    design: Design = "other"
    participants: int | None = Field(default=None, ge=0)
    """Randomised or analysed; None where not reported."""
    hedged: bool = False
    """Whether the result is told in guarded words alone: may, might, a trend."""
    non_inferior: bool = False
    """Whether the drug was shown to be no worse than an active drug that works, or gained as much as it did."""
    passages: tuple[Passage, ...] = ()
    """Whole sentences that carry the verdict; empty where the verdict is none."""
    in_figures: Passage | None = None
    """Another whole sentence, which tells the result in figures where `passages` hold none; None where none is told."""
    probability: float = Field(default=1.0, ge=0.0, le=1.0)
    """Of the verdict, calibrated; 1 where it is posted as data."""
    sure: bool = True
    """Whether verdicts of such a probability are right often enough to be shown as such; else it is a leaning."""
    harm: float | None = Field(default=None, ge=0.0, le=1.0)
    """The probability that it reports harm by the drug; None where a reader tells it by the other fields alone."""
    reader: str
    version: str

    @property
    def does_harm(self) -> bool:
        """Whether it surely reports harm by the drug: as worse than without it, or as a cause."""
        if self.harm is not None:
            return self.harm >= SURE_OF_HARM
        return self.role == "cause" or (self.kind == "harm" and self.effect == "worse")

    @property
    def verdict(self) -> Verdict:
        """What follows from the fields by `verdict_from`."""
        return verdict_from(
            self.role, self.match, self.kind, self.comparator, self.effect, self.hedged, self.non_inferior
        )


def verdict_from(
    role: Role,
    match: Match,
    kind: OutcomeKind,
    comparator: Comparator,
    effect: Effect,
    hedged: bool,
    non_inferior: bool,
) -> Verdict:
    """The one table from fields to verdict.

    A drug that is not studied or spoken of for its effect, another condition, or another kind of outcome than efficacy
    gives none. Better supports. Worse contradicts, and so does no difference from placebo or nothing; no difference
    from an active drug is neutral unless non-inferiority to it was shown. Mixed, hedged and unreported effects are
    neutral. A comparator is judged by what it did itself: that another drug did better says nothing against it. What a
    review says of a drug in passing counts: whoever reads it labels it so.
    """
    if role not in _CREDITED or match not in _CREDITED_MATCH or kind not in _CREDITED_KIND:
        return "none"
    active = comparator in ("active", "dose")
    if effect == "better":
        return "neutral" if hedged else "supports"
    if effect == "worse":
        return "neutral" if active and role == "comparator" else "contradicts"
    if effect == "no_difference":
        if active:
            return "supports" if non_inferior else "neutral"
        return "contradicts"
    return "neutral"


def indication_from(match: Match) -> Indication:
    """What a drug is given for where a reader tells the record's condition alone."""
    return match if match in ("complication", "other") else "condition"


_CREDITED = frozenset({"tested", "combined", "comparator", "mentioned"})
_CREDITED_MATCH = frozenset({"same", "narrower", "complication"})
_CREDITED_KIND = frozenset({"efficacy", "surrogate"})
