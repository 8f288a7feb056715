"""A model's free text: which references it names, and what of it a report may show.

Words are compared after look-alikes are united (`folded`), so that spacing, full-width digits, invisible characters and
letters of other scripts hide nothing.
"""

import html
import re
from collections.abc import Iterator, Sequence, Set
from functools import cache
from importlib import resources
from typing import NamedTuple
from urllib.parse import unquote

from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import find_conditions, find_drug_classes, find_drugs
from willowbark.tools.reading.screening import addressed_to_machines, folded
from willowbark.tools.reading.text import sentences

from .alignment import Word, words

_ADDRESS = re.compile(
    r"\w\s?:\s?//|\bwww\.|\S@\w|\]\s{0,9}[(\[]|<\s{0,9}/?\s{0,9}[a-z]|\bclinicaltrials\.gov/"
    r"|(?<=[\w-])(?<!(?<![\w-])clinicaltrials)\.gov\b"
    r"|(?<=[\w-])\.(?:com|org|net|edu|io|info|biz|dev|app|xyz|ru|cn|onion|invalid)\b",
    re.IGNORECASE,
)
"""Anchored on what is rare in prose, so that no text is gone through more than once."""
_SPELLED_DIGITS = re.compile(r"(?:\b(?:zero|one|two|three|four|five|six|seven|eight|nine)\b\W*){5}", re.IGNORECASE)
_OTHER_REFERENCE = re.compile(
    r"\bet\s+al\b|\([A-Z][\w'-]+(?:\s(?:and|&)\s[A-Z][\w'-]+)?,?\s(?:19|20)\d\d[a-z]?\)"
    r"|\b(?:ISRCTN|ACTRN|ChiCTR|DRKS|UMIN|CTRI|EudraCT|EUCT)\W{0,3}\w?[\d/-]{6,}|\b\d{4}-\d{6}-\d{2}\b"
)
"""References in forms that no source of Willowbark uses: authors with years, numbers of other registries."""
_SPACED = r"\d(?:[\W_]?\d)"
_IDENTIFIERS = {
    "nct": re.compile(rf"\bn\W?c\W?t[\W_]{{0,4}}({_SPACED}{{7}})(?!\d)", re.IGNORECASE),
    "pmc": re.compile(rf"\bp\W?m\W?c(?:\W?i\W?d)?[\W_]{{0,4}}({_SPACED}{{2,8}})(?!\d)", re.IGNORECASE),
    "pmid": re.compile(rf"\bp\W?m\W?i\W?d[\W_]{{0,6}}({_SPACED}{{0,8}})(?!\d)", re.IGNORECASE),
    "pubmed": re.compile(rf"\bpubmed\D{{0,12}}({_SPACED}{{5,8}})(?!\d)", re.IGNORECASE),
    "chembl": re.compile(r"\bchembl[\W_]{0,3}(\d+)", re.IGNORECASE),
}
_DOI = re.compile(r"\b10\s?\.\s?(\d{4,9})\s?/\s?([^\s\"'<>\])]+)")
_BARE = re.compile(r"(?<![\w.,/-])\d{7,8}(?![\w/-]|[.,]\d)")
_LINK = re.compile(r"\]\([^)]{0,500}\)")
_MARKUP = dict.fromkeys(map(ord, "*`[]"))
MAX_PROSE = 300  # characters of a model's free text
MAX_PARAGRAPH = 600  # of what it writes on the evidence of one drug
_FIGURE = re.compile(
    r"(?<![\w.-])(?<!\btype )(?<!\bphase )(?<!\bstage )(?<!\bfactor )(?<!\bclass )\d+(?![\w]|-[a-z])|%|\bper\s?cent\b"
    r"|\b\w+fold\b|\b(?:hundred|thousand|million|dozen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)\b",
    re.IGNORECASE,
)
_SPELLED_OUT = frozenset("two three four five six seven eight nine ten eleven twelve half twice halves halved".split())
_WORKS = frozenset(
    "effective superior benefit relieve improve prevent cure cured safe resolve help work heal best recommend should "
    "prove proven establish evidence demonstrate success tolerate".split()
)
"""Forms (`alignment`) of words that say that something works."""
_DOES = frozenset("affect affects affected beat beats beaten outperforms outperformed fail fails failed".split())
"""What a drug does, beside changes, where a sentence on the evidence names one."""
_OF_TRIALS = frozenset("more longer shorter same different difference compare compares comparing comparison".split())
"""Changes that are as well said of trials."""
_OPEN = frozenset("may could might whether unknown unclear expect insufficient unlikely hypothesis miss need".split())
"""Forms of words after which a sentence leaves open what it says."""
_FOUND_OUT = frozenset("evidence establish prove proven demonstrate recommend should safe".split())
"""Those of `_WORKS` that leave open what they say where they are denied: what was not shown may still be so."""
_DENIED_WITHIN = {"neither": 6, "not": 3, "never": 3, "cannot": 3, "nor": 3, "unable": 3, "n't": 3}
"""Words from a negation to what it denies; other negations stand right before it."""
_TELLS = frozenset(
    "effect posit negat meet met signific favour favor good well protect cut elimin abolish promis noninferior rare "
    "rarer strong clear respond respons vanish disappear attack symptom pain death relaps".split()
)
"""Forms of further words that tell a result where a text is on the evidence of one drug."""
_UNSAID = frozenset("whether unknown unclear miss".split())
"""Forms of those of `_OPEN` that leave a result open there; that it may be so is told by the quote of a claim alone."""
_CLAUSE_MARKS = frozenset(",;:")
_OBJECT_WITHIN = 6  # words from a verb to what it acts on
_OF_PEOPLE = frozenset("attack symptom pain score surviv death trial relaps placebo patient outcom diseas".split())


