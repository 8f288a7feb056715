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
data found. If the schema says `Cannot query field`, the older one is used: `knownDrugs(size: 200)` with rows of `phase`
(number), `maximumClinicalTrialPhase`, and `maxPhaseForIndication`. `opentargets_record` parses the answers.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ...errors import SearchError, SourceRefused, SourceUnavailable, UnreadableReply
from ...evidence import Evidence, checked_identifier
from ...http.reply import Reply, at, dicts, read_each
from ...lexicon import canonical_drug, condition_synonyms, same_drug
from ...lexicon.conditions import name_essence
from ...questions.question import read_query
from ...search import Filters, SearchFilters, Source, SourceReply
from ..card import SourceCard
from ..publications import without_addresses
from .opentargets_record import parse_disease, parse_drug

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
_AT_FAULT = re.compile(
    r"cannot query|syntax error|unknown (?:argument|type)|variable|field .* of type|validat|too (?:expensive|complex)",
    re.IGNORECASE,
)

Found = tuple[Any, list[str]]
"""The requested data, None if the server has none, and a line for each part that failed."""

SEARCH = """query Search($text: String!, $kinds: [String!]!) {
  search(queryString: $text, entityNames: $kinds, page: {index: 0, size: 10}) { total hits { id name entity } }
}"""
_DISEASE = """query Disease($id: String!) {
  disease(efoId: $id) {
    id name
    %s
    associatedTargets(page: {index: 0, size: 10}) {
      count rows { score datatypeScores { id score } target { id approvedSymbol } }
    }
  }
}"""
MAP_IDS = """query MapIds($names: [String!]!, $kinds: [String!]!) {
  mapIds(queryTerms: $names, entityNames: $kinds) { mappings { term hits { id name entity } } }
}"""
_DRUGS = """query Drugs($ids: [String!]!) {
  drugs(chemblIds: $ids) {
    id name drugType %s
    mechanismsOfAction { rows { mechanismOfAction actionType targetName targets { id approvedSymbol %s } } }
    indications { count rows { %s disease { id name } } }
    drugWarnings { warningType description toxicityClass country year }
    adverseEvents(page: {index: 0, size: 10}) { criticalValue rows { name count logLR } }
  }
}"""
DISEASE = (
    _DISEASE % "drugAndClinicalCandidates { count rows { maxClinicalStage drug { id name } } }",
    _DISEASE % "knownDrugs(size: 200) { count rows { phase drug { id name } } }",
)
"""The query in the current schema, and in the previous one."""
DRUGS = (
    _DRUGS % ("maximumClinicalStage", "pathways { pathwayId pathway }", "maxClinicalStage"),
    _DRUGS % ("maximumClinicalTrialPhase", "", "maxPhaseForIndication"),
)
"""The query in the current schema, and in the previous one."""


class SchemaChanged(SourceRefused):
    """The source does not know a requested field."""


