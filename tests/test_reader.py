"""What a language model reads in publications: looked up, derived by the one table, told where it does not stand."""

import asyncio
import hashlib
import json
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.models import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    RequestUsage,
)
from builders import QUESTION, arm_draft, comparison_draft, record, reply, scripted, study_draft, verdict

from willowbark.agents.asking import PROMPTS_VERSION, read_prompt
from willowbark.agents.asking.drafts import StudyDraft
from willowbark.agents.asking.reader import BATCH, ReadingResults, prepare_reading, read
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.findings import Findings
from willowbark.agents.specialist import CondensedContext
from willowbark.tools.appraisal.appraised import AppraisedRecord, Readings
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.appraisal.views import Fitting, make_readings, match_by_model
from willowbark.tools.questions import Question, parse_question
from willowbark.tools.records.enclosure import condense, new_marker
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.sources.studies.clinicaltrials import parse_study
from willowbark.tools.toolbox import ToolReply

RESULT = "Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001)."
AIM = "The aim was to compare propranolol with placebo in migraine."
TRIAL = record("11111111", "Propranolol in migraine prevention: a trial", f"{AIM} {RESULT}")
TIMOLOL = record("22222222", "Timolol in migraine prevention", RESULT.replace("Propranolol", "Timolol"))
ASKED = parse_question(QUESTION)
USAGE = RequestUsage(prompt_tokens=5, completion_tokens=2)
CUT = CreateResult(finish_reason="length", content='{"studies": [', usage=USAGE, cached=False)


def drafted(quote: str = RESULT, study: dict[str, Any] | None = None, **changes: Any) -> StudyDraft:
    """A study of one comparison, whose fields and whose study's can be changed."""
    return StudyDraft.model_validate(study_draft(comparison_draft(quote, **changes), **(study or {})))


def answered(*drafts: StudyDraft) -> str:
    return json.dumps({"studies": [draft.model_dump() for draft in drafts]})


def taken(draft: StudyDraft, shown: Evidence = TRIAL, asked: Question = ASKED) -> ReadingResults:
    """What stands of a model's study of a record."""
    found = ReadingResults()
    given = prepare_reading([shown], asked)
    found.note_left_out(draft for draft, _ in found.take([draft], given, "1"))
    return found


def appraised(shown: Evidence, found: ReadingResults | None = None, asked: Question = ASKED) -> list[AppraisedRecord]:
    """What is held of a record for each drug."""
    readings = Readings(given=found.readings, studies=found.studies) if found else Readings()
    return [record for candidate in appraise_candidates(asked, [shown], readings) for record in candidate.records]


def refitted(found: ReadingResults, shown: Evidence, condition: Fitting) -> ReadingResults:
    """The same after a model has told whether the study is on the condition."""
    [by_words] = found.studies
    read = match_by_model(by_words, condition, "yes")
    again = ReadingResults()
    again._studies[shown.key] = read
    again._views[shown.key] = make_readings(read, f"{shown.citation.title}\n{shown.content}")
    return again


async def of(client: Any, *records: Evidence) -> ReadingResults:
    return await read(client, QUESTION, prepare_reading(records, ASKED), new_marker(), CancellationToken())


def test_a_model_is_shown_the_whole_abstract_and_asked_about_its_drugs() -> None:
    named = "Timolol, atenolol and nadolol were once thought of as background treatment. "
    review = record("22222222", "Drugs for migraine: a review", f"{named}{'Nothing is said here. ' * 40}{RESULT}")
    (given,) = prepare_reading([review], ASKED)
    assert given.line["drugs"] == list(given.drugs) == ["timolol", "atenolol", "nadolol", "propranolol"]
    assert given.line["text"].startswith(f"[1] {named}")
    assert given.line["text"].endswith(f"[42] {RESULT}")
    assert given.line["text"].count("Nothing is said here.") == 40


