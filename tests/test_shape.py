"""The shape of a house is counted on small trees whose figures anyone can count, and what fails the check is named."""

import ast
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from benchmarks.circles import Module
from benchmarks.density import begins_with_verb, find_code_lines
from benchmarks.shape import MOST_INIT_LINES, Shape, find_faults, main, measure_shape
from goldens import PROJECT


def build_shape(root: Path, files: Mapping[str, str]) -> Shape:
    for name in ("agents/__init__.py", "tools/__init__.py", "teams/__init__.py", *files):
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(files.get(name, ""), encoding="utf-8")
    return measure_shape(root)


def test_a_circle_of_modules_is_named_with_its_imports_and_a_way_out(tmp_path: Path) -> None:
    files = {
        "tools/drugs.py": "from .search import find\n",
        "tools/search.py": "def find():\n    from . import drugs\n",
    }
    shape = build_shape(tmp_path, files)
    modules, rooms = find_faults(shape)
    assert modules.splitlines() == [
        "import circle of 2 modules: tools.drugs, tools.search. "
        "Move what both need to where neither imports the other, or hand it in as an argument.",
        "    tools/drugs.py:1: tools.drugs imports tools.search",
        "    tools/search.py:2: tools.search imports tools.drugs",
    ]
    assert rooms.startswith("import circle of 2 rooms: tools.drugs, tools.search.")


def test_folders_stand_in_a_circle_where_no_modules_do(tmp_path: Path) -> None:
    files = {
        "tools/reading/words.py": "",
        "tools/reading/facts.py": "from willowbark.tools.records.trial import Trial\n",
        "tools/records/trial.py": "class Trial: ...\n",
        "tools/records/card.py": "import willowbark.tools.reading.words\n",
    }
    shape = build_shape(tmp_path, files)
    assert shape.module_circles == []
    assert [circle.members for circle in shape.room_circles] == [["tools.reading", "tools.records"]]
    assert [arrow.place for arrow in shape.room_circles[0].imports] == [
        "tools/reading/facts.py:1",
        "tools/records/card.py:1",
    ]


@pytest.mark.parametrize("condition", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_imports_for_type_checkers_alone_close_no_circle(tmp_path: Path, condition: str) -> None:
    files = {
        "tools/drugs.py": f"if {condition}:\n    from .search import find\nelse:\n    from . import words\n",
        "tools/search.py": "from . import drugs\n",
        "tools/words.py": "",
    }
    assert find_faults(build_shape(tmp_path, files)) == []
    files["tools/words.py"] = "from . import drugs\n"
    assert [circle.members for circle in build_shape(tmp_path, files).module_circles] == [
        ["tools.drugs", "tools.words"]
    ]


def test_a_module_that_imports_from_the_init_that_imports_it_is_a_circle(tmp_path: Path) -> None:
    files = {
        "tools/records/__init__.py": "from .trial import Trial\n",
        "tools/records/trial.py": "from . import Drug\n",
    }
    shape = build_shape(tmp_path, files)
    assert [circle.members for circle in shape.module_circles] == [["tools.records", "tools.records.trial"]]
    assert shape.room_circles == []


def test_a_type_name_that_two_modules_define_is_named_with_its_places(tmp_path: Path) -> None:
    files = {
        "agents/judge.py": "class Answer: ...\nStance = Literal['for', 'against']\n",
        "tools/search.py": "\nclass Answer: ...\nclass _Stance: ...\n",
    }
    shape = build_shape(tmp_path, files)
    assert [*shape.doubled_classes] == ["Answer"]
    assert find_faults(shape) == [
        "type name Answer is defined 2 times: agents/judge.py:1, tools/search.py:2. Import the one that is meant, "
        "or rename by what each means (docs/reference/glossary.md).",
        "type name Stance is defined 2 times: agents/judge.py:2, tools/search.py:3. Import the one that is meant, "
        "or rename by what each means (docs/reference/glossary.md).",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "from ..tools.search import Answer\n",
        "Answer = search.Answer\n",
        "Answer = TypeVar('Answer')\n",
        "ANSWER = dict[str, int]\n",
    ],
    ids=["an import", "a re-export", "a type variable", "a constant"],
)
def test_what_defines_no_type_doubles_none(tmp_path: Path, text: str) -> None:
    files = {"agents/judge.py": text, "tools/search.py": "class Answer: ...\n"}
    assert build_shape(tmp_path, files).doubled_types == {}


def test_a_union_and_the_same_with_its_discriminator_are_one_type(tmp_path: Path) -> None:
    text = "_Block = Text | Table\nBlock = Annotated[_Block, Field(discriminator='kind')]\n"
    assert build_shape(tmp_path, {"agents/blocks.py": text}).doubled_types == {}


def test_what_an_init_defines_counts_and_what_it_passes_on_does_not(tmp_path: Path) -> None:
    passed_on = (
        '"""What the room is for."""\nfrom .trial import Trial\n__all__ = [\n    "Trial",\n]\nDrug = trial.Drug\n'
    )
    shape = build_shape(tmp_path, {"tools/records/__init__.py": passed_on + "def find():\n    return 1\n"})
    assert shape.init_lines == {"tools/records/__init__.py": 2}
    assert find_faults(shape) == []
    shape = build_shape(tmp_path, {"tools/records/__init__.py": passed_on + "X = 1\n" * (MOST_INIT_LINES + 1)})
    assert find_faults(shape) == [
        "301 lines are defined in `__init__.py` files, 300 at most are allowed: tools/records/__init__.py 301. "
        "Move them into modules of the room and re-export."
    ]


