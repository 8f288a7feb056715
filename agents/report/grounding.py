"""What a sentence of a model holds beyond what it rests on: figures, names, references, signs, big words.

Words are compared after look-alikes are united (`folded`), so that spacing, full-width digits, invisible characters and
letters of other scripts hide nothing.
"""

import html
import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.reading.screening import folded
from willowbark.tools.reading.text import sentences

_ADDRESS = re.compile(
    r"\w+\s?:\s?//|\bwww\.|\S@\w|\]\s*[(\[]|<\s*/?\s*[a-z]"
    r"|\b(?!clinicaltrials\.gov\b(?!/))[\w-]+\.(?:com|org|net|edu|gov|io|info|biz|dev|app|xyz|ru|cn|onion|invalid)\b",
    re.IGNORECASE,
)
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
_LINK = re.compile(r"\]\([^)]*\)")
_MARKUP = re.compile(r"[*`\[\]]+")

_QUANTITIES = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundreds?|thousands?|millions?|dozens?|half|halv\w+|thirds"
    r"|one[- ]third|quarters?|doubl\w+|tripl\w+|quadrupl\w+|twice|thrice|\w+fold|[ivxlcdm]+(?=\s?(?:%|per\s?cent)))\b"
)
_DIGITS = dict(
    zip("two three four five six seven eight nine ten eleven twelve".split(), map(str, range(2, 13)), strict=True)
)
_BIG = re.compile(
    r"\b(cur(?:e[sd]?|ing|ative)|abolish\w*|eliminat\w*|eradicat\w*|always|every|all|for ?ever|guarante\w*|prove[ns]?"
    r"|best|safest|most effective|miracl\w*|completely|entirely|totally|breakthrough|definitive\w*|undoubtedly"
    r"|first-line|gold standard|should be (?:used|given|prescribed|taken)|recommend\w*)\b"
)
"""Words that promise more than a study does; a claim may have them from its quote alone."""
_MEASURED = re.compile(r"(?<![\w.])(\d+(?:[.,]\d+)*)\s?(%|per\s?cent\b|mg\b|g\b|μg\b|mcg\b|kg\b|ml\b)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
MOST_TIMES_LONGER = 4  # a claim says in other words what its quote says
_PLAIN = frozenset(" .,;:!?'\"()%/-&…")


def beyond(text: str, quote: str, drug: str, title: str) -> str | None:
    """What a claim holds that its quote does not; None where there is nothing of the kind.

    Args:
        text: the claim.
        quote: the passage it rests on.
        drug: the drug it is about.
        title: the record's title, which may name drugs that the quote leaves out.
    """
    return next(_beyond(text, quote, drug, title), None)


def _beyond(text: str, quote: str, drug: str, title: str) -> Iterator[str]:
    said, given = _united(text), _united(f"{quote} {drug}")
    if visible(text) != text:
        yield "holds invisible characters"
    for what, found, known in (
        ("numbers", _numbers(said), _numbers(given)),
        ("identifiers", identifiers(text), identifiers(quote)),
        ("measures", _measures(said), _measures(given)),
        ("quantities", _quantities(said), _quantities(given) | _numbers(given)),
        ("drugs", _drugs(text), _drugs(f"{quote} ; {title} ; {drug}")),
        ("words", set(_BIG.findall(said)), set(_BIG.findall(given))),
        ("signs", _signs(text), _signs(f"{quote} {drug}")),
    ):
        if unknown := sorted(found - known):
            yield f"holds {what} that its quote lacks: {', '.join(unknown)}"
    if refers_elsewhere(text) and not refers_elsewhere(quote):
        yield "names an address or a reference of its own"
    if len(sentences(text)) > max(1, len(sentences(quote))):
        yield "has more sentences than its quote"
    if len(text) > MOST_TIMES_LONGER * len(quote):
        yield "is much longer than its quote"


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
    number = re.sub(r"\D", "", digits)
    return number if kind in ("pmid", "pubmed") else f"{kind}{number}"


def _own_identifiers(record: Evidence) -> Iterator[str]:
    yield from (identifier.partition(":")[2].casefold() for identifier in record.identifiers)
    yield from identifiers(record.citation.url)


def _decoded(text: str) -> str:
    return folded(html.unescape(unquote(text)))


def _united(text: str) -> str:
    """A text in small letters with look-alikes, spaces and raised dots written in one way."""
    return " ".join(folded(text).replace("\u00b7", ".").casefold().split())


def _numbers(text: str) -> set[str]:
    return {number.replace(",", "") for number in _NUMBER.findall(text)}


def _measures(text: str) -> set[str]:
    return {f"{number.replace(',', '')} {_unit(unit)}" for number, unit in _MEASURED.findall(text)}


def _unit(unit: str) -> str:
    return "%" if unit.startswith("per") else "μg" if unit == "mcg" else unit


def _quantities(text: str) -> set[str]:
    return {_DIGITS.get(word, word) for word in _QUANTITIES.findall(text)}


def _drugs(text: str) -> set[str]:
    return {mention.name for mention in find_drugs(text)}


def _signs(text: str) -> set[str]:
    """Characters beyond letters, digits and the marks of plain sentences; quotes and dashes count as plain."""
    united = re.sub("[\u2010-\u2015\u2212\u2018\u2019\u201c\u201d]", "-", text)
    return {sign for sign in united if not (sign.isascii() and (sign.isalnum() or sign in _PLAIN or sign.isspace()))}
