"""UniProt, functions, processes and diseases of human proteins (https://www.uniprot.org/help/api).

UniProt does not list a drug's targets: those come from ChEMBL's and Open Targets' replies, which the run has cached.
Only reviewed human entries are requested; a target without one is reported.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from ...errors import SearchError
from ...http.reply import Reply, at, dicts, entries, read_each, reported
from ...http.transport import Transport
from ...lexicon import condition_synonyms
from ...questions import Question
from ...questions.query import remove_syntax
from ...records import Drug, Involvement, Mechanism, Pathway, Protein
from ...records.card import SourceCard
from ...records.evidence import Evidence
from ...search import SourceReply
from ..lookups import Item, LookUps, gather_answers, items
from ..publications import is_code
from .chembl import ChEMBL
from .opentargets import OpenTargets

CARD = SourceCard(
    name="uniprot",
    place=60,
    title="UniProt",
    purpose="Human proteins by condition, or by the drugs that act on them: function, processes, pathways, diseases.",
    address="https://rest.uniprot.org",
    documentation="https://www.uniprot.org/help/api",
    per_second=5,  # none published
    fresh_days=30,  # released every eight weeks
    hosts=("www.uniprot.org",),
    gives="protein",
    dialect="names",
    use="searched",
    specialist="mechanism",
)
HUMAN = "Homo sapiens"
MAX_PROTEINS = 60  # per request: keeps its URL below 2,000 bytes
MAX_TARGETS = 6  # proteins requested per mechanism: receptor families have dozens of subunits

_FIELDS = "accession,id,gene_names,protein_name,organism_name,cc_function,cc_disease,go_p,xref_reactome"
_HUMAN_ALONE = "organism_id:9606 AND reviewed:true"
_MAX_NAMES = 4  # of one condition in a query
_PAGE = 100
_ACCESSION = re.compile(r"[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2}")
"""https://www.uniprot.org/help/accession_numbers"""
_CITED = re.compile(r"\s*\((?:PubMed:\d+(?:, )?)+\)|\s*\(By similarity\)")
_GUESSED = "IEA"  # evidence not reviewed by a curator
_NAME_CHARACTERS = "'-"  # which names of conditions keep in a query


class UniProt(LookUps):
    """Reviewed human proteins: targets of drugs, or proteins involved in a condition."""

    card = CARD
    path = "uniprotkb/search"

    async def without_drugs(self, question: Question) -> SourceReply:
        """Return the proteins involved in the condition that a query names; raises as `find`."""
        condition = (question.conditions or (question.words,))[0]
        names = list(dict.fromkeys((condition, *condition_synonyms(condition))))[:_MAX_NAMES]
        terms = " OR ".join(f'cc_disease:"{remove_syntax(name, _NAME_CHARACTERS)}"' for name in names)
        entries, url = await self._ask(f"({terms}) AND {_HUMAN_ALONE}")
        records, unread = read_each(entries, parse_protein)
        return self.reply(question.words, records, problems=unread, url=url)

    async def find_wanted(self, names: Sequence[str]) -> tuple[Sequence[str], list[str]]:
        """Return accessions of drugs' human targets (gene symbols if no accession is known), and notes."""
        (mechanisms, notes), _ = await asyncio.gather(
            find_mechanisms(names, self.transport),
            self._fetch_ahead(names),
        )
        entries = [entry for _, entry in mechanisms]
        for entry in entries:
            organism = entry.get("organism")
            if organism:
                notes.append(f"{entry.get('target_name') or 'a target'} is of {organism}, not human")
        return _list_targets(entries), list(dict.fromkeys(notes))

    async def _fetch_ahead(self, drugs: Sequence[str]) -> None:
        """Request the targets that Open Targets knows: it answers long before ChEMBL, which then adds few or none.

        Always before the others, whichever database is faster, so that a run and its replay ask the same.
        """
        try:
            reply = await OpenTargets(self.transport).look_up(*drugs)
            drug_records = [record.record for record in reply.records if isinstance(record.record, Drug)]
            entries = list(chain.from_iterable(record.mechanisms for record in drug_records))
            await self.transport.shelf.take(self.name, _list_targets(entries), self.fetch)
        except SearchError:
            return  # whoever needs it asks again, and tells

    async def fetch(self, names: Sequence[str]) -> dict[str, Item]:
        batches = [names[start : start + MAX_PROTEINS] for start in range(0, len(names), MAX_PROTEINS)]
        pages = await asyncio.gather(*(self._ask(_write_alternatives(batch)) for batch in batches))
        hits = chain.from_iterable(entries for entries, _ in pages)
        records, unread = read_each(list(hits), parse_protein)
        by_name: dict[str, Evidence] = {}
        for record in records:
            for kind in ("uniprot_id", "gene_symbol"):
                by_name[str(record.metadata.get(kind))] = record
        return items(names, by_name, unread, "{} is no reviewed human protein")

    async def _ask(self, query: str) -> tuple[Sequence[Mapping[str, Any]], str]:
        params = {"query": query, "fields": _FIELDS, "size": _PAGE, "format": "json"}
        return await self.transport.get(self.name, self.path, params=params, read=parse_page)


