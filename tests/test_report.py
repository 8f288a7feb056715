"""The report: claims checked, the rest computed, and honest when there is nothing to say."""

import json
from typing import Any

import pytest
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken
from builders import QUESTION, asked, drug_record, findings, reading, record, reply, scripted, verdict

from willowbark.agents.asking.claims import Claim
from willowbark.agents.asking.drafts import ReportDraft
from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.report.tree import MOST_BLOCKS
from willowbark.agents.reporter import ReportAgent
from willowbark.teams.run.research import research
from willowbark.tools.reading.reading import Match, QuotedPassage
from willowbark.tools.records import Drug, Pathway, Protein
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.search import Status

TRIAL = record(
    "11111111",
    "Propranolol in migraine prevention: a double-blind trial",
    "Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001).",
    publication_types=["Randomized Controlled Trial"],
)
AGAINST = record(
    "22222222",
    "Cyclandelate in migraine prevention: a randomised trial",
    "Cyclandelate did not reduce migraine attacks compared with placebo in 214 patients.",
)
DRUG = drug_record("propranolol", "Beta-adrenergic receptor antagonist", "ADRB1")
CLAIM = Claim(
    drug="propranolol",
    evidence_key="pmid:11111111",
    quote="Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001).",
    stance="supports",
)
INVENTED = CLAIM.model_copy(update={"quote": "Propranolol reduced migraine attacks in 900 patients."})
THREAD = (
    asked(),
    findings("literature", reply(TRIAL, AGAINST)),
    findings("mechanism", reply(DRUG, source="chembl")),
    verdict("synthesize", stop_reason="sufficient_evidence"),
)


def drafted(*claims: Claim, **fields: Any) -> str:
    return ReportDraft.model_validate({"claims": list(claims), **fields}).model_dump_json()


async def written(*messages: Any, answers: tuple[str, ...] = (), agent: ReportAgent | None = None) -> ResearchReport:
    reporter = agent or ReportAgent("report", scripted(*answers), words="quoted")
    thread = list(messages or THREAD)
    judged = any(isinstance(message, AssessmentMessage) for message in thread)
    thread += [] if judged else [verdict("synthesize", stop_reason="sufficient_evidence")]
    response = await reporter.on_messages(thread, CancellationToken())
    assert isinstance(response.chat_message, ReportMessage)
    return response.chat_message.content


def read_in(match: Match, *drugs: str) -> FindingsMessage:
    """Trials of drugs that helped; a model read in what."""
    records, told = [], []
    for at, drug in enumerate(drugs, {"same": 100, "complication": 200}[match]):
        said = f"{drug.capitalize()} reduced migraine attacks compared with placebo."
        types = ["Randomized Controlled Trial"]
        records.append(record(str(at), f"{drug} to prevent migraine: a trial", said, publication_types=types))
        passage = QuotedPassage(text=said, start=0, end=len(said))
        told.append(reading(records[-1].key, drug, effect="better", match=match, passages=[passage], reader="a model"))
    return findings("literature", reply(*records), readings=told)


async def by_rules(question: str, *found: FindingsMessage) -> ResearchReport:
    agent = ReportAgent("report", BaselineChatCompletionClient())
    return await written(asked(question), *found, agent=agent)


async def test_what_helped_a_complication_alone_stands_behind_what_helped_the_condition() -> None:
    report = await by_rules(QUESTION, read_in("complication", "atenolol"), read_in("same", "timolol"))

    assert report.drug_candidates == ["timolol", "atenolol"]


@pytest.mark.parametrize(("question", "marked"), [("Which drugs treat migraine?", True), (QUESTION, False)])
async def test_a_drug_whose_studies_are_on_prevention_is_marked_where_that_was_not_asked(
    question: str, marked: bool
) -> None:
    report = await by_rules(question, read_in("same", "timolol"))

    assert [each.for_prevention for each in report.candidates] == [marked]
    not_judged = next(part.text for part in report.summary_parts if part.label == "Not judged")
    assert ("timolol (for prevention)" in not_judged) is marked


