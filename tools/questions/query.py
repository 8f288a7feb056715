"""Boolean queries: parse the user's query syntax, and expand words and names with synonyms.

PubMed https://pubmed.ncbi.nlm.nih.gov/help/#using-search-field-tags, ClinicalTrials.gov
https://clinicaltrials.gov/find-studies/constructing-complex-search-queries, Europe PMC https://europepmc.org/searchsyntax.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, NamedTuple

from ..lexicon import (
    canonical_class,
    canonical_condition,
    canonical_drug,
    common_drug_names,
    condition_synonyms,
    find_described_condition,
    list_class_synonyms,
)
from ..lexicon.conditions import find_known_conditions
from ..lexicon.matching import phrase_key
from ..records.enclosure import visible
from .kinds import get_question_words

LONGEST_NAME = 8  # words of a known name
MOST_SYNONYMS = 8  # per concept: PubMed and Europe PMC take queries by GET
MAX_DEPTH = 50  # of nested groups; deeper opening brackets are ignored
OPERATORS = frozenset(("AND", "OR", "NOT"))

PREVENTION_WORD = re.compile(r"prevent\w*|prophyla\w*", re.IGNORECASE)
_PREVENTION = ("prevent", "prevention", "prophylaxis", "prophylactic")
_SYNTAX = dict.fromkeys(map(ord, '()"[]'), " ")
_TYPOGRAPHY = str.maketrans(
    {**dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‘’‚‛", "'"), **dict.fromkeys("‐‑‒–—―−", "-")}
)
_FUNCTION = re.compile(r"(?:AREA|RANGE|EXPAND|SEARCH|COVER)\[[^\[\]]*\]|\b[A-Z][A-Z_]+:(?=\S)")
_FIELD = re.compile(r"[\w\"*)]\[[^\[\]]+\]|\b[A-Z][A-Z_]+:\S")
"""A field tag or search function of a source: `migraine[tiab]`, `AREA[Condition]migraine`, `TITLE:migraine`."""
_PIECE = re.compile(r'"[^"]*"|[()]|[^\s()"]+')
_BRACKETED = re.compile(r"\[[^\[\]]*\]")
_TAGS = re.compile(rf"{_BRACKETED.pattern}|\b[A-Z_]{{2,}}:|\*")
_LOWER_OPERATOR = re.compile(
    r'"[^"]*"|\[[^\[\]]*\]'
    r"|(?P<auxiliary>\b(?:do|does|did|is|are|was|were|has|have|had|can|could|may|might|should|will|would)\s+)?"
    r'(?<=[\s)"\]])(?P<operator>and|or|not)(?P<adverb>\s+(?:otherwise|only|yet|due)\b)?(?=\s+[^\s)])'
)
_EDGES = re.compile(r"^[^\w$*]+|[^\w%*+]+$")


class QueryToken(NamedTuple):
    """A word, an operator, or a quote or group to keep unchanged."""

    kind: Literal["word", "operator", "fixed"]
    text: str


@dataclass(slots=True)
class QueryUnit:
    """A piece of a query between operators: a known concept, a word, or syntax to keep unchanged."""

    words: list[str]
    """The user's own words, without query syntax; names in one piece."""
    spellings: Sequence[str]
    """Search terms, the user's own words first; just one if kept unchanged."""
    concept: str = ""
    """The concept that the words name; empty if unknown."""
    operator: str = ""
    """Operator before it: AND, OR, NOT, or "or" in lower case within a sentence; empty if there is none."""


def normalise_text(text: str) -> str:
    """Normalise quotes, dashes and white space; remove invisible characters."""
    seen = unicodedata.normalize("NFKC", visible(text)).translate(_TYPOGRAPHY)
    return " ".join(unicodedata.normalize("NFKC", visible(seen)).split())


def strip_syntax(text: str) -> list[str]:
    """List the words of a query without its syntax."""
    plain = _BRACKETED.sub(" ", _FUNCTION.sub(" ", text))
    words = (_EDGES.sub("", piece) for piece in plain.translate(_SYNTAX).split())
    return [word for word in words if _has_word(word) and word not in OPERATORS]


def remove_tags(query: str) -> str:
    """Remove other sources' field tags and stars from a boolean query."""
    return " ".join(_TAGS.sub("", query).split())


