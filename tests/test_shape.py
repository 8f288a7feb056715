"""The shape of a house is counted as its imports and calls stand, wherever they do, and held against a budget."""

from pathlib import Path

import pytest
from benchmarks.shape import HELPERS, Shape, find_excess, main, measure_shape

TREE = {
    "agents/__init__.py": "",
    "agents/judge.py": """
def judge():
    from ..tools.search import search
    return _once(_twice(search) + _twice(search))

def _once(found):
    return found

def _twice(found):
    return found
""",
    "teams/__init__.py": "",
    "teams/run.py": "from willowbark.agents import judge\n",
    "tools/__init__.py": "from .drugs import Drug\n__all__ = ['Drug']\n",
    "tools/drugs.py": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from .search import search
class Drug: ...
""",
    "tools/search.py": "from . import drugs\ndef search():\n    return drugs\n",
}
BUDGET = {"agents": 10, "teams": 1, "tools": 10, HELPERS: 1}


@pytest.fixture(scope="module")
def shape(tmp_path_factory: pytest.TempPathFactory) -> Shape:
    root = tmp_path_factory.mktemp("house")
    for name, text in TREE.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return measure_shape(root)


def test_lines_modules_cycles_and_helpers_with_one_caller_are_counted_by_folder(shape: Shape) -> None:
    assert shape.modules == {"agents": 2, "teams": 2, "tools": 3}
    assert shape.lines == {"agents": 10, "teams": 1, "tools": 10}
    assert shape.cycles == [["willowbark.tools.drugs", "willowbark.tools.search"]]  # one import for type checkers alone
    assert shape.one_caller == ["agents/judge.py:_once"]
    assert find_excess(shape, BUDGET) == ["import cycle: willowbark.tools.drugs → willowbark.tools.search"]


@pytest.mark.parametrize(
    ("budget", "complaint"),
    [
        ({"agents": 9}, "agents: 10 lines, 9 are budgeted"),
        ({"teams": 0}, "teams: 1 lines, 0 are budgeted"),
        ({HELPERS: 0}, f"1 {HELPERS}, 0 are budgeted"),
    ],
    ids=["a folder too large", "a folder nobody budgeted", "too many helpers"],
)
def test_what_is_over_the_budget_is_named(shape: Shape, budget: dict[str, int], complaint: str) -> None:
    assert complaint in find_excess(shape, BUDGET | budget)


def test_a_folder_without_the_house_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no module in agents, teams, tools"):
        main([str(tmp_path)])
