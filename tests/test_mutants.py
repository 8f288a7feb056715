"""The sample of mutants is the same for the same seed, holds none that no test could notice, and is counted fairly."""

import pytest

pytest.importorskip("cosmic_ray", reason="`make mutants` brings it")

from benchmarks.mutants import ROOT, TESTS, Mutant, mutants, rate

PATH = "tools/appraisal/certainty.py"


def test_annotations_are_left_alone() -> None:
    """`int | None` can be broken in eleven ways, all of which stop the import."""
    lines = (ROOT / PATH).read_text(encoding="utf-8").splitlines()

    assert not [m for m in mutants(PATH) if "Operator_BitOr_" in m.operator and ": " in lines[m.line - 1]]


def test_a_mutant_that_cannot_be_imported_is_not_counted() -> None:
    fates = ["killed", "killed", "outlasted", "survived", "unable"]

    assert rate({Mutant(PATH, "any", n, 1): fate for n, fate in enumerate(fates)}) == 0.75


def test_every_module_and_every_test_that_is_named_exists() -> None:
    named = {f"tests/test_{name}.py" for names in TESTS.values() for name in names} | set(TESTS)

    assert not [path for path in named if not (ROOT / path).exists()]
