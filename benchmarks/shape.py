"""The shape of the house: its size, who imports whom, how many patterns it reads with, how long its functions are.

    python -m benchmarks.shape [FOLDER] [--against REV]

Counts the modules below `agents`, `teams` and `tools`. An import is counted wherever it stands: at the top, in a
function, under `TYPE_CHECKING`. A name that an `__init__.py` hands on counts for the package and for the module that
the name comes from; the lines by which an `__init__.py` hands on names of its package make it no importer of theirs. So
a module that one other module uses has one importer, whether or not its package hands it on. A cycle is a set of
modules that all reach each other; here handing on counts as an import, but lying in a package does not.

A regular expression is the first argument of a call such as `re.compile` or `pattern`; its pattern is put together from
literals, sums, f-strings, joins and names of the module as far as these can be read, and what cannot counts as nothing.
"""

import argparse
import ast
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

ROOMS = ("agents", "teams", "tools")
PACKAGE = "willowbark"
_READS = frozenset("compile search match fullmatch finditer findall sub subn split".split())
_DEEP = 8  # names that stand for names; more is a loop


class Import(NamedTuple):
    """One imported name."""

    module: str
    name: str | None
    """None where the module itself is imported."""


class Shape(NamedTuple):
    """What is counted of one tree."""

    lines: int
    modules: int
    one_importer: list[str]
    fullest: tuple[str, int]
    """A folder with its number of modules."""
    cycles: list[list[str]]
    """The modules of each cycle."""
    patterns: int
    pattern_characters: int
    function_lines: tuple[int, int, int]
    """Median, 90th percentile and maximum."""


