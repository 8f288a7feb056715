"""Sort drugs by what was found of them: each drug has one place, and no place of a standard is one of failure.

| place | rule; the first that applies |
|---|---|
| withdrawn | withdrawn from a market |
| standard | licensed for the condition, or what trials of others there compare with |
| failed | refuted; or two studies contradict it, and they outnumber those in support |
| preclinical | all support is in animals or cells |
| mixed | supporting studies, and at least a quarter of all found no benefit or harm |
| benefit | two trials report benefit: on the condition itself, of the drug alone, against placebo, nothing or a drug that works |
| missed | no support, and a study found no difference, or harm |
| not judged | all others, with the cause |

A drug that a language model or a person has read has a benefit by one supporting study, unless its certainty is very
low for want of such a trial: silence is no doubt about the drug.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from ..lexicon import withdrawal_of
from ..reading.reading import RANDOMISED
from ..records.study import Comparison
from .appraised import AppraisedRecord
from .candidates import Candidate
from .certainty import CertaintyLevel

DrugPlace = Literal["withdrawn", "standard", "failed", "preclinical", "mixed", "benefit", "missed", "not_judged"]
Cause = Literal["", "one_trial", "no_clear_trial", "combinations", "reviews", "no_trial"]
"""Why a drug is not judged; empty for one that is. `one_trial`: a single trial reports benefit. `no_clear_trial`: its
trials against placebo or nothing have no clear result. `no_trial`: there is none among the records."""
ENOUGH_TRIALS = 2  # that report benefit, or that contradict
NO_DATA_OF_ITS_OWN = 6  # the tier of narrative reviews and guidelines
MIXED_SHARE = 1 / 4  # of the deciding studies: as inconsistency lowers certainty


class TrialTally(BaseModel, frozen=True, extra="forbid"):
    """Randomised trials of a drug alone on the condition itself, each once; and studies that say nothing of it alone."""

    against_nothing: int = 0
    """Trials against placebo, nothing, usual care or the same background."""
    benefit: int = 0
    """Those of them that report benefit."""
    missed: int = 0
    """Those that found no difference."""
    over_working: int = 0
    """Trials in which it was better or no worse than a comparator that works."""
    as_comparator: int = 0
    """Trials, or reviews of trials, that measure another drug against it."""
    combined: int = 0
    """Studies of it in combinations whose parts were not compared."""


class StrongestStudy(BaseModel, frozen=True, extra="forbid"):
    """A drug's strongest trial that reports benefit: all of it from one comparison and its passage."""

    key: str
    against: str
    """The other arm, by name."""
    quote: str
    """Whole sentences of the comparison's passage, to the letter."""
    participants: int | None = None
    """Of this comparison; None: not reported or not separable."""


class SortedDrug(BaseModel, frozen=True, extra="forbid"):
    """A drug's place with what put it there."""

    place: DrugPlace = "not_judged"
    cause: Cause = ""
    tally: TrialTally = TrialTally()
    strongest: StrongestStudy | None = None
    """None if no trial that counts reports benefit in a passage."""
    missed_primary: bool = False
    """Whether a trial of it missed its primary outcome."""
    is_read_by_model: bool = False
    """Whether a language model or a person read a study that decides on it; otherwise the small reader or the registry
    did."""


def sort_drug(candidate: Candidate) -> SortedDrug:
    """Put a drug in its place, by the table above."""
    tally = count_trials(candidate)
    found = candidate.appraisal
    deciding = [each for each in candidate.records if each.key in {*found.supporting, *found.contradicting}]
    is_read_by_model = any(each.study.reader in ("model", "person") for each in deciding)
    place = _find_place(candidate, tally, is_read_by_model=is_read_by_model)
    return SortedDrug(
        place=place,
        cause=_find_cause(candidate, tally) if place == "not_judged" else "",
        tally=tally,
        strongest=find_strongest(candidate),
        missed_primary=any(each.item.primary == "not_met" for each in _opposing(candidate)),
        is_read_by_model=is_read_by_model,
    )


