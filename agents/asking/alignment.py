"""Whether a sentence says what a passage says: each of its words is laid on one of the passage's.

A claim in words of its own is taken as its quote with things left out. Every word that carries meaning has to lie on a
word of the passage (by stem, or by a line of `alignment.tsv`), every number on the same number with the same unit and
the same arm; what is left out between two words, and what is moved, must turn nothing round: no negation, no direction,
no hedge, no arm of the trial. What can't be laid out this way may still be true; then the quote stands without it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import combinations, pairwise, takewhile
from typing import Literal

from willowbark.tools.enclosure import visible
from willowbark.tools.lexicon import canonical_drug, find_drugs
from willowbark.tools.lexicon.matching import PhraseIndex, phrase_key
from willowbark.tools.lexicon.stemming import stem
from willowbark.tools.reading.numbers import spelled_number
from willowbark.tools.reading.screening import folded
from willowbark.tools.reading.text import plain as marks_plain

Kind = Literal[
    "neg", "dir", "guard", "setting", "share", "contrast", "compare",
    "arm", "both", "unit", "number", "word", "free", "mark",
]  # fmt: skip

_TOKEN = re.compile(r"(?:[<>≤≥] ?|(?<![\w)\]/%])[-+])?\.?\d+(?:[.,]\d+)*|[^\W\d_][^\W_]*|\S", re.IGNORECASE)
_GREEK = str.maketrans({"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "κ": "kappa", "μ": "u", "±": " +/-"})
_JOINED = re.compile(r"\b(non|in|un)-?(significant(?:ly)?|effective|changed|affected|altered)\b", re.IGNORECASE)
_NEGATED = re.compile(r"n't\b|\bcannot\b", re.IGNORECASE)
_SPELLED = frozenset("two three four five six seven eight nine ten eleven twelve".split())
_PLAIN_MARKS = frozenset(".,;:()'\"-/[]!?&")
_MOST_TIMES = 3  # that a claim says a word which its quote says once
_LISTING = frozenset(", and or to + - / ±".split())
_SIGNIFICANT = "signif"
_ENDING = frozenset(("arm", "number", "contrast", "compare"))
_PARTING = frozenset(", ; . and".split())
_BESIDE = 3  # words from "all" or "half" to what they are all or half of
_BACKWARD = 1000  # what a step back costs, in words skipped
_COMPARED_WITHIN = 5  # words between "compared with" and the arm
Aliases = Mapping[str, str]
"""Short names that a record gives to drugs, in small letters, with the drugs' generic names."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word, number or mark with what it is and the form in which it is compared."""

    written: str
    form: str
    kind: Kind
    compared: bool = False
    """Of an arm: it stands as what another one is compared with."""


def added(text: str, quote: str, title: str, drug: str, aliases: Aliases | None = None) -> str | None:
    """What a sentence says beyond a passage, or otherwise; None where it says nothing of the kind.

    Args:
        text: the sentence.
        quote: the passage, whole sentences.
        title: of the record: drugs, people and conditions may be named by it.
        drug: which the sentence is about.
        aliases: what the record calls drugs; None for nothing of its own.

    >>> quote = "Attacks fell by 44% with propranolol and by 21% with placebo, but sleep did not improve."
    >>> added("Propranolol reduced attacks by 44%.", quote, "", "propranolol")
    >>> added("Propranolol reduced attacks by 21%.", quote, "", "propranolol")
    'gives 21 to another arm'
    >>> added("Propranolol improved sleep.", quote, "", "propranolol")
    'leaves out but'
    """
    return next(_objections(text, quote, title, drug, aliases or {}), None)


def _objections(text: str, quote: str, title: str, drug: str, aliases: Aliases) -> Iterator[str]:
    if visible(text) != text or {char for char in text if char.isalpha() and not char.isascii()} - {*quote, *title}:
        yield "holds invisible characters, or letters that its quote lacks"
    name = canonical_drug(drug) or drug.casefold()
    known = {**aliases, drug.casefold(): name}
    said, given = words(text, known), words(quote, known)
    headed = {word.form for word in words(title, known)}
    own, drugs = f"drug {name}", {word.form for word in given if word.form.startswith("drug ")}
    laid = _laid(said, given)
    if own not in {word.form for word in said} and own in drugs:
        yield f"does not name {drug}"
    if any(times > _MOST_TIMES for times in Counter(at for at in laid if at is not None).values()):
        yield "says the same word over and over"
    free = {word.form for word in given if word.kind == "mark"} | _PLAIN_MARKS | (set() if drugs else {own})
    for word, at in zip(said, laid, strict=True):
        may_be = word.kind in ("free", "compare") or word.form in free
        if at is None and not may_be and (word.kind != "word" or word.form not in headed):
            yield f"says {word.written}, which its quote does not"
    yield from _turned(said, given, laid)
    yield from _misplaced(said, given, laid)


