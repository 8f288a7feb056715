"""A model's free text: which references it names, and what of it a report may show.

Words are compared after look-alikes are united (`folded`), so that spacing, full-width digits, invisible characters and
letters of other scripts hide nothing.
"""

import html
import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from willowbark.tools.appraisal import addressed_to_machines
from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import find_conditions, find_drugs
from willowbark.tools.reading.screening import folded
from willowbark.tools.reading.text import sentences

from .alignment import words

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
_MARKUP = re.compile(r"[*`\[\]]+")
MAX_PROSE = 300  # characters of a model's free text
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
_OPEN = frozenset("may could might whether unknown unclear expect insufficient unlikely hypothesis miss need".split())
"""Forms of words after which a sentence leaves open what it says."""
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
    plain = _MARKUP.sub("", _LINK.sub(" ", _decoded(text)))
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


def shown_prose(text: str, pool: Sequence[Evidence], drug: str | None = None) -> str:
    """What a report shows of a model's free text: whole sentences, 300 characters at most; empty where none is fit.

    A sentence is unfit that names a reference or an address of its own, a figure, another drug than the one it is on,
    or that says as a fact that something works: what works is for verified claims to say.

    Args:
        text: as the model wrote it.
        pool: the records whose references it may name.
        drug: the only one that it may name; None lets it name any.

    >>> shown_prose("It blocks beta-1 receptors. It cures migraine. It cut attacks by 44%.", [], "propranolol")
    'It blocks beta-1 receptors.'
    >>> shown_prose("Whether it prevents attacks in children is unknown.", [])
    'Whether it prevents attacks in children is unknown.'
    """
    shown = ""
    for sentence in sentences(text):
        longer = f"{shown} {sentence}".strip()
        if len(longer) <= MAX_PROSE and not _unfit(sentence, pool, drug):
            shown = longer
    return shown


def _unfit(sentence: str, pool: Sequence[Evidence], drug: str | None) -> bool:
    said = words(sentence, {})
    named = {each.name for each in find_drugs(sentence)}
    if visible(sentence) != sentence or names_unknown(sentence, pool) or addressed_to_machines(sentence):
        return True
    if any(word.written in _SPELLED_OUT for word in said) or _FIGURE.search(folded(sentence)):
        return True
    if drug is not None and not named <= {drug}:
        return True
    of_people = {part for each in find_conditions(sentence) for part in each.text.casefold().split()} | _OF_PEOPLE
    told = [word for word in said if word.kind != "mark"]
    for at, word in enumerate(told):
        if word.form in _OPEN or word.kind == "neg":
            return False
        after = told[at + 1 : at + _OBJECT_WITHIN]
        on_people = any({each.form, each.written.casefold()} & of_people for each in after)
        if word.form in _WORKS or (on_people and word.kind in ("dir", "share")):
            return True
    return False
