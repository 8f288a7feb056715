"""Longest-match search for known phrases with exact positions; stems; tables of names, and patterns written as cues."""

import csv
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import Stemmer

_WORD = re.compile(r"[^\W_]+")  # in any script; "post-COVID-19" is three words, or a search for COVID would miss it
_GREEK = str.maketrans(
    dict(zip("αβγδεκλω", ("alpha", "beta", "gamma", "delta", "epsilon", "kappa", "lambda", "omega"), strict=True))
)

# Words of one name may be separated by a space or a hyphen, by a comma only without a space ("2,3-dimethyl"): ", " or
# ". " separate two names, except after an initial ("H. pylori").
_WITHIN_A_NAME = re.compile(r"\s{1,3}|(?<=\b[A-Za-z])\.\s|\s?[-\u2010-\u2015\u2212/+]\s?|['\u2019.,()]")

_ABBREVIATION = re.compile(r"\s?[(\[]([A-Z][A-Za-z]?[A-Z0-9-]{0,5}[A-Z0-9])s?[)\]]")


class LexiconToken(NamedTuple):
    key: str
    start: int
    end: int


class Mention(NamedTuple):
    """A name found in a text: its common name, character offsets (`end` exclusive), and the words of the text."""

    name: str
    start: int
    end: int
    text: str


def split_tokens(text: str) -> list[LexiconToken]:
    keys, spans = _split_words(text)
    return [LexiconToken(key, start, end) for key, (start, end) in zip(keys, spans, strict=True)]


@lru_cache(maxsize=8)  # drugs, conditions and classes are searched for in the same text in turn
def _split_words(text: str) -> tuple[Sequence[str], Sequence[tuple[int, int]]]:
    spans = [match.span() for match in _WORD.finditer(text)]
    if text.isascii():
        lowered = text.lower()
        return [lowered[start:end] for start, end in spans], spans
    return [_normalise(text[start:end]) for start, end in spans], spans


def phrase_key(phrase: str) -> str:
    """Return the normalised form of a phrase, without differences of case, hyphens and Greek letters."""
    if phrase.isascii():
        return " ".join(_WORD.findall(phrase.lower()))
    return " ".join(_normalise(word) for word in _WORD.findall(phrase))


def _normalise(word: str) -> str:
    lowered = word.lower()
    return lowered if lowered.isascii() else lowered.translate(_GREEK)


class PhraseIndex:
    """Searchable phrases, each with a common name."""

    def __init__(self, phrases: Mapping[str, str]) -> None:
        """Index phrases that are already in the form of `phrase_key`."""
        self._phrases = phrases
        self._longest: dict[str, int] = {}
        longest = self._longest
        for phrase in phrases:
            first = phrase.partition(" ")[0]
            size = phrase.count(" ") + 1
            if longest.get(first, 0) < size:
                longest[first] = size

    def get(self, phrase: str) -> str | None:
        """Return the common name of a whole phrase in any spelling; None if unknown."""
        return self._phrases.get(phrase_key(phrase))

    def find(self, text: str) -> Iterator[Mention]:
        """Yield the known phrases of a text, left to right, longest first, without overlaps."""
        keys, spans = _split_words(text)
        phrases = self._phrases
        longest = self._longest
        free = 0
        for at in [at for at, key in enumerate(keys) if key in longest]:
            if at < free:
                continue
            key = keys[at]
            best = 1 if key in phrases else 0
            for size in range(2, min(longest[key], len(keys) - at) + 1):
                last = at + size - 1
                if not _WITHIN_A_NAME.fullmatch(text, spans[last - 1][1], spans[last][0]):
                    break
                key = f"{key} {keys[last]}"
                if key in phrases:
                    best = size
            if best:
                free = at + best
                start = spans[at][0]
                end = spans[free - 1][1]
                yield Mention(phrases[" ".join(keys[at:free])], start, end, text[start:end])


def find_abbreviations(text: str, mentions: list[Mention]) -> list[Mention]:
    """Find uses of the abbreviations that a text defines beside the given mentions, before or after a bracket."""
    meanings: dict[str, str] = {}
    for name, start, end, _ in mentions:
        short = ""
        if after := _ABBREVIATION.match(text, end):
            short = after[1]
        elif text[end : end + 1] in (")", "]") and text[max(0, start - 1) : start] in ("(", "["):  # "ETN (etanercept)"
            before = text[max(0, start - 12) : start - 1].split()
            if before and before[-1].isupper() and before[-1].isalnum() and len(before[-1]) > 1:
                short = before[-1]
        if short and short[0].casefold() == text[start].casefold():
            meanings.setdefault(short, name)
    if not meanings:
        return []
    uses = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, meanings)) + r")(?!\w)")
    return [Mention(meanings[use.group()], *use.span(), use.group()) for use in uses.finditer(text)]


def merge_mentions(preferred: Sequence[Mention], others: Sequence[Mention]) -> list[Mention]:
    """Return the preferred mentions and those of the others that do not overlap them, in the order of the text."""
    occupied: set[int] = set()  # places of characters
    for mention in preferred:
        occupied.update(range(mention.start, mention.end))
    free = [mention for mention in others if occupied.isdisjoint(range(mention.start, mention.end))]
    return sorted([*preferred, *free], key=lambda mention: mention.start)


