"""ChEMBL, drugs with their mechanisms and indications (https://chembl.gitbook.io/chembl-interface-documentation/web-services).

Lists are filtered by fields and read page by page; a name without a hit gives an empty list. Salts have no mechanisms
of their own, so all queries use the parent molecule.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from ...errors import SearchError
from ...http.reply import Reply, at, count, dicts, entries, read_each, reported, without_repeats
from ...lexicon import canonical_drug
from ...records import Drug, Mechanism
from ...records.card import SourceCard
from ...records.evidence import Evidence, checked_identifier
from ..lookups import Item, LookUps, gather_answers, items
from .drug_record import drug_entry, keep_furthest, parse_phase, parse_warnings

CARD = SourceCard(
    name="chembl",
    place=50,
    title="ChEMBL",
    purpose="Drugs of ChEMBL by name: mechanisms of action, targets, indications with the highest phase.",
    address="https://www.ebi.ac.uk/chembl/api/data",
    documentation="https://chembl.gitbook.io/chembl-interface-documentation/web-services",
    per_second=5,  # none published
    typical_s=2.5,
    fresh_days=30,  # released a few times a year
    hosts=("www.ebi.ac.uk",),
    gives="drug",
    dialect="names",
    use="searched",
    by_condition=False,  # Open Targets lists its drugs of a condition
    specialist="mechanism",
)

_IDS = ("molecule_chembl_id", "parent_molecule_chembl_id", "target_chembl_id", "molecule_type", "target_components")
_LIMIT = 1000  # rows per page; the API's own limit
_MAX_PAGES = 20  # per list; a cut is reported
_MAX_INDICATIONS = 60  # per drug in a record; some have hundreds

ChEMBLRow = Mapping[str, Any]
"""One row of one of ChEMBL's lists."""


