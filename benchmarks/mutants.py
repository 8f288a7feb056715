"""Do the tests bite? Breaks a seeded sample of the code, one place at a time, and counts what they notice.

    python -m benchmarks.mutants [--seed 1] [--count 80] [--minutes 10] [--jobs 2] [--only tools/records/evidence.py]

The operators are those of Cosmic Ray (https://cosmic-ray.readthedocs.io). Each mutant runs, in a process of its own,
the tests that `TESTS` names for its module; no file is changed. A mutant that fails or outlasts them is killed. Not
sampled are mutants within annotations and those that put `is` for `==` or the reverse, which as a rule change nothing;
one with which the module cannot be imported is not counted, since any test would notice it. Due is a kill rate of 85 %;
survivors are printed.
"""

import argparse
import ast
import difflib
import importlib
import importlib.util
import io
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import ModuleSpec, SourceFileLoader
from itertools import chain
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parent.parent
LEAST_RATE = 0.85
SHARED = ("autogen_agentchat.agents", "httpx", "hypothesis", "numpy", "pydantic")  # imported once for all mutants
REWRITE = "pytest.PytestAssertRewriteWarning"  # of plugins that are imported already, for what is shared
PATIENCE = 3  # times as long as the tests take with nothing broken; a mutant may loop
LEAST_S = 60  # seconds a mutant is given at least; other programs use the processor too
UNABLE = 99  # exit code: the module cannot be imported
TESTS: Mapping[str, tuple[str, ...]] = {
    "tools/records/evidence.py": ("evidence", "identity", "provenance", "search"),
    "tools/works/identity.py": ("identity",),
    "agents/asking/claims.py": ("claims", "forgery", "provenance"),
    "tools/appraisal/certainty.py": ("appraisal_certainty", "same_trial"),
}
"""Of each module the tests that concern it, as `tests/test_<name>.py`."""
_UNSAID = frozenset({"core/VariableReplacer", "core/VariableInserter"})  # they need to be told which variables
_ALIKE = ("Eq_Is", "Is_Eq", "NotEq_IsNot", "IsNot_NotEq")


class Mutant(NamedTuple):
    """One change to one module."""

    path: str
    """Of the module, from the root of the project."""
    operator: str
    occurrence: int
    line: int

    def code(self) -> str:
        """The module with the change."""
        operator = get_operator(self.operator)()
        return str(mutate_code((ROOT / self.path).read_text(encoding="utf-8"), operator, self.occurrence))

    def diff(self) -> str:
        """The change, as a diff without its head."""
        before = (ROOT / self.path).read_text(encoding="utf-8").splitlines()
        lines = list(difflib.unified_diff(before, self.code().splitlines(), lineterm="", n=0))
        return "\n".join(line for line in lines[2:] if not line.startswith("@@"))


def list_mutants(path: str) -> Iterator[Mutant]:
    """Every mutant of a module that is worth a run."""
    source = (ROOT / path).read_text(encoding="utf-8")
    annotations = _find_annotations(ast.parse(source))
    nodes = list(ast_nodes(get_ast(source)))
    for name in sorted(operator_names()):
        if name in _UNSAID or name.endswith(_ALIKE):
            continue
        operator = get_operator(name)()
        places = [start for start, _ in chain.from_iterable(map(operator.mutation_positions, nodes))]
        for occurrence, (line, column) in enumerate(places):
            if not any(start <= (line, column) < end for start, end in annotations):
                yield Mutant(path, name, occurrence, line)


