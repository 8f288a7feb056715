"""Finding records by a query: over stemmed words, ranked by BM25, ties by id.

Words are indexed as they stand, and stemmed when a query asks for a stem that they could have: few of them ever are.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from willowbark.tools.lexicon.stemming import content_words, stem

from .syntax import Node, Term, terms

_K1, _B = 1.2, 0.75  # as in tools.ranking
_TITLE_WEIGHT = 2  # a word of the title counts as often
_MANY = 1000  # documents, of which an index takes half a second
_EVERYTHING = frozenset({"*", "*:*", "all[sb]"})


def beginnings(stem: str) -> tuple[str, ...]:
    """How a word begins that has a stem: as the stem does, or as dying, whose stem is die."""
    return (stem[:2], f"{stem[0]}y") if stem[1:] == "ie" else (stem[:2],)


def words(text: str) -> list[str]:
    """The stems of a text as they are matched: without accents and hyphens; PHASE2_3 is one word."""
    return list(map(stem, _written(text)))


def _written(text: str) -> list[str]:
    """The words themselves."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return content_words(text.replace("-", " ").replace("_", ""))


def likeness(wanted: set[str], *names: str) -> float:
    """How much of the best of the names the wanted words are: 1 for all of it, 0 where each lacks one of them."""
    held = (set(words(name)) for name in names)
    return max((len(wanted) / len(each) for each in held if wanted and wanted <= each), default=0.0)


@dataclass(frozen=True, slots=True)
class Document:
    """What can be searched of a record."""

    id: str
    fields: Mapping[str, str]
    """Texts by field; one in `dates` is a date instead."""
    dates: Mapping[str, str] = field(default_factory=dict)
    """ISO dates of any precision, by field."""


class _Held:
    """What documents hold, by field and word.

    Attributes:
        documents: their ids, in order.
        places: by field and word, the ids.
        texts: by field and id, the words.
        begun: words by their first two letters.
        lengths: words of the default fields, by id.
        days: by field and id, the first day that a date can mean.
    """

    def __init__(self, documents: Iterable[Document], default: Sequence[str]) -> None:
        self.documents: list[str] = []
        self.places: dict[str, dict[str, list[str]]] = {}
        self.texts: dict[str, dict[str, list[str]]] = {}
        self.begun: dict[str, set[str]] = {}
        self.lengths: dict[str, int] = {}
        self.days: dict[str, dict[str, str]] = {}
        for document in sorted(documents, key=lambda each: each.id):
            self._add(document, default)
        for word in set().union(*self.places.values()):
            self.begun.setdefault(word[:2], set()).add(word)
        self.mean_length = sum(self.lengths.values()) / max(1, len(self.lengths)) or 1.0

    def _add(self, document: Document, default: Sequence[str]) -> None:
        length = 0
        self.documents.append(document.id)
        for name, date in document.dates.items():
            self.days.setdefault(name, {})[document.id] = _day(date, "-01-01")
        for name, text in document.fields.items():
            found = _written(text)
            self.texts.setdefault(name, {})[document.id] = found
            places = self.places.setdefault(name, {})
            for word in set(found):
                places.setdefault(word, []).append(document.id)
            length += len(found) * _weight(name) if name in default else 0
        self.lengths[document.id] = length


