"""The shape of the house: how dense its code is, what its names say, which rooms import each other.

    python -m benchmarks.shape [FOLDER] [--against REV] [--names] [--check]

Counts the Python below `agents`, `tools` and `teams`, and beside it two public packages that are installed anyway.
A line is not a cost; what a reader must hold in mind is. So lines are printed and judged by nobody, and `--check` fails
on three things alone: import circles of modules or rooms, a type name that stands for two things, and more than
`MOST_INIT_LINES` lines defined in `__init__.py` files.
"""

import argparse
import ast
import subprocess
import sys
import tarfile
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO, StringIO
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from .circles import Circle, Module, describe_circle, find_circles, find_imports, lift_to_rooms, read_modules
from .density import (
    COMPREHENSIONS,
    begins_with_verb,
    count_tokens,
    find_code_lines,
    find_nested_comprehensions,
    find_packed_walruses,
    find_tuple_calls,
    get_name,
    is_comment,
    is_docstring,
    is_odd,
    is_plain_function,
    locate,
    locate_all,
    walk_all,
)

FLOORS = ("agents", "tools", "teams")
PACKAGE = "willowbark"
PUBLIC_PACKAGES = ("autogen_agentchat", "starlette")
MOST_INIT_LINES = 300
Places = Sequence[str]
"""Lines of files, as `path:line: what stands there`."""


class TypeName(NamedTuple):
    """A class or an alias where it is defined."""

    name: str
    line: int


class Shape(NamedTuple):
    """What is counted of one tree."""

    modules: int
    lines: int
    code_lines: int
    """Lines that are neither blank nor comment nor docstring."""
    tokens: int
    """Names, operators, numbers and strings; an f-string is one, whichever Python counts."""
    comment_lines: int
    """Lines that are a comment alone."""
    comments: int
    """With those at the end of a line of code, without directives to tools."""
    names: int
    """Uses of local and global names, and parameters."""
    any_uses: int
    """Times that `Any` is named."""
    functions: int
    """Without properties, dunders and validators."""
    comprehensions: int
    odd_names: Places
    not_verbs: Places
    """Functions whose name does not begin with a verb."""
    nested_comprehensions: Places
    """With a second `for`, or in another comprehension."""
    tuple_calls: Places
    """Assignments of a tuple to a tuple in which something is called."""
    packed_walruses: Places
    """In a condition that has another part."""
    doubled_classes: Mapping[str, Places]
    """Where each public class of that name is defined; names that stand once are left out."""
    doubled_types: Mapping[str, Places]
    """The same with private classes and aliases, underscores aside: `_Block` and `Block` are one name."""
    module_circles: Sequence[Circle]
    room_circles: Sequence[Circle]
    init_lines: Mapping[str, int]
    """Lines that each `__init__.py` defines; docstrings, imports, re-exports and `__all__` aside."""


def measure_shape(root: Path, floors: Sequence[str] = FLOORS, package: str = PACKAGE) -> Shape:
    """Count what lies below folders of a root; `package` is what absolute imports put before their names.

    Raises:
        SystemExit: no module lies there.
    """
    modules = read_modules(root, floors)
    imports = find_imports(modules, package)
    tokens = [list(tokenize.generate_tokens(StringIO(module.text).readline)) for module in modules]
    comments = list(filter(is_comment, chain.from_iterable(tokens)))
    nodes = list(walk_all(modules))
    names = [(module, node) for module, node in nodes if isinstance(node, ast.Name | ast.arg)]
    functions = [(module, node) for module, node in nodes if is_plain_function(node)]
    return Shape(
        modules=len(modules),
        lines=sum(len(module.text.splitlines()) for module in modules),
        code_lines=sum(len(find_code_lines(module)) for module in modules),
        tokens=sum(map(count_tokens, tokens)),
        comment_lines=sum(token.line.lstrip().startswith("#") for token in comments),
        comments=len(comments),
        names=len(names),
        any_uses=sum(get_name(node) == "Any" for _, node in names),
        functions=len(functions),
        comprehensions=sum(isinstance(node, COMPREHENSIONS) for _, node in nodes),
        odd_names=[locate(module, node) for module, node in names if is_odd(get_name(node))],
        not_verbs=[locate(module, node) for module, node in functions if not begins_with_verb(get_name(node))],
        nested_comprehensions=locate_all(modules, find_nested_comprehensions),
        tuple_calls=locate_all(modules, find_tuple_calls),
        packed_walruses=locate_all(modules, find_packed_walruses),
        doubled_classes=find_doubled(modules, find_public_classes),
        doubled_types=find_doubled(modules, find_types),
        module_circles=find_circles(imports),
        room_circles=find_circles(lift_to_rooms(imports, modules)),
        init_lines=count_init_lines(modules),
    )


