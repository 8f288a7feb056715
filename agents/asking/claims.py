"""Claims and their verification: a model's quote is kept only if its record supports it.

It has to consist of whole sentences of the record that are on the drug and neither an aim nor an instruction. If the
readings disagree with its stance, the stance is dropped. No text of a model reaches a report.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Literal, NamedTuple

from pydantic import BaseModel

from willowbark.tools.appraisal import AppraisedItem, Direction
from willowbark.tools.lexicon import canonical_drug, is_class_member
from willowbark.tools.reading.document import Document, Sentence
from willowbark.tools.reading.reading import QuotedPassage
from willowbark.tools.reading.screening import addressed_to_machines, set_aside, tells_what_to_do
from willowbark.tools.reading.sections import find_section, is_full_text, places
from willowbark.tools.reading.text import find_heading_role
from willowbark.tools.records.enclosure import visible
from willowbark.tools.records.evidence import Evidence

from .drafts import ClaimDraft

MAX_HEADING_CHARACTERS = 50  # of a section of a structured abstract; a quote may omit it
MIN_QUOTE_CHARACTERS = 20  # shorter quotes match almost anywhere
MAX_QUOTED = 4  # sentences that a part of them is quoted from
ALIKE = 0.9  # of a misspelt drug and its name: one letter in ten
MAX_SHORT_NAME = 8  # letters of a record's abbreviation for a drug

Stance = Literal["supports", "contradicts", "neutral"]

_FOLDED = str.maketrans("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2018\u2019\u201c\u201d\u00b7", "-------''\"\".")
"""Dashes, quotation marks, and the raised decimal points of some journals."""
_UNSPLIT = re.compile(r"(?:\d|[\s/\d][a-z]|\b[Gg]roups? [A-Z]|\b[pi]\.[omv])\.(\s+)(?=[A-Z])")


class Claim(ClaimDraft, extra="forbid"):
    """A passage of one record on one drug."""

    stance: Stance = "neutral"
    section: str | None = None
    """Location of the quote: `Abstract`, `Title`, `Registry entry`, or a heading of the full text such as `Results`.
    Set by code; None before verification."""


class DroppedClaim(BaseModel):
    """A rejected claim, with the reason."""

    claim: Claim
    reason: str


class Verdicts(BaseModel):
    """Results of verifying claims."""

    kept: list[Claim] = []
    dropped: list[DroppedClaim] = []


class Located(NamedTuple):
    """Where a quote stands in its record."""

    passage: QuotedPassage
    zones: frozenset[str]
    """Parts of the record that its sentences belong to, as in `Sentence.zone`."""
    before: frozenset[str]


def verify(
    claims: Sequence[ClaimDraft], pool: Sequence[Evidence], read: Mapping[tuple[str, str], AppraisedItem]
) -> Verdicts:
    """Sort a model's claims into those that their records support and the rest; repeats are left out.

    Args:
        claims: as a model made them.
        pool: all records.
        read: what was read of each record for each drug, by the record's key and the drug's generic name.
    """
    records = {record.key: record for record in pool}
    verdicts = Verdicts()
    for draft in claims:
        drug = canonical_drug(draft.drug) or draft.drug.strip()
        claim = Claim.model_validate({**draft.model_dump(), "drug": drug})
        record = records.get(claim.evidence_key)
        item = read.get((claim.evidence_key, drug.casefold()))
        direction, against = (item.direction, item.against) if item else (None, None)
        passage = check_passage(claim, record, direction, against)
        if isinstance(passage, str):
            verdicts.dropped.append(DroppedClaim(claim=claim, reason=passage))
            continue
        stance = claim.stance if claim.stance == str(direction) else "neutral"
        stands = claim.model_copy(update={"stance": stance, "section": passage.section})
        if stands not in verdicts.kept:
            verdicts.kept.append(stands)
    return verdicts


def check_passage(
    claim: Claim, record: Evidence | None, direction: Direction | None, against: str | None = None
) -> QuotedPassage | str:
    """Return the passage of a record that supports a claim on its drug, or why none does.

    Args:
        claim: as the model made it.
        record: the cited record; None if there is none.
        direction: the record's direction for the drug in the readings; None if it was not read for it.
        against: the drug that it was compared with: a quote that names just this one is on both. None if unknown.
    """
    if record is None:
        return "cites a record that is not in the pool"
    quote = plain(claim.quote)
    if len(quote) < MIN_QUOTE_CHARACTERS:
        return f"quotes fewer than {MIN_QUOTE_CHARACTERS} characters"
    if find_section(record, claim.quote, plain) is None:
        return "quotes a passage that is not in its record"
    is_of_other = against and canonical_drug(against) in find_named_drugs(claim.quote, against, record)
    if not (is_of_other or _is_on(claim, record, direction)):
        return f"is on {claim.drug}, which its quote is not"
    is_order = addressed_to_machines(claim.quote) or tells_what_to_do(claim.quote) or quote.endswith("?")
    if is_order or (quote in plain(record.content) and quote not in plain(visible(set_aside(record.content)))):
        return "quotes an order or a question, which reports nothing"

    # Only whole sentences, and neither the record's aim nor the background before its methods.
    location = locate(claim.quote, record)
    if location is None:
        return "quotes a part of a sentence"
    is_reported_late = record.trial is not None or not {"M", "R"}.isdisjoint(location.before)
    no_result = "A" if is_reported_late else "AB"  # zones: aim, background
    if claim.stance != "neutral" and not is_full_text(location.passage.section) and location.zones <= set(no_result):
        return "quotes an aim or what was known before, which is no result"
    return location.passage


def locate(quote: str, record: Evidence, *, is_whole: bool = True) -> Located | None:
    """Locate a quote in title, text or full text; None if it is not there or runs from one into another.

    With `is_whole` it must consist of whole sentences or rows; otherwise those that hold it are returned.
    """
    section = find_section(record, quote, plain)
    if section is None:
        return None
    place = next((part for part in places(record) if part.title == section), None)
    page = Document.cut("", place.text) if place else Document.of(record)
    spans = list_spans(page)
    texts = [page.whole[start:end] for start, end, _ in spans]
    run = find_quoted(plain(quote), texts) if is_whole else _find_holding(plain(quote), texts)
    if run is None:
        return None
    chosen = spans[run]
    titles = {sentence.headed == "title" for _, _, sentence in chosen}
    if len(titles) > 1:
        return None
    start = chosen[0][0]
    end = chosen[-1][1]
    passage = QuotedPassage(text=page.whole[start:end], section=section, start=start, end=end)
    zones = frozenset(sentence.zone for _, _, sentence in chosen)
    before = frozenset(sentence.zone for _, _, sentence in spans[: run.start])
    return Located(passage, zones, before)


def _find_holding(quote: str, texts: Sequence[str]) -> slice | None:
    """Return the shortest run of sentences that holds a quote, of several the first; None if none does."""
    sentences = list(map(plain, texts))
    for size in range(1, MAX_QUOTED + 1):
        for start in range(len(sentences)):
            run = slice(start, start + size)
            if quote in " ".join(sentences[run]):
                return run
    return None


def _is_on(claim: Claim, record: Evidence, direction: Direction | None) -> bool:
    """Whether a quote names the drug, its class in a record read for it, or no drug there or of a title that does."""
    drug = canonical_drug(claim.drug) or claim.drug.casefold()
    in_quote, in_title = (find_named_drugs(text, claim.drug, record) for text in (claim.quote, record.citation.title))
    misspelt = get_close_matches(drug, plain(claim.quote).split(), 1, ALIKE)
    if drug in in_quote or (misspelt and canonical_drug(misspelt[0]) is None):
        return True
    if direction and any(is_class_member(drug, name) for name, *_ in Document.cut("", claim.quote).classes):
        return True
    return not in_quote & in_title if drug in in_title else not in_quote and direction is not None


def find_named_drugs(text: str, drug: str, record: Evidence) -> set[str]:
    """Find the drugs named in a text, one of them also as it was asked about, all by the record's abbreviations."""
    names = {
        **_find_short_names(Document.of(record)),
        drug.casefold(): canonical_drug(drug) or drug.casefold(),
    }
    words = set(re.findall(r"[\w-]+", text.casefold()))
    drugs = {name for name, *_ in Document.cut("", text).drugs}
    for name, own_drug in names.items():
        if name in words or (" " in name and name in plain(text)):
            drugs.add(own_drug)
    return drugs


