"""A small report that has everything an export can show, and the same one with hostile text in every place."""

from datetime import UTC, datetime
from typing import Any

from willowbark.agents.approval import Approval, SetAside
from willowbark.agents.asking.claims import Claim
from willowbark.agents.report.content import (
    OTHER_CALLS,
    DrugCandidate,
    EvidenceRow,
    Flow,
    Pico,
    PostedResult,
    ReportSection,
    SearchLogEntry,
    StudyLimit,
    SummaryPart,
    TrialRow,
    TurnUsage,
)
from willowbark.agents.report.forms.blocks import (
    Cite,
    Details,
    Link,
    Quote,
    Section,
    Text,
    flow,
    paragraph,
    points,
    table,
)
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.appraisal import EffectSize
from willowbark.tools.appraisal.posted import SeriousEvents

WHEN = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
ONE_YEAR = (
    "Continuous abstinence in weeks 4 to 7 was 46% versus 23% (OR 2.82; 95% CI 1.89-4.28; P<0.001), and at month 12 it "
    "was 21% versus 11% (OR 2.19; 95% CI 1.29-3.86; P=0.002)."
)
TONSTAD = "Continuous abstinence in weeks 4 to 7 was 43% versus 19% (OR 3.27; 95% CI 2.24-4.84; P<0.001)."


def effect(value: float, low: float, high: float, sentence: str) -> EffectSize:
    """An odds ratio with its interval."""
    return EffectSize(measure="OR", value=value, ci_low=low, ci_high=high, sentence=sentence)


def row(key: str, title: str, direction: str = "supports", **fields: Any) -> EvidenceRow:
    """What a record says of bupropion."""
    told = {"drug": "bupropion", "design": "RCT blinded", "date": "2003", **fields}
    return EvidenceRow(key=key, title=title, direction=direction, **told)


def reference(number: int, key: str, title: str, **fields: Any) -> dict[str, Any]:
    """One entry of the reference list."""
    told = {"authors": [], "source": "pubmed", "date": "2003", "url": "", "flags": []}
    return {"number": number, "key": key, "title": title, **told, **fields}


REFERENCES = [
    reference(
        1,
        "pmid:12859700",
        "A multicentre, randomized, double-blind, placebo-controlled, 1-year study of bupropion SR for smoking "
        "cessation.",
        authors=["Tønnesen P", "Tonstad S", "Van Spiegel PI"],
        url="https://pubmed.ncbi.nlm.nih.gov/12859700/",
    ),
    reference(
        2,
        "pmid:12714026",
        "Bupropion SR for smoking cessation in smokers with cardiovascular disease: a multicentre, randomised study.",
        authors=["Tonstad S", "Farsang C"],
        url="https://pubmed.ncbi.nlm.nih.gov/12714026/",
        flags=["corrected"],
    ),
    reference(
        3,
        "nct:NCT02188459",
        "Placebo-controlled Trial of Bupropion for Smoking Cessation in Pregnant Women",
        source="clinicaltrials",
        date="2014-10-30",
        url="https://clinicaltrials.gov/study/NCT02188459",
    ),
    reference(
        4,
        "url:www.ebi.ac.uk/chembl/explore/compound/CHEMBL894",
        "Bupropion (CHEMBL894)",
        source="chembl",
        date="Unknown",
        url="https://www.ebi.ac.uk/chembl/explore/compound/CHEMBL894",
    ),
]
ROWS = [
    row(
        "pmid:12859700",
        REFERENCES[0]["title"],
        sentence=ONE_YEAR,
        sample_size=707,
        followup_months=12.0,
        effects=[effect(2.82, 1.89, 4.28, ONE_YEAR), effect(2.19, 1.29, 3.86, ONE_YEAR)],
        pico=Pico(
            population="smoking cessation",
            intervention="bupropion",
            comparator="placebo",
            outcome="efficacy",
            result="better",
        ),
    ),
    row(
        "pmid:12714026",
        REFERENCES[1]["title"],
        sentence=TONSTAD,
        sample_size=629,
        effects=[effect(3.27, 2.24, 4.84, TONSTAD)],
        retracted=False,
    ),
    row(
        "pmid:23859696",
        "Randomized trial of nicotine replacement therapy (NRT), bupropion and NRT plus bupropion for smoking "
        "cessation: effectiveness in clinical practice",
        "contradicts",
        date="2013",
        design="RCT open",
        sentence="Abstinence over 6 months was 27.9% with bupropion and 24.2% with nicotine replacement (OR 1.21).",
        effects=[
            EffectSize(measure="OR", value=1.21, sentence="Abstinence: bupropion versus nicotine patch (OR 1.21).")
        ],
    ),
    row(
        "nct:NCT02188459",
        REFERENCES[2]["title"],
        "unclear",
        design="registry entry",
        date="2014-10-30",
        sample_size=129,
    ),
]
TRIALS = [
    TrialRow(
        key="nct:NCT02188459",
        nct_id="NCT02188459",
        title=REFERENCES[2]["title"],
        drugs=["bupropion"],
        status="COMPLETED",
        phases=["PHASE2", "PHASE3"],
        enrollment=129,
        start_date="2014-10-30",
        completion_date="2020-01-22",
        has_results=True,
        posted=[
            PostedResult(
                drug="bupropion",
                direction="contradicts",
                reason="no difference from placebo",
                sentence="Abstinence at 10 weeks: odds ratio 0.95.",
                serious_events=[SeriousEvents(group="Bupropion", affected=3, at_risk=65)],
            )
        ],
    ),
    TrialRow(
        key="nct:NCT03809897",
        nct_id="NCT03809897",
        title="Varenicline for Smoking Cessation in Hospitalized Patients With Psychiatric Disorders",
        drugs=["varenicline"],
        status="WITHDRAWN",
        phases=["PHASE4"],
        enrollment=0,
        start_date="2019-01",
        completion_date="2020-04",
    ),
]


