"""Longest-match search for known phrases, blind to case, hyphens and Greek letters, exact about positions."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")

_WORD = re.compile(r"[^\W_]+")
_GREEK = str.maketrans(
    dict(zip("αβγδεκλω", ("alpha", "beta", "gamma", "delta", "epsilon", "kappa", "lambda", "omega"), strict=True))
)

# Words of one name may be parted by a space or a hyphen, by a comma only without a space ("2,3-dimethyl"): across
# ", " or ". " stand two names, but for an initial ("H. pylori").
_WITHIN_A_NAME = re.compile(r"\s{1,3}|(?<=\b[A-Za-z])\.\s|\s?[-\u2010-\u2015\u2212/+]\s?|['\u2019.,()]")

_ABBREVIATION = re.compile(r"\s?[(\[]([A-Z][A-Za-z]?[A-Z0-9-]{0,5}[A-Z0-9])s?[)\]]")
_OPENING, _CLOSING = ("(", "["), (")", "]")


class Token(NamedTuple):
    """A word of a text: its normalised form and where it stands."""

    key: str
    start: int
    end: int


class Match(NamedTuple, Generic[Value]):
    """A known phrase in a text: `start` and `end` are character offsets, `end` exclusive."""

    value: Value
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """The words of a text in order.

    >>> [token.key for token in tokens("β-Blockers")]
    ['beta', 'blockers']
    """
    words = _words_of(text)
    return [Token(key, start, end) for key, (start, end) in zip(words.keys, words.spans, strict=True)]


class _Words(NamedTuple):
    """The words of a text: their keys, and where they stand."""

    keys: Sequence[str]
    spans: Sequence[tuple[int, int]]


@lru_cache(maxsize=8)  # drugs, conditions and classes are looked for in the same text, one after the other
def _words_of(text: str) -> _Words:
    spans = [found.span() for found in _WORD.finditer(text)]
    if text.isascii():
        lowered = text.lower()
        return _Words([lowered[start:end] for start, end in spans], spans)
    return _Words([_plain(text[start:end]) for start, end in spans], spans)


def phrase_key(phrase: str) -> str:
    """The form under which spellings of one phrase coincide.

    >>> phrase_key("Isosorbide-5-Mononitrate") == phrase_key("isosorbide 5 mononitrate")
    True
    """
    if phrase.isascii():
        return " ".join(_WORD.findall(phrase.lower()))
    return " ".join(_plain(word) for word in _WORD.findall(phrase))


def _plain(word: str) -> str:
    lowered = word.lower()
    return lowered if lowered.isascii() else lowered.translate(_GREEK)


class PhraseIndex(Generic[Value]):
    """Phrases to look for, each with the value that a match stands for."""

    def __init__(self, phrases: Mapping[str, Value]) -> None:
        """Index phrases that are already in the form of `phrase_key`."""
        self._phrases = phrases
        self._longest: dict[str, int] = {}
        longest = self._longest
        for phrase in phrases:
            first, size = phrase.partition(" ")[0], phrase.count(" ") + 1
            if longest.get(first, 0) < size:
                longest[first] = size

    def get(self, phrase: str) -> Value | None:
        """The value of a whole phrase in any spelling, or None when it is not known."""
        return self._phrases.get(phrase_key(phrase))

    def find(self, text: str) -> Iterator[Match[Value]]:
        """The known phrases of a text, left to right, the longest first, never overlapping."""
        words, longest = _words_of(text), self._longest
        free = 0
        for at in [at for at, key in enumerate(words.keys) if key in longest]:
            if at >= free and (size := self._longest_match(text, words, at)):
                free = at + size
                value = self._phrases[" ".join(words.keys[at:free])]
                yield Match(value, words.spans[at][0], words.spans[free - 1][1])

    def _longest_match(self, text: str, words: _Words, at: int) -> int:
        """The number of words of the longest phrase that begins at a word: 0 when none does."""
        keys, spans, phrases = words.keys, words.spans, self._phrases
        key = keys[at]
        best = 1 if key in phrases else 0
        for size in range(2, min(self._longest[key], len(keys) - at) + 1):
            last = at + size - 1
            if not _WITHIN_A_NAME.fullmatch(text, spans[last - 1][1], spans[last][0]):
                break
            key = f"{key} {keys[last]}"
            if key in phrases:
                best = size
        return best


def abbreviated(text: str, matches: list[Match[Value]]) -> list[Match[Value]]:
    """Where a text uses the abbreviations that it defines beside the given matches.

    >>> known = PhraseIndex({"isosorbide mononitrate": 1})
    >>> text = "Isosorbide mononitrate (ISMN); ISMN alone"
    >>> [text[found.start : found.end] for found in abbreviated(text, list(known.find(text)))]
    ['ISMN', 'ISMN']
    """
    meanings: dict[str, Value] = {}
    for match in matches:
        after = _ABBREVIATION.match(text, match.end)
        before = text[max(0, match.start - 12) : match.start]
        short = after[1] if after else _before_it(before) if text[match.end : match.end + 1] in _CLOSING else ""
        if short and short[0].casefold() == text[match.start].casefold():
            meanings.setdefault(short, match.value)
    if not meanings:
        return []
    uses = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, meanings)) + r")(?!\w)")
    return [Match(meanings[use.group()], use.start(), use.end()) for use in uses.finditer(text)]


def _before_it(text: str) -> str:
    """The abbreviation that a text ends with before an opening bracket: "ETN (etanercept)"; empty for none."""
    words = text[:-1].split() if text[-1:] in _OPENING else []
    return words[-1] if words and words[-1].isupper() and words[-1].isalnum() and len(words[-1]) > 1 else ""


def long_forms(text: str) -> dict[str, str]:
    """What a text writes out before the abbreviations it puts in brackets.

    The shortest words before the bracket that hold the letters in their order, the first one as an initial
    (Schwartz and Hearst, https://pubmed.ncbi.nlm.nih.gov/12603049/); an abbreviation without such words is not defined.

    >>> long_forms("Time to progression (TTP) was 5 months; GERD (n = 3).")
    {'TTP': 'Time to progression'}
    """
    found: dict[str, str] = {}
    for bracket in _ABBREVIATION.finditer(text):
        short, before = bracket[1], text[max(0, bracket.start() - 80) : bracket.start()]
        at = len(before)
        for place, letter in reversed(list(enumerate(short.casefold()))):
            if not letter.isalnum():
                continue
            at = before.casefold().rfind(letter, 0, at)
            while place == 0 and at > 0 and before[at - 1].isalnum():
                at = before.casefold().rfind(letter, 0, at)
            if at < 0:
                break
        else:
            found.setdefault(short, before[at:])
    return found


def apart(preferred: list[Match[Value]], others: list[Match[Value]]) -> list[Match[Value]]:
    """The preferred matches with those of the others that overlap none of them, in the order of the text."""
    taken = {at for match in preferred for at in range(match.start, match.end)}
    free = [match for match in others if taken.isdisjoint(range(match.start, match.end))]
    return sorted([*preferred, *free], key=lambda match: match.start)


def read_table(name: str, package: str = __package__) -> list[dict[str, str]]:
    """The rows of a tab-separated table in a package, by default this one; lines that begin with # are its notes."""
    lines = files(package).joinpath(name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))


