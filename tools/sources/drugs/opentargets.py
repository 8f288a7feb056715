"""Open Targets Platform, drugs and targets of diseases (https://platform-docs.opentargets.org/data-access/graphql-api).

The schema is at https://api.platform.opentargets.org/api/v4/graphql/schema; an unknown id gives null or no row.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from ...errors import SourceRefused, SourceUnavailable, UnreadableReply
from ...http.reply import Reply, at, dicts, entries, read_each, reported, without_repeats
from ...lexicon import canonical_drug, condition_synonyms, same_drug
from ...lexicon.conditions import name_essence
from ...questions import read_query
from ...records import AssociatedTarget, Disease, Drug, Mechanism, Pathway, Signal
from ...records.card import SourceCard
from ...records.evidence import Evidence, checked_identifier
from ...search import Filters, SearchFilters, SourceReply
from ..lookups import Item, LookUps, gather_answers, items
from ..publications import redacted
from .drug_record import drug_entry, keep_furthest, list_stages, parse_warnings

CARD = SourceCard(
    name="opentargets",
    place=40,
    title="Open Targets",
    purpose="Open Targets by condition or drug: known drugs and associated targets of a disease; mechanisms of a drug.",
    address="https://api.platform.opentargets.org/api/v4",
    documentation="https://platform-docs.opentargets.org/data-access/graphql-api",
    per_second=4,  # none published
    fresh_days=30,  # released every three months
    hosts=("platform.opentargets.org",),
    gives="drug",  # and diseases, which state their kind
    dialect="names",
    use="searched",
    specialist="mechanism",
)

_MAX_DISEASES = 3  # entries per condition: the disease itself and close relatives
_MAX_NAMES = 4  # names of a condition to search for, until one is found
_MAX_LISTED = 60  # drugs of a disease, or conditions of a drug, in a record; some have hundreds
_MAX_PATHWAYS = 12  # per drug in a record; well-studied targets belong to dozens
PHASE_OF_STAGE: Mapping[str, float] = {
    "APPROVAL": 4,
    "PREAPPROVAL": 3,
    "PHASE_4": 3,
    "PHASE_3": 3,
    "PHASE_2_3": 2,
    "PHASE_2": 2,
    "PHASE_1_2": 1,
    "PHASE_1": 1,
    "EARLY_PHASE_1": 0.5,
    "IND": 0,
    "PRECLINICAL": 0,
}
"""Clinical stages as ChEMBL's highest phase, where 4 means approved; `WITHDRAWAL` and `UNKNOWN` have no phase.

