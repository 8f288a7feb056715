"""Which of the drugs is better: the records that test them head to head, then each against placebo."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import Candidate, is_asked_about
from willowbark.tools.wording import counted, listed, short

from ..content import NOT_REPORTED, PUBLISHED
from ..forms.blocks import Block, Flow, flow, table
from ..material import Material, References
from .answer import Answer, named_in

_PLACEBO = frozenset(("placebo", "none"))
_UNTOLD = "without a clear result"


def on_comparison(material: Material, references: References) -> Answer:
    """The answer to a comparison of drugs."""
    drugs = [c for c in material.candidates if is_asked_about(c.drug, material.asked)]
    named = named_in(material)
    met = list(_meetings(drugs))
    rows = [_row(each, material, references) for each in met]
    sides = [_beside_placebo(candidate, references) for candidate in drugs]
    where = f" in {short(material.topic)}" if material.asked.conditions else ""
    if met:
        told = [f"{counted(n, 'record')} {what}" for what, n in _tally(met).items()]
        first = f"Head to head{where}, {named}: {listed(told, most=6)}."
    else:
        first = f"No record read compares {named} head to head{where}."
    against = [f"{c.drug} {_counts(_against_nothing(c))}" for c in drugs]
    second = [f"Against placebo or no treatment: {'; '.join(against)}."] if drugs else []
    blocks: list[Block] = []
    if rows:
        blocks.append(table("Head to head", ("record", "design", "participants", "result"), rows, ("participants",)))
    if sides:
        columns = ("drug", "better", "no better or worse", "undecided", "records")
        blocks.append(table("Each against placebo or no treatment", columns, sides, columns[1:4]))
    is_told = any(_result(each) != _UNTOLD for each in met)
    return Answer([first, *second], blocks, PUBLISHED if is_told else 0.0)


class _Meeting(NamedTuple):
    """A record that tests two drugs, as it was read for each."""

    one: str
    other: str
    record: AppraisedRecord
    theirs: AppraisedRecord
    """The same, read for the other."""


def _meetings(drugs: Sequence[Candidate]) -> Iterator[_Meeting]:
    """Records that test two of the drugs, each once."""
    for place, one in enumerate(drugs):
        for other in drugs[place + 1 :]:
            theirs = {record.key: record for record in other.records}
            for record in one.records:
                if record.key in theirs and any(map(_is_against_active, (record, theirs[record.key]))):
                    yield _Meeting(one.drug, other.drug, record, theirs[record.key])


def _is_against_active(record: AppraisedRecord) -> bool:
    return any(r.comparator == "active" and r.role in ("tested", "comparator", "combined") for r in record.readings[:1])


def _result(met: _Meeting) -> str:
    """Where a record stands between two drugs, where what was read for each agrees on it.

    By what heads read for one of them, out of fold, the drug told as better was so in 35 of 100 records; where both
    were read against an active drug and the effects are each other's opposite, in 64 (`benchmarks/careful.py`).
    """
    if not all(map(_is_against_active, (met.record, met.theirs))):
        return _UNTOLD
    effects = met.record.readings[0].effect, met.theirs.readings[0].effect
    results: Mapping[tuple[str, str], str] = {
        ("better", "worse"): f"for {met.one}",
        ("worse", "better"): f"for {met.other}",
        ("no_difference", "no_difference"): "without a difference",
    }
    return results.get(effects, _UNTOLD)


def _tally(met: Sequence[_Meeting]) -> Mapping[str, int]:
    """How many records each result has, those that say most first."""
    told = Counter(map(_result, met))
    return {what: told[what] for what in sorted(told, key=lambda what: (what == _UNTOLD, -told[what], what))}


def _row(met: _Meeting, material: Material, references: References) -> tuple[Flow, ...]:
    record = met.record
    title = material.records[record.key].citation.title
    size = record.item.sample_size
    return (
        flow(title, references.cite([record.key])),
        flow(record.item.design.label),
        flow(NOT_REPORTED if size is None else f"{size:,}"),
        flow(f"{met.one} against {met.other}: {_result(met)}"),
    )


def _against_nothing(candidate: Candidate) -> list[AppraisedRecord]:
    return [r for r in candidate.records if r.readings and r.readings[0].comparator in _PLACEBO]


def _split(records: Sequence[AppraisedRecord]) -> tuple[int, int, int]:
    """How many records speak for a drug, against it, and neither."""
    better = sum(record.item.direction is Direction.supports for record in records)
    worse = sum(record.item.direction is Direction.contradicts for record in records)
    return better, worse, len(records) - better - worse


def _counts(records: Sequence[AppraisedRecord]) -> str:
    better, worse, undecided = _split(records)
    return f"{better} for, {worse} against, {undecided} undecided"


def _beside_placebo(candidate: Candidate, references: References) -> tuple[Flow, ...]:
    records = _against_nothing(candidate)
    cited = references.cite(record.key for record in records)
    return (flow(candidate.drug), *(flow(str(number)) for number in _split(records)), flow(cited or "none"))
