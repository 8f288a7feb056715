"""Which rows are worth a person's minutes: the chance that a row is wrong, times what its change would move.

The chance comes from the reader's calibrated probability and from readers who differ; the move from leaving the row
out or turning it round, through the tables of certainty and of places. What counts is whether a conclusion moves; how
far it moves orders rows that are else alike. `benchmarks/review.py` measures how many seeded errors that move a
conclusion stand among the first ten rows.

| row read by | chance that it is wrong |
|---|---|
| a person | 0: it is not asked again |
| the registry's posted results | 0.02 |
| a model, the second reader agrees | 0.04 |
| a model, the second reader differs | 0.30 |
| the small reader, sure | 1 - its probability |
| the small reader, not sure, so that its verdict does not count | its probability: the verdict may be right |

The figures for a model are those of its readings beside the trained reader's, as far as these were read by hand.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..reading.reading import Direction, convert_verdict
from .appraised import AppraisedRecord
from .candidates import Candidate
from .certainty import DECIDED, LEVELS, appraise_candidate
from .corrected import decide_item, decide_stance
from .sorting import SortedDrug, sort_drug

BY_REGISTRY = 0.02
BY_MODEL = 0.04
IN_DISPUTE = 0.30
MOST_ROWS = 10
_OTHERWISE: Mapping[Direction, Mapping[Direction, float]] = {
    Direction.supports: {Direction.inconclusive: 0.7, Direction.contradicts: 0.3},
    Direction.contradicts: {Direction.inconclusive: 0.7, Direction.supports: 0.3},
    Direction.inconclusive: {Direction.supports: 0.7, Direction.contradicts: 0.3},
    Direction.not_assessed: {Direction.supports: 0.7, Direction.contradicts: 0.3},
}
"""What a row says if it is wrong, by what it says now, each with its share of such errors."""
_OF_PLACE = 2.0
_OF_LEVEL = 1.0
_OF_OUTCOME = 0.5
"""How much another place, each step of certainty, and another outcome within one place weigh."""
MOVES = 1.0
"""Weight from which on a conclusion moves: another place, or another level of certainty."""
_OF_SIZE = 0.1
"""How much a move's weight counts beside whether a conclusion moves."""


class RowMove(NamedTuple):
    """What a change of one row would do to its drug."""

    weight: float
    told: str
    """In words; empty if nothing moves."""


class ReviewRow(NamedTuple):
    """A row worth looking at."""

    drug: str
    record: AppraisedRecord
    chance: float
    """That it is wrong, 0 to 1."""
    score: float
    move: str
    """What its likeliest change would move, in words."""

    @property
    def reason(self) -> str:
        """Why it is worth looking at."""
        return f"{self.chance:.0%} likely to be wrong; otherwise {self.move}"


def rank_rows(candidates: Sequence[Candidate], most: int = MOST_ROWS) -> list[ReviewRow]:
    """Return the rows that are worth a person's minutes, the worthiest first; none that a person has seen."""
    standards = frozenset(candidate.drug for candidate in candidates if candidate.group == "established")
    rows = list[ReviewRow]()
    for candidate in candidates:
        place = sort_drug(candidate, standards)
        for record in candidate.records:
            chance = 0.0 if record.word is not None else rate_chance(record)
            if chance > 0 and record.item.retracted is not True:
                row = _rate_row(candidate, record, place, standards, chance)
                rows += [row] if row.score > 0 else []
    return sorted(rows, key=lambda row: (-row.score, row.drug, row.record.key))[:most]


def rate_chance(record: AppraisedRecord) -> float:
    """Rate how likely it is that a row says something else than its record, 0 to 1, by the table above."""
    reading = record.reading
    item = record.item
    if record.study.reader == "person":
        return 0.0
    if reading.reader == "posted" or record.study.reader == "registry":
        return BY_REGISTRY
    if reading.reader == "model":
        differs = item.second_reader is not None and item.second_reader != item.direction.value
        return IN_DISPUTE if differs else BY_MODEL
    is_unsure = convert_verdict(reading.verdict) in DECIDED and not reading.sure
    return reading.probability if is_unsure else 1 - reading.probability


def _rate_row(
    candidate: Candidate, record: AppraisedRecord, place: SortedDrug, standards: frozenset[str], chance: float
) -> ReviewRow:
    """Rate what the changes of a row would move, each by its share."""
    worth = 0.0
    likeliest = ""
    heaviest = 0.0
    for direction, share in _OTHERWISE[record.item.direction].items():
        move = rate_move(candidate, record, direction, place, standards)
        worth += share * (float(move.weight >= MOVES) + _OF_SIZE * move.weight)
        if share * move.weight > heaviest:
            heaviest = share * move.weight
            likeliest = f"{direction.value}: {move.told}"
    return ReviewRow(candidate.drug, record, chance, chance * worth, likeliest)


def rate_move(
    candidate: Candidate,
    record: AppraisedRecord,
    direction: Direction,
    place: SortedDrug,
    standards: frozenset[str],
) -> RowMove:
    """Rate what a drug's place and certainty become if one of its rows says something else."""
    changed = change_row(candidate, record, direction)
    after = sort_drug(changed, standards)
    before = candidate.appraisal
    now = changed.appraisal
    steps = abs(LEVELS.index(before.certainty.level) - LEVELS.index(now.certainty.level))
    changes = list[str]()
    weight = 0.0
    if place.place != after.place:
        weight += _OF_PLACE
        changes.append(f"{_write_place(place)} → {_write_place(after)}")
    elif place.outcome != after.outcome:
        weight += _OF_OUTCOME
        changes.append(f"{place.outcome} → {after.outcome}")
    if steps:
        weight += _OF_LEVEL * steps
        changes.append(f"certainty {before.certainty.level.said} → {now.certainty.level.said}")
    return RowMove(weight, f"{candidate.drug} {', '.join(changes)}" if changes else "")


def change_row(candidate: Candidate, record: AppraisedRecord, direction: Direction) -> Candidate:
    """Return a candidate with one row saying something else, as its readers would have read it."""
    turned = record.model_copy(
        update={"item": decide_item(record.item, direction), "stance": decide_stance(record.stance, direction)}
    )
    records = [turned if former.key == record.key else former for former in candidate.records]
    appraisal = appraise_candidate([appraised.item for appraised in records])
    return candidate.model_copy(update={"records": records, "appraisal": appraisal})


def _write_place(drug: SortedDrug) -> str:
    return drug.place.replace("_", " ")
