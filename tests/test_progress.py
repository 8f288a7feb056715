"""Reading goes on while it pays and the depth allows it, and its end is told as it was."""

from typing import Any

import pytest
from builders import QUESTION, findings, record, reply, scripted
from test_judge import TRIAL, asked, judged, proposal

from willowbark.agents.asking.claims import Verdicts
from willowbark.agents.assessment import SETTLED_AFTER, JudgeAssessment, Progress, progress
from willowbark.agents.context import RunContext
from willowbark.agents.findings import Dossier
from willowbark.agents.judge import JudgeAgent, JudgeLimits
from willowbark.agents.report.material import Material
from willowbark.agents.report.texts import write_line
from willowbark.tools.search import SourceReply, Status


def search(query: str = "q", source: str = "pubmed", read: int = 50, hits: int = 770) -> SourceReply:
    return SourceReply(source=source, query=query, status=Status.OK, records=[TRIAL] * read, total=hits)


def test_hits_are_those_of_the_widest_search_of_each_kind() -> None:
    searches = [
        search(),
        search("drugs", hits=90),
        search(source="europepmc", hits=800),
        search(source="clinicaltrials"),
    ]
    found = progress(searches, [TRIAL], 300)
    assert (found.read, found.hits, found.unread) == (1, 1570, ["q", "drugs"])


def test_a_query_is_unread_until_its_pages_are_as_many_as_its_hits_or_one_is_empty() -> None:
    assert progress([search(hits=100), search(hits=0)], [], 300).unread == []
    assert progress([search(hits=101), search(hits=0)], [], 300).unread == ["q"]
    assert progress([search(hits=101), search(read=0)], [], 300).unread == []


@pytest.mark.parametrize(
    ("changes", "goes_on"),
    [
        ({}, True),
        ({"unread": []}, False),
        ({"read": 300}, False),
        ({"unchanged": SETTLED_AFTER - 1}, True),
        ({"unchanged": SETTLED_AFTER}, False),
    ],
    ids=["unread hits", "all read", "as deep as asked", "not settled", "settled"],
)
def test_reading_goes_on_while_it_pays_and_the_depth_allows_it(changes: dict[str, Any], goes_on: bool) -> None:
    assert Progress(**{"read": 200, "hits": 770, "unread": ["q"], **changes}).goes_on is goes_on


def page(number: int, *pmids: str) -> Any:
    found = [record(pmid, f"Migraine, a comment {pmid}", "Nothing was tested.") for pmid in pmids]
    one = reply(TRIAL, *found, asked="migraine drugs").model_copy(update={"total": 770})
    return findings("literature", one, iteration=number)


OTHERS = (findings("mechanism"), findings("trials"))


async def test_however_sure_a_model_is_further_hits_are_read_first() -> None:
    verdict = await judged(asked(), page(1), *OTHERS, answer=proposal(gaps=[]))
    assert (verdict.sufficient, verdict.recommendation) == (False, "continue")
    assert (verdict.next_search_queries, verdict.next_specialists) == (["migraine drugs"], ["literature", "trials"])


async def test_at_the_depth_asked_for_nobody_is_asked_to_read_on_but_mechanisms_are() -> None:
    gaps = [{"missing": "a second trial", "drugs": []}]
    wish = proposal(confidence=0.1, next_searches=searches("literature", "mechanism"), gaps=gaps)
    verdict = await judged(asked(), page(1), *OTHERS, answer=wish, max_records=1)
    assert (verdict.recommendation, verdict.next_specialists) == ("continue", ["mechanism"])
    done = proposal(confidence=0.1, next_searches=searches("trials"))
    ended = await judged(asked(), page(1), *OTHERS, answer=done, max_records=1)
    assert ended.stop_reason == "depth_reached"


async def test_the_search_ends_where_the_last_records_changed_no_verdict() -> None:
    client = scripted(*[proposal(confidence=0.1)] * 2)
    judge = JudgeAgent("judge", client, limits=JudgeLimits())
    judge.join(RunContext())
    first = await judged(asked(), page(1), judge=judge)
    assert (first.recommendation, first.progress.unchanged) == ("continue", 0)
    others = [str(number) for number in range(20_000_000, 20_000_000 + SETTLED_AFTER)]
    second = await judged(page(2, *others), judge=judge)
    assert second.stop_reason == "verdicts_settled"
    assert (second.progress.read, second.progress.unchanged) == (1 + SETTLED_AFTER, SETTLED_AFTER)


def searches(*specialists: str) -> list[dict[str, str]]:
    return [{"closes": "More.", "specialist": name, "query": "migraine"} for name in specialists]


def ending(verdict: JudgeAssessment) -> str:
    dossier = Dossier(question=QUESTION)
    found = Material(dossier=dossier, assessments=[verdict], pool=[], candidates=[], verdicts=Verdicts())
    return write_line("summary", "ending", m=found)


@pytest.mark.parametrize(
    ("reason", "changes", "words"),
    [
        ("verdicts_settled", {"unchanged": 100}, "the last 100 records changed no verdict; 300 of 770 hits were read"),
        ("depth_reached", {}, "the requested depth of 300 records was reached; 300 of 770 hits were read"),
        ("no_new_evidence", {"hits": 300}, "further searches found nothing new; all 300 hits were read"),
        (
            "no_new_evidence",
            {"read": 290},
            "the remaining hits were unavailable or duplicates; 290 of 770 hits were read",
        ),
        (
            "no_new_evidence",
            {"hits": 300, "unread": ["gout"]},
            "further searches found nothing new; 300 records read, though not all hits of each source were fetched",
        ),
        ("sufficient_evidence", {}, "the evidence was judged sufficient; 300 of 770 hits were read"),
    ],
)
async def test_a_report_says_why_the_search_ended_and_how_much_was_read(
    reason: Any, changes: dict[str, Any], words: str
) -> None:
    verdict = await judged(asked(), page(1))
    told = {"stop_reason": reason, "progress": Progress(**{"read": 300, "hits": 770, **changes})}
    assert ending(verdict.model_copy(update=told)) == words
