"""How sure one can be that a drug helps a condition, step by step as GRADE has it.

GRADE handbook, chapter 5 (https://gdt.gradepro.org/app/handbook/handbook.html): randomised evidence starts high,
observational evidence low; risk of bias, inconsistency, indirectness, imprecision and publication bias take steps down.
GRADE rates confidence in an estimate; here it is confidence in one claim, "the drug helps", so evidence against it can
only lower it. Randomised, observational and other records are rated apart, of each the soundest part (`soundness`), and
the best stands: more support costs a step only where it shows that two trials are one, or how small one is. Steps up
(large effect, dose response) are left out: abstracts seldom allow them.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Literal, get_args

from pydantic import BaseModel

from ..reading.design import RANDOMISED, StudyDesign
from .soundness import ALONE, DOWN, Body, describe_left_out, soundest_body
from .trials_once import AppraisedItem, Direction, one_per_trial, weight

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
        return _SAID[self]


_LEVELS = (CertaintyLevel.very_low, CertaintyLevel.low, CertaintyLevel.moderate, CertaintyLevel.high)
_SAID: dict[CertaintyLevel, Level] = dict(zip(_LEVELS, get_args(Level)[::-1], strict=True))
_QUALITIES: dict[CertaintyLevel, Quality] = dict(zip(_LEVELS, ("weak", "weak", "moderate", "strong"), strict=True))
_STOPPED = frozenset({"TERMINATED", "WITHDRAWN", "SUSPENDED"})  # overallStatus of ClinicalTrials.gov
_RANDOMISED_START = 3  # high: index of `_LEVELS`
_WITHOUT_PATIENTS = (
    "experiment, single case, overview or opinion",
    "experiments, single cases, overviews or opinions",
)
SERIOUS = 4  # contradicting weight of at least a quarter of the whole: serious inconsistency
VERY_SERIOUS = 2  # … of at least a half: very serious inconsistency
HARDLY_WRONG = 0.85  # the share of verdicts due to be right, of one record (`sure`) as of several together
REFUTED_RATIO = 3  # contradicting weight over supporting weight; 1 for and 5 against is refuted, 1 and 2 is weak
REFUTED_COUNT = 3  # records that refute without a randomised trial among them
REFUTED_WITH_TRIAL = 2  # records that refute with one among them: a single trial can fail by chance or by its size


class Certainty(BaseModel, frozen=True, extra="forbid"):
    """A level of certainty with each step that led to it."""

    level: CertaintyLevel
    steps: list[str] = []
    lowered: list[str] = []
    """Reasons of those steps that lowered the level."""


class CandidateAppraisal(BaseModel, frozen=True, extra="forbid"):
    """What the evidence on a candidate amounts to: the supports/contradicts table, its certainty and its quality."""

    certainty: Certainty
    quality: Quality
    supporting: list[str] = []
    contradicting: list[str] = []
    neutral: list[str] = []
    unclear: list[str] = []
    leaning: dict[str, Direction] = {}
    """Where undecided records would stand if their readings were surer."""
    excluded: list[str] = []
    """Keys of retracted records."""
    same_trial: list[str] = []
    """Keys of records that report a trial for which another record counts."""
    notes: list[str] = []
    """What took no step but should be said: stopped trials and why, records not checked for retraction."""


def appraise_candidate(items: Sequence[AppraisedItem]) -> CandidateAppraisal:
    """Appraise all evidence on a candidate; the order of the items does not matter."""
    every = sorted((i for i in items if not i.retracted), key=repr)
    kept, folded, same = one_per_trial(every)
    borne_out, adding_up = add_probable_support(kept)
    items = [*borne_out, *(i for i in items if i.retracted)]
    notes = [
        f"{i.key} was stopped ({(i.trial_status or 'status not reported').lower()}): "
        f"{i.why_stopped_kind or 'reason not reported'}."
        for i in every
        if i.why_stopped_kind or i.trial_status in _STOPPED
    ]
    notes += [f"Readers disagree on {i.key} ({i.disputed}); the first counts." for i in every if i.disputed]
    notes += [f"{i.key} carries an expression of concern and counts half." for i in every if i.concern]
    if unchecked := sum(i.retracted is None for i in every):
        notes.append(f"{unchecked} of {len(every)} records could not be checked for retraction.")

    def keys(direction: Direction) -> list[str]:
        return [i.key for i in kept if i.effective_direction is direction]

    certainty = appraise(items)
    return CandidateAppraisal(
        certainty=certainty.model_copy(
            update={"steps": [*certainty.steps, *adding_up, *(f"Counted once: {note}" for note in same)]}
        ),
        quality=quality(items, certainty.level),
        supporting=keys(Direction.supports),
        contradicting=keys(Direction.contradicts),
        neutral=keys(Direction.neutral),
        unclear=keys(Direction.unclear),
        leaning={i.key: i.leans for i in kept if i.leans and i.effective_direction is Direction.neutral},
        excluded=sorted(i.key for i in items if i.retracted),
        same_trial=folded,
        notes=[*notes, *same],
    )


def add_probable_support(items: Sequence[AppraisedItem]) -> tuple[list[AppraisedItem], list[str]]:
    """Let uncertain readings in support bear out what sure ones say, as many as are right with a probability of .85.

    One of 70 % may well be wrong, six of them hardly all. How many of them are right follows the Poisson binomial
    distribution, by the calibrated chance of each; the likeliest count towards certainty. Nobody can say which are
    right, so none is shown as support; where no reading is sure, none counts. Readings against a drug don't: those that
    lean so are right too seldom (`tools/reading/weights.md`).

    Returns:
        the items, those that count now in support; a line that says so, if any count.
    """
    leaning = sorted((i for i in items if i.leans is Direction.supports), key=lambda i: (-i.chance, i.key))
    if not any(i.effective_direction is Direction.supports for i in items):
        return list(items), []
    exactly = [1.0]
    """How probable it is that none, one, two, … are right."""
    for item in leaning:
        wrong, right = [p * (1 - item.chance) for p in exactly], [p * item.chance for p in exactly]
        exactly = [a + b for a, b in zip([*wrong, 0.0], [0.0, *right], strict=True)]
    least = [sum(exactly[number:]) for number in range(len(exactly))]
    count = max((number for number, chance in enumerate(least) if chance >= HARDLY_WRONG), default=0)
    if not count:
        return list(items), []
    keys = {item.key for item in leaning[:count]}
    return (
        [replace(i, direction=Direction.supports, leans=None, chance=0.0) if i.key in keys else i for i in items],
        [
            f"Counted too: {count} of {len(leaning)} records that were read in support too uncertainly to be shown as "
            f"such; that so many of them are right has a probability of {least[count]:.2f}."
        ],
    )


def quality(items: Sequence[AppraisedItem], level: CertaintyLevel | None = None) -> Quality:
    """Put the certainty in the words of a candidate's `evidence_quality`.

    `strong` is high certainty, `moderate` moderate, `weak` low or very low; `refuted` when the weight against is at
    least three times the weight for, and comes from a systematic review, from a randomised trial and another record, or
    from three records. Trials refute where they are against placebo or nothing, or were stopped for cause: a trial of
    two drugs shows which is better, not that the other does nothing.

    Args:
        items: on one drug and condition.
        level: where it is known already.
    """
    kept = [i for i in items if not i.retracted]
    against = [i for i in kept if i.effective_direction is Direction.contradicts]
    weight_against = sum(map(weight, against))
    weight_for = sum(weight(i) for i in kept if i.effective_direction is Direction.supports)
    strong = []
    for i in against:
        sound = i.design.tier <= 2 and not i.is_preprint and not i.concern and not i.hedged
        if i.why_stopped_kind in ("safety", "futility") or (sound and i.against_nothing is not False):
            strong.append(i)
    enough = (
        len(against) >= REFUTED_COUNT
        or (len(against) >= REFUTED_WITH_TRIAL and bool(strong))
        or any(i.design is StudyDesign.systematic_review and not i.trial for i in strong)
    )
    if enough and weight_against >= REFUTED_RATIO * weight_for:
        return "refuted"
    return _QUALITIES[level or appraise(items).level]


def appraise(items: Sequence[AppraisedItem]) -> Certainty:
    """Rate the certainty that the drug helps, with every step up or down written out.

    Retracted items change nothing but a listed reason. Without supporting evidence it is very low.
    """
    retracted = sorted(i.key for i in items if i.retracted)
    kept = [i for i in items if not i.retracted]
    supporting = [i for i in kept if i.effective_direction is Direction.supports]
    against = [i for i in kept if i.effective_direction is Direction.contradicts]
    excluded = [f"Left out: {key} is retracted." for key in retracted]
    rated = [
        (names, start, kind, body)
        for names, start, kind in _kinds(supporting)
        if (body := soundest_body(kind, start, randomised=start == _RANDOMISED_START))
    ]
    if not rated:
        return Certainty(level=CertaintyLevel.very_low, steps=["Very low: no evidence supports it.", *excluded])
    names, start, kind, body = max(rated, key=lambda told: (told[-1].level(), told[-1].rank))
    down, reasons = _inconsistency(supporting, against, [i for i in kept if i.leans])
    if body.level(down) < max(0, body.rank - down):
        reasons = [_alone(body), *reasons]
    of, others = len(kind), describe_left_out(kind, body, randomised=start == _RANDOMISED_START)
    share = f"the soundest {len(body.items)} of {of}" if len(body.items) < of else str(of)
    rest = f" (of the rest, {others})" if others else ""
    started = f"Start at {_LEVELS[start].said}: {share} {names[of > 1]} in support{rest}."
    taken = [*body.steps, *reasons]
    return Certainty(
        level=_LEVELS[body.level(down)],
        steps=[started, *(f"{DOWN[n] or 'No step for inconsistency'}: {reason}." for n, reason in taken), *excluded],
        lowered=[reason for n, reason in taken if n],
    )


def _kinds(supporting: Sequence[AppraisedItem]) -> list[tuple[tuple[str, str], int, list[AppraisedItem]]]:
    """The records by kind, with the rank from which they start: each kind is rated apart, the best one stands."""
    plain = [i for i in supporting if not i.hedged]
    reviews = [i for i in plain if i.design is StudyDesign.systematic_review]
    counting = [i for i in reviews if i.sample_size is not None]  # without it a review is a mention
    trials = [i for i in plain if i.design in RANDOMISED or i in counting]
    names = ("", "randomised trials and reviews of them") if counting else ("randomised trial", "randomised trials")
    if len(counting) == len(trials):
        names = ("review of trials", "reviews of trials")
    return [
        (names, _RANDOMISED_START, trials),
        (("systematic review", "systematic reviews"), 1, [i for i in reviews if i.sample_size is None]),
        (("observational study", "observational studies"), 1, [i for i in plain if i.design.tier in (3, 4)]),
        (("guarded result", "guarded results"), 1, [i for i in supporting if i.hedged and i.design.tier <= 4]),
        (_WITHOUT_PATIENTS, 0, [i for i in supporting if i.design.tier >= 5]),
    ]


def _alone(body: Body) -> tuple[int, str]:
    sizes = [item.sample_size for item in body.items]
    if not any(sizes):
        alone = "a single trial" if len(sizes) == 1 else "trials"
        return 1, f"{alone} of unreported size, which no other one here repeats"
    small = "small " if body.ceiling < ALONE and None not in sizes else ""
    if len(sizes) == 1:
        return 1, f"a single {small}trial, which no other one here repeats"
    return 1, f"nearly all participants are of a single {small}trial, and the others are too small to repeat it"


def _inconsistency(
    supporting: Sequence[AppraisedItem], against: Sequence[AppraisedItem], leaning: Sequence[AppraisedItem]
) -> tuple[int, list[tuple[int, str]]]:
    """Steps down in all, and each number of steps with its reason; uncertain readings weigh by their chance."""
    doubts = [i for i in leaning if i.leans is Direction.contradicts]
    opposed = sum(map(weight, against)) + sum(weight(i) * i.chance for i in doubts)
    whole = sum(map(weight, [*supporting, *against])) + sum(weight(i) * i.chance for i in leaning)
    reasons, down = [], 0
    part = opposed / whole if whole else 0.0  # of records with every fault none weighs anything
    if part * VERY_SERIOUS >= 1:
        down = 2
    elif part * SERIOUS >= 1:
        down = 1
    if against or (doubts and down):
        many = len(against) + len(supporting)
        speak = "speaks" if len(against) == 1 else "speak"
        told = [f"{len(against)} of {many} records {speak} against it"] if against else []
        if doubts:
            told.append(
                f"{len(doubts)} more may" if against else f"{len(doubts)} may speak against it, read uncertainly"
            )
        share = f"{100 * part:.0f} % of the weight"
        said = " and ".join(told)
        reasons.append((down, f"inconsistent, {said} ({share})" if down else f"{said} ({share}, less than a quarter)"))
    harmful = sorted(i.key for i in against if i.why_stopped_kind == "safety")
    if harmful:
        reasons.append((1, f"stopped for safety: {', '.join(harmful)}"))
    return down + bool(harmful), reasons