def _list_targets(entries: Iterable[Mechanism]) -> list[str]:
    """List the human proteins on which drugs act: accessions, and gene symbols where none is known."""
    targets: list[str] = []
    genes_of_accessions: set[str] = set()
    for entry in entries:
        if entry.get("organism"):
            continue
        genes = entry.get("gene_symbols") or []
        accessions = entry.get("uniprot_ids") or []
        targets += accessions[:MAX_TARGETS] or [gene for gene in genes[:MAX_TARGETS] if gene not in genes_of_accessions]
        genes_of_accessions |= set(genes) if accessions else set()
    return list(dict.fromkeys(name for name in targets if is_code(name, 2, 20, "-")))


def _write_alternatives(names: Iterable[str]) -> str:
    """Build a query for reviewed human proteins by accession or gene symbol."""
    terms = (f"{'accession' if _ACCESSION.fullmatch(name) else 'gene_exact'}:{name}" for name in names)
    return f"({' OR '.join(terms)}) AND {_HUMAN_ALONE}"


async def find_mechanisms(drugs: Sequence[str], transport: Transport) -> tuple[list[tuple[str, Mechanism]], list[str]]:
    """Return mechanisms of action from ChEMBL and Open Targets, with the drug; and notes if one of them failed."""
    replies, failures = await gather_answers(source(transport).look_up(*drugs) for source in (ChEMBL, OpenTargets))
    if not replies:
        raise failures[0]
    mechanisms: list[tuple[str, Mechanism]] = []
    for record in chain.from_iterable(reply.records for reply in replies):
        drug = record.record
        if isinstance(drug, Drug):
            mechanisms += [(drug.drug or "", mechanism) for mechanism in drug.mechanisms]
    return mechanisms, [f"targets by one database alone: {failure}" for failure in failures]


def parse_page(reply: Reply) -> tuple[Sequence[Mapping[str, Any]], str]:
    keys = ("primaryAccession", "genes")
    return entries(reply.source, reply.json(), "results", what="a list of entries", keys=keys), reply.url


def parse_protein(entry: Mapping[str, Any]) -> Evidence | None:
    """Convert an entry to evidence; None if it has no accession."""
    accession = str(entry.get("primaryAccession") or "")
    if not _ACCESSION.fullmatch(accession):
        return None
    genes = dicts(entry, "genes")
    described = entry.get("proteinDescription")
    synonyms: list[Any] = []
    for gene in genes:
        synonyms += [synonym.get("value") for synonym in dicts(gene, "synonyms")]
    others = [at(alternative, "fullName", "value") for alternative in dicts(described, "alternativeNames")]
    organism = at(entry, "organism", "scientificName")
    processes = list[Pathway]()
    pathways = list[Pathway]()
    for crossing in dicts(entry, "uniProtKBCrossReferences"):
        properties = {str(row.get("key")): str(row.get("value")) for row in dicts(crossing, "properties")}
        kind, _, name = properties.get("GoTerm", "").partition(":")
        pathway = properties.get("PathwayName")
        is_guessed = properties.get("GoEvidenceType", "").startswith(_GUESSED)
        if crossing.get("database") == "GO" and kind == "P" and not is_guessed:
            processes.append({"id": str(crossing.get("id")), "name": name})
        elif crossing.get("database") == "Reactome" and pathway:
            pathways.append({"id": str(crossing.get("id")), "name": pathway})
    functions = list[str]()
    diseases = list[Involvement]()
    for comment in dicts(entry, "comments"):
        if comment.get("commentType") == "FUNCTION":
            functions.append(_parse_comment(comment))
        disease = at(comment, "disease", "diseaseId")
        if comment.get("commentType") == "DISEASE" and disease:
            number = at(comment, "disease", "diseaseCrossReference", "id")
            parts = (at(comment, "disease", "description"), _parse_comment(comment.get("note")))
            note = " ".join(filter(None, parts))
            diseases.append(reported({"name": disease, "id": f"MIM:{number}" if number else None, "note": note}))
    record = Protein(
        uniprot_id=accession,
        gene_symbol=at(genes[0], "geneName", "value") if genes else None,
        protein_name=at(described, "recommendedName", "fullName", "value"),
        other_names=[name for name in (*synonyms, *others) if name],
        organism=organism if organism != HUMAN else None,
        function=next(filter(None, functions), None),
        processes=processes,
        pathways=pathways,
        diseases=diseases,
    )
    title = f"{record.protein_name or record.gene_symbol or accession} ({record.gene_symbol or 'no gene'}, {accession})"
    url = f"https://www.uniprot.org/uniprotkb/{accession}/entry"
    return Evidence.entry("uniprot", title, _write_sentences(record), record, url)


def _write_sentences(record: Protein) -> list[str]:
    lines = [record.function] if record.function else []
    for name, listed in (("Processes (Gene Ontology)", record.processes), ("Pathways (Reactome)", record.pathways)):
        lines += [f"{name}: {', '.join(entry['name'] for entry in listed)}."] if listed else []
    lines += [
        f"{disease['name']}: {disease['note']}" if "note" in disease else f"{disease['name']}."
        for disease in record.diseases
    ]
    return lines or ["Nothing is said of its function."]


def _parse_comment(comment: Any) -> str:
    texts = [str(row["value"]) for row in dicts(comment, "texts") if row.get("value")]
    return " ".join(_CITED.sub("", " ".join(texts)).split())