A phase 4 trial of a drug that is not approved for the condition counts as 3; combined phases count as the lower one.
"""
GraphQLReply = tuple[Any, list[str]]
"""The requested data, None if the server has none, and a line for each part that failed."""

SEARCH = """query Search($text: String!, $kinds: [String!]!) {
  search(queryString: $text, entityNames: $kinds, page: {index: 0, size: 10}) { total hits { id name entity } }
}"""
DISEASE = """query Disease($id: String!) {
  disease(efoId: $id) {
    id name
    drugAndClinicalCandidates { count rows { maxClinicalStage drug { id name } } }
    associatedTargets(page: {index: 0, size: 10}) {
      count rows { score datatypeScores { id score } target { id approvedSymbol } }
    }
  }
}"""
MAP_IDS = """query MapIds($names: [String!]!, $kinds: [String!]!) {
  mapIds(queryTerms: $names, entityNames: $kinds) { mappings { term hits { id name entity } } }
}"""
DRUGS = """query Drugs($ids: [String!]!) {
  drugs(chemblIds: $ids) {
    id name drugType maximumClinicalStage
    mechanismsOfAction {
      rows { mechanismOfAction actionType targetName targets { id approvedSymbol pathways { pathwayId pathway } } }
    }
    indications { count rows { maxClinicalStage disease { id name } } }
    drugWarnings { warningType description toxicityClass country year }
    adverseEvents(page: {index: 0, size: 10}) { criticalValue rows { name count logLR } }
  }
}"""


class OpenTargets(LookUps):
    """Diseases with their known drugs and associated targets; drugs with their mechanisms and indications."""

    card = CARD
    path = "graphql"

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Return the diseases named in the query, with their drugs and targets; then the drugs it names."""
        page = SearchFilters.of(self.name, filters).page
        asked = read_query(self.name, query)
        asking = [
            self._diseases(condition) for condition in asked.conditions or (() if asked.drugs else (asked.words,))
        ]
        asking += [self._drugs(asked.drugs)] if asked.drugs else []
        given, failures = await gather_answers(asking)
        records = list({record.key: record for found, _ in given for record in found}.values())
        if failures and not records:
            raise failures[0]
        problems = [failure.reason for failure in failures]
        problems += [problem for _, lacking in given for problem in lacking]
        shown = records[(page - 1) * max_results : page * max_results]
        return self.reply(query, shown, words=asked.words, total=len(records), problems=problems, url=self.url)

    async def _diseases(self, condition: str) -> tuple[list[Evidence], list[str]]:
        for name in list(dict.fromkeys((condition, *condition_synonyms(condition))))[:_MAX_NAMES]:
            data, _ = await self._ask(SEARCH, {"text": name, "kinds": ["disease"]}, "search")
            if ids := best_hits(_hits(data, "disease"), condition):
                given = [await self._ask(DISEASE, {"id": identifier}, "disease") for identifier in ids]
                records, unread = read_each([data for data, _ in given if data], parse_disease)
                return records, [*(line for _, problems in given for line in problems), *unread]
        return [], []

    async def _drugs(self, drugs: Sequence[str]) -> tuple[list[Evidence], list[str]]:
        found = (await self.transport.shelf.take(self.name, drugs, self.fetch)).values()
        problems = dict.fromkeys(line for each in found for line in each.problems)
        return [each.record for each in found if each.record is not None], list(problems)

    async def fetch(self, drugs: Sequence[str]) -> dict[str, Item]:
        ids = {drug: number for drug in drugs if (number := checked_identifier("chembl_id", drug))}
        spelled = {drug: (drug.strip(), canonical_drug(drug) or drug) for drug in drugs if drug not in ids}
        if spelled:
            asked = {"names": list(dict.fromkeys(chain(*spelled.values()))), "kinds": ["drug"]}
            data, _ = await self._ask(MAP_IDS, asked, "mapIds")
            hits = {str(each.get("term")): _hits(each, "drug") for each in dicts(data, "mappings")}
            for drug, names in spelled.items():
                if number := next(filter(None, (named(hits.get(name, ()), name) for name in names)), None):
                    ids[drug] = number
        rows, problems = await self._ask(DRUGS, {"ids": sorted(set(ids.values()))}, "drugs") if ids else ([], [])
        records, unread = read_each(rows or [], parse_drug)
        by_id = {record.metadata["chembl_id"]: record for record in records}
        known = {drug: by_id[number] for drug, number in ids.items() if number in by_id}
        return items(drugs, known, [*problems, *unread], "no drug is named {!r}")

    async def _ask(self, query: str, variables: Mapping[str, Any], root: str) -> GraphQLReply:
        """Return the value under `root` in the answer's data."""
        body = {"query": query, "variables": dict(variables)}
        return await self.transport.post(self.name, "graphql", body=body, also=(400,), read=partial(_read, root))


def _hits(data: Any, kind: str) -> list[Mapping[str, Any]]:
    known = entries(CARD.name, data, "hits", what="hits", keys=("id",))
    return [hit for hit in known if hit.get("id") and hit.get("entity") == kind]


