"""Rate the certainty of evidence that a drug helps a condition: GRADE's domains, by rules a reader can reproduce.

GRADE handbook, chapter 5 (https://gdt.gradepro.org/app/handbook/handbook.html). One claim is rated, "the drug helps",
so contradicting studies can only lower it. Randomised trials with reviews of them, observational studies and other
evidence are rated separately, and the best rating applies. Each trial counts once, on the drug alone, if not retracted.
"Enough" means two supporting studies, or studies with most of the participants in supporting studies.

| domain | rule |
|---|---|
| start | high: randomised trials or reviews of them that test the drug; low: observational; very low: anything else |
| risk of bias | -1 unless enough trials are blinded or placebo-controlled, peer-reviewed and under no concern |
| inconsistency | -1 if a quarter of all participants are in studies that contradict or missed, -2 if half are |
| indirectness | -1 unless one is against placebo, nothing, or a comparator that other studies here show to work |
| indirectness | -1 unless enough are on the condition itself and name it in the title; -2 if none is on it |
| imprecision | -1 below 400 participants reported in support; -2 below 100, if all sizes are reported |
| publication bias | -1 unless there are two trials, a review and a trial outside it, or one trial of 1,000 people |
| refuted | the largest review contradicts and is no smaller than all support; or 2 trials with 2/3 of participants do |

Participants are those of all distinct trials or of the largest review, whichever is more, since reviews include trials.
A comparison of two arms of several counts as half of its trial. A study of unreported size adds nobody to those in
support; where studies are weighed against each other, it weighs as 100 participants.
`benchmarks/conditions.py` measures how many of the leading drugs of each level are really used.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Literal, NamedTuple, cast

from pydantic import BaseModel

from ..reading.reading import RANDOMISED, Comparator, Direction, IndicationKind, Primary, StudyDesign
from ..reading.stopping import StoppingKind
from ..wording import counted
from ..works.trials import trial_key
from .fit import Fit
from .stance import Says

UNREPORTED_SIZE = 100  # participants as which a study of unreported size is weighed against others


Tier = Literal["randomised", "observational", "other"]


def get_comparison_size(own: int | None, trial: int | None) -> int | None:
    """Return the participants of a comparison: its own, else half of those in all arms; None if neither is reported."""
    if own is not None:
        return own
    return None if trial is None else trial // 2


class StudyFacts(BaseModel, frozen=True, extra="forbid"):
    """What certainty is rated from and the report shows of one record for one drug."""

    key: str
    sample_size: int | None = None
    """Participants in the drug's own comparison; None: not reported."""
    trial_size: int | None = None
    """Participants in all arms of its trial, where those of the drug's own comparison are not told; else None."""
    says: Says = "none"
    """What the study says of the drug, by its deciding comparison or statement; `direction` is read from it."""
    tested: bool = True
    """Whether the study tests the drug, rather than using it as comparator or mentioning it in passing."""
    alone: bool = True
    """Whether the drug's own effect is separable; False in a combination whose parts were not compared."""
    comparator: Comparator = "not_reported"
    against: str | None = None
    """The active comparator by name; None if there is none or it is not named."""
    comparator_works: bool = False
    """Whether other studies in the report show with moderate or high certainty that the comparator works."""
    primary: Primary = "not_reported"
    missed_primary: bool = False
    """Whether a trial of it against placebo or nothing showed no difference on its primary outcome. That refutes
    nothing; in inconsistency it weighs as a study that found nothing."""
    indication: IndicationKind = "condition"
    fit: Fit = "same"
    """How what it studied fits the question; only `same` and `narrower` support or fail, the rest was also studied."""
    in_title: bool = True
    """Whether the title names the condition asked about, and no other one before it."""
    surrogate: bool = False
    """Whether the outcome is only a marker of the condition."""
    unnamed: str | None = None
    """Population asked about (men, children, …) that the record does not mention; None if there is none."""
    is_preprint: bool = False
    retracted: bool | None = None
    """None: could not be checked."""
    concern: bool | None = None
    """Whether there is an expression of concern; None: could not be checked."""
    trial_status: str | None = None
    """`TERMINATED` and the like; None if the record is not a registered trial or does not say."""
    why_stopped_kind: StoppingKind | None = None
    """None if the trial was not stopped or no reason is reported."""
    second_reader: str | None = None
    """Direction by the learned reader if a model also read the record; for display only. None without a model."""
    trial: str | None = None
    """NCT number or acronym of the trial it reports, or first author and participants if there is neither;
    None if it reports none or several, or does not say."""
    names: tuple[str, ...] = ()
    """Further names of that trial, by which other records may know it."""
    hints: tuple[str, ...] = ()
    """Acronyms in its title that count as names where another record is known by them."""
    pools: tuple[str, ...] = ()
    """NCT numbers or acronyms of the trials in a pooled analysis; empty for others."""
    holds: tuple[str, ...] = ()
    """NCT numbers or acronyms of the trials that a review names; empty for others."""
    secondary: bool = False
    """Whether its title calls it a substudy or a secondary analysis."""
    struck: str | None = None
    """Why the judge does not let it count; None: it counts."""


