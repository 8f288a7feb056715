"""Tools of the agents: public sources, evidence records, search and appraisal.

Each source can be used alone: `from willowbark.tools import pubmed`, then `await pubmed.search("…")`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .alone import SourceAlone


def __getattr__(name: str) -> "SourceAlone":
    """Return a source by its name, for use without a team."""
    from .alone import SourceAlone  # noqa: PLC0415  a package that is only passed through loads no source
    from .registry import searchable  # noqa: PLC0415

    if name.startswith("_") or name not in searchable():
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; its sources are {', '.join(searchable())}"
        )
    return SourceAlone(name)


def __dir__() -> list[str]:
    from .registry import searchable  # noqa: PLC0415

    return sorted(searchable())
