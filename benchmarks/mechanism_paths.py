"""How often the target that a chain names lies on the path that curators drew from drug to disease.

    python -m benchmarks.mechanism_paths DRUGMECHDB.jsonl.gz

DrugMechDB (https://github.com/SuLab/DrugMechDB, CC0) is not kept here: one path a line, as `networkx` writes graphs.
Who answers is the bundled library, for ChEMBL and Open Targets, with the drugs of `labels/drug_targets.jsonl` beside it
(those of most pairs that the library lacks, act on a human protein and have a
number that public texts confirm). For each pair the chain is asked for as a run does, but without publications, and
without UniProt's entries, since those of the library know processes from DrugMechDB itself.

A pair counts as held where the replies name a target and the path a protein. Of pairs that are one drug's many diseases
the figure a drug says more than the figure a pair: both are printed.

Then for each protein that curators drew one drug as making do more, and another as making do less, both are asked
about in a disease that the one treats over it and the other does not: how often the two get the same argument.
"""

import argparse
import asyncio
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.library import BUNDLED, open_library
from willowbark.tools.mechanism import MechanismGraph
from willowbark.tools.questions import parse_question
from willowbark.tools.records import Disease, Drug, Protein
from willowbark.tools.records.evidence import Citation, Evidence
from willowbark.tools.sources.drugs.chembl import ChEMBL
from willowbark.tools.sources.drugs.opentargets import OpenTargets

MORE = Path(__file__).parent / "labels" / "drug_targets.jsonl"
LEAST_SHARE = 0.70  # share of the held pairs whose target is on the path
BATCH = 20  # drugs of one look-up


class Pair(NamedTuple):
    """A curated path."""

    drug: str
    disease: str
    proteins: frozenset[str]
    """UniProt numbers of its nodes."""


def read_pairs(lines: Iterable[str]) -> Iterator[Pair]:
    """Each drug and disease once; proteins of all paths that are drawn for them."""
    proteins: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        path = json.loads(line)
        drug = str(path["graph"]["drug"])
        disease = str(path["graph"]["disease"])
        drawn = {str(node["id"]).removeprefix("UniProt:") for node in path["nodes"] if "UniProt:" in str(node["id"])}
        proteins.setdefault((canonical_drug(drug) or drug.lower(), disease), set()).update(drawn)
    return (Pair(drug, disease, frozenset(named)) for (drug, disease), named in proteins.items())


async def look_up_records(drugs: Sequence[str]) -> list[Evidence]:
    """What the bundled library knows of drugs by the drug databases."""
    records: list[Evidence] = []
    async with Transport(Endpoints(library=open_library(BUNDLED))) as transport:
        for start in range(0, len(drugs), BATCH):
            for source in (ChEMBL(transport), OpenTargets(transport)):
                records += (await source.look_up(*drugs[start : start + BATCH])).records
    return records


def read_more_records() -> list[Evidence]:
    """The drugs beside the library, as ChEMBL would give them."""
    records = []
    for line in MORE.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        names = ("mechanism_of_action", "action_type", "target_name", "gene_symbols", "uniprot_ids")
        mechanisms = [
            {name: mechanism[name] for name in names if mechanism.get(name)} for mechanism in entry["mechanisms"]
        ]
        metadata = {"drug": entry["name"].lower(), "mechanisms": mechanisms}
        cited = Citation(source="chembl", title=entry["name"], url=f"https://www.ebi.ac.uk/chembl/#{entry['name']}")
        records.append(Evidence(content=entry["name"], citation=cited, metadata=metadata))
    return records


def find_reported_target(pair: Pair, records: Sequence[Evidence]) -> frozenset[str]:
    """UniProt numbers of the target that the chain from drug to disease names; empty where it names none."""
    graph = MechanismGraph(records, parse_question(f"Which drugs treat {pair.disease}?"), [pair.drug])
    target = graph.chain(pair.drug).node("target")
    if target is None:
        return frozenset()
    numbers: dict[str, set[str]] = {}
    for record in records:
        for entry in record.record.mechanisms if isinstance(record.record, Drug) else ():
            for name in (", ".join(entry.get("gene_symbols") or ()), entry.get("target_name") or ""):
                numbers.setdefault(name, set()).update(entry.get("uniprot_ids") or ())
    return frozenset(numbers.get(target.name, ()))


