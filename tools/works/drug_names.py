"""Research codes of drugs, as registered trials give them beside other names: a lexicon has few of them."""

import re
from collections.abc import Iterable, Mapping, Sequence

from ..lexicon import canonical_drug
from ..lexicon.codes import write_code_pattern
from ..records.evidence import Evidence

MOST_CODES = 3  # of a drug: sources take queries by GET
FEWEST_DIGITS = 3  # of a code that is looked for in texts
_CODE = re.compile(r"[A-Z]{1,6}[- ]?\d[\d-]*[A-Za-z]?")
"""A research code such as BAY 94-8862 or LY2484595; brands and descriptions of doses are none."""


def is_code(name: str) -> bool:
    """Whether a name has the form of a research code, and no drug is known by it."""
    return _CODE.fullmatch(name) is not None and canonical_drug(name) is None


def find_codes(records: Iterable[Evidence]) -> dict[str, list[str]]:
    """Map drugs to the research codes by which registered trials call them; those known without are left out.

    Args:
        records: of any kind; a trial's interventions say which names are one drug's.
    """
    by_drug = dict[str, list[str]]()
    for record in records:
        for entry in record.trial.interventions if record.trial else ():
            names = [entry.get("name", ""), *(entry.get("other_names") or ())]
            drugs = {drug for name in names if (drug := canonical_drug(name)) is not None}
            if len(drugs) != 1:  # a combination, or nothing known
                continue
            own = by_drug.setdefault(drugs.pop(), [])
            own += [name for name in names if _CODE.fullmatch(name) and name not in own]
    return {drug: codes[:MOST_CODES] for drug, codes in by_drug.items() if codes}


def note_codes(records: Sequence[Evidence]) -> list[Evidence]:
    """Note on publications the drugs that they name by a research code which a registered trial among them explains.

    Args:
        records: all that a run found, so that a trial found last explains what came first.
    """
    drugs = _find_drugs_of_codes(records)
    return [_note_codes_of(record, drugs) for record in records] if drugs else list(records)


def _find_drugs_of_codes(records: Iterable[Evidence]) -> dict[str, str]:
    """Map codes to their drugs; short ones (D3, CD4) and those of several drugs tell nothing."""
    owners = dict[str, set[str]]()
    for drug, codes in find_codes(records).items():
        for code in codes:
            owners.setdefault(code, set()).add(drug)
    long = {code: owner for code, owner in owners.items() if sum(map(str.isdecimal, code)) >= FEWEST_DIGITS}
    return {code: next(iter(owner)) for code, owner in long.items() if len(owner) == 1 and canonical_drug(code) is None}


def _note_codes_of(record: Evidence, drugs: Mapping[str, str]) -> Evidence:
    if record.paper is None:
        return record
    text = f"{record.citation.title}\n{record.content}"
    codes = {code: drug for code, drug in drugs.items() if write_code_pattern(code).search(text)}
    return record.noting(drug_codes=codes) if codes else record
