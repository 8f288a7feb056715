"""`willowbark review` on seeded errors: how many of those that move a conclusion are among its ten rows.

    python -m benchmarks.review [--runs 300] [--rows 10] [--seed 1]

Each run asks the bundled library one of its questions. Its rows as read are taken for the truth; in each run some are
turned round or made inconclusive, drawn with the chance of error that the reader's own calibrated probability gives
(`tools/appraisal/reviewing.py`), so that errors fall where readers err. An error moves a conclusion if undoing it alone
gives its drug another place, or another level of certainty. `review` sees the rows with the errors in them, and nothing
else. For comparison: rows in the report's own order, at random, by the chance of error alone, and by influence alone.
"""

import argparse
import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.truth import QUESTIONS

from willowbark.teams.ledger import DEFAULT_PATH, Ledger
from willowbark.teams.run.correcting import load_former_report, open_again
from willowbark.teams.run.research import research
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.appraisal.reviewing import (
    MOST_ROWS,
    MOVES,
    ReviewRow,
    change_row,
    rank_rows,
    rate_chance,
    rate_move,
)
from willowbark.tools.appraisal.sorting import sort_drug
from willowbark.tools.reading.corrections import CorrectionBook
from willowbark.tools.reading.reading import Direction

from willowbark.agents.remaking import appraise_again  # isort: skip
from itertools import chain

ERRORS_A_RUN = 6
"""Of some 90 rows: the reader's directions are right in 9 of 10 of those that count."""
_TURNED: Mapping[Direction, Sequence[Direction]] = {
    Direction.supports: (Direction.inconclusive, Direction.inconclusive, Direction.contradicts),
    Direction.contradicts: (Direction.inconclusive, Direction.inconclusive, Direction.supports),
    Direction.inconclusive: (Direction.supports, Direction.supports, Direction.contradicts),
    Direction.not_assessed: (Direction.supports, Direction.supports, Direction.contradicts),
}
RowName = tuple[str, str]
"""Drug and record."""


class Seeded(NamedTuple):
    """Candidates with errors."""

    candidates: list[Candidate]
    errors: dict[RowName, Direction]
    """What each wrong row says in truth."""
    moving: set[RowName]
    """Those that move a conclusion."""


async def appraise_question(question: str, ledger: Path) -> list[Candidate]:
    """Ask the bundled library, and return the candidates as the report has them."""
    with Ledger(ledger) as book:
        await research(question, offline=True, ledger=book)
        run_id = book.runs()[0].run_id
        former = load_former_report(run_id, book)
        async with open_again(run_id, book, former) as again:
            material = await appraise_again(again.messages, former, again.context, CorrectionBook())
            return list(material.candidates)


def seed_errors(candidates: Sequence[Candidate], number: int, rng: random.Random) -> Seeded:
    """Turn rows, drawn by their chance of error, and find those whose undoing moves a conclusion."""
    rows = [(drug, record) for drug, record in _list_rows(candidates) if not record.item.retracted]
    chances = [rate_chance(record) for _, record in rows]
    chosen = dict[RowName, AppraisedRecord]()
    while len(chosen) < min(number, len(rows)):
        drug, record = rng.choices(rows, chances)[0]
        chosen[drug, record.key] = record
    with_errors = list[Candidate]()
    errors = dict[RowName, Direction]()
    for candidate in candidates:
        turned = candidate
        for record in candidate.records:
            if (candidate.drug, record.key) in chosen:
                errors[candidate.drug, record.key] = record.item.direction
                turned = change_row(turned, record, rng.choice(_TURNED[record.item.direction]))
        with_errors.append(turned)
    moving = {name for name, truth in errors.items() if _moves_conclusion(with_errors, name, truth)}
    return Seeded(with_errors, errors, moving)


def _list_rows(candidates: Sequence[Candidate]) -> Iterator[tuple[str, AppraisedRecord]]:
    """List the records of all drugs, each with its drug."""
    for candidate in candidates:
        for record in candidate.records:
            yield candidate.drug, record


def _moves_conclusion(candidates: Sequence[Candidate], name: RowName, truth: Direction) -> bool:
    standards = frozenset(candidate.drug for candidate in candidates if candidate.group == "established")
    candidate = next(candidate for candidate in candidates if candidate.drug == name[0])
    record = next(record for record in candidate.records if record.key == name[1])
    return rate_move(candidate, record, truth, sort_drug(candidate, standards), standards).weight >= MOVES


def _name_rows(rows: Sequence[ReviewRow], most: int) -> set[RowName]:
    return {(row.drug, row.record.key) for row in rows[:most]}


def list_orders(seeded: Seeded, rng: random.Random) -> dict[str, Callable[[int], set[RowName]]]:
    """Return ways to choose rows, by name."""
    every = rank_rows(seeded.candidates, 10_000)
    rows = list(_list_rows(seeded.candidates))
    by_chance = sorted(rows, key=lambda row: (-rate_chance(row[1]), row[0], row[1].key))
    by_move = sorted(every, key=lambda row: (-row.score / row.chance, row.drug, row.record.key))
    mixed = rng.sample(rows, len(rows))

    def take(listed: Sequence[tuple[str, AppraisedRecord]]) -> Callable[[int], set[RowName]]:
        return lambda most: {(drug, record.key) for drug, record in listed[:most]}

    return {
        "review": lambda most: _name_rows(every, most),
        "chance of error alone": take(by_chance),
        "influence alone": lambda most: _name_rows(by_move, most),
        "the report's order": take(rows),
        "at random": take(mixed),
    }


def main() -> None:
    """Print the share of seeded errors that move a conclusion among the rows that each way chooses."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--rows", type=int, default=MOST_ROWS)
    parser.add_argument("--errors", type=int, default=ERRORS_A_RUN)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / DEFAULT_PATH
        pools = [asyncio.run(appraise_question(question, ledger)) for question in QUESTIONS.values()]
    hits = Counter[str]()
    errors = 0
    moving = 0
    for number in range(options.runs):
        rng = random.Random(f"{options.seed}-{number}")
        seeded = seed_errors(pools[number % len(pools)], options.errors, rng)
        errors += len(seeded.errors)
        moving += len(seeded.moving)
        for way, choose in list_orders(seeded, rng).items():
            hits[way] += len(choose(options.rows) & seeded.moving)
    rows = len(list(_list_rows(list(chain.from_iterable(pools))))) / len(pools)
    title = f"{options.runs} runs of {len(pools)} questions, {rows:.0f} rows each"
    print(f"{title}; {errors} errors, {moving} move a conclusion")
    for way, number in hits.items():
        print(f"{way}: {number} of {moving} among {options.rows} rows ({number / max(1, moving):.0%})")


if __name__ == "__main__":
    main()
