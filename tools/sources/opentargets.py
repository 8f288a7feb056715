"""Open Targets Platform, drugs and targets of diseases (https://platform-docs.opentargets.org/data-access/graphql-api).

Asked with POST `graphql`, body `{"query": …, "variables": …}`. Four queries, told apart by their operation name:

* `Search` with variables `text` and `kinds` (`["disease"]` or `["drug"]`); gives `data.search.hits[]` of `id`, `name`,
  `entity`, and `data.search.total`;
* `Disease` with `id` (`EFO_…`, `MONDO_…`); gives `data.disease` of `id`, `name`, `drugAndClinicalCandidates` with
  `count` and `rows[]` of `maxClinicalStage` and `drug{id name}`, and `associatedTargets(page: …)` (first 10) with
  `count` and `rows[]` of `score` (0 to 1) and `target{id approvedSymbol}`;
* `MapIds` with `names` and `kinds`; gives `data.mapIds.mappings[]` of `term` and `hits[]` as above;
* `Drugs` with `ids` (`CHEMBL…`); gives `data.drugs[]` of `id`, `name`, `drugType`, `maximumClinicalStage`,
  `mechanismsOfAction.rows[]` of `mechanismOfAction`, `actionType`, `targetName`, `targets[]{id approvedSymbol}` with
  `pathways[]` of `pathwayId` (Reactome's) and `pathway` (its name), and
  `indications` with `count` and `rows[]` of `maxClinicalStage` and `disease{id name}`.

Clinical stages are words: `APPROVAL` (marketed for it), `PREAPPROVAL`, `PHASE_4`, `PHASE_3`, `PHASE_2_3`, `PHASE_2`,
`PHASE_1_2`, `PHASE_1`, `EARLY_PHASE_1`, `PRECLINICAL`, `UNKNOWN`. An unknown id gives `null` for `disease` and no row
of `drugs`. Failures come as `errors[]` of `message` with 200 or 400. Where the schema says `Cannot query field`, the
older one is asked: `knownDrugs(size: 200)` with rows of `phase` (number), `maximumClinicalTrialPhase`, and
`maxPhaseForIndication`. `opentargets_record` reads the answers.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import SearchError, SourceRefused, SourceUnavailable, UnreadableReply
from ..evidence import Evidence
from ..http.transport import Reply
from ..lexicon import canonical_drug, condition_synonyms, same_drug
from ..questions.naming import asked_for, essence, words_of
from ..ranking import rank
from ..search import Filters, Source, SourceReply, Status
from .card import SourceCard
from .opentargets_record import parse_disease, parse_drug
from .publications import check_filters

CARD = SourceCard(
    name="opentargets",
    title="Open Targets",
    purpose="Open Targets by condition or drug: known drugs and associated targets of a disease; mechanisms of a drug.",
    address="https://api.platform.opentargets.org/api/v4",
    documentation="https://platform-docs.opentargets.org/data-access/graphql-api",
    per_second=4,  # none published
    typical_s=0.6,
    fresh_days=30,  # released every three months
    hosts=("platform.opentargets.org",),
    gives="drug",  # and diseases, which say so
    entries="Database entry",
    dialect="names",
    use="searched",
    specialist="mechanism",
)

_MAX_DISEASES = 3  # entries for one condition: the disease itself and near relations
_MAX_NAMES = 4  # of one condition that are searched for, until one is found
_CHEMBL_ID = re.compile(r"CHEMBL[1-9]\d{0,9}")
_ADDRESS = re.compile(r"\S*(?:://|www\.)\S*")
_UNKNOWN_FIELD = re.compile(r"cannot query field", re.IGNORECASE)
_AT_FAULT = re.compile(
    r"cannot query|syntax error|unknown (?:argument|type)|variable|field .* of type|validat", re.IGNORECASE
)

SEARCH = """query Search($text: String!, $kinds: [String!]!) {
  search(queryString: $text, entityNames: $kinds, page: {index: 0, size: 10}) { total hits { id name entity } }
}"""
_DISEASE = """query Disease($id: String!) {
  disease(efoId: $id) {
    id name
    %s
    associatedTargets(page: {index: 0, size: 10}) { count rows { score target { id approvedSymbol } } }
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
  }
}"""
DISEASE = (
    _DISEASE % "drugAndClinicalCandidates { count rows { maxClinicalStage drug { id name } } }",
    _DISEASE % "knownDrugs(size: 200) { count rows { phase drug { id name } } }",
)
"""The query by today's schema, and by the one before it."""
DRUGS = (
    _DRUGS % ("maximumClinicalStage", "pathways { pathwayId pathway }", "maxClinicalStage"),
    _DRUGS % ("maximumClinicalTrialPhase", "", "maxPhaseForIndication"),
)
"""Likewise."""


