"""The studies for and against each drug as data and in words; `plots` draws them with matplotlib, an extra."""

from dataclasses import dataclass
from typing import NamedTuple

MAX_DRUGS = 15  # rows of the picture


class DrugCounts(NamedTuple):
    """Numbers of studies on one drug."""

    drug: str
    supporting: int
    inconclusive: int
    contradicting: int

    @property
    def words(self) -> str:
        """The numbers in words, without those that are none."""
        numbers = zip(("supporting", "inconclusive", "contradicting"), self[1:], strict=True)
        counts = [f"{number} {side}" for side, number in numbers if number]
        return f"{self.drug}: {', '.join(counts) or 'none'}"


@dataclass(frozen=True, slots=True)
class StudyCounts:
    """The drugs of a report with their numbers of studies, in the report's order; at most `MAX_DRUGS`."""

    drugs: tuple[DrugCounts, ...]
    left_out: int
    """Drugs behind the last row."""

    @property
    def description(self) -> str:
        """The picture in words."""
        rest = f" {self.left_out} further drugs are not drawn." if self.left_out else ""
        return f"Studies by drug and verdict. {'; '.join(row.words for row in self.drugs)}.{rest}"