_ACTIONS = {
    "increases activity of": "AGONIST",
    "positively regulates": "AGONIST",
    "decreases activity of": "ANTAGONIST",
    "negatively regulates": "ANTAGONIST",
}


class Opposed(NamedTuple):
    """Two drugs that act on one protein the other way round, by the curators."""

    protein: str
    disease: str
    helper: str
    """The one whose path leads to the disease."""
    action: str
    other: str


def find_opposed(lines: Iterable[str]) -> Iterator[Opposed]:
    """One pair for each protein that has any: the first drug by name that treats a disease over it, and an opposite."""
    acts: dict[str, dict[str, set[str]]] = {}
    treats: dict[str, set[str]] = {}
    over: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        path = json.loads(line)
        drug = str(path["graph"]["drug"]).lower()
        disease = str(path["graph"]["disease"])
        drug = canonical_drug(drug) or drug
        own = {node["id"] for node in path["nodes"] if node.get("label") == "Drug"}
        treats.setdefault(drug, set()).add(disease)
        for link in path["links"]:
            action = _ACTIONS.get(link["key"])
            if action and link["source"] in own and link["target"].startswith("UniProt:"):
                acts.setdefault(link["target"], {}).setdefault(drug, set()).add(action)
                over.setdefault((link["target"], drug), set()).add(disease)
    for protein, drugs in sorted(acts.items()):
        action_by_drug = {drug: min(actions) for drug, actions in sorted(drugs.items()) if len(actions) == 1}
        for drug, other in product(action_by_drug, repeat=2):
            diseases = sorted(over[protein, drug] - treats[other])
            if diseases and action_by_drug[other] != action_by_drug[drug]:
                yield Opposed(protein, diseases[0], drug, action_by_drug[drug], other)
                break


def has_same_argument(pair: Opposed) -> bool:
    """Whether both drugs of a pair are argued for alike, from what the curators say and no more."""
    gene = pair.protein.removeprefix("UniProt:")
    [other_action] = {"AGONIST", "ANTAGONIST"} - {pair.action}
    indications = [{"name": pair.disease, "max_phase": 4.0}]
    entries = [
        {"drug": pair.helper, "mechanisms": [{"action_type": pair.action, "gene_symbols": [gene]}]}
        | {"indications": indications},
        {"drug": pair.other, "mechanisms": [{"action_type": other_action, "gene_symbols": [gene]}]},
    ]
    pool = []
    for entry in entries:
        cited = Citation(
            source="chembl", title=str(entry["drug"]), url=f"https://www.ebi.ac.uk/chembl/#{entry['drug']}"
        )
        pool.append(Evidence(content=str(entry["drug"]), citation=cited, record=Drug.model_validate(entry)))
    question = parse_question(f"Which drugs treat {pair.disease}?")
    graph = MechanismGraph(pool, question, [pair.helper, pair.other])
    one = graph.chain(pair.helper)
    other = graph.chain(pair.other)
    return one.direction == other.direction


def count_processes(lines: Sequence[str]) -> tuple[int, int, int]:
    """How many pairs have a curated process, how many chains name any, and how many of these a curated one.

    A chain is told what curators drew on other paths alone: which processes a protein takes part in, and which proteins
    other drugs for the disease act over.
    """
    acted: dict[tuple[str, str], set[str]] = {}
    curated: dict[tuple[str, str], set[str]] = {}
    part_in: dict[str, dict[str, set[tuple[str, str]]]] = {}
    involved: dict[str, dict[str, set[str]]] = {}
    names: dict[str, str] = {}
    for line in lines:
        path = json.loads(line)
        pair = str(path["graph"]["drug"]).lower(), str(path["graph"]["disease"])
        label = {str(node["id"]): node.get("label") for node in path["nodes"]}
        own = {node for node in label if node.startswith(("GO:", "reactome:"))}
        names |= {str(node["id"]): str(node["name"]) for node in path["nodes"]}
        curated.setdefault(pair, set()).update(own)
        for node in label:
            if node.startswith("UniProt:"):
                involved.setdefault(pair[1], {}).setdefault(node, set()).add(pair[0])
        for link in path["links"]:
            start = str(link["source"])
            end = str(link["target"])
            if label.get(start) == "Drug" and end.startswith("UniProt:"):
                acted.setdefault(pair, set()).add(end)
            if start.startswith("UniProt:") and end in own:
                part_in.setdefault(start, {}).setdefault(end, set()).add(pair)
    acting = [pair for pair in acted if curated[pair]]
    naming = 0
    hits = 0
    for pair in acting:
        process = _find_process(pair, acted[pair], part_in, involved, names)
        naming += process != ""
        hits += process in curated[pair]
    return len(acting), naming, hits


