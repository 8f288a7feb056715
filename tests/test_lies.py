"""A model that lies wherever it may write: none of its own sentences reaches a report, and all that it quotes does."""

import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from autogen_core.models import CreateResult, LLMMessage
from benchmarks.prompt_tokens import StandIn, name_prompt, quote_passages
from builders import QUESTION, judged_drug

from willowbark.agents.exports import as_html
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.budget import BudgetExceeded
from willowbark.teams.run.research import research

pytestmark = pytest.mark.whole
LIES = [line.split("\t") for line in (Path(__file__).parent / "cases/lies.tsv").read_text().splitlines()[1:]]


class Liar(StandIn):
    """Reads and quotes rightly, and lies in every field that takes words, also in fields that nobody asked for."""

    display_name = "liar"

    def __init__(self) -> None:
        super().__init__()
        self.lies = cycle(said for _, said in LIES)
        self.quoted: list[dict[str, str]] = []
        self.named: list[dict[str, str]] = []

    def few(self, number: int) -> str:
        return " ".join(f"{next(self.lies)}." for _ in range(number))

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        result = await super().create(messages, **options)
        kind = name_prompt(messages, options)
        if kind == "FitsDraft":
            return result
        if isinstance(result.content, str) and kind in ("StudiesDraft", "JudgeDraft", "ReportDraft"):
            answer = {"StudiesDraft": self.read, "JudgeDraft": self.judge, "ReportDraft": self.write}[kind]
            return result.model_copy(update={"content": json.dumps(answer(json.loads(result.content), messages))})
        return result.model_copy(update={"content": self.few(20)}) if isinstance(result.content, str) else result

    def read(self, said: dict[str, Any], _: Sequence[LLMMessage]) -> dict[str, Any]:
        for study in said["studies"]:
            study |= {"condition": next(self.lies), "people": next(self.lies), "summary": self.few(1)}
            for row in study["comparisons"]:
                row |= {"outcome": next(self.lies), "subgroup": ""}
            for view in study["statements"]:
                view["reason"] = next(self.lies)
        forged = [self.forge(study) for study in said["studies"][:5]]
        return {"studies": [*said["studies"], *forged], "notes": self.few(5)}

    def forge(self, study: dict[str, Any]) -> dict[str, Any]:
        """A study whose arms and quotes are lies."""
        arms = [{**arm, "name": next(self.lies)} for arm in study["arms"]]
        rows = [{**row, "arm": arms[0]["name"], "quote": next(self.lies)} for row in study["comparisons"] if arms]
        return {**study, "arms": arms, "comparisons": rows}

    def judge(self, said: dict[str, Any], _: Sequence[LLMMessage]) -> dict[str, Any]:
        """Words without a record, of drugs that nobody read on, and addressed to others; its reasons are honest."""
        self.named = [key for each in said["decides"] for key in each["keys"]]
        lies = {name: self.few(10) for name in ("reasoning", "summary")}
        for name in ("decides", "contradicts"):
            said[name] = [*said[name], {"text": next(self.lies), "keys": [next(self.lies)]}]
        made_up = {"evidence_key": next(self.lies), "drug": next(self.lies), "reason": next(self.lies)}
        said["strikes"], said["misread"] = [made_up], [made_up]
        said["drugs"] = [*said["drugs"], judged_drug(next(self.lies), reason=next(self.lies))]
        for search in said["next_searches"]:
            search["closes"] = self.few(1)
        return {**said, **lies}

    def write(self, _: dict[str, Any], messages: Sequence[LLMMessage]) -> dict[str, Any]:
        true = quote_passages(messages[:2])["claims"]
        self.quoted += true
        reworded = [{**claim, "text": next(self.lies)} for claim in true]
        forged = [{**claim, "quote": next(self.lies), "text": next(self.lies)} for claim in true]
        free = {"summary": self.few(30), "paragraphs": [self.few(4)] * 10, "conclusion": self.few(3)}
        drugs = [{"name": claim["drug"], "proposed_mechanism": next(self.lies)} for claim in true]
        return {"claims": [*reworded, *forged], "candidates": drugs, **free}


FALSE_FIGURE, FALSE_DRUG, FALSE_KEY = "97.31", "zonisamide", "pmid:99999991"


