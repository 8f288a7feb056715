"""Whole reports, word by word: who changes a sentence sees it here.

`RENEW=1 pytest tests/test_report_text.py` writes them anew: read what changed.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from autogen_core import CancellationToken
from builders import asked, drug_record, findings, reading, record, reply, scripted, verdict
from exports_sample import SAMPLE, WHEN, reference, row, sample
from goldens import GOLDENS, assert_golden
from posted_study import analysis, outcome, trial

from willowbark.agents.approval import Approval, ApprovalMessage, SetAside
from willowbark.agents.asking.claims import Claim
from willowbark.agents.asking.drafts import ReportDraft
from willowbark.agents.assessment import Progress
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.reporter import ReportAgent
from willowbark.tools.reading.reading import QuotedPassage
from willowbark.tools.records import Disease, Drug, Protein, Record
from willowbark.tools.records import DrugApproval as FirstApproval
from willowbark.tools.records.evidence import Citation, Evidence
from willowbark.tools.search import Status
from willowbark.tools.sources.labels.openfda import parse_label

QUESTION = "Which existing drugs prevent migraine in pregnancy?"
STUDIES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "propranolol": ("{} halved migraine attacks (OR 2.8, 95% CI 1.9 to 4.3; RR 1.5).", {"primary": "met"}, {}),
    "topiramate": ("{} helped a third of patients with migraine (p=0.04) in pregnancy.", {"hedged": True}, {}),
    "cyclandelate": ("{} did not reduce migraine attacks.", {"effect": "no_difference", "primary": "not_met"}, {}),
    "timolol": ("{} reduced migraine attacks in rats.", {"design": "animal"}, {}),
    "atenolol": ("{} and aspirin reduced migraine attacks.", {"alone": False, "comparator": "active"}, {}),
    "nadolol": ("{} was studied in migraine.", {"effect": "not_reported"}, {}),
    "rofecoxib": ("{} reduced migraine attacks.", {"harm": 0.9}, {"is_preprint": True}),
    "lisinopril": ("{} reduced migraine attacks.", {}, {"retracted": True}),
    "verapamil": ("", {}, {}),
    "candesartan": ("{} reduced renal failure in migraine.", {"match": "complication"}, {}),
}
"""Of each drug the sentence, how it is read beside the usual, and what is known of its record."""


def entry(source: Any, said: Record, content: str = "") -> Evidence:
    cited = Citation(source=source, title=content or source, url=f"https://example.org/{source}/{content}")
    return Evidence(content=content or source, citation=cited, record=said)


async def written() -> ResearchReport:
    records, readings = [], []
    for number, (drug, (words, read, known)) in enumerate(STUDIES.items()):
        said, title = words.format(drug.capitalize()), f"{drug.capitalize()} to prevent migraine: a trial"
        many = range(2 if read.get("effect") == "no_difference" else 1)
        for pmid in (f"{number + 1}000000{copy}" for copy in many):
            types = [] if "design" in read else ["Randomized Controlled Trial"]
            size = f"{100 * number + 160} patients were randomised, double-blind, to it or placebo."
            text = f"{size} {said}" if said and "design" not in read else said
            records.append(record(pmid, f"{title} {pmid}", text, **{"publication_types": types, **known}))
            passage = QuotedPassage(text=said or title, start=0, end=len(said or title))
            fields = {"effect": "better", "participants": 100 * number + 160, "passages": [passage], **read}
            readings.append(reading(f"pmid:{pmid}", drug, reader="model", **fields))
    days = outcome("Monthly migraine days", {"Topiramate": "-2.1", "Placebo": "-1.1"}, analysis("0.003"))
    pubmed = reply(
        *records,
        record("99", "Care in migraine"),
        record("98", "T", "Vasodilation is a hallmark of migraine."),
        warnings=["slow"],
        url="https://x.org/?term=migraine&retmax=10",
    ).model_copy(update={"total": 59})
    europepmc = reply(source="europepmc", status=Status.UNAVAILABLE, warnings=["down"])
    literature = findings("literature", pubmed, europepmc, readings=readings, reading_notes=["A note"])
    targets = [{"symbol": "ADRB1", "score": 0.31, "genetic": 0.41}, {"symbol": "CALCA", "score": 0.6}]
    given: dict[str, Any] = {
        "set_id": "00000008-0000-0000-0000-000000000000",
        "openfda": {"generic_name": ["TOPIRAMATE"]},
    }
    given |= {
        "boxed_warning": ["Harm to the unborn child."],
        "indications_and_usage": ["Epilepsy. Prevention of migraine in adults."],
        "contraindications": ["Do not use for migraine in pregnancy."],
        "warnings": ["Kidney stones."],
        "drug_interactions": ["On and on. " * 60 + "Propranolol levels rise. Lithium levels fall."],
    }
    label = parse_label(given)
    warning = {"kind": "withdrawn", "about": "cardiotoxicity", "country": "United States", "year": 2004}
    product = {"number": "NDA016418", "brand": "INDERAL", "approved": "1967-11-13"}
    first = {"agency": "FDA", "first_approved": "1967-11-13", "applications": [product], "is_sold": False}
    approval = FirstApproval.model_validate({"drug": "propranolol", **first})
    process = {"id": "GO:1", "name": "vasodilation"}
    protein = {"uniprot_id": "P08588", "gene_symbol": "ADRB1", "processes": [process], "protein_name": "Receptor"}
    signal = {"term": "paraesthesia", "count": 1200, "log_likelihood": 310.5}
    known = {"drug": "topiramate", "signals": [signal], "first_approval": 1996}
    databases = [
        drug_record("propranolol", "Beta-adrenergic receptor antagonist", "ADRB1"),
        entry("opentargets", Disease.model_validate({"disease": "migraine disorder", "targets": targets})),
        entry("drugsfda", approval, "Inderal"),
        entry("chembl", Drug.model_validate({"drug": "rofecoxib", "warnings": [warning], "max_phase": 4}), "Rofecoxib"),
        entry("opentargets", Drug.model_validate(known), "Topiramate"),
        drug_record("cyclandelate", "Calcium channel blocker", "CACNA1C", 28),
        entry("uniprot", Protein.model_validate(protein), "ADRB1"),
    ]
    mechanism = findings("mechanism", *(reply(each, source=each.citation.source) for each in databases))
    trials = findings("trials", reply(trial(days), source="clinicaltrials"), reply(label, source="openfda"))
    told: dict[str, Any] = {"evidence_quality": "weak", "certainty": "low", "reason": "no renal question"}
    aside = SetAside(name="candesartan", supporting=1, contradicting=0, **told)
    decided = Approval(
        decided_by="person",
        via="terminal",
        accepted=[drug for drug in STUDIES if drug != "candesartan"],
        set_aside=[aside],
    )
    judged = verdict("synthesize", stop_reason="depth_reached", gaps=["a second trial."])
    judged.content.progress = Progress(read=300, hits=770)
    thread = [asked(QUESTION), literature, mechanism, trials, judged]
    thread.append(ApprovalMessage(content=decided, source="approver"))
    quote = STUDIES["propranolol"][0].format("Propranolol")
    claim = Claim(drug="propranolol", evidence_key="pmid:10000000", quote=quote, stance="supports")
    drafts = scripted(ReportDraft.model_validate({"claims": [claim.model_dump()]}).model_dump_json())
    message = (
        await ReportAgent("report", drafts, words="quoted").on_messages(thread, CancellationToken())
    ).chat_message
    assert isinstance(message, ReportMessage)
    return message.content.model_copy(update={"generated_at": WHEN})


async def of_sample() -> ResearchReport:
    """The sample with what it lacks: a journal, versions, running trials, a drug to repurpose, the judge's words."""
    article = {"journal_abbreviation": "N Engl J Med.", "volume": "345", "issue": "12", "pages": "851-860"}
    version = {"relation": "preprint", "title": "Draft", "url": "https://doi.org/10.1101/1", "date": "2002"}
    text = {"pmcid": "PMC1", "licence": "CC BY 4.0", "sections": ["Results", "Table 2"]}
    more = reference(5, "pmid:7", "A trial?", date="2001-09-20", authors=list("ABCD"), **article, versions=[version])
    more |= {"full_text": text, "published_version": "doi:10.1/x", "flags": ["preprint", "title only"]}
    running = [
        {**SAMPLE["trials"][0], "key": f"nct:NCT0000000{n}", "nct_id": f"NCT0000000{n}", "status": "RECRUITING"}
        | {"has_results": False, "posted": [], "phases": ["NA"][: n % 2], "enrollment": None if n else 1200}
        for n in range(5)
    ]
    stopped = {**SAMPLE["trials"][1], "why_stopped": "Slow accrual", "why_stopped_kind": "administrative"}
    new: dict[str, Any] = {"name": "cytisine", "evidence_quality": "refuted", "contradicting_citations": ["pmid:7"]}
    new |= {"combination": ["nicotine"], "in_asked_class": False, "for_prevention": True, "group": "repurposing"}
    study = row("pmid:7", "Cytisine alone", "contradicts", drug="cytisine", tested=False, alone=False)
    return sample(
        references=[*SAMPLE["references"], more],
        trials=[*SAMPLE["trials"][:1], stopped, *running],
        candidates=[*SAMPLE["candidates"], new],
        evidence_table=[*SAMPLE["evidence_table"], study.model_dump()],
        drug_candidates=["bupropion", "cytisine"],
        judged=["Clinical evidence, 7 of 10: trials agree"],
        key_findings=["bupropion: “It helped.” (PMID 1)"],
    )


@pytest.mark.parametrize("make", [written, of_sample], ids=["written", "sample"])
async def test_a_whole_report_says_what_it_said(make: Callable[[], Awaitable[ResearchReport]]) -> None:
    report = await make()
    told = f"{report.executive_summary}\n\n{report.to_markdown()}\n\n{report.to_appendix()}\n"
    assert_golden(GOLDENS / f"report_{make.__name__}.md", told)
