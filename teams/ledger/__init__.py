"""The ledger: all requests, answers and decisions of the runs, in one SQLite file per workspace.

Names are imported on first use: run ids are needed before AutoGen is loaded, which takes most of a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .runs import DEFAULT_PATH, Journal, Ledger, LedgerError, Model, Run, RunStatus, Turn, restore

__all__ = ["DEFAULT_PATH", "Journal", "Ledger", "LedgerError", "Model", "Run", "RunStatus", "Turn", "restore"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".runs", __name__), name)