def read_table(name: str, package: str = __package__) -> list[dict[str, str]]:
    """Return the rows of a tab-separated table in a package, by default this one; # starts a comment line."""
    lines = files(package).joinpath(name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))


def split_names(cell: str) -> tuple[str, ...]:
    """Split a table cell into names at each bar."""
    return tuple(name for name in cell.split("|") if name)


_BETWEEN = r"[^\w.;!?]+"  # between the words of a cue: blanks, hyphens, commas, brackets, within a sentence
_PLACES = {"^": r"\A\W*", "#": rf"\d+{_BETWEEN}", "_": rf"(?:\w+{_BETWEEN}){{0,3}}?", "..": r"[^.;!?]*?(?<!\w)"}


def compile_cues(cell: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """Compile the cues in a table cell, separated by bars, into a pattern.

    The words of a cue follow one another. `a/b` is either word, and `a?` is optional, except as the last word; `*` ends
    a prefix, and before a suffix it means three letters or more. `_` is at most three words, `..` any number in the
    same sentence, `#` a number in digits, `^` the beginning of the text.

    >>> compile_cues("no _ benefit/effect*|^ *itis").findall("Neuritis: no clear, lasting effects")
    ['Neuritis', 'no clear, lasting effects']
    """
    return re.compile(cue_pattern(cell), flags)


def cue_pattern(cell: str) -> str:
    """Return the regular expression of the cues in a table cell, for use within another."""
    patterns = []
    for cue in split_names(cell):
        *words, last = cue.replace("-", " ").split()
        pattern = ""
        for word in words:
            optional = f"{_match_any(word.rstrip('?'))}{_BETWEEN}"
            pattern += _PLACES.get(word) or (f"(?:{optional})?" if word.endswith("?") else optional)
        patterns.append(pattern + _match_any(last))
    return rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)"


def _match_any(word: str) -> str:
    """Match any of the words; a shared prefix is factored out for speed, since this runs at every word."""
    whole = list[str]()
    ends = list[str]()
    for part in word.split("/"):
        pattern = re.escape(part.strip("*")) + (r"\w*" if part.endswith("*") else "")
        (ends if part.startswith("*") else whole).append(pattern)
    if ends:
        whole.append(rf"[^\W\d_]{{3,}}(?:{'|'.join(ends)})")
    return f"(?:{'|'.join(whole)})"


@cache
def cue_regex(name: str, package: str) -> re.Pattern[str]:
    """Return the pattern of the named cues in a package's `cues.tsv`."""
    return compile_cues(_read_cues(package)[name])


@cache
def cue_form(form: str, package: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Compile a regular expression that contains names of cues in braces: `{level} rose`."""
    return re.compile(re.sub(r"\{([a-z ]+)\}", lambda name: cue_regex(name[1], package).pattern, form), flags)


@cache
def cue_list(name: str, package: str) -> tuple[str, ...]:
    """Return the named cues one by one, as written in the table."""
    return split_names(_read_cues(package)[name])


@cache
def _read_cues(package: str) -> Mapping[str, str]:
    return {row["name"]: row["cues"] for row in read_table("cues.tsv", package)}


_STOP_WORDS = frozenset(
    "a an and are as at be by can could do does drug drugs existing for from have help how in is it might not of on or"
    " that the their these this to treat treatment was were what which who will with would".split()
)
_ENGLISH = Stemmer.Stemmer("english")
_INFLAMMATION = re.compile(r"([a-z]{2,}?)it(?:is|ides)")
_stemming = threading.Lock()  # a stemmer is not thread-safe, and records are read in threads


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word (https://snowballstem.org/algorithms/english/stemmer.html).

    An inflammation keeps its ending: the stemmer makes one word of it and of its organ, so that a trial in pancreatic
    cancer passed for one in pancreatitis.

    >>> stem("pancreatitis"), stem("pancreatic"), stem("attacks")
    ('pancreatiti', 'pancreat', 'attack')
    """
    inflammation = _INFLAMMATION.fullmatch(word)
    if inflammation is not None:
        return f"{inflammation[1]}iti"
    with _stemming:
        return str(_ENGLISH.stemWord(word))


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order, without accents: Sjögren and Sjogren are one word."""
    if not text.isascii():
        text = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return _WORD.findall(text.lower())


def content_words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order, without stop words."""
    return [word for word in words(text) if word not in _STOP_WORDS]


@lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """Return the stemmed content words of a text, in order.

    >>> stems("Which drugs prevent migraine attacks?")
    ('prevent', 'migrain', 'attack')
    """
    return tuple(map(stem, content_words(text)))


def select_stems(words: Iterable[str], selection: Set[str]) -> list[str]:
    """Return the stems of words that are in a selection, in order, with repeats."""
    return [stemmed for stemmed in map(stem, words) if stemmed in selection]