async def test_a_saved_report_with_its_outcomes_at_the_earlier_place_shows_the_same() -> None:
    report = await by_rules(QUESTION, read_in("same", "timolol"), read_in("same", "atenolol"))
    saved = json.loads(report.to_json())
    for candidate in saved["candidates"]:
        candidate["outcome"] = candidate["sorting"].pop("outcome")
    loaded = ResearchReport.model_validate_json(json.dumps(saved))

    assert {each.outcome for each in report.candidates} == {"supported"}
    assert loaded == report
    assert loaded.to_markdown() == report.to_markdown()
    assert loaded.to_appendix() == report.to_appendix()


async def test_a_saved_report_without_a_place_for_its_drugs_keeps_their_outcomes() -> None:
    report = await by_rules(QUESTION, read_in("same", "timolol"))
    saved = json.loads(report.to_json())
    for candidate in saved["candidates"]:
        candidate["outcome"] = candidate.pop("sorting")["outcome"]
    loaded = ResearchReport.model_validate_json(json.dumps(saved))

    assert [each.outcome for each in loaded.candidates] == ["supported"]


async def test_drugs_beyond_those_shown_are_named_as_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("willowbark.agents.report.material.MAX_DETAILED", 12)
    drugs = (
        "timolol atenolol nadolol bisoprolol topiramate candesartan verapamil amitriptyline venlafaxine lisinopril "
        "flunarizine pizotifen metoprolol"
    ).split()
    report = await by_rules(QUESTION, read_in("same", *drugs))

    [left] = [each.name for each in report.candidates if not each.in_detail]
    assert set(report.drug_candidates) == set(drugs)
    [line] = [line for line in report.to_markdown().splitlines() if line.startswith(f"| [{left}](")]
    assert line.endswith(" | 1 | low |"), line
    assert "without an extractable result" not in report.to_markdown()
    [evidence] = [each for each in report.to_tree().sections if each.id == "evidence"]
    assert len(evidence.blocks) == MOST_BLOCKS  # the others have a row with a link to their study
    [*_, last] = [each.name for each in report.candidates if each.in_detail]
    assert f"| {last} | 1 study of unreported size | [better" in report.to_markdown()


async def test_a_claim_that_stands_on_a_drug_without_a_verdict_is_told_and_not_counted_as_shown() -> None:
    quote = "Timolol was given to 40 patients with asthma and migraine."
    other = record("44444444", "Timolol and migraine", quote)
    told = {"evidence_key": "pmid:44444444", "drug": "timolol", "quote": quote, "text": quote, "stance": "neutral"}
    beside = CLAIM.model_copy(update=told)
    report = await written(asked(), findings("literature", reply(TRIAL, other)), answers=(drafted(CLAIM, beside),))
    assert report.drug_candidates[0] == "propranolol"
    assert report.claims_kept == 1
    assert "supports or contradicts are not shown: timolol (pmid:44444444)." in "\n".join(report.limitations)


@pytest.mark.parametrize(("total", "in_part"), [(2, False), (3, True)])
async def test_hits_that_were_not_fetched_are_told_only_where_no_page_has_them(total: int, in_part: bool) -> None:
    pages = [reply(each).model_copy(update={"total": total}) for each in (TRIAL, AGAINST)]
    report = await by_rules(QUESTION, findings("literature", *pages))

    beginning = "Of wide searches not all hits were fetched"
    assert (beginning in {line[: len(beginning)] for line in report.limitations}) is in_part


BRANDED = CLAIM.model_copy(update={"drug": "Inderal"})
TURNED = CLAIM.model_copy(update={"stance": "contradicts"})


@pytest.mark.parametrize(
    ("answers", "counts", "line"),
    [
        ((drafted(BRANDED),), (1, 0, 0), ""),
        ((drafted(INVENTED), drafted(CLAIM)), (1, 1, 0), ""),
        ((drafted(CLAIM, INVENTED), drafted(INVENTED)), (1, 0, 1), "1 claim dropped"),
        ((drafted(TURNED),), (1, 0, 0), ""),
    ],
    ids=["under a brand name", "invented, then mended", "invented to the end", "turned round"],
)
async def test_what_becomes_of_a_claim_is_counted_and_told(
    answers: tuple[str, ...], counts: tuple[int, ...], line: str
) -> None:
    report = await written(answers=answers)

    assert (report.claims_kept, report.claims_repaired, report.claims_dropped) == counts
    assert report.drug_candidates[0] == "propranolol"
    assert [(each.drug, each.quote) for each in report.candidates[0].claims] == [("propranolol", CLAIM.quote)]
    assert report.candidates[0].claims[0].stance == ("neutral" if answers == (drafted(TURNED),) else "supports")
    assert line in {limitation[: len(line)] for limitation in ["", *report.limitations]}
    assert "900" not in report.to_markdown()