def shape_of(root: Path) -> Shape:
    """Count what lies below a folder.

    Raises:
        SystemExit: no module lies there.
    """
    files = {_name(path.relative_to(root)): path for room in ROOMS for path in sorted((root / room).rglob("*.py"))}
    if not files:
        raise SystemExit(f"no module in {', '.join(ROOMS)} below {root}")
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in files.items()}
    packages = {name for name, path in files.items() if path.name == "__init__.py"}
    imports = {name: list(_imports(tree, name, is_package=name in packages)) for name, tree in trees.items()}
    direct = {name: _named(found, trees) for name, found in imports.items()}
    importers = _importers(imports, trees, packages)
    found = [pattern for tree in trees.values() for pattern in patterns(tree)]
    folders = Counter(path.parent.relative_to(root).as_posix() for path in files.values())
    spans = sorted(span for tree in trees.values() for span in _spans(tree)) or [0]
    return Shape(
        lines=sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files.values()),
        modules=len(files),
        one_importer=sorted(name for name, by in importers.items() if len(by) == 1 and name not in packages),
        fullest=folders.most_common(1)[0],
        cycles=cycles(direct),
        patterns=len(found),
        pattern_characters=sum(map(len, found)),
        function_lines=(round(statistics.median(spans)), spans[int(len(spans) * 0.9)], spans[-1]),
    )


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join((PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _imports(tree: ast.Module, module: str, *, is_package: bool) -> Iterator[Import]:
    """Every imported name of the house; relative ones are resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, None) for alias in node.names if alias.name.startswith(f"{PACKAGE}."))
        elif isinstance(node, ast.ImportFrom):
            up = node.level - is_package
            base = module.split(".")[: -up or None] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            if source.split(".")[0] == PACKAGE:
                yield from (Import(source, alias.name) for alias in node.names)


def _named(imports: Sequence[Import], modules: Mapping[str, object]) -> set[str]:
    """The modules that imports load by their own words."""
    names = {f"{i.module}.{i.name}" if f"{i.module}.{i.name}" in modules else i.module for i in imports}
    return names & modules.keys()


def _importers(
    imports: Mapping[str, Sequence[Import]], modules: Mapping[str, ast.Module], packages: set[str]
) -> dict[str, set[str]]:
    """Who uses each module: names that a package hands on are followed to the module where they are made."""
    handed = {name: {i.name: i for i in imports[name]} for name in packages}
    by: dict[str, set[str]] = {name: set() for name in modules}

    def mark(importer: str, wanted: Import, deep: int = 0) -> None:
        whole = f"{wanted.module}.{wanted.name}"
        target = whole if whole in modules else wanted.module
        if target not in modules or target == importer:
            return
        by[target].add(importer)
        if target in packages and whole != target and deep < _DEEP and (on := handed[target].get(wanted.name)):
            mark(importer, on, deep + 1)

    for importer, wanted in imports.items():
        for each in wanted:
            if not (importer in packages and each.module.startswith(importer)):
                mark(importer, each)
    return by


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Sets of two or more nodes of which each reaches each other one, the largest first.

    >>> cycles({"a": {"b"}, "b": {"a", "c"}, "c": set()})
    [['a', 'b']]
    """
    reached = {node: _reached(node, graph) for node in graph}
    knots = {frozenset(n for n in reached[node] if node in reached[n]) for node in graph if node in reached[node]}
    return sorted((sorted(knot) for knot in knots if len(knot) > 1), key=lambda knot: (-len(knot), knot))


def _reached(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = [*graph[start]]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo.extend(graph.get(node, ()))
    return seen


def patterns(tree: ast.Module) -> Iterator[str]:
    """The pattern of each regular expression, as far as it can be read.

    >>> list(patterns(ast.parse('import re; A = "a|b"; re.compile(rf"(?:{A})c"); "a".split("b")')))
    ['(?:a|b)c']
    """
    names = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=reads, value=ast.Name(id="re" | "regex")), args=[first, *_]) if (
                reads in _READS
            ):
                yield _text(first, names)
            case ast.Call(func=ast.Name(id="pattern"), args=[first, *_]):
                yield _text(first, names)


def _text(node: ast.AST, names: Mapping[str, ast.expr], deep: int = 0) -> str:
    """The text that an expression makes; empty where it cannot be told."""

    def inner(part: ast.AST) -> str:
        return _text(part, names, deep + 1)

    match node:
        case _ if deep > _DEEP:
            return ""
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            return "".join(map(inner, parts))
        case ast.FormattedValue(value=value):
            return inner(value)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return inner(left) + inner(right)
        case ast.Name(id=name) if name in names:
            return inner(names[name])
        case ast.Call(func=ast.Attribute(attr="join", value=between), args=[ast.Tuple() | ast.List() as of]):
            return inner(between).join(map(inner, of.elts))
        case ast.Call(func=ast.Attribute(attr="join" | "format" | "split", value=value), args=args):
            return "".join(map(inner, [value, *args]))
    return ""


def _spans(tree: ast.Module) -> Iterator[int]:
    """Lines of each function, signature and docstring among them, decorators not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def at(revision: str, folder: Path) -> Path:
    """Unpack another commit into a folder.

    Raises:
        SystemExit: git does not know it.
    """
    command = ["git", "archive", "--format=tar", revision, "--", *ROOMS]
    told = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if told.returncode:
        raise SystemExit(told.stderr.decode().strip())
    with tarfile.open(fileobj=BytesIO(told.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def rows(shape: Shape) -> dict[str, str]:
    """The figures as words, by name."""
    folder, files = shape.fullest
    sizes = ", ".join(str(len(cycle)) for cycle in shape.cycles)
    return {
        "product lines / modules": f"{shape.lines:,} / {shape.modules}",
        "modules with exactly one importer": str(len(shape.one_importer)),
        "modules in the fullest folder": f"{files} ({folder})",
        "import cycles": f"{len(shape.cycles)} ({sizes})" if sizes else "0",
        "regular expressions / characters": f"{shape.patterns:,} / {shape.pattern_characters:,}",
        "function lines: median / p90 / max": " / ".join(map(str, shape.function_lines)),
    }


def main(arguments: Sequence[str]) -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description="Count the shape of the house.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path())
    parser.add_argument("--against", metavar="REV", help="a commit to print beside")
    parser.add_argument("--names", action="store_true", help="name the modules with one importer and those in cycles")
    asked = parser.parse_args(arguments)
    now = shape_of(asked.folder)
    columns = [("now", rows(now))]
    if asked.against:
        with tempfile.TemporaryDirectory() as folder:
            columns.insert(0, (asked.against, rows(shape_of(at(asked.against, Path(folder))))))
    print(f"{'':36}" + "".join(f"{title:28}" for title, _ in columns).rstrip())
    for name in columns[0][1]:
        print(f"{name:36}" + "".join(f"{figures[name]:28}" for _, figures in columns).rstrip())
    if asked.names:
        print("\none importer:", *now.one_importer, sep="\n  ")
    for cycle in now.cycles if asked.names else ():
        print("\ncycle:", *cycle, sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
