"""Willowbark: which existing drugs might treat a condition, and how good is the evidence?

    from willowbark import ask

    print(ask("Which existing drugs could prevent migraine attacks?").to_markdown())

`ask` waits for the report; where an event loop runs, `research` is awaited. Both are imported when they are asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from willowbark.teams import ask, research

__version__ = "0.1.0"
__all__ = ["__version__", "ask", "research"]


def __getattr__(name: str) -> Any:
    if name not in ("ask", "research"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from willowbark import teams  # noqa: PLC0415  AutoGen takes most of a second

    return getattr(teams, name)