def words(text: str, aliases: Aliases) -> list[Word]:
    """A text as words of known kinds, drugs by their generic names."""
    united = _NEGATED.sub(" not", _JOINED.sub(r"not \2", marks_plain(folded(text).translate(_GREEK))))
    known = PhraseIndex({phrase_key(name): drug for name, drug in aliases.items()})
    named = [(each.start, each.end, each.name) for each in find_drugs(united)]
    named += [(each.start, each.end, each.name) for each in known.find(united)]
    found: list[Word] = []
    free = 0
    for token in _TOKEN.finditer(united):
        at = token.end() - 1
        drug = next((each for each in named if each[0] <= at < each[1]), None)
        if token.start() < free:
            continue
        if drug is None:
            found.append(_word(token.group().casefold(), found))
        else:
            free = drug[1]
            found.append(_arm(united[drug[0] : free], drug[2], found))
    return found


def _word(written: str, before: Sequence[Word]) -> Word:
    if written[-1].isdigit():
        number = written.replace(",", "").replace(" ", "").lstrip("+")
        sign = number[: len(number) - len(number.lstrip("<>≤≥-"))]
        whole = number.removeprefix(sign)
        return Word(written, f"{sign}0{whole}" if whole.startswith(".") else number, "number")
    if written in _SPELLED:
        return Word(written, str(spelled_number(written)), "number")
    if not written[0].isalpha() and written != "%":
        return Word(written, written, "mark")
    kind, form = _forms().get(written) or _forms().get(stem(written)) or ("word", stem(written))
    return _arm(written, form, before, "arm") if kind == "arm" else Word(written, form, kind)


def _arm(written: str, name: str, before: Sequence[Word], prefix: str = "drug") -> Word:
    between = list(takewhile(lambda word: word.kind not in ("compare", "arm"), reversed(before)))
    last = before[-len(between) - 1] if len(between) < min(len(before), _COMPARED_WITHIN) else None
    listed = last is not None and last.compared and all(word.written in ("and", "or", "the") for word in between)
    return Word(written, f"{prefix} {name}", "arm", listed or (last is not None and last.kind == "compare"))


@cache
def _forms() -> Mapping[str, tuple[Kind, str]]:
    """Kind and common form of each word that has one, by the word and by its stem."""
    found: dict[str, tuple[Kind, str]] = {}
    for line in resources.files(__package__).joinpath("alignment.tsv").read_text("utf-8").splitlines():
        kind, members = line.split("\t")
        for each in members.split():
            form = (kind, members.split()[0])
            found[each] = form  # type: ignore[assignment]
            found.setdefault(stem(each), form)  # type: ignore[arg-type]
    return found