class ChEMBL(LookUps):
    """Drugs with their mechanisms of action and the conditions they were developed for, by name."""

    card = CARD
    path = "molecule.json"

    async def fetch(self, drugs: Sequence[str]) -> dict[str, Item]:
        parents, refused = await self._find_parents(drugs)
        records, failures = await self._records(list(dict.fromkeys(parents.values())))
        by_id = {record.metadata.get("chembl_id"): record for record in records}
        known = {drug: by_id[parent] for drug, parent in parents.items() if parent in by_id}
        return items(drugs, known, [*refused, *failures], "no molecule is named {!r}")

    async def _find_parents(self, drugs: Sequence[str]) -> tuple[dict[str, str], list[str]]:
        """Map names and ids to parent molecules, with notes on failed parts; raises if these left nothing."""
        spelled = {drug: _names(drug) for drug in drugs}
        names = list(chain.from_iterable(spelled.values()))
        lists = {  # both lists of names are case-sensitive
            "pref_name__in": [name.upper() for name in names],
            "molecule_synonyms__molecule_synonym__in": [
                form for name in names for form in (name, name.upper(), name.lower(), name.capitalize())
            ],
            "molecule_chembl_id__in": [name for drug in drugs if (name := checked_identifier("chembl_id", drug))],
        }
        asked = {field: ",".join(dict.fromkeys(listed)) for field, listed in lists.items() if listed}
        pages, failed = await gather_answers(self._rows("molecule", None, **{field: asked[field]}) for field in asked)
        rows = list(chain.from_iterable(pages))
        if failed and not rows:
            raise failed[0]
        parents = dict[str, str]()
        for drug in drugs:
            own = {drug.strip().upper(), *(name.upper() for name in spelled[drug])}
            preferred = [
                r for r in rows if own & {str(r.get(field)).upper() for field in ("pref_name", "molecule_chembl_id")}
            ]
            found = best_match(preferred) or best_match(row for row in rows if names_it(row, drug))
            parents |= {drug: found} if found else {}
        return parents, [f"some names could not be asked: {each.reason}" for each in failed]

    async def _records(self, parents: Sequence[str]) -> tuple[list[Evidence], list[str]]:
        """Fetch whole drugs in the order of `parents`; returns the records and notes on failed parts."""
        if not parents:
            return [], []
        ids = ",".join(parents)
        lacking = list[str]()
        lacking_uses = list[str]()
        lacking_warnings = list[str]()
        (mechanisms, targets), indications, (molecules, warnings) = await asyncio.gather(
            self._find_mechanisms(ids, lacking),
            self._rows("drug_indication", lacking_uses, parent_molecule_chembl_id__in=ids),
            self._find_warnings(ids, lacking_warnings),
        )
        lacking += [*lacking_uses, *lacking_warnings]
        by_id = {str(row.get("molecule_chembl_id")): row for row in molecules}

        def drug(parent: str) -> Evidence:
            mine = ([row for row in rows if parent_id(row) == parent] for rows in (mechanisms, indications, warnings))
            return parse_drug(by_id[parent], *mine, targets=targets)

        records, unread = read_each([parent for parent in parents if parent in by_id], drug)
        missing = [parent for parent in parents if parent not in by_id]
        return records, [*lacking, *unread, *([f"{', '.join(missing[:5])} could not be had"] if missing else [])]

    async def _find_mechanisms(self, ids: str, lacking: list[str]) -> tuple[list[ChEMBLRow], list[ChEMBLRow]]:
        """Fetch the mechanisms of molecules, and at once their targets: others wait for these the longest."""
        mechanisms = await self._rows("mechanism", lacking, parent_molecule_chembl_id__in=ids)
        targets = sorted({str(number) for row in mechanisms if (number := row.get("target_chembl_id"))})
        if not targets:
            return mechanisms, []
        return mechanisms, await self._rows("target", lacking, target_chembl_id__in=",".join(targets))

    async def _find_warnings(self, ids: str, lacking: list[str]) -> tuple[list[ChEMBLRow], list[ChEMBLRow]]:
        """Fetch molecules, and the warnings on those that have some."""
        molecules = await self._rows("molecule", molecule_chembl_id__in=ids)
        flagged = [row for row in molecules if row.get("withdrawn_flag") or row.get("black_box_warning") in (1, "1")]
        warned_of = sorted({str(row.get("molecule_chembl_id")) for row in flagged})
        if not warned_of:
            return molecules, []
        return molecules, await self._rows("drug_warning", lacking, parent_molecule_chembl_id__in=",".join(warned_of))

    async def _rows(self, table: str, lacking: list[str] | None = None, **params: str) -> list[ChEMBLRow]:
        """Fetch the rows of a list, page by page; what fails or is cut goes to `lacking`, if given, without a raise."""
        told = f"{table.replace('_', ' ')}s"
        rows = list[ChEMBLRow]()
        for _ in range(_MAX_PAGES):
            asked = {"limit": _LIMIT, **params, "offset": len(rows) or None, "format": "json"}
            try:
                read = partial(_read, f"{table}s")
                page, more = await self.transport.get(self.name, f"{table}.json", params=asked, read=read)
            except SearchError as error:
                if lacking is None:
                    raise
                lacking.append(f"{told} could not be had: {error.reason}")
                return []
            rows += page
            if not more or not page:
                return rows
        if lacking is not None:
            lacking.append(f"more {told} are listed than the {len(rows):,} that were read")
        return rows


def _read(key: str, reply: Reply) -> tuple[Sequence[ChEMBLRow], bool]:
    data = reply.json()
    rows = entries(reply.source, data, key, what=key.replace("_", " "), keys=_IDS)
    return rows, bool(at(data, "page_meta", "next"))


def _names(drug: str) -> list[str]:
    names = dict.fromkeys(name.strip() for name in (drug, canonical_drug(drug)) if name)
    return [name for name in names if "," not in name and not checked_identifier("chembl_id", name.upper())]


def best_match(molecules: Iterable[ChEMBLRow]) -> str | None:
    found = sorted(
        (-(parse_phase(row.get("max_phase")) or 0), str(row.get("molecule_chembl_id")), parent)
        for row in molecules
        if (parent := parent_id(row))
    )
    return found[0][-1] if found else None


