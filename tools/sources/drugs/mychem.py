"""MyChem.info, drug data from several databases, used when ChEMBL does not answer (https://docs.mychem.info).

A list of one element is given as the bare object. A hit may match the name in one part only, so only hits with the
drug's own name, or a salt's, count.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...http.reply import Reply, entries, reported, text, without_repeats
from ...lexicon import canonical_drug, same_drug
from ...questions.query import bare_name
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
        found = zip(drugs, await asyncio.gather(*map(self._ask, drugs)), strict=True)
        known = {drug: record for drug, hits in found if (record := parse_drug(drug, hits))}
        return items(drugs, known, missing="no drug is named {!r}")

    async def _ask(self, drug: str) -> Sequence[MyChemHit]:
        def read(reply: Reply) -> Sequence[MyChemHit]:
            return entries(reply.source, reply.json(), "hits", what="a list of hits", keys=("_id", "_score"))

        params = {"q": f'"{bare_name(drug, "-")}"', "fields": _FIELDS, "size": _SIZE}
        return await self.transport.get(self.name, self.path, params=params, read=read)


def parse_drug(drug: str, hits: Iterable[MyChemHit]) -> Evidence | None:
    """Build a drug's record from the hits with its name or a salt's; None if there are none."""
    own = [hit for hit in hits if any(same_drug(name, drug) for name in _names(hit))]
    own.sort(key=lambda hit: not any(name.casefold() == drug.casefold() for name in _names(hit)))
    number = next((str(hit.get("_id")) for hit in own if is_code(str(hit.get("_id")), 4, 40, "-")), None)
    if number is None:
        return None

    def rows(*path: str) -> Sequence[MyChemHit]:
        """Return the objects at a path in any of the hits."""
        found: Sequence[MyChemHit] = own
        for name in path:
            found = [each for part in found for each in many(part.get(name))]
        return found

    def texts(name: str, *path: str) -> list[str]:
        """Return the texts of a field of the objects at a path, each once."""
        return list(dict.fromkeys(said for row in rows(*path) if (said := text(row.get(name)))))

    days = texts("date", "drugcentral", "approval")
    acted = [
        {"target_name": text(row.get("target_name")), "action_type": text(row.get("action_type"))}
        for row in rows("chembl", "drug_mechanisms")
    ]
    mechanisms: list[Mechanism] = without_repeats(reported(each) for each in acted if each["target_name"])
    mechanisms += [Mechanism(gene_symbols=[gene]) for gene in texts("symbol", "gtopdb", "interaction_targets")]
    chembl_ids = (checked_identifier("chembl_id", each) for each in texts("molecule_chembl_id", "chembl"))
    record = Drug(
        drug=canonical_drug(drug) or drug.lower(),
        chembl_id=next(filter(None, chembl_ids), None),
        molecule_type=next(iter(texts("molecule_type", "chembl")), None),
        first_approval=min((int(day[:4]) for day in days if day[:4].isdecimal() and day[4:5] == "-"), default=None),
        mechanisms=mechanisms,
        indications=[Development(name=use) for use in texts("concept_name", "drugcentral", "drug_use", "indication")],
        contraindications=texts("concept_name", "drugcentral", "drug_use", "contraindication"),
    )
    url = f"https://mychem.info/v1/chem/{number}"
    return drug_entry("mychem", record, url, called="MyChem.info", uses="is used for")


def many(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a part, which is a bare object if there is only one, else a list."""
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]


def _names(hit: MyChemHit) -> list[str]:
    given = (each.get(name) for part, name in _NAMES for each in many(hit.get(part)))
    return [name for each in given if (name := text(each))]
