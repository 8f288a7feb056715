"""The query language that the sandbox's sources share.

What PubMed, Europe PMC and ClinicalTrials.gov have in common: AND, OR, NOT, groups, quotes, a star at a word's end,
words side by side that must all occur. Fields are named after a term (`migraine[tiab]`), before it (`TITLE:migraine`)
or in an area (`AREA[Phase]PHASE3`); ranges stand in brackets. PubMed takes operators from left to right; elsewhere AND
binds tighter than OR.
"""

import re
from dataclasses import dataclass
from typing import Literal

_PIECE = re.compile(
    r"""\s*(?:
      (?P<quoted>"[^"]*")
    | AREA\[(?P<area>[^\[\]]*)\]
    | RANGE\[(?P<range>[^\[\],]*),(?P<range_end>[^\[\]]*)\]
    | (?:EXPANSION|COVERAGE|SEARCH|TILT)\[[^\[\]]*\]
    | \[(?P<low>[^\[\]]*?)\ TO\ (?P<high>[^\[\]]*)\]
    | \[(?P<tag>[^\[\]]*)\]
    | (?P<prefix>[A-Z][A-Za-z_]+):(?=[^\s:])
    | (?P<bracket>[()])
    | (?P<word>[^\s()"\[\]]+)
    | (?P<stray>["\[\]])
    )""",
    re.VERBOSE,
)
_OPERATORS = frozenset({"AND", "OR", "NOT"})


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


@dataclass(slots=True)
class _Token:
    kind: Literal["term", "operator", "bracket", "field", "stray"]
    text: str
    term: Term | None = None


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
    parser = _Parser(_tokens(query, strict), flat, strict)
    node = parser.expression()
    while parser.tokens:
        if strict:
            raise QueryError(f"no viable alternative at input '{parser.tokens[0].text}'")
        parser.tokens.pop(0)  # a bracket that nothing opened
        node = _joined("AND", node, parser.expression())
    return node


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


def _tokens(query: str, strict: bool) -> list[_Token]:
    found: list[_Token] = []
    for match in _PIECE.finditer(query.strip()):
        kind = match.lastgroup
        if kind == "quoted":
            found.append(_Token("term", match[0], Term(match["quoted"][1:-1], phrase=True)))
        elif kind in ("area", "prefix"):
            found.append(_Token("field", match[kind].lower()))
        elif kind in ("range_end", "high"):
            low, high = ("range", "range_end") if kind == "range_end" else ("low", "high")
            found.append(_Token("term", match[0], Term("", low=match[low].strip(), high=match[high].strip())))
        elif kind == "tag":
            _tag(found, match["tag"].strip().lower())
        elif kind == "bracket":
            found.append(_Token("bracket", match["bracket"]))
        elif kind == "stray" and strict:
            raise QueryError(f"token recognition error at: '{match['stray']}'")
        elif kind == "word" and match["word"] in _OPERATORS:
            found.append(_Token("operator", match["word"]))
        elif kind == "word":
            found.append(_Token("term", match["word"], Term(match["word"])))
    return found


def _tag(found: list[_Token], tag: str) -> None:
    """Give the words before a tag to its field: one phrase, as `long covid[tiab]` means it."""
    words: list[Term] = []
    while found and found[-1].term and found[-1].term.field is None and (not words or not found[-1].term.phrase):
        term = found.pop().term
        assert term is not None
        words.insert(0, term)
        if term.phrase:
            break
    if not words:
        return
    text = " ".join(term.text for term in words)
    if years := re.fullmatch(r"([\d/]+)\s*:\s*([\d/]+)", text):
        found.append(_Token("term", text, Term("", field=tag, low=years[1], high=years[2])))
    else:
        phrase = len(words) > 1 or words[0].phrase
        found.append(_Token("term", text, Term(text, phrase=phrase, field=tag)))


class _Parser:
    """Recursive descent over the tokens; takes them from the front."""

    def __init__(self, tokens: list[_Token], flat: bool, strict: bool) -> None:
        self.tokens = tokens
        self._flat = flat
        self._strict = strict

    def expression(self, scope: str | None = None) -> Node | None:
        left = self._conjunction(scope)
        while self._takes("OR"):
            left = _joined("OR", left, self._operand(scope) if self._flat else self._conjunction(scope))
            if self._flat:
                left = self._conjunction(scope, left)
        return left

    def _conjunction(self, scope: str | None, left: Node | None = None) -> Node | None:
        left = left if left is not None else self._operand(scope)
        while self.tokens:
            if self._takes("AND"):
                operator: Literal["AND", "NOT"] = "NOT" if self._takes("NOT") else "AND"
            elif self._takes("NOT"):
                operator = "NOT"
            elif self._begins_operand():
                operator = "AND"
            else:
                break
            left = _joined(operator, left, self._operand(scope))
        return left

    def _operand(self, scope: str | None) -> Node | None:
        if self._takes("NOT"):
            return _joined("NOT", None, self._operand(scope))
        if not self._begins_operand():
            if self._strict:
                raise QueryError(f"no viable alternative at input '{self.tokens[0].text if self.tokens else '<EOF>'}'")
            return None
        token = self.tokens.pop(0)
        if token.kind == "field":
            return self._operand(token.text)
        if token.kind == "bracket":
            return self._group(scope)
        return self._run(token, scope)

    def _group(self, scope: str | None) -> Node | None:
        inner = self.expression(scope)
        if self.tokens and self.tokens[0].text == ")":
            self.tokens.pop(0)
        elif self._strict:
            raise QueryError("missing ')' at '<EOF>'")
        return inner

    def _run(self, token: _Token, scope: str | None) -> Node | None:
        """A term, with the plain words beside it: side by side they belong together, whatever stands around them."""
        node: Node | None = _scoped(token.term, scope)
        while self._is_plain(token) and self.tokens and self._is_plain(self.tokens[0]) and scope is None:
            token = self.tokens.pop(0)
            node = _joined("AND", node, token.term)
        return node

    @staticmethod
    def _is_plain(token: _Token) -> bool:
        return token.term is not None and token.term.field is None and not token.term.phrase

    def _begins_operand(self) -> bool:
        return bool(self.tokens) and (self.tokens[0].kind in ("term", "field") or self.tokens[0].text == "(")

    def _takes(self, operator: str) -> bool:
        if self.tokens and self.tokens[0].kind == "operator" and self.tokens[0].text == operator:
            self.tokens.pop(0)
            return True
        return False


def _scoped(term: Term | None, scope: str | None) -> Term | None:
    if term is None or scope is None or term.field is not None:
        return term
    return Term(term.text, term.phrase, scope, term.low, term.high)