def find_doubled(modules: Sequence[Module], find: Callable[[ast.Module], Iterator[TypeName]]) -> dict[str, Places]:
    """Names of types that are defined in two places, underscores aside, each with its places.

    A name in one module with and without its underscore is one type: a union, and the same with its discriminator.
    """
    places: defaultdict[str, dict[tuple[Path, str], str]] = defaultdict(dict)
    for module in modules:
        for definition in find(module.tree):
            key = (module.path, definition.name)
            place = f"{module.path.as_posix()}:{definition.line}"
            places[definition.name.lstrip("_")].setdefault(key, place)
    return {name: list(lines.values()) for name, lines in sorted(places.items()) if is_doubled(lines)}


def find_public_classes(tree: ast.Module) -> Iterator[TypeName]:
    """Classes without an underscore before their name, wherever they stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield TypeName(node.name, node.lineno)


def find_types(tree: ast.Module) -> Iterator[TypeName]:
    """All classes, and the module's aliases (`Stance = Literal[…]`).

    Type variables are parameters, and `Name = module.Name` is a re-export: neither defines a type.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield TypeName(node.name, node.lineno)
    for statement in tree.body:
        target = getattr(statement, "target", None) or getattr(statement, "name", None)
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
        value = getattr(statement, "value", None)
        if isinstance(target, ast.Name) and is_type_name(target.id) and defines_type(value):
            yield TypeName(target.id, statement.lineno)


def is_doubled(definitions: Mapping[tuple[Path, str], str]) -> bool:
    """Whether two modules define it."""
    return len({path for path, _ in definitions}) > 1


def is_type_name(name: str) -> bool:
    """Whether a name is written as types are: CapWords, with or without an underscore before."""
    return name.lstrip("_")[:1].isupper() and not name.isupper()