class SchemaChanged(SourceRefused):
    """The source does not know a field that was asked for."""


class OpenTargets(Source):
    """Diseases with their known drugs and associated targets; drugs with their mechanisms and indications."""

    card = CARD
    _schema = 0
    """Which form of the queries the server understood last."""

    async def find(self, query: str, max_results: int = 10, filters: Filters | None = None) -> SourceReply:
        """Give the diseases that the query names, with their drugs and targets; then the drugs that it names.

        Args:
            query: words, or the boolean form that `preprocess_query` gives.
            max_results: 1 to 50 records.
            filters: none are known.

        Raises:
            SourceRefused: filters were given, or the query holds no words.
            SearchError: no answer, or no readable one.
        """
        check_filters(self.name, filters or {}, ())
        asked, words = asked_for(query), words_of(self.name, query)
        conditions = asked.conditions or (() if asked.drugs else (words,))
        asking = [self._diseases(condition) for condition in conditions]
        asking += [self._drugs(asked.drugs)] if asked.drugs else []
        answers = await asyncio.gather(*asking, return_exceptions=True)
        failures = [answer for answer in answers if isinstance(answer, BaseException)]
        found = [record for answer in answers if not isinstance(answer, BaseException) for record in answer]
        if failures and (not found or not isinstance(failures[0], SearchError)):
            raise failures[0]
        records = list({record.key: record for record in found}.values())
        warnings = [failure.reason for failure in failures if isinstance(failure, SearchError)]
        status = Status.PARTIAL if failures else None
        return self._reply(query, rank(words, records[:max_results]), len(records), warnings, status)

    async def look_up(self, *names: str) -> SourceReply:
        """Look drugs up by names or ChEMBL ids, all at once, and none twice in a run; `empty` where there is none.

        Raises:
            SearchError: no answer, or no readable one.
        """
        found = await self.transport.shelf.take(self.name, names, self._looked_up)
        warnings = [f"no drug is named {name[:60]!r}" for name in dict.fromkeys(names) if name not in found]
        return self._reply(", ".join(names), list(found.values()), len(found), warnings)

    def _reply(
        self, query: str, records: list[Evidence], total: int, warnings: Sequence[str], status: Status | None = None
    ) -> SourceReply:
        return SourceReply(
            source=self.name,
            query=query,
            status=status or (Status.OK if records else Status.EMPTY),
            records=records,
            total=total,
            warnings=list(warnings),
            url=f"{self.transport.endpoints[self.name].base_url}/graphql",
        )

    async def _diseases(self, condition: str) -> list[Evidence]:
        for name in list(dict.fromkeys((condition, *condition_synonyms(condition))))[:_MAX_NAMES]:
            data = await self._ask(SEARCH, {"text": name, "kinds": ["disease"]}, "search")
            if ids := best_hits(_hits(data, "disease"), condition):
                found = [await self._either(DISEASE, {"id": each}, "disease") for each in ids]
                return [parse_disease(disease) for disease in found if disease]
        return []

    async def _drugs(self, drugs: Sequence[str]) -> list[Evidence]:
        return list((await self.transport.shelf.take(self.name, drugs, self._looked_up)).values())

    async def _looked_up(self, drugs: Sequence[str]) -> dict[str, Evidence]:
        """Drugs by the names that were asked for: one request for their numbers, one for what is known of them."""
        ids = {drug: drug.strip().upper() for drug in drugs if _CHEMBL_ID.fullmatch(drug.strip().upper())}
        spelled = {
            drug: list(dict.fromkeys(filter(None, (drug.strip(), canonical_drug(drug)))))
            for drug in drugs
            if drug not in ids
        }
        hits = await self._mapped([name for names in spelled.values() for name in names]) if spelled else {}
        for drug, names in spelled.items():
            if chembl_id := next(filter(None, (named(hits.get(name, ()), name) for name in names)), None):
                ids[drug] = chembl_id
        rows = await self._either(DRUGS, {"ids": sorted(set(ids.values()))}, "drugs") if ids else []
        found = {row.get("id"): parse_drug(row) for row in rows or () if isinstance(row, dict)}
        return {drug: found[chembl_id] for drug, chembl_id in ids.items() if chembl_id in found}

    async def _mapped(self, names: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
        """The drugs that bear each of the names."""
        data = await self._ask(MAP_IDS, {"names": list(dict.fromkeys(names)), "kinds": ["drug"]}, "mapIds")
        mappings = (data or {}).get("mappings")
        return {str(each.get("term")): _hits(each, "drug") for each in mappings or () if isinstance(each, dict)}

    async def _either(self, forms: tuple[str, str], variables: Mapping[str, Any], root: str) -> Any:
        """Ask by the schema that worked last, and by the other one where the server does not know a field."""
        try:
            return await self._ask(forms[self._schema], variables, root)
        except SchemaChanged:
            other = 1 - self._schema
            found = await self._ask(forms[other], variables, root)
            self._schema = other
            return found

    async def _ask(self, query: str, variables: Mapping[str, Any], root: str) -> Any:
        """Give what stands under `root` of the answer's data; None where the server knows no such thing."""
        body = {"query": query, "variables": dict(variables)}
        return await self.transport.post(self.name, "graphql", body=body, also=(400,), read=partial(_read, root))


def _hits(data: Mapping[str, Any] | None, kind: str) -> list[Mapping[str, Any]]:
    hits = (data or {}).get("hits")
    return [hit for hit in hits or () if isinstance(hit, dict) and hit.get("id") and hit.get("entity") == kind]


def _read(root: str, reply: Reply) -> Any:
    """Read a GraphQL answer.

    Raises:
        SchemaChanged: a field is not known.
        SourceRefused: the query is at fault.
        SourceUnavailable: the server is at fault.
        UnreadableReply: neither data nor errors.
    """
    found = reply.json()
    if not isinstance(found, dict):
        raise UnreadableReply(reply.source, "answered with something that is no GraphQL reply")
    if errors := found.get("errors"):
        raise failure(reply.source, reply.status, errors)
    data = found.get("data")
    if not isinstance(data, dict) or root not in data:
        raise UnreadableReply(reply.source, f"answered without {root}")
    return data[root] if isinstance(data[root], dict | list) else None


def failure(source: str, status: int, errors: Any) -> SourceRefused | SourceUnavailable:
    """Name a GraphQL failure by what to do about it.

    >>> failure("opentargets", 400, [{"message": "Cannot query field 'knownDrugs' on type 'Disease'."}])
    SchemaChanged("opentargets: refused the query: Cannot query field 'knownDrugs' on type 'Disease'.")
    >>> failure("opentargets", 200, [{"message": "Internal server error"}])
    SourceUnavailable('opentargets: failed on its side: Internal server error')
    """
    entries = errors if isinstance(errors, list) else [errors]
    messages = [str(entry.get("message", "")) if isinstance(entry, dict) else str(entry) for entry in entries]
    said = " ".join(_ADDRESS.sub("", "; ".join(filter(None, messages))).split())[:200] or "no reason given"
    if _UNKNOWN_FIELD.search(said):
        return SchemaChanged(source, f"refused the query: {said}")
    if status == 400 or _AT_FAULT.search(said):
        return SourceRefused(source, f"refused the query: {said}")
    return SourceUnavailable(source, f"failed on its side: {said}")


def best_hits(hits: Iterable[Mapping[str, Any]], condition: str) -> list[str]:
    """The ids of the hits that mean the condition: the disease itself, else those whose names hold one of its names.

    A hit that shares no word with the condition is none: the server also gives what merely resembles it.

    >>> best_hits([{"id": "A", "name": "migraine with aura"}, {"id": "B", "name": "migraine disorder"}], "migraine")
    ['B']
    """
    names = [essence(name) for name in (condition, *condition_synonyms(condition))]
    listed = [(str(hit["id"]), essence(str(hit.get("name")))) for hit in hits]
    same = [key for key, words in listed if words in names]
    holding = [key for key, words in listed if any(name and name <= words for name in names)]
    touching = [key for key, words in listed if any(name & words for name in names)]
    return same[:1] or holding[:_MAX_DISEASES] or touching[:1]


def named(hits: Iterable[Mapping[str, Any]], drug: str) -> str | None:
    """The id of the hit that is the drug, or a salt of it; None where there is none among them.

    >>> named([{"id": "CHEMBL1", "name": "X ACID"}, {"id": "CHEMBL2", "name": "X"}], "x")
    'CHEMBL2'
    """
    listed = [(str(hit["id"]), str(hit.get("name"))) for hit in hits]
    exact = [key for key, name in listed if name.casefold() == drug.casefold()]
    salts = [key for key, name in listed if same_drug(name, drug) or name.casefold().startswith(f"{drug.casefold()} ")]
    return next(iter([*exact, *salts]), None)