def names_it(molecule: ChEMBLRow, drug: str) -> bool:
    wanted = drug.casefold().split()
    return any(name.casefold().split()[: len(wanted)] == wanted for name in molecule_names(molecule))


def parse_drug(
    molecule: ChEMBLRow,
    mechanisms: Iterable[ChEMBLRow] = (),
    indications: Iterable[ChEMBLRow] = (),
    warnings: Iterable[ChEMBLRow] = (),
    *,
    targets: Iterable[ChEMBLRow] = (),
) -> Evidence:
    """Convert one drug to evidence.

    Args:
        molecule: the parent molecule.
        mechanisms: as the next two, its own and its salts'.
        indications: with the highest phase of each.
        warnings: withdrawals and boxed warnings.
        targets: of the mechanisms; others are ignored.
    """
    chembl_id = str(molecule["molecule_chembl_id"])
    chebi = str(molecule.get("chebi_par_id") or "")
    developed = (
        {
            "name": row.get("mesh_heading") or row.get("efo_term"),
            "id": row.get("mesh_id") or str(row.get("efo_id") or "").replace(":", "_"),  # Open Targets' spelling
            "max_phase": parse_phase(row.get("max_phase_for_ind")),
        }
        for row in indications
    )
    record = Drug(
        drug=next(iter(molecule_names(molecule)), chembl_id).lower(),
        chembl_id=chembl_id,
        chebi_id=f"CHEBI:{chebi}" if chebi.isdecimal() else None,
        molecule_type=molecule.get("molecule_type") or None,
        max_phase=parse_phase(molecule.get("max_phase")),
        first_approval=count(molecule.get("first_approval")) or None,
        mechanisms=parse_mechanisms(mechanisms, targets),
        indications=keep_furthest(developed)[:_MAX_INDICATIONS],
        warnings=parse_warnings(warnings),
        routes=[each for each in ("oral", "parenteral", "topical") if molecule.get(each) in (True, 1)],
    )
    url = f"https://www.ebi.ac.uk/chembl/explore/compound/{chembl_id}"
    return drug_entry("chembl", record, url, called=chembl_id)


def parse_mechanisms(rows: Iterable[ChEMBLRow], targets: Iterable[ChEMBLRow]) -> list[Mechanism]:
    known = {str(row.get("target_chembl_id")): row for row in targets}
    found = list[Any]()
    for row in rows:
        target = known.get(str(row.get("target_chembl_id")), {})
        parts = dicts(target, "target_components")
        synonyms = [each for part in parts for each in dicts(part, "target_component_synonyms")]
        genes = [synonym.get("component_synonym") for synonym in synonyms if synonym.get("syn_type") == "GENE_SYMBOL"]
        said = {
            "mechanism_of_action": row.get("mechanism_of_action"),
            "action_type": row.get("action_type"),
            "target_name": target.get("pref_name") or row.get("target_pref_name"),
            "target_id": row.get("target_chembl_id"),
            "gene_symbols": list(dict.fromkeys(filter(None, genes))),
            "organism": organism if (organism := target.get("organism")) != "Homo sapiens" else None,
            "uniprot_ids": list(dict.fromkeys(part["accession"] for part in parts if part.get("accession"))),
        }
        found.append(reported(said))
    return without_repeats(found)


def parent_id(row: ChEMBLRow) -> str | None:
    hierarchy = at(row, "molecule_hierarchy", "parent_chembl_id")
    found = hierarchy or row.get("parent_molecule_chembl_id") or row.get("molecule_chembl_id")
    return str(found) if found else None


def molecule_names(molecule: ChEMBLRow) -> list[str]:
    synonyms = (each.get("molecule_synonym") for each in dicts(molecule, "molecule_synonyms"))
    return [str(name) for name in (molecule.get("pref_name"), *synonyms) if name]
