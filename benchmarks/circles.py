"""Import circles of modules and of rooms.

A room is a folder; a module that lies directly on a floor (`tools/search.py`) is a room of its own. An import counts
wherever it stands, at the top or in a function, except under `TYPE_CHECKING`, where nothing is imported at run time.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

REMEDY = "Move what both need to where neither imports the other, or hand it in as an argument."


class Module(NamedTuple):
    """One file of Python."""

    name: str
    """Dotted, from the floor: `tools.sources.card`; a package by its folder: `tools.sources`."""
    path: Path
    """From the root."""
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The folder that holds it, or itself where it lies on a floor."""
        is_package = self.path.name == "__init__.py"
        is_deep = len(self.path.parts) > 2
        return self.name.rpartition(".")[0] if is_deep and not is_package else self.name


class Import(NamedTuple):
    """An arrow from one module or room to another."""

    importer: str
    imported: str
    place: str
    """File and line of the statement, the first one where there are several."""


class Circle(NamedTuple):
    """Modules or rooms of which each is reached from each other."""

    members: Sequence[str]
    imports: Sequence[Import]
    """Between members."""


def read_modules(root: Path, floors: Sequence[str]) -> list[Module]:
    """Parse what lies below some folders of a root.

    Raises:
        SystemExit: no module lies there.
    """
    modules = []
    for floor in floors:
        for file in sorted((root / floor).rglob("*.py")):
            path = file.relative_to(root)
            text = file.read_text(encoding="utf-8")
            name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
            modules.append(Module(name, path, text, ast.parse(text)))
    if not modules:
        raise SystemExit(f"no module in {', '.join(floors)} below {root.resolve()}: name the root of a checkout")
    return modules


def find_imports(modules: Sequence[Module], package: str = "") -> list[Import]:
    """Imports between the modules; `package` is what absolute imports put before the floors' names."""
    names = {module.name for module in modules}
    imports = []
    for module in modules:
        for node in walk_running_code(module.tree):
            for imported in _resolve(node, module, package):
                target = imported if imported in names else imported.rpartition(".")[0]
                if target in names and target != module.name:
                    imports.append(Import(module.name, target, f"{module.path.as_posix()}:{node.lineno}"))
    return imports


def walk_running_code(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements below a node, without those under `TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.orelse:
                yield statement
                yield from walk_running_code(statement)
            continue
        if isinstance(child, ast.stmt):
            yield child
        yield from walk_running_code(child)


def _resolve(node: ast.stmt, module: Module, package: str) -> list[str]:
    """Dotted names that a statement imports, relative ones resolved; the last part may be a name in a module."""
    prefix = f"{package}." if package else ""
    if isinstance(node, ast.Import):
        return [alias.name.removeprefix(prefix) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    source = (node.module or "").removeprefix(prefix)
    if node.level:
        is_package = module.path.name == "__init__.py"
        steps_up = node.level - is_package
        parts = module.name.split(".")
        folder = parts[: len(parts) - steps_up]
        source = ".".join([*folder, source]).rstrip(".")
    return [f"{source}.{alias.name}" for alias in node.names]


def lift_to_rooms(imports: Sequence[Import], modules: Sequence[Module]) -> list[Import]:
    """Imports between rooms, one of each pair."""
    rooms = {module.name: module.room for module in modules}
    pairs: dict[tuple[str, str], Import] = {}
    for arrow in imports:
        pair = (rooms[arrow.importer], rooms[arrow.imported])
        if pair[0] != pair[1]:
            pairs.setdefault(pair, Import(*pair, arrow.place))
    return list(pairs.values())


def find_circles(imports: Sequence[Import]) -> list[Circle]:
    """Sets of two or more of which each reaches each other, the largest first.

    >>> [circle.members for circle in find_circles([Import("a", "b", ""), Import("b", "a", ""), Import("b", "c", "")])]
    [['a', 'b']]
    """
    targets: dict[str, set[str]] = {}
    for arrow in imports:
        targets.setdefault(arrow.importer, set()).add(arrow.imported)
    reached = {start: _reach(start, targets) for start in targets}
    groups = set()
    for start in targets:
        members = {other for other in reached[start] if start in reached.get(other, ())}
        if len(members) > 1:
            groups.add(frozenset(members))
    circles = []
    for group in groups:
        inner = [arrow for arrow in imports if {arrow.importer, arrow.imported} <= group]
        circles.append(Circle(sorted(group), inner))
    return sorted(circles, key=lambda circle: (-len(circle.members), circle.members))


def _reach(start: str, targets: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(targets[start])
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting.extend(targets.get(node, ()))
    return reached


def describe_circle(circle: Circle, what: str) -> str:
    """A circle with its imports, a line each, and what to do about it; `what` is "modules" or "rooms"."""
    lines = [f"import circle of {len(circle.members)} {what}: {', '.join(circle.members)}. {REMEDY}"]
    lines += [f"    {arrow.place}: {arrow.importer} imports {arrow.imported}" for arrow in circle.imports]
    return "\n".join(lines)
