"""Tools of the agents: public sources, evidence records, search and appraisal.

Each source can be used alone: `from willowbark.tools import pubmed`, then `await pubmed.search("…")`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .alone import SourceAlone

    brave: SourceAlone
    chembl: SourceAlone
    clinicaltrials: SourceAlone
    drugsfda: SourceAlone
    duckduckgo: SourceAlone
    europepmc: SourceAlone
    mychem: SourceAlone
    openfda: SourceAlone
    opentargets: SourceAlone
    pubmed: SourceAlone
    reactome: SourceAlone
    uniprot: SourceAlone

__all__ = [
    "brave",
    "chembl",
    "clinicaltrials",
    "drugsfda",
    "duckduckgo",
    "europepmc",
    "mychem",
    "openfda",
    "opentargets",
    "pubmed",
    "reactome",
    "uniprot",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its sources are {', '.join(__all__)}")
    return import_module(".alone", __name__).SourceAlone(name)


def __dir__() -> list[str]:
    return sorted(__all__)
