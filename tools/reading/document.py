"""A record's text, screened and parsed once: sentences with their roles, the drugs, conditions and classes named."""

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Any, TypeVar

from willowbark.tools.records.evidence import Evidence

from ..lexicon import find_drug_classes, find_drugs
from ..lexicon.codes import write_code_pattern
from ..lexicon.conditions import find_known_conditions
from .screening import is_prose, screen
from .text import (
    ZONES,
    SentenceRole,
    Token,
    find_heading_role,
    list_zone_features,
    plain,
    says,
    split_spans,
    split_tokens,
)

Result = TypeVar("Result")
MOST_CACHED = 4096
"""Size of the document cache: more than an exhaustive run reads, so that each text is parsed once a run."""
MOST_WITH_WORDS = 512
"""Documents, the latest used, that keep their words, in 24 MB; the others keep sentences and names, in 10 kB each."""
_PEOPLE = frozenset("patient patients people those woman women man men child children adults subjects".split())
_TREATED = frozenset("treatment therapy treat treating treated treats".split())
_SIGNS = ("harm", "induced", "causes", "less", "not")
_SKIPPED = frozenset("; : , ( ) = ±".split())
_COMPARED = "<>=≤≥"


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """The `order`th sentence of a document, with character offsets in its `whole` and the indices of its tokens."""

    document: "Document"
    order: int
    start: int
    end: int
    first: int
    last: int
    """Index after its last token."""
    headed: SentenceRole | None
    """Role given by the heading above; None if there is no such heading."""

    @property
    def quote(self) -> str:
        """The exact words; a title without the full stop added after it."""
        return self.document.title if self.headed == "title" else self.document.whole[self.start : self.end]

    @property
    def text(self) -> str:
        """The words with punctuation and white space normalised."""
        return self.document.lines[self.order]

    @property
    def zone(self) -> str:
        """The part of the record: T (title), A (aim), B (background), M (methods), R (results) or C (conclusion)."""
        return self.document.zones[self.order]

    @property
    def drugs(self) -> frozenset[str]:
        """Generic names of the drugs it mentions."""
        return frozenset(name for name, start, _ in self.document.drugs if self.start <= start < self.end)

    @property
    def conditions(self) -> list[tuple[str, int, int]]:
        """Conditions it names, with their offsets in the document."""
        return [condition for condition in self.document.conditions if self.start <= condition[1] < self.end]

    @property
    def signs(self) -> frozenset[str]:
        """Cues found in it: harm, induced, causes, less, not."""
        return self.document.once(_find_signs, self.text)

    def has_as_population(self, start: int, end: int) -> bool:
        """Whether a condition at some offsets is what people already had: "diabetes patient", "treated it"."""
        before = self.document.whole[self.start : start].lower().split()[-4:]
        after = self.document.whole[end : self.end].lower().split()[:1]
        has_it = before[-1:] == ["with"] and not _PEOPLE.isdisjoint(before)
        return has_it or after in (["patient"], ["patients"]) or not _TREATED.isdisjoint(before)


def _find_signs(sentence: str) -> frozenset[str]:
    return frozenset(name for name in _SIGNS if says(f"sign of {name}", sentence))