def count_trials(candidate: Candidate) -> TrialTally:
    """Count a drug's trials; records of one trial count once."""
    found = candidate.appraisal
    trials = [each for each in candidate.records if _counts(candidate, each)]
    beside = [each for each in trials if each.stance.is_against_nothing]
    over = [each for each in trials if each not in beside and each.item.comparator_works]
    return TrialTally(
        against_nothing=len(beside),
        benefit=sum(each.key in found.supporting for each in beside),
        missed=sum(each.key in found.contradicting for each in beside),
        over_working=sum(each.key in found.supporting for each in over),
        as_comparator=sum(each.compares_with_it for each in candidate.records),
        combined=sum(each.stance.says == "combined" for each in candidate.records),
    )


def _counts(candidate: Candidate, record: AppraisedRecord) -> bool:
    """Whether a record is a trial of the drug alone on the condition itself, and stands for its trial."""
    item, found = record.item, candidate.appraisal
    is_trial = item.design in RANDOMISED and item.tested and item.alone
    is_folded = record.key in found.same_trial or record.key in found.excluded
    return is_trial and item.is_on_condition and not is_folded


def find_strongest(candidate: Candidate) -> StrongestStudy | None:
    """Find the strongest trial that reports benefit, with its comparison: sound and large, with figures if any has."""
    usable = [
        each
        for each in candidate.records
        if each.key in candidate.appraisal.supporting and _counts(candidate, each) and _is_telling(each)
    ]
    if not usable:
        return None
    best = min(usable, key=_rank)
    row = best.stance.comparison
    if row is None or row.passage is None or row.versus is None:
        return None
    return StrongestStudy(
        key=best.key, against=row.versus, quote=row.passage.text, participants=best.study.participants_of(row)
    )


def _is_telling(record: AppraisedRecord) -> bool:
    """Whether a record's stance rests on a passage of a comparison that can show an effect."""
    row = record.stance.comparison
    is_shown = record.stance.is_against_nothing or record.item.comparator_works
    return is_shown and row is not None and row.passage is not None and row.versus is not None


def _rank(record: AppraisedRecord) -> tuple[bool, bool, bool, int, str]:
    """Order trials, the strongest first."""
    row = record.stance.comparison
    people = record.study.participants_of(row) if row is not None else None
    has_figures = row is not None and _has_figures(row)
    return not record.item.is_sound, not record.stance.is_against_nothing, not has_figures, -(people or 0), record.key


def _has_figures(row: Comparison) -> bool:
    return row.passage is not None and any(letter.isdigit() for letter in row.passage.text)


def _opposing(candidate: Candidate) -> Sequence[AppraisedRecord]:
    return [each for each in candidate.records if each.key in candidate.appraisal.contradicting]


def _find_place(candidate: Candidate, tally: TrialTally, *, is_read_by_model: bool) -> DrugPlace:
    found = candidate.appraisal
    support, against = len(found.supporting), len(found.contradicting)
    is_withdrawn = any(caution.startswith("Withdrawn") for caution in candidate.cautions)
    if is_withdrawn or withdrawal_of(candidate.drug) is not None:
        return "withdrawn"
    if candidate.group == "established":
        return "standard"
    if found.quality == "refuted" or _has_failed(candidate):
        return "failed"
    if candidate.is_preclinical:
        return "preclinical"
    if support and against >= MIXED_SHARE * (support + against):
        return "mixed"
    trials = tally.benefit + tally.over_working
    is_rated = found.certainty.level is not CertaintyLevel.very_low or trials > 0
    if trials >= ENOUGH_TRIALS or (is_read_by_model and support and is_rated):
        return "benefit"
    return "missed" if against and not support else "not_judged"


def _has_failed(candidate: Candidate) -> bool:
    """Whether two studies that contradict outnumber support; a missed outcome alone does not contradict."""
    contradicting = [each for each in _opposing(candidate) if each.stance.says != "missed"]
    return len(contradicting) >= max(ENOUGH_TRIALS, len(candidate.appraisal.supporting) + 1)


def _find_cause(candidate: Candidate, tally: TrialTally) -> Cause:
    """Say why a drug is not judged: what there is of it, or what there is none of."""
    if tally.benefit + tally.over_working:
        return "one_trial"
    if tally.against_nothing:
        return "no_clear_trial"
    designs = [each.item for each in candidate.records if each.stance.says != "none"]
    if tally.combined and tally.combined == len(designs):
        return "combinations"
    if designs and all(item.is_review or item.design.tier == NO_DATA_OF_ITS_OWN for item in designs):
        return "reviews"
    return "no_trial"

