"""The shape of the house: lines and modules of each folder beside its budget, helpers with one caller, import cycles.

    python -m benchmarks.shape [FOLDER] [--against REV] [--check] [--names]

Counts the Python below `agents`, `teams` and `tools`. `--check` fails where a folder is over its budget
(`benchmarks/budget.tsv`) by more than 2 %, where there are more helpers with one caller than the budget's last row
allows, or where imports form a cycle. An import counts wherever it stands: at the top, in a function, under
`TYPE_CHECKING`.
"""

import argparse
import ast
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

ROOMS = ("agents", "teams", "tools")
PACKAGE = "willowbark"
BUDGET = Path(__file__).with_name("budget.tsv")
HELPERS = "private helpers with one caller"
TOLERANCE = 1.02  # a folder may be so much over its budget


class Shape(NamedTuple):
    """What is counted of one tree."""

    lines: Mapping[str, int]
    """By folder."""
    modules: Mapping[str, int]
    """By folder."""
    one_caller: Sequence[str]
    """Private functions and methods that the product names in one place beside their definition, as `path:name`."""
    cycles: Sequence[Sequence[str]]
    """The modules of each import cycle, the largest first."""


def measure_shape(root: Path) -> Shape:
    """Count what lies below a folder.

    Raises:
        SystemExit: no module lies there.
    """
    files = {path.relative_to(root): path for room in ROOMS for path in sorted((root / room).rglob("*.py"))}
    if not files:
        raise SystemExit(f"no module in {', '.join(ROOMS)} below {root}")
    texts = {path: file.read_text(encoding="utf-8") for path, file in files.items()}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines: Counter[str] = Counter()
    for path, text in texts.items():
        lines[path.parent.as_posix()] += len(text.splitlines())
    named = {_module_name(path): path for path in files}
    packages = {name for name, path in named.items() if path.name == "__init__.py"}
    graph = {
        name: set(_imports(trees[path], name, named.keys(), is_package=name in packages))
        for name, path in named.items()
    }
    return Shape(lines, Counter(path.parent.as_posix() for path in files), _one_caller(trees), find_cycles(graph))


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join((PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _imports(tree: ast.Module, module: str, known: Collection[str], *, is_package: bool) -> Iterator[str]:
    """The known modules that a module imports, relative ones resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            up = node.level - is_package
            base = module.split(".")[: -up or None] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                found = f"{source}.{alias.name}" if f"{source}.{alias.name}" in known else source
                if found in known and found != module:
                    yield found


def _one_caller(trees: Mapping[Path, ast.Module]) -> list[str]:
    """Private functions named once beside their definition.

    Names are counted over the whole product, since a method's class cannot be told from a call; so a name that two
    functions share counts for neither.
    """
    defined: defaultdict[str, list[str]] = defaultdict(list)
    named: Counter[str] = Counter()
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if node.name.startswith("_") and not node.name.startswith("__"):
                    defined[node.name].append(f"{path}:{node.name}")
            elif isinstance(node, ast.Name):
                named[f"{path}:{node.id}"] += 1
            elif isinstance(node, ast.Attribute):
                named[f"{path}:{node.attr}"] += 1
    return sorted(place for places in defined.values() for place in places if named[place] == 1)


def find_cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Sets of two or more nodes of which each reaches each other one, the largest first.

    >>> find_cycles({"a": {"b"}, "b": {"a", "c"}, "c": set()})
    [['a', 'b']]
    """
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        todo = [*graph[start]]
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(graph.get(node, ()))
        reached[start] = seen
    knots = {frozenset(n for n in reached[node] if node in reached[n]) for node in graph if node in reached[node]}
    return sorted((sorted(knot) for knot in knots if len(knot) > 1), key=lambda knot: (-len(knot), knot))


def read_budget(path: Path = BUDGET) -> dict[str, int]:
    """Lines that each folder may have, by its path, and how many helpers may have one caller."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line)
    return {name: int(most) for name, most in rows}


def find_excess(shape: Shape, budget: Mapping[str, int]) -> list[str]:
    """What is over the budget, a line each; a folder that the budget does not name may have nothing."""
    over = [
        f"{folder}: {lines} lines, {budget.get(folder, 0)} are budgeted"
        for folder, lines in sorted(shape.lines.items())
        if lines > budget.get(folder, 0) * TOLERANCE
    ]
    if len(shape.one_caller) > budget.get(HELPERS, 0):
        over.append(f"{len(shape.one_caller)} {HELPERS}, {budget.get(HELPERS, 0)} are budgeted")
    return over + [f"import cycle: {' → '.join(cycle)}" for cycle in shape.cycles]


def unpack_revision(revision: str, folder: Path) -> Path:
    """Unpack another commit into a folder.

    Raises:
        SystemExit: git does not know it.
    """
    command = ["git", "archive", "--format=tar", revision, "--", *ROOMS]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr.decode().strip())
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def main(arguments: Sequence[str]) -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description="Count the shape of the house.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path())
    parser.add_argument("--against", metavar="REV", help="a commit to print beside")
    parser.add_argument("--check", action="store_true", help="fail where a folder is over its budget")
    parser.add_argument("--names", action="store_true", help="name the helpers with one caller")
    asked = parser.parse_args(arguments)
    shapes = [measure_shape(asked.folder)]
    if asked.against:
        with tempfile.TemporaryDirectory() as folder:
            shapes.insert(0, measure_shape(unpack_revision(asked.against, Path(folder))))
    budget = read_budget()
    heads = ([asked.against] if asked.against else []) + ["now", "budget"]
    print(f"{'lines (modules)':34}" + "".join(f"{head:>16}" for head in heads))
    for name in sorted({folder for shape in shapes for folder in shape.lines}):
        figures = [f"{shape.lines.get(name, 0)} ({shape.modules.get(name, 0)})" for shape in shapes]
        print(f"{name:34}" + "".join(f"{figure:>16}" for figure in [*figures, str(budget.get(name, 0))]))
    totals = [f"{sum(shape.lines.values())} ({sum(shape.modules.values())})" for shape in shapes]
    whole = sum(lines for name, lines in budget.items() if name != HELPERS)
    print(f"{'all':34}" + "".join(f"{figure:>16}" for figure in [*totals, str(whole)]))
    helpers = [len(shape.one_caller) for shape in shapes]
    print(f"{HELPERS:34}" + "".join(f"{count:>16}" for count in [*helpers, budget.get(HELPERS, 0)]))
    print(f"{'import cycles':34}" + "".join(f"{len(shape.cycles):>16}" for shape in shapes))
    if asked.names:
        print(*shapes[-1].one_caller, sep="\n")
    if asked.check and (over := find_excess(shapes[-1], budget)):
        raise SystemExit("\n".join(over))


if __name__ == "__main__":
    main(sys.argv[1:])
