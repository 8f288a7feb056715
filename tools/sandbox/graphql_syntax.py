"""Reading GraphQL documents: queries with variables, aliases and fragments (https://spec.graphql.org/October2021/).

Directives, mutations and subscriptions are not understood.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r'(?:[\s,\ufeff]|\#[^\n]*)*(?P<token>\.\.\.|[!$()\[\]{}:=@|]|"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[_A-Za-z]\w*)'
)
_BLANK = re.compile(r"(?:[\s,\ufeff]|#[^\n]*)*")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_MAX_DEPTH = 30  # far beyond any real query; deeper ones would exhaust the stack


Arguments = Mapping[str, Any]


class GraphQLError(Exception):
    """The query is at fault; the message is what the server answers."""


@dataclass(frozen=True, slots=True)
class Variable:
    """Stands for a value that comes with the query."""

    name: str


@dataclass(frozen=True, slots=True)
class Selection:
    """A field that is asked for."""

    name: str
    alias: str
    arguments: Arguments
    children: "tuple[Selection | Fragment, ...]" = ()


@dataclass(frozen=True, slots=True)
class Fragment:
    """Fields that are asked for where the object is of a type: inline, or by the fragment's name."""

    on: str | None
    children: "tuple[Selection | Fragment, ...]" = ()
    name: str | None = None


@dataclass(slots=True)
class Document:
    """A parsed request."""

    operations: dict[str, tuple[Selection | Fragment, ...]] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    fragments: dict[str, Fragment] = field(default_factory=dict)


def parse(text: str) -> Document:
    """Read a document.

    Raises:
        GraphQLError: it is not well formed, or its fragments hold themselves.
    """
    return _Parser(text).document()


class _Parser:
    """Recursive descent over the tokens of a document."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def document(self) -> Document:
        document = Document()
        while self._peek():
            if self._peek() == "fragment":
                self._take()
                name = self._name()
                self._expect("on")
                document.fragments[name] = Fragment(self._name(), self._selections())
            else:
                self._operation(document)
        self._refuse_loops(document)
        return document

    def _operation(self, document: Document) -> None:
        name = ""
        if self._peek() != "{":
            self._expect("query")
            name = self._name() if self._peek() not in ("(", "{") else ""
            if self._peek() == "(":
                self._variables(document)
        document.operations[name] = self._selections()

    def _variables(self, document: Document) -> None:
        self._expect("(")
        while self._peek() != ")":
            self._expect("$")
            name = self._name()
            self._expect(":")
            required = self._type()
            if self._peek() == "=":
                self._take()
                document.defaults[name] = self._value()
            elif required:
                document.required.add(name)
        self._take()

    def _type(self) -> bool:
        """Read past a type; gives whether a value is required."""
        if self._peek() == "[":
            self._take()
            self._type()
            self._expect("]")
        else:
            self._name()
        if self._peek() == "!":
            self._take()
            return True
        return False

    def _selections(self) -> tuple[Selection | Fragment, ...]:
        self._expect("{")
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise GraphQLError("Query is nested too deeply")
        found: list[Selection | Fragment] = []
        while self._peek() != "}":
            found.append(self._fragment() if self._peek() == "..." else self._selection())
        self._take()
        self._depth -= 1
        return tuple(found)

    def _fragment(self) -> Fragment:
        self._expect("...")
        if self._peek() == "{":
            return Fragment(None, self._selections())
        if self._peek() == "on":
            self._take()
            return Fragment(self._name(), self._selections())
        return Fragment(None, name=self._name())

    def _selection(self) -> Selection:
        alias = name = self._name()
        if self._peek() == ":":
            self._take()
            name = self._name()
        arguments: dict[str, Any] = {}
        if self._peek() == "(":
            self._take()
            arguments = self._pairs(")")
        return Selection(name, alias, arguments, self._selections() if self._peek() == "{" else ())

    def _pairs(self, end: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self._peek() != end:
            name = self._name()
            self._expect(":")
            found[name] = self._value()
        self._take()
        return found

    def _value(self) -> Any:
        word = self._take()
        if word == "$":
            return Variable(self._name())
        if word == "{":
            return self._pairs("}")
        if word == "[":
            return self._list()
        if word[0] == '"':
            return _ESCAPED.sub(lambda m: chr(int(m[1], 16)) if m[1] else _PLAIN.get(m[2], m[2]), word[1:-1])
        if word in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[word]
        if re.fullmatch(r"-?\d+", word):
            return int(word)
        return float(word) if word[0] in "-0123456789" else word

    def _list(self) -> list[Any]:
        found = []
        while self._peek() != "]":
            found.append(self._value())
        self._take()
        return found

    def _name(self) -> str:
        token = self._take()
        if not (token[0].isalpha() or token[0] == "_"):
            raise GraphQLError(f"Syntax error while parsing GraphQL query. Unexpected '{token}'")
        return token

    def _expect(self, wanted: str) -> None:
        token = self._take()
        if token != wanted:
            raise GraphQLError(f"Syntax error while parsing GraphQL query. Expected '{wanted}', found '{token}'")

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        if self._at >= len(self._tokens):
            raise GraphQLError("Syntax error while parsing GraphQL query. Unexpected end of input")
        self._at += 1
        return self._tokens[self._at - 1]

    @staticmethod
    def _refuse_loops(document: Document) -> None:
        """Refuse fragments that hold themselves."""

        def visit(name: str, above: tuple[str, ...]) -> None:
            if name in above:
                raise GraphQLError(f"Cannot spread fragment '{name}' within itself")
            if name in document.fragments:
                for inner in _spreads(document.fragments[name].children):
                    visit(inner, (*above, name))

        for name in document.fragments:
            visit(name, ())


def _spreads(selections: Sequence[Selection | Fragment]) -> Iterator[str]:
    for each in selections:
        if isinstance(each, Fragment) and each.name is not None:
            yield each.name
        yield from _spreads(each.children)


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if _BLANK.fullmatch(text, at):
                return
            raise GraphQLError(f"Syntax error while parsing GraphQL query. Unexpected character at {at}")
        yield match["token"]
        at = match.end()
