"""The evidence of an earlier run, asked again: from its ledger, without a network."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from builders import QUESTION, TRIAL, findings, reading, record, reply
from click.testing import Result
from typer.testing import CliRunner

from willowbark.agents.report.forms import record_name
from willowbark.teams import Ledger, ask_within
from willowbark.teams.config import Settings
from willowbark.teams.faces.cli import app
from willowbark.teams.ledger import Journal, Model
from willowbark.teams.run.options import RunOptions
from willowbark.teams.run.research import research
from willowbark.tools.errors import UsageError
from willowbark.tools.reading.reading import QuotedPassage
from willowbark.tools.records.evidence import Citation, Evidence

pytestmark = pytest.mark.whole

ASKED = "What do the records say of topiramate in migraine?"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a question was asked once."""
    folder = tmp_path_factory.mktemp("workspace")
    options = RunOptions(
        question=QUESTION, settings=Settings(), offline=True, depth="quick", max_iterations=1, run_id="first",
        ledger=folder / ".willowbark" / "ledger.db",
    )  # fmt: skip
    asyncio.run(research(options))
    return folder


@pytest.fixture
def _there(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)


@pytest.fixture
def ledger(workspace: Path) -> Iterator[Ledger]:
    with Ledger.existing(workspace / ".willowbark" / "ledger.db") as opened:
        yield opened


def started(ledger: Ledger, run_id: str) -> AbstractContextManager[Journal]:
    model = Model("baseline", "baseline", {})
    return ledger.start(QUESTION, settings={}, model=model, sandboxed=True, run_id=run_id)


def kept(ledger: Ledger, run_id: str, *records: Evidence) -> None:
    """A run that found these records, and was stopped."""
    with started(ledger, run_id) as journal:
        if records:
            journal.keep_turn(findings("literature", reply(*records)), 1)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="willowbark")


async def test_passages_come_with_key_citation_and_link(ledger: Ledger) -> None:
    said = await ask_within(ASKED, "first", ledger, most=5)

    assert len(said.passages) == 5
    assert said.truncated
    assert said.run_question == QUESTION
    text = said.to_markdown()
    for passage in said.passages:
        assert passage.text in text
        assert record_name(passage.key) in text
        assert passage.url in text


async def test_of_a_drug_that_is_named_it_tells_what_was_read(ledger: Ledger) -> None:
    kept(ledger, "read", TRIAL)

    [read] = (await ask_within("Does propranolol prevent migraine attacks?", "read", ledger)).drugs

    assert (read.drug, read.condition, read.supporting) == ("propranolol", "migraine", ["pmid:1"])
    assert read.said.startswith("Propranolol in migraine: 1 supporting record, 0 contradicting, 0 inconclusive; ")
    assert [(each.key, each.says) for each in read.quoted] == [("pmid:1", "supports")]
    assert read.quoted[0].sentence in TRIAL.content


async def test_what_a_language_model_read_in_the_run_counts_for_the_runs_condition_alone(ledger: Ledger) -> None:
    said = record("6", "Timolol in adults with migraine", "Timolol was given to adults with migraine for a year.")
    whole = "Timolol was given to adults with migraine for a year."
    passage = QuotedPassage(text=whole, start=0, end=len(whole))
    told = reading("pmid:6", "timolol", effect="worse", passages=[passage], reader="a model")
    with started(ledger, "told") as journal:
        journal.keep_turn(findings("literature", reply(said), readings=[told]), 1)

    [own, none] = (await ask_within("Does timolol or imatinib work?", "told", ledger)).drugs
    [other] = (await ask_within("Does timolol work in glaucoma?", "told", ledger)).drugs

    assert own.contradicting == ["pmid:6"]
    assert none.said == "Imatinib in migraine: no record of this run mentions it."
    assert (other.condition, other.contradicting) == ("glaucoma", [])