def raise_operators(query: str) -> str:
    """Write and, or, not between words in capitals, as operators are: sources take them for words to look for.

    Quoted phrases and tags stay, and so does a "not" that belongs to a sentence ("did not respond").

    >>> raise_operators('migraine or "trial and error" and not topiramate')
    'migraine OR "trial and error" AND NOT topiramate'
    >>> raise_operators("patients who do not respond"), raise_operators("diabetes not otherwise specified")
    ('patients who do not respond', 'diabetes not otherwise specified')
    """

    def raise_case(piece: re.Match[str]) -> str:
        word = piece["operator"]
        if word is None or (word == "not" and (piece["auxiliary"] or piece["adverb"])):
            return piece[0]
        return f"{piece['auxiliary'] or ''}{word.upper()}{piece['adverb'] or ''}"

    return _LOWER_OPERATOR.sub(raise_case, query)


def remove_syntax(name: str, also: str = "") -> str:
    """Remove characters a source could take for syntax; keep letters, digits, underscores, blanks and those in `also`.

    >>> remove_syntax("5-HT1B (human)", "-")
    '5-HT1B human'
    """
    allowed = {"_", *also}
    letters = [letter if letter.isalnum() or letter in allowed else " " for letter in name]
    return " ".join("".join(letters).split())


def is_noise(word: str) -> bool:
    return word.lower() in get_question_words("noise") and word not in get_question_words("names that are words")


