"""Sort drugs by what was found of them: each drug has one place, and no place of a standard is one of failure.

| place | rule; the first that applies |
|---|---|
| withdrawn | withdrawn from a market |
| unsuited | not for the people whom the question names |
| standard | licensed for the condition, or what trials of others there compare with |
| failed | its outcome is failed |
| preclinical | all support is in animals or cells |
| mixed | its outcome is mixed |
| benefit | its outcome is supported, by two trials of it alone on the condition, over placebo, nothing or what works |
| missed | its outcome is missed, by a trial against placebo or nothing that found no difference, or harm |
| not judged | all others, with the cause |

The outcome is that of `find_outcome`, by the studies that count: it and the place cannot tell two things of a drug.
The small reader alone refutes no drug that more studies support than speak against it.
What works is a drug that the same records show to work, or a standard. A drug that a language model or a person read
has a benefit by one supporting study, unless its certainty is very low for want of such a trial: silence is no doubt
about the drug.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel

from ..lexicon import find_drugs
from ..reading.document import Document
from ..reading.reading import RANDOMISED, StudyDesign
from ..reading.text import says, sentences
from ..records.study import Comparison
from .appraised import AppraisedRecord
from .candidates import Candidate
from .certainty import CandidateOutcome, CertaintyLevel, find_outcome
from .suitability import WITHDRAWN, is_barred

DrugPlace = Literal[
    "withdrawn", "unsuited", "standard", "failed", "preclinical", "mixed", "benefit", "missed", "not_judged"
]
Cause = Literal[
    "", "one_trial", "no_clear_trial", "one_against", "combinations", "called_effective", "reviews", "no_trial"
]
"""Why a drug is not judged; empty for one that is.

`one_trial`: a single trial reports benefit. `no_clear_trial`: its trials against placebo or nothing were not read
clearly enough to count. `called_effective`: only reviews support it, one at least by a passage or title on the
condition. `one_against`: all that speaks is a study against it, which is no such trial. `no_trial`: no record has
one."""
ENOUGH_TRIALS = 2  # that report benefit
REVIEWS = frozenset({StudyDesign.systematic_review, StudyDesign.narrative_review, StudyDesign.guideline})


class TrialTally(BaseModel, frozen=True, extra="forbid"):
    """Randomised trials of a drug alone on the condition, each once; and studies that do not tell of it alone."""

    against_nothing: int = 0
    """Trials against placebo, nothing, usual care or the same background, whether or not their result is clear."""
    benefit: int = 0
    """Those of them that report benefit."""
    missed: int = 0
    """Those that found no difference, or harm."""
    over_working: int = 0
    """Trials in which it was better than a drug that works, or shown to be no worse."""
    as_comparator: int = 0
    """Trials, or reviews of trials, that measure another drug against it."""
    combined: int = 0
    """Studies of it in combinations whose parts were not compared."""

    @property
    def trials(self) -> int:
        """Trials whose result shows whether it works."""
        return self.benefit + self.missed + self.over_working

    @property
    def reporting_benefit(self) -> int:
        """Those of them that report benefit."""
        return self.benefit + self.over_working


class StrongestStudy(BaseModel, frozen=True, extra="forbid"):
    """A drug's strongest trial that reports benefit: all of it from one comparison and its passage."""

    key: str
    against: str = ""
    """The other arm, by name; empty if the quote does not name it."""
    quote: str
    """A whole sentence of the comparison's passage that names the drug, to the letter."""
    participants: int | None = None
    """Of this comparison; None: not reported or not separable."""


class SortedDrug(BaseModel, frozen=True, extra="forbid"):
    """A drug's place with what put it there."""

    place: DrugPlace = "not_judged"
    outcome: CandidateOutcome = "undecided"
    """What the studies that count come to; of a drug that is not judged they are too few."""
    cause: Cause = ""
    tally: TrialTally = TrialTally()
    strongest: StrongestStudy | None = None
    """None if no trial that counts reports benefit in a sentence that names the drug."""
    missed_primary: bool = False
    """Whether a trial of it missed its primary outcome."""
    is_read_by_model: bool = False
    """Whether a language model read a study that decides on it; otherwise the small reader, the registry or people
    did."""


def sort_drugs(candidates: Sequence[Candidate]) -> dict[str, SortedDrug]:
    """Put each drug in its place, by the table above; all candidates of a question, since standards tell what works."""
    standards = frozenset(candidate.drug for candidate in candidates if candidate.group == "established")
    return {candidate.drug: sort_drug(candidate, standards) for candidate in candidates}


