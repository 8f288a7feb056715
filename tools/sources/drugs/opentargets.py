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
from ...lexicon import canonical_drug, condition_synonyms, is_same_drug
from ...lexicon.conditions import stem_name
from ...questions import parse_query
from ...records import AssociatedTarget, Disease, Drug, Mechanism, Pathway, Signal
from ...records.card import SourceCard
from ...records.evidence import Evidence, checked_identifier
from ...search import Filters, SearchFilters, SourceReply
from ..lookups import Item, LookUps, gather_answers, items
from ..publications import redact
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
        question = parse_query(self.name, query)
        conditions = question.conditions or (() if question.drugs else (question.words,))
        requests = [self._find_diseases(condition) for condition in conditions]
        requests += [self._find_drugs(question.drugs)] if question.drugs else []
        answers, failures = await gather_answers(requests)
        problems = [failure.reason for failure in failures]
        by_key: dict[str, Evidence] = {}
        for answer_records, answer_problems in answers:
            by_key |= {record.key: record for record in answer_records}
            problems += answer_problems
        if failures and not by_key:
            raise failures[0]
        records = list(by_key.values())
        on_page = records[(page - 1) * max_results : page * max_results]
        return self.reply(query, on_page, words=question.words, total=len(records), problems=problems, url=self.url)

    async def _find_diseases(self, condition: str) -> tuple[list[Evidence], list[str]]:
        for name in list(dict.fromkeys((condition, *condition_synonyms(condition))))[:_MAX_NAMES]:
            data, _ = await self._ask(SEARCH, {"text": name, "kinds": ["disease"]}, "search")
            numbers = choose_hits(_parse_hits(data, "disease"), condition)
            if numbers:
                rows: list[Any] = []
                problems: list[str] = []
                for number in numbers:
                    row, row_problems = await self._ask(DISEASE, {"id": number}, "disease")
                    rows += [row] if row else []
                    problems += row_problems
                records, unread = read_each(rows, parse_disease)
                return records, [*problems, *unread]
        return [], []

    async def _find_drugs(self, drugs: Sequence[str]) -> tuple[list[Evidence], list[str]]:
        items_by_drug = await self.transport.shelf.take(self.name, drugs, self.fetch)
        records: list[Evidence] = []
        problems: dict[str, None] = {}
        for item in items_by_drug.values():
            records += [item.record] if item.record is not None else []
            problems |= dict.fromkeys(item.problems)
        return records, list(problems)

    async def fetch(self, drugs: Sequence[str]) -> dict[str, Item]:
        ids: dict[str, str] = {}
        spellings: dict[str, tuple[str, str]] = {}
        for drug in drugs:
            number = checked_identifier("chembl_id", drug)
            if number:
                ids[drug] = number
            else:
                spellings[drug] = (drug.strip(), canonical_drug(drug) or drug)
        if spellings:
            names = list(dict.fromkeys(chain(*spellings.values())))
            data, _ = await self._ask(MAP_IDS, {"names": names, "kinds": ["drug"]}, "mapIds")
            hits = {str(mapping.get("term")): _parse_hits(mapping, "drug") for mapping in dicts(data, "mappings")}
            for drug, own_names in spellings.items():
                numbers = (find_drug_id(hits.get(name, ()), name) for name in own_names)
                number = next(filter(None, numbers), None)
                if number:
                    ids[drug] = number
        rows, problems = await self._ask(DRUGS, {"ids": sorted(set(ids.values()))}, "drugs") if ids else ([], [])
        records, unread = read_each(rows or [], parse_drug)
        by_id = {record.metadata["chembl_id"]: record for record in records}
        by_drug = {drug: by_id[number] for drug, number in ids.items() if number in by_id}
        return items(drugs, by_drug, [*problems, *unread], "no drug is named {!r}")

    async def _ask(self, query: str, variables: Mapping[str, Any], root: str) -> GraphQLReply:
        """Return the value under `root` in the answer's data."""
        body = {"query": query, "variables": dict(variables)}
        return await self.transport.post(self.name, "graphql", body=body, also=(400,), read=partial(_read, root))


