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
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, product
from typing import Literal, NamedTuple

from .conditions import canonical_condition, condition_synonyms, find_known_conditions, stem_name
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
    spelt: dict[str, str] = {}
    for row in rows:
        spelt |= {phrase_key(name): row["name"] for name in split_names(row["also"])}
    spelt |= {phrase_key(row["name"]): row["name"] for row in rows}
    for key in list(spelt):  # the package has the plural alone of some names, and no plural of others
        spelt.setdefault(key[:-1] if _PLURAL.search(key) else f"{key}s", spelt[key])
    numbers = {row["name"]: split_names(row["tree"]) for row in rows}
    headings = [name for name in numbers if name.endswith(_COMPLICATIONS) and " and " not in name]
    of_complications = frozenset(chain.from_iterable(numbers[name] for name in headings))
    return _Tree(PhraseIndex(spelt), numbers, of_complications)


def find_in_tree(text: str) -> list[Mention]:
    """Find the conditions that a text names, the lexicon's and MeSH's, the longer name of two first.

    >>> [found.name for found in find_in_tree("Treatment of Polycystic Ovary Syndrome and MALT Lymphoma")]
    ['polycystic ovary syndrome', 'lymphoma, b-cell, marginal zone']
    """
    in_lexicon = find_known_conditions(text)
    in_mesh = list(_load_tree().phrases.find(text))
    longer = [mention for mention in in_mesh if not _is_within_any(mention, in_lexicon)]
    shorter = [mention for mention in in_lexicon if not _is_outdone(mention, longer)]
    return merge_mentions(shorter, longer)


def _is_within_any(mention: Mention, others: Sequence[Mention]) -> bool:
    return any(_holds(other, mention) for other in others)


def _is_outdone(mention: Mention, others: Sequence[Mention]) -> bool:
    return any(_is_longer(other, mention) for other in others)


def _holds(outer: Mention, inner: Mention) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _is_longer(outer: Mention, inner: Mention) -> bool:
    return _holds(outer, inner) and outer.end - outer.start > inner.end - inner.start


@lru_cache(maxsize=4096)
def list_tree_numbers(name: str) -> frozenset[str]:
    """Return the tree numbers of a condition under any of its names; empty if MeSH has none of them.

    A wider descriptor that the lexicon lists among a condition's names is not its own: sleep disorders for insomnia.

    >>> sorted(list_tree_numbers("insomnia"))
    ['C10.886.425.800.800', 'F03.870.400.800.800']
    """
    own = frozenset(_get_numbers(canonical_condition(name) or name))
    all_numbers = set(own)
    for synonym in condition_synonyms(name):
        numbers = _get_numbers(synonym)
        if not any(_is_below(number, wider) for number, wider in product(own, numbers)):
            all_numbers.update(numbers)
    return frozenset(all_numbers)


def _get_numbers(name: str) -> tuple[str, ...]:
    tree = _load_tree()
    return tree.numbers.get(tree.phrases.get(name) or "", ())


def _is_below(number: str, wider: str) -> bool:
    return number.startswith(f"{wider}.")


def find_relation(one: str, other: str) -> Relation:
    """Return what one condition is to another, by the table above; names that tell nothing are `other`.

    >>> find_relation("major depressive disorder", "depression"), find_relation("depression", "mood disorders")
    ('narrower', 'narrower')
    >>> find_relation("diabetic nephropathy", "diabetes"), find_relation("portal hypertension", "hypertension")
    ('complication', 'other')
    """
    names = [canonical_condition(name) or phrase_key(name) for name in (one, other)]
    if names[0] == names[1] or stem_name(one) == stem_name(other):
        return "same"
    numbers = list_tree_numbers(one)
    others = list_tree_numbers(other)
    if not (numbers and others):
        return _compare_words(one, other)
    if numbers & others:
        return _compare_shared(numbers, others)
    steps = set(_find_steps(numbers, others))
    if steps:
        return "narrower" if "narrower" in steps else "complication"
    if any(_is_below(other, own) for other, own in product(others, numbers)):
        return "wider"
    if any(_is_led_to(number, other) for number, other in product(numbers, others)):
        return "complication"
    return "other"


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


def _find_steps(numbers: frozenset[str], wider: frozenset[str]) -> Iterator[Relation]:
    """Yield for each way down the tree whether it leads through a heading of complications."""
    headings = _load_tree().of_complications
    for top in wider:
        for number in numbers:
            if _is_below(number, top):
                is_through = any(
                    _is_below(heading, top) and f"{number}.".startswith(f"{heading}.") for heading in headings
                )
                yield "complication" if is_through else "narrower"


def _compare_words(one: str, other: str) -> Relation:
    """Compare names that MeSH lacks: "steroid-resistant asthma" is a form of asthma, "asthma score" is not."""
    words = stems(one)
    others = stems(other)
    if not (words and others):
        return "other"
    if set(others) < set(words) and words[-1] == others[-1]:
        return "narrower"
    return "wider" if set(words) < set(others) and words[-1] == others[-1] else "other"