class LyingWriter(StandIn):
    """Reads rightly; its answer holds true sentences and forged ones, and its own checker bears all of them out.

    Args:
        ends_before_check: whether the checker gives no answer, as when a budget is used up.
    """

    display_name = "lying writer"

    def __init__(self, *, ends_before_check: bool = False) -> None:
        super().__init__()
        self._ends_before_check = ends_before_check
        self.true: list[str] = []
        self.forged = 0
        self.check = 0

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        kind = name_prompt(messages, options)
        if kind == "CheckDraft":
            self.check += 1
            if self._ends_before_check:
                raise BudgetExceeded("used up")
        result = await super().create(messages, **options)
        if kind == "WrittenDraft":
            written = json.loads(str(result.content))
            return result.model_copy(update={"content": json.dumps(self.forge(written))})
        return result

    def forge(self, written: dict[str, Any]) -> dict[str, Any]:
        """Put a false figure, a false drug and a false identifier beside each true sentence."""
        given = [sentence for part in written["answer"].values() for sentence in part]
        true = [each for each in given if each["text"][-1] == "."]
        self.true += [each["text"] for each in true]
        lies = list[dict[str, Any]]()
        for each in true:
            stem = each["text"].rstrip(".")
            lies.append({**each, "text": f"{stem}, in {FALSE_FIGURE} % of patients."})
            lies.append({**each, "text": f"{stem}, as did {FALSE_DRUG}."})
            lies.append({**each, "text": f"{stem} (PMID 99999991)."})
            lies.append({"text": f"{stem}, in all trials.", "keys": [FALSE_KEY]})
        self.forged += len(lies)
        paragraphs = [{"drug": FALSE_DRUG, "sentences": lies[:4]}, *written["drugs"]]
        answer = {"works": [*true, *lies[:10]], "failed": lies[10:20], "harms": lies[20:30]}
        return {**written, "answer": answer, "drugs": paragraphs, "mechanism": lies, "would_change": lies}


def shown(report: ResearchReport) -> str:
    """All forms of a report."""
    return "\n".join(
        [
            report.to_markdown(),
            report.to_appendix(),
            report.to_json(),
            as_html(report).decode(),
            str(report.to_digest()),
        ]
    )


async def test_a_report_shows_none_of_a_hundred_lies_and_all_that_a_model_quotes() -> None:
    client = Liar()
    report = await research(
        QUESTION, model_client=client, offline=True, max_iterations=2, max_seconds=3000, words="quoted"
    )
    assert report.analyst == "liar"
    everything = shown(report).casefold()
    assert [said for _, said in LIES if said.casefold() in everything] == []

    made = {(claim["evidence_key"], claim["drug"], " ".join(claim["quote"].split())) for claim in client.quoted}
    stand = {(c.evidence_key, c.drug, " ".join(c.quote.split())) for d in report.candidates for c in d.claims}
    due = {each for each in made if each[1] in report.drug_candidates}
    assert len(due) >= 20
    assert len(due & stand) >= 0.95 * len(due), due - stand
    assert len(report.key_findings) >= len(client.named)
    assert [line for line in report.limitations if "left out: rests on no record that was read" in line]


async def test_with_a_liar_as_its_own_checker_no_false_figure_drug_or_identifier_is_printed() -> None:
    client = LyingWriter()
    report = await research(QUESTION, model_client=client, offline=True, max_iterations=1, max_seconds=3000)
    written = report.written
    assert written is not None
    assert client.forged >= 8
    assert client.check > 0
    everything = shown(report).casefold()
    assert [lie for lie in (FALSE_FIGURE, FALSE_KEY, "99999991") if lie in everything] == []
    assert [each.text for each in written.sentences() if FALSE_DRUG in each.text.casefold()] == []
    assert [each for each in written.drugs if each.drug == FALSE_DRUG] == []
    assert [each.text for each in written.answer] != []
    assert len(written.dropped) >= client.forged // 2  # of others only the false part is left out
    assert "lying writer" in written.provenance


async def test_an_answer_whose_budget_ended_before_its_check_says_so_above_its_words() -> None:
    client = LyingWriter(ends_before_check=True)
    report = await research(QUESTION, model_client=client, offline=True, max_iterations=1, max_seconds=3000)
    written = report.written
    assert written is not None
    every = list(written.sentences())
    assert (client.check, written.unchecked) == (1, len(every))
    above, words, _ = report.to_markdown().partition(every[0].text)
    assert words
    assert "Not checked against the passages that it cites" in above
    everything = shown(report).casefold()
    assert [lie for lie in (FALSE_FIGURE, FALSE_KEY, "99999991") if lie in everything] == []
