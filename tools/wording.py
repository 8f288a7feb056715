"""Counts, lists and names in words."""

import difflib
import re
from collections.abc import Iterable, Sequence

LONGEST = 90  # characters of a condition or drug name in a sentence


def counted(number: int, noun: str) -> str:
    """Write a number with its noun, in the plural if needed.

    >>> counted(1, "record"), counted(2, "cohort study"), counted(3, "case series"), counted(0, "search")
    ('1 record', '2 cohort studies', '3 case series', '0 searches')
    >>> counted(2, "query"), counted(1204, "registry entry")
    ('2 queries', '1,204 registry entries')
    """
    if number == 1 or noun.endswith("series"):
        return f"{number:,} {noun}"
    first, of, rest = noun.partition(" of ")
    return f"{number:,} {_plural(first)}{of}{rest}"


def _plural(noun: str) -> str:
    if noun.endswith(("dy", "ry")):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("ch") else f"{noun}s"


def short(text: str, most: int = LONGEST) -> str:
    """Shorten a text to one line of at most `most` characters, cut between words if possible."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rpartition(' ')[0] or line[: most - 1]}…"


def capital(text: str) -> str:
    """Capitalise the first letter of a sentence; leave the others."""
    return text[:1].upper() + text[1:]


def listed(names: Sequence[str], most: int = 4) -> str:
    """List names in a sentence; those beyond the limit are counted, unless there is just one.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=3), listed(list("abcde"), most=3)
    ('a', 'a, b and c', 'a, b, c and d', 'a, b, c and 2 more')
    """
    first_ones = list(names[:most])
    if len(names) == most + 1:
        first_ones = list(names)
    elif len(names) > most:
        return f"{', '.join(first_ones)} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(first_ones[:-1]), *first_ones[-1:])))


def as_spelt(name: str, text: str) -> str:
    """Write a name with the capitals it has in a text.

    >>> as_spelt("long covid", "What helps in long COVID?"), as_spelt("migraine", "What helps?")
    ('long COVID', 'migraine')
    """
    match = re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE)
    return match[0] if match else name


def nearest(name: str, names: Iterable[str]) -> str:
    """Suggest the known name closest to an unknown one, in brackets to append to a message.

    >>> nearest("pubmd", ["pubmed", "chembl"])
    " (did you mean 'pubmed'?)"
    """
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""