SET_ASIDE = SetAside(
    name="clonidine", supporting=1, contradicting=1, certainty="very low", evidence_quality="weak", reason="too old"
)


def sample(**changes: Any) -> ResearchReport:
    """A report on bupropion for smoking cessation."""
    fields: dict[str, Any] = {
        "title": "Existing drugs for smoking cessation: what the evidence says",
        "executive_summary": "Two randomised trials speak for bupropion and one against it. " * 3,
        "research_question": "Which existing drugs could help people quit smoking?",
        "summary_parts": [SummaryPart(text="Two randomised trials speak for bupropion and one against it.")],
        "methodology": ReportSection.of("Methodology", [paragraph("Searched ", Text("widely", "strong"), ".")]),
        "mechanistic_findings": ReportSection.of(
            "Mechanistic findings", [points([flow(Text("bupropion", "strong"), ": inhibitor", Cite((4,)))])]
        ),
        "clinical_findings": ReportSection.of(
            "Clinical findings", [points([flow("It helped", Cite((1, 2)), ", see", Cite((9,)), ".")])]
        ),
        "drug_candidates": ["bupropion"],
        "candidates": [
            DrugCandidate(
                name="bupropion",
                current_indications=["Depressive Disorder, Major"],
                mechanism="Dopamine transporter inhibitor",
                evidence_quality="moderate",
                certainty="moderate",
                certainty_reasons=["Starts at high: 2 randomised trials.", "Down one: inconsistency."],
                held_down_by=["inconsistency"],
                clinical_status="Approved for smoking cessation",
                supporting_citations=["pmid:12859700", "pmid:12714026"],
                contradicting_citations=["pmid:23859696"],
                undecided_citations=["nct:NCT02188459"],
                claims=[
                    Claim(
                        text="Bupropion raised abstinence at month 12.",
                        drug="bupropion",
                        evidence_key="pmid:12859700",
                        quote=ONE_YEAR,
                        stance="supports",
                        section="Results",
                    )
                ],
                study_limits=[StudyLimit(key="pmid:12859700", section="Discussion", quote="Smokers were volunteers.")],
            )
        ],
        "limitations": ["Not available: opentargets: no answer within 30 s."],
        "gaps": ["Mechanisms of bupropion."],
        "conclusion": "Bupropion is best supported.",
        "references": REFERENCES,
        "sources_searched": ["clinicaltrials", "pubmed"],
        "total_papers_reviewed": 4,
        "search_iterations": 1,
        "stop_reason": "sufficient_evidence",
        "confidence_score": 0.7,
        "claims_kept": 1,
        "evidence_table": ROWS,
        "trials": TRIALS,
        "search_log": [
            SearchLogEntry(
                source="pubmed",
                query="bupropion AND smoking",
                specialist="literature",
                iteration=1,
                status="ok",
                taken=3,
                found=512,
                filters={"sort": "relevance", "retmax": "10"},
                asked_at=WHEN,
            ),
            SearchLogEntry(
                source="europepmc",
                query="bupropion AND smoking",
                specialist="literature",
                iteration=2,
                status="unavailable",
                taken=0,
                found=0,
            ),
        ],
        "approval": Approval(decided_by="person", via="terminal", accepted=["bupropion"], set_aside=[SET_ASIDE]),
        "usage": [
            TurnUsage(agent="judge", iteration=1, prompt_tokens=1200, completion_tokens=80, cost_usd=0.0123),
            TurnUsage(agent=OTHER_CALLS, prompt_tokens=10, completion_tokens=1),
        ],
        "flow": Flow(
            identified={"pubmed": 5, "clinicaltrials": 2},
            duplicates=1,
            screened=6,
            excluded={"not on the condition, or names no drug": 2},
            included=4,
        ),
        "generated_at": WHEN,
    }
    return ResearchReport(**{**fields, **changes})