def test_in_economy_a_model_is_shown_results_and_conclusions_with_the_gaps_marked() -> None:
    ends = "CONCLUSIONS: Propranolol helps."
    text = f"RESULTS: {RESULT} METHODS: Patients were randomised. {ends}"
    (whole,), (short,) = (
        prepare_reading([record("2", "A trial", text)], ASKED, in_short=each) for each in (False, True)
    )
    assert whole.line["text"] == f"[1] RESULTS: {RESULT} [2] METHODS: Patients were randomised. [3] {ends}"
    assert short.line["text"] == f"[1] RESULTS: {RESULT} … [3] {ends}"
    assert short.fingerprint == whole.fingerprint
    bare = prepare_reading([record("2", AIM, "The aim was to study propranolol in migraine.")], ASKED, in_short=True)[0]
    assert bare.line["text"]


async def test_records_go_in_batches_and_are_told_apart_by_their_keys() -> None:
    records = [record(f"{at:08}", f"Propranolol in migraine {at}", RESULT) for at in range(10_000_000, 10_000_030)]
    client = scripted(*[answered()] * 3)
    found = await of(client, *records)
    prompts = [call["messages"][-1].content for call in client.create_calls]
    assert [sum(prompt.count(f'"{each.key}"') for prompt in prompts) for each in records] == [1] * 30
    assert max(prompt.count('"key"') for prompt in prompts) <= BATCH
    assert len(found.done) == 30
    long = [record(str(at), f"Propranolol {at}", f"{RESULT} {'Nothing more. ' * 1_400}") for at in range(4)]
    client = scripted(*[answered()] * 4)
    await of(client, *long)
    assert len(client.create_calls) == 2, "what is long goes in smaller batches"


async def test_what_does_not_stand_is_told_and_never_dropped_in_silence() -> None:
    foreign = drafted(study={"evidence_key": "pmid:9"})
    unnamed = drafted(study={"evidence_key": TIMOLOL.key, "background": ["zorbamycin"]})
    found = await of(scripted(answered(drafted(), drafted(favours="versus"), foreign, unnamed)), TRIAL, TIMOLOL)
    assert [(reading.key, reading.verdict) for reading in found.readings] == [("pmid:11111111", "supports")]
    notes = " ".join(found.notes)
    assert "names a record that was not shown): pmid:9" in notes
    assert "names a drug that its record does not name (zorbamycin)): pmid:22222222" in notes
    assert "read twice" in notes
    failed = await of(scripted(), TRIAL)
    assert failed.done == set()
    assert failed.notes == ["1 record not read by the model: the model did not answer (ValueError)"]


async def test_what_is_not_read_in_time_is_counted_and_a_stop_goes_on_to_whoever_asked() -> None:
    class Silent(BaselineChatCompletionClient):
        async def create(self, *_: Any, **__: Any) -> Any:
            return await asyncio.Event().wait()

    records, token = prepare_reading([TRIAL, TIMOLOL], ASKED), CancellationToken()
    found = await read(Silent(), QUESTION, records, new_marker(), token, timeout_s=0.05)
    assert found.notes == ["2 records not read by the model: its time was up"]
    asyncio.get_running_loop().call_later(0.05, token.cancel)
    with pytest.raises(asyncio.CancelledError):
        await read(Silent(), QUESTION, records, new_marker(), token)


async def test_a_comparison_that_does_not_stand_is_sent_back_once_with_the_reason() -> None:
    client = scripted(answered(drafted("Propranolol cured all of them.")), answered(drafted()))
    found = await of(client, TRIAL, TIMOLOL)
    asked_again = client.create_calls[1]["messages"][-1].content
    assert "quotes a passage that is not in its record" in asked_again
    assert RESULT in asked_again
    assert TIMOLOL.key not in asked_again, "records whose studies stand are not sent again"
    assert [reading.verdict for reading in found.readings] == ["supports"]
    assert (found.refused, found.usage.completion_tokens > 0) == ({}, True)