def names_unknown(text: str, pool: Sequence[Evidence]) -> bool:
    """Whether a model's free text names an address, a reference, or an identifier that is no record's own."""
    if refers_elsewhere(text):
        return True
    named = identifiers(text)
    return bool(named) and not named <= {own for record in pool for own in _own_identifiers(record)}


def refers_elsewhere(text: str) -> bool:
    """Whether a text names an address, or a reference in a form that no source here uses."""
    plain = _decoded(text)
    return any(pattern.search(plain) for pattern in (_ADDRESS, _SPELLED_DIGITS, _OTHER_REFERENCE))


def identifiers(text: str) -> set[str]:
    """PMIDs, PMCIDs, NCT numbers, DOIs and ChEMBL ids that a text names, however they are spaced or dressed.

    >>> sorted(identifiers("PMID **1234 5678**, NCT-0123 4567, doi: 10 .1056 / NEJMoa1."))
    ['10.1056/nejmoa1', '12345678', 'nct01234567']
    """
    plain = _LINK.sub(" ", _decoded(text)).translate(_MARKUP)
    found = {_joined(kind, match) for kind, pattern in _IDENTIFIERS.items() for match in pattern.findall(plain)}
    found |= {f"10.{prefix}/{suffix.rstrip('.,;:')}".casefold() for prefix, suffix in _DOI.findall(plain)}
    return found | set(_BARE.findall(plain))


def _joined(kind: str, digits: str) -> str:
    number = "".join(filter(str.isdecimal, digits))
    return number if kind in ("pmid", "pubmed") else f"{kind}{number}"


def _own_identifiers(record: Evidence) -> Iterator[str]:
    yield from (identifier.partition(":")[2].casefold() for identifier in record.identifiers)
    yield from identifiers(record.citation.url)


def _decoded(text: str) -> str:
    return folded(html.unescape(unquote(text)))


class Prose(NamedTuple):
    """A model's free text, as a report shows it."""

    shown: str
    """Whole sentences, 300 characters at most; empty where none is fit."""
    held_back: tuple[str, ...]
    """Those that are not fit, or for which there is no room."""


def prose(text: str, pool: Sequence[Evidence], drug: str | None = None, quotes: Sequence[str] | None = None) -> Prose:
    """Sort a model's free text into what a report shows and what it does not.

    A sentence is unfit that names a reference or an address of its own, a figure, another drug than the one it is on,
    or that says as a fact that something works, or does not: that is for verified claims to say. Where a text is on no
    drug of its own, it is on the evidence, and what it says that a drug changes is such a fact too.

    Args:
        text: as the model wrote it.
        pool: the records whose references it may name.
        drug: the only one that it may name; None lets it name any.
        quotes: of the claims on the drug whose evidence it is on: a sentence then is on what was done, in words of
            `evidence.tsv` or theirs, and tells no result; None where it is on no one drug's.

    >>> prose("It blocks beta-1 receptors. It cures migraine.", [], "propranolol")
    Prose(shown='It blocks beta-1 receptors.', held_back=('It cures migraine.',))
    >>> prose("Whether it prevents attacks in children is unknown.", []).shown
    'Whether it prevents attacks in children is unknown.'
    >>> prose("Its trials are old. It lowers blood pressure.", [], quotes=[]).shown
    'Its trials are old.'
    """
    shown, held_back = "", list[str]()
    for sentence in sentences(text):
        longer = f"{shown} {sentence}".strip()
        if len(longer) <= room_of(quotes) and not _unfit(sentence, pool, drug, quotes):
            shown = longer
        else:
            held_back.append(sentence)
    return Prose(shown, tuple(held_back))


