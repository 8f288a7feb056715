"""By which names a record's trial is known, so that one trial counts once however often and however it was published.

| name | from |
|---|---|
| registry number | the record's own, its registration, its text, the registry's list of results; any registry's |
| acronym | the registry; spelt out; called a trial in the title; "patients of the X trial". "MERIT HF" is "MERIT-HF" |
| first author with participants | randomised trials of `TELLING_SIZE` people or more |
| first author, participants and figures | randomised trials of any size that share `TELLING_FIGURES` figures or more |

A hint is an acronym that a title only mentions: it counts where another record is known by it. A review has no trial of
its own; the trials that it names are what it holds.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..reading.numbers import list_figures
from ..reading.reading import RANDOMISED, StudyDesign
from ..reading.text import says
from ..records.evidence import Evidence, checked_identifier
from ..sources.publications import find_trial_acronyms
from .identity import list_named_trials

TELLING_SIZE = 100
"""Participants; of 13 pairs of labelled trials with one first author and as many people, 12 were one trial."""
TELLING_FIGURES = 3
_LONGEST_NAME = 40
_MOST_INITIALS = 4
_SHORTEST_HINT = 5  # letters; shorter capitals in titles are mostly abbreviations
_OF_ONE_STUDY = RANDOMISED | {StudyDesign.cohort, StudyDesign.registry_entry}
_HINT = re.compile(r"\b[A-Z][A-Z\d]+(?:[- ](?:[A-Z][A-Z\d]+|[A-Z][a-z]+ed|[A-Z][a-z]+us))?\b")
_NUMBER = re.compile(r"NCT\d{8}")
_OTHER_NUMBER = re.compile(
    r"\b(?:(?P<registry>ISRCTN|ACTRN|DRKS|UMIN|KCT|IRCT|TCTR|PACTR|jRCTs?|NTR|ChiCTR)[- ]?(?:[A-Z]{2,4}-)?"
    r"(?P<number>\d[\dN]{3,16})|(?P<european>20\d\d-\d{6}-\d\d)|CTRI/(?P<indian>\d{4}/\d\d\d?/\d{6}))\b"
)
"""Numbers of registries of the WHO's platform beside ClinicalTrials.gov, as abstracts write them."""
_YEAR = re.compile(r"(?:19|20)\d\d$")
_AFTER_NAME = re.compile(r"(?:SUB)?(?:TRIAL|STUDY)$")


class TrialNames(NamedTuple):
    """The trial that a record reports."""

    names: tuple[str, ...] = ()
    """Of one trial, the most telling first; empty if it reports none or several, or does not say."""
    hints: tuple[str, ...] = ()
    """Acronyms in its title that count where another record is known by them."""
    pools: tuple[str, ...] = ()
    """Of several trials that are analysed together."""
    holds: tuple[str, ...] = ()
    """Of the trials that a review names."""
    is_secondary: bool = False
    """Whether it says that it is a substudy or a secondary analysis."""


def trial_key(name: str) -> str:
    """Write a name of a trial so that its spellings are one.

    >>> [trial_key(name) for name in ("MERIT HF", "Merit-HF trial", "SENIORS 2005", "NCT01112005")]
    ['MERITHF', 'MERITHF', 'SENIORS', 'NCT01112005']
    """
    letters = "".join(letter for letter in name.upper() if letter.isalnum())
    if _NUMBER.fullmatch(letters):
        return letters
    return _YEAR.sub("", _AFTER_NAME.sub("", letters)) or letters


def name_trial(record: Evidence, design: StudyDesign, participants: int | None = None) -> TrialNames:
    """Find the names of the trial that a record reports, of those it pools, or of those that a review holds."""
    title = record.citation.title
    is_secondary = says("secondary report", title) is not None
    own = record.record.nct_id
    if own:
        acronym = record.trial.acronym if record.trial else None
        return TrialNames(names=(own, acronym) if acronym else (own,), is_secondary=is_secondary)
    numbers = list(list_named_trials(record))
    others = find_other_numbers(f"{title}\n{record.content}")
    acronyms = find_trial_acronyms(title, record.content)
    if design not in _OF_ONE_STUDY:
        is_review = design is StudyDesign.systematic_review
        return TrialNames(holds=tuple(sorted({*numbers, *others, *acronyms}))) if is_review else TrialNames()
    linked = (str(key).partition(":")[2] for key in record.metadata.get("linked_trials", ()))
    numbers += [number for number in map(_check_number, linked) if number]
    numbers = _join_registries(sorted(set(numbers)), others)
    in_title = find_trial_acronyms(title, "")
    own_names = in_title or acronyms
    names = numbers + (own_names if len(own_names) == 1 else []) if numbers else own_names
    is_pooled = len(set(map(_find_registry, numbers))) < len(numbers)
    if is_pooled or (not numbers and len(names) > 1):
        return TrialNames(pools=tuple(sorted(numbers or names)), is_secondary=is_secondary)
    by_author = _name_by_author(record, participants) if design in RANDOMISED else ()
    hints = tuple(dict.fromkeys(hint for hint in _HINT.findall(title) if len(hint) >= _SHORTEST_HINT))
    return TrialNames((*names, *by_author), hints, is_secondary=is_secondary)


def find_other_numbers(text: str) -> list[str]:
    """List the numbers that registries other than ClinicalTrials.gov gave the trials of a text, in order.

    >>> find_other_numbers("ISRCTN 12345678, EudraCT 2010-012345-12, ChiCTR-TRC-09000514.")
    ['ISRCTN12345678', 'EudraCT2010-012345-12', 'ChiCTR09000514']
    """
    numbers = list[str]()
    for hit in _OTHER_NUMBER.finditer(text):
        if hit["european"]:
            numbers.append(f"EudraCT{hit['european']}")
        elif hit["indian"]:
            numbers.append(f"CTRI{hit['indian']}")
        else:
            numbers.append(f"{hit['registry']}{hit['number']}")
    return list(dict.fromkeys(numbers))


def _find_registry(number: str) -> str:
    return number.rstrip("0123456789-/N") or number


def _join_registries(numbers: list[str], others: Sequence[str]) -> list[str]:
    """Return all numbers of a trial that several registries list; those of ClinicalTrials.gov alone if it has more."""
    return numbers if len(numbers) > 1 else [*numbers, *others]


def _check_number(number: str) -> str | None:
    return checked_identifier("nct_id", number)


def _name_by_author(record: Evidence, participants: int | None) -> tuple[str, ...]:
    """Name a trial by its first author and participants, and also by its figures where there are enough of them."""
    author = next(iter(record.citation.authors), "")
    *words, initials = author.split() or [""]
    plain_words = "".join(words).replace("-", "").replace("'", "").isalpha()
    is_name = initials.isupper() and len(initials) <= _MOST_INITIALS and len(author) <= _LONGEST_NAME
    if not (plain_words and is_name and participants):  # "van den Berg JA", not a group's or a sponsor's name
        return ()
    person = f"{' '.join(words)} {initials[0]}, {participants:,} participants"
    names = [person] if participants >= TELLING_SIZE else []
    results = sorted(set(list_figures(record.content)))
    return (*names, f"{person}, {'; '.join(results)}") if len(results) >= TELLING_FIGURES else tuple(names)
