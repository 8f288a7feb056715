"""How dense code is, and what its names say: the counts of `benchmarks.shape`, file by file."""

import ast
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from .circles import Module

ODD_WORDS = frozenset(
    "told said each found asked given known shown kept held named heard met due stands beside aside wanted read made "
    "came taken".split()
)
"""Participles and fillers that stood for nouns: what was told, and by whom, the name does not say."""
VERBS = frozenset(Path(__file__).with_name("verbs.txt").read_text(encoding="utf-8").split())
NOT_FUNCTIONS = frozenset(
    "property cached_property computed_field setter getter deleter overload validator field_validator model_validator "
    "field_serializer model_serializer".split()
)
"""Decorators below which a function is read as an attribute, or called by pydantic alone."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
TOKENS = frozenset({tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING})
DIRECTIVES = ("# noqa", "# type:", "# pragma", "#!")


def find_code_lines(module: Module) -> set[int]:
    """Numbers of the lines that are neither blank nor comment nor docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and is_docstring(node):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = {number: line.strip() for number, line in enumerate(module.text.splitlines(), 1)}
    filled = {number for number, line in lines.items() if line and not line.startswith("#")}
    return filled - docstrings


def is_docstring(node: ast.stmt) -> bool:
    """Whether a statement is a text alone: of a module, class, function, or of the field above it."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def count_tokens(tokens: Sequence[tokenize.TokenInfo]) -> int:
    """Count names, operators, numbers and strings.

    Since Python 3.12 an f-string comes in pieces, before it as one string: it counts as one, so that figures can be
    compared.
    """
    starts = getattr(tokenize, "FSTRING_START", None)
    ends = getattr(tokenize, "FSTRING_END", None)
    count = 0
    depth = 0
    for token in tokens:
        if token.type == starts:
            count += depth == 0
            depth += 1
        elif token.type == ends:
            depth -= 1
        elif depth == 0 and token.type in TOKENS:
            count += 1
    return count


def is_comment(token: tokenize.TokenInfo) -> bool:
    """Whether it speaks to a reader rather than to a tool."""
    return token.type == tokenize.COMMENT and not token.string.startswith(DIRECTIVES)


def is_plain_function(node: ast.AST) -> bool:
    """Whether it is a function that its author named and somebody calls: no property, dunder or validator."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("__"):
        return False
    decorators = {ast.unparse(decorator).partition("(")[0].rpartition(".")[2] for decorator in node.decorator_list}
    return not decorators & NOT_FUNCTIONS


def get_name(node: ast.AST) -> str:
    """What a name, a parameter, or a function is called; "" for other nodes."""
    for attribute in ("id", "arg", "name"):
        name = getattr(node, attribute, None)
        if isinstance(name, str):
            return name
    return ""


def is_odd(name: str) -> bool:
    """Whether an odd word stands in a name, between underscores.

    >>> is_odd("drugs_found"), is_odd("foundation")
    (True, False)
    """
    return not ODD_WORDS.isdisjoint(name.lower().split("_"))


def begins_with_verb(name: str) -> bool:
    """Whether the first word of a function's name is in `verbs.txt`.

    A word that is a verb and a noun (`search`, `report`) stands there by what it mostly means in names of functions.
    """
    return name.lower().lstrip("_").partition("_")[0] in VERBS


def locate(module: Module, node: ast.AST) -> str:
    """File, line, and what stands there, in one line of at most 80 characters."""
    text = get_name(node) or " ".join(ast.unparse(node).split())
    return f"{module.path.as_posix()}:{getattr(node, 'lineno', 0)}: {text[:80]}"


def walk_all(modules: Sequence[Module]) -> Iterator[tuple[Module, ast.AST]]:
    """All nodes of the modules, in the order of their lines."""
    for module in modules:
        for node in sort_by_line(ast.walk(module.tree)):
            yield module, node


def sort_by_line(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """Nodes in the order in which they are read; what has no line comes first."""
    return sorted(nodes, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)))


def locate_all(modules: Sequence[Module], find: Callable[[ast.Module], Iterator[ast.AST]]) -> list[str]:
    """Places of what a search finds in each module."""
    places: list[str] = []
    for module in modules:
        places.extend(locate(module, node) for node in sort_by_line(find(module.tree)))
    return places


def find_nested_comprehensions(tree: ast.Module) -> Iterator[ast.AST]:
    """Comprehensions with a second `for`, or with another comprehension in them."""
    for node in ast.walk(tree):
        if isinstance(node, COMPREHENSIONS):
            inner = [child for child in ast.walk(node) if isinstance(child, COMPREHENSIONS)]
            if len(node.generators) > 1 or len(inner) > 1:
                yield node


def find_tuple_calls(tree: ast.Module) -> Iterator[ast.AST]:
    """Assignments such as `a, b = f(), g()`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            calls = [child for child in ast.walk(node.value) if isinstance(child, ast.Call)]
            if calls and isinstance(node.targets[0], ast.Tuple):
                yield node


def find_packed_walruses(tree: ast.Module) -> Iterator[ast.AST]:
    """Walruses in a condition that has another part, each once."""
    walruses: dict[int, ast.AST] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp):
            walruses |= {id(child): child for child in ast.walk(node) if isinstance(child, ast.NamedExpr)}
    yield from walruses.values()
