"""The two values that a sentence sets side by side ("35 mm with A and 51 mm with B", "30% vs 45%")."""

import re

from .sides import Sides

_VALUE = r"(?P<{0}>-?\d+(?:,\d{{3}})*(?:\.\d+)?)"
_TAIL = (
    r"\s*(?:%|percent|per cent|[a-zA-Zµμ]{1,4}(?:/[a-zA-Z0-9.]{1,6}){0,2}|days?|hours?|weeks?|months?|"
    r"years?|minutes?|min|points?)?"
    r"\s*(?:(?:±|\+/-|\+-)\s*[\d.]+\s*%?\s*[a-zA-Z/%]{0,8})?\s*(?:[\[(][^()\[\]]{0,60}[\])])?\s*"
)
_PAIR = re.compile(
    _VALUE.format("first") + _TAIL + r",?\s*(?:vs?\.?|versus|compared (?:with|to)|as (?:compared|opposed) to|against|"
    r"than)\s*(?:[^\d.;]{0,60}?[\s(=:])?" + _VALUE.format("second"),
    re.IGNORECASE,
)
_LOOSE = re.compile(
    _VALUE.format("first")
    + _TAIL
    + r"[^\d;]{0,90}?\b(?:and|while|whereas|but|vs|versus|compared)\b[^\d;]{0,70}?"
    + _VALUE.format("second"),
    re.IGNORECASE,
)
_NOT_A_VALUE = re.compile(
    r"\b[np]\s*[=<>≤≥]\s*[\d.]+|\b(?:9[059]\s*%\s*)?(?:CI|confidence interval)\b[^;)\]]*|"
    r"\b(?:at|after|during|over|within|by|on|for)\s+(?:the\s+)?"
    r"(?:(?:day|week|month|year|hour)s?\s*\d+|\d+[-\s](?:day|week|month|year|hour|h|min)\w*)|"
    r"\b(?:day|week|month|year|group|phase|stage|grade|type|time|visit|dose|table|fig(?:ure)?)s?\s*\.?\s*\d+\b|"
    r"\b\d+[-\s](?:day|week|month|year|hour|min)s?\b(?= (?:of|after|follow|post|treat|period|trial|course))|"
    r"[A-Za-z]+-?\d+\b|\b\d+\s*(?:mg|mcg|μg|IU)\b",
    re.IGNORECASE,
)


_SHARE = re.compile(r"\b(?P<part>\d+)\s*(?:of|/|out of)\s*(?P<whole>\d+)\b")


def _as_percent(text: str, shares: list[re.Match[str]]) -> str:
    """Write `14 of 60` as a percentage of the same length, so that shares can be compared."""
    for share in shares:
        whole = int(share["whole"])
        if whole and int(share["part"]) <= whole:
            width = share.end() - share.start()
            percent = f"{100 * int(share['part']) / whole:.1f}"
            text = text[: share.start()] + percent.ljust(width)[:width] + text[share.end() :]
    return text


_ROW_VALUE = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")


def row_is_larger(row: str) -> tuple[bool | None, str] | None:
    """Compare the first two cells of a table row, the intervention's first as trial tables have it.

    Returns:
        Whether the first is the larger one (None: the row ends in a p value of 0.05 or more); None where it is no row.
    """
    cells = [cell.strip() for cell in row.split("\n") if cell.strip()]
    numbers = [cell for cell in cells if re.match(r"[<>=]?\s*[-+]?\.?\d", cell)]
    if len(numbers) < 2:
        return None
    last = re.fullmatch(r"(?:p\s*)?([<>=]?)\s*(0?\.\d+)\W{0,3}[a-z]?", numbers[-1], re.IGNORECASE)
    if last and (float(last[2]) > 0.05 or (last[1] == ">" and float(last[2]) >= 0.05)):
        return None, numbers[-1]
    values = [float(m.group().replace(",", "")) for cell in numbers[:2] if (m := _ROW_VALUE.search(cell))]
    if len(values) < 2 or values[0] == values[1]:
        return None
    return values[0] > values[1], f"{numbers[0]} and {numbers[1]}"


def first_is_larger(text: str, found: Sides) -> tuple[bool, str] | None:
    """Compare the two values of a sentence, the intervention's first.

    Returns:
        Whether the intervention's value is the larger one, and the words it was read from; None where there is no pair,
        or the two are equal.
    """
    hidden = _NOT_A_VALUE.sub(lambda m: "~" * len(m.group()), text)
    if shares := list(_SHARE.finditer(hidden))[:2]:
        hidden = _as_percent(hidden, shares)
    match = _PAIR.search(hidden) or _LOOSE.search(hidden)
    if not match:
        return None
    first, second = (float(match[name].replace(",", "")) for name in ("first", "second"))
    if first == second:
        return None
    larger = (first > second) != _comparator_first(match, found)
    return larger, text[match.start() : match.end()]


def _comparator_first(match: re.Match[str], found: Sides) -> bool:
    """Values stand in the order in which the sides are named."""
    if not found.intervention or not found.comparator:
        only = found.intervention or found.comparator
        if not only:
            return False
        near_first = min(abs(p - match.start("first")) for p in only)
        near_second = min(abs(p - match.end("second")) for p in only)
        is_first = near_first <= near_second
        return is_first if found.comparator else not is_first
    inside = [(p, True) for p in found.comparator] + [(p, False) for p in found.intervention]
    between = [side for p, side in inside if match.start("first") < p < match.start("second")]
    after = [(p, side) for p, side in inside if p > match.end("second")]
    if len(set(between)) == 1 and after:
        return between[0]
    if len({s for _, s in after}) == 2 and not between:
        return min(after)[1]
    return min(inside)[1]