def _find_short_names(document: Document) -> Mapping[str, str]:
    """Find a record's abbreviations for drugs, in lower case."""
    names = ((document.whole[start:end], name) for name, start, end in document.drugs)
    return {
        text.casefold(): name
        for text, name in names
        if text.isupper() and len(text) <= MAX_SHORT_NAME and text.casefold() != name
    }


def _remove_heading(text: str) -> str:
    """Remove a heading in capitals or of one word; other words before a colon restrict what follows."""
    heading, _, rest = text.partition(":")
    is_heading = " " not in heading.strip() and find_heading_role(text, 0) not in (None, "method")
    return rest.strip() if is_heading or (heading.isupper() and len(heading) <= MAX_HEADING_CHARACTERS) else text


def list_spans(document: Document) -> list[tuple[int, int, Sentence]]:
    """Return the offsets of sentences, each with the reader's own, which goes on after "aged 17." and "10 mg/d."."""
    spans = []
    for sentence in document.sentences:
        start = sentence.start
        for gap in _UNSPLIT.finditer(document.whole, sentence.start, sentence.end):
            spans.append((start, gap.start(1), sentence))
            start = gap.end(1)
        spans.append((start, sentence.end, sentence))
    return spans


def find_quoted(quote: str, whole: Sequence[str]) -> slice | None:
    """Return which sentences form a quote, normalised by `plain`; None if it is not made of whole ones."""
    plainly = [(plain(sentence), plain(_remove_heading(sentence))) for sentence in whole]
    for first, begins in enumerate(plainly):
        for last in range(first + 1, len(whole) + 1):
            after = [sentence for sentence, _ in plainly[first + 1 : last]]
            joined = " ".join([begins[0], *after])
            if quote.rstrip(".") in (joined.rstrip("."), " ".join([begins[1], *after]).rstrip(".")):
                return slice(first, last)
            if len(joined) > len(quote) + MAX_HEADING_CHARACTERS:
                break
    return None


def plain(text: str) -> str:
    """Normalise a text for comparison: NFKC, single spaces, plain quotes and dashes, lower case, nothing invisible."""
    folded = unicodedata.normalize("NFKC", visible(text)).translate(_FOLDED)
    return " ".join(folded.split()).casefold()
