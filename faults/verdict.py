"""What a row of the table measured, and whether it holds."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_SHOWN = 200  # characters of what a user reads
_MOST_READ = 3  # lines


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that must hold, as it was measured."""

    name: str
    measured: float
    """In the unit that the name tells."""
    at_least: float | None = None
    at_most: float | None = None
    timed: bool = False
    """Whether a machine that is busy with something else may spoil it: time is compressed, computing is not."""

    @property
    def holds(self) -> bool:
        """Whether it is within its bounds; what is not a number never is."""
        if math.isnan(self.measured):
            return False
        low = self.at_least is None or self.measured >= self.at_least
        return low and (self.at_most is None or self.measured <= self.at_most)

    def __str__(self) -> str:
        bound = f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"
        if self.at_least is not None and self.at_least == self.at_most:
            bound = f"= {self.at_least:g}"
        return f"{self.name} {self.measured:.4g} ({bound}){'' if self.holds else '  <-- falls short'}"


def exactly(name: str, measured: float, due: float, *, timed: bool = False) -> Figure:
    """A figure that must be that and nothing else."""
    return Figure(name, measured, at_least=due, at_most=due, timed=timed)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    name: str
    runs: int
    faults: str
    seed: int
    seconds: float
    """How long it took."""
    figures: Sequence[Figure]
    notes: Sequence[str] = field(default_factory=tuple)
    """What went wrong, in words; the first few."""
    reads: Sequence[str] = field(default_factory=tuple)
    """What a user read, as it came in one of the runs; the figures judge all of them."""

    @property
    def holds(self) -> bool:
        """Whether all of it holds; a row that measured nothing does not."""
        return bool(self.figures) and all(figure.holds for figure in self.figures)

    def __str__(self) -> str:
        verdict = "PASS" if self.holds else "FALLS SHORT"
        head = f"{self.name:<4} {verdict:<12} {self.runs} × {self.faults} (seed {self.seed}, {self.seconds:.0f} s)"
        lines = [f"       {figure}" for figure in self.figures]
        lines += [f"       reads: {line[:_SHOWN]}" for line in self.reads[:_MOST_READ]]
        lines += [f"       ! {note}" for note in self.notes[:5]]
        return "\n".join([head, *lines])


def find_unsaid(lines: Sequence[str], due: Iterable[Sequence[str]]) -> list[str]:
    """What a user is due to read and does not: groups of words of which no line has them all.

    >>> find_unsaid(["judge: the model failed (503)"], [("judge:", "503"), ("report:", "503")])
    ["no line says 'report:' with '503'"]
    """
    unsaid = []
    for words in due:
        if not [line for line in lines if set(words) == {word for word in words if word in line}]:
            unsaid.append(f"no line says {' with '.join(map(repr, words))}")
    return unsaid


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of all values does not exceed; not a number where there are none.

    >>> percentile([1, 2, 3, 4], 0.5)
    2
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan
