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
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
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
DUE = 0.70  # share of the held pairs whose target is on the path
BATCH = 20  # drugs of one look-up


class Pair(NamedTuple):
    """A curated path."""

    drug: str
    disease: str
    proteins: frozenset[str]
    """UniProt numbers of its nodes."""


def pairs(lines: Iterable[str]) -> Iterator[Pair]:
    """Each drug and disease once; proteins of all paths that are drawn for them."""
    found: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        path = json.loads(line)
        drug = str(path["graph"]["drug"])
        disease = str(path["graph"]["disease"])
        named = {str(node["id"]).removeprefix("UniProt:") for node in path["nodes"] if "UniProt:" in str(node["id"])}
        found.setdefault((canonical_drug(drug) or drug.lower(), disease), set()).update(named)
    return (Pair(drug, disease, frozenset(named)) for (drug, disease), named in found.items())


async def records_on(drugs: Sequence[str]) -> list[Evidence]:
    """What the bundled library knows of drugs by the drug databases."""
    found: list[Evidence] = []
    async with Transport(Endpoints(library=open_library(BUNDLED))) as transport:
        for start in range(0, len(drugs), BATCH):
            for source in (ChEMBL(transport), OpenTargets(transport)):
                found += (await source.look_up(*drugs[start : start + BATCH])).records
    return found


def more_records() -> list[Evidence]:
    """The drugs beside the library, as ChEMBL would give them."""
    found = []
    for line in MORE.read_text(encoding="utf-8").splitlines():
        known = json.loads(line)
        names = ("mechanism_of_action", "action_type", "target_name", "gene_symbols", "uniprot_ids")
        mechanisms = [{name: each[name] for name in names if each.get(name)} for each in known["mechanisms"]]
        said = {"drug": known["name"].lower(), "mechanisms": mechanisms}
        cited = Citation(source="chembl", title=known["name"], url=f"https://www.ebi.ac.uk/chembl/#{known['name']}")
        found.append(Evidence(content=known["name"], citation=cited, metadata=said))
    return found


def reported(pair: Pair, records: Sequence[Evidence]) -> frozenset[str]:
    """UniProt numbers of the target that the chain from drug to disease names; empty where it names none."""
    graph = MechanismGraph(records, parse_question(f"Which drugs treat {pair.disease}?"), [pair.drug])
    target = graph.chain(pair.drug).node("target")
    if target is None:
        return frozenset()
    known: dict[str, set[str]] = {}
    for record in records:
        for entry in record.record.mechanisms if isinstance(record.record, Drug) else ():
            for name in (", ".join(entry.get("gene_symbols") or ()), entry.get("target_name") or ""):
                known.setdefault(name, set()).update(entry.get("uniprot_ids") or ())
    return frozenset(known.get(target.name, ()))


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


def opposed(lines: Iterable[str]) -> Iterator[Opposed]:
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
        surely = {drug: min(found) for drug, found in sorted(drugs.items()) if len(found) == 1}
        pairs_of = (
            Opposed(protein, disease, drug, action, other)
            for drug, action in surely.items()
            for other, another in surely.items()
            if another != action
            for disease in sorted(over[protein, drug] - treats[other])
        )
        yield from islice(pairs_of, 1)


def same_argument(pair: Opposed) -> bool:
    """Whether both drugs of a pair are argued for alike, from what the curators say and no more."""
    gene = pair.protein.removeprefix("UniProt:")
    [other_action] = {"AGONIST", "ANTAGONIST"} - {pair.action}
    indications = [{"name": pair.disease, "max_phase": 4.0}]
    known = [
        {"drug": pair.helper, "mechanisms": [{"action_type": pair.action, "gene_symbols": [gene]}]}
        | {"indications": indications},
        {"drug": pair.other, "mechanisms": [{"action_type": other_action, "gene_symbols": [gene]}]},
    ]
    pool = []
    for said in known:
        cited = Citation(source="chembl", title=str(said["drug"]), url=f"https://www.ebi.ac.uk/chembl/#{said['drug']}")
        pool.append(Evidence(content=str(said["drug"]), citation=cited, record=Drug.model_validate(said)))
    asked = parse_question(f"Which drugs treat {pair.disease}?")
    graph = MechanismGraph(pool, asked, [pair.helper, pair.other])
    one = graph.chain(pair.helper)
    other = graph.chain(pair.other)
    return one.direction == other.direction


