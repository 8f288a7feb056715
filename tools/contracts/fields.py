"""The fields that Willowbark reads of the sources' replies, and what of them a reply lacks or holds in another form.

A parser takes what is missing for "not reported", since most fields of most records are; so a field that a source has
renamed shows only in the reply to a question whose answer is known.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from ..lexicon.matching import read_table, split_names
from .documents import TEXT, Elements

_SHOWN = 60  # characters of an unknown code in a message


@dataclass(frozen=True, slots=True)
class ReadField:
    """A field of a source's reply."""

    reply: str
    """Glob of the request's path and what was sent."""
    path: str
    """Steps from the top, such as `results[].openfda.generic_name[]`."""
    form: str
    """`text`, `number`, `flag`, `list`, or `=` and the name of a list of codes."""
    due: str
    """`yes`, `public` (not in recorded replies, which are shorter) or `no` (an entry may lack it)."""

    @property
    def steps(self) -> Sequence[str]:
        return self.path.split(".")

    def fits(self, request: str) -> bool:
        """Whether a request, its path and what was sent, is answered with this field."""
        return fnmatchcase(request, f"*/{self.reply}")


class Breach(NamedTuple):
    """A field that is not as it is due."""

    field: str
    problem: str

    def __str__(self) -> str:
        return f"{self.field} {self.problem}"


@cache
def fields_of(source: str) -> Sequence[ReadField]:
    """Return the fields read of a source's replies; none for a source without a contract."""
    rows = read_table("fields.tsv", __package__)
    return [ReadField(row["reply"], row["path"], row["form"], row["due"]) for row in rows if row["source"] == source]


@cache
def _read_codes() -> Mapping[str, Sequence[str]]:
    return {row["name"]: split_names(row["codes"]) for row in read_table("codes.tsv", __package__)}


def find_breaches(fields: Iterable[ReadField], documents: Sequence[Any], *, is_public: bool) -> list[Breach]:
    """Return what is wrong with replies of one kind, each place once.

    A field is missing if none of the entries of any of the replies has it.

    Args:
        fields: due in these replies.
        documents: the replies, as plain data.
        is_public: whether they are of the public source, whose records are whole.

    >>> fields = [ReadField("studies", "studies[].nctId", "text", "yes")]
    >>> [str(each) for each in find_breaches(fields, [{"studies": [{"nctIdV2": "NCT1"}]}], is_public=True)]
    ['studies[].nctId is missing']
    """
    breaches = dict[str, Breach]()
    for field in fields:
        is_due = field.due == "yes" or (is_public and field.due == "public")
        breach = _follow(field, documents, is_due)
        if breach is not None:
            breaches.setdefault(breach.field, breach)
    return list(breaches.values())


def count_places(fields: Iterable[ReadField], documents: Sequence[Any]) -> dict[str, tuple[int, int]]:
    """Count, for each place on the way to a field, how many entries have it and how many could.

    >>> fields = [ReadField("studies", "studies[].nctId", "text", "yes")]
    >>> count_places(fields, [{"studies": [{"nctId": "NCT1"}, {}]}])
    {'studies': (1, 1), 'studies[].nctId': (1, 2)}
    """
    counts = dict[str, tuple[int, int]]()
    for field in fields:
        nodes = list(documents)
        place = ""
        for step in field.steps:
            name, bracket, rest = step.partition("[")
            if name:
                holders = [node for node in nodes if isinstance(node, dict)]
                place = f"{place}.{name}" if place else name
                nodes = [node[name] for node in holders if node.get(name) is not None]
                counts[place] = len(nodes), len(holders)
            if bracket:
                place = f"{place}{bracket}{rest}"
                nodes = _open_lists(nodes)
            else:
                nodes = [node[0] if isinstance(node, list) and node else node for node in nodes]
    return counts


def _follow(field: ReadField, documents: Sequence[Any], is_due: bool) -> Breach | None:
    """Walk to a field; return what is wrong on the way or with its values."""
    nodes = list(documents)
    place = ""
    for step in field.steps:
        name, bracket, rest = step.partition("[")
        mark = bracket + rest
        if name:
            if any(not isinstance(node, dict) for node in nodes):
                return Breach(place or "the reply", "is not an object")
            place = f"{place}.{name}" if place else name
            nodes = [node[name] for node in nodes if node.get(name) is not None]
        if not nodes:
            return Breach(place, "is missing") if is_due else None
        if not mark:
            if any(isinstance(node, list) and not _is_single_element(node) for node in nodes):
                return Breach(place, "is a list where one value was due")
            nodes = [node[0] if isinstance(node, list) else node for node in nodes]
            continue
        if mark == "[]" and any(not isinstance(node, list) for node in nodes):
            return Breach(place or "the reply", "is no list where one was due")
        nodes = _open_lists(nodes)
        place = f"{place}{mark}"
        if not nodes:
            return Breach(place, "is an empty list") if is_due else None
    return _check_values(field, place, nodes)


def _open_lists(nodes: Sequence[Any]) -> list[Any]:
    """Return the entries of lists in their place; what is no list stays."""
    entries: list[Any] = []
    for node in nodes:
        entries += node if isinstance(node, list) else [node]
    return entries


def _is_single_element(node: Any) -> bool:
    return isinstance(node, Elements) and len(node) == 1


def _check_values(field: ReadField, place: str, values: Iterable[Any]) -> Breach | None:
    for value in values:
        bare = value.get(TEXT) if isinstance(value, dict) and TEXT in value else value
        problem = _check_form(field.form, bare)
        if problem:
            return Breach(place, problem)
    return None


def _check_form(form: str, value: Any) -> str:
    """Say what is wrong with a value; empty if nothing is."""
    if form.startswith("="):
        is_known = value in _read_codes()[form[1:]]
        return "" if is_known else f"holds {str(value)[:_SHOWN]!r}, a code that is not known here"
    if form == "list":
        return "" if isinstance(value, list) else "is no list where one was due"
    if isinstance(value, list | dict):
        return f"is {'a list' if isinstance(value, list) else 'an object'} where a {form} was due"
    if form == "flag":
        return "" if isinstance(value, bool) else "is neither true nor false"
    if form == "number" and not _is_number(value):
        return "is no number"
    return ""


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
