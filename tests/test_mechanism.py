"""Chains from drug to condition: each step has who says it, a missing one is named, look-ups alone are never sure."""

import pytest
from builders import drug_record, record

from willowbark.agents.assessment import AssessmentRequest
from willowbark.agents.report.content import ReportSection
from willowbark.agents.report.texts import References, ReportStatement
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.mechanism import (
    GAP,
    MOST_UNDIRECTED,
    WEIGHTS,
    Backing,
    Chain,
    MechanismGraph,
    Node,
    Step,
    assess,
    weigh,
)
from willowbark.tools.questions import parse_question
from willowbark.tools.records import Disease, Drug, Mechanism, Pathway, Protein, Record
from willowbark.tools.records.evidence import Citation, Evidence, SourceName

ASKED = parse_question("Which existing drugs could prevent migraine attacks?")


def entry(source: SourceName, number: str, said: Record, content: str = "") -> Evidence:
    cited = Citation(source=source, title=number, url=f"https://www.ebi.ac.uk/{source}/{number}")
    return Evidence(content=content or number, citation=cited, record=said)


def acting(drug: str, *genes: str, action: str = "antagonist", source: SourceName = "chembl") -> Evidence:
    mechanisms = [
        Mechanism(mechanism_of_action=f"{gene} {action}", action_type=action, gene_symbols=[gene]) for gene in genes
    ]
    said = Drug(drug=drug, chembl_id="CHEMBL27", mechanisms=mechanisms)
    return entry(source, drug, said, "\n".join(f"{drug}: {gene} {action}." for gene in genes))


def approved(drug: str, gene: str, action: str = "antagonist") -> Evidence:
    """A drug that is approved for the condition."""
    found = acting(drug, gene, action=action)
    assert isinstance(found.record, Drug)
    return found.model_copy(
        update={"record": found.record.model_copy(update={"indications": [{"name": "Migraine", "max_phase": 4.0}]})}
    )


def protein(
    gene: str, *processes: str, note: str = "", organism: str | None = None, of: str = "Migraine 1"
) -> Evidence:
    said = Protein(
        uniprot_id="P08588",
        gene_symbol=gene,
        protein_name=f"{gene.lower()}in receptor",
        processes=[{"id": f"GO:{name}", "name": name} for name in processes],
        diseases=[{"name": of, "id": "MIM:1", "note": note}] if note else [],
    )
    return entry("uniprot", gene, said, f"{gene}\n{of}: {note}")


def associated(number: str = "EFO_1", **targets: float | dict[str, float]) -> Evidence:
    listed = [
        {"symbol": symbol, **(told if isinstance(told, dict) else {"score": told})} for symbol, told in targets.items()
    ]
    said = {"disease": "migraine disorder", "disease_id": number, "targets": listed}
    return entry("opentargets", number, Disease.model_validate(said))


def graph(*pool: Evidence, drugs: tuple[str, ...] = ("propranolol",)) -> MechanismGraph:
    return MechanismGraph(pool, ASKED, drugs)


ACTS = acting("propranolol", "ADRB1")
PART = record("7", "T", "ADRB1 is active in migraine.")


def chain(*pool: Evidence) -> Chain:
    return graph(*pool).chain("propranolol")


def test_a_whole_chain_names_source_identifier_and_sentence_of_each_step() -> None:
    found = chain(ACTS, record("7", "T", "ADRB1 is expressed in vessels that dilate in migraine."))

    first, last = found.steps
    assert [node.name for node in found.nodes] == ["propranolol", "ADRB1", "migraine"]
    assert (first.backings[0].source, first.backings[0].number) == ("chembl", "CHEMBL27")
    assert first.quoted is not None
    assert first.quoted.quote == "propranolol: ADRB1 antagonist."
    assert (last.backings[0].key, last.backings[0].quote) == (
        "pmid:7",
        "ADRB1 is expressed in vessels that dilate in migraine.",
    )
    assert found.missing == []


def test_a_chain_leads_through_a_process_where_the_target_itself_is_not_connected() -> None:
    said = record("7", "T", "Vasodilation is a hallmark of migraine.")
    found = chain(ACTS, protein("ADRB1", "vasodilation"), said)

    assert [node.kind for node in found.nodes] == ["drug", "target", "process", "disease"]
    assert found.steps[1].backings[0].number == "GO:vasodilation"


def test_a_protein_of_the_condition_in_the_same_process_connects_it_at_half_the_weight() -> None:
    proteins = protein("ADRB1", "vasodilation"), protein("CALCA", "vasodilation")
    last = chain(ACTS, *proteins, associated(CALCA=0.6)).steps[-1]

    assert (last.relation, last.weight) == ("holds CALCA, which has a part in", pytest.approx(0.3))