def processes_named(lines: Sequence[str]) -> tuple[int, int, int]:
    """How many pairs have a curated process, how many chains name any, and how many of these a curated one.

    A chain is told what curators drew on other paths alone: which processes a protein takes part in, and which proteins
    other drugs for the disease act over.
    """
    acted: dict[tuple[str, str], set[str]] = {}
    wanted: dict[tuple[str, str], set[str]] = {}
    part_in: dict[str, dict[str, set[tuple[str, str]]]] = {}
    involved: dict[str, dict[str, set[str]]] = {}
    names: dict[str, str] = {}
    for line in lines:
        path = json.loads(line)
        pair = str(path["graph"]["drug"]).lower(), str(path["graph"]["disease"])
        label = {str(node["id"]): node.get("label") for node in path["nodes"]}
        own = {each for each in label if each.startswith(("GO:", "reactome:"))}
        names |= {str(node["id"]): str(node["name"]) for node in path["nodes"]}
        wanted.setdefault(pair, set()).update(own)
        for protein in (each for each in label if each.startswith("UniProt:")):
            involved.setdefault(pair[1], {}).setdefault(protein, set()).add(pair[0])
        for link in path["links"]:
            start = str(link["source"])
            end = str(link["target"])
            if label.get(start) == "Drug" and end.startswith("UniProt:"):
                acted.setdefault(pair, set()).add(end)
            if start.startswith("UniProt:") and end in own:
                part_in.setdefault(start, {}).setdefault(end, set()).add(pair)
    asked = [pair for pair in acted if wanted[pair]]
    named = [(pair, process) for pair in asked if (process := _process_of(pair, acted[pair], part_in, involved, names))]
    return len(asked), len(named), sum(process in wanted[pair] for pair, process in named)


def _process_of(
    pair: tuple[str, str],
    acted: set[str],
    part_in: dict[str, dict[str, set[tuple[str, str]]]],
    involved: dict[str, dict[str, set[str]]],
    names: dict[str, str],
) -> str:
    """The number of the process that a chain names; empty where it names none."""
    drug, disease = pair
    others = {protein for protein, drugs in involved[disease].items() if drugs - {drug}}
    actions = [{"action_type": "INHIBITOR", "gene_symbols": [each.removeprefix("UniProt:")]} for each in acted]
    targets = [{"symbol": other.removeprefix("UniProt:"), "score": 0.6} for other in others - acted]
    told: list[Drug | Disease | Protein] = [
        Drug.model_validate({"drug": drug, "mechanisms": actions}),
        Disease.model_validate({"disease": disease, "disease_id": "EFO_1", "targets": targets}),
    ]
    for other in sorted(acted | others):
        gene = other.removeprefix("UniProt:")
        known = [{"id": go, "name": names[go]} for go, who in part_in.get(other, {}).items() if who - {pair}]
        told.append(Protein.model_validate({"uniprot_id": gene, "gene_symbol": gene, "processes": known}))
    pool = [
        Evidence(
            content="as curated",
            citation=Citation(source="chembl", title=f"{place}", url=f"https://www.ebi.ac.uk/chembl/#{place}"),
            record=record,
        )
        for place, record in enumerate(told)
    ]
    node = MechanismGraph(pool, parse_question(f"Which drugs treat {disease}?"), [drug]).chain(drug).node("process")
    return node.number if node else ""


def main() -> int:
    """Print the figures; 1 where they are below what is due."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", type=Path)
    with gzip.open(parser.parse_args().paths, "rt", encoding="utf-8") as lines:
        drawn = list(lines)
    every = list(pairs(drawn))
    against = list(opposed(drawn))
    alike = [two for two in against if same_argument(two)]
    curated, named, hit = processes_named(drawn)
    print(f"{curated} pairs with a curated process: {named} chains name one, {hit} of them a curated one")
    print(f"opposite drugs of one protein given the same argument: {len(alike)} of {len(against)}")
    for two in alike:
        print(f"  {two.helper} and {two.other}, {two.disease}")
    records = more_records() + asyncio.run(records_on(sorted({pair.drug for pair in every})))
    known = {canonical_drug(str(r.metadata["drug"])) or r.metadata["drug"] for r in records if r.metadata.get("drug")}
    asked = [pair for pair in every if pair.drug in known]
    told = [
        (pair, reported(pair, [r for r in records if r.metadata.get("drug") and _is(r, pair.drug)])) for pair in asked
    ]
    held = [(pair, target) for pair, target in told if target and pair.proteins]
    right = [(pair, target) for pair, target in held if target & pair.proteins]
    drugs = sorted({pair.drug for pair, _ in held})
    shares = [
        sum(pair.drug == drug for pair, _ in right) / sum(pair.drug == drug for pair, _ in held) for drug in drugs
    ]
    print(f"{len(every):,} pairs; {len(asked)} of drugs that the library knows; a target named in", end=" ")
    print(f"{sum(bool(target) for _, target in told)}; held {len(held)} ({len(drugs)} drugs)")
    print(f"target on the curated path: {len(right)} of {len(held)} pairs = {len(right) / len(held):.1%}", end="; ")
    print(f"mean over drugs {sum(shares) / len(shares):.1%}; of all asked {len(right) / len(asked):.1%}")
    for pair, target in held:
        if not target & pair.proteins:
            print(f"  not on it: {pair.drug}, {pair.disease}: {', '.join(sorted(target))}")
    return int(len(right) < DUE * len(held))


def _is(record: Evidence, drug: str) -> bool:
    name = str(record.metadata["drug"])
    return (canonical_drug(name) or name) == drug


if __name__ == "__main__":
    raise SystemExit(main())
