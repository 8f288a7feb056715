"""Whole runs on the recorded answers of a strong model: what a changed prompt breaks shows here."""

from dataclasses import replace

import pytest
from autogen_core.models import SystemMessage, UserMessage
from benchmarks.recorded import (
    FOLDER,
    Answered,
    RecordedClient,
    describe_changes,
    find_collection,
    list_disagreements,
    place_quotes,
    read_recorded,
    replay_recorded,
    restore_quotes,
)

from willowbark.agents.asking.drafts import JudgeDraft

pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore:Resolved model mismatch")]
NAMES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


@pytest.mark.parametrize(("name", "leading", "agrees"), [("kidney", "finerenone", 18), ("migraine", "erenumab", 31)])
async def test_the_whole_team_takes_what_a_strong_model_says(name: str, leading: str, agrees: int) -> None:
    client, report = await replay_recorded(name)
    assert not describe_changes(client), describe_changes(client)
    assert report.analyst == "a strong model, recorded"
    assert not report.model_failed
    kinds = {each.kind.partition(" ")[0] for each in client.used}
    kinds -= {"FitsDraft", "MendedDraft", "reflection"}
    assert kinds == {"searches", "StudiesDraft", "JudgeDraft", "WrittenDraft", "CheckDraft"}
    assert report.written is not None
    assert report.written.unchecked == 0
    assert len(report.written.dropped) <= 0.03 * report.written.made
    assert report.executive_summary.startswith(report.written.answer[0].text)
    assert report.drug_candidates[0] == leading
    assert report.search_iterations == 2
    assert [reason for reason in report.judged if f"At the end: {reason}" not in report.to_appendix()] == []
    assert report.tokens_used > 10_000
    told, compared = list_disagreements(name, report)
    assert compared - len(told) >= agrees, told
    assert not [line for line in told if ": failed" in line and line.endswith(" for")]


@pytest.mark.parametrize(
    ("name", "agrees", "says"), [("attention", 14, "Harm is reported of"), ("nausea", 24, "did worse")]
)
async def test_both_parts_of_a_question_on_unseen_records_are_answered(name: str, agrees: int, says: str) -> None:
    try:
        where = find_collection(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    client, report = await replay_recorded(name, where)
    assert not describe_changes(client), describe_changes(client)
    told, compared = list_disagreements(name, report)
    assert compared - len(told) >= agrees, told
    assert says in report.to_markdown().partition("## What was asked")[0]


def test_what_is_quoted_is_kept_by_its_place_in_a_record() -> None:
    texts = {"pmid:1": "Title. " + "Attacks fell with propranolol and not with placebo. " * 2}
    sentence = "Attacks fell with propranolol and not with placebo."
    answer = {
        "studies": [{"evidence_key": "pmid:1", "quote": sentence, "values": [{"value": "80 mg", "quote": sentence}]}]
    }

    kept = place_quotes(answer, texts)
    assert sentence not in str(kept)
    assert restore_quotes(kept, texts) == answer
    with pytest.raises(ValueError, match="substring not found"):
        place_quotes({"evidence_key": "pmid:1", "quote": "Attacks rose with propranolol, and they rose."}, texts)


def test_every_recorded_question_is_replayed() -> None:
    assert NAMES == ["attention", "kidney", "migraine", "nausea"]
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 450_000


def test_why_a_judge_strikes_a_record_is_kept_in_its_words() -> None:
    texts = {"pmid:1": "Title. " + "Attacks fell with propranolol and not with placebo. " * 2}
    reason = "The sentence tells of propranolol in passing, and the trial did not test it."
    answer = {"strikes": [{"evidence_key": "pmid:1", "drug": "propranolol", "reason": reason}], "misread": []}

    assert place_quotes(answer, texts) == answer
    assert restore_quotes(place_quotes(answer, texts), texts) == answer


async def test_a_changed_prompt_is_named_with_what_changed_in_it() -> None:
    asked = [SystemMessage(content="Judge."), UserMessage(content="Round: 1", source="judge")]
    client = RecordedClient([])
    with pytest.raises(LookupError, match=r"^not answered before: JudgeDraft about round 1$"):
        await client.create(asked, json_output=JudgeDraft)
    (prompt,) = client.unknown
    before = replace(prompt, prompt="another", instructions="others", answer={})

    client = RecordedClient([before])
    assert (await client.create(asked, json_output=JudgeDraft)).content == "{}"
    assert describe_changes(client).startswith("JudgeDraft: its instructions changed\n")

    client = RecordedClient([replace(prompt, prompt="another", form="other", answer={})])
    await client.create(asked, json_output=JudgeDraft)
    assert describe_changes(client).startswith("JudgeDraft: its schema changed\n")


async def test_other_words_on_the_same_records_break_nothing() -> None:
    asked = [SystemMessage(content="Judge."), UserMessage(content="Round: 1", source="judge")]
    client = RecordedClient([])
    with pytest.raises(LookupError):
        await client.create(asked, json_output=JudgeDraft)
    client = RecordedClient([replace(client.unknown[0], prompt="another", answer={})])
    await client.create(asked, json_output=JudgeDraft)
    assert not describe_changes(client)


def test_what_is_recorded_holds_hashes_of_prompts_and_no_prompt() -> None:
    for name in NAMES:
        head, answered = read_recorded(name)
        assert head["question"].endswith("?")
        assert [
            each for each in answered if not (isinstance(each, Answered) and len(each.prompt) == 16 and each.answer)
        ] == []
