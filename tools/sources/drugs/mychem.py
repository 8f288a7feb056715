"""MyChem.info, drug data from several databases, used when ChEMBL does not answer (https://docs.mychem.info).

A list of one element is given as the bare object. A hit may match the name in one part only, so only hits with the
drug's own name, or a salt's, count.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...http.reply import Reply, entries, reported, text, without_repeats
from ...lexicon import canonical_drug, is_same_drug
from ...questions.query import remove_syntax
from ...records import Development, Drug, Mechanism
from ...records.card import SourceCard
from ...records.evidence import Evidence, checked_identifier
from ..lookups import Item, LookUps, items
from ..publications import is_code
from .drug_record import drug_entry

CARD = SourceCard(
    name="mychem",
    place=90,
    title="MyChem.info",
    purpose="What ChEMBL, the Guide to Pharmacology and DrugCentral say of drugs, gathered by name.",
    address="https://mychem.info/v1",
    documentation="https://docs.mychem.info",
    per_second=5,  # none published
    off="most of it is ChEMBL's, and it is asked by itself where ChEMBL gives no answer",
    fresh_days=30,
    hosts=("mychem.info",),
    gives="drug",
    dialect="names",
    use="named",
    by_condition=False,
    specialist="mechanism",
)
_FIELDS = (
    "chembl.pref_name,chembl.molecule_chembl_id,chembl.molecule_type,chembl.drug_mechanisms,gtopdb.name,"
    "gtopdb.interaction_targets.symbol,drugcentral.approval,drugcentral.drug_use.indication.concept_name,"
    "drugcentral.drug_use.contraindication.concept_name,unii.display_name"
)
_NAMES = (("chembl", "pref_name"), ("gtopdb", "name"), ("unii", "display_name"))
_SIZE = 25
MyChemHit = Mapping[str, Any]


class MyChem(LookUps):
    card = CARD
    path = "query"
    most_names = 8  # one request each

    async def fetch(self, drugs: Sequence[str]) -> dict[str, Item]:
        replies = await asyncio.gather(*map(self._ask, drugs))
        parsed = {drug: parse_drug(drug, hits) for drug, hits in zip(drugs, replies, strict=True)}
        records = {drug: record for drug, record in parsed.items() if record}
        return items(drugs, records, missing="no drug is named {!r}")

    async def _ask(self, drug: str) -> Sequence[MyChemHit]:
        def read(reply: Reply) -> Sequence[MyChemHit]:
            return entries(reply.source, reply.json(), "hits", what="a list of hits", keys=("_id", "_score"))

        params = {"q": f'"{remove_syntax(drug, "-")}"', "fields": _FIELDS, "size": _SIZE}
        return await self.transport.get(self.name, self.path, params=params, read=read)


def parse_drug(drug: str, hits: Iterable[MyChemHit]) -> Evidence | None:
    """Build a drug's record from the hits with its name or a salt's; None if there are none."""
    own: list[MyChemHit] = []
    exact: list[MyChemHit] = []
    for hit in hits:
        names = _list_names(hit)
        if any(name.casefold() == drug.casefold() for name in names if is_same_drug(name, drug)):
            exact.append(hit)
        elif any(is_same_drug(name, drug) for name in names):
            own.append(hit)
    own = [*exact, *own]
    keys = [str(hit.get("_id")) for hit in own]
    number = next((key for key in keys if is_code(key, 4, 40, "-")), None)
    if number is None:
        return None

    days = _collect_texts(own, "date", "drugcentral", "approval")
    years = [int(day[:4]) for day in days if day[:4].isdecimal() and day[4:5] == "-"]
    actions: list[Any] = []
    for row in _collect_objects(own, "chembl", "drug_mechanisms"):
        action = {"target_name": text(row.get("target_name")), "action_type": text(row.get("action_type"))}
        actions += [reported(action)] if action["target_name"] else []
    mechanisms: list[Mechanism] = without_repeats(actions)
    genes = _collect_texts(own, "symbol", "gtopdb", "interaction_targets")
    mechanisms += [Mechanism(gene_symbols=[gene]) for gene in genes]
    numbers = _collect_texts(own, "molecule_chembl_id", "chembl")
    chembl_ids = (checked_identifier("chembl_id", chembl_id) for chembl_id in numbers)
    uses = _collect_texts(own, "concept_name", "drugcentral", "drug_use", "indication")
    record = Drug(
        drug=canonical_drug(drug) or drug.lower(),
        chembl_id=next(filter(None, chembl_ids), None),
        molecule_type=next(iter(_collect_texts(own, "molecule_type", "chembl")), None),
        first_approval=min(years, default=None),
        mechanisms=mechanisms,
        indications=[Development(name=use) for use in uses],
        contraindications=_collect_texts(own, "concept_name", "drugcentral", "drug_use", "contraindication"),
    )
    url = f"https://mychem.info/v1/chem/{number}"
    return drug_entry("mychem", record, url, called="MyChem.info", uses="is used for")


def _collect_objects(hits: Sequence[MyChemHit], *path: str) -> Sequence[MyChemHit]:
    """Return the objects at a path in any of the hits."""
    objects = hits
    for name in path:
        parts: list[MyChemHit] = []
        for holder in objects:
            parts += list_objects(holder.get(name))
        objects = parts
    return objects


def _collect_texts(hits: Sequence[MyChemHit], name: str, *path: str) -> list[str]:
    """Return the texts of a field of the objects at a path, each once."""
    texts = [text(row.get(name)) for row in _collect_objects(hits, *path)]
    return list(dict.fromkeys(filter(None, texts)))


def list_objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a part, which is a bare object if there is only one, else a list."""
    parts = value if isinstance(value, list) else [value]
    return [part for part in parts if isinstance(part, dict)]


def _list_names(hit: MyChemHit) -> list[str]:
    given = (each.get(name) for part, name in _NAMES for each in list_objects(hit.get(part)))
    return [name for each in given if (name := text(each))]
