"""How texts write research codes of drugs: with a hyphen, a blank or nothing between letters and figures."""

import re
from functools import cache

_PARTS = re.compile(r"[A-Za-z]+|\d+")


@cache
def write_code_pattern(code: str) -> re.Pattern[str]:
    """Write the pattern that finds a code in a text, however its parts are joined.

    >>> bool(write_code_pattern("BAY 94-8862").search("Safety of BAY-948862 in heart failure"))
    True
    >>> bool(write_code_pattern("SPP100").search("SPP1000"))
    False
    """
    parts = [re.escape(part) for part in _PARTS.findall(code)]
    return re.compile(rf"(?<![\w-]){'[- ]?'.join(parts)}(?![\w])", re.IGNORECASE)
