"""The sample of mutants is the same for the same seed, holds none that no test could notice, and is counted fairly."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATH = "tools/appraisal/certainty.py"


def test_annotations_are_left_alone() -> None:
    """`int | None` can be broken in eleven ways, all of which stop the import."""
    pytest.importorskip("cosmic_ray", reason="`make mutants` brings it")
    from benchmarks.mutants import list_mutants

    lines = (ROOT / PATH).read_text(encoding="utf-8").splitlines()
    assert not [m for m in list_mutants(PATH) if "Operator_BitOr_" in m.operator and ": " in lines[m.line - 1]]


def test_a_mutant_that_cannot_be_imported_is_not_counted() -> None:
    pytest.importorskip("cosmic_ray", reason="`make mutants` brings it")
    from benchmarks.mutants import Mutant, rate

    fates = ["killed", "killed", "outlasted", "survived", "unable"]
    assert rate({Mutant(PATH, "any", n, 1): fate for n, fate in enumerate(fates)}) == 0.75


def test_every_module_and_every_test_that_is_named_exists() -> None:
    code = ast.parse((ROOT / "benchmarks" / "mutants.py").read_text(encoding="utf-8"))
    (given,) = (
        each.value for each in code.body if isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == "TESTS"
    )
    table: dict[str, tuple[str, ...]] = ast.literal_eval(given) if given else {}
    named = {f"tests/test_{name}.py" for names in table.values() for name in names} | set(table)

    assert len(named) > 4
    assert not [path for path in named if not (ROOT / path).exists()]
