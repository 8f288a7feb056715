"""One tiny question for each source, and what is known to answer it."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NamedTuple

from ..http.transport import Transport
from ..records.registry import cards, web_engines
from ..search import Source, source_class
from ..sources.drugs.chembl import ChEMBL
from ..sources.drugs.mychem import MyChem
from ..sources.drugs.opentargets import OpenTargets
from ..sources.drugs.reactome import Reactome
from ..sources.drugs.uniprot import UniProt
from ..sources.labels.drugsfda import DrugsFDA
from ..sources.labels.openfda import OpenFDA
from ..sources.lookups import LookUps
from ..sources.studies.biorxiv import fetch_published_doi
from ..sources.studies.clinicaltrials import ClinicalTrials
from ..sources.studies.crossref import fetch_updates
from ..sources.studies.europepmc import EuropePMC
from ..sources.studies.openalex import fetch_work
from ..sources.studies.pubmed import PubMed

_PMID = "11565518"  # losartan in diabetic nephropathy, 2001
_NCT = "NCT02540993"  # finerenone in diabetic kidney disease, with posted results
_DRUG = "propranolol"
_CONDITION = "migraine"
_PROTEIN = "P08588"  # the beta-1 adrenergic receptor
_PATHWAY = "R-HSA-390696"  # adrenoceptors
_RETRACTED_DOI = "10.1016/s0140-6736(97)11096-0"
_PREPRINT_DOI = "10.1101/2021.04.29.21256344"


class KnownItem(NamedTuple):
    """What a source is asked for that it holds."""

    title: str
    """Empty if it is not known to hold what it is asked for."""
    ask: Callable[[Transport], Awaitable[object]]
    """Asks as runs do; returns what came, empty or None if the item did not. Raises `SearchError` as runs meet it."""


async def _search(kind: type[Source], query: str, transport: Transport) -> object:
    reply = await kind(transport).find(query, 1)
    return reply.records


async def _search_by_name(name: str, transport: Transport) -> object:
    return await _search(source_class(name), f"{_DRUG} {_CONDITION}", transport)


async def _look_up(kind: type[LookUps], name: str, transport: Transport) -> object:
    reply = await kind(transport).request([name])
    return reply.records


async def _ask_opentargets(transport: Transport) -> object:
    disease = await _search(OpenTargets, _CONDITION, transport)
    drug = await _look_up(OpenTargets, _DRUG, transport)
    return disease and drug and (disease, drug)


async def _ask_openalex(transport: Transport) -> object:
    return await fetch_work(_RETRACTED_DOI, transport)


async def _ask_crossref(transport: Transport) -> object:
    return await fetch_updates([_RETRACTED_DOI], transport)


async def _ask_biorxiv(transport: Transport) -> object:
    return await fetch_published_doi(_PREPRINT_DOI, transport)


_ITEMS: Mapping[str, KnownItem] = {
    "clinicaltrials": KnownItem(_NCT, partial(_search, ClinicalTrials, _NCT)),
    "pubmed": KnownItem(f"PMID {_PMID}", partial(_search, PubMed, f"{_PMID}[uid]")),
    "europepmc": KnownItem(f"PMID {_PMID}", partial(_search, EuropePMC, f"EXT_ID:{_PMID} AND SRC:MED")),
    "opentargets": KnownItem(f"{_CONDITION} and {_DRUG}", _ask_opentargets),
    "chembl": KnownItem(_DRUG, partial(_look_up, ChEMBL, _DRUG)),
    "mychem": KnownItem(_DRUG, partial(_look_up, MyChem, _DRUG)),
    "openfda": KnownItem(_DRUG, partial(_look_up, OpenFDA, _DRUG)),
    "drugsfda": KnownItem(_DRUG, partial(_look_up, DrugsFDA, _DRUG)),
    "uniprot": KnownItem(_PROTEIN, partial(_look_up, UniProt, _PROTEIN)),
    "reactome": KnownItem(_PATHWAY, partial(_look_up, Reactome, _PATHWAY)),
    "openalex": KnownItem(f"DOI {_RETRACTED_DOI}", _ask_openalex),
    "crossref": KnownItem(f"DOI {_RETRACTED_DOI}", _ask_crossref),
    "biorxiv": KnownItem(f"DOI {_PREPRINT_DOI}", _ask_biorxiv),
}


def known_item(source: str) -> KnownItem:
    """Return what a source is asked for; one without an item of its own is searched for a drug and a condition."""
    return _ITEMS.get(source) or KnownItem("", partial(_search_by_name, source))


def asked_sources() -> tuple[str, ...]:
    """List the sources whose contract can be checked without a key, in the order of search."""
    return tuple(name for name in cards() if name not in web_engines())