def drop_repeats(words: Iterable[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(phrase_key(word) or word, word)
    return tuple(first.values())


def write_boolean(text: str) -> str:
    """Convert a normalised text to a boolean query: remove noise, add synonyms, keep query syntax.

    A query with a source's field tags stays as it is.

    >>> write_boolean("drugs for gout OR (psoriasis AND plaque)"), write_boolean("gout[ti] OR psoriasis")
    ('(gout OR "gouty arthritis") OR (psoriasis AND plaque)', 'gout[ti] OR psoriasis')
    """
    return write_query(parse_units(text)) or " ".join(strip_syntax(text))


def write_query(units: Iterable[QueryUnit]) -> str:
    parts: list[str] = []
    for unit in units:
        if parts or unit.operator == "NOT":
            parts.append(unit.operator or "AND")
        parts.append(f"({' OR '.join(unit.spellings)})" if unit.spellings[1:] else unit.spellings[0])
    return " ".join(parts)


def parse_units(text: str) -> list[QueryUnit]:
    """Parse a normalised text into units, joining names of the same concept.

    Of several operators in a row, NOT counts, else the last. A query with field tags is one unit.
    """
    if _FIELD.search(text):
        return [QueryUnit(strip_syntax(text), [text])]
    units: list[QueryUnit] = []
    by_concept: dict[str, QueryUnit] = {}
    tokens = _split_tokens(text)
    at = 0
    operator = ""
    while at < len(tokens):
        token = tokens[at]
        unit = None
        if token.kind == "operator":
            operator = "NOT" if "NOT" in (operator, token.text) else token.text
            at += 1
        elif token.kind == "fixed":
            unit = QueryUnit([" ".join(strip_syntax(token.text))], [token.text])
            at += 1
        else:
            following = takewhile(lambda token: token.kind == "word", tokens[at : at + LONGEST_NAME])
            words = [token.text for token in following]
            unit, size = _take_unit(words)
            at += size
            if unit is None and words[0] == "or" and not operator:
                operator = "or"
        if unit is None:
            continue
        same = by_concept.get(unit.concept)
        if operator in ("", "or") and same:
            same.words += unit.words
            same.spellings = drop_repeats([same.spellings[0], unit.spellings[0], *same.spellings[1:]])
        elif operator == "or" and units:
            last = units[-1]
            last.words += unit.words
            last.spellings = drop_repeats([*last.spellings, *unit.spellings])
            if by_concept.get(last.concept) is last:
                del by_concept[last.concept]
            last.concept = ""
        else:
            unit.operator = operator.upper() if units or operator == "NOT" else ""
            units.append(unit)
            if unit.concept:
                by_concept.setdefault(unit.concept, unit)
        operator = ""
    return units


def _take_unit(words: list[str]) -> tuple[QueryUnit | None, int]:
    """Build a unit from the first words (None for noise), and return how many words it takes."""
    for size in range(len(words), 1, -1):
        phrase = " ".join(words[:size])
        unit = _make_concept_unit(phrase)
        if unit:
            return unit, size
        if phrase.lower() in get_question_words("bound"):
            return QueryUnit([phrase], [_quote_term(phrase)]), size
    word = words[0]
    if is_noise(word):
        return None, 1
    if len(words) > 1 and tells_kinds_apart(words[1]):
        pair = f"{word} {words[1]}"
        return QueryUnit([pair], [_quote_term(pair)]), 2
    return _make_concept_unit(word) or QueryUnit([word], [_quote_term(word)]), 1


def _make_concept_unit(phrase: str) -> QueryUnit | None:
    """Build the unit of a phrase that names a concept; None if it names none."""
    concept = _find_concept(phrase)
    if concept is None:
        return None
    key, synonyms = concept
    return QueryUnit([phrase], _list_spellings(phrase, synonyms), key)


def tells_kinds_apart(word: str) -> bool:
    """Whether a word is a letter or number in a name: "hepatitis A", "type 2"; I is usually the pronoun."""
    if len(word) == 1 and word.isascii() and word.isupper():
        return word != "I"
    return len(word) <= 3 and (word.isdecimal() or (len(word) > 1 and set(word) <= set("IVX")))


def _find_concept(words: str) -> tuple[str, tuple[str, ...]] | None:
    """Find the concept that words name, with synonyms: a class, else a condition, else a drug."""
    if PREVENTION_WORD.fullmatch(words):
        return "prevention", _PREVENTION
    drug_class = canonical_class(words)
    if drug_class:
        return f"class {drug_class}", list_class_synonyms(drug_class)
    condition = canonical_condition(words)
    if condition:
        return f"condition {condition}", condition_synonyms(condition)
    drug = canonical_drug(words)
    if drug:
        return f"drug {drug}", common_drug_names(drug)
    described = find_described_condition(words)
    if described and all(mention.name == described for mention in find_known_conditions(words)):
        return f"condition {described}", condition_synonyms(described)
    return None


def _list_spellings(words: str, synonyms: tuple[str, ...]) -> list[str]:
    """List the words with the synonyms to search for, in order.

    If there are too many, those that contain another ("migraine attacks") are dropped first, since it finds them too.
    Two-capital abbreviations are left out as ambiguous.
    """
    others = [synonym for synonym in synonyms if phrase_key(synonym) != phrase_key(words)]
    shortest = [f" {phrase_key(words)} "]
    longer = []
    for other in others:
        key = f" {phrase_key(other)} "
        if any(name in key for name in shortest):
            longer.append(other)
        else:
            shortest.append(key)
    most = [*(other for other in others if other not in longer), *longer][:MOST_SYNONYMS]
    searched = [other for other in others if other in most and not (len(other) == 2 and other.isupper())]
    return [_quote_term(name) for name in (words, *searched)]


def _quote_term(words: str) -> str:
    return words if all(word.isalnum() or word in "_*$+%-" for word in words) else f'"{words}"'


def _has_word(piece: str) -> bool:
    return any(map(str.isalnum, piece))


def _split_tokens(text: str) -> list[QueryToken]:
    """Tokenise a normalised query; groups and quotes become single tokens.

    Words in brackets without syntax are an aside ("(chronic)"), not a group; in capitals they are another name for the
    words before ("(BAY 94-8862)").
    """
    tokens: list[QueryToken] = []
    pieces = deque(_PIECE.findall(text))
    while pieces:
        piece = pieces.popleft()
        if piece == "(":
            inner = _read_group(pieces)
            inner_words = [_EDGES.sub("", word) for word in inner.split()]
            if _SYNTAX.keys().isdisjoint(map(ord, inner)) and OPERATORS.isdisjoint(inner_words):
                words = [QueryToken("word", word) for word in strip_syntax(inner)]
                tokens += words if inner.upper() != inner else [QueryToken("word", "or"), *words]
            elif inner:
                tokens.append(QueryToken("fixed", f"({inner})"))
        elif piece[0] == '"' and _has_word(piece):
            tokens.append(QueryToken("fixed", f'"{piece[1:-1].strip()}"'))
        else:
            word = _EDGES.sub("", piece)
            kind: Literal["operator", "word"] = "operator" if word in OPERATORS else "word"
            tokens += [QueryToken(kind, word)] if _has_word(word) else []
    return tokens


def _read_group(pieces: deque[str], depth: int = 0) -> str:
    """Consume a group's pieces up to its closing bracket or the end; return its content as the user wrote it."""
    inside: list[str] = []
    while pieces:
        piece = pieces.popleft()
        if piece == ")":
            break
        if piece == "(" and depth < MAX_DEPTH:
            inner = _read_group(pieces, depth + 1)
            piece = f"({inner})" if inner else ""
        if _has_word(piece):
            inside.append(piece)
    return " ".join(inside)