def _parse_hits(data: Any, kind: str) -> list[Mapping[str, Any]]:
    hits = entries(CARD.name, data, "hits", what="hits", keys=("id",))
    return [hit for hit in hits if hit.get("id") and hit.get("entity") == kind]


def _read(root: str, reply: Reply) -> GraphQLReply:
    """Return the value under `root` in an answer's data, which is kept even where parts of it failed.

    Raises:
        SourceRefused: the query is invalid.
        SourceUnavailable: the server failed.
        UnreadableReply: neither data nor errors.
    """
    reply_data = reply.json()
    content = at(reply_data, "data")
    errors = at(reply_data, "errors")
    data = at(content, root)
    if errors and not (reply.status == 200 and data and isinstance(data, dict | list)):
        reasons = _join_messages(errors)
        if reply.status == 400 or "too expensive" in reasons.lower():
            raise SourceRefused(reply.source, f"refused the query: {reasons}")
        raise SourceUnavailable(reply.source, f"failed on its side: {reasons}")
    if not isinstance(content, dict) or root not in content:
        raise UnreadableReply(reply.source, f"answered without {root}")
    problems = []
    for error in dicts(reply_data, "errors"):
        part = ".".join(step for step in error.get("path") or () if isinstance(step, str))[:80]
        problems.append(f"{part or 'a part of it'} could not be had: {_join_messages([error])}")
    return (data if isinstance(data, dict | list) else None), list(dict.fromkeys(problems))


def _join_messages(errors: Any) -> str:
    listed = errors if isinstance(errors, list) else [errors]
    return redact("; ".join(str(at(error, "message") or "no reason given") for error in listed))


def choose_hits(hits: Iterable[Mapping[str, Any]], condition: str) -> list[str]:
    """Return the ids of hits that match the condition: the disease itself, else those whose names contain its name.

    A hit that shares no word with the condition is dropped: the server also returns mere lookalikes.

    >>> choose_hits([{"id": "A", "name": "migraine with aura"}, {"id": "B", "name": "migraine disorder"}], "migraine")
    ['B']
    """
    names = [stem_name(name) for name in (condition, *condition_synonyms(condition))]
    same: list[str] = []
    holding: list[str] = []
    touching: list[str] = []
    for hit in hits:
        key = str(hit["id"])
        words = stem_name(str(hit.get("name")))
        if words in names:
            same.append(key)
        if any(name and name <= words for name in names):
            holding.append(key)
        if any(name & words for name in names):
            touching.append(key)
    return same[:1] or holding[:_MAX_DISEASES] or touching[:1]


def find_drug_id(hits: Iterable[Mapping[str, Any]], drug: str) -> str | None:
    """Return the id of the hit that is the drug or a salt of it; None if there is none.

    >>> find_drug_id([{"id": "CHEMBL1", "name": "X ACID"}, {"id": "CHEMBL2", "name": "X"}], "x")
    'CHEMBL2'
    """
    listed = [(str(hit["id"]), str(hit.get("name"))) for hit in hits]
    exact = [key for key, name in listed if name.casefold() == drug.casefold()]
    salts = [
        key for key, name in listed if is_same_drug(name, drug) or name.casefold().startswith(f"{drug.casefold()} ")
    ]
    return next(iter([*exact, *salts]), None)


