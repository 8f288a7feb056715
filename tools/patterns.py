"""Regular expressions that are compiled when they are first used: some hundreds of them would take most of a start."""

import re
from typing import Any, cast


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, later: a mistake in the text shows at the first use.

    >>> pattern("a+").fullmatch("aaa").group()
    'aaa'
    """
    return cast("re.Pattern[str]", _Later(text, flags))


class _Later:
    def __init__(self, text: str, flags: int) -> None:
        self._written = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._written)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "sub", "split", "pattern", "flags"):
            setattr(self, method, getattr(compiled, method))  # from now on nothing stands between
        return getattr(compiled, name)