STATEMENTS = '''
"""A docstring is no line of code."""
# why
def told_drugs(given):
    size, unit = int(given), str(given)  # why, beside code
    if size > 1 and (found := str(unit)):
        return [[a for a in b] for b in found]
    return [a for b in found for a in b]  # noqa: S101
class Dose:
    @property
    def foundation(self) -> Any: ...
    def read_dose(self): ...
'''


def test_density_and_names_are_counted_as_a_reader_counts_them(tmp_path: Path) -> None:
    shape = build_shape(tmp_path, {"tools/doses.py": STATEMENTS})
    assert (shape.code_lines, shape.comment_lines, shape.comments) == (9, 1, 2)
    assert Counter(place.rpartition(": ")[2] for place in shape.odd_names) == {"given": 3, "found": 3}
    assert shape.not_verbs == ["tools/doses.py:4: told_drugs"]
    assert shape.functions == 2
    assert shape.tuple_calls == ["tools/doses.py:5: size, unit = (int(given), str(given))"]
    assert shape.packed_walruses == ["tools/doses.py:6: (found := str(unit))"]
    lines = [place.partition(": ")[0] for place in shape.nested_comprehensions]
    assert lines == ["tools/doses.py:7", "tools/doses.py:8"]
    assert (shape.comprehensions, shape.any_uses) == (3, 1)


def test_an_f_string_is_one_token_whichever_python_counts(tmp_path: Path) -> None:
    shape = build_shape(tmp_path, {"tools/doses.py": "text = f'{dose:.1f} mg {f\"{unit}\"}' + 'x'\n"})
    assert shape.tokens == 5


def test_blank_lines_within_a_text_are_no_code() -> None:
    text = 'TEXT = """a\n\n# b\n"""\n'
    assert find_code_lines(Module("a", Path("a.py"), text, ast.parse(text))) == {1, 4}


@pytest.mark.parametrize(
    ("name", "is_verb"), [("find_drugs", True), ("_is_open", True), ("drugs_found", False), ("told", False)]
)
def test_a_function_begins_with_a_verb_by_its_first_word(name: str, is_verb: bool) -> None:
    assert begins_with_verb(name) is is_verb


def test_the_table_has_two_public_packages_beside_the_house(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_shape(tmp_path, {"tools/search.py": "def find_drugs(found):\n    return found\n"})
    main([str(tmp_path), "--names"])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["now", "autogen_agentchat", "starlette"]
    figures = {line[:36].strip(): line[36:].split() for line in printed[1:20]}
    assert figures["odd names"][:3] == ["2", "(100.0", "%)"]
    assert figures["functions that begin with a verb"][:3] == ["1", "(100.0", "%)"]
    assert figures["rooms in an import circle"][0] == "0"
    assert "tools/search.py:2: found" in printed


def test_the_check_fails_with_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_shape(tmp_path, {"tools/search.py": "class Hit: ...\n"})
    main([str(tmp_path), "--check"])
    assert capsys.readouterr().out == "no import circle, no type name with two meanings\n"
    build_shape(tmp_path, {"tools/search.py": "class Hit: ...\n", "agents/judge.py": "class Hit: ...\n"})
    with pytest.raises(SystemExit, match="type name Hit is defined 2 times: agents"):
        main([str(tmp_path), "--check"])


def test_a_folder_without_the_house_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no module in agents, tools, teams"):
        main([str(tmp_path)])


def find_blind_asserts(tree: ast.Module) -> list[int]:
    """Lines of assertions that are, or compare, an `any(…)` or `all(…)`: on failure these show True or False alone."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            names = [get_called_name(part) for part in list_parts(node.test)]
            if not {"any", "all"}.isdisjoint(names):
                lines.append(node.lineno)
    return lines


def list_parts(condition: ast.expr) -> list[ast.expr]:
    """The operands of a condition, below `not`, `and`, `or` and comparisons."""
    operands: list[ast.expr] = []
    if isinstance(condition, ast.UnaryOp):
        operands = [condition.operand]
    elif isinstance(condition, ast.BoolOp):
        operands = condition.values
    elif isinstance(condition, ast.Compare):
        operands = [condition.left, *condition.comparators]
    parts = [condition]
    for operand in operands:
        parts += list_parts(operand)
    return parts


def get_called_name(expression: ast.expr) -> str:
    return ast.unparse(expression.func) if isinstance(expression, ast.Call) else ""


@pytest.mark.parametrize(
    ("statement", "is_blind"),
    [
        ("assert any('a' in line for line in lines)", True),
        ("assert not all(lines)", True),
        ("assert done and any(lines) is True", True),
        ("assert [line for line in lines if any(line)] == []", False),
        ("assert 'a' in ' '.join(lines)", False),
    ],
)
def test_an_assertion_that_shows_true_or_false_alone_is_noticed(statement: str, is_blind: bool) -> None:
    assert bool(find_blind_asserts(ast.parse(statement))) is is_blind


def test_assertions_show_what_differs() -> None:
    """In place of `assert all(…)`, list what is wrong and compare with []; of `any(…)`, look in the joined lines."""
    blind: list[str] = []
    for folder in ("tests", "browser", "studio"):
        for path in sorted((PROJECT / folder).rglob("*.py")):
            lines = find_blind_asserts(ast.parse(path.read_text(encoding="utf-8")))
            blind.extend(f"{path.relative_to(PROJECT)}:{line}" for line in lines)
    assert blind == []