def sort_drug(candidate: Candidate, standards: frozenset[str]) -> SortedDrug:
    """Put one drug in its place; `standards` are the drugs that are licensed or standard for the condition."""
    tally = count_trials(candidate, standards)
    appraisal = candidate.appraisal
    deciding = [record for record in candidate.records if record.key in appraisal.telling]
    readers = {record.study.reader for record in deciding}
    is_read_by_model = "model" in readers
    is_vouched = is_read_by_model or readers == {"person"}  # a person's word on one row vouches for no other
    outcome = _find_outcome(candidate, is_vouched=is_vouched)
    place = _find_place(candidate, outcome, tally, is_vouched=is_vouched)
    return SortedDrug(
        place=place,
        outcome=outcome,
        cause=_find_cause(candidate, tally) if place == "not_judged" else "",
        tally=tally,
        strongest=find_strongest(candidate, standards),
        missed_primary=any(record.item.primary == "not_met" for record in _list_opposing(candidate)),
        is_read_by_model=is_read_by_model,
    )


def count_trials(candidate: Candidate, standards: frozenset[str]) -> TrialTally:
    """Count a drug's trials; records of one trial count once."""
    appraisal = candidate.appraisal
    trials = [record for record in candidate.records if _counts_as_trial(candidate, record)]
    inert_controlled = [trial for trial in trials if trial.stance.is_against_nothing]
    over = [trial for trial in trials if trial not in inert_controlled and _is_against_working(trial, standards)]
    return TrialTally(
        against_nothing=len(inert_controlled),
        benefit=sum(trial.key in appraisal.supporting for trial in inert_controlled),
        missed=sum(trial.key in {*appraisal.contradicting, *appraisal.missed} for trial in inert_controlled),
        over_working=sum(trial.key in appraisal.supporting for trial in over),
        as_comparator=sum(record.compares_with_it for record in candidate.records),
        combined=sum(record.stance.says == "combined" for record in candidate.records),
    )


def _is_against_working(record: AppraisedRecord, standards: frozenset[str]) -> bool:
    """Whether a drug was compared with another one that works: by what the same records show, or as a standard."""
    row = record.stance.comparison
    if row is None or row.versus is None:
        return False
    others = record.study.drugs_of(row.versus)
    return bool(others) and (record.item.comparator_works or others <= standards)


def _counts_as_trial(candidate: Candidate, record: AppraisedRecord) -> bool:
    """Whether a record is a trial of the drug alone on the condition itself, and stands for its trial."""
    item = record.item
    appraisal = candidate.appraisal
    is_trial = item.design in RANDOMISED and item.tested and item.alone
    is_folded = record.key in appraisal.same_trial or record.key in appraisal.excluded
    return is_trial and item.is_on_condition and not is_folded and _is_of_question(record)


def _is_of_question(record: AppraisedRecord) -> bool:
    """Whether the small reader's deciding passage is on the drug, and it or the title on the condition.

    It gives a drug the result of another one that was tested beside it, or a result on another outcome of the same
    people. A sentence that names no drug tested ("Both were better") may be of this one.
    """
    study = record.study
    row = record.stance.comparison
    if study.reader != "small_reader":
        return True
    if row is None or row.passage is None:
        return record.item.in_title
    document = Document.cut("", row.passage.text)
    drugs = {name for name, *_ in document.drugs}
    tested: set[str] = set()
    for comparison in study.comparisons:
        tested |= study.contrast_of(comparison)
    is_of_drug = record.stance.drug in drugs or drugs.isdisjoint(tested - study.drugs_of(row.versus))
    conditions = {name for name, *_ in document.conditions}
    return is_of_drug and (record.item.in_title or record.reading.condition in conditions)


def find_strongest(candidate: Candidate, standards: frozenset[str]) -> StrongestStudy | None:
    """Find the strongest trial that reports benefit, in its own words: sound, with figures, large."""
    supporting = [record for record in candidate.records if record.key in candidate.appraisal.supporting]
    ranked = [_quote(record, standards) for record in supporting if _counts_as_trial(candidate, record)]
    trials = [trial for trial in ranked if trial is not None]
    return min(trials, key=lambda trial: trial.rank).study if trials else None


class _RankedTrial(NamedTuple):
    """A trial in its own words, with its place among others, the strongest first."""

    rank: tuple[bool | int | str, ...]
    study: StrongestStudy


def _quote(record: AppraisedRecord, standards: frozenset[str]) -> _RankedTrial | None:
    """Quote the sentence by which a trial reports benefit; None if none names the drug beside what can show it."""
    row = record.stance.comparison
    drug = record.stance.drug
    is_inert = record.stance.is_against_nothing
    if row is None or row.passage is None or not (is_inert or _is_against_working(record, standards)):
        return None
    results = [
        line for line in sentences(row.passage.text) if not says("randomised", line)
    ]  # who got what is no result
    lines = [line for line in results if drug in _list_drugs(line)]
    if not lines:
        return None
    line = min(lines, key=lambda sentence: (not _name_other_arm(record, row, sentence), not _has_figures(sentence)))
    people = record.told.quoted_participants
    study = StrongestStudy(key=record.key, against=_name_other_arm(record, row, line), quote=line, participants=people)
    doubts = not record.item.is_sound, not is_inert, not study.against, not _has_figures(line)
    return _RankedTrial((*doubts, -(people or 0), record.key), study)


