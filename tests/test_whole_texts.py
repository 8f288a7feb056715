"""Full texts of the records that decide are read whole, the others by demand, and their price is told."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from autogen_core import CancellationToken
from autogen_core.models import RequestUsage, UserMessage
from benchmarks.prompt_tokens import StandIn
from builders import (
    QUESTION,
    arm_draft,
    comparison_draft,
    reading,
    record,
    reply,
    scripted,
    study_draft,
    verdict,
)
from recorded import DOWN, recorded

from willowbark.agents.asking.reader import WHOLE_CHARACTERS, WholeTexts, prepare_reading, read
from willowbark.agents.baseline.client import choose_calls
from willowbark.agents.context import MOST_TEXTS, RunContext
from willowbark.agents.findings import Findings, FindingsMessage
from willowbark.agents.report.content import BATCHED, BATCHED_TEXTS, READING, TEXTS
from willowbark.agents.reporter import list_turns
from willowbark.teams.budget import Prices
from willowbark.teams.config import LLMSettings, Price, Settings
from willowbark.teams.faces.mcp import MOST_BYTES, TEXT_BYTES, bound_reply
from willowbark.teams.run.research import research
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.appraisal.deciding import find_deciding
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.sections import MOST_OF_WHOLE, get_whole_reason, places
from willowbark.tools.records.enclosure import new_marker
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.toolbox import GetPaper, ToolReply, full_text_query

ASKED = parse_question(QUESTION)
RESULT = "Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001)."
LAST = "In the last week attacks fell by 2.1 a month on propranolol (p=0.01)."
FILLER = "The mean age was the same in the two arms at each of the sites that took part. "


def article(results: str, rows: int = 0) -> httpx.Response:
    cells = "".join(f"<tr><td>Week {row}</td><td>{row}.5</td></tr>" for row in range(rows))
    table = f"<table-wrap><label>Table 1</label><table>{cells}</table></table-wrap>" if rows else ""
    licence = '<license href="https://creativecommons.org/licenses/by/4.0/"/>'
    body = f"<sec><title>Results</title><p>{results}</p></sec>{table}"
    return httpx.Response(
        200, text=f"<article><front><permissions>{licence}</permissions></front><body>{body}</body></article>"
    )


def trial(number: int, drug: str, *, works: bool = True, people: int = 100, **more: Any) -> Evidence:
    effect = "reduced migraine attacks more than placebo (p<0.001)" if works else "was no better than placebo (p=0.8)"
    text = f"METHODS: In a randomised double-blind trial {people} patients with migraine took {drug} or placebo. "
    text += f"RESULTS: {drug} {effect}. CONCLUSIONS: {drug} {'prevented' if works else 'did not prevent'} migraine."
    kinds = ["Randomized Controlled Trial"]
    return record(
        str(number),
        f"{drug} in migraine: a randomised trial",
        text,
        pmcid=f"PMC{number}",
        publication_types=kinds,
        **more,
    )


def review(number: int, drug: str) -> Evidence:
    text = f"{drug} is often taken in migraine, as this overview describes."
    return record(str(number), f"{drug} in migraine", text, pmcid=f"PMC{number}")


def whole(results: str, reason: str = "pivotal trial", **more: Any) -> Evidence:
    sections = [{"kind": "results", "title": "Results", "text": results}]
    text = {"source": "europepmc", "pmcid": "PMC1", "licence": "CC BY", "sections": sections, "decides": reason}
    return record("11111111", "Propranolol in migraine: a trial", RESULT, pmcid="PMC1", full_text=text, **more)


def test_trials_that_disagree_and_the_largest_ones_decide() -> None:
    pool = [
        trial(1, "Propranolol"),
        trial(2, "Propranolol", works=False),
        *(trial(number, "Topiramate", people=10 * number) for number in range(3, 7)),
        review(7, "Timolol"),
    ]
    effects = {"pmid:1": "better", "pmid:2": "no_difference"}
    given = [reading(key, "propranolol", effect=effect) for key, effect in effects.items()]
    reasons = find_deciding(appraise_candidates(ASKED, pool, Readings(given=given)))

    assert {key: reason for key, reason in reasons.items() if reason == "disagrees with others"} == {
        "pmid:1": "disagrees with others",
        "pmid:2": "disagrees with others",
    }
    assert {key for key, reason in reasons.items() if reason == "pivotal trial"} == {"pmid:5", "pmid:6"}


def without_numbers(text: str) -> str:
    return re.sub(r"\[[rt]?\d+\] ", "", text)


async def test_the_records_that_decide_are_shown_whole_and_the_others_in_excerpts() -> None:
    pool = [*(review(number, "Timolol") for number in range(20, 29)), trial(1, "Propranolol")]
    async with recorded({"*/fullTextXML": article(FILLER * 100 + LAST, rows=120)}) as transport:
        run = RunContext(transport)
        [extended] = await run.add_full_texts(ASKED, [reply(*pool)])
    shown = {each.record.key: each.line for each in prepare_reading(extended.records, ASKED)}
    texts = [each for each in extended.records if places(each)]

    assert len(texts) == MOST_TEXTS
    assert {each.key: get_whole_reason(each) for each in texts if get_whole_reason(each)} == {"pmid:1": "pivotal trial"}
    assert len(shown["pmid:1"]["results"][0]) > 100 * len(FILLER.strip())
    assert shown["pmid:1"]["results"][0].endswith(LAST)
    assert shown["pmid:1"]["tables"][0].count("Week") == 120
    others = [line for key, line in shown.items() if key != "pmid:1" and "tables" in line]
    assert len(others) == MOST_TEXTS - 1
    assert [line for line in others if "results" in line or len(without_numbers(line["tables"][0])) > 2_100] == []


async def test_in_economy_nothing_is_shown_whole_unless_somebody_asks_for_it() -> None:
    async with recorded({"*/fullTextXML": article(LAST)}) as transport:
        run = RunContext(transport, reads_in_short=True)
        [extended] = await run.add_full_texts(ASKED, [reply(trial(1, "Propranolol"))])
    [wanted] = prepare_reading([whole(LAST, "asked for")], ASKED, in_short=True)

    assert [get_whole_reason(each) for each in extended.records] == [""]
    assert wanted.line["results"] == [f"Results: [r1] {LAST}"]


def studies(*drafts: dict[str, Any]) -> str:
    return json.dumps({"studies": list(drafts)})


async def test_a_quote_may_stand_anywhere_in_a_whole_text_and_its_prompt_is_apart() -> None:
    decisive = whole(FILLER * 100 + LAST)
    told = RESULT.replace("Propranolol", "Timolol")
    other = record("22222222", "Timolol in migraine", told)
    arms = [arm_draft("timolol"), arm_draft("placebo")]
    by_other = study_draft(comparison_draft(told, arm="timolol"), evidence_key=other.key, arms=arms)
    by_decisive = study_draft(comparison_draft(LAST), evidence_key=decisive.key)
    client = scripted(studies(by_other), studies(by_decisive))
    came = await read(client, QUESTION, prepare_reading([decisive, other], ASKED), new_marker(), CancellationToken())

    assert came.notes == []
    sections = {reading.key: [passage.section for passage in reading.passages] for reading in came.readings}
    assert sections == {decisive.key: ["Results"], other.key: ["Abstract"]}
    depths = {read.study.key: read.study.depth for read in came.studies}
    assert depths == {decisive.key: "full_text", other.key: "abstract"}
    prompts = [call["messages"][-1].content for call in client.create_calls]
    assert [(decisive.key in prompt, other.key in prompt) for prompt in prompts] == [(False, True), (True, False)]
    assert (came.whole.publications, came.whole.prompts) == (1, 1)
    assert len(decisive.content) + len(FILLER) * 100 < came.whole.characters < WHOLE_CHARACTERS
    assert 0 < sum(came.whole.tokens) < came.usage.prompt_tokens + came.usage.completion_tokens


async def test_a_whole_text_that_a_model_does_not_take_is_read_in_excerpts_and_told() -> None:
    client = scripted("prompt is too long", "still", "no", studies(study_draft(comparison_draft(RESULT))))
    came = await read(client, QUESTION, prepare_reading([whole(LAST)], ASKED), new_marker(), CancellationToken())

    assert [reading.verdict for reading in came.readings] == ["supports"]
    assert [read.study.depth for read in came.studies] == ["abstract"]
    [note] = came.notes
    assert note.startswith("1 full text read in excerpts, as the model did not take the whole: ")
    assert LAST not in client.create_calls[-1]["messages"][-1].content


async def test_a_paper_that_was_read_by_its_abstract_is_read_again_when_its_full_text_comes() -> None:
    [by_abstract], [by_text] = (
        prepare_reading([each], ASKED) for each in (whole(LAST).noting(full_text=None), whole(LAST))
    )

    assert by_abstract.fingerprint != by_text.fingerprint


async def paper(pmid: str, replies: dict[str, httpx.Response], **arguments: Any) -> ToolReply:
    tool = GetPaper()
    async with recorded(replies) as transport:
        tool.bind(transport, new_marker())
        said: ToolReply = await tool.run_json({"pmid": pmid, **arguments}, CancellationToken())
    return said


async def test_the_full_text_of_a_paper_comes_with_it_to_who_asks_for_it() -> None:
    text = {"*/fullTextXML": article(LAST)}
    [asked_for] = (await paper("99999951", text, full_text=True)).replies
    [alone] = (await paper("99999951", text, full_text=None)).replies
    [record_of] = asked_for.records

    assert (asked_for.asked, alone.asked) == (full_text_query("99999951"), "99999951")
    assert [place.text for place in places(record_of)] == [LAST]
    assert get_whole_reason(record_of) == "asked for"
    assert [places(each) for each in alone.records] == [[]]


@pytest.mark.parametrize(
    ("pmid", "text", "why"),
    [
        ("99999951", httpx.Response(404), "Europe PMC has no open full text"),
        ("99999951", DOWN, "Europe PMC gave no answer in time"),
        ("12667107", DOWN, "it is not in PubMed Central"),
    ],
    ids=["not open", "down", "nowhere"],
)
async def test_a_full_text_that_was_asked_for_and_can_not_be_had_is_named(
    pmid: str, text: httpx.Response, why: str
) -> None:
    [said] = (await paper(pmid, {"*/fullTextXML": text}, full_text=True)).replies

    assert said.warnings == [f"no full text of pmid:{pmid}: {why}"]


def test_a_judge_asks_for_a_full_text_by_its_number() -> None:
    wanted = verdict(next_search_queries=[full_text_query("12503978"), "timolol AND migraine"]).to_model_message()
    asked = [UserMessage(content=QUESTION, source="user"), wanted]
    calls = choose_calls(asked, [GetPaper()])

    assert [json.loads(call.arguments) for call in calls] == [{"pmid": "12503978", "full_text": True}]


def test_mcp_gives_a_whole_text_to_who_asks_and_excerpts_where_it_does_not_fit() -> None:
    fits, long = whole(FILLER * 500), whole(FILLER * 5_000)
    text = bound_reply(ToolReply(replies=[reply(fits)]), TEXT_BYTES)
    excerpt = bound_reply(ToolReply(replies=[reply(long)]), TEXT_BYTES)

    assert len(text.encode()) > 500 * len(FILLER)
    assert '"truncated": true' not in text
    assert len(excerpt.encode()) < MOST_BYTES
    assert '"truncated": true' in excerpt
    assert RESULT in excerpt


def test_the_price_of_whole_texts_stands_apart_in_the_account() -> None:
    texts = WholeTexts(publications=2, characters=9, prompts=2, tokens=(600, 60), batch_tokens=(400, 40))
    found = Findings(
        specialist="literature",
        iteration=1,
        summary="",
        reading_tokens=(1_000, 100),
        batch_tokens=(500, 50),
        whole_texts=texts,
    )
    usage = RequestUsage(prompt_tokens=1_500, completion_tokens=150)
    turns = list_turns("literature", 1, usage, FindingsMessage(content=found, source="literature"))
    llm = LLMSettings(prices={"m/m": Price(input=1_000, output=0)})
    costs = {turn.agent: turn.cost_usd for turn in Prices.of_run("m/m", llm).account(turns)}

    assert {turn.agent: turn.prompt_tokens for turn in turns} == {
        "literature": 500,
        READING: 300,
        BATCHED: 100,
        TEXTS: 200,
        BATCHED_TEXTS: 400,
    }
    assert sum(turn.tokens for turn in turns) == 1_650
    assert (costs[TEXTS], costs[BATCHED_TEXTS]) == pytest.approx((0.2, 0.2))


def publish(folder: Path, *papers: Evidence, results: str) -> Path:
    """A library of these papers, with the same full text."""
    rows = []
    for each in papers:
        pmid = each.key.removeprefix("pmid:")
        row = {"pmid": pmid, "title": each.citation.title, "abstract": each.content.partition("\n\n")[2]}
        row |= {"pmcid": f"PMC{pmid}", "full_text": article(results, rows=20).text}
        rows.append({**row, "publication_types": ["Randomized Controlled Trial"]})
    (folder / "publications.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@pytest.mark.whole
async def test_a_report_says_which_texts_were_read_whole_in_how_many_prompts_and_at_which_price(tmp_path: Path) -> None:
    trials = [trial(91, "Propranolol"), trial(92, "Propranolol", works=False, people=90), trial(93, "Topiramate")]
    library = publish(tmp_path, *trials, results=FILLER * 800 + LAST)
    client = StandIn(0.0)
    llm = LLMSettings(prices={client.display_name: Price(input=1.0, output=2.0)})
    settings = Settings(llm=llm).overridden({"research.max_iterations": 1})
    report = await research(QUESTION, settings=settings, model_client=client, library=library)

    said = report.methodology.content.partition("Of 3 publications that decide ")[2]
    assert said.startswith(
        "(disagrees with others: 2 and pivotal trial: 1) the model was shown the whole results and tables"
    )
    [spent] = [turn for turn in report.usage if turn.agent == TEXTS]
    assert f" characters in 3 prompts, {spent.tokens:,} tokens, ${spent.cost_usd:.4f}." in said
    assert spent.prompt_tokens > 3 * MOST_OF_WHOLE // 4
    assert [line for line in report.limitations if "was left out for its length" in line], report.limitations
