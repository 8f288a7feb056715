"""The shape of a house is counted as its imports and patterns stand, wherever they do."""

import ast
from pathlib import Path

import pytest
from benchmarks.shape import Shape, main, patterns, shape_of

TREE = {
    "agents/__init__.py": "",
    "agents/judge.py": """
import re
from ..tools import Drug
FIND = re.compile("a|b")

def judge():
    from ..tools.search import search
    return search, Drug
""",
    "teams/__init__.py": "",
    "teams/run.py": "from willowbark.agents import judge\nimport willowbark.tools.lonely\n",
    "tools/__init__.py": "from .drugs import Drug\n__all__ = ['Drug']\n",
    "tools/drugs.py": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from .search import search
class Drug: ...
""",
    "tools/search.py": "from . import drugs\ndef search():\n    return drugs\n",
    "tools/lonely.py": "",
}


@pytest.fixture(scope="module")
def shape(tmp_path_factory: pytest.TempPathFactory) -> Shape:
    root = tmp_path_factory.mktemp("house")
    for name, text in TREE.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return shape_of(root)


def test_lines_modules_and_the_fullest_folder_are_counted(shape: Shape) -> None:
    assert (shape.modules, shape.fullest) == (8, ("tools", 4))
    assert shape.lines == sum(len(text.splitlines()) for text in TREE.values())


def test_an_import_under_type_checking_closes_a_cycle(shape: Shape) -> None:
    assert shape.cycles == [["willowbark.tools.drugs", "willowbark.tools.search"]]


def test_a_package_that_hands_a_name_on_is_no_importer_and_hides_none(shape: Shape) -> None:
    """`drugs` is used by the judge, through the package, and by the search; the late import of `search` counts."""
    assert shape.one_importer == ["willowbark.agents.judge", "willowbark.tools.lonely"]


def test_functions_are_measured_in_lines(shape: Shape) -> None:
    assert shape.function_lines == (2, 3, 3)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("re.compile('a' 'b' + 'c')", "abc"),
        ("re.search(rf'{A}+', text)", "x|y+"),
        ("re.sub('|'.join(['p', A]), '', text)", "p|x|y"),
        ("re.match(unknown, text)", ""),
    ],
    ids=["a sum", "an f-string with a name", "a join", "what cannot be read"],
)
def test_a_pattern_is_put_together_as_far_as_it_can_be_read(code: str, found: str) -> None:
    assert list(patterns(ast.parse(f"A = 'x|y'\n{code}"))) == [found]


def test_the_split_of_a_text_is_no_pattern() -> None:
    assert list(patterns(ast.parse("text.split('a'); words.index('b')"))) == []


def test_a_folder_without_the_house_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no module in agents, teams, tools"):
        main([str(tmp_path)])