def _find_process(
    pair: tuple[str, str],
    acted: set[str],
    part_in: dict[str, dict[str, set[tuple[str, str]]]],
    involved: dict[str, dict[str, set[str]]],
    names: dict[str, str],
) -> str:
    """The number of the process that a chain names; empty where it names none."""
    drug, disease = pair
    others = {protein for protein, drugs in involved[disease].items() if drugs - {drug}}
    actions = [{"action_type": "INHIBITOR", "gene_symbols": [protein.removeprefix("UniProt:")]} for protein in acted]
    targets = [{"symbol": other.removeprefix("UniProt:"), "score": 0.6} for other in others - acted]
    entries: list[Drug | Disease | Protein] = [
        Drug.model_validate({"drug": drug, "mechanisms": actions}),
        Disease.model_validate({"disease": disease, "disease_id": "EFO_1", "targets": targets}),
    ]
    for other in sorted(acted | others):
        gene = other.removeprefix("UniProt:")
        processes = [{"id": go, "name": names[go]} for go, who in part_in.get(other, {}).items() if who - {pair}]
        entries.append(Protein.model_validate({"uniprot_id": gene, "gene_symbol": gene, "processes": processes}))
    pool = [
        Evidence(
            content="as curated",
            citation=Citation(source="chembl", title=f"{place}", url=f"https://www.ebi.ac.uk/chembl/#{place}"),
            record=record,
        )
        for place, record in enumerate(entries)
    ]
    node = MechanismGraph(pool, parse_question(f"Which drugs treat {disease}?"), [drug]).chain(drug).node("process")
    return node.number if node else ""


def main() -> int:
    """Print the figures; 1 where they are below what is due."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", type=Path)
    with gzip.open(parser.parse_args().paths, "rt", encoding="utf-8") as lines:
        paths = list(lines)
    every = list(read_pairs(paths))
    against = list(find_opposed(paths))
    alike = list(filter(has_same_argument, against))
    curated, naming, hit = count_processes(paths)
    print(f"{curated} pairs with a curated process: {naming} chains name one, {hit} of them a curated one")
    print(f"opposite drugs of one protein given the same argument: {len(alike)} of {len(against)}")
    for opposites in alike:
        print(f"  {opposites.helper} and {opposites.other}, {opposites.disease}")
    records = read_more_records() + asyncio.run(look_up_records(sorted({pair.drug for pair in every})))
    records_of = defaultdict[str, list[Evidence]](list)
    for record in records:
        name = record.metadata.get("drug")
        if name:
            records_of[canonical_drug(str(name)) or str(name)].append(record)
    covered = [pair for pair in every if pair.drug in records_of]
    results = [(pair, find_reported_target(pair, records_of[pair.drug])) for pair in covered]
    comparable = [(pair, target) for pair, target in results if target and pair.proteins]
    right = [(pair, target) for pair, target in comparable if target & pair.proteins]
    right_by_drug = Counter(pair.drug for pair, _ in right)
    drugs = Counter(pair.drug for pair, _ in comparable)
    shares = [right_by_drug[drug] / count for drug, count in sorted(drugs.items())]
    print(f"{len(every):,} pairs; {len(covered)} of drugs that the library knows; a target named in", end=" ")
    print(f"{sum(bool(target) for _, target in results)}; held {len(comparable)} ({len(drugs)} drugs)")
    print(
        f"target on the curated path: {len(right)} of {len(comparable)} pairs = {len(right) / len(comparable):.1%}",
        end="; ",
    )
    print(f"mean over drugs {sum(shares) / len(shares):.1%}; of all asked {len(right) / len(covered):.1%}")
    for pair, target in comparable:
        if not target & pair.proteins:
            print(f"  not on it: {pair.drug}, {pair.disease}: {', '.join(sorted(target))}")
    return int(len(right) < LEAST_SHARE * len(comparable))


if __name__ == "__main__":
    raise SystemExit(main())
