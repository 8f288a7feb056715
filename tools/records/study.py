"""`Study`: what one record compared and what came of it, whatever is asked of it.

A study is read once and kept. Everything that a report says of a record comes from one of its comparisons, whose
direction, comparator, participants, figures and passage stand in the same object. Nothing here depends on a question:
`tools.appraisal` decides what a study says of a drug in the condition asked about.

None and empty text mean "not reported" in every field but where its docstring says otherwise; a field that a reader
cannot tell, since it reads only some of them, is named in `Study.not_read`.

The nearest standard is EBMonFHIR (HL7; `ComparativeEvidence`, `ResearchStudy.comparisonGroup`), which exports map to:
https://build.fhir.org/ig/HL7/ebm/
"""

from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

Aim = Literal["treat", "prevent", "harm", "mechanism", "other"]
"""Why the drug was given: `harm` asks what it does wrong, `mechanism` covers kinetics, `other` cost, use and
diagnosis."""
ConditionRole = Literal["treat_target", "prevent_target", "people", "adverse_effect", "outcome", "mention"]
"""The part that a condition plays in a record: to be treated or prevented, had by the people beyond that, brought about
by a drug, measured, named in passing."""
ArmRole = Literal["drug", "placebo", "none", "usual_care", "other_treatment", "unknown"]
"""What an arm got. `none`: no treatment beyond the background. `other_treatment`: surgery, a device, a talk. `unknown`:
a name that the reader cannot place, which is never taken for placebo."""
Against = Literal["arm", "baseline", "baseline_on_drug", "unstated"]
"""What a comparison is with: another arm; the same people before treatment; before a change of dose or withdrawal
(run-in on the drug); or not told."""
OutcomeClass = Literal["efficacy", "surrogate", "harm", "process"]
"""`surrogate`: a marker whose meaning for patients is uncertain. `process`: kinetics, adherence, cost."""
Favours = Literal["arm", "versus", "neither"]
"""Which side the point estimate or the authors' words favour, for the patient, whatever its significance."""
Equivalence = Literal["shown", "claimed", "not_shown"]
"""`shown`: an interval within a margin set before; `claimed`: the authors call two treatments equally effective;
`not_shown`: a test of non-inferiority that failed."""
ResultBasis = Literal["own_data", "pooled", "modelled", "judgement", "cited", "recommendation"]
"""Where a result or statement comes from: measured here; pooled from trials; a model or a simulation; the authors'
judgement on their data; earlier work that they cite; a recommendation."""
Stated = Literal["works", "does_not_work", "harms", "give", "avoid", "not_shown"]
"""What authors state: it works or does not; it harms; it should, or should not, be given; whether it works was not
shown."""
DepthRead = Literal["title", "abstract", "registry", "full_text"]
"""How much of a record was read."""
ReaderKind = Literal["person", "registry", "model", "small_reader"]
"""Who read it. The first of these that there is counts; others are shown beside it."""
READERS: tuple[ReaderKind, ...] = ("person", "registry", "model", "small_reader")


class StudyPart(BaseModel, frozen=True, extra="forbid"):
    """A part of a study."""


class StudyPassage(StudyPart, frozen=True):
    """Whole sentences or table rows of a record, to the letter."""

    text: str = Field(min_length=1)
    section: str = "Abstract"
    """`Title`, `Abstract`, `Registry entry`, or a heading of the full text."""
    start: int | None = Field(default=None, ge=0)
    """Character offset in `title + ". " + text`, or in its section of the full text; None if it was not located."""
    end: int | None = Field(default=None, ge=0)


class ArmCount(StudyPart, frozen=True):
    """The result of one arm: people with an event, or a mean."""

    arm: str
    events: int | None = Field(default=None, ge=0)
    n: int | None = Field(default=None, ge=0)
    """Participants whose result it is."""
    mean: float | None = None
    """Or a median, where `Estimate.measure` says so."""
    dispersion: str = ""
    """As the record writes it: `SD 4.1`, `IQR 2–7`."""


class Estimate(StudyPart, frozen=True):
    """An effect in figures; each figure stands in the comparison's passage."""

    measure: str = ""
    """`hazard ratio`, `mean difference`; empty if the passage gives a bare figure."""
    value: float | None = None
    low: float | None = None
    """Lower bound of the interval."""
    high: float | None = None
    level: float | None = Field(default=None, gt=0, le=100)
    """Level of the interval in percent."""
    sides: Literal[1, 2] | None = None
    p: float | None = Field(default=None, ge=0, le=1)
    p_sign: Literal["=", "<", "≤", ">", "≥"] = "="
    unit: str = ""
    counts: tuple[ArmCount, ...] = ()
    written: str = ""
    """The estimate as the passage writes it."""


