"""Claims and their verification: what a model says stands only where a record says it.

Checked in code, for each claim: its record is in the pool; its quote stands in that record, in whole sentences that are
no aim and no order; the drug is named there; every number and identifier of the claim stands in the quote; no negation
was added or lost, no direction turned round; and its stance is not the opposite of what the record was read to say.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from willowbark.tools.appraisal import Direction, addressed_to_machines, set_aside
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import canonical_drug, drug_synonyms
from willowbark.tools.works.sections import TITLE, places, section_of

from .grounding import beyond

MAX_HEADING_CHARACTERS = 50  # of a structured abstract's part, which a quote may leave out
MIN_QUOTE_CHARACTERS = 20  # shorter quotes stand almost anywhere

Stance = Literal["supports", "contradicts", "neutral"]
Topic = Literal["clinical", "mechanism"]

_NEGATION = re.compile(
    r"\b(not|no|nor|none|never|neither|without|fail(?:s|ed|ing|ure)?|lack(?:s|ed|ing)?|unable|cannot"
    r"|non-?significant(?:ly)?|insignificant(?:ly)?|ineffective|inferior)\b|n't\b",
    re.IGNORECASE,
)
_RISE = re.compile(r"\b(?:increas|rais|rose|ris(?:e|ing)|higher|greater|longer|more\b|grew|gain)\w*")
_FALL = re.compile(r"\b(?:decreas|reduc|lower|fell|fall|fewer|less\b|shorter|declin|drop)\w*")
_BETTER = re.compile(r"\b(?:better|improv|superior|benefi|effective|efficac|favou?r)\w*")
_WORSE = re.compile(r"\b(?:worse|inferior|harm|ineffective|deteriorat|futil)\w*")
_OPPOSITES = ((_RISE, _FALL), (_FALL, _RISE), (_BETTER, _WORSE), (_WORSE, _BETTER))
_HEADED = re.compile(rf"^[a-z][a-z /&,-]{{2,{MAX_HEADING_CHARACTERS}}}?\s*:\s+")
_NO_RESULT = frozenset("AB")  # zones of a page: aim, background


class Claim(BaseModel):
    """One sentence on one drug, and the passage it rests on."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1)
    drug: str = Field(min_length=1)
    evidence_key: str
    quote: str
    """A passage of the record's content, or of a section of its full text, to the letter."""
    stance: Stance = "neutral"
    topic: Topic = "clinical"
    section: str | None = None
    """Where the quote stands: `Abstract`, `Title`, `Registry entry`, or a heading of the full text such as `Results`.
    Set by code; None before the claim was verified."""


class DroppedClaim(BaseModel):
    """A claim that did not stand, and why."""

    claim: Claim
    reason: str


class Verdicts(BaseModel):
    """What stands and what does not."""

    kept: list[Claim] = Field(default_factory=list)
    dropped: list[DroppedClaim] = Field(default_factory=list)


class Heard(Protocol):
    """What readings say, record by record."""

    def __call__(self, key: str, drug: str) -> Direction | None:
        """Where a record stands on a drug; None where it was not read for it."""


def heard_from(candidates: Sequence[Candidate]) -> Heard:
    """What the records of candidates say of them."""
    known = {(each.key, candidate.drug): each for candidate in candidates for each in candidate.records}

    def heard(key: str, drug: str) -> Direction | None:
        found = known.get((key, canonical_drug(drug) or drug.casefold()))
        return found.item.direction if found else None

    return heard


def verify(claims: Sequence[Claim], pool: Sequence[Evidence], heard: Heard) -> Verdicts:
    """Sort claims into those that their records carry and those that they don't; repeats are left out."""
    records: Mapping[str, Evidence] = {record.key: record for record in pool}
    verdicts = Verdicts()
    for claim in claims:
        reason = objection(claim, records.get(claim.evidence_key), heard(claim.evidence_key, claim.drug))
        if reason is not None:
            verdicts.dropped.append(DroppedClaim(claim=claim, reason=reason))
            continue
        placed = claim.model_copy(update={"section": section_of(records[claim.evidence_key], claim.quote, plain)})
        if placed not in verdicts.kept:
            verdicts.kept.append(placed)
    return verdicts