def empty() -> ResearchReport:
    """A report that found nothing."""
    nothing = ReportSection.of("Findings", [paragraph("Nothing.")])
    return ResearchReport(
        title="Existing drugs for an unknown disease",
        executive_summary="No existing drug was found with evidence that could be verified. " * 2,
        research_question="Which drugs help in xyzzy?",
        methodology=nothing,
        mechanistic_findings=nothing,
        clinical_findings=nothing,
        conclusion="No verifiable evidence was found.",
        stop_reason="no_new_evidence",
        confidence_score=0.0,
        generated_at=WHEN,
    )


def hostile(payload: str) -> ResearchReport:
    """The sample with a payload in every text that a source, a model or a user can write."""
    report = sample()
    pico = Pico(population=payload, intervention=payload, comparator=payload, outcome=payload, result=payload)
    texts = "title sentence in_figures in_figures_section section effects_section drug date design".split()
    fields: dict[str, Any] = dict.fromkeys(texts, payload)
    fields |= {"pico": pico, "figures": [payload]}
    candidate = report.candidates[0].model_copy(
        update={
            "name": payload,
            "mechanism": payload,
            "proposed_mechanism": payload,
            "clinical_status": payload,
            "certainty": payload,
            "current_indications": [payload],
            "certainty_reasons": [f"Down one: {payload}"],
            "held_down_by": [payload],
            "study_limits": [StudyLimit(key=payload, section=payload, quote=payload)],
            "claims": [
                Claim(text=payload, drug=payload, evidence_key="pmid:12859700", quote=payload, section=payload),
                Claim(text="other", drug=payload, evidence_key=payload, quote=payload),
            ],
        }
    )
    item = flow(payload, Text(payload, "code"), Link(payload, payload), Quote(payload, payload), points([payload]))
    nested = [points([item]), table(payload, (payload,), [(item,)]), Details(payload, (Section(payload, "x", ()),))]
    section = ReportSection.of(payload, nested)
    log = report.search_log[0].model_copy(
        update={
            **dict.fromkeys(("query", "source", "specialist", "status"), payload),
            "warnings": [payload],
            "filters": {payload: payload},
        }
    )
    trial = {"title": payload, "drugs": [payload], "status": payload, "phases": [payload], "why_stopped": payload}
    events = SeriousEvents(group=payload, affected=1)
    posted = PostedResult(drug=payload, direction=payload, reason=payload, sentence=payload, serious_events=[events])
    trial |= {"posted": [posted]}
    return report.model_copy(
        update={
            "title": payload,
            "executive_summary": payload + "." * 100,
            "research_question": payload,
            "methodology": section,
            "mechanistic_findings": section,
            "clinical_findings": section,
            "summary_parts": [SummaryPart(label=payload, text=payload)],
            "drug_candidates": [payload],
            "candidates": [candidate],
            "limitations": [payload],
            "conclusion": payload,
            "references": [
                {**each, "title": payload, "authors": [payload, "Smith J"], "url": payload, "flags": [payload]}
                for each in REFERENCES
            ]
            + [reference(5, f"url:{payload}", payload, date=payload, source=payload)],
            "sources_searched": [payload],
            "stop_reason": payload,
            "evidence_table": [each.model_copy(update=fields) for each in report.evidence_table]
            + [report.evidence_table[0].model_copy(update={**fields, "key": payload, "date": "2001"})],
            "trials": [each.model_copy(update={**trial, "nct_id": payload, "key": payload}) for each in report.trials]
            + [report.trials[1].model_copy(update={"why_stopped": payload, "nct_id": payload})],
            "search_log": [log],
            "approval": Approval(
                decided_by="person",
                via=payload,
                set_aside=[SET_ASIDE.model_copy(update={"name": payload, "reason": payload, "certainty": payload})],
            ),
            "usage": [TurnUsage(agent=payload)],
            "flow": Flow(identified={payload: 1}, excluded={payload: 1}),
            "disclaimer": payload,
        }
    )