class OpenTargets(Source):
    """Diseases with their known drugs and associated targets; drugs with their mechanisms and indications."""

    card = CARD
    _schema = 0
    """Schema version that the server accepted last."""

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
        answers = await asyncio.gather(*asking, return_exceptions=True)
        failures = [answer for answer in answers if isinstance(answer, BaseException)]
        given = [answer for answer in answers if not isinstance(answer, BaseException)]
        records = list({record.key: record for found, _ in given for record in found}.values())
        if failures and (not records or not isinstance(failures[0], SearchError)):
            raise failures[0]
        problems = [failure.reason for failure in failures if isinstance(failure, SearchError)]
        problems += [problem for _, lacking in given for problem in lacking]
        shown = records[(page - 1) * max_results : page * max_results]
        return self.reply(query, shown, words=asked.words, total=len(records), problems=problems, url=self._url)

    async def look_up_online(self, *names: str) -> SourceReply:
        """Look up drugs by name or ChEMBL id, all at once and each once per run; `empty` if none is found.

        Raises:
            SearchError: no reply, or an unreadable one.
        """
        found = await self.transport.shelf.take(self.name, names, self._fetch_drugs)
        known = {name: record for name, (record, _) in found.items() if record is not None}
        problems = list(dict.fromkeys(line for _, lines in found.values() for line in lines))
        notes = [f"no drug is named {name[:60]!r}" for name in dict.fromkeys(names) if name not in known]
        return self.reply(", ".join(names), known.values(), problems=problems, notes=notes, url=self._url)

    @property
    def _url(self) -> str:
        return f"{self.transport.endpoints[self.name].base_url}/graphql"

    async def _diseases(self, condition: str) -> tuple[list[Evidence], list[str]]:
        for name in list(dict.fromkeys((condition, *condition_synonyms(condition))))[:_MAX_NAMES]:
            data, _ = await self._ask(SEARCH, {"text": name, "kinds": ["disease"]}, "search")
            if ids := best_hits(_hits(data, "disease"), condition):
                given = [await self._ask_either(DISEASE, {"id": each}, "disease") for each in ids]
                records, unread = read_each([data for data, _ in given if isinstance(data, dict)], parse_disease)
                return records, [*(line for _, problems in given for line in problems), *unread]
        return [], []

    async def _drugs(self, drugs: Sequence[str]) -> tuple[list[Evidence], list[str]]:
        found = (await self.transport.shelf.take(self.name, drugs, self._fetch_drugs)).values()
        problems = dict.fromkeys(line for _, lines in found for line in lines)
        return [record for record, _ in found if record is not None], list(problems)

    async def _fetch_drugs(self, drugs: Sequence[str]) -> dict[str, tuple[Evidence | None, list[str]]]:
        """Look up drugs by name: one request for their ids, one for their data.

        Returns each drug's record, None if there is none, with notes on failed parts.
        """
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
        rows, problems = await self._ask_either(DRUGS, {"ids": sorted(set(ids.values()))}, "drugs") if ids else ([], [])
        records, unread = read_each(dicts({"rows": rows}, "rows"), parse_drug)
        found = {record.metadata["chembl_id"]: record for record in records}
        return {drug: (found.get(ids.get(drug, "")), [*problems, *unread]) for drug in drugs}

    async def _map_names(self, names: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
        """Return the drugs with each of the names."""
        data, _ = await self._ask(MAP_IDS, {"names": list(dict.fromkeys(names)), "kinds": ["drug"]}, "mapIds")
        return {str(each.get("term")): _hits(each, "drug") for each in dicts(data, "mappings")}

    async def _ask_either(self, forms: tuple[str, str], variables: Mapping[str, Any], root: str) -> Found:
        """Query with the schema that worked last, and with the other one if the server does not know a field."""
        try:
            return await self._ask(forms[self._schema], variables, root)
        except SchemaChanged:
            other = 1 - self._schema
            found = await self._ask(forms[other], variables, root)
            self._schema = other
            return found

    async def _ask(self, query: str, variables: Mapping[str, Any], root: str) -> Found:
        """Return the value under `root` in the answer's data."""
        body = {"query": query, "variables": dict(variables)}
        return await self.transport.post(self.name, "graphql", body=body, also=(400,), read=partial(_read, root))


def _hits(data: Any, kind: str) -> list[Mapping[str, Any]]:
    """Return the hits of a kind.

    Raises:
        UnreadableReply: there are hits, but none has an id and a kind.
    """
    given = at(data, "hits")
    known = [hit for hit in dicts(data, "hits") if hit.get("id") and hit.get("entity")]
    if (given and not known) or not isinstance(given, list):
        raise UnreadableReply(CARD.name, "answered with hits that have neither id nor kind")
    return [hit for hit in known if hit["entity"] == kind]


def _read(root: str, reply: Reply) -> Found:
    """Parse a GraphQL answer; data is kept even with errors, which become notes on what is missing.

    Raises:
        SchemaChanged: a field is unknown.
        SourceRefused: the query is invalid.
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
    return without_addresses("; ".join(filter(None, messages)))[:200] or "no reason given"


def failure(source: str, status: int, errors: Any) -> SourceRefused | SourceUnavailable:
    """Convert a GraphQL failure to the error class that says whether to retry.

    >>> failure("opentargets", 400, [{"message": "Cannot query field 'knownDrugs' on type 'Disease'."}])
    SchemaChanged("opentargets: refused the query: Cannot query field 'knownDrugs' on type 'Disease'.")
    >>> failure("opentargets", 200, [{"message": "Internal server error"}])
    SourceUnavailable('opentargets: failed on its side: Internal server error')
    """
    said = _join_messages(*(errors if isinstance(errors, list) else [errors]))
    if "cannot query field" in said.lower():
        return SchemaChanged(source, f"refused the query: {said}")
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