class Index:
    """Finds documents; few are indexed when they are first searched, many at once.

    Args:
        documents: each with an id of its own; by id they tie.
        default: fields that a term without a field searches.
        aliases: further names of fields, lower case, each for one or more fields; an unknown name searches the default.
    """

    def __init__(
        self, documents: Iterable[Document], *, default: Sequence[str], aliases: Mapping[str, Sequence[str]]
    ) -> None:
        self._documents = list(documents)
        self._default = tuple(default)
        self._aliases = aliases
        self._forms: dict[str, list[str]] = {}  # stem -> words, of the stems that were asked for
        self._stemmed: dict[tuple[str, str], str] = {}  # field, id -> stems with blanks around each, where asked for
        self._found: dict[Term, set[str] | None] = {}  # pages of one query, and rounds of one run, ask the same terms
        self._counted: dict[str, Counter[str]] = {}
        if len(self._documents) > _MANY:
            self._held  # noqa: B018  made now: a source is not waited for as long as this takes

    @cached_property
    def _held(self) -> _Held:
        return _Held(self._documents, self._default)

    def knows_field(self, name: str) -> bool:
        """Whether a field of that name, lower case, can be searched."""
        return name in self._aliases or name in self._held.places or name in self._held.days

    def search(self, node: Node | None) -> list[str]:
        """The ids of the documents that a query matches, best first; ties by id."""
        found = self._matched(node) if node is not None else None
        if not found:
            return []
        scores = self._scores(node, found)
        return sorted(found, key=lambda each: (-scores[each], each))

    def missing(self, node: Node | None) -> list[Term]:
        """The terms of a query that no document holds."""
        return [term for term in terms(node) if self._term(term) == set()]

    def _matched(self, node: Node) -> set[str] | None:
        """Ids of matching documents; None for a part that says nothing, as stop words do."""
        if isinstance(node, Term):
            return self._term(node)
        left = self._matched(node.left) if node.left is not None else set(self._held.documents)
        right = self._matched(node.right)
        if left is None or right is None:
            return left if right is None else set(self._held.documents) - right if node.operator == "NOT" else right
        if node.operator == "AND":
            return left & right
        return left | right if node.operator == "OR" else left - right

    def _term(self, term: Term) -> set[str] | None:
        """What holds a term; not to be changed."""
        if term not in self._found:
            self._found[term] = self._looked_up(term)
        return self._found[term]

    def _looked_up(self, term: Term) -> set[str] | None:
        if term.text in _EVERYTHING or (term.text.upper() == "ALL" and term.field is None):
            return set(self._held.documents)
        names = self._aliases.get(term.field, (term.field,)) if term.field is not None else self._default
        if term.low is not None and term.high is not None:
            return self._within(names, term.low, term.high)
        if any(name in self._held.days for name in names):
            return self._within(names, term.text, term.text)
        if not any(name in self._held.places for name in names):
            names = self._default
        if term.text.endswith("*"):
            return set().union(*(self._starting(name, term.text[:-1]) for name in names))
        wanted = words(term.text)
        if not wanted:
            return None
        return set().union(*(self._holding(name, wanted, term.phrase or len(wanted) > 1) for name in names))

    def _holding(self, name: str, wanted: list[str], phrase: bool) -> set[str]:
        places = self._held.places.get(name, {})
        found = set.intersection(*(_united(places, self._words_of(stem)) for stem in wanted))
        if phrase and len(wanted) > 1:
            run = f" {' '.join(wanted)} "
            found = {each for each in found if run in self._stems_of(name, each)}
        return found

    def _counts(self, wanted: str) -> Counter[str]:
        """How often a stem stands in each document that holds it; not to be changed."""
        if wanted in self._counted:
            return self._counted[wanted]
        found = self._counted[wanted] = Counter()
        for name in self._default:
            places, texts = self._held.places.get(name, {}), self._held.texts.get(name, {})
            for word in self._words_of(wanted):
                for each in places.get(word, ()):
                    found[each] += texts[each].count(word) * _weight(name)
        return found

    def _words_of(self, wanted: str) -> list[str]:
        """The words that have a stem."""
        if wanted not in self._forms:
            self._forms[wanted] = [word for word in self._beginning(beginnings(wanted)) if stem(word) == wanted]
        return self._forms[wanted]

    def _beginning(self, starts: tuple[str, ...]) -> Iterator[str]:
        """The words that begin with one or two letters."""
        return (word for start, begun in self._held.begun.items() if start.startswith(starts) for word in begun)

    def _stems_of(self, name: str, document: str) -> str:
        """A field's stems with blanks around each."""
        if (name, document) not in self._stemmed:
            self._stemmed[name, document] = f" {' '.join(map(stem, self._held.texts[name][document]))} "
        return self._stemmed[name, document]

    def _starting(self, name: str, start: str) -> set[str]:
        *before, last = words(start) or [start.lower()]
        sought = (last, start.lower())
        begun = self._beginning(tuple(letters for each in sought for letters in beginnings(each)))
        found = _united(self._held.places.get(name, {}), (word for word in begun if stem(word).startswith(sought)))
        run = f" {' '.join([*before, last])}"
        return {each for each in found if run in self._stems_of(name, each)} if before else found

    def _within(self, names: Sequence[str], low: str, high: str) -> set[str]:
        first, last = _day(low, "-01-01"), _day(high, "-12-31")
        days = (item for name in names for item in self._held.days.get(name, {}).items())
        return {each for each, day in days if first <= day <= last}

    def _scores(self, node: Node | None, found: set[str]) -> dict[str, float]:
        """BM25, in which the words of a phrase count where the phrase stands."""
        holders: dict[str, set[str]] = {}
        for term in terms(node):
            held = found & (self._term(term) or set())
            for each in words(term.text):
                holders.setdefault(each, set()).update(held)
        scores = dict.fromkeys(found, 0.0)
        for wanted, held in holders.items():
            counts = self._counts(wanted)
            weight = math.log(1 + (len(self._held.documents) - len(counts) + 0.5) / (len(counts) + 0.5))
            for each in held & counts.keys():
                length = 1 - _B + _B * self._held.lengths[each] / self._held.mean_length
                scores[each] += weight * counts[each] / (counts[each] + _K1 * length)
        return scores


def _weight(name: str) -> int:
    return _TITLE_WEIGHT if name == "title" else 1


def _united(places: Mapping[str, Sequence[str]], among: Iterable[str]) -> set[str]:
    """The documents that hold one of the words."""
    return set().union(*(places[word] for word in among if word in places))


def _day(text: str, rest: str) -> str:
    """A day to compare dates by: `rest` fills up what a date leaves open; MIN and MAX are beyond all dates."""
    text = text.strip().strip('"').replace("/", "-")
    if text.upper() in ("MIN", "", "*") and rest == "-01-01":
        return "0000"
    if text.upper() in ("MAX", "", "*"):
        return "9999"
    parts = text.split("-")
    return "-".join(part.zfill(2) for part in parts) + rest[3 * (len(parts) - 1) :]