def defines_type(value: ast.expr | None) -> bool:
    """Whether what is assigned makes a type: a subscript, a union, `NewType`."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in ("NewType", "NamedTuple", "TypedDict", "create_model")
    return isinstance(value, ast.Subscript | ast.BinOp)


def count_init_lines(modules: Sequence[Module]) -> dict[str, int]:
    """Lines of definitions in each `__init__.py` that has any."""
    counts = {}
    for module in modules:
        if module.path.name == "__init__.py":
            contents = [node for node in module.tree.body if is_content(node)]
            lines = sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in contents)
            if lines:
                counts[module.path.as_posix()] = lines
    return counts


def is_content(node: ast.stmt) -> bool:
    """Whether a statement of an `__init__.py` does more than say what the room is for and re-export."""
    if isinstance(node, ast.Import | ast.ImportFrom) or is_docstring(node):
        return False
    if isinstance(node, ast.If):
        return any(map(is_content, [*node.body, *node.orelse]))
    if isinstance(node, ast.Assign):
        names = [ast.unparse(target) for target in node.targets]
        return names != ["__all__"] and not isinstance(node.value, ast.Name | ast.Attribute)
    return True


def find_faults(shape: Shape) -> list[str]:
    """What fails the check: each with its places and what to do."""
    faults = [describe_circle(circle, "modules") for circle in shape.module_circles]
    faults += [describe_circle(circle, "rooms") for circle in shape.room_circles]
    faults += [
        f"type name {name} is defined {len(places)} times: {', '.join(places)}. "
        "Import the one that is meant, or rename by what each means (docs/reference/glossary.md)."
        for name, places in shape.doubled_types.items()
    ]
    init_lines = sum(shape.init_lines.values())
    if init_lines > MOST_INIT_LINES:
        files = ", ".join(f"{path} {lines}" for path, lines in shape.init_lines.items())
        faults.append(
            f"{init_lines} lines are defined in `__init__.py` files, {MOST_INIT_LINES} at most are allowed: {files}. "
            "Move them into modules of the room and re-export."
        )
    return faults


def list_figures(shape: Shape) -> dict[str, str]:
    """The figures of one tree as they are printed, by what they count."""
    lines = shape.code_lines
    return {
        "lines (nobody judges them)": f"{shape.lines:,}",
        "modules": f"{shape.modules:,}",
        "lines of code": f"{lines:,}",
        "tokens": f"{shape.tokens:,}",
        "tokens a line of code": f"{shape.tokens / lines:.1f}",
        "odd names": format_share(len(shape.odd_names), shape.names),
        "functions that begin with a verb": format_share(shape.functions - len(shape.not_verbs), shape.functions),
        "lines that are a comment": format_share(shape.comment_lines, lines + shape.comment_lines),
        "  with those beside code": format_share(shape.comments, lines + shape.comment_lines),
        "comprehensions, a 100 lines": f"{100 * shape.comprehensions / lines:.1f}",
        "nested comprehensions": f"{len(shape.nested_comprehensions):,}",
        "tuples assigned from calls": f"{len(shape.tuple_calls):,}",
        "walruses beside another condition": f"{len(shape.packed_walruses):,}",
        "Any (a 1,000 lines)": f"{shape.any_uses:,} ({1000 * shape.any_uses / lines:.1f})",
        "class names with two meanings": f"{len(shape.doubled_classes):,}",
        "  with private names and aliases": f"{len(shape.doubled_types):,}",
        "modules in an import circle": format_circles(shape.module_circles),
        "rooms in an import circle": format_circles(shape.room_circles),
        "lines defined in __init__.py": f"{sum(shape.init_lines.values()):,}",
    }


def format_share(count: int, whole: int) -> str:
    """A count and its share of a whole in percent."""
    return f"{count:,} ({100 * count / max(whole, 1):.1f} %)"


def format_circles(circles: Sequence[Circle]) -> str:
    """How many stand in each circle, as `11 + 4 + 2`."""
    return " + ".join(str(len(circle.members)) for circle in circles) or "0"


def print_table(shapes: Mapping[str, Shape]) -> None:
    """Print the figures of several trees side by side."""
    columns = {name: list_figures(shape) for name, shape in shapes.items()}
    width = max(18, *(len(name) + 2 for name in columns))
    print(f"{'':36}" + "".join(f"{name:>{width}}" for name in columns))
    for row in next(iter(columns.values())):
        print(f"{row:36}" + "".join(f"{figures[row]:>{width}}" for figures in columns.values()))


def print_names(shape: Shape) -> None:
    """Print the place of everything that is counted, a line each, below what it is."""
    lists = {
        "odd names": shape.odd_names,
        "functions that do not begin with a verb": shape.not_verbs,
        "nested comprehensions": shape.nested_comprehensions,
        "tuples assigned from calls": shape.tuple_calls,
        "walruses beside another condition": shape.packed_walruses,
    }
    for title, places in lists.items():
        print(f"\n{title}:", *places, sep="\n")


def measure_public_packages() -> dict[str, Shape]:
    """The shapes of `PUBLIC_PACKAGES`; one that is not installed is left out, and said so."""
    shapes = {}
    for name in PUBLIC_PACKAGES:
        spec = find_spec(name)
        if spec and spec.origin:
            shapes[name] = measure_shape(Path(spec.origin).parents[1], [name], package="")
        else:
            print(f"{name} is not installed here: its figures are left out (`make shape` runs in .venv)")
    return shapes


def unpack_revision(revision: str, folder: Path) -> Path:
    """Unpack another commit into a folder.

    Raises:
        SystemExit: git does not know it.
    """
    command = ["git", "archive", "--format=tar", revision, "--", *FLOORS]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr.decode().strip())
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def main(arguments: Sequence[str]) -> None:
    """Count and print, or check.

    Raises:
        SystemExit: the check fails, or there is nothing to count.
    """
    parser = argparse.ArgumentParser(description="Count the shape of the house.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path())
    parser.add_argument("--against", metavar="REV", help="a commit to print beside")
    parser.add_argument("--check", action="store_true", help="fail on import circles and doubled type names, no table")
    parser.add_argument("--names", action="store_true", help="name the place of each thing counted")
    options = parser.parse_args(arguments)
    shape = measure_shape(options.folder)
    faults = find_faults(shape)
    if options.check:
        if faults:
            raise SystemExit("\n".join(faults))
        print("no import circle, no type name with two meanings")
        return
    shapes = {}
    if options.against:
        with tempfile.TemporaryDirectory() as folder:
            shapes[options.against] = measure_shape(unpack_revision(options.against, Path(folder)))
    shapes["now"] = shape
    print_table(shapes | measure_public_packages())
    print("", *faults, sep="\n")
    if options.names:
        print_names(shape)


if __name__ == "__main__":
    main(sys.argv[1:])
