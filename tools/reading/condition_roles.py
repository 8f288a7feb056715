"""What is counted of a condition in a record, for the head that tells which part the condition plays there."""

import math

from .view import View

FLAGS = 12
_ZONES = "TABMRC"
_MANY = 8


def flag_condition(view: View) -> list[float]:
    """Return where a view's condition is named, and beside what."""
    zones = view.document.zones
    places = [at for at, words in enumerate(view.sentences) if "COND" in words]
    own = [zones[at] for at in places]
    is_beside_drug = any({"DRUG", "OTHER"} & set(view.sentences[at]) for at in places)
    names = {name for name, _, _ in view.document.conditions}
    return [
        *(own.count(zone) / 4 for zone in _ZONES),
        bool(places),
        0 in places and bool(view.document.title),
        len(view.sentences) - 1 in places,
        math.log1p(len(places)),
        is_beside_drug,
        len(names) / _MANY,
    ]