def _name_other_arm(record: AppraisedRecord, row: Comparison, line: str) -> str:
    """Name the other arm if a sentence does."""
    others = record.study.drugs_of(row.versus)
    is_in_line = others <= _list_drugs(line) if others else str(row.versus) in line.casefold()
    return str(row.versus) if is_in_line else ""


def _list_drugs(line: str) -> frozenset[str]:
    return frozenset(mention.name for mention in find_drugs(line))


def _has_figures(line: str) -> bool:
    return any(letter.isdigit() for letter in line)


def _list_opposing(candidate: Candidate) -> list[AppraisedRecord]:
    """List the studies that speak against a drug: none that only compares it with another dose, drug or before.

    The small reader takes "both were alike" for a failure there.
    """
    against = {*candidate.appraisal.contradicting, *candidate.appraisal.missed}
    return [record for record in candidate.records if record.key in against and _speaks_against(record)]


def _speaks_against(record: AppraisedRecord) -> bool:
    if record.item.why_stopped_kind in ("safety", "futility") or record.study.reader != "small_reader":
        return True
    is_compared = record.item.comparator in ("active", "dose", "before_after")
    return _is_of_question(record) and (record.stance.is_against_nothing or not is_compared)


def _find_outcome(candidate: Candidate, *, is_vouched: bool) -> CandidateOutcome:
    """Find what a drug's studies come to, of those against it by the ones that count."""
    appraisal = candidate.appraisal
    against = [record.key for record in _list_opposing(candidate)]
    contradicting = sum(key in appraisal.contradicting for key in against)
    missed = len(against) - contradicting
    support = len(appraisal.supporting)
    is_refuted = appraisal.quality == "refuted" and (is_vouched or len(against) >= support)
    return find_outcome(support, contradicting, missed, is_refuted=is_refuted)


def _find_place(candidate: Candidate, outcome: CandidateOutcome, tally: TrialTally, *, is_vouched: bool) -> DrugPlace:
    if is_barred(candidate.cautions):
        is_withdrawn = any(caution.startswith(WITHDRAWN) for caution in candidate.cautions)
        return "withdrawn" if is_withdrawn else "unsuited"
    if candidate.group == "established":
        return "standard"
    if outcome == "failed":
        return "failed"
    if candidate.is_preclinical:
        return "preclinical"
    if outcome == "mixed":
        return "mixed"
    if outcome == "supported":
        is_enough = tally.reporting_benefit >= ENOUGH_TRIALS or (is_vouched and _is_rated(candidate, tally))
        return "benefit" if is_enough else "not_judged"
    is_missed = outcome == "missed" and (tally.missed or is_vouched)
    return "missed" if is_missed else "not_judged"


def _is_rated(candidate: Candidate, tally: TrialTally) -> bool:
    """Whether a drug's certainty rests on trials that can show whether it works: only of these is there doubt."""
    behind = [record for record in candidate.records if record.key in candidate.appraisal.supporting]
    is_tried = tally.reporting_benefit > 0 or any(map(_is_against_nothing, behind))
    return is_tried or candidate.appraisal.certainty.level is not CertaintyLevel.very_low


def _find_cause(candidate: Candidate, tally: TrialTally) -> Cause:
    """Say why a drug is not judged: what there is of it, or what there is none of."""
    if tally.reporting_benefit:
        return "one_trial"
    if any(_is_against_nothing(record) for record in candidate.records):
        return "no_clear_trial"
    if _list_opposing(candidate) and not candidate.appraisal.supporting:
        return "one_against"
    designs = [record.item for record in candidate.records if record.stance.says != "none"]
    if tally.combined and tally.combined == len(designs):
        return "combinations"
    behind = [record for record in candidate.records if record.key in candidate.appraisal.supporting]
    are_reviews = bool(behind) and all(record.item.design in REVIEWS for record in behind)
    if are_reviews and any(map(_mentions_condition, behind)):
        return "called_effective"
    return "reviews" if designs and all(item.design in REVIEWS for item in designs) else "no_trial"


def _mentions_condition(record: AppraisedRecord) -> bool:
    """Whether a review's title or deciding passage is on the condition; one on crises of another is not."""
    part = record.stance.comparison or record.stance.view
    if record.item.in_title or part is None or part.passage is None:
        return record.item.in_title
    conditions = {name for name, *_ in Document.cut("", part.passage.text).conditions}
    return record.reading.condition in conditions


def _is_against_nothing(record: AppraisedRecord) -> bool:
    """Whether a study, however it was read, may be a trial of the drug against placebo or nothing."""
    item = record.item
    is_trial = item.design in RANDOMISED or item.design is StudyDesign.registry_entry
    return is_trial and (item.against_nothing or record.stance.is_against_nothing)