async def test_asked_for_harm_it_tells_what_labels_and_records_say_of_that_and_not_what_helps(ledger: Ledger) -> None:
    label = Evidence(
        content="Timolol: drug label\n\nBoxed warning: Weight gain may be sudden.\n\nWarnings: Take care.",
        citation=Citation(source="openfda", title="Timolol: drug label", url="https://dailymed.nlm.nih.gov/x"),
        metadata={"kind": "label", "drug": "timolol"},
    )
    kept(ledger, "harm", record("8", "Timolol in migraine", "Timolol caused weight gain in 3 of 40."), label)

    said = await ask_within("Does timolol cause weight gain?", "harm", ledger)
    assert said.answer[0] in said.to_markdown()
    assert [line for line in said.answer if "timolol" in line.lower()], said.answer

    assert said.drugs == []
    assert [(each.key, each.drug, each.sentence) for each in said.harms if each.says == "Boxed warning"] == [
        (label.key, "timolol", "Weight gain may be sudden.")
    ]
    assert ("pmid:8", "Timolol caused weight gain in 3 of 40.") in [(each.key, each.sentence) for each in said.harms]
    assert "“Weight gain may be sudden.”" in said.to_markdown()


async def test_within_a_run_a_withdrawal_is_told_as_it_is_in_a_report(ledger: Ledger) -> None:
    kept(ledger, "gone", record("8", "Rofecoxib in migraine", "Rofecoxib was given in migraine."))

    said = await ask_within("Is rofecoxib safe?", "gone", ledger)
    assert (said.harms[0].says, said.harms[0].key) == ("Withdrawn", "")
    assert "- Rofecoxib, withdrawn: worldwide, 2004: heart attack and stroke" in said.to_markdown()


async def test_a_follow_up_keeps_what_the_people_take_and_says_which_drug_is_not_for_them(ledger: Ledger) -> None:
    study = record("9", "Ibuprofen in pain: a trial", "Ibuprofen relieved pain in 400 people compared with placebo.")
    question = "Which drugs treat pain in patients on warfarin?"
    model = Model("baseline", "baseline", {})
    with ledger.start(question, settings={}, model=model, sandboxed=True, run_id="takers") as journal:
        journal.keep_turn(findings("literature", reply(study)), 1)

    said = await ask_within("What about ibuprofen?", "takers", ledger)
    other = await ask_within("What about acetaminophen?", "takers", ledger)

    assert said.further == "Does ibuprofen help in pain in people taking warfarin?"
    assert [drug.drug for drug in said.drugs] == ["ibuprofen"]
    assert "- Not for people taking warfarin: avoid: " in said.to_markdown()
    [unread] = other.drugs
    assert unread.cautions == ["Not checked for people taking warfarin: no label of it is among the records"]


async def test_what_the_run_found_retracted_speaks_for_nothing(ledger: Ledger) -> None:
    kept(ledger, "retracted", record(
        "5", "Timolol in migraine prevention: a randomised trial", "Timolol reduced migraine attacks (p<0.001).",
        retracted=True, publication_types=["Randomized Controlled Trial"],
    ))  # fmt: skip

    said = await ask_within("Does timolol prevent migraine?", "retracted", ledger)

    assert said.drugs[0].supporting == []
    assert "RETRACTED" in said.to_markdown()


@pytest.mark.parametrize(
    ("question", "run", "problem"),
    [
        (ASKED, "nobody", "there is no run 'nobody'"),
        ("  ", "first", "the question is empty"),
        (ASKED, "empty", "run empty holds no records"),
        ("what is it?", "first", "names nothing to look for"),
    ],
)
async def test_what_cannot_be_asked_is_one_line(ledger: Ledger, question: str, run: str, problem: str) -> None:
    if run == "empty":
        kept(ledger, "empty")
    with pytest.raises(UsageError, match=problem) as caught:
        await ask_within(question, run, ledger)
    if run == "empty":
        ledger.forget("empty")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("_there")
def test_the_command_line_prints_it_and_json_of_it() -> None:
    shown = invoke("ask", "--in", "first", ASKED)
    told = json.loads(invoke("ask", "--in", "first", ASKED, "--json", "--max-results", "2").stdout)

    assert shown.exit_code == 0, shown.output
    assert "**Topiramate in migraine: " in shown.stdout
    assert (told["run_id"], len(told["passages"]), told["truncated"]) == ("first", 2, True)
    assert told["drugs"][0]["drug"] == "topiramate"