def _find_annotations(tree: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations stand, as pairs of line and column."""
    places = []
    for node in ast.walk(tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(part, ast.expr):
                end = (part.end_lineno or part.lineno, part.end_col_offset or 0)
                places.append(((part.lineno, part.col_offset), end))
    return places


def draw_sample(paths: Sequence[str], seed: int, count: int) -> list[Mutant]:
    """So many mutants of all, each as likely as any other; the same for the same seed and code."""
    every = list(chain.from_iterable(map(list_mutants, paths)))
    return random.Random(seed).sample(every, min(count, len(every)))


class Loader(SourceFileLoader):
    """Loads one module from other code than its file holds."""

    def __init__(self, fullname: str, path: str, code: str) -> None:
        super().__init__(fullname, path)
        self.code = code

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        """The changed code, compiled; no cache of bytecode is read or written."""
        return compile(self.code, self.path, "exec")


class Finder:
    """Comes before all others and answers for one module alone."""

    def __init__(self, module: str, path: Path, code: str) -> None:
        self.module = module
        self.path = path
        self.code = code

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The changed module, or None for any other."""
        if name != self.module:
            return None
        loader = Loader(name, str(self.path), self.code)
        return importlib.util.spec_from_file_location(name, self.path, loader=loader)


def run(path: str, code: str | None) -> None:
    """Run the tests of a module in this process, and end it with their exit code; None is the code as it stands."""
    os.chdir(ROOT)
    module = "willowbark." + path.removesuffix(".py").replace("/", ".")
    if code is not None:
        sys.meta_path.insert(0, Finder(module, ROOT / path, code))
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            importlib.import_module(module)
        except Exception:  # noqa: BLE001 - whatever a broken module raises
            os._exit(UNABLE)
        files = [f"tests/test_{name}.py" for name in TESTS[path]]
        exit_code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-W", f"ignore::{REWRITE}", *files])
    os._exit(int(exit_code))


def start_tests(path: str, code: str | None) -> BaseProcess:
    """A process that runs the tests of a module."""
    process = multiprocessing.get_context("fork").Process(target=run, args=(path, code))
    process.start()
    return process


def time_tests(paths: Sequence[str]) -> dict[str, float]:
    """Seconds that each module's tests take with nothing broken.

    Raises:
        SystemExit: they fail as it is.
    """
    began = time.monotonic()
    path_of = {TESTS[path]: path for path in paths}  # modules with the same tests are timed once
    running = {tests: start_tests(path, None) for tests, path in path_of.items()}
    seconds: dict[tuple[str, ...], float] = {}
    for tests, process in running.items():
        process.join()
        seconds[tests] = time.monotonic() - began
        if process.exitcode:
            raise SystemExit(f"with nothing broken the tests fail: {', '.join(tests)}")
    return {path: seconds[TESTS[path]] for path in paths}


def run_mutants(chosen: Sequence[Mutant], patience: Mapping[str, float], jobs: int, until: float) -> dict[Mutant, str]:
    """What became of each mutant: killed, outlasted, survived or unable; those that time did not allow are missing.

    Args:
        chosen: in the order of their runs.
        patience: seconds for each module.
        jobs: how many run at a time.
        until: on the monotonic clock; what runs then is stopped and not counted.
    """
    waiting = list(reversed(chosen))
    fate = dict[Mutant, str]()
    running: dict[int, tuple[BaseProcess, Mutant, float]] = {}
    while running or (waiting and time.monotonic() < until):
        while waiting and len(running) < jobs and time.monotonic() < until:
            mutant = waiting.pop()
            process = start_tests(mutant.path, mutant.code())
            running[process.sentinel] = (process, mutant, time.monotonic() + patience[mutant.path])
        nearest = min(*(limit for *_, limit in running.values()), until)
        ended = connection.wait(list(running), timeout=max(0, nearest - time.monotonic()))
        for sentinel, (process, mutant, limit) in list(running.items()):
            if sentinel in ended:
                process.join()
                fate[mutant] = {0: "survived", UNABLE: "unable"}.get(process.exitcode or 0, "killed")
            elif time.monotonic() >= min(limit, until):
                process.kill()
                process.join()
                if limit <= until:
                    fate[mutant] = "outlasted"
            else:
                continue
            del running[sentinel]
    return fate


def describe_fate(fate: Mapping[Mutant, str]) -> str:
    """The survivors, each module's count, and the kill rate."""
    lines = [f"{m.path}:{m.line} {m.operator}\n{m.diff()}\n" for m, what in fate.items() if what == "survived"]
    for path in TESTS:
        counts = Counter(what for mutant, what in fate.items() if mutant.path == path)
        if counts:
            fates = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
            lines.append(f"{path:34}{fates}")
    noticed = sum(what in ("killed", "outlasted") for what in fate.values())
    counted = sum(what != "unable" for what in fate.values())
    lines.append(f"killed {noticed} of {counted} mutants: {rate(fate):.0%} (due: {LEAST_RATE:.0%})")
    return "\n".join(lines)


def rate(fate: Mapping[Mutant, str]) -> float:
    """The share of mutants that the tests noticed; 0 where none was counted."""
    counted = [what for what in fate.values() if what != "unable"]
    return sum(what != "survived" for what in counted) / len(counted) if counted else 0.0


def main(arguments: Sequence[str]) -> int:
    """Sample, run and print; 1 where the kill rate is below what is due."""
    parser = argparse.ArgumentParser(description="Break a sample of the code and count what the tests notice.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", choices=list(TESTS), help="a module; may be given again")
    options = parser.parse_args(arguments)
    until = time.monotonic() + options.minutes * 60
    for name in SHARED:
        importlib.import_module(name)
    paths = options.only or list(TESTS)
    patience = {path: max(LEAST_S, PATIENCE * seconds) for path, seconds in time_tests(paths).items()}
    chosen = draw_sample(paths, options.seed, options.count)
    fate = run_mutants(chosen, patience, options.jobs, until)
    print(f"seed {options.seed}: {len(fate)} of {len(chosen)} mutants run")
    print(describe_fate(fate))
    return rate(fate) < LEAST_RATE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
