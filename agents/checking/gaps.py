"""What a model says is missing, held to what was read: a gap that the records fill is none."""

import re
from collections.abc import Iterable, Mapping, Set
from typing import Literal

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.lexicon.matching import cue_regex
from willowbark.tools.reading.text import plain

Aspect = Literal["results", "harms", "registered trials"]
"""What may be said to be missing: a drug's results, its harms; the run's registered trials."""
_CLAUSE = re.compile(r"[;:]\s|\.\s|\.$")
_POSSESSIVE = re.compile(r"['’]s?\b")


def list_read(candidates: Iterable[Candidate], registered: int) -> dict[str, Set[Aspect]]:
    """List what was read of each drug that has anything, and by an empty name what was read at all.

    Args:
        candidates: all drugs on which records were found.
        registered: number of registered trials that were read.
    """
    read = dict[str, Set[Aspect]]({"": {"registered trials"} if registered else set()})
    for candidate in candidates:
        aspects = set[Aspect]()
        if any(record.item.is_telling and not record.item.retracted for record in candidate.records):
            aspects.add("results")
        if count_harms(candidate):
            aspects.add("harms")
        if aspects:
            read[candidate.drug] = aspects
    return read


def count_harms(candidate: Candidate) -> int:
    """Count the records that tell of a drug's harms: as results of a study, or in groups that got it."""
    arms = {record.key: record.study.arms for record in candidate.records}
    with_harms = {key for key, groups in arms.items() for arm in groups if arm.harms and candidate.drug in arm.drugs}
    told = {record.key for record in candidate.records if record.harm_told}
    return len(with_harms | told)


def find_false_gap(text: str, read: Mapping[str, Set[Aspect]]) -> str:
    """Return what of a sentence on what is missing was read after all, as "harms of ondansetron"; empty if nothing.

    Only what can be looked up counts: harms of a drug, all results of a drug, registered trials. A gap that says more,
    as "ondansetron against placebo in children", is left to the checker.

    >>> find_false_gap("Missing: aprepitant, harms of ondansetron.", {"ondansetron": {"results", "harms"}})
    'harms of ondansetron'
    >>> find_false_gap("Missing: ondansetron against haloperidol.", {"ondansetron": {"results", "harms"}})
    ''
    """
    for clause in _CLAUSE.split(plain(text)):
        if not find_drugs(clause):
            is_of_registry = cue_regex("registered trials missing", __package__).search(clause)
            if is_of_registry and "registered trials" in read.get("", ()):
                return "registered trials"
            continue
        items = clause.split(", ")
        of_harms = [item for item in items if cue_regex("harms missing", __package__).search(item)]
        of_results = ", ".join(item for item in items if item not in of_harms)
        there = _find_read("harms", ", ".join(of_harms), read)
        if not there and _names_drugs_alone(of_results):
            there = _find_read("results", of_results, read)
        if there:
            return there
    return ""


def hold_gaps(gaps: Iterable[str], read: Mapping[str, Set[Aspect]]) -> list[str]:
    """Return the gaps that nothing read fills."""
    return [gap for gap in gaps if not find_false_gap(gap, read)]


def _find_read(aspect: Aspect, text: str, read: Mapping[str, Set[Aspect]]) -> str:
    """Return the first drug of a text of which an aspect was read, as "harms of ondansetron"; empty for none."""
    there = [mention.name for mention in find_drugs(text) if aspect in read.get(mention.name, ())]
    return f"{aspect} of {there[0]}" if there else ""


def _names_drugs_alone(text: str) -> bool:
    """Whether a text says of drugs that they, or results of them, are missing, and nothing narrower."""
    left = text
    for mention in reversed(find_drugs(text)):
        left = f"{left[: mention.start]} {left[mention.end :]}"
    left = cue_regex("only missing", __package__).sub(" ", _POSSESSIVE.sub(" ", left))
    return re.search(r"\w", left) is None