class ArmHarm(StudyPart, frozen=True):
    """An adverse effect in an arm."""

    what: str = Field(min_length=1)
    affected: int | None = Field(default=None, ge=0)
    at_risk: int | None = Field(default=None, ge=0)
    is_serious: bool | None = None
    written: str = ""
    """The figure as the passage writes it."""
    passage: StudyPassage | None = None


class Arm(StudyPart, frozen=True):
    """A group of people and what they got."""

    name: str = Field(min_length=1)
    """Unique in its study."""
    role: ArmRole
    drugs: tuple[str, ...] = ()
    """Generic names in lower case, background aside; several in a combination."""
    dose: str = ""
    """As the record writes it, with its unit."""
    n: int | None = Field(default=None, ge=0)
    """Participants."""
    route: str = ""
    schedule: str = ""
    duration: str = ""
    dropouts: int | None = Field(default=None, ge=0)
    harms: tuple[ArmHarm, ...] = ()


class Comparison(StudyPart, frozen=True):
    """One arm against another on one outcome."""

    arm: str
    """Name of an arm of the study."""
    versus: str | None = None
    """Name of the other arm; None unless `against` is `arm`."""
    against: Against = "arm"
    outcome: str = ""
    """By its name in the record."""
    endpoint: OutcomeClass
    primary: bool | None = None
    """None: not told."""
    condition: str | None = None
    """None: the study's."""
    aim: Aim | None = None
    """None: the study's."""
    subgroup: str | None = None
    """Part of the people, or a post hoc analysis; None: everybody."""
    favours: Favours | None = None
    """None: the record does not tell."""
    significant: bool | None = None
    """None: untold."""
    unread: str = ""
    """Why `favours` is None, in words for the report; empty if the record does not tell."""
    equivalence: Equivalence | None = None
    """None: not a question of the study."""
    margin: str = ""
    basis: ResultBasis = "own_data"
    estimate: Estimate | None = None
    time_point: str = ""
    analysis_set: str = ""
    """`intention to treat`, `per protocol`."""
    higher_is_better: bool | None = None
    participants: int | None = Field(default=None, ge=0)
    """People in both arms of this comparison; None: not reported or not separable."""
    passage: StudyPassage | None = None
    """None: the reader located none, and nothing of the comparison is quoted."""
    hedged: bool = False
    """Whether the result is told in guarded words alone (may, might, a trend), or does not hold as one of several
    tests."""
    disputed: str = ""
    """Why its passage does not bear out what a model read in it, so that it counts for nothing; empty if it does, or if
    nobody checked."""

    @model_validator(mode="after")
    def _name_the_other_arm(self) -> Self:
        if (self.versus is None) is (self.against == "arm"):
            raise ValueError("a comparison names the other arm where it is with an arm, and nowhere else")
        if self.versus == self.arm:
            raise ValueError("an arm is compared with itself")
        return self


class StatedView(StudyPart, frozen=True):
    """What authors state of a drug beside a comparison: "both are effective", "should be avoided with tamoxifen"."""

    drug: str
    """Generic name in lower case."""
    says: Stated
    basis: ResultBasis
    condition: str | None = None
    """None: the study's."""
    aim: Aim | None = None
    people: str = ""
    """For whom, where not for everybody."""
    reason: str = ""
    """As the record gives it; empty if it gives none."""
    disputed: str = ""
    """As of a comparison."""
    passage: StudyPassage


class TrialName(StudyPart, frozen=True):
    """By what a trial is known, so that it counts once however often it was published."""

    registered: tuple[str, ...] = ()
    """Registry numbers, in canonical form."""
    acronym: str = ""
    first_author: str = ""
    includes: tuple[str, ...] = ()
    """Registry numbers or acronyms of the trials that a review or pooled analysis contains."""
    is_secondary: bool | None = None
    """Whether this is a substudy or secondary analysis; None: not told."""


