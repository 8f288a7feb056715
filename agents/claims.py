"""Claims and their verification: what a model says stands only where a record says it.

Checked in code, for each claim: its record is in the pool; its quote stands in that record; the drug is named there;
every number and identifier of the claim stands in the quote; no negation was added, lost or turned round.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from willowbark.tools.appraisal import (
    Direction,
    addressed_to_machines,
    conclusion_of,
    direction_of,
    posted_finding,
    set_aside,
)
from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import drug_synonyms
from willowbark.tools.works.sections import section_of

from .grounding import beyond

MIN_QUOTE_CHARACTERS = 20  # shorter quotes stand almost anywhere

Stance = Literal["supports", "contradicts", "neutral"]
Topic = Literal["clinical", "mechanism"]

_NEGATION = re.compile(
    r"\b(not|no|nor|none|never|neither|without|fail(?:s|ed|ing|ure)?|lack(?:s|ed|ing)?|unable|cannot"
    r"|non-?significant(?:ly)?|insignificant(?:ly)?|ineffective|inferior)\b|n't\b",
    re.IGNORECASE,
)


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


def verify(claims: Sequence[Claim], pool: Sequence[Evidence]) -> Verdicts:
    """Sort claims into those that their records carry and those that they don't; repeats are left out."""
    records: Mapping[str, Evidence] = {record.key: record for record in pool}
    verdicts = Verdicts()
    for claim in claims:
        reason = objection(claim, records.get(claim.evidence_key))
        if reason is not None:
            verdicts.dropped.append(DroppedClaim(claim=claim, reason=reason))
            continue
        placed = claim.model_copy(update={"section": section_of(records[claim.evidence_key], claim.quote, plain)})
        if placed not in verdicts.kept:
            verdicts.kept.append(placed)
    return verdicts


def objection(claim: Claim, record: Evidence | None) -> str | None:
    """Why a claim does not stand; None where it does."""
    if record is None:
        return "cites a record that is not in the pool"
    quote = plain(claim.quote)
    if len(quote) < MIN_QUOTE_CHARACTERS:
        return f"quotes fewer than {MIN_QUOTE_CHARACTERS} characters"
    if section_of(record, claim.quote, plain) is None:
        return "quotes a passage that is not in its record"
    if not _names(claim.drug, f"{quote} {plain(record.citation.title)}"):
        return f"is on {claim.drug}, which neither the quote nor the title names"
    if not _names(claim.drug, plain(claim.text)):
        return f"does not name {claim.drug}"
    if addressed_to_machines(claim.quote) or (quote in plain(record.content) and quote not in plain(_aside(record))):
        return "quotes an order or a question, which reports nothing"
    if addressed_to_machines(claim.text):
        return "speaks to machines"
    if unknown := beyond(claim.text, claim.quote, claim.drug, record.citation.title):
        return unknown
    return _turned_round(claim, record)


def _turned_round(claim: Claim, record: Evidence) -> str | None:
    if plain(claim.text) == plain(claim.quote):
        said = quoted = Direction.unclear
    else:
        said = direction_of(claim.text, claim.drug).direction
        quoted = direction_of(claim.quote, claim.drug).direction
        if bool(_NEGATION.search(plain(claim.text))) != bool(_NEGATION.search(plain(claim.quote))):
            return "adds or loses a negation"
    if {said, quoted} == {Direction.supports, Direction.contradicts}:
        return "says the opposite of its quote"
    stances = {Direction.supports: "contradicts", Direction.contradicts: "supports"}
    if stances.get(_read(claim, record)) == claim.stance:
        return f"takes its quote as one that {claim.stance}, which it does not"
    return None


def _read(claim: Claim, record: Evidence) -> Direction:
    """Where the quote stands: by the reader of posted results, of whole records, then of single sentences."""
    title = record.citation.title
    posted = posted_finding(record, claim.drug, drug_synonyms(claim.drug))
    if posted and posted.sentence and plain(posted.sentence) == plain(claim.quote):
        return posted.direction
    whole = conclusion_of(title, claim.quote, claim.drug, title, drug_synonyms(claim.drug)).direction
    return direction_of(claim.quote, claim.drug).direction if whole is Direction.unclear else whole


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