def _read(root: str, reply: Reply) -> GraphQLReply:
    """Return the value under `root` in an answer's data, which is kept even where parts of it failed.

    Raises:
        SourceRefused: the query is invalid.
        SourceUnavailable: the server failed.
        UnreadableReply: neither data nor errors.
    """
    found = reply.json()
    given = at(found, "data")
    errors = at(found, "errors")
    data = at(given, root)
    if errors and not (reply.status == 200 and data and isinstance(data, dict | list)):
        said = _join_messages(errors)
        if reply.status == 400 or "too expensive" in said.lower():
            raise SourceRefused(reply.source, f"refused the query: {said}")
        raise SourceUnavailable(reply.source, f"failed on its side: {said}")
    if not isinstance(given, dict) or root not in given:
        raise UnreadableReply(reply.source, f"answered without {root}")
    problems = []
    for error in dicts(found, "errors"):
        part = ".".join(each for each in error.get("path") or () if isinstance(each, str))[:80]
        problems.append(f"{part or 'a part of it'} could not be had: {_join_messages([error])}")
    return (data if isinstance(data, dict | list) else None), list(dict.fromkeys(problems))


def _join_messages(errors: Any) -> str:
    listed = errors if isinstance(errors, list) else [errors]
    return redacted("; ".join(str(at(each, "message") or "no reason given") for each in listed))


def best_hits(hits: Iterable[Mapping[str, Any]], condition: str) -> list[str]:
    """Return the ids of hits that match the condition: the disease itself, else those whose names contain its name.

    A hit that shares no word with the condition is dropped: the server also returns mere lookalikes.

    >>> best_hits([{"id": "A", "name": "migraine with aura"}, {"id": "B", "name": "migraine disorder"}], "migraine")
    ['B']
    """
    names = [name_essence(name) for name in (condition, *condition_synonyms(condition))]
    listed = [(str(hit["id"]), name_essence(str(hit.get("name")))) for hit in hits]
    same = [key for key, words in listed if words in names]
    holding = [key for key, words in listed if any(name and name <= words for name in names)]
    touching = [key for key, words in listed if any(name & words for name in names)]
    return same[:1] or holding[:_MAX_DISEASES] or touching[:1]


def named(hits: Iterable[Mapping[str, Any]], drug: str) -> str | None:
    """Return the id of the hit that is the drug or a salt of it; None if there is none.

    >>> named([{"id": "CHEMBL1", "name": "X ACID"}, {"id": "CHEMBL2", "name": "X"}], "x")
    'CHEMBL2'
    """
    listed = [(str(hit["id"]), str(hit.get("name"))) for hit in hits]
    exact = [key for key, name in listed if name.casefold() == drug.casefold()]
    salts = [key for key, name in listed if same_drug(name, drug) or name.casefold().startswith(f"{drug.casefold()} ")]
    return next(iter([*exact, *salts]), None)


def parse_disease(disease: Mapping[str, Any]) -> Evidence:
    """Convert a disease: its drugs by highest stage, its targets by score (0 to 1)."""
    disease_id = str(disease["id"])
    name = str(disease.get("name") or disease["id"])
    drugs = keep_furthest(
        {
            **_stage(row),
            "name": str(at(row, "drug", "name") or at(row, "drug", "id") or "").lower(),
            "chembl_id": at(row, "drug", "id"),
        }
        for row in dicts(disease, "drugAndClinicalCandidates", "rows")
    )
    targets = list[AssociatedTarget]()
    for row in dicts(disease, "associatedTargets", "rows"):
        if symbol := at(row, "target", "approvedSymbol"):
            by_kind = {each.get("id"): each.get("score") for each in dicts(row, "datatypeScores")}
            scores = {"genetic": by_kind.get("genetic_association"), "pathway": by_kind.get("affected_pathway")}
            target: AssociatedTarget = reported({"symbol": symbol, **scores})
            targets.append({**target, "score": row.get("score")})
    said = [f"Known drugs for {name}: {list_stages(drugs)}." if drugs else f"No known drugs are listed for {name}."]
    if scored := [f"{each['symbol']} {each['score']:.2f}" for each in targets if each["score"] is not None]:
        said.append(f"Targets associated with {name} (score 0 to 1): {', '.join(scored)}.")
    if by_genes := [f"{each['symbol']} {each['genetic']:.2f}" for each in targets if "genetic" in each]:
        said.append(f"By genetic associations alone: {', '.join(by_genes)}.")
    record = Disease(disease=name, disease_id=disease_id, drugs=drugs[:_MAX_LISTED], targets=targets)
    url = f"https://platform.opentargets.org/disease/{disease_id}"
    return Evidence.entry("opentargets", f"{name} ({disease_id})", said, record, url)


