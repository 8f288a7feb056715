"""A report as a workbench shows it: its drugs and its studies, a line each, as data.

All of it stands in the report, whose tree tells the same in other forms; nothing is appraised here. Estimates are those
that comparisons of studies carry.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from willowbark.tools.reading.reading import StudyDesign, ValueKind

from ..pictures.panels import ComparedEffect
from ..pictures.strip import StripAxis
from .charts import list_ratios
from .content import DrugCandidate, EvidenceRow, RecordStance, ReportContent
from .forms.blocks import Link, RichText, Table, Text
from .tree import build_candidates, list_flags, name_study

MOST_DRAWN = 4  # studies of a drug; the table of studies has all
_MOST_DOSES = 3
_UNREPORTED = StudyDesign.unknown.label


@dataclass(frozen=True, slots=True)
class DrugLine:
    """A drug of the report's tables of candidates."""

    candidate: DrugCandidate
    caption: str
    """Of the report's table that holds it."""
    cells: dict[str, RichText]
    """By column of that table, as the report tells them."""
    doses: tuple[str, ...]
    """As studies write them; empty if none was read."""
    drawn: tuple[ComparedEffect, ...]
    """Ratios with intervals, one a study."""
    left_out: int
    """Further studies that carry one."""


@dataclass(frozen=True, slots=True)
class StudyLine:
    """What one record says of one drug."""

    row: EvidenceRow
    stance: RecordStance
    """How it counts."""
    name: str
    number: int | None
    """Of its reference; None if the report does not cite it."""
    flags: tuple[str, ...]
    """Warnings about the record, and who corrected it."""
    year: str
    design: str
    people: str
    against: str
    dose: str
    estimate: str
    """As the report tells it; each of these is empty where it is not reported or was not read."""
    drawn: ComparedEffect | None
    """A ratio with its interval that a comparison of the study carries: the one that `estimate` tells, else the first;
    None if there is none."""

    @property
    def is_edited(self) -> bool:
        """Whether a person changed it."""
        return self.row.word is not None and self.row.word.is_changed


@dataclass(frozen=True, slots=True)
class Workbench:
    """The drugs and studies of a report."""

    drugs: tuple[DrugLine, ...]
    studies: tuple[StudyLine, ...]
    axis: StripAxis
    """Of all that is drawn."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of studies that hold something in any line, in order."""
        names = ("design", "year", "people", "against", "dose", "estimate")
        return tuple(name for name in names if self._has_any(name))

    def _has_any(self, column: str) -> bool:
        return any(getattr(line, column) for line in self.studies)

    @property
    def is_drawn(self) -> bool:
        """Whether any comparison carries a ratio with its interval."""
        return any(line.drawn for line in self.studies)

    @property
    def has_marks(self) -> bool:
        """Whether a drug has a caution."""
        return any(line.candidate.marks for line in self.drugs)

    @property
    def has_doses(self) -> bool:
        """Whether a dose was read of any drug."""
        return any(line.doses for line in self.drugs)


def make_workbench(report: ReportContent) -> Workbench:
    """Return the drugs of a report's tables, and all studies of its evidence, in its order."""
    by_record = dict[tuple[str, str], list[ComparedEffect]]()
    for study in report.studies:
        for effect in list_ratios(report, study):
            by_record.setdefault((effect.key, effect.drug), []).append(effect)
    studies = tuple(_make_lines(report, by_record))
    axis = StripAxis.of(line.drawn for line in studies if line.drawn)
    return Workbench(tuple(_list_drugs(report, studies)), studies, axis)


def _make_lines(report: ReportContent, effects: dict[tuple[str, str], list[ComparedEffect]]) -> Iterable[StudyLine]:
    by_name = {candidate.name: candidate for candidate in report.candidates}
    for row in report.evidence_table:
        candidate = by_name.get(row.drug)
        if candidate is None:
            continue
        stance = candidate.stance_of(row)
        estimate = _join_values(row, "estimate")
        yield StudyLine(
            row=row,
            stance=stance,
            name=name_study(report, row.key),
            number=report.reference_of(row.key).get("number"),
            flags=tuple(list_flags(row, stance)),
            year=row.date[:4] if row.date[:4].isdigit() else "",
            design="" if row.design == _UNREPORTED else row.design,
            people=_join_values(row, "participants"),
            against=_join_values(row, "comparator"),
            dose=_join_values(row, "dose"),
            estimate=estimate,
            drawn=_choose_effect(effects.get((row.key, row.drug), []), estimate),
        )


def _choose_effect(effects: Sequence[ComparedEffect], words: str) -> ComparedEffect | None:
    """Return the ratio that the row tells in words, so that picture and words agree; else the first."""
    for effect in effects:
        if re.search(rf"(?<![\d.]){re.escape(f'{effect.value:g}')}(?![\d.]*\d)", words):
            return effect
    return effects[0] if effects and not words else None


def _join_values(row: EvidenceRow, what: ValueKind) -> str:
    return "; ".join(value.line for value in row.compared(what))


def _list_drugs(report: ReportContent, studies: Sequence[StudyLine]) -> Iterable[DrugLine]:
    """Take the drugs from the report's own tables, so that both say the same."""
    by_name = {candidate.name: candidate for candidate in report.candidates}
    for table in build_candidates(report).blocks:
        if not isinstance(table, Table):
            continue
        for row in table.rows:
            cells = dict(zip(table.columns, row.cells, strict=True))
            candidate = by_name.get(_read_name(row.cells[0]))
            if candidate is None:
                continue
            own = [line for line in studies if line.row.drug == candidate.name]
            drawn = [line.drawn for line in own if line.drawn]
            doses = dict.fromkeys(line.dose for line in own)
            yield DrugLine(
                candidate=candidate,
                caption=table.caption,
                cells=cells,
                doses=tuple(dose for dose in doses if dose)[:_MOST_DOSES],
                drawn=tuple(drawn[:MOST_DRAWN]),
                left_out=max(0, len(drawn) - MOST_DRAWN),
            )


def _read_name(cell: RichText) -> str:
    return "".join(node.text for node in cell if isinstance(node, Text | Link))
