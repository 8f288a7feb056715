"""The team of agents: its rounds, budgets, exports and user interfaces.

    from willowbark.teams import research, research_stream, ResearchTeam

Names are imported on first use: AutoGen takes most of a second to load, and `--help` should not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import Settings
    from .events import AgentEvent, Veto
    from .faces.blocking import ask
    from .ledger import Ledger
    from .research_team import MESSAGE_TYPES, ResearchTeam
    from .run.options import RunOptions
    from .run.research import RunFailed, SourcesUnreachable, replay, research, research_stream, resume
    from .run.within import ask_within

_HOMES = {
    "MESSAGE_TYPES": "research_team",
    "AgentEvent": "events",
    "Ledger": "ledger",
    "ResearchTeam": "research_team",
    "RunFailed": "run.research",
    "RunOptions": "run.options",
    "Settings": "config",
    "SourcesUnreachable": "run.research",
    "Veto": "events",
    "ask": "faces.blocking",
    "ask_within": "run.within",
    "replay": "run.research",
    "research": "run.research",
    "research_stream": "run.research",
    "resume": "run.research",
}

__all__ = [
    "MESSAGE_TYPES",
    "AgentEvent",
    "Ledger",
    "ResearchTeam",
    "RunFailed",
    "RunOptions",
    "Settings",
    "SourcesUnreachable",
    "Veto",
    "ask",
    "ask_within",
    "replay",
    "research",
    "research_stream",
    "resume",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