def parse_drug(drug: Mapping[str, Any]) -> Evidence:
    """Convert a drug: its mechanisms with their targets, its indications by highest stage."""
    chembl_id = str(drug["id"])
    rows = dicts(drug, "mechanismsOfAction", "rows")
    indications = (
        {**_stage(row), "name": at(row, "disease", "name"), "id": at(row, "disease", "id")}
        for row in dicts(drug, "indications", "rows")
    )
    warnings = (  # in the format of ChEMBL, where they come from
        {
            "warning_type": row.get("warningType"),
            "warning_class": row.get("toxicityClass"),
            **{f"warning_{part}": row.get(part) for part in ("description", "country", "year")},
        }
        for row in dicts(drug, "drugWarnings")
    )
    critical = at(drug, "adverseEvents", "criticalValue")
    signals: list[Signal] = [
        {"term": row["name"].lower(), "count": row["count"], "log_likelihood": round(row["logLR"], 1)}
        for row in dicts(drug, "adverseEvents", "rows")
        if critical is not None and row.get("name") and row["logLR"] > critical
    ]
    record = Drug(
        drug=str(drug.get("name") or chembl_id).lower(),
        chembl_id=chembl_id,
        molecule_type=drug.get("drugType") or None,
        max_phase=PHASE_OF_STAGE.get(str(drug.get("maximumClinicalStage"))),
        mechanisms=without_repeats(map(_mechanism, rows)),
        indications=keep_furthest(indications)[:_MAX_LISTED],
        pathways=_pathways(rows),
        warnings=parse_warnings(warnings),
        signals=sorted(signals, key=lambda each: (-each["log_likelihood"], each["term"])),
    )
    return drug_entry("opentargets", record, f"https://platform.opentargets.org/drug/{chembl_id}", called=chembl_id)


def _mechanism(row: Mapping[str, Any]) -> Mechanism:
    targets = dicts(row, "targets")
    mechanism: Mechanism = reported(
        {
            "mechanism_of_action": row.get("mechanismOfAction"),
            "action_type": row.get("actionType"),
            "target_name": row.get("targetName"),
            "target_id": next((target.get("id") for target in targets), None),
            "gene_symbols": [target["approvedSymbol"] for target in targets if target.get("approvedSymbol")],
            "pathways": _pathways([row]),
        }
    )
    return mechanism


def _pathways(rows: Iterable[Mapping[str, Any]]) -> list[Pathway]:
    """Return the Reactome pathways of the targets, id and name, those with most targets first."""
    targets = {str(each.get("id")): each for row in rows for each in dicts(row, "targets")}
    listed = [path for target in targets.values() for path in dicts(target, "pathways")]
    named = Counter((path["pathwayId"], path["pathway"]) for path in listed if path.get("pathwayId"))
    return [{"id": number, "name": name} for (number, name), _ in named.most_common(_MAX_PATHWAYS)]


def _stage(row: Mapping[str, Any]) -> dict[str, Any]:
    stage = row.get("maxClinicalStage")
    return {"max_phase": PHASE_OF_STAGE.get(str(stage)), "stage": stage if stage != "UNKNOWN" else None}
