"""Reactome, human pathways and their functions (https://reactome.org/dev/content-service).

The pathways of a drug are those of its targets, from Open Targets' and UniProt's replies, which the run has cached.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from ...errors import UnreadableReply
from ...http.reply import Reply, at, dicts, entries, read_each
from ...questions import Question
from ...records import Process, Protein
from ...records.card import SourceCard
from ...records.evidence import Citation, Evidence
from ...search import SourceReply
from ..lookups import Item, LookUps, gather_answers, items
from ..publications import cut_at_sentence, remove_markup
from .uniprot import HUMAN, UniProt, find_mechanisms

CARD = SourceCard(
    name="reactome",
    place=70,
    title="Reactome",
    purpose="Human pathways by name, or by the drugs that act on them, with a summary of what each does.",
    address="https://reactome.org/ContentService",
    documentation="https://reactome.org/dev/content-service",
    per_second=4,  # none published
    fresh_days=30,  # released every three months
    hosts=("reactome.org",),
    gives="process",
    dialect="names",
    use="searched",
    by_condition=False,  # conditions are not pathways; those of the candidates' targets are looked up
    specialist="mechanism",
)
MAX_IDS = 20  # per request; the server drops further ones
MAX_SUMMARY = 1200  # characters of a summary in a record


class Reactome(LookUps):
    """Human pathways, by drug target or by words."""

    card = CARD
    path = "data/query/ids"
    most_names = MAX_IDS

    async def without_drugs(self, question: Question) -> SourceReply:
        """Return the pathways whose names contain the words of a query; raises as `find`."""
        params = {"query": question.words, "species": HUMAN, "types": "Pathway", "cluster": "true"}
        hits, url = await self.transport.get(self.name, "search/query", params=params, also=(404,), read=parse_hits)
        records, unread = read_each(hits, parse_pathway)
        return self.reply(question.words, records, problems=unread, url=url)

    async def find_wanted(self, names: Sequence[str]) -> tuple[Sequence[str], list[str]]:
        """Return ids of the pathways in which drugs' targets act, those of most drugs first.

        Raises as `find`, also where no database says what the drugs act on.
        """
        mechanisms, notes = await find_mechanisms(names, self.transport)
        replies, failures = await gather_answers([UniProt(self.transport).look_up(*names)])
        notes += [f"pathways by Open Targets alone: {failure}" for failure in failures]
        by_gene: dict[str | None, set[str]] = {}
        for record in chain.from_iterable(reply.records for reply in replies):
            protein = record.record
            if isinstance(protein, Protein):
                by_gene[protein.gene_symbol] = {pathway["id"] for pathway in protein.pathways}
        by_drug: dict[str, set[str]] = {}
        for drug, mechanism in mechanisms:
            numbers = {pathway["id"] for pathway in mechanism.get("pathways") or ()}
            for gene in mechanism.get("gene_symbols") or ():
                numbers |= by_gene.get(gene, set())
            by_drug.setdefault(drug, set()).update(filter(_is_human, numbers))
        counts = Counter(chain.from_iterable(by_drug.values()))
        return sorted(counts, key=lambda number: (-counts[number], number)), notes

    async def fetch(self, numbers: Sequence[str]) -> dict[str, Item]:
        def read(reply: Reply) -> Sequence[Mapping[str, Any]]:
            return entries(reply.source, reply.json(), what="a list of objects", keys=("stId", "displayName"))

        objects = await self.transport.post(self.name, self.path, body=",".join(numbers), read=read)
        records, unread = read_each(objects, parse_pathway)
        by_id = {str(record.metadata.get("process_id")): record for record in records}
        return items(numbers, by_id, unread, "{} could not be had")


def parse_hits(reply: Reply) -> tuple[Sequence[Mapping[str, Any]], str]:
    """Parse the results of a search, and its URL; a 404 that does not say that nothing matches is unreadable."""
    data = reply.json()
    if reply.status == 404:
        if isinstance(at(data, "messages"), list):
            return [], reply.url
        raise UnreadableReply(reply.source, "answered 404 without saying that nothing matches")
    results = entries(reply.source, data, "results", what="a list of results", keys=("entries", "typeName"))
    hits: list[Mapping[str, Any]] = []
    for result in results:
        hits += dicts(result, "entries")
    return hits, reply.url


def _is_human(number: str) -> bool:
    return number.startswith("R-HSA-") and number[6:].isdecimal() and len(number) <= 15


def parse_pathway(pathway: Mapping[str, Any]) -> Evidence | None:
    """Convert a pathway; None if it is not human, or has no id or name."""
    number = str(pathway.get("stId") or "")
    name = _strip_markup(pathway.get("displayName") or pathway.get("name"))
    if not _is_human(number) or not name:
        return None
    summary = " ".join(_strip_markup(paragraph.get("text")) for paragraph in dicts(pathway, "summation"))
    title = f"{name} ({number})"
    return Evidence(
        content=f"{title}\n\n{summary}" if summary else title,
        citation=Citation(source="reactome", title=title, url=f"https://reactome.org/content/detail/{number}"),
        record=Process(process_id=number, process_name=name, summary=cut_at_sentence(summary, MAX_SUMMARY) or None),
    )


def _strip_markup(words: Any) -> str:
    return " ".join(remove_markup(str(words or "")).split())
