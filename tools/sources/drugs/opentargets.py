"""Open Targets Platform, drugs and targets of diseases (https://platform-docs.opentargets.org/data-access/graphql-api).

Queried with POST `graphql`, body `{"query": …, "variables": …}`. There are four queries, by operation name:

* `Search` with variables `text` and `kinds` (`["disease"]` or `["drug"]`); returns `data.search.hits[]` of `id`,
  `name`, `entity`, and `data.search.total`;
* `Disease` with `id` (`EFO_…`, `MONDO_…`); returns `data.disease` of `id`, `name`, `drugAndClinicalCandidates` with
  `count` and `rows[]` of `maxClinicalStage` and `drug{id name}`, and `associatedTargets(page: …)` (first 10) with
  `count` and `rows[]` of `score` (0 to 1) and `target{id approvedSymbol}`;
* `MapIds` with `names` and `kinds`; returns `data.mapIds.mappings[]` of `term` and `hits[]` as above;
* `Drugs` with `ids` (`CHEMBL…`); returns `data.drugs[]` of `id`, `name`, `drugType`, `maximumClinicalStage`,
  `mechanismsOfAction.rows[]` of `mechanismOfAction`, `actionType`, `targetName`, `targets[]{id approvedSymbol}` with
  `pathways[]` of `pathwayId` (Reactome's) and `pathway` (its name), `indications` with `count` and `rows[]` of
  `maxClinicalStage` and `disease{id name}`, `drugWarnings[]` of `warningType`, `toxicityClass`, `country`, `year`,
  `description`, and `adverseEvents(page: …)` with `criticalValue` and `rows[]` of `name`, `count` and `logLR`: events
  reported to FAERS more often for it than for others, by log-likelihood ratio.

Clinical stages are words: `APPROVAL` (marketed for it), `PREAPPROVAL`, `PHASE_4`, `PHASE_3`, `PHASE_2_3`, `PHASE_2`,
`PHASE_1_2`, `PHASE_1`, `EARLY_PHASE_1`, `IND`, `PRECLINICAL`, `WITHDRAWAL`, `UNKNOWN`. An unknown id returns `null` for
`disease` and no row of `drugs`. Failures come as `errors[]` of `message` and `path` with 200 or 400, along with any
data found. The schema is at https://api.platform.opentargets.org/api/v4/graphql/schema.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeGuard

from ...errors import SourceRefused, SourceUnavailable, UnreadableReply
from ...evidence import Evidence, checked_identifier
from ...http.reply import Reply, at, count, dicts, read_each, reported, text, without_repeats
from ...lexicon import canonical_drug, condition_synonyms, same_drug
from ...lexicon.conditions import name_essence
from ...questions.question import read_query
from ...records import Disease, Drug
from ...records.parts import AssociatedTarget, Mechanism, Pathway, Signal
from ...search import Filters, SearchFilters, SourceReply
from ..card import SourceCard
from ..lookups import Item, LookUps, gather_answers
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
    typical_s=0.6,
    fresh_days=30,  # released every three months
    hosts=("platform.opentargets.org",),
    gives="drug",  # and diseases, which state their kind
    entries="Database entry",
    dialect="names",
    use="searched",
    specialist="mechanism",
)

_MAX_DISEASES = 3  # entries per condition: the disease itself and close relatives
_MAX_NAMES = 4  # names of a condition to search for, until one is found
_MAX_LISTED = 60  # drugs of a disease, or conditions of a drug, in a record; some have hundreds
_MAX_TARGETS = 10
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
_AT_FAULT = re.compile(
    r"cannot query|syntax error|unknown (?:argument|type)|variable|field .* of type|validat|too (?:expensive|complex)",
    re.IGNORECASE,
)

Found = tuple[Any, list[str]]
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
        """Return the diseases named in the query, with their drugs and targets; then the drugs it names.

        Args:
            query: words, or the boolean form returned by `preprocess_query`.
            max_results: 1 to 50 records.
            filters: only the page is used.

        Raises:
            SourceRefused: filters were given, or the query contains no words.
            SearchError: no reply, or an unreadable one.
        """
        page = SearchFilters.of(self.name, filters).page
        asked = read_query(self.name, query)
        conditions = asked.conditions or (() if asked.drugs else (asked.words,))
        asking = [self._diseases(condition) for condition in conditions]
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
                given = [await self._ask(DISEASE, {"id": each}, "disease") for each in ids]
                records, unread = read_each([data for data, _ in given if isinstance(data, dict)], parse_disease)
                return records, [*(line for _, problems in given for line in problems), *unread]
        return [], []

    async def _drugs(self, drugs: Sequence[str]) -> tuple[list[Evidence], list[str]]:
        found = (await self.transport.shelf.take(self.name, drugs, self.fetch)).values()
        problems = dict.fromkeys(line for each in found for line in each.problems)
        return [each.record for each in found if each.record is not None], list(problems)

    async def fetch(self, drugs: Sequence[str]) -> dict[str, Item]:
        """Look up drugs by name: one request for their ids, one for their data."""
        ids = {drug: number for drug in drugs if (number := checked_identifier("chembl_id", drug))}
        spelled = {
            drug: list(dict.fromkeys(filter(None, (drug.strip(), canonical_drug(drug)))))
            for drug in drugs
            if drug not in ids
        }
        hits = await self._map_names([name for names in spelled.values() for name in names]) if spelled else {}
        for drug, names in spelled.items():
            if chembl_id := next(filter(None, (named(hits.get(name, ()), name) for name in names)), None):
                ids[drug] = chembl_id
        rows, problems = await self._ask(DRUGS, {"ids": sorted(set(ids.values()))}, "drugs") if ids else ([], [])
        records, unread = read_each(dicts({"rows": rows}, "rows"), parse_drug)
        known = {record.metadata["chembl_id"]: record for record in records}
        return {
            drug: Item(
                found := known.get(ids.get(drug, "")),
                [*problems, *unread],
                "" if found else f"no drug is named {drug[:60]!r}",
            )
            for drug in drugs
        }

    async def _map_names(self, names: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
        """Return the drugs with each of the names."""
        data, _ = await self._ask(MAP_IDS, {"names": list(dict.fromkeys(names)), "kinds": ["drug"]}, "mapIds")
        return {str(each.get("term")): _hits(each, "drug") for each in dicts(data, "mappings")}

    async def _ask(self, query: str, variables: Mapping[str, Any], root: str) -> Found:
        """Return the value under `root` in the answer's data."""
        body = {"query": query, "variables": dict(variables)}
        return await self.transport.post(self.name, "graphql", body=body, also=(400,), read=partial(_read, root))