def split_names(cell: str) -> tuple[str, ...]:
    """The names in a table cell, which parts them by a bar."""
    return tuple(name for name in cell.split("|") if name)


_BETWEEN = r"[^\w.;!?]+"  # words of a cue: blanks, hyphens, commas, brackets, within a sentence
_PLACES = {"^": r"\A\W*", "#": rf"\d+{_BETWEEN}", "_": rf"(?:\w+{_BETWEEN}){{0,3}}?", "..": r"[^.;!?]*?(?<!\w)"}


def cues(cell: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """A pattern for the cues in a table cell, which parts them by a bar.

    The words of a cue stand one after the other. `a/b` is either word, and `a?` one that may be missing, which the last
    may not; `*` ends a beginning of words, and before an ending it stands for three letters or more. `_` is at most
    three words, `..` any number in the same sentence, `#` a number in digits, `^` the beginning of the text.

    >>> cues("no _ benefit/effect*|^ *itis").findall("Neuritis: no clear, lasting effects")
    ['Neuritis', 'no clear, lasting effects']
    """
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_cue, split_names(cell)))})(?!\w)", flags)


def _cue(cue: str) -> str:
    *words, last = cue.replace("-", " ").split()
    return "".join(_PLACES.get(word) or _word(word) for word in words) + _either(last)


def _word(word: str) -> str:
    told = f"{_either(word.rstrip('?'))}{_BETWEEN}"
    return f"(?:{told})?" if word.endswith("?") else told


def _either(word: str) -> str:
    """Any of the words; the letters before their endings are looked for once, since it is done at every word."""
    whole, ends = list[str](), list[str]()
    for each in word.split("/"):
        (ends if each.startswith("*") else whole).append(re.escape(each.strip("*")) + r"\w*" * each.endswith("*"))
    if ends:
        whole.append(rf"[^\W\d_]{{3,}}(?:{'|'.join(ends)})")
    return f"(?:{'|'.join(whole)})"


@cache
def cued(name: str, package: str) -> re.Pattern[str]:
    """The cues of one name in a package's `cues.tsv`.

    Raises:
        KeyError: the table has no such name.
    """
    return cues({row["name"]: row["cues"] for row in read_table("cues.tsv", package)}[name])
