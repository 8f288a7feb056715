"""DGIdb, which genes drugs interact with, gathered from some forty sources (https://dgidb.org/api).

Asked with POST `graphql`, body `{"query": …, "variables": …}`: `drugs(names:)` or `genes(names:)` give `nodes[]` of
`name` and `interactions[]` of `gene{name}` or `drug{name approved}`, `interactionScore`, `interactionTypes[]` of `type`
and `directionality` (often empty), `publications[].pmid`, `sources[].sourceDbName`. Names are in capitals; an unknown
one has no node. Errors come as `errors[]` with 200. The REST interface of old is gone.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from ...errors import SourceRefused
from ...evidence import Evidence
from ...http.reply import Reply, at, dicts, entries, read_each, text
from ...lexicon import canonical_drug
from ...questions.query import ParsedQuestion
from ...records import Drug
from ...records.parts import Mechanism
from ...search import LookUps, SourceReply
from ..card import SourceCard

CARD = SourceCard(
    name="dgidb",
    title="DGIdb",
    purpose="Genes that drugs interact with, by drug or by gene symbol, gathered from many sources of uneven weight.",
    address="https://dgidb.org/api",
    documentation="https://dgidb.org/api",
    per_second=2,  # none published
    typical_s=1.0,
    off="many of its interactions name no action, and those that do are mostly ChEMBL's, which is asked",
    fresh_days=30,
    hosts=("dgidb.org",),
    gives="drug",
    entries="Database entry",
    dialect="names",
    use="named",
    by_condition=False,
    specialist="mechanism",
)
_SHOWN = "https://dgidb.org/results?searchType=drug&searchTerms="
MOST_GENES = 10  # of one drug that a record keeps, those with an action and the best score first
_SHAPE = "interactionScore interactionTypes { type directionality } publications { pmid } sources { sourceDbName }"
_QUERY = (
    """query Interactions($names: [String!]!) {
  %s(names: $names) { nodes { name interactions { %s """
    + _SHAPE
    + """ } } }
}"""
)
DRUGS, GENES = _QUERY % ("drugs", "gene { name }"), _QUERY % ("genes", "drug { name approved }")
Row = Mapping[str, Any]


class DGIdb(LookUps):
    """Interactions of drugs and genes."""

    card = CARD
    MOST_NAMES = None

    async def without_drugs(self, asked: ParsedQuestion, words: str) -> tuple[list[Evidence], list[str], str]:
        """The drugs of the genes whose symbols a query holds; raises as `find`."""
        nodes, url = await self._ask("genes", GENES, [word.upper() for word in words.split()])
        rows = [(node, each) for node in nodes for each in dicts(node, "interactions")]
        by_drug: dict[str, list[tuple[str, Row]]] = {}
        for node, each in rows:
            if (drug := text(at(each, "drug", "name"))) and (gene := text(node.get("name"))):
                by_drug.setdefault(drug, []).append((gene, each))
        return [_record(drug, given) for drug, given in by_drug.items()], [], url

    async def look_up(self, *names: str) -> SourceReply:
        """Give the genes that drugs interact with, all at once, and none twice in a run; raises as `find`."""
        return await self.shelved("graphql", names, self._looked_up)

    async def _looked_up(self, drugs: Sequence[str]) -> dict[str, Evidence | str]:
        nodes, _ = await self._ask("drugs", DRUGS, [drug.upper() for drug in drugs])
        records, unread = read_each(nodes, parse_drug)
        by_name = {str(record.metadata["drug"]): record for record in records}
        why = f" ({'; '.join(unread)})" if unread else ""
        return {
            drug: by_name.get(canonical_drug(drug) or drug.lower()) or f"no drug is named {drug[:60]!r}{why}"
            for drug in drugs
        }

    async def _ask(self, root: str, query: str, names: Sequence[str]) -> tuple[Sequence[Row], str]:
        body = {"query": query, "variables": {"names": list(names)}}
        return await self.transport.post(self.name, "graphql", body=body, read=partial(parse_nodes, root))


def parse_nodes(root: str, reply: Reply) -> tuple[Sequence[Row], str]:
    """Read the nodes of an answer, and what was asked.

    Raises:
        SourceRefused: the server names an error, and gives no data.
        UnreadableReply: neither nodes nor errors.
    """
    data = reply.json()
    if (errors := dicts(data, "errors")) and at(data, "data", root) is None:
        raise SourceRefused(reply.source, f"refused the query: {text(errors[0].get('message')) or 'no reason given'}")
    return entries(reply.source, data, "data", root, "nodes", what="nodes", keys=("name", "interactions")), reply.url


def parse_drug(node: Row) -> Evidence | None:
    """Read a drug with its genes; None where it has no name."""
    given = [(gene, each) for each in dicts(node, "interactions") if (gene := text(at(each, "gene", "name")))]
    name = text(node.get("name"))
    return _record(name, given) if name else None


def _record(name: str, given: Sequence[tuple[str, Row]]) -> Evidence:
    ranked = sorted(given, key=lambda pair: (not _types(pair[1]), -_score(pair[1]), pair[0]))
    found: dict[str, Mechanism] = {}
    for gene, each in ranked[:MOST_GENES]:
        types = _types(each)
        found.setdefault(gene, {"gene_symbols": [gene], **({"action_type": types[0]} if types else {})})
    drug = canonical_drug(name) or name.lower()
    title = f"{drug.capitalize()}: genes (DGIdb)"
    said = [
        f"{drug.capitalize()} and {gene}: {told.get('action_type', 'action not named')}."
        for gene, told in found.items()
    ]
    record, url = Drug(drug=drug, mechanisms=list(found.values())), f"{_SHOWN}{quote(name)}"
    return Evidence.entry("dgidb", title, said or ["No gene is listed."], record, url)


def _types(row: Row) -> list[str]:
    return [kind for each in dicts(row, "interactionTypes") if (kind := text(each.get("type")))]


def _score(row: Row) -> float:
    score = row.get("interactionScore")
    return float(score) if isinstance(score, int | float) and not isinstance(score, bool) else 0.0