async def test_an_answer_that_was_cut_off_is_asked_for_again_in_halves_unless_it_is_mended() -> None:
    for answers, calls in (([CUT, CUT, answered(drafted()), answered()], 4), ([CUT, answered(drafted())], 2)):
        client = scripted(*answers)
        found = await of(client, TRIAL, TIMOLOL)
        assert [reading.drug for reading in found.readings] == ["propranolol"]
        assert (found.notes, len(client.create_calls)) == ([], calls)
        assert found.usage.prompt_tokens > USAGE.prompt_tokens
    alone = await of(scripted(CUT, CUT), TRIAL)
    assert "cut off at the limit" in alone.notes[0], "one record is not halved"


FELL = "Attacks fell with propranolol compared with placebo (OR 0.62; 95% CI 0.45 to 0.85)."
ROW = "Week 12; Propranolol: 2.1; Placebo: 3.4; p: 0.01"


def with_table(text: str, abstract: str = FELL) -> Evidence:
    section = {"kind": "table", "title": "Table 2", "text": text}
    full_text = {"source": "europepmc", "pmcid": "PMC1", "licence": "CC BY", "sections": [section]}
    return record("11111111", "Propranolol in migraine: a trial", abstract, pmcid="PMC1", full_text=full_text)


WITH_TABLE = with_table(f"Attacks a month\n{ROW}")


async def test_a_model_reads_the_tables_of_a_full_text_and_may_quote_their_rows() -> None:
    client = scripted(answered(drafted(ROW)))
    found = await of(client, WITH_TABLE)
    assert ROW in client.create_calls[0]["messages"][-1].content
    [reading] = found.readings
    assert [(each.text, each.section) for each in reading.passages] == [(ROW, "Table 2")]
    assert appraised(WITH_TABLE, found)[0].sentence == ROW
    [long] = prepare_reading(
        [with_table("\n".join(f"Week {at}; Propranolol: 2.1; p: 0.01" for at in range(900)))], ASKED
    )
    assert len(long.line["tables"][0]) < 2_100


def test_the_models_study_counts_and_the_second_reader_is_shown_beside_it() -> None:
    [held] = appraised(TRIAL, taken(drafted(study={"randomised": 500}, favours="neither", significant="no")))
    assert (held.study.reader, held.stance.says) == ("model", "missed")
    assert (held.item.direction, held.item.second_reader) == ("inconclusive", "supports")
    assert held.item.sample_size == 500
    assert held.study.design == held.item.design


def test_a_drug_that_a_models_study_leaves_out_is_mentioned_whatever_the_trained_reader_says() -> None:
    shown = record(
        "11111111", "Propranolol and timolol in migraine", f"{RESULT} {RESULT.replace('Prop', 'Timolol, prop')}"
    )
    by_drug = {held.reading.drug: held for held in appraised(shown, taken(drafted(), shown))}
    assert (by_drug["propranolol"].stance.says, by_drug["timolol"].reading.role) == ("supports", "mentioned")
    assert by_drug["timolol"].item.direction == "not assessed"


ENDED = "After a planned interim look the trial ended early for futility."
SUMMARY = f"Topiramate or placebo to prevent migraine in children at school. {ENDED}"
STOPPED = parse_study(
    {
        "protocolSection": {
            "identificationModule": {
                "nctId": "NCT01581281",
                "briefTitle": "Topiramate to prevent migraine in children",
            },
            "statusModule": {"overallStatus": "TERMINATED", "whyStopped": "Interim data answered the question"},
            "descriptionModule": {"briefSummary": SUMMARY},
            "conditionsModule": {"conditions": ["Migraine"]},
            "armsInterventionsModule": {"interventions": [{"type": "DRUG", "name": "Topiramate"}]},
        }
    }
)


def test_a_trial_that_stopped_or_posted_results_is_read_by_a_model_and_its_study_counts() -> None:
    assert STOPPED is not None
    arms = [arm_draft("topiramate"), arm_draft("placebo")]
    draft = drafted(
        ENDED,
        {"evidence_key": STOPPED.key, "arms": arms},
        arm="topiramate",
        favours="neither",
        significant="no",
        primary="yes",
    )
    found = taken(draft, STOPPED)
    assert found.readings[0].passages[0].section == "Registry entry"
    [by_rule], [by_model] = appraised(STOPPED), appraised(STOPPED, found)
    assert (str(by_rule.item.direction), str(by_model.item.direction)) == ("not assessed", "contradicts")
    assert by_model.sentence == ENDED
    assert not prepare_reading([STOPPED.noting(why_stopped=None)], ASKED)