class AppraisedItem(StudyFacts, frozen=True, extra="forbid"):
    """Appraisal of one record for one drug."""

    design: StudyDesign
    direction: Direction

    @property
    def tier(self) -> Tier:
        """The body of evidence it is rated with; studies that do not test the drug are other evidence."""
        if self.tested and (self.design in RANDOMISED or self.is_review):
            return "randomised"
        return "observational" if self.tested and self.design.tier == 4 else "other"

    @property
    def is_review(self) -> bool:
        """Whether it is a systematic review or meta-analysis."""
        return self.design is StudyDesign.systematic_review

    @property
    def weight(self) -> int:
        """Number of participants; half of the trial's if only that is reported, else `UNREPORTED_SIZE`."""
        return UNREPORTED_SIZE if self.reported_size is None else self.reported_size

    @property
    def reported_size(self) -> int | None:
        """Participants; half of the trial's if only that is reported, None if neither is."""
        return get_comparison_size(self.sample_size, self.trial_size)

    @property
    def against_nothing(self) -> bool:
        """Whether it compares with placebo, no treatment or usual care."""
        return self.comparator in ("placebo", "none")

    @property
    def is_telling(self) -> bool:
        """Whether it supports, contradicts, or missed its primary outcome."""
        return self.direction in DECIDED or self.missed_primary

    @property
    def is_sound(self) -> bool:
        """Whether it is blinded or placebo-controlled, peer-reviewed, and without an expression of concern."""
        blinded = self.design is StudyDesign.rct_blinded or self.comparator == "placebo"
        return blinded and not self.is_preprint and not self.concern

    @property
    def is_on_condition(self) -> bool:
        """Whether it is on the condition itself, in the population asked about, with a clinical outcome."""
        others = self.unnamed or self.surrogate or self.design.is_preclinical
        return self.indication == "condition" and not others

    @property
    def is_direct(self) -> bool:
        """Whether it is on the condition asked about and names it in the title."""
        return self.is_on_condition and self.in_title


CandidateOutcome = Literal["supported", "mixed", "failed", "missed", "undecided"]
"""What the studies of a drug come to, each drug once."""
Quality = Literal["strong", "moderate", "weak", "refuted"]
Level = Literal["high", "moderate", "low", "very low"]


class CertaintyLevel(StrEnum):
    """The four levels of GRADE."""

    high = "high"
    moderate = "moderate"
    low = "low"
    very_low = "very_low"

    @property
    def said(self) -> Level:
        """The level in words."""
        return cast(Level, self.value.replace("_", " "))


LEVELS = (CertaintyLevel.very_low, CertaintyLevel.low, CertaintyLevel.moderate, CertaintyLevel.high)
"""The levels, lowest first."""
OPTIMAL_SIZE = 400  # participants; GRADE handbook 5.2.4.2, rule of thumb for continuous outcomes
MIXED_SHARE = 1 / 4  # of the studies that tell: as inconsistency lowers certainty
ENOUGH_AGAINST = 2  # studies; one that contradicts is no failure
LARGE = 1000  # participants; a trial this large needs no replication
FAR_TOO_FEW = 100  # participants; a quarter of it
_QUALITIES: dict[CertaintyLevel, Quality] = dict(zip(LEVELS, ("weak", "weak", "moderate", "strong"), strict=True))
_STARTS: dict[Tier, int] = {"randomised": 3, "observational": 1, "other": 0}
DECIDED = (Direction.supports, Direction.contradicts)
STOPPED = frozenset({"TERMINATED", "WITHDRAWN", "SUSPENDED"})  # overallStatus of ClinicalTrials.gov


