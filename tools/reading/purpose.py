"""Whether a record uses a drug to prevent attacks or events, or to treat one that is there.

A drug that ends an attack is no answer to a question about preventing them, however effective. What counts is said
where the drug is named: in the title, and in the sentences that name it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from .text import sentences

Purpose = Literal["prevention", "relief", "unknown"]

_PREVENTS = re.compile(
    r"\bprevent\w*|\bprophyla\w*|\bmaintenance\b|\b(?:attack|seizure|relapse|episode|headache|migraine|exacerbation) "
    r"(?:frequency|rates?|days|index|free)|\bfrequency of (?:\S+ ){0,4}(?:attacks?|episodes?|headaches?|migraines?|"
    r"seizures?|exacerbations?)|\bnumber of (?:\S+ ){0,3}(?:attacks|headaches|migraines|episodes|exacerbations|"
    r"relapses|"
    r"days with)|\b(?:attacks|days|episodes|headaches|migraines|relapses|exacerbations) (?:per|a|each|every|/)\s?"
    r"(?:month|year|week|4 weeks|28 days)|\bmonthly (?:\w+ )?(?:attacks|migraines?|headaches?|days|frequency)|"
    r"(?<!headache )\brecurren\w*|\brelaps\w*|\brebleed\w*|\breblee?d\w*|\bfirst (?:\w+ ){0,2}(?:ble\w+|"
    r"h(?:a)?emorrhage|episode|event)|\bincidence\b|\brisk of\b|\btime to (?:first|next)|"
    r"\bsecondary (?:prevention|prophylaxis)|"
    r"\b(?:fewer|number of) (?:\w+ )?(?:attacks|episodes|headaches|migraines|relapses|seizures)|-free days\b",
    re.IGNORECASE,
)
_RELIEVES = re.compile(
    r"\bacute(?:ly)?\b(?! (?:coronary|myocardial|kidney|lymph|myel|leuk|stress|care))|\babort\w*|\brescue\b|"
    r"\b(?:treatment|relief|therapy|management) of (?:an? |the |single |established |moderate |severe )*"
    r"(?:attacks?|episodes?|migraine pain|headache pain|exacerbations?)|"
    r"\battacks? (?:was |were )?(?:\w+ )?treated\b|\btreat(?:ed|ing)? (?:\w+ ){0,3}(?:attacks?|episodes?)|"
    r"\bwithin \w+ (?:hours?|minutes?|h|min)\b|\b(?:at|after|by) (?:\d+|two|four|one) (?:hours?|h|minutes?|min)\b|"
    r"\b(?:pain|headache)[- ](?:free|relief|response)\b|\bheadache (?:recurrence|relief|response)|"
    r"\bduring (?:the |an? )?(?:\w+ )?(?:attacks?|aura|episode)\b|\bearly treatment\b|\bpain relief\b|"
    r"\bonset of action\b",
    re.IGNORECASE,
)
_TITLE_WEIGHT = 3  # a title that names the drug says what it was used for
_SHORT = 5  # letters: a name so short stands as a whole word only
_BOTH = 2.0  # how much one purpose must outweigh the other


@lru_cache(maxsize=2048)
def purpose_of(title: str, text: str, names: tuple[str, ...]) -> Purpose:
    """Tell what a record uses a drug for.

    Args:
        title: the record's title.
        text: its abstract.
        names: the drug's names; where no sentence names it, all are read.

    >>> purpose_of("Sumatriptan in acute migraine", "It gave relief at 2 hours.", ("sumatriptan",))
    'relief'
    """
    whole = f"{title}\n{text}".lower()
    body, named = (
        sentences(text),
        _pattern(tuple(each for each in names if not each.isascii() or each.lower() in whole)),
    )
    if named.search(title) and _RELIEVES.search(title) and not _PREVENTS.search(title):
        return "relief"
    spoken: Sequence[str] = [s for s in body if named.search(s)] or body
    of_title = _TITLE_WEIGHT if named.search(title) else 1
    prevents = of_title * bool(_PREVENTS.search(title)) + sum(bool(_PREVENTS.search(s)) for s in spoken)
    relieves = of_title * bool(_RELIEVES.search(title)) + sum(bool(_RELIEVES.search(s)) for s in spoken)
    if not prevents and not relieves:
        prevents = sum(bool(_PREVENTS.search(s)) for s in body)
        relieves = sum(bool(_RELIEVES.search(s)) for s in body)
    if relieves and relieves >= _BOTH * prevents:
        return "relief"
    return "prevention" if prevents else "unknown"


@lru_cache(maxsize=512)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Any of the names: whole words, longer names also as the beginning of a word. Without names it finds nothing."""
    if not names:
        return re.compile("(?!)")
    parts = [re.escape(name) + ("" if len(name) > _SHORT else r"(?!\w)") for name in sorted(names, key=len)[::-1]]
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})", re.IGNORECASE)