def test_a_missing_step_is_named_and_costs_most_of_the_confidence() -> None:
    found = chain(ACTS, protein("ADRB1", "vasodilation"))

    assert found.missing == ["no record connects ADRB1 with migraine"]
    assert found.steps[-1].is_missing
    assert found.node("process") is None  # nothing ties vasodilation with migraine
    assert found.confidence == pytest.approx(0.9 * GAP, abs=0.006)
    assert f"{GAP:g} for the missing step" in found.arithmetic


def test_where_nothing_leads_to_the_condition_the_targets_pathway_is_named_that_most_records_give() -> None:
    pathways: list[Pathway] = [{"id": "R-HSA-390696", "name": "Adrenoceptors"}]
    said = Protein(
        uniprot_id="P08588", gene_symbol="ADRB1", pathways=pathways, processes=[{"id": "GO:1", "name": "vasodilation"}]
    )
    found = chain(ACTS, entry("uniprot", "ADRB1", said))

    assert found.unlinked is not None
    assert (found.unlinked.end.number, found.unlinked.backings[0].source) == ("R-HSA-390696", "uniprot")
    assert (found.process, found.node("process")) == (found.unlinked.end, None)
    assert "no record names a process of ADRB1" not in found.missing
    assert chain(ACTS).unlinked is None
    whole = chain(ACTS, protein("ADRB1", "vasodilation"), record("7", "T", "Vasodilation is a hallmark of migraine."))
    assert (whole.unlinked, whole.process) == (None, whole.node("process"))


def test_a_hypothesis_names_the_pathway_of_its_target_and_asks_for_what_ties_it_to_the_condition() -> None:
    trial = record("1", "Propranolol in migraine", "Propranolol reduced migraine attacks against placebo (p<0.001).")
    pool = [trial, ACTS, protein("ADRB1", "vasodilation")]
    [one] = assess(appraise_candidates(ASKED, pool), pool, ASKED).hypotheses.hypotheses

    assert one.pathway == "vasodilation"
    assert "vasodilation AND migraine" in one.to_search_queries()


def test_a_drug_without_a_target_says_so() -> None:
    unplaced = Drug(drug="propranolol", mechanisms=[{"mechanism_of_action": "Channel blocker"}])

    assert (chain().confidence, chain().missing) == (0, ["no record names a target of propranolol"])
    assert chain(entry("chembl", "x", unplaced)).missing == [
        "no record names a target of propranolol, only what it does: Channel blocker"
    ]


def test_look_ups_alone_never_make_a_chain_sure() -> None:
    more = acting("propranolol", "ADRB1", source="opentargets"), protein("ADRB1", note="Caused by variants.")
    found = chain(ACTS, *more, associated(ADRB1=1.0))

    assert found.confidence == MOST_UNDIRECTED
    assert found.arithmetic == "0.90 × 0.80 = 0.72, 0.5 at most since the direction is unknown"
    directed = chain(*more, associated(ADRB1=1.0), ACTS, approved("timolol", "ADRB1"))
    assert directed.confidence == pytest.approx(0.9 * 0.8)


def test_databases_that_say_the_same_are_no_surer_than_one_and_more_sentences_are() -> None:
    def backing(basis: str = "sentence", **fields: object) -> Backing:
        return Backing.model_validate({"key": "a", "source": "pubmed", "basis": basis, "quote": "…", **fields})

    for basis in WEIGHTS:
        assert weigh([backing(basis), backing(basis, key="b")]) == weigh([backing(basis)])
    one, two = weigh([backing()]), weigh([backing(), backing(key="b")])
    assert weigh([backing(hedged=True)]) < one < two < 0.9
    assert weigh([backing(), backing(key="b", denies=True)]) == one / 2
    assert weigh([backing(denies=True)]) == 0
    ends = {"start": Node("target", "X"), "end": Node("disease", "migraine"), "relation": "has a part in"}
    assert Step.model_validate({**ends, "backings": [backing(denies=True)]}).is_missing


@pytest.mark.parametrize(
    ("sentence", "counts"),
    [
        ("ADRB1 variants were found in migraine.", True),
        ("ADRB1 was not associated with migraine.", False),
        ("Propranolol, which blocks ADRB1, prevents migraine.", False),
        ("An ADRB1 antagonist was given in migraine.", False),
        ("ADRB1 variants were found in asthma.", False),
        ("Variants were found in migraine.", False),
    ],
)
def test_a_sentence_counts_for_the_condition_where_it_names_both_and_is_about_no_treatment(
    sentence: str, counts: bool
) -> None:
    assert chain(ACTS, record("7", "T", f"{sentence} The end.")).steps[-1].is_missing is not counts


def test_what_denies_a_step_stands_among_what_contradicts_and_retracted_papers_connect_nothing() -> None:
    denied = chain(ACTS, PART, record("8", "T", "ADRB1 was not associated with migraine."))

    assert denied.keys(denying=True) == ["pmid:8"]
    assert denied.steps[-1].weight == pytest.approx(0.2)
    assert chain(ACTS, record("7", "T", "ADRB1 is active in migraine.", retracted=True)).missing


