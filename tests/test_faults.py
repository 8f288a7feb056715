"""A small seeded slice of the fault matrix: `make faults` runs it at full size, with these very functions."""

import math
from collections.abc import Iterator

import pytest
from faults import matrix
from faults.limits import most_in_a_second, used
from faults.verdict import Figure, Row, exactly, find_unsaid, percentile

pytestmark = pytest.mark.whole

SLICES = {
    "F0": 0.005,
    "F1": 0.004,
    "F2": 0.008,
    "F3": 0.01,
    "F4": 0.02,
    "F5": 0.01,
    "F6": 0.01,
    "F7": 0.01,
    "F8": 0.03,
    "F9": 0.18,
    "F10": 0.02,
    "F12": 0.1,
    "F13": 0.25,
    "F14": 0.2,
    "F15": 0.5,
}


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level("CRITICAL"):
        yield


def due(row: Row) -> list[Figure]:
    """The figures that fall short, but for those that a busy machine may spoil: they are judged at full size."""
    return [figure for figure in row.figures if not figure.holds and not figure.timed]


@pytest.mark.parametrize("name", SLICES)
def test_a_slice_of_each_row_holds(name: str) -> None:
    if name == "F13":
        pytest.importorskip("ray", reason="Ray is an extra, willowbark[scale]")
    if name == "F14":
        pytest.importorskip("openai", reason="OpenAI's library is an extra, willowbark[openai]")
    row = matrix.measured(name, SLICES[name], seed=7)

    assert due(row) == [], str(row)
    assert row.runs > 0
    assert [figure for figure in row.figures if not figure.timed] != []
    assert [line for line in row.reads if line.strip()] != [], "a row says what a user reads"


def test_the_table_has_every_row() -> None:
    assert set(matrix.ROWS) == set(matrix.SIZES) == {f"F{number}" for number in range(16) if number != 11}  # the soak


@pytest.mark.parametrize(
    ("figure", "holds"),
    [
        (Figure("share", 0.99, at_least=0.99), True),
        (Figure("share", 0.98, at_least=0.99), False),
        (Figure("times", 1.9, at_most=1.9), True),
        (Figure("times", 2.0, at_most=1.9), False),
        (exactly("reports", 999, 1000), False),
        (Figure("nothing measured", math.nan, at_most=1), False),
    ],
    ids=str,
)
def test_a_figure_out_of_its_bounds_falls_short(figure: Figure, holds: bool) -> None:
    row = Row("F9", 1, "none", 1, 0.0, [figure])

    assert (figure.holds, row.holds) == (holds, holds)
    assert ("PASS" in str(row)) is holds


def test_a_row_that_measured_nothing_falls_short() -> None:
    assert not Row("F9", 0, "none", 1, 0.0, []).holds
    assert math.isnan(percentile([], 0.99))


def test_what_a_user_is_due_to_read_stands_in_one_line() -> None:
    lines = ["judge: the model failed (503)", "report: written"]
    assert find_unsaid(lines, [("judge:", "503"), ("report:",)]) == []
    assert find_unsaid(lines, [("report:", "503")]) == ["no line says 'report:' with '503'"]


def test_windows_slide() -> None:
    assert most_in_a_second([0.0, 0.6, 0.9, 1.5, 1.55]) == 4
    assert used([0.0, 0.5, 1.0], 2.0) == 1.0
    assert used([1.0], 2.0) == 0.0