class Certainty(BaseModel, frozen=True, extra="forbid"):
    """A level of certainty with the steps that led to it."""

    level: CertaintyLevel
    steps: list[str] = []
    """The start, then each domain that applies, ending with the number of levels it lowered, if any."""
    lowered: list[str] = []
    """The steps that lowered the level."""
    computed: CertaintyLevel | None = None
    """The level by the rules, where a judge gave one; None without a judge's level."""
    judged: CertaintyLevel | None = None
    """The judge's level, of which and the computed one the lower counts; None if it gave none."""
    judged_reason: str = ""
    """The judge's, in its own words."""


class CandidateAppraisal(BaseModel, frozen=True, extra="forbid"):
    """Appraisal of a candidate: the direction of each study, the certainty and the quality of the evidence."""

    certainty: Certainty
    quality: Quality
    supporting: list[str] = []
    """Keys of the studies that count, each trial once; also in the next three."""
    contradicting: list[str] = []
    inconclusive: list[str] = []
    missed: list[str] = []
    """Keys of the studies that missed their primary outcome, or found no difference from placebo or nothing, which
    refutes nothing; also in `inconclusive`."""
    not_assessed: list[str] = []
    excluded: list[str] = []
    """Keys of records that are retracted, or that the judge struck."""
    same_trial: list[str] = []
    """Keys of records whose trial is counted by another record."""
    notes: list[str] = []
    """Remarks beside the steps: trials counted once, retracted and stopped ones, records not checked for retraction."""

    @property
    def outcome(self) -> CandidateOutcome:
        """What all these studies come to, by `find_outcome`."""
        return find_outcome(
            len(self.supporting), len(self.contradicting), len(self.missed), is_refuted=self.quality == "refuted"
        )

    @property
    def telling(self) -> list[str]:
        """Keys of the studies that contradict, support, or missed their primary outcome, in this order."""
        return [*self.contradicting, *self.supporting, *self.missed]


def find_outcome(support: int, contradicting: int, missed: int, *, is_refuted: bool) -> CandidateOutcome:
    """Find what studies of a drug come to, by the first row that holds.

    | studies | outcome |
    |---|---|
    | refute it | failed |
    | support it, and at least a quarter of all contradict it or missed their primary outcome | mixed |
    | support it | supported |
    | two or more contradict it | failed |
    | one contradicts it, or any missed | missed |
    | none of these | undecided |

    Args:
        support: number of studies that support it.
        contradicting: number of those that contradict it.
        missed: number of those that missed their primary outcome, or found no difference from placebo or nothing.
        is_refuted: whether trials show that it does not help.
    """
    if is_refuted:
        return "failed"
    against = contradicting + missed
    if support:
        return "mixed" if against >= MIXED_SHARE * (support + against) else "supported"
    if contradicting >= ENOUGH_AGAINST:
        return "failed"
    return "missed" if against else "undecided"


