"""Willowbark: which existing drugs might treat a condition, and how good is the evidence?

    from willowbark import ask

    print(ask("Which existing drugs could prevent migraine attacks?").to_markdown())

`ask` blocks until the report is ready, in a script or a notebook; inside another event loop, await `research`.
`tools` holds the single sources:
`await tools.pubmed.search("propranolol migraine")`. All names are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from willowbark import agents, teams, tools
    from willowbark.agents.report import ResearchReport
    from willowbark.teams import ResearchTeam, RunOptions, Settings, ask, research, research_stream
    from willowbark.teams import ResearchTeam as Team
    from willowbark.tools.errors import WillowbarkError
    from willowbark.tools.outside.function import tool
    from willowbark.tools.records.evidence import Evidence

__version__ = "0.1.0"
__all__ = [
    "Evidence",
    "ResearchReport",
    "ResearchTeam",
    "RunOptions",
    "Settings",
    "Team",
    "WillowbarkError",
    "__version__",
    "agents",
    "ask",
    "research",
    "research_stream",
    "teams",
    "tool",
    "tools",
]
_HOMES = {
    "Evidence": "tools.evidence",
    "ResearchReport": "agents.report",
    "WillowbarkError": "tools.errors",
    "tool": "tools.outside.function",
    **dict.fromkeys(("ResearchTeam", "RunOptions", "Settings", "ask", "research", "research_stream"), "teams"),
}
_INSTEAD = {
    "Agent": "those of willowbark.agents: `from willowbark.agents.specialist import SpecialistAgent`",
    "Client": "ask, a function: `from willowbark import ask`",
    "Config": "Settings: `from willowbark import Settings`",
    "Report": "ResearchReport: `from willowbark import ResearchReport`",
    "Willowbark": "ask, a function: `from willowbark import ask`",
    "pubmed": "tools.pubmed: `from willowbark.tools import pubmed`",
    "run": "ask, or research where an event loop runs: `from willowbark import ask`",
    "search": "a source's own: `from willowbark.tools import pubmed`, then `await pubmed.search(…)`",
}
"""Names that people try, and what to use instead."""


def __getattr__(name: str) -> Any:
    if name in ("agents", "teams", "tools"):
        return import_module(f"{__name__}.{name}")
    if name == "Team":
        name = "ResearchTeam"
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _INSTEAD:  # `from willowbark import run` would hide an AttributeError's message
        raise ImportError(f"willowbark has no {name}; use {_INSTEAD[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; there are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
