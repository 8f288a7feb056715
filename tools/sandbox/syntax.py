"""The query language that the sandbox's sources share.

What PubMed, Europe PMC and ClinicalTrials.gov have in common: AND, OR, NOT, groups, quotes, a star at a word's end,
words side by side that must all occur. Fields are named after a term (`migraine[tiab]`), before it (`TITLE:migraine`)
or in an area (`AREA[Phase]PHASE3`); ranges stand in brackets. PubMed takes operators from left to right; elsewhere AND
binds tighter than OR.
"""

import re
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal, cast

from lark import Lark, Token, Transformer, UnexpectedInput, v_args

_UNPAIRED = re.compile(r'("[^"]*"|\[[^\[\]]*\])|["\[\]]')
_CLOSING, _NOTHING = Token("RPAR", ")"), Token("WORD", "")
_FLAT = """
?start: first | start "AND"? item -> both | start "AND"? "NOT" item -> but_not | start "OR" first -> either
"""
_NESTED = """
?start: all | start "OR" all -> either
?all: first | all "AND"? item -> both | all "AND"? "NOT" item -> but_not
"""
_TERMS = r"""
?first: item | "NOT" item -> without
?item: words -> run | words TAG -> tagged | QUOTED TAG -> tagged | operand | (AREA | PREFIX) (word | operand) -> scoped
words: WORD | words WORD
word: WORD -> run
?operand: QUOTED -> phrase | RANGE -> span | "(" start ")"
AREA.1: /AREA\[[^\[\]]*\]/
RANGE.1: /RANGE\[[^\[\],]*,[^\[\]]*\]|\[[^\[\]]*? TO [^\[\]]*\]/
PREFIX.1: /[A-Z][A-Za-z_]+:(?=[^\s:])/
TAG: /\[[^\[\]]*\]/
QUOTED: /"[^"]*"/
WORD: /[^\s()"\[\]]+/
HINT.1: /(EXPANSION|COVERAGE|SEARCH|TILT)\[[^\[\]]*\]/
%ignore HINT
%ignore /\s+/
"""


class QueryError(ValueError):
    """The query is not well formed; the message says where."""


@dataclass(frozen=True, slots=True)
class Term:
    """Words that must occur, or a range that a date must lie in."""

    text: str
    """As it was written; empty for a range."""
    phrase: bool = False
    """Whether its words must stand side by side."""
    field: str | None = None
    """None for the fields that are searched by default."""
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True, slots=True)
class Combined:
    """Two parts and what stands between them."""

    operator: Literal["AND", "OR", "NOT"]
    left: "Node | None"
    """None where the query begins with NOT."""
    right: "Node"


Node = Term | Combined


def parse(query: str, *, flat: bool = False, strict: bool = False) -> Node | None:
    """Read a query; None where it holds no term.

    Args:
        query: in any of the sources' syntaxes.
        flat: take operators from left to right, as PubMed does.
        strict: refuse what is not well formed, as ClinicalTrials.gov does; otherwise make the best of it.

    Raises:
        QueryError: `strict` only.

    >>> parse("a OR b AND c").operator, parse("a OR b AND c", flat=True).operator
    ('OR', 'AND')
    """
    grammar = _LEFT_TO_RIGHT if flat else _BY_RANK
    try:
        found: Any = grammar.parse(query)
    except UnexpectedInput as error:
        if not strict:
            return _mended(grammar, query)
        at = query[error.pos_in_stream :].partition(" ")[0] if error.pos_in_stream is not None else ""
        raise QueryError(f"no viable alternative at input '{at or '<EOF>'}'") from error
    return cast(Node | None, found)


def _mended(grammar: Lark, query: str) -> Node | None:
    """What a query says that is not well formed: what does not belong is passed over, what lacks at its end put in."""
    parser: Any = grammar.parse_interactive("")
    for token in grammar.lex(_UNPAIRED.sub(lambda match: match[1] or " ", query)):
        if token.type in parser.accepts():
            parser.feed_token(token)
    while "$END" not in (due := parser.accepts()):
        parser.feed_token(_CLOSING if _CLOSING.type in due else _NOTHING)
    return cast(Node | None, parser.feed_eof())


def terms(node: Node | None) -> list[Term]:
    """The terms of a query that are not excluded by NOT, in order."""
    if node is None:
        return []
    if isinstance(node, Term):
        return [node]
    return terms(node.left) + ([] if node.operator == "NOT" else terms(node.right))


def _joined(operator: Literal["AND", "OR", "NOT"], left: Node | None, right: Node | None) -> Node | None:
    if right is None or (left is None and operator != "NOT"):
        return left or right
    return Combined(operator, left, right)


def _within(field: str, node: Node | None) -> Node | None:
    """A part of a query in a field, but for those of its terms that name another."""
    if isinstance(node, Combined):
        return _joined(node.operator, _within(field, node.left), _within(field, node.right))
    return replace(node, field=field) if node and node.field is None else node


@v_args(inline=True)
class _Reader(Transformer[Token, Node | None]):
    """What each rule of the grammar means."""

    def both(self, left: Node | None, right: Node | None) -> Node | None:
        return _joined("AND", left, right)

    def either(self, left: Node | None, right: Node | None) -> Node | None:
        return _joined("OR", left, right)

    def but_not(self, left: Node | None, right: Node | None) -> Node | None:
        return _joined("NOT", left, right)

    def without(self, right: Node | None) -> Node | None:
        return _joined("NOT", None, right)

    def words(self, *words: Token) -> str:
        return " ".join(words)

    def run(self, words: str) -> Node | None:
        found: list[Node | None] = [Term(word) for word in words.split()]
        return reduce(lambda left, right: _joined("AND", left, right), found, None)

    def phrase(self, quoted: str) -> Node:
        return Term(quoted[1:-1], phrase=True)

    def tagged(self, words: str, tag: str) -> Node:
        """The words before a tag are one phrase, as `long covid[tiab]` means it, or a range of years."""
        field, text = tag[1:-1].strip().lower(), words.strip('"')
        low, _, high = (part.strip() for part in text.partition(":"))
        if low.replace("/", "").isdecimal() and high.replace("/", "").isdecimal():
            return Term("", field=field, low=low, high=high)
        return Term(text, phrase=text != words or " " in text, field=field)

    def span(self, written: str) -> Node:
        low, high = written[written.index("[") + 1 : -1].replace(" TO ", ",").split(",", maxsplit=1)
        return Term("", low=low.strip(), high=high.strip())

    def scoped(self, field: str, node: Node | None) -> Node | None:
        return _within(field.removeprefix("AREA[").rstrip("]:").lower(), node)


_LEFT_TO_RIGHT, _BY_RANK = (
    Lark(start + _TERMS, parser="lalr", lexer="basic", transformer=_Reader()) for start in (_FLAT, _NESTED)
)