def appraise_candidate(items: Sequence[AppraisedItem]) -> CandidateAppraisal:
    """Appraise all evidence on a candidate; the order of the items does not matter."""
    # By key, since replies come in any order and the same records have to give the same words.
    counting = sorted((i for i in items if not i.retracted and not i.struck), key=lambda item: item.key)
    retracted = sorted(i.key for i in items if i.retracted)
    struck = sorted((i.key, i.struck) for i in items if i.struck and not i.retracted)
    studies, folded, same = keep_one_per_trial(counting)
    certainty = rate_certainty(studies)
    notes = [*same, *(f"Left out: {key} is retracted." for key in retracted)]
    notes += [f"Left out: {key} was struck by the judge: {reason}" for key, reason in struck]
    notes += [
        f"{i.key} was stopped ({(i.trial_status or 'status not reported').lower()}): "
        f"{i.why_stopped_kind or 'reason not reported'}."
        for i in counting
        if i.why_stopped_kind or i.trial_status in STOPPED
    ]
    notes += [f"{i.key} carries an expression of concern." for i in counting if i.concern]
    unchecked = sum(i.retracted is None for i in counting)
    if unchecked:
        notes.append(f"{unchecked} of {len(counting)} records could not be checked for retraction.")

    def list_keys(direction: Direction) -> list[str]:
        return [i.key for i in studies if i.direction is direction]

    return CandidateAppraisal(
        certainty=certainty,
        quality="refuted" if is_refuted(studies) else _QUALITIES[certainty.level],
        supporting=list_keys(Direction.supports),
        contradicting=list_keys(Direction.contradicts),
        inconclusive=list_keys(Direction.inconclusive),
        missed=[i.key for i in studies if i.missed_primary and i.direction is Direction.inconclusive],
        not_assessed=list_keys(Direction.not_assessed),
        excluded=[*retracted, *(key for key, _ in struck)],
        same_trial=folded,
        notes=notes,
    )


def lower_level(appraisal: CandidateAppraisal, judged: CertaintyLevel, reason: str) -> CandidateAppraisal:
    """Set a judge's level beside the computed one; the lower counts, and a step says why where it is the judge's.

    A refuted drug stays refuted.
    """
    computed = appraisal.certainty
    levels = {"computed": computed.level, "judged": judged, "judged_reason": reason}
    if LEVELS.index(judged) >= LEVELS.index(computed.level):
        return appraisal.model_copy(update={"certainty": computed.model_copy(update=levels)})
    step = f"Judge: {judged.said}, where the rules come to {computed.level.said}: {reason}"
    lower = {"level": judged, "steps": [*computed.steps, step], "lowered": [*computed.lowered, step]}
    quality = appraisal.quality if appraisal.quality == "refuted" else _QUALITIES[judged]
    certainty = computed.model_copy(update={**levels, **lower})
    return appraisal.model_copy(update={"certainty": certainty, "quality": quality})


def count_participants(items: Sequence[AppraisedItem]) -> int:
    """Count the participants of distinct trials together, or of the largest review if it has more."""
    trials = sum(i.weight for i in items if not i.is_review)
    return max([trials, *(i.weight for i in items if i.is_review)])


def count_reported(items: Sequence[AppraisedItem]) -> int:
    """Count the participants as `count_participants` does, without studies of unreported size."""
    return count_participants([item for item in items if item.reported_size is not None])


def is_refuted(items: Sequence[AppraisedItem]) -> bool:
    """Whether trials, each once, show that the drug does not help.

    A trial against another drug shows which is better, not that the loser has no effect; one stopped for futility or
    harm counts whatever its comparator. Only what is on the outcome, condition and people asked about refutes.
    """
    randomised = [i for i in items if i.tier == "randomised"]
    for_it = [i for i in randomised if i.direction is Direction.supports]
    against = [
        i
        for i in randomised
        if i.direction is Direction.contradicts
        and i.is_on_condition
        and (i.why_stopped_kind in ("safety", "futility") or i.comparator not in ("active", "dose"))
    ]
    reviews = [i for i in (*for_it, *against) if i.is_review]
    largest = max(reviews, key=lambda i: (i.weight, i in for_it), default=None)
    if largest in against and largest is not None and largest.weight >= count_participants(for_it):
        return True
    trials = [i for i in against if not i.is_review]
    return len(trials) >= 2 and count_participants(trials) >= 2 * count_participants(for_it)


def rate_certainty(items: Sequence[AppraisedItem]) -> Certainty:
    """Rate the certainty that the drug helps from studies, each trial once; without support it is very low."""
    ratings = []
    for tier in _STARTS:
        rating = _rate(items, tier)
        ratings += [rating] if rating else []
    if not ratings:
        return Certainty(level=CertaintyLevel.very_low, steps=["Starts at very low: no study supports it."])
    return max(ratings, key=lambda rating: LEVELS.index(rating.level))


