"""Tools of the agents: public sources, evidence records, search and appraisal.

Each source can be used alone, without a team:

    from willowbark.tools import pubmed

    records = await pubmed.search("propranolol AND migraine", max_results=20, mindate="2015")

Each call opens and closes its own connection; with `WILLOWBARK_LIBRARY__PATH=bundled` a local library answers instead,
without network. Nothing of a source is loaded before it is used.
"""

from .alone import SourceAlone


def __getattr__(name: str) -> SourceAlone:
    """Return a source by its name, for use without a team."""
    if name.startswith("_") or name not in __dir__():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its sources are {', '.join(__dir__())}")
    return SourceAlone(name)


def __dir__() -> list[str]:
    from .records.registry import searchable  # noqa: PLC0415

    return sorted(searchable())