def test_a_model_says_whether_a_record_is_on_the_condition() -> None:
    asked = parse_question("Which drugs might treat urinary incontinence?")
    leak = "Propranolol reduced leaks compared with placebo in 500 women (p<0.001)."
    about = record("11111111", "Propranolol for leaks on coughing: a trial", leak)
    by_words = taken(drafted(leak), about, asked)
    on_topic, off_topic = (refitted(by_words, about, fit) for fit in ("yes", "no"))
    assert on_topic.readings[0].condition == "urinary incontinence"
    assert appraised(about, asked=asked) == []
    [held] = appraised(about, on_topic, asked=asked)
    assert held.item.is_direct
    assert appraised(about, off_topic, asked=asked) == []


def test_a_study_stays_with_its_record_under_another_name_but_not_without_its_sentence() -> None:
    copy = TRIAL.model_copy(update={"metadata": {"doi": "10.1234/x", "has_abstract": True}})
    united = TRIAL.model_copy(update={"metadata": {"pmid": "11111111", "doi": "10.1234/x", "has_abstract": True}})
    changed = record("11111111", TRIAL.citation.title, "Propranolol did not reduce migraine attacks in 500 patients.")
    named = {"evidence_key": copy.key}
    for read_in, now, reader, said in (
        (copy, united, "model", ["model", "learned"]),
        (TRIAL, changed, "small_reader", ["learned"]),
    ):
        draft = drafted(study=named if read_in is copy else None)
        [held] = appraised(now, taken(draft, read_in))
        assert (held.study.reader, [reading.reader for reading in held.readings]) == (reader, said)


def test_readings_recorded_before_there_were_studies_count_as_they_did() -> None:
    old = taken(drafted()).readings
    [candidate] = appraise_candidates(ASKED, [TRIAL], Readings(given=old))
    [held] = candidate.records
    assert (held.reading.reader, held.stance.says, held.study.not_read != ()) == ("model", "supports", True)
    message = Findings.model_validate({"specialist": "literature", "iteration": 1, "summary": "", "readings": old})
    assert (message.readings, message.studies) == (old, [])


async def test_a_models_memory_holds_counts_and_titles_and_what_others_said_last() -> None:
    block = ToolReply(replies=[reply(TRIAL)]).as_text(new_marker())
    condensed = condense(block, set())
    assert RESULT not in condensed
    assert condense(condensed, set()) == condensed
    context = CondensedContext()
    result = FunctionExecutionResult(content=block, name="search_pubmed", call_id="1", is_error=False)
    for message in (verdict(iteration=1, gaps=["early"]), verdict(iteration=2, gaps=["late"])):
        await context.add_message(message.to_model_message())
        await context.add_message(scripted_answer())
        await context.add_message(FunctionExecutionResultMessage(content=[result]))
    said = str(await context.get_messages())
    await context.add_message(verdict(iteration=3).to_model_message())
    assert RESULT not in str(await context.get_messages()), "excerpts are those of the present turn"
    assert "late" in said
    assert "early" not in said
    assert said.count('"read": 1') == 2
    assert said.count("pmid:11111111") == 1, "a title that was shown is not shown again"
    assert RESULT not in str(await context.save_state())


def scripted_answer() -> Any:
    return AssistantMessage(content="searched", source="literature")


def test_a_prompt_is_not_changed_without_its_version() -> None:
    """Where this fails, raise `PROMPTS_VERSION` in `asking` and note the new hash here."""
    files = ("checker", "claims", "fit", "judge", "literature", "mechanism", "reader", "report", "trials")
    told = "\n".join(read_prompt(f"{file}.md") for file in files)
    assert (PROMPTS_VERSION, hashlib.sha256(told.encode()).hexdigest()[:8]) == ("2026.12.09", "26445e18")
