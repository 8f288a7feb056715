"""MeSH's tree of diseases: which condition is a form of which, under any of their names.

| one | other | relation of the one to the other |
|---|---|---|
| two names of one condition | | same |
| its tree number begins with the other's | | narrower |
| the same, below a heading such as "Diabetes Complications"; or the heading is that of a wider one | | complication |
| the other's tree number begins with its own | | wider |
| both in the tree, none of these | | other |
| one of them is not in the tree | its words among the other's, which end alike | narrower, wider |

MeSH is the National Library of Medicine's (https://www.nlm.nih.gov/mesh/); `mesh_tree.tsv` says how it came here.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from .conditions import canonical_condition, condition_synonyms, find_known_conditions, name_essence
from .matching import Mention, PhraseIndex, merge_mentions, phrase_key, read_table, split_names, stems

Relation = Literal["same", "narrower", "wider", "complication", "other"]
_COMPLICATIONS = "complications"
"""Last word of headings below which stand what a disease leads to, not its forms."""


_PLURAL = re.compile(r"[^ius]s$")


class _Tree(NamedTuple):
    phrases: PhraseIndex
    """Descriptor by each of its names."""
    numbers: Mapping[str, tuple[str, ...]]
    """Tree numbers of each descriptor."""
    of_complications: frozenset[str]
    """Tree numbers of headings of complications."""


@cache
def _load_tree() -> _Tree:
    rows = read_table("mesh_tree.tsv")
    spelt = {phrase_key(name): row["name"] for row in rows for name in split_names(row["also"])}
    spelt |= {phrase_key(row["name"]): row["name"] for row in rows}
    for key in list(spelt):  # the package has the plural alone of some names, and no plural of others
        spelt.setdefault(key[:-1] if _PLURAL.search(key) else f"{key}s", spelt[key])
    numbers = {row["name"]: split_names(row["tree"]) for row in rows}
    headings = (name for name in numbers if name.endswith(_COMPLICATIONS) and " and " not in name)
    of_complications = frozenset(number for name in headings for number in numbers[name])
    return _Tree(PhraseIndex(spelt), numbers, of_complications)


def find_in_tree(text: str) -> list[Mention]:
    """Find the conditions that a text names, the lexicon's and MeSH's, the longer name of two first.

    >>> [found.name for found in find_in_tree("Treatment of Polycystic Ovary Syndrome and MALT Lymphoma")]
    ['polycystic ovary syndrome', 'lymphoma, b-cell, marginal zone']
    """
    known = find_known_conditions(text)
    of_mesh = list(_load_tree().phrases.find(text))
    longer = [found for found in of_mesh if not any(_holds(other, found) for other in known)]
    shorter = [found for found in known if not any(_is_longer(other, found) for other in longer)]
    return merge_mentions(shorter, longer)


def _holds(outer: Mention, inner: Mention) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _is_longer(outer: Mention, inner: Mention) -> bool:
    return _holds(outer, inner) and outer.end - outer.start > inner.end - inner.start


@lru_cache(maxsize=4096)
def tree_numbers(name: str) -> frozenset[str]:
    """Return the tree numbers of a condition under any of its names; empty if MeSH has none of them.

    A wider descriptor that the lexicon lists among a condition's names is not its own: sleep disorders for insomnia.

    >>> sorted(tree_numbers("insomnia"))
    ['C10.886.425.800.800', 'F03.870.400.800.800']
    """
    own = frozenset(_numbers_of(canonical_condition(name) or name))
    found = set(own)
    for synonym in condition_synonyms(name):
        numbers = _numbers_of(synonym)
        if not any(_is_below(number, wider) for number in own for wider in numbers):
            found.update(numbers)
    return frozenset(found)


def _numbers_of(name: str) -> tuple[str, ...]:
    tree = _load_tree()
    return tree.numbers.get(tree.phrases.get(name) or "", ())


def _is_below(number: str, wider: str) -> bool:
    return number.startswith(f"{wider}.")


def relation_of(one: str, other: str) -> Relation:
    """Return what one condition is to another, by the table above; names that tell nothing are `other`.

    >>> relation_of("major depressive disorder", "depression"), relation_of("depression", "mood disorders")
    ('narrower', 'narrower')
    >>> relation_of("diabetic nephropathy", "diabetes"), relation_of("portal hypertension", "hypertension")
    ('complication', 'other')
    """
    names = [canonical_condition(each) or phrase_key(each) for each in (one, other)]
    if names[0] == names[1] or name_essence(one) == name_essence(other):
        return "same"
    numbers = tree_numbers(one)
    others = tree_numbers(other)
    if not (numbers and others):
        return _relation_by_words(one, other)
    if numbers & others:
        return _compare_shared(numbers, others)
    steps = set(_steps_between(numbers, others))
    if steps:
        return "narrower" if "narrower" in steps else "complication"
    if any(_is_below(number, own) for number in others for own in numbers):
        return "wider"
    return "complication" if any(_is_led_to(number, other) for number in numbers for other in others) else "other"


def _is_led_to(number: str, cause: str) -> bool:
    """Whether a number stands below the complications of a condition that is wider than the cause."""
    above = (
        complication for complication in _load_tree().of_complications if f"{number}.".startswith(f"{complication}.")
    )
    return any(f"{cause}.".startswith(f"{heading.rpartition('.')[0]}.") for heading in above)


def _compare_shared(numbers: frozenset[str], others: frozenset[str]) -> Relation:
    if numbers < others:
        return "narrower"
    return "wider" if numbers > others else "same"


def _steps_between(numbers: frozenset[str], wider: frozenset[str]) -> Iterator[Relation]:
    """Yield for each way down the tree whether it leads through a heading of complications."""
    headings = _load_tree().of_complications
    for top in wider:
        for number in numbers:
            if _is_below(number, top):
                is_through = any(
                    _is_below(heading, top) and f"{number}.".startswith(f"{heading}.") for heading in headings
                )
                yield "complication" if is_through else "narrower"


def _relation_by_words(one: str, other: str) -> Relation:
    """Compare names that MeSH lacks: "steroid-resistant asthma" is a form of asthma, "asthma score" is not."""
    words = stems(one)
    others = stems(other)
    if not (words and others):
        return "other"
    if set(others) < set(words) and words[-1] == others[-1]:
        return "narrower"
    return "wider" if set(words) < set(others) and words[-1] == others[-1] else "other"
