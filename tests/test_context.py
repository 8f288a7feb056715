"""What a run hands to its agents: looking drugs up, reading records and checking them ahead."""

import asyncio
import threading

import pytest
from autogen_agentchat.messages import TextMessage
from builders import QUESTION, record, reply
from recorded import recorded

from willowbark.agents import context
from willowbark.agents.context import MOST_TEXTS, RunContext
from willowbark.agents.findings import Findings, FindingsMessage
from willowbark.teams.config import Settings
from willowbark.teams.run.course import write_partial_report
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import appraise_candidates, read_ahead
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.learned import LearnedReader
from willowbark.tools.reading.reading import Reading
from willowbark.tools.search import SourceReply, Status

POOL = [
    record(str(number), f"{drug} in migraine prophylaxis", f"{drug} reduced migraine attacks more than placebo.")
    for number, drug in enumerate(("Propranolol", "Topiramate", "Amitriptyline and timolol"), 1)
]


class Counting(LearnedReader):
    """The learned reader, with what it was asked for; holds each reading up until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        self.may_go_on.set()

    def read_document(self, page: Document, drug: str, condition: str, key: str = "") -> Reading:
        """Note the drug, and read."""
        self.read.append(drug)
        self.begun.set()
        self.may_go_on.wait(10)
        return super().read_document(page, drug, condition, key)


def test_what_is_read_ahead_by_one_thread_or_several_is_read_once_and_says_the_same() -> None:
    reader, asked = Counting(), parse_question(QUESTION)
    readings = Readings(reader)
    threads = [threading.Thread(target=read_ahead, args=(asked, POOL, readings))]
    threads += [threading.Thread(target=appraise_candidates, args=(asked, POOL, readings)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(reader.read) == ["amitriptyline", "propranolol", "timolol", "topiramate"]
    assert appraise_candidates(asked, POOL, readings) == appraise_candidates(asked, POOL)


async def test_a_run_that_ends_reads_no_further_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "READERS", 1)
    reader = Counting()
    reader.may_go_on.clear()
    run = RunContext(readings=Readings(reader))
    run.asked = parse_question(QUESTION)
    run.read_ahead(POOL)
    await asyncio.to_thread(reader.begun.wait, 10)

    await asyncio.wait_for(run.leave(), 5)
    reader.may_go_on.set()
    await asyncio.get_running_loop().shutdown_default_executor()

    assert reader.read == ["propranolol"]


async def test_the_open_full_texts_that_fit_a_question_best_are_read_with_the_abstracts_a_few_in_a_run() -> None:
    told = "Propranolol prevented migraine attacks."
    papers = [record(f"9999995{at}", "Propranolol in migraine", told, pmcid=f"PMC9999995{at}") for at in range(9)]
    other = record("11111111", "Propranolol in migraine", told)
    async with recorded() as transport:
        run = RunContext(transport)
        [first] = await run.add_full_texts(parse_question(QUESTION), [reply(*papers, other)])
        [again] = await run.add_full_texts(parse_question(QUESTION), [reply(*papers, other)])
    read = [each for each in first.records if not each.metadata.keys().isdisjoint(("full_text", "full_text_unread"))]
    assert len(read) == MOST_TEXTS
    assert [each for each in read if each.metadata.get("full_text")], read
    assert (first.records[-1], again.records) == (other, [*papers, other])
    assert await RunContext().add_full_texts(parse_question(QUESTION), [first]) == [first]


async def test_the_report_of_a_stopped_run_reads_nothing_that_the_run_had_read() -> None:
    reader = Counting()
    readings = Readings(reader)
    reply = SourceReply(source="pubmed", query="q", status=Status.OK, records=POOL)
    said = [
        TextMessage(content=QUESTION, source="user"),
        FindingsMessage(
            content=Findings(specialist="literature", iteration=1, summary="", replies=[reply]), source="literature"
        ),
    ]
    report = await write_partial_report(said, "cancelled", Settings(), "baseline", None, readings)
    read = list(reader.read)
    again = await write_partial_report(said, "cancelled", Settings(), "baseline", None, readings)

    assert (report.stop_reason, set(read)) == ("cancelled", {each.name for each in report.candidates})
    assert reader.read == read
    assert again.candidates == report.candidates