def test_hypotheses_ask_for_what_is_missing_and_the_judge_hands_their_queries_on() -> None:
    trial = record("1", "Propranolol in migraine", "Propranolol reduced migraine attacks against placebo (p<0.001).")
    pool = [trial, drug_record("propranolol", "Beta-1 adrenergic receptor antagonist", "ADRB1")]
    others = [record(number, "Timolol in migraine", "Timolol prevented migraine attacks.") for number in ("2", "3")]
    candidates = appraise_candidates(ASKED, [*others, *pool])
    candidates.sort(key=lambda each: each.drug, reverse=True)  # the one without a target first
    found, chains, _ = assess(candidates, [*others, *pool], ASKED)

    assert [each.drug for each in candidates] == ["timolol", "propranolol"]
    [one] = found.hypotheses
    assert found.primary_hypothesis == one
    assert one.confidence == chains["propranolol"].confidence < 0.2
    assert one.to_search_queries() == ["propranolol AND ADRB1", "ADRB1 AND migraine"]
    assert "no record names a process of ADRB1" in found.knowledge_gaps
    both = one.model_copy(update={"target": "ADRA1A, ADRA1B", "pathway": "release, of this"})
    assert both.to_search_queries()[:2] == ["propranolol AND (ADRA1A OR ADRA1B)", 'propranolol AND "release of this"']
    empty = {"searches": [], "candidates": [], "progress": {}, "records": []}
    request = AssessmentRequest.model_validate(
        {"question": "q", "iteration": 1, "pool": 2, **empty, "hypotheses": found}
    )
    assert "ADRB1 AND migraine" in request.text


def argument(found: MechanismGraph, references: References, drug: str = "propranolol") -> ReportSection:
    return references.write(
        "", [ReportStatement("mechanism", "argument", {"chain": found.chain(drug), "graph": found})]
    )


def test_a_disease_is_known_by_its_name_and_not_by_what_a_note_says_beside_it() -> None:
    note = "A stroke syndrome that is often associated with migraine."
    assert not chain(ACTS, protein("ADRB1", note=note)).missing
    assert chain(ACTS, protein("ADRB1", note=note, of="Stroke 3")).missing


def test_an_agonist_and_an_antagonist_of_one_target_are_never_given_the_same_argument() -> None:
    pool = [acting("one", "ADRB1", action="agonist"), acting("two", "ADRB1"), approved("helper", "ADRB1"), PART]
    pool.append(associated(ADRB1=0.8))
    found = MechanismGraph(pool, ASKED, ("one", "two"))
    agonist, antagonist = found.chain("one"), found.chain("two")

    assert (agonist.direction, antagonist.direction) == ("opposite", "same")
    assert (agonist.compared, agonist.opposing) == (["helper"], [pool[2].key])
    assert agonist.confidence == 0 < antagonist.confidence
    section = argument(found, References({record.key: record for record in pool}), "one")
    assert "This speaks against one: helper, approved for the condition, acts on the same target the other way" in (
        section.content
    )


def test_where_approved_drugs_disagree_the_direction_is_unknown() -> None:
    pool = ACTS, approved("a", "ADRB1"), approved("b", "ADRB1", "agonist"), associated(ADRB1=0.8)
    assert chain(*pool).direction == "unknown"


GENETIC, NONE_GENETIC = {"genetic": 0.5}, {"genetic": 0.0}


@pytest.mark.parametrize(
    ("entries", "is_tied"),
    [
        ([{}], False),
        ([GENETIC], True),
        ([{"pathway": 0.4}], True),
        ([GENETIC, NONE_GENETIC], True),
        ([NONE_GENETIC, GENETIC], True),
    ],
)
def test_where_evidence_is_told_by_kind_genes_and_pathways_alone_tie_a_process_by_the_best_entry(
    entries: list[dict[str, float]], is_tied: bool
) -> None:
    other = {"score": 0.5, "genetic": 0.5}
    pool = [associated(f"EFO_{at}", ADRB1={"score": 0.6, **kinds}, CALCA=other) for at, kinds in enumerate(entries)]

    assert chain(ACTS, protein("ADRB1", "heart rate"), *pool).others == is_tied  # the path through the process


def test_words_of_a_name_that_stand_apart_are_not_the_name() -> None:
    bag = record("7", "T", "Response of the skin, in migraine as in buckwheat allergy, was inflammatory.")
    assert chain(ACTS, protein("ADRB1", "inflammatory response"), bag).missing
    for phrase in ("An inflammatory response", "A response, clearly inflammatory,"):  # one word between is none
        said = record("8", "T", f"{phrase} is a hallmark of migraine.")
        assert not chain(ACTS, protein("ADRB1", "inflammatory response"), said).missing