def room_of(quotes: Sequence[str] | None) -> int:
    """Characters of a text that a report shows; more where it is on the evidence of one drug."""
    return MAX_PROSE if quotes is None else MAX_PARAGRAPH


def _unfit(sentence: str, pool: Sequence[Evidence], drug: str | None, quotes: Sequence[str] | None) -> bool:
    said = words(sentence, {})
    named = {each.name for each in find_drugs(sentence)}
    if visible(sentence) != sentence or names_unknown(sentence, pool) or addressed_to_machines(sentence):
        return True
    if any(word.written in _SPELLED_OUT for word in said) or _FIGURE.search(folded(sentence)):
        return True
    if drug is not None and not named <= {drug}:
        return True
    of_people = {part for each in find_conditions(sentence) for part in each.text.casefold().split()} | _OF_PEOPLE
    if quotes is not None:
        return _tells_result(said, of_people, {word.form for quote in quotes for word in words(quote, {})})
    told = [word for word in said if word.kind != "mark"]
    claims = [_claims(told, at, of_people) for at in range(len(told))]
    if drug is None and (named or find_drug_classes(sentence)):
        claims = [is_one or _is_done(word) for is_one, word in zip(claims, told, strict=True)]
    for at, word in enumerate(told):
        if _leaves_open(word):
            return False
        if claims[at]:
            return True
        if word.kind == "neg":
            return _denies(told, at, claims)
    return False


def _tells_result(said: Sequence[Word], of_people: Set[str], quoted: Set[str]) -> bool:
    """Whether a sentence on the evidence of one drug tells what came of it, or is on something else than that evidence.

    It is gone through clause by clause: what one leaves open, or denies, the next may tell.
    """
    if any(word.kind == "word" and word.form not in quoted | _of_evidence() for word in said):
        return True
    clauses: list[list[Word]] = [[]]
    for word in said:
        if word.kind == "contrast" or word.written in _CLAUSE_MARKS:
            clauses.append([])
        elif word.kind != "mark":
            clauses[-1].append(word)
    return any(_tells(clause, of_people - {"trial"}) for clause in clauses)


def _tells(told: Sequence[Word], of_people: Set[str]) -> bool:
    claims = [_claims(told, at, of_people) or _is_done(told[at]) or told[at].form in _TELLS for at in range(len(told))]
    for at, word in enumerate(told):
        if _leaves_open(word) and word.form in _UNSAID:
            return False
        if claims[at] or (word.kind == "neg" and _denies(told, at, claims)):
            return True
    return False


@cache
def _of_evidence() -> Set[str]:
    """Forms of the words in which studies and records are spoken of."""
    table = resources.files(__package__).joinpath("evidence.tsv").read_text("utf-8")
    listed = " ".join(line.partition("\t")[2] for line in table.splitlines())
    return {word.form for word in words(listed, {})}


def _leaves_open(word: Word) -> bool:
    return word.form in _OPEN and not word.written.casefold().startswith("insufficienc")  # of a kidney, say


def _denies(told: Sequence[Word], at: int, claims: Sequence[bool]) -> bool:
    """Whether a negation denies that something works, or was found."""
    denied = range(at + 1, min(len(told), at + 1 + _reach(told[at])))
    return any((claims[each] and told[each].form not in _FOUND_OUT) or told[each].form == "effect" for each in denied)


def _claims(told: Sequence[Word], at: int, of_people: Set[str]) -> bool:
    """Whether a word says that something works, or changes what people have."""
    after = told[at + 1 : at + _OBJECT_WITHIN]
    on_people = any({each.form, each.written.casefold()} & of_people for each in after)
    return told[at].form in _WORKS or (on_people and told[at].kind in ("dir", "share"))


def _is_done(word: Word) -> bool:
    """Whether it may be what a drug does."""
    written = word.written.casefold()
    return written in _DOES or (word.kind == "dir" and written not in _OF_TRIALS)


def _reach(negation: Word) -> int:
    """Words after a negation that it denies."""
    return _DENIED_WITHIN.get(negation.written.casefold(), 1)