def _hits(data: Any, kind: str) -> list[Mapping[str, Any]]:
    """Return the hits of a kind; raises `UnreadableReply` if there are hits, but none has an id and a kind."""
    given = at(data, "hits")
    known = [hit for hit in dicts(data, "hits") if hit.get("id") and hit.get("entity")]
    if (given and not known) or not isinstance(given, list):
        raise UnreadableReply(CARD.name, "answered with hits that have neither id nor kind")
    return [hit for hit in known if hit["entity"] == kind]


def _read(root: str, reply: Reply) -> Found:
    """Parse a GraphQL answer; data is kept even with errors, which become notes on what is missing.

    Raises:
        SourceRefused: the query is invalid, or a field is unknown.
        SourceUnavailable: the server failed.
        UnreadableReply: neither data nor errors.
    """
    found = reply.json()
    if not isinstance(found, dict):
        raise UnreadableReply(reply.source, "answered with something that is not a GraphQL reply")
    given, errors = at(found, "data"), found.get("errors")
    data = at(given, root)
    if errors and not (reply.status == 200 and data and isinstance(data, dict | list)):
        raise failure(reply.source, reply.status, errors)
    if not isinstance(given, dict) or root not in given:
        raise UnreadableReply(reply.source, f"answered without {root}")
    problems = [f"{_part(error)} could not be had: {_join_messages(error)}" for error in dicts(found, "errors")]
    return (data if isinstance(data, dict | list) else None), list(dict.fromkeys(problems))


def _part(error: Mapping[str, Any]) -> str:
    """Return the part of an answer that an error concerns: the names on its path, without list indices."""
    path = error.get("path")
    return ".".join(each for each in path if isinstance(each, str))[:80] if isinstance(path, list) else "a part of it"


def _join_messages(*errors: Any) -> str:
    messages = [str(error.get("message", "")) if isinstance(error, dict) else str(error) for error in errors]
    return redacted("; ".join(filter(None, messages))) or "no reason given"