async def test_the_judging_models_confidence_is_the_reports_and_of_rules_a_silent_source_lowers_it() -> None:
    down = reply(source="europepmc", status=Status.UNAVAILABLE, warnings=["down"])
    by_rule = [ReportAgent("report", BaselineChatCompletionClient()) for _ in range(2)]
    whole = await written(asked(), findings("literature", reply(TRIAL)), agent=by_rule[0])
    part = await written(asked(), findings("literature", reply(TRIAL), down), agent=by_rule[1])
    assert part.confidence_score == pytest.approx(whole.confidence_score - 0.1)
    seen = findings("literature", reply(TRIAL), reflection="It is harmless.")
    judged = verdict("synthesize", stop_reason="sufficient_evidence").model_copy()
    judged.content.confidence = 0.73
    report = await written(asked(), seen, judged, answers=(drafted(CLAIM),))
    assert report.confidence_score == 0.73
    assert "It is harmless" not in report.to_json() + report.to_markdown() + report.to_appendix()


async def test_a_record_that_only_mentions_a_drug_is_not_counted_as_inconclusive() -> None:
    mention = record("77", "Care in migraine", "Some patients with migraine were given propranolol and a meal.")
    report = await written(asked(), findings("literature", reply(TRIAL, mention)), answers=(drafted(CLAIM),))

    assert "pmid:77" in {row.key for row in report.evidence_table if row.drug == "propranolol"}
    assert report.candidates[0].undecided_citations == []


@pytest.mark.parametrize(
    ("phases", "most", "status"),
    [
        ({"Migraine Disorders": 4}, 4, "Approved for migraine (treatment or prevention)"),
        ({"Migraine Disorders": 2, "Hypertension": 4}, 4, "Phase 2 for this condition; approved for others"),
        ({"Migraine Disorders": 2}, 2, "Phase 2 for this condition; not approved"),
        ({"Hypertension": 4}, 4, "Repurposing candidate"),
        ({}, 1, "Not approved (phase 1 at most)"),
    ],
)
async def test_a_drugs_status_is_told_by_its_phases(phases: dict[str, int], most: int, status: str) -> None:
    indications = [{"name": name, "max_phase": phase} for name, phase in phases.items()]
    entry = DRUG.model_copy(update={"record": Drug(drug="propranolol", indications=indications, max_phase=most)})
    thread = (*THREAD[:2], findings("mechanism", reply(entry, source="chembl")), THREAD[-1])

    assert (await written(*thread, answers=(drafted(CLAIM),))).candidates[0].clinical_status == status


async def test_bare_figures_stand_only_where_no_other_drug_is_named_beside_them() -> None:
    said, title = (
        "Propranolol reduced migraine attacks by 31% against {} in 200 patients (p=0.01).",
        TRIAL.citation.title,
    )
    pool = [record(str(at), f"{title} {at}", said.format(of)) for at, of in ((1, "placebo"), (2, "timolol"))]
    report = await written(asked(), findings("literature", reply(*pool)), answers=(drafted(),))
    shown = {row.key: row.figures for row in report.evidence_table if row.drug == "propranolol"}

    assert shown == {"pmid:1": ["31%", "p=0.01"], "pmid:2": []}


async def test_people_get_the_report_as_text_before_the_message() -> None:
    reporter = ReportAgent("report", scripted(drafted(CLAIM)), words="quoted")
    events = [event async for event in reporter.on_messages_stream(list(THREAD), CancellationToken())]
    assert isinstance(events[0], TextMessage)
    assert "**Not judged:** too little was read. One trial reports benefit: propranolol." in events[0].content
    assert "| propranolol |" in events[0].content
    assert "## References" in events[0].content


SEARCHED = (asked(), findings("literature", reply(TRIAL)))


