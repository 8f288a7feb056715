"""The query syntax that users may write themselves: operators, quotes, groups, field tags.

PubMed https://pubmed.ncbi.nlm.nih.gov/help/#using-search-field-tags, ClinicalTrials.gov
https://clinicaltrials.gov/find-studies/constructing-complex-search-queries, Europe PMC https://europepmc.org/searchsyntax.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Callable
from typing import Literal, NamedTuple

MAX_DEPTH = 50  # of groups in groups; opening brackets beyond it are passed over
OPERATORS = frozenset(("AND", "OR", "NOT"))

_INVISIBLE = dict.fromkeys((0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF), None)
_SYNTAX = dict.fromkeys(map(ord, '()"[]'), " ")
_TYPOGRAPHY = str.maketrans(
    {**dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‘’‚‛", "'"), **dict.fromkeys("‐‑‒–—―−", "-")}
)
_FUNCTION = re.compile(r"(?:AREA|RANGE|EXPAND|SEARCH|COVER)\[[^\[\]]*\]|\b[A-Z][A-Z_]+:")
_PIECE = re.compile(rf'"[^"]*"|{_FUNCTION.pattern}|\[[^\[\]]*\]|[()]|[^\s()"\[\]]+')
_STRAY = re.compile(r'(?<!\w)[^\w\s"()\[\]]+(?=(?:AREA|RANGE|EXPAND|SEARCH|COVER)\[)')
_BRACKETED = re.compile(r"\[[^\[\]]*\]")
_TAGS = re.compile(rf"{_BRACKETED.pattern}|\b[A-Z_]{{2,}}:|\*")
_EDGES = re.compile(r"^[^\w$*]+|[^\w%*+]+$")


class Token(NamedTuple):
    """A word, an operator, or a fixed piece of query syntax that is to be left as it stands."""

    kind: Literal["word", "operator", "fixed", "function"]
    text: str


def normalised(text: str) -> str:
    """One spelling of quotes, dashes and blanks; characters that nobody sees are taken out.

    >>> normalised("“long  COVID”\\u200b")
    '"long COVID"'
    """
    seen = "".join(" " if unicodedata.category(each)[0] in "CZ" else each for each in text.translate(_INVISIBLE))
    seen = unicodedata.normalize("NFKC", seen).translate(_INVISIBLE).translate(_TYPOGRAPHY)
    return " ".join(unicodedata.normalize("NFKC", seen).split())


def bare_words(text: str) -> list[str]:
    """The words of a query without its syntax.

    >>> bare_words('("long COVID"[tiab] OR AREA[Condition]fatigue)')
    ['long', 'COVID', 'fatigue']
    """
    plain = _BRACKETED.sub(" ", _FUNCTION.sub(" ", text))
    words = (_EDGES.sub("", piece) for piece in plain.translate(_SYNTAX).split())
    return [word for word in words if has_word(word) and word not in OPERATORS]


def without_tags(query: str) -> str:
    """A boolean query without other sources' field tags and stars.

    >>> without_tags('("long covid"[tiab] OR PASC*) NOT TITLE:mice')
    '("long covid" OR PASC) NOT mice'
    """
    return " ".join(_TAGS.sub("", query).split())


def has_word(piece: str) -> bool:
    """Whether a piece holds a letter or a digit."""
    return any(map(str.isalnum, piece))


def lex(text: str, is_noise: Callable[[str], bool]) -> list[Token]:
    """The tokens of a normalised query, outside its groups and quotes.

    A field tag belongs to the words before it up to an operator, without the words of asking at their head.
    """
    tokens: list[Token] = []
    pieces = deque(_PIECE.findall(_STRAY.sub(" ", text)))
    while pieces:
        piece = pieces.popleft()
        if piece[0] == "[":
            _attach_tag(tokens, piece, is_noise)
        elif _FUNCTION.fullmatch(piece):
            _append(tokens, Token("function", piece))
        elif piece == "(":
            inner = _group(pieces)
            if _is_aside(inner):
                tokens.extend(_aside(inner))
            elif inner:
                _append(tokens, Token("fixed", f"({inner})"))
        elif piece[0] == '"':
            if has_word(piece):
                _append(tokens, Token("fixed", f'"{piece[1:-1].strip()}"'))
        elif has_word(word := _EDGES.sub("", piece)):
            _append(tokens, Token("operator" if word in OPERATORS else "word", word))
    return [token for token in tokens if token.kind != "function"]


def _is_aside(inner: str) -> bool:
    """Whether the inside of a group is no query but words said by the way: "(chronic)", "(BAY 94-8862)"."""
    return _SYNTAX.keys().isdisjoint(map(ord, inner)) and OPERATORS.isdisjoint(
        _EDGES.sub("", word) for word in inner.split()
    )


def _aside(inner: str) -> list[Token]:
    """The words of an aside; an abbreviation or a code is another name for what stands before it."""
    words = [Token("word", word) for word in bare_words(inner)]
    return words if inner.upper() != inner else [Token("word", "or"), *words]


def _append(tokens: list[Token], token: Token) -> None:
    """Add a token; a function such as AREA[Condition] draws the next one to itself."""
    if tokens and tokens[-1].kind == "function" and token.kind != "operator":
        token = Token("function" if token.kind == "function" else "fixed", tokens.pop().text + token.text)
    tokens.append(token)


def _attach_tag(tokens: list[Token], tag: str, is_noise: Callable[[str], bool]) -> None:
    if not has_word(tag) or not tokens or tokens[-1].kind in ("operator", "function"):
        return
    if tokens[-1].kind == "fixed":
        tokens[-1] = Token("fixed", tokens[-1].text + tag)
        return
    run: list[str] = []
    while tokens and tokens[-1].kind == "word":
        run.insert(0, tokens.pop().text)
    meant = next((at for at, word in enumerate(run) if not is_noise(word)), 0)
    tokens.append(Token("fixed", " ".join(run[meant:]) + tag))


def _group(pieces: deque[str], depth: int = 0) -> str:
    """The inside of a group as the user wrote it; takes its pieces up to the closing bracket, or the end."""
    inside, after_function = "", False
    while pieces and (piece := pieces.popleft()) != ")":
        if piece == "(" and depth < MAX_DEPTH:
            inner = _group(pieces, depth + 1)
            piece = f"({inner})" if inner else ""
        if not has_word(piece) or (piece[0] == "[" and not inside):
            continue
        glued = piece[0] == "[" or not inside or after_function
        inside += piece if glued else f" {piece}"
        after_function = _FUNCTION.fullmatch(piece) is not None
    return inside
