"""A drug that is not for the people whom a question names, or that was withdrawn, never leads, whoever asks and how."""

from typing import Any

import pytest
from autogen_core import CancellationToken
from builders import ScriptedReader, asked, evidence, findings, reading, record, reply, verdict

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.reporter import ReportAgent
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.appraisal.suitability import find_withdrawals, list_bars, list_people
from willowbark.tools.questions import parse_question
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import kind_of

SAYS = "In this randomised, double-blind trial {drug} was better than placebo in 400 people with {condition}."


def trial(pmid: str, drug: str, condition: str, **more: Any) -> Evidence:
    kinds = {"publication_types": ["Randomized Controlled Trial"], **more}
    return record(pmid, f"{drug.capitalize()} in {condition}", SAYS.format(drug=drug, condition=condition), **kinds)


def label(drug: str, contraindications: str = "", boxed: str = "") -> Evidence:
    parts = {"Contraindications": contraindications, "Boxed warning": boxed}
    text = "\n\n".join([drug, *(f"{heading}: {told}" for heading, told in parts.items() if told)])
    return evidence(text, source="openfda", title=drug, kind="label", drug=drug)


def candidates(question: str, *pool: Evidence) -> dict[str, Candidate]:
    found = appraise_candidates(parse_question(question), list(pool), Readings(ScriptedReader(effect="better")))
    return {each.drug: each for each in found}


@pytest.mark.parametrize(
    ("question", "condition", "barred", "free"),
    [
        ("Which drugs treat hypertension in pregnancy?", "hypertension in pregnancy", "lisinopril", "labetalol"),
        ("Which drugs treat pain in children?", "pain in children", "codeine", "acetaminophen"),
        ("Which drugs treat pain in breastfeeding women?", "pain in breastfeeding women", "tramadol", "acetaminophen"),
        ("Which drugs treat insomnia in the elderly?", "insomnia in elderly people", "zolpidem", "melatonin"),
        ("Which drugs treat diabetes in renal failure?", "diabetes in renal failure", "metformin", "linagliptin"),
        (
            "Which drugs treat diabetes in people with end-stage renal disease?",
            "diabetes in end-stage renal disease",
            "metformin",
            "linagliptin",
        ),
        ("Which drugs treat pain in patients on warfarin?", "pain", "ibuprofen", "acetaminophen"),
    ],
)
def test_a_drug_that_the_table_keeps_from_the_people_asked_about_never_leads(
    question: str, condition: str, barred: str, free: str
) -> None:
    found = candidates(question, trial("1", barred, condition), trial("2", free, condition))

    assert [name for name, each in found.items() if each.does_not_lead] == [barred]
    assert list(found) == [free, barred]
    assert "Not for " in "\n".join(found[barred].cautions)


def test_a_label_that_forbids_it_to_these_people_keeps_a_drug_from_leading() -> None:
    told = label("Labetalol", "It is contraindicated in patients with severe renal impairment.")
    question = "Which drugs treat hypertension in renal failure?"
    found = candidates(question, trial("1", "labetalol", "hypertension in renal failure"), told)

    assert found["labetalol"].does_not_lead
    assert found["labetalol"].cautions[0].startswith("Not for renal failure: contraindications: “It is contraindicated")


def test_a_label_that_names_others_alone_bars_nothing_and_a_missing_one_is_told() -> None:
    question = parse_question("Which drugs treat hypertension in pregnancy?")
    told = label("Labetalol", "It is contraindicated in patients with asthma.")

    assert list_bars("labetalol", question, [told]) == ()
    assert list_bars("labetalol", question, []) == ("Not checked for pregnancy: no label of it is among the records",)


def test_a_question_that_names_nobody_bars_no_drug() -> None:
    question = parse_question("Which drugs treat hypertension?")

    assert list_people(question) == ()
    assert list_bars("lisinopril", question, [label("Lisinopril", boxed="Fetal toxicity in pregnancy.")]) == ()


def test_a_drug_that_people_take_is_not_the_one_asked_about() -> None:
    question = parse_question("Which drugs treat pain in patients on warfarin?")

    assert (question.drugs, question.taking, question.conditions) == ((), ("warfarin",), ("pain",))
    assert "warfarin" not in candidates(question.text, trial("1", "warfarin", "pain"))
    assert parse_question("Is ibuprofen safe in people on warfarin?").drugs == ("ibuprofen", "warfarin")


async def test_the_first_screen_says_for_whom_a_drug_is_not_and_leads_with_another() -> None:
    records = [trial("1", "lisinopril", "hypertension in pregnancy"), trial("2", "labetalol", "hypertension")]
    told = [
        reading(each.key, drug, effect="better", condition="hypertension", reader="model")
        for each, drug in zip(records, ("lisinopril", "labetalol"), strict=True)
    ]
    found = findings("literature", reply(*records), readings=told)
    agent = ReportAgent("report", BaselineChatCompletionClient())
    thread = [asked("Which drugs treat hypertension in pregnancy?"), found, verdict("synthesize")]
    response = await agent.on_messages(thread, CancellationToken())
    assert isinstance(response.chat_message, ReportMessage)
    report = response.chat_message.content
    first = report.summary_parts[0].text

    assert first.index("abetalol") < first.index("lisinopril")
    assert "Not for the people asked about (pregnancy), and so no candidates: lisinopril" in first
    assert [part.label for part in report.summary_parts if part.label.startswith("Lisinopril")] == []