def objection(claim: Claim, record: Evidence | None, direction: Direction | None) -> str | None:
    """Why a claim does not stand; None where it does.

    Args:
        claim: as it was made.
        record: the one it cites; None where there is none.
        direction: where the readings of the record stand on the drug; None where it was not read for it.
    """
    if record is None:
        return "cites a record that is not in the pool"
    quote = plain(claim.quote)
    if len(quote) < MIN_QUOTE_CHARACTERS:
        return f"quotes fewer than {MIN_QUOTE_CHARACTERS} characters"
    section = section_of(record, claim.quote, plain)
    if section is None:
        return "quotes a passage that is not in its record"
    if not _names(claim.drug, f"{quote} {plain(record.citation.title)}"):
        return f"is on {claim.drug}, which neither the quote nor the title names"
    if not _names(claim.drug, plain(claim.text)):
        return f"does not name {claim.drug}"
    if addressed_to_machines(claim.quote) or (quote in plain(record.content) and quote not in plain(_aside(record))):
        return "quotes an order or a question, which reports nothing"
    if addressed_to_machines(claim.text):
        return "speaks to machines"
    if claim.topic == "clinical" and (unfit := _no_result(claim, record, section)):
        return unfit
    if unknown := beyond(claim.text, claim.quote, claim.drug, record.citation.title):
        return unknown
    return _turned_round(claim, direction)


def _no_result(claim: Claim, record: Evidence, section: str) -> str | None:
    """Why a quote is no result: it is cut, or the record's aim or background."""
    title = record.citation.title
    body = record.content.removeprefix(title).lstrip(" .\n")
    text = title if section == TITLE else next((p.text for p in places(record) if p.title == section), body)
    from willowbark.tools.reading.features import Page  # noqa: PLC0415  it brings numpy

    page = Page("" if text == title else title, text)
    spans = [(sentence.start, sentence.end) for sentence in page.text.sentences]
    quoted = _quoted(plain(claim.quote), [plain(page.text.quote(start, end)) for start, end in spans])
    if quoted is None:
        return "quotes a part of a sentence"
    if claim.stance != "neutral" and text == body and all(zone in _NO_RESULT for zone in page.zones[quoted]):
        return "quotes an aim or what was known before, which is no result"
    return None


def _quoted(quote: str, whole: Sequence[str]) -> slice | None:
    """Which sentences a quote is made of; None where it is not made of whole ones."""
    for first in range(len(whole)):
        for last in range(first + 1, len(whole) + 1):
            joined = " ".join(whole[first:last])
            if quote.rstrip(".") in (joined.rstrip("."), _HEADED.sub("", joined).rstrip(".")):
                return slice(first, last)
            if len(joined) > len(quote) + MAX_HEADING_CHARACTERS:
                break
    return None


def _turned_round(claim: Claim, direction: Direction | None) -> str | None:
    text, quote = plain(claim.text), plain(claim.quote)
    if text != quote:
        if bool(_NEGATION.search(text)) != bool(_NEGATION.search(quote)):
            return "adds or loses a negation"
        if any(one.search(text) and not one.search(quote) and other.search(quote) for one, other in _OPPOSITES):
            return "says the opposite of its quote"
    if claim.topic == "clinical" and {str(direction), claim.stance} == {"supports", "contradicts"}:
        return f"takes its quote as one that {claim.stance}, which its record does not"
    return None


def plain(text: str) -> str:
    """A text for comparison: compatibility forms united, white space folded, quotes and dashes alike, lower
    case, nothing invisible.

    >>> plain("TNF\u2011alpha  \u201cfell\u201d")
    'tnf-alpha "fell"'
    """
    folded = unicodedata.normalize("NFKC", visible(text))
    folded = re.sub("[\u2010-\u2015\u2212]", "-", folded)
    folded = folded.replace("\u00b7", ".")  # as some journals write decimals
    folded = re.sub("[\u2018\u2019]", "'", re.sub("[\u201c\u201d]", '"', folded))
    return " ".join(folded.split()).casefold()


def _names(drug: str, text: str) -> bool:
    return any(
        re.search(rf"(?<!\w){re.escape(plain(name))}(?!\w)", text) for name in (drug, *drug_synonyms(drug)) if name
    )


def _aside(record: Evidence) -> str:
    return set_aside(visible(record.content))
