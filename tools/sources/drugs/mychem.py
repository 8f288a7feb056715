"""MyChem.info, drug data from several databases, used when ChEMBL does not answer (https://docs.mychem.info).

Queried with GET `query`: `q` (a name), `fields`, `size`. A reply has `total` and `hits[]` of `_id` and a part for each
database: `chembl` with `pref_name`, `molecule_chembl_id`, `molecule_type`, `drug_mechanisms` (`action_type`,
`target_name`; a salt's are listed under the salt), `gtopdb` with `name` and `interaction_targets` (`symbol`),
`drugcentral` with `approval` (`agency`, `date`) and `drug_use.indication` and `.contraindication` (`concept_name`),
`unii.display_name`. A list of one element is given as the bare object. A hit may match the name in one part only, so
only hits with the drug's own name, or a salt's, count.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...evidence import Evidence, checked_identifier
from ...http.reply import Reply, at, entries, text
from ...lexicon import canonical_drug, same_drug
from ...questions.query import bare_name
from ...records import Drug
from ...records.parts import Development, Mechanism
from ...search import LookUps, SourceReply
from ..card import SourceCard
from ..publications import is_code

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
    entries="Database entry",
    dialect="names",
    use="named",
    by_condition=False,
    specialist="mechanism",
)
MOST_DRUGS = 8  # per call, one request each
_FIELDS = (
    "chembl.pref_name,chembl.molecule_chembl_id,chembl.molecule_type,chembl.drug_mechanisms,gtopdb.name,"
    "gtopdb.interaction_targets.symbol,drugcentral.approval,drugcentral.drug_use.indication.concept_name,"
    "drugcentral.drug_use.contraindication.concept_name,unii.display_name"
)
_NAMES = (("chembl", "pref_name"), ("gtopdb", "name"), ("unii", "display_name"))
_SIZE = 25
Hit = Mapping[str, Any]


class MyChem(LookUps):
    """Drug data from several databases."""

    card = CARD

    async def look_up_online(self, *names: str) -> SourceReply:
        """Look up the first few drugs by name, each once per run; raises as `find`."""
        found = await self.shelved("query", names[:MOST_DRUGS], self._fetch_drugs)
        left = [f"{len(names) - MOST_DRUGS} further drugs were not asked for"] * (len(names) > MOST_DRUGS)
        return found.model_copy(update={"warnings": [*found.warnings, *left]})

    async def _fetch_drugs(self, drugs: Sequence[str]) -> dict[str, Evidence | str]:
        pages = await asyncio.gather(*map(self._ask, drugs))
        return {
            drug: told(drug, hits) or f"no drug is named {drug[:60]!r}" for drug, hits in zip(drugs, pages, strict=True)
        }

    async def _ask(self, drug: str) -> Sequence[Hit]:
        name = bare_name(drug, "-")
        params = {"q": f'"{name}"', "fields": _FIELDS, "size": _SIZE}
        return await self.transport.get(self.name, "query", params=params, read=parse_hits)


def parse_hits(reply: Reply) -> Sequence[Hit]:
    """Parse the hits of a reply.

    Raises:
        UnreadableReply: not a list of hits.
    """
    return entries(reply.source, reply.json(), "hits", what="a list of hits", keys=("_id", "_score"))


def told(drug: str, hits: Iterable[Hit]) -> Evidence | None:
    """Build a drug's record from the hits with its name or a salt's; None if there are none."""
    own = [hit for hit in hits if any(same_drug(name, drug) for name in _names(hit))]
    own.sort(key=lambda hit: not any(name.casefold() == drug.casefold() for name in _names(hit)))
    number = next((str(hit.get("_id")) for hit in own if is_code(str(hit.get("_id")), 4, 40, "-")), None)
    if number is None:
        return None
    chembl_ids = (str(at(hit, "chembl", "molecule_chembl_id")) for hit in own)
    days = [str(each.get("date")) for hit in own for each in many(at(hit, "drugcentral", "approval"))]
    years = [int(day[:4]) for day in days if day[:4].isdecimal() and day[4:5] == "-"]
    mechanisms = list[Mechanism]()  # ChEMBL's for drug and salts, then the Guide's genes, without duplicates
    parts = [(many(hit.get("chembl")), many(hit.get("gtopdb"))) for hit in own]
    for row in (row for chembl, _ in parts for part in chembl for row in many(part.get("drug_mechanisms"))):
        given = {"target_name": text(row.get("target_name")), "action_type": text(row.get("action_type"))}
        mechanism: Any = {key: value for key, value in given.items() if value}
        if "target_name" in mechanism and mechanism not in mechanisms:
            mechanisms.append(mechanism)
    symbols = [
        text(row.get("symbol"))
        for _, gtopdb in parts
        for part in gtopdb
        for row in many(part.get("interaction_targets"))
    ]
    mechanisms += [Mechanism(gene_symbols=[gene]) for gene in dict.fromkeys(symbols) if gene]
    uses, against = (
        dict.fromkeys(
            name
            for hit in own
            for row in many(at(hit, "drugcentral", "drug_use", kind))
            if (name := text(row.get("concept_name")))
        )
        for kind in ("indication", "contraindication")
    )
    indications = [Development(name=use) for use in uses]
    name = canonical_drug(drug) or drug.lower()
    record = Drug(
        drug=name,
        chembl_id=next(filter(None, (checked_identifier("chembl_id", each) for each in chembl_ids)), None),
        molecule_type=next(filter(None, (text(at(hit, "chembl", "molecule_type")) for hit in own)), None),
        first_approval=min(years, default=None),
        mechanisms=mechanisms,
        indications=indications,
        contraindications=list(against),
    )
    title = f"{name.capitalize()} (MyChem.info)"
    shown = name.capitalize()
    said = [f"{shown}: first approved {record.first_approval}."] if record.first_approval else []
    for each in mechanisms:
        target = each.get("target_name") or ", ".join(each.get("gene_symbols", ()))
        said.append(f"{shown}: {each.get('action_type', 'action not named').lower()} (target {target}).")
    if indications:
        said.append(f"{shown} is used for: {', '.join(each['name'] for each in indications)}.")
    if against:
        said.append(f"{shown} is contraindicated, by DrugCentral, in: {', '.join(against)}.")
    said = said or [f"{shown}: neither mechanism nor use is listed."]
    return Evidence.entry("mychem", title, said, record, f"https://mychem.info/v1/chem/{number}")


def many(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a part that is a bare object if there is only one, else a list.

    >>> many({"a": 1}), many([{"a": 1}, None]), many("x")
    ([{'a': 1}], [{'a': 1}], [])
    """
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]


def _names(hit: Hit) -> list[str]:
    given = (each.get(name) for part, name in _NAMES for each in many(hit.get(part)))
    return [name for each in given if (name := text(each))]