class Study(StudyPart, frozen=True):
    """One record: what it asked, what it compared, what it found."""

    key: str = Field(min_length=1)
    """Of the record: `pmid:…`, `nct:…`."""
    reader: ReaderKind
    version: str
    """Of the reader: a person's name, a model with its prompts, a version of weights."""
    depth: DepthRead = "abstract"
    probability: float | None = Field(default=None, ge=0, le=1)
    """Calibrated probability that the deciding comparison is read rightly; None for a person, the registry and a
    model."""
    aim: Aim | None = None
    condition: str = ""
    """What is to be treated or prevented, in the record's words."""
    condition_role: ConditionRole | None = None
    """Which part that condition really plays, where a reader was asked about it; None: not told, or not surely."""
    people: str = ""
    """In whom, beyond having the condition."""
    design: str = "unknown"
    """A value of `tools.reading.reading.StudyDesign`."""
    blinded: bool | None = None
    randomised: int | None = Field(default=None, ge=0)
    """Number of people randomised."""
    analysed: int | None = Field(default=None, ge=0)
    background: tuple[str, ...] = ()
    """Drugs that all arms take."""
    arms: tuple[Arm, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    """The deciding one first."""
    statements: tuple[StatedView, ...] = ()
    conclusion: StudyPassage | None = None
    trial: TrialName = TrialName()
    follow_up: str = ""
    setting: str = ""
    country: str = ""
    funding: str = ""
    layout: Literal["parallel", "crossover", "cluster", "factorial", "single_group"] | None = None
    not_read: tuple[str, ...] = ()
    """Names of fields that this reader does not read: their emptiness says nothing of the record."""

    @model_validator(mode="after")
    def _name_known_arms(self) -> Self:
        names = [arm.name for arm in self.arms]
        if len(set(names)) < len(names):
            raise ValueError("two arms have one name")
        for comparison in self.comparisons:
            unknown = {comparison.arm, comparison.versus} - {None, *names}
            if unknown:
                raise ValueError(f"a comparison names an arm that the study does not have: {min(map(str, unknown))}")
        return self

    def arm(self, name: str) -> Arm:
        """Return an arm by its name; KeyError if there is none."""
        for arm in self.arms:
            if arm.name == name:
                return arm
        raise KeyError(name)

    def joined(self, other: "Study") -> "Study":
        """Return this study with the arms, comparisons and statements of another reading of it by the same reader."""
        names = {arm.name for arm in self.arms}
        arms = (*self.arms, *(arm for arm in other.arms if arm.name not in names))
        comparisons = (*self.comparisons, *(row for row in other.comparisons if row not in self.comparisons))
        statements = (*self.statements, *(view for view in other.statements if view not in self.statements))
        background = tuple(dict.fromkeys((*self.background, *other.background)))
        parts = {"arms": arms, "comparisons": comparisons, "statements": statements, "background": background}
        return self.model_copy(update=parts)

    def drugs_of(self, arm: str | None) -> frozenset[str]:
        """Return the drugs of an arm, without the background; empty for None."""
        return frozenset(self.arm(arm).drugs) if arm else frozenset()

    def contrast_of(self, comparison: Comparison) -> frozenset[str]:
        """Return the drugs that the first arm had and the other had not: the effect compared is theirs.

        What all arms take is left out, unless the arms differ in nothing else: then one had more of it, or earlier.
        """
        background = frozenset(self.background)
        if comparison.versus is None and not self.drugs_of(comparison.arm):
            has_no_more = self.arm(comparison.arm).role in ("none", "usual_care")
            return background if has_no_more else frozenset()
        apart = self.drugs_of(comparison.arm) - self.drugs_of(comparison.versus)
        return apart - background or apart

    def drugs(self) -> frozenset[str]:
        """Return every drug that the study names in an arm, as background, or in a statement."""
        drugs = {view.drug for view in self.statements}
        for arm in self.arms:
            drugs.update(arm.drugs)
        return frozenset(drugs.union(self.background))

    def participants_of(self, comparison: Comparison) -> int | None:
        """Return the people of a comparison: its own number, else both arms' sum; the whole study's if it has no more
        arms.

        None if that cannot be told: another arm's people never count.
        """
        if comparison.participants is not None:
            return comparison.participants
        sizes = [self.arm(name).n for name in (comparison.arm, comparison.versus) if name]
        reported = [size for size in sizes if size is not None]
        if len(reported) == len(sizes) and reported:
            return sum(reported)
        is_whole = len(self.arms) <= len(sizes) and comparison.subgroup is None
        if not is_whole:
            return None
        return self.analysed if self.analysed is not None else self.randomised


def first_reading(studies: list[Study]) -> Study:
    """Return the study that counts among readings of one record: a person's, the registry's, a model's, the small
    reader's."""
    return min(studies, key=lambda study: READERS.index(study.reader))