async def test_called_before_the_judge_it_asks_for_a_verdict_and_writes_with_it() -> None:
    reporter = ReportAgent("report", scripted(drafted(CLAIM)), words="quoted")
    first = (await reporter.on_messages(list(SEARCHED), CancellationToken())).chat_message
    report = await written(verdict("synthesize", stop_reason="sufficient_evidence"), agent=reporter)

    later = findings("trials", reply(AGAINST), iteration=2)
    again = (
        await ReportAgent("report", scripted(), words="quoted").on_messages([*THREAD, later], CancellationToken())
    ).chat_message

    assert isinstance(first, TextMessage)
    assert "I ask the judge for a verdict" in first.content
    assert isinstance(again, TextMessage), "findings after the verdict want another one"
    assert [line for line in report.limitations if "verdict of the judge" in line or "without a verdict" in line] == []


async def test_called_again_without_a_verdict_it_writes_and_says_so_also_when_loaded_from_its_state() -> None:
    reporter = ReportAgent("report", scripted(drafted(CLAIM)), words="quoted")
    other = ReportAgent("report", scripted(drafted(CLAIM)), words="quoted")
    await reporter.on_messages(list(SEARCHED), CancellationToken())
    await other.load_state(await reporter.save_state())
    message = (await other.on_messages([], CancellationToken())).chat_message

    assert isinstance(message, ReportMessage)
    assert (message.content.research_question, message.content.drug_candidates) == (QUESTION, ["propranolol"])
    assert message.content.stop_reason == "no_verdict"
    assert "Written without a verdict" in "\n".join(message.content.limitations)
    assert "requested before a judge had ended the search" in message.content.executive_summary
    early = await written(*SEARCHED, verdict("continue"), answers=(drafted(CLAIM),))
    assert "although the judge asked for another round" in "\n".join(early.limitations)


async def test_a_record_cannot_write_markup_into_the_report() -> None:
    payload = (
        "<script>alert(1)</script> ![x](http://evil.example/x.png) [free drugs](http://evil.example) a | b "
        "`rm -rf`\n# Take this drug\n"
    )
    quote = "Propranolol reduced migraine attacks greatly."
    nasty = record("6", f"Propranolol in migraine {payload}", f"{quote} {payload}")
    claim = Claim(quote=quote, drug="propranolol", evidence_key="pmid:6", stance="supports")
    text = (await written(asked(), findings("literature", reply(nasty)), answers=(drafted(claim),))).to_markdown()
    assert "<script" not in text.replace("\\<", "")
    assert "](http://evil" not in text.replace("\\]", "")
    assert "\n# Take" not in text


async def test_mechanism_confidence_and_methods_stand_below_the_answer_with_what_was_not_looked_at() -> None:
    pathways: list[Pathway] = [{"id": "R-HSA-390696", "name": "Adrenoceptors"}]
    said = Protein(uniprot_id="P08588", gene_symbol="ADRB1", pathways=pathways)
    protein = Evidence.entry("uniprot", "ADRB1", [], said, "https://www.uniprot.org/uniprotkb/P08588/entry")
    found = findings("literature", reply(TRIAL)), findings("mechanism", reply(DRUG, protein, source="chembl"))
    report = await by_rules(QUESTION, *found)
    text = report.to_markdown()
    screen, _, rest = text.partition("## Candidates")

    assert "mechanism" not in screen.lower()
    takes_part = "takes part in Adrenoceptors (R-HSA-390696, by UniProt)"
    assert report.candidates[0].proposed_mechanism == (
        f"acts on ADRB1, which {takes_part}; no record links this with migraine"
    )
    assert "**Mechanism:** Beta-adrenergic receptor antagonist (targets ADRB1), by [ChEMBL](" in rest
    assert (
        "**Confidence:** 70 %, since the best certainty of evidence, by the small reader, is moderate (propranolol)."
        in rest
    )
    assert "- Searched: ChEMBL 2, PubMed 1 (3 records, 3 without duplicates)." in rest
    assert "the full texts of 1 of 1 publication" in rest
    assert "not reported" not in text.replace("An empty cell: not reported in what was read.", "")


@pytest.mark.whole
async def test_every_record_shown_has_its_study_once_with_the_drugs_that_it_speaks_of() -> None:
    report = await research("Which existing drugs could prevent migraine attacks?", offline=True)
    keys = [study.key for study in report.studies]
    assert len(keys) == len(set(keys))
    assert set(keys) == {row.key for row in report.evidence_table}
    by_key = {study.key: study for study in report.studies}
    told = [row for row in report.evidence_table if row.direction != "not assessed"]
    assert len(told) > 20
    assert [row.key for row in told if row.drug not in by_key[row.key].drugs()] == []