class Document:
    """A record, parsed and searched for names once, each step when first needed.

    Attributes:
        title: stripped of surrounding white space.
        text: the text after the title.
        whole: the title, a full stop, a space, the text; all offsets refer to it.
        offset: where the text begins in `whole`.
        types: publication types in lower case, without "journal article".
        codes: research codes in it, each with the drug that it stands for.
    """

    def __init__(self, title: str, text: str, types: Sequence[str] = (), codes: Sequence[tuple[str, str]] = ()) -> None:
        self.title = title.strip()
        self.text = text
        head = f"{self.title}{'' if self.title[-1:] in '.?!' else '.'} " if self.title else ""
        self.whole = head + text
        self.offset = len(head)
        self.types = tuple(kind.lower() for kind in types if kind.lower() != "journal article")
        self.codes = codes
        self._head = head
        self._plain = plain(self.whole)
        self._made: dict[tuple[object, ...], Any] = {}

    @classmethod
    def of(cls, record: Evidence) -> "Document":
        """Return the screened document of a record, cached by its text."""
        title = record.citation.title
        content = record.content
        if is_prose(record):
            title, content = screen(title, content)
        types = record.paper.publication_types if record.paper else ()
        codes = tuple(sorted(record.paper.drug_codes.items())) if record.paper else ()
        return cls.cut(title, content.removeprefix(title).lstrip(" .\n"), tuple(map(str, types or ())), codes)

    @staticmethod
    def cut(title: str, text: str, types: tuple[str, ...] = (), codes: tuple[tuple[str, str], ...] = ()) -> "Document":
        """Return the document of a title and a text that need no screening, cached."""
        document = _parse_once(title, text, types, codes)
        with _lock:
            _with_words[id(document)] = document
            _with_words.move_to_end(id(document))
            least_used = _with_words.popitem(last=False)[1] if len(_with_words) > MOST_WITH_WORDS else None
        if least_used is not None:
            least_used.drop_words()
        return document

    def drop_words(self) -> None:
        """Free what takes most memory; it is made again when it is needed."""
        for name in _WORDS:
            self.__dict__.pop(name, None)

    def once(self, make: Callable[..., Result], *of: object) -> Result:
        """Cache the result of a pure function that never returns None, by its hashable arguments."""
        result: Result | None = self._made.get((make, *of))
        if result is None:
            result = self._made[make, *of] = make(*of)
        return result

    @cached_property
    def tokens(self) -> list[Token]:
        """All tokens in order."""
        return split_tokens(self._plain)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The sentences in order, starting with the title if there is one."""
        spans = [(0, len(self._head.rstrip()))] if self._head else []
        spans += split_spans(self._plain, self.offset)
        sentences: list[Sentence] = []
        at = 0
        headed = None
        begins = [token.start for token in self.tokens]
        for order, (start, end) in enumerate(spans):
            first = at
            at = bisect_left(begins, end, at)
            if start >= self.offset:
                headed = find_heading_role(self._plain, start) or headed
            sentences.append(Sentence(self, order, start, end, first, at, headed if start >= self.offset else "title"))
        return sentences

    @cached_property
    def lines(self) -> list[str]:
        """The sentences with punctuation and white space normalised."""
        lines = [" ".join(self._plain[sentence.start : sentence.end].split()) for sentence in self.sentences]
        return [" ".join(plain(self.title).split()), *lines[1:]] if self.title else lines

    @property
    def body(self) -> list[str]:
        """The lines below the title."""
        return self.lines[1:] if self.title else self.lines

    @cached_property
    def zones(self) -> list[str]:
        """Zone letter of each sentence: T, A, B, M, R or C. Without a heading, a learned head predicts it."""
        from ..lexicon.heads import load_heads  # noqa: PLC0415  # keeps weights and numpy out of start-up

        head = load_heads()["zone"]
        headings = {sentence.headed for sentence in self.sentences} - {None, "title"}
        trusted = {"title", *headings} if len(headings) >= 3 else {"title"}  # fewer do not make a structured abstract
        zones = [
            ZONES[sentence.headed] if sentence.headed and sentence.headed in trusted else ""
            for sentence in self.sentences
        ]
        for order, sentence in enumerate(self.sentences):
            if not zones[order]:
                words = [word for word in self.words[sentence.first : sentence.last] if word]
                zones[order] = head.choose_class(list_zone_features(words, order, len(zones)))
        return zones

    @cached_property
    def names_primary_outcome(self) -> bool:
        """Whether it writes of a primary outcome, under any of its names."""
        return says("primary outcome", self.whole) is not None

    @cached_property
    def drugs(self) -> list[tuple[str, int, int]]:
        """Drugs mentioned, by name or by a research code: generic name, start and end character offset."""
        by_name = [(drug.name, drug.start, drug.end) for drug in find_drugs(self.whole)]
        by_code: list[tuple[str, int, int]] = []
        for code, drug in self.codes:
            by_code += [(drug, *match.span()) for match in write_code_pattern(code).finditer(self.whole)]
        if not by_code:
            return by_name
        starts = {start for _, start, _ in by_name}
        return sorted([*by_name, *(mention for mention in by_code if mention[1] not in starts)], key=itemgetter(1))

    @cached_property
    def conditions(self) -> list[tuple[str, int, int]]:
        """Known conditions mentioned, with their character offsets."""
        return [condition[:3] for condition in find_known_conditions(self.whole)]

    @cached_property
    def classes(self) -> list[tuple[str, int, int]]:
        """Drug classes mentioned, with their character offsets."""
        return [(class_.name, class_.start, class_.end) for class_ in find_drug_classes(self.whole)]

    @cached_property
    def words(self) -> list[str]:
        """The tokens as used in features: numbers as `0`, p values as `P<` or `P>`, punctuation as empty words."""
        texts = [token.text for token in self.tokens]
        words = list[str]()
        for at, word in enumerate(texts):
            if word in _SKIPPED or (word == "p" and texts[at + 1 : at + 2] and texts[at + 1] in _COMPARED):
                words.append("")
            elif not word[0].isdecimal():
                words.append(word)
            elif (
                at > 1 and texts[at - 2] == "p" and texts[at - 1] in _COMPARED and word.count(",") + word.count(".") < 2
            ):
                words.append("P>" if texts[at - 1] in ">≥" or float(word.replace(",", ".")) > 0.05 else "P<")
            else:
                words.append("00" if len(word) == 4 and word[:2] in ("19", "20") and "." not in word else "0")
        return words

    @cached_property
    def pieces(self) -> list[tuple[str, int, int]]:
        """The words with their offsets, split at hyphens so that `-induced` is apart from the drug."""
        pieces: list[tuple[str, int, int]] = []
        for word, token in zip(self.words, self.tokens, strict=True):
            first, *rest = word.split("-")
            at = token.start
            pieces.append((first, at, at + len(first) if rest else token.end))
            for part in rest:
                at = pieces[-1][2] + 1
                pieces.append((part, at, at + len(part)))
        return pieces

    @cached_property
    def begins(self) -> list[int]:
        """The start offset of each piece."""
        return [start for _, start, _ in self.pieces]

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Piece range of each sentence: first index, index after the last."""
        ends = [bisect_left(self.begins, sentence.end) for sentence in self.sentences]
        return list(pairwise([0, *ends]))


_WORDS = ("tokens", "words", "pieces", "begins")
_with_words: OrderedDict[int, Document] = OrderedDict()
"""Documents of the cache that keep their words, the latest used last."""
_lock = threading.Lock()


@lru_cache(maxsize=MOST_CACHED)
def _parse_once(title: str, text: str, types: tuple[str, ...], codes: tuple[tuple[str, str], ...]) -> Document:
    return Document(title, text, types, codes)