async def report_on(
    question: str, *records: Evidence, reader: str = "model", condition: str = "migraine"
) -> ResearchReport:
    """The report on trials in which each drug was better than placebo."""
    trials = [each for each in records if kind_of(each) == "publication" and "review" not in each.citation.title]
    told = []
    for each in trials:
        drug = each.citation.title.partition(" ")[0].lower()
        told.append(reading(each.key, drug, reader=reader, condition=condition, effect="better"))
    agent = ReportAgent("report", BaselineChatCompletionClient())
    thread = [asked(question), findings("literature", reply(*records), readings=told), verdict("synthesize")]
    response = await agent.on_messages(thread, CancellationToken())
    assert isinstance(response.chat_message, ReportMessage)
    return response.chat_message.content


def line_of(report: ResearchReport, part: str) -> str:
    return next((each.text for each in report.summary_parts if each.label == part), "")


@pytest.mark.parametrize("reader", ["model", "small_reader"])
async def test_the_first_screen_names_each_drug_that_was_not_checked_for_the_people_asked_about(reader: str) -> None:
    question = "Which drugs prevent migraine in pregnancy?"
    trials = [trial(str(at), drug, "migraine") for at, drug in enumerate(("timolol", "nadolol", "topiramate"), 1)]
    none = await report_on(question, *trials, reader=reader)
    one = await report_on(question, *trials, label("Timolol", "Asthma."), reader=reader)

    assert line_of(none, "Not checked") == "for pregnancy: nadolol and timolol; no label was read."
    assert line_of(one, "Not checked") == "for pregnancy: nadolol; no label was read."
    assert "Not checked: for pregnancy: nadolol" in one.executive_summary
    assert "not checked" not in line_of(one, "Cautions")
    nobody = await report_on("Which drugs prevent migraine?", *trials, reader=reader)
    assert line_of(nobody, "Not checked") == ""


async def test_of_two_drugs_compared_the_first_screen_says_which_is_not_for_the_people() -> None:
    trials = [trial("1", "timolol", "migraine"), trial("2", "topiramate", "migraine")]
    report = await report_on("Is timolol better than topiramate for migraine in pregnancy?", *trials)

    assert "not for pregnancy: topiramate" in line_of(report, "Cautions")
    assert line_of(report, "Not checked") == "for pregnancy: timolol; no label was read."


@pytest.mark.parametrize(
    ("sentence", "drugs"),
    [
        ("Terodiline was withdrawn from the market because of arrhythmia.", ["terodiline"]),
        ("Tolterodine has been taken off the Danish market.", ["tolterodine"]),
        ("After withdrawal of tolterodine from several markets, use of it fell.", ["tolterodine"]),
        ("Tolterodine was not withdrawn from the market.", []),
        ("Terodiline and tolterodine were withdrawn from the market.", []),
        ("People were withdrawn from tolterodine before the trial.", []),
    ],
)
def test_a_withdrawal_that_a_study_tells_of_one_drug_is_known(sentence: str, drugs: list[str]) -> None:
    assert list(find_withdrawals([record("1", "A review", sentence)])) == drugs


def test_a_withdrawn_drug_never_leads_whether_the_table_or_a_study_tells_it() -> None:
    condition = "urinary incontinence"
    review = record("9", "Incontinence: a review", "Flavoxate was withdrawn from the market in 2010.")
    pool = [trial(str(at), drug, condition) for at, drug in enumerate(("terodiline", "flavoxate", "tolterodine"), 1)]
    found = candidates("Which drugs treat urinary incontinence?", *pool, review)

    assert {name for name, each in found.items() if each.does_not_lead} == {"terodiline", "flavoxate"}
    assert found["terodiline"].cautions[0].startswith("Withdrawn: worldwide, 1991: arrhythmia")
    assert found["flavoxate"].cautions[0] == "Withdrawn: “Flavoxate was withdrawn from the market in 2010.” (pmid:9)"


def test_what_is_to_help_two_conditions_leads_only_where_studies_support_it_in_each() -> None:
    question = "Which drugs help both depression and chronic pain?"
    both = [trial("1", "duloxetine", "depression"), trial("2", "duloxetine", "chronic pain")]
    found = candidates(question, *both, trial("3", "sertraline", "depression"))

    assert list(found) == ["duloxetine", "sertraline"]
    assert not found["duloxetine"].does_not_lead
    assert found["sertraline"].does_not_lead
    assert "Not for both: no study here supports it in chronic pain" in found["sertraline"].cautions
    either = candidates(question.replace("both ", "").replace("and", "or"), trial("3", "sertraline", "depression"))
    assert not either["sertraline"].does_not_lead


GONE = record("9", "Drugs for incontinence: a review", "Flavoxate was withdrawn from the market in 2010.")


@pytest.mark.parametrize("reader", ["model", "small_reader"])
@pytest.mark.parametrize(
    ("question", "has_trial"),
    [
        ("Which drugs treat urinary incontinence?", True),
        ("Does flavoxate help in urinary incontinence?", True),
        ("Does flavoxate help in urinary incontinence?", False),
        ("Is flavoxate better than tolterodine for urinary incontinence?", True),
        ("Is flavoxate better than tolterodine for urinary incontinence?", False),
        ("Is flavoxate safe?", False),
    ],
)
async def test_a_withdrawal_that_a_review_tells_stands_on_the_first_screen(
    question: str, has_trial: bool, reader: str
) -> None:
    condition = "urinary incontinence"
    trials = [trial("1", "flavoxate", condition)] * has_trial
    records = [*trials, trial("2", "tolterodine", condition), GONE]
    report = await report_on(question, *records, reader=reader, condition=condition)
    screen = " ".join(part.line for part in report.summary_parts)
    told = [sentence for sentence in screen.split(". ") if "withdrawn" in sentence.lower()]

    assert [sentence for sentence in told if "flavoxate" in sentence.lower()], screen