def parse_disease(disease: Mapping[str, Any]) -> Evidence:
    """Convert a disease: its drugs by highest stage, its targets by score (0 to 1)."""
    disease_id = str(disease["id"])
    name = str(disease.get("name") or disease["id"])
    drugs = keep_furthest(
        {
            **_parse_stage(row),
            "name": str(at(row, "drug", "name") or at(row, "drug", "id") or "").lower(),
            "chembl_id": at(row, "drug", "id"),
        }
        for row in dicts(disease, "drugAndClinicalCandidates", "rows")
    )
    targets = list[AssociatedTarget]()
    for row in dicts(disease, "associatedTargets", "rows"):
        if symbol := at(row, "target", "approvedSymbol"):
            by_kind = {kind_score.get("id"): kind_score.get("score") for kind_score in dicts(row, "datatypeScores")}
            scores = {"genetic": by_kind.get("genetic_association"), "pathway": by_kind.get("affected_pathway")}
            target: AssociatedTarget = reported({"symbol": symbol, **scores})
            targets.append({**target, "score": row.get("score")})
    lines = [f"Known drugs for {name}: {list_stages(drugs)}." if drugs else f"No known drugs are listed for {name}."]
    if scored := [
        f"{target_row['symbol']} {target_row['score']:.2f}" for target_row in targets if target_row["score"] is not None
    ]:
        lines.append(f"Targets associated with {name} (score 0 to 1): {', '.join(scored)}.")
    if by_genes := [
        f"{target_row['symbol']} {target_row['genetic']:.2f}" for target_row in targets if "genetic" in target_row
    ]:
        lines.append(f"By genetic associations alone: {', '.join(by_genes)}.")
    record = Disease(disease=name, disease_id=disease_id, drugs=drugs[:_MAX_LISTED], targets=targets)
    url = f"https://platform.opentargets.org/disease/{disease_id}"
    return Evidence.entry("opentargets", f"{name} ({disease_id})", lines, record, url)


def parse_drug(drug: Mapping[str, Any]) -> Evidence:
    """Convert a drug: its mechanisms with their targets, its indications by highest stage."""
    chembl_id = str(drug["id"])
    rows = dicts(drug, "mechanismsOfAction", "rows")
    indications = (
        {**_parse_stage(row), "name": at(row, "disease", "name"), "id": at(row, "disease", "id")}
        for row in dicts(drug, "indications", "rows")
    )
    warnings = (  # in the format of ChEMBL, where they come from
        {
            "warning_type": row.get("warningType"),
            "warning_class": row.get("toxicityClass"),
            "warning_description": row.get("description"),
            "warning_country": row.get("country"),
            "warning_year": row.get("year"),
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
        mechanisms=without_repeats(map(_parse_mechanism, rows)),
        indications=keep_furthest(indications)[:_MAX_LISTED],
        pathways=_list_pathways(rows),
        warnings=parse_warnings(warnings),
        signals=sorted(signals, key=lambda signal: (-signal["log_likelihood"], signal["term"])),
    )
    return drug_entry("opentargets", record, f"https://platform.opentargets.org/drug/{chembl_id}", called=chembl_id)


def _parse_mechanism(row: Mapping[str, Any]) -> Mechanism:
    targets = dicts(row, "targets")
    mechanism: Mechanism = reported(
        {
            "mechanism_of_action": row.get("mechanismOfAction"),
            "action_type": row.get("actionType"),
            "target_name": row.get("targetName"),
            "target_id": next((target.get("id") for target in targets), None),
            "gene_symbols": [target["approvedSymbol"] for target in targets if target.get("approvedSymbol")],
            "pathways": _list_pathways([row]),
        }
    )
    return mechanism


def _list_pathways(rows: Iterable[Mapping[str, Any]]) -> list[Pathway]:
    """Return the Reactome pathways of the targets, id and name, those with most targets first."""
    targets: dict[str, Any] = {}
    for row in rows:
        targets |= {str(target.get("id")): target for target in dicts(row, "targets")}
    counts: Counter[tuple[str, str]] = Counter()
    for target in targets.values():
        pathways = dicts(target, "pathways")
        counts.update((pathway["pathwayId"], pathway["pathway"]) for pathway in pathways if pathway.get("pathwayId"))
    return [{"id": number, "name": name} for (number, name), _ in counts.most_common(_MAX_PATHWAYS)]


def _parse_stage(row: Mapping[str, Any]) -> dict[str, Any]:
    stage = row.get("maxClinicalStage")
    return {"max_phase": PHASE_OF_STAGE.get(str(stage)), "stage": stage if stage != "UNKNOWN" else None}