def failure(source: str, status: int, errors: Any) -> SourceRefused | SourceUnavailable:
    """Convert a GraphQL failure to the error class that says whether to retry.

    >>> failure("opentargets", 400, [{"message": "Cannot query field 'knownDrugs' on type 'Disease'."}])
    SourceRefused("opentargets: refused the query: Cannot query field 'knownDrugs' on type 'Disease'.")
    >>> failure("opentargets", 200, [{"message": "Internal server error"}])
    SourceUnavailable('opentargets: failed on its side: Internal server error')
    """
    said = _join_messages(*(errors if isinstance(errors, list) else [errors]))
    if status == 400 or _AT_FAULT.search(said):
        return SourceRefused(source, f"refused the query: {said}")
    return SourceUnavailable(source, f"failed on its side: {said}")


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
    disease_id, name = str(disease["id"]), str(disease.get("name") or disease["id"])
    drugs = keep_furthest(
        {
            **_stage(row),
            "name": str(at(row, "drug", "name") or at(row, "drug", "id") or "").lower(),
            "chembl_id": at(row, "drug", "id"),
        }
        for row in dicts(disease, "drugAndClinicalCandidates", "rows")
    )
    targets = list[AssociatedTarget]()
    for row in dicts(disease, "associatedTargets", "rows")[:_MAX_TARGETS]:
        if symbol := at(row, "target", "approvedSymbol"):
            target = AssociatedTarget(symbol=symbol, score=row.get("score"))
            by_kind = {str(each.get("id")): each.get("score") for each in dicts(row, "datatypeScores")}
            if isinstance(genetic := by_kind.get("genetic_association"), int | float):
                target["genetic"] = genetic
            if isinstance(pathway := by_kind.get("affected_pathway"), int | float):
                target["pathway"] = pathway
            targets.append(target)
    said = [f"Known drugs for {name}: {list_stages(drugs)}." if drugs else f"No known drugs are listed for {name}."]
    if targets:
        scores = ", ".join(
            f"{each['symbol']} {score:.2f}" if isinstance(score := each["score"], int | float) else str(each["symbol"])
            for each in targets
        )
        said.append(f"Targets associated with {name} (score 0 to 1): {scores}.")
    if by_genes := [f"{each['symbol']} {each['genetic']:.2f}" for each in targets if "genetic" in each]:
        said.append(f"By genetic associations alone: {', '.join(by_genes)}.")
    record = Disease(disease=name, disease_id=disease_id, drugs=drugs[:_MAX_LISTED], targets=targets)
    url = f"https://platform.opentargets.org/disease/{disease_id}"
    return Evidence.entry("opentargets", f"{name} ({disease_id})", said, record, url)


def parse_drug(drug: Mapping[str, Any]) -> Evidence:
    """Convert a drug: its mechanisms with their targets, its indications by highest stage."""
    chembl_id, rows = str(drug["id"]), dicts(drug, "mechanismsOfAction", "rows")
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
    record = Drug(
        drug=str(drug.get("name") or chembl_id).lower(),
        chembl_id=chembl_id,
        molecule_type=drug.get("drugType") or None,
        max_phase=PHASE_OF_STAGE.get(str(drug.get("maximumClinicalStage"))),
        mechanisms=without_repeats(map(_mechanism, rows)),
        indications=keep_furthest(indications)[:_MAX_LISTED],
        pathways=_pathways(rows),
        warnings=parse_warnings(warnings),
        signals=_signals(drug),
    )
    return drug_entry("opentargets", record, f"https://platform.opentargets.org/drug/{chembl_id}", called=chembl_id)


def _signals(drug: Mapping[str, Any]) -> list[Signal]:
    """Return events above the critical value, strongest first; empty if there is no such value."""
    critical = at(drug, "adverseEvents", "criticalValue")
    found: list[Signal] = []
    for row in dicts(drug, "adverseEvents", "rows"):
        term, reports, ratio = text(row.get("name")), count(row.get("count")), row.get("logLR")
        if term and reports is not None and _is_figure(ratio) and _is_figure(critical) and ratio > critical:
            found.append({"term": term.lower(), "count": reports, "log_likelihood": round(ratio, 1)})
    return sorted(found, key=lambda each: (-each["log_likelihood"], each["term"]))


def _is_figure(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12


def _mechanism(row: Mapping[str, Any]) -> Mechanism:
    targets = dicts(row, "targets")
    mechanism: Mechanism = reported(
        {
            "mechanism_of_action": row.get("mechanismOfAction"),
            "action_type": row.get("actionType"),
            "target_name": row.get("targetName"),
            "target_id": next((each.get("id") for each in targets), None),
            "gene_symbols": [each["approvedSymbol"] for each in targets if each.get("approvedSymbol")],
            "pathways": _pathways([row]),
        }
    )
    return mechanism


def _pathways(rows: Iterable[Mapping[str, Any]]) -> list[Pathway]:
    """Return the Reactome pathways of the targets, id and name, those with most targets first."""
    targets = {str(each.get("id")): each for row in rows for each in dicts(row, "targets")}
    listed = [path for each in targets.values() for path in dicts(each, "pathways")]
    named = (
        (str(path["pathwayId"]), str(path["pathway"]))
        for path in listed
        if path.get("pathway") and path.get("pathwayId")
    )
    return [{"id": number, "name": name} for (number, name), _ in Counter(named).most_common(_MAX_PATHWAYS)]


def _stage(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's stage and its phase; None where unknown."""
    stage = row.get("maxClinicalStage")
    return {"max_phase": PHASE_OF_STAGE.get(str(stage)), "stage": stage if stage != "UNKNOWN" else None}
