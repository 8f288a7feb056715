"""User interfaces: the command line, notebooks, AutoGen Studio, …; each is imported on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import ask, doctor, first_time, mcp, read, runs, studio, terminal

    __all__ = ["ask", "doctor", "first_time", "mcp", "read", "runs", "studio", "terminal"]


def __getattr__(name: str) -> Any:
    try:
        return import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise  # a dependency of the interface is missing
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