def _are_enough(good: Sequence[AppraisedItem], of: Sequence[AppraisedItem]) -> bool:
    """Whether the studies that meet a criterion are enough: at least two, or most of the participants."""
    return len(good) > 1 or 2 * sum(i.weight for i in good) > sum(i.weight for i in of)


class _Body(NamedTuple):
    """The studies of a tier that support a drug, and those in it or in a better one that do not."""

    tier: Tier
    supporting: list[AppraisedItem]
    against: list[AppraisedItem]

    @property
    def trials(self) -> list[AppraisedItem]:
        return [item for item in self.supporting if not item.is_review]

    @property
    def reviews(self) -> list[AppraisedItem]:
        return [item for item in self.supporting if item.is_review]

    @property
    def contained(self) -> list[AppraisedItem]:
        """Trials that a review of the same body names."""
        contained = []
        for item in self.trials:
            if any(_is_in(item, review) for review in self.reviews):
                contained.append(item)
        return contained


class _Downgrade(NamedTuple):
    """What a domain of GRADE says of a body of evidence, and by how many levels it lowers certainty."""

    down: int
    text: str


def _weigh_bias(body: _Body) -> Iterator[_Downgrade]:
    judged = body.trials or body.reviews
    sound = [item for item in judged if item.is_sound]
    if body.tier == "randomised" and not _are_enough(sound, judged):
        yield _Downgrade(1, f"Risk of bias: {len(sound)} of {len(judged)} blinded or placebo-controlled")


def _weigh_inconsistency(body: _Body) -> Iterator[_Downgrade]:
    against = body.against
    if not against:
        return
    size = count_participants(body.supporting)
    opposed = count_participants(against)
    share = opposed / (opposed + size) if opposed + size else 1.0
    missed = sum(item.direction is not Direction.contradicts for item in against)
    verb = "contradict"
    if missed:
        verb = (
            "missed their primary outcome" if missed == len(against) else "contradict or missed their primary outcome"
        )
    number = f"{len(against)} of {len(against) + len(body.supporting)} studies"
    down = 2 if share >= 1 / 2 else 1 if share >= 1 / 4 else 0
    yield _Downgrade(down, f"Inconsistency: {number} {verb} ({share:.0%} of participants)")


def _weigh_indirectness(body: _Body) -> Iterator[_Downgrade]:
    supporting = body.supporting
    if body.tier == "randomised" and not any(item.against_nothing or item.comparator_works for item in supporting):
        yield _Downgrade(1, "Indirectness: none against placebo, no treatment, or a comparator shown to work here")
    direct = [item for item in supporting if item.is_direct]
    if body.tier == "other" or _are_enough(direct, supporting):
        return
    what = "the condition itself and name it in the title"
    down = 1
    if not any(item.is_on_condition for item in supporting):
        what = "the outcome, condition and people asked about"
        down = 2
    yield _Downgrade(down, f"Indirectness: {len(direct)} of {len(supporting)} studies are on {what}")


def _weigh_imprecision(body: _Body) -> Iterator[_Downgrade]:
    size = count_reported(body.supporting)
    if body.tier == "other" or size >= OPTIMAL_SIZE:
        return
    silent = sum(item.reported_size is None for item in body.supporting)
    halved = sum(item.sample_size is None for item in body.supporting) - silent
    sizes = [f"{size} participants compared"] if size or not silent else []
    sizes += [f"half of all arms of {counted(halved, 'study')} among them"] if halved else []
    sizes += [f"{counted(silent, 'study')} of unreported size"] if silent else []
    down = 2 if size < FAR_TOO_FEW and not silent else 1
    yield _Downgrade(down, f"Imprecision: {', '.join(sizes)}; optimal information size {OPTIMAL_SIZE}")


def _weigh_publication_bias(body: _Body) -> Iterator[_Downgrade]:
    bodies = len(body.trials) - len(body.contained) + bool(body.reviews)
    if body.tier != "randomised" or bodies > 1 or count_participants(body.trials) >= LARGE:
        return
    what = "no trial beside the review" if body.reviews else "a single, unreplicated trial"
    what = "one trial, and the review that contains it" if body.contained else what
    yield _Downgrade(1, f"Publication bias: {what}")


