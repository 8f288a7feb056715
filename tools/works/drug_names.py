"""Research codes of drugs, as registered trials give them beside other names: a lexicon has few of them."""

import re
from collections.abc import Iterable

from ..lexicon import canonical_drug
from ..records.evidence import Evidence

MOST_CODES = 3  # of a drug: sources take queries by GET
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
