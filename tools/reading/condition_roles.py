"""What is counted of a condition in a record, for the head that tells which part the condition plays there."""

import math

import numpy as np

from ..lexicon.heads import Floats
from .view import View

FLAGS = 12
WIDTH = 384
"""Of a state of the encoder."""
_ZONES = "TABMRC"
_MANY = 8


def list_flags(view: View) -> list[float]:
    """Return where a view's condition is named, and beside what."""
    zones = view.document.zones
    places = [at for at, words in enumerate(view.sentences) if "COND" in words]
    own = [zones[at] for at in places]
    is_near_drug = any({"DRUG", "OTHER"} & set(view.sentences[at]) for at in places)
    names = {name for name, _, _ in view.document.conditions}
    return [
        *(own.count(zone) / 4 for zone in _ZONES),
        bool(places),
        0 in places and bool(view.document.title),
        len(view.sentences) - 1 in places,
        math.log1p(len(places)),
        is_near_drug,
        len(names) / _MANY,
    ]


def build_role_row(row: Floats, flags: list[float]) -> Floats:
    """Build the input of the head for roles from the row of the others: states of start and condition, and the rest."""
    parts = (row[:WIDTH], row[2 * WIDTH : 3 * WIDTH], row[5 * WIDTH :], np.array(flags, np.float32))
    return np.concatenate(parts)