_DOMAINS = (_weigh_bias, _weigh_inconsistency, _weigh_indirectness, _weigh_imprecision, _weigh_publication_bias)
"""GRADE's five reasons to lower certainty, in the order in which they are told."""


def _rate(items: Sequence[AppraisedItem], tier: Tier) -> Certainty | None:
    """Rate the evidence in a tier; None if no study in it supports the drug.

    Contradicting studies in better tiers count too.
    """
    supporting = [item for item in items if item.tier == tier and item.direction is Direction.supports]
    if not supporting:
        return None
    start = _STARTS[tier]
    tiers = [other for other in _STARTS if _STARTS[other] >= start]
    failed = [item for item in items if item.direction is Direction.contradicts or item.missed_primary]
    body = _Body(tier, supporting, [item for item in failed if item.tier in tiers])
    steps: list[_Downgrade] = []
    for weigh in _DOMAINS:
        steps += weigh(body)
    lines = [f"{step.text}{f' (-{step.down})' if step.down else ''}." for step in steps]
    level = LEVELS[max(0, start - sum(step.down for step in steps))]
    return Certainty(
        level=level,
        steps=[f"Starts at {LEVELS[start].said}: {_describe_supporting(body)} supporting.", *lines],
        lowered=[text for text, step in zip(lines, steps, strict=True) if step.down],
    )


def _describe_supporting(body: _Body) -> str:
    """Count trials and reviews: "3 trials and 1 systematic review"."""
    parts = []
    if body.trials:
        kind = {"randomised": "trial", "observational": "observational study"}.get(body.tier, "other record")
        designs = sorted({item.design.label for item in body.trials})
        parts.append(counted(len(body.trials), kind) + (f" ({', '.join(designs)})" if body.tier == "other" else ""))
    if body.reviews:
        parts.append(counted(len(body.reviews), "systematic review"))
    return " and ".join(parts)


def _is_in(item: AppraisedItem, review: AppraisedItem) -> bool:
    """Whether a review names the trial that an item reports."""
    keys = {trial_key(name) for name in review.holds}
    return not keys.isdisjoint(trial_key(name) for name in _list_names(item))


class OnePerTrial(NamedTuple):
    """Items without duplicates of a trial, the keys of those represented by another one, and notes on both."""

    counted: list[AppraisedItem]
    folded: list[str]
    notes: list[str]


def keep_one_per_trial(items: Sequence[AppraisedItem]) -> OnePerTrial:
    """Keep one item per trial, of items on one drug that are not retracted; their order does not matter.

    Records that share any name of a trial report one. A pooled analysis counts only if none of its trials counts, and
    of several that share a trial only the largest.
    """
    groups, counted = _group_by_trial(items)
    folded = list[str]()
    notes = list[str]()
    counted_with: dict[str, str] = {}  # by a trial's name, the record that stands for it
    for name, group in sorted(groups.items()):
        report = _select_report(group) if len(group) > 1 else group[0]
        counted.append(report)
        for item in group:
            counted_with |= dict.fromkeys(map(trial_key, _list_names(item)), report.key)
        others = sorted(item.key for item in group if item.key != report.key)
        if others:
            folded += others
            directions = sorted(f"{i.key} {i.direction.value}" for i in group if i.direction in DECIDED)
            disagree = f", although they disagree ({'; '.join(directions)})" if len(_find_directions(group)) > 1 else ""
            notes.append(f"{', '.join([report.key, *others])} report one trial ({name}) and count once{disagree}.")

    pooled = sorted((item for item in counted if item.pools), key=lambda item: (-item.weight, item.key))
    for item in pooled:
        shared = [name for name in item.pools if trial_key(name) in counted_with]
        if shared:
            counted.remove(item)
            folded.append(item.key)
            notes.append(f"{item.key} pools {', '.join(shared)}, counted with {counted_with[trial_key(shared[0])]}.")
        else:
            counted_with |= dict.fromkeys(map(trial_key, item.pools), item.key)
    for item in sorted(counted, key=lambda item: item.key):
        inside = sorted(
            {counted_with[trial_key(name)] for name in item.holds if trial_key(name) in counted_with} - {item.key}
        )
        if inside:
            notes.append(
                f"{item.key} contains {', '.join(inside)}, and adds nothing to {'them' if inside[1:] else 'it'}."
            )
    return OnePerTrial(counted, sorted(folded), notes)