def _laid(said: Sequence[Word], given: Sequence[Word]) -> list[int | None]:
    """For each word of a sentence its place in the passage, so that as little as can be is skipped or moved."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(given):
        if word.kind not in ("mark", "free", "compare"):
            places.setdefault(word.form, []).append(at)
    paths: dict[int, tuple[int, list[int | None]]] = {-1: (0, [])}
    for word in said:
        here = places.get(word.form, []) if word.kind not in ("mark", "free", "compare") else []
        if not here:
            paths = {at: (cost, [*path, None]) for at, (cost, path) in paths.items()}
            continue
        new: dict[int, tuple[int, list[int | None]]] = {}
        for place in here:
            cost, path = min((cost + _step(at, place), path) for at, (cost, path) in paths.items())
            new[place] = (cost, [*path, place])
        paths = new
    return min(paths.values(), key=lambda each: each[0])[1]


def _step(before: int, after: int) -> int:
    return after - before if after > before else before - after + _BACKWARD


def _turned(said: Sequence[Word], given: Sequence[Word], laid: Sequence[int | None]) -> Iterator[str]:
    """Where what was left out, or moved, turns the meaning round."""
    path = [at for at in laid if at is not None]
    if not path:
        yield "says nothing of its quote"
        return
    used = set(path)
    if any(times > 1 and given[at].kind == "neg" for at, times in Counter(path).items()):
        yield "negates more than its quote does"
    unused = [at for at in range(len(given)) if at not in used]
    ahead = list(takewhile(lambda at: given[at].written != ".", reversed(range(min(path)))))
    yield from _left_out((given[at] for at in ahead), ("neg", "guard"))
    yield from _left_out((given[at] for at in unused), ("setting",))
    yield from _left_out(_at_the_end(given[max(path) + 1 :]), ("neg",))
    ruling: str | None = None
    for before, after in pairwise(path):
        ruling = given[before].form if given[before].kind == "dir" else ruling
        low, high = sorted((before, after))
        between = [given[at] for at in range(low, high) if at not in used]
        yield from _left_out(between, ("neg", "guard", "contrast"))
        if ruling and not given[after].compared and any(w.kind == "dir" and w.form != ruling for w in between):
            yield "joins words that its quote parts"
        yield from _arms_left_out(given, low, high, used)
    for order, here in enumerate(path):
        before, after = (path[order - 1], here) if here == path[-1] else (here, path[order + 1])
        if given[here].kind == "share" and not 0 < after - before <= _BESIDE:
            yield f"moves {given[here].written}"
    yield from _moved(given, path)


def _left_out(between: Iterable[Word], kinds: Sequence[str]) -> Iterator[str]:
    yield from (f"leaves out {word.written}" for word in between if word.kind in kinds)


def _at_the_end(rest: Sequence[Word]) -> list[Word]:
    """Of a sentence whose beginning was said what a negation of would turn it round.

    These are the words up to a contrast, the last one that tells something, and those before significance.
    """
    sentence = list(takewhile(lambda word: word.written != ".", rest))
    clause = takewhile(lambda word: word.kind != "contrast" and word.written != ";", sentence)
    telling = [word for word in sentence if word.kind not in ("free", "mark")]
    of_significance = [word for word, after in pairwise(telling) if after.form.startswith(_SIGNIFICANT)]
    last = [word for word in telling if not word.form.startswith(_SIGNIFICANT)][-1:]
    return [*clause, *of_significance, *last]


def _arms_left_out(given: Sequence[Word], low: int, high: int, used: set[int]) -> Iterator[str]:
    """Arms between two words that were given together with the drug, or had the effect that another arm is given.

    What one is compared with may be left out, and so may others of a list.
    """
    known, inside = {given[at].form for at in used}, given[low + 1 : high]
    listed = all(word.kind in ("arm", "mark", "number", "unit", "free") for word in inside)
    if any(word.kind == "both" for word in given) or (given[high].kind == "arm" and not listed):
        arms = (given[at] for at in range(low, high) if given[at].kind == "arm" and at not in used)
        yield from (f"leaves out {word.written}" for word in arms if not word.compared and word.form not in known)


def _moved(given: Sequence[Word], path: Sequence[int]) -> Iterator[str]:
    """Where the order of the passage was changed across what turns on order."""
    inside = given[min(path) : max(path) + 1]
    two_ways = len({word.form for word in inside if word.kind == "dir"}) > 1
    for before, after in combinations(path, 2):
        one, other = given[after], given[before]
        pair = {one.kind, other.kind}
        two_arms = pair == {"arm"} and not (one.compared or other.compared)
        if after < before and ("contrast" in pair or "neg" in pair or two_arms or ("dir" in pair and two_ways)):
            yield f"moves {one.written}"


def _misplaced(said: Sequence[Word], given: Sequence[Word], laid: Sequence[int | None]) -> Iterator[str]:
    """Arms in another role; numbers with another unit or arm, out of their list, or in another order."""
    compares = any(word.kind == "arm" and word.compared for word in given)
    for word, at in zip(said, laid, strict=True):
        if at is None or word.kind != "arm":
            continue
        if (given[at].compared and not word.compared) or (compares and word.compared and not given[at].compared):
            yield f"turns the comparison with {given[at].written} round"
    seen: list[int] = []
    for here, (word, at) in enumerate(zip(said, laid, strict=True)):
        if at is None or word.kind != "number":
            continue
        if (unit := _unit(said, here)) and unit != _unit(given, at):
            yield f"gives {word.written} another unit"
        mine, theirs = _arm_of(said, here), _arm_of(given, at)
        if mine and theirs and mine != theirs:
            yield f"gives {word.written} to another arm"
        seen.append(at)
    for one, other in _rows(given):
        if (one in seen) is not (other in seen):
            yield f"gives one number of the list {given[one].written}, {given[other].written}"
    if seen != sorted(seen):
        yield "changes the order of numbers"


def _unit(text: Sequence[Word], at: int) -> str:
    """The unit of a number, which a list gives once at its end; empty where there is none."""
    after = (word for word in text[at + 1 :] if word.kind not in ("number", "compare") and word.written not in _LISTING)
    first = next(after, None)
    return first.form if first and first.kind == "unit" else ""


def _arm_of(text: Sequence[Word], at: int) -> str | None:
    """The arm that a number belongs to: named right after it, or last before it; None where none is, and for p."""
    if any(word.written == "p" for word in text[max(0, at - 2) : at]):
        return None
    after = (word for word in text[at + 1 :] if word.kind in _ENDING or word.written in _PARTING)
    named = next(after, None)
    if named and named.kind == "arm":
        return named.form
    return next((word.form for word in reversed(text[:at]) if word.kind == "arm"), None)


def _rows(text: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """The places of numbers that stand beside each other in a list: `44%, 30% and 21%`, `44 vs 21%`."""
    for one, other in pairwise(at for at, word in enumerate(text) if word.kind == "number"):
        between = [word for word in text[one + 1 : other] if word.kind != "unit"]
        if between and all(word.kind == "compare" or word.written in ("and", ",") for word in between):
            yield one, other