def _list_names(item: AppraisedItem) -> tuple[str, ...]:
    return (item.trial, *item.names) if item.trial else item.names


def _group_by_trial(items: Sequence[AppraisedItem]) -> tuple[dict[str, list[AppraisedItem]], list[AppraisedItem]]:
    """Group items by the trials that they report, each by its most telling name; and those that report none."""
    names: set[str] = set()
    for item in items:
        names |= {trial_key(name) for name in _list_names(item)}
    names -= _find_ambiguous(items)
    group_of: dict[str, str] = {}

    def find(key: str) -> str:
        while group_of.setdefault(key, key) != key:
            key = group_of[key]
        return key

    list_keys: dict[str, list[str]] = {}
    for item in items:
        hints = () if item.pools else item.hints
        list_keys[item.key] = [key for key in map(trial_key, (*_list_names(item), *hints)) if key in names]
        roots = sorted({find(key) for key in list_keys[item.key]})
        group_of |= dict.fromkeys(roots, roots[0]) if roots else {}
    groups: dict[str, list[AppraisedItem]] = {}
    alone = list[AppraisedItem]()
    for item in items:
        if list_keys[item.key]:
            groups.setdefault(find(list_keys[item.key][0]), []).append(item)
        else:
            alone.append(item)
    return {_choose_name(group): group for group in groups.values()}, alone


def _find_ambiguous(items: Sequence[AppraisedItem]) -> set[str]:
    """Find names that records of different registry numbers share: a programme's, not a trial's."""
    numbers: dict[str, set[str]] = {}
    for item in items:
        own = _list_names(item)
        registered = {name for name in own if name.startswith("NCT")}
        for name in own:
            numbers.setdefault(trial_key(name), set()).update(registered)
    return {key for key, registered_as in numbers.items() if len(registered_as) > 1}


def _choose_name(group: Sequence[AppraisedItem]) -> str:
    """Return a trial's most telling name: its registry number, its acronym, its author with participants."""
    names: set[str] = set()
    for item in group:
        names.update(_list_names(item), item.hints if not item.trial else ())
    return min(names, key=lambda name: (not name.startswith("NCT"), "," in name, len(name), name))


def _find_directions(group: Iterable[AppraisedItem]) -> set[Direction]:
    return {item.direction for item in group} & set(DECIDED)


def _select_report(group: Sequence[AppraisedItem]) -> AppraisedItem:
    """Select the report that counts for a trial: of those that agree with it, the soundest, then the largest.

    Its main reports decide, never a substudy beside them: MERIT-HF's 3,991 people are not undone by 94 of them who
    exercised.
    """
    main = _find_main_reports(group)
    stopped = _find_directions(i for i in group if i.why_stopped_kind in ("safety", "futility"))
    posted = _find_directions(i for i in group if i.key.startswith("nct:"))
    directions = stopped or posted or _find_directions(main)
    among = main if not (stopped or posted) else group
    sharing = [i for i in among if i.direction in directions] if len(directions) == 1 else list(main)

    def rank(item: AppraisedItem) -> tuple[object, ...]:
        is_entry = item.key.startswith("nct:")
        return not item.is_sound, not item.against_nothing, -item.weight, item.design.tier, is_entry, item.key

    best = min(sharing, key=rank)
    if len(directions) == 1:
        return best
    undecided = bool(directions) or any(i.direction is Direction.inconclusive for i in main)
    return best.model_copy(update={"direction": Direction.inconclusive if undecided else Direction.not_assessed})


def _find_main_reports(group: Sequence[AppraisedItem]) -> list[AppraisedItem]:
    """Find a trial's main reports: without those that call themselves secondary, or have less than half of its
    people."""
    largest = max((item.sample_size or 0 for item in group), default=0)
    main = [item for item in group if not item.secondary and 2 * (item.sample_size or largest) >= largest]
    return main or list(group)
