"""Tokens of a run's prompts, by what is asked: `python -m benchmarks.prompt_tokens [--economy] [ROUNDS] [QUESTION]`.

A run over the bundled library on a stand-in for a language model: it gets words alone, as such a model does, and
answers by rule: searches as the baseline analyst chooses them, readings as the learned reader has them, sentences and
claims that are quotes, a checker that bears all out. Prompts are counted at four characters a token, schemas and tools
with them. Of each prompt, what an earlier one began with counts as cacheable, where it is long enough for providers to
keep it; apart from that, what one began with that was answered by then, since not every provider keeps what it is still
reading. Prompts that were under way side by side count as one step.
"""

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from autogen_core.models import (
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from autogen_ext.models.cache import ChatCompletionCache
from pydantic import BaseModel

from willowbark.agents.baseline.client import CHARACTERS_PER_TOKEN, BaselineChatCompletionClient
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.run.research import research
from willowbark.tools.lexicon import find_conditions
from willowbark.tools.reading.assembler import assemble_study
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.learned import LearnedReader
from willowbark.tools.reading.text import sentences as sentences_of
from willowbark.tools.records.study import Study

QUESTION = "Which existing drugs could prevent migraine attacks?"
ROUNDS = 2
CACHED_FROM = 1024  # tokens of a prefix that OpenAI and Anthropic keep at least
_ROUND = re.compile(r"^Round: (\d+) of", re.MULTILINE)
_NUMBER = re.compile(r"\[\d+\] ")
"""Before each sentence that a prompt shows."""
TAKES_S = 4.0  # of an answer where steps are counted: a real one outlasts what the code does meanwhile


class StandIn(ChatCompletionCache):
    """Answers words by rule, and counts what it was asked.

    Args:
        takes_s: seconds of an answer, so that those asked for side by side are under way together.
    """

    display_name = "stand-in for a language model"
    reads_requests = False

    def __init__(self, takes_s: float = 0.02) -> None:
        super().__init__(BaselineChatCompletionClient())
        self._takes_s = takes_s
        self.tokens: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.cacheable = Counter[str]()
        self.cached = 0
        self.fixed = Counter[str]()
        self.steps: list[str] = []
        self._under_way = 0
        self._earlier: list[str] = []
        self._answered: list[str] = []
        self._reader = LearnedReader()

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        """Count the prompt, then answer."""
        kind = name_prompt(messages, options)
        text = join_prompt(messages, options)
        self.cacheable[kind] += _count_cached(text, self._earlier)
        self.cached += _count_cached(text, self._answered)
        self._earlier.append(text)
        self.tokens[kind] += len(text) // CHARACTERS_PER_TOKEN
        self.calls[kind] += 1
        self.fixed[kind] += (len(_write_tools(options)) + len(_get_text(messages[0]))) // CHARACTERS_PER_TOKEN
        if not self._under_way:
            self.steps.append(kind)
        self._under_way += 1
        await asyncio.sleep(self._takes_s)
        self._under_way -= 1
        self._answered.append(text)
        answer = {
            "StudiesDraft": self._read,
            "JudgeDraft": self._judge,
            "FitsDraft": accept_all,
            "ReportDraft": quote_passages,
            "WrittenDraft": repeat_passages,
            "MendedDraft": lambda _: {"sentences": []},
            "CheckDraft": agree_with_all,
        }.get(kind)
        is_choice = bool(options.get("tools")) and options.get("tool_choice") != "none"
        if kind in ("others", "choice of searches") and not is_choice:  # what a specialist says of what was read
            usage = RequestUsage(prompt_tokens=len(text) // CHARACTERS_PER_TOKEN, completion_tokens=20)
            return CreateResult(finish_reason="stop", content="Trials were found.", usage=usage, cached=False)
        if answer is None:
            chosen = await self.client.create(messages, **options)
            usage = RequestUsage(
                prompt_tokens=len(text) // CHARACTERS_PER_TOKEN, completion_tokens=chosen.usage.completion_tokens
            )
            return chosen.model_copy(update={"usage": usage})
        content = json.dumps(answer(messages))
        usage = RequestUsage(
            prompt_tokens=len(text) // CHARACTERS_PER_TOKEN, completion_tokens=len(content) // CHARACTERS_PER_TOKEN
        )
        return CreateResult(finish_reason="stop", content=content, usage=usage, cached=False)

    def _read(self, messages: Sequence[LLMMessage]) -> dict[str, Any]:
        lines = [line for line in _read_lines(messages) if "drugs" in line]
        studies = [self._assemble(line) if line["drugs"] else Study(**_BARE, key=line["key"]) for line in lines]
        return {"studies": [_draft_study(study) for study in studies]}

    def _assemble(self, line: dict[str, Any]) -> Study:
        document = Document.cut(line["title"], _NUMBER.sub("", line["text"]))
        condition = next((mention.name for mention in find_conditions(document.whole)), "migraine")
        readings = [self._reader.read_document(document, drug, condition, line["key"]) for drug in line["drugs"]]
        study = assemble_study(readings, document)
        rows = [row for row in study.comparisons if row.passage and row.passage.text in document.whole]
        views = [view for view in study.statements if view.passage.text in document.whole]
        return study.model_copy(update={"comparisons": tuple(rows), "statements": tuple(views)})

    def _judge(self, messages: Sequence[LLMMessage]) -> dict[str, Any]:
        rounds = _ROUND.findall(
            _get_text(messages[-1])
        )  # not counted here: what was answered before a resume is not asked again
        number = int(rounds[-1]) if rounds else 1
        lines = [line for line in _read_lines(messages) if "drug" in line]
        drugs = list(dict.fromkeys(line["drug"] for line in lines))
        round_drugs = drugs[4 * number - 4 : 4 * number]
        condition = next((mention.name for mention in find_conditions(_get_text(messages[-1]))), "migraine")
        searches = [
            (name, f"({' OR '.join(round_drugs)}) AND {condition}") for name in ("literature", "trials") if round_drugs
        ]
        searches += [("mechanism", drug) for drug in round_drugs]
        gap = "More on the leading drugs"
        return {
            "misread": [],
            "strikes": [],
            "decides": [{"text": f"Studies of {line['drug']} decide.", "keys": [line["key"]]} for line in lines[:3]],
            "contradicts": [],
            "drugs": [_judge_drug(drug, lines) for drug in drugs[:40]],
            "mechanism_reasoning": "The targets of the leading drugs are known.",
            "mechanism_score": 5,
            "clinical_reasoning": "The trials are small, and few are blinded.",
            "clinical_evidence_score": 6,
            "candidates_score": 7,
            "gaps": ["Further records on the leading drugs are missing."],
            "next_searches": [{"closes": gap, "specialist": name, "query": query} for name, query in searches],
            "reasoning": "Evidence was found for several drugs, and more may be had.",
            "confidence": 0.6,
            "is_enough": False,
        }


_BARE: Mapping[str, Any] = {"reader": "model", "version": "1", "aim": "other"}
"""A record that names no drug."""


def _judge_drug(drug: str, lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a judge says of a drug of whose studies it has seen these lines."""
    keys = [line["key"] for line in lines if line["drug"] == drug][:8]
    rating = {"drug": drug, "reason": "Its trials are few.", "keys": keys, "domains": []}
    return {**rating, "level": "high", "not_for": ""}


def accept_all(messages: Sequence[LLMMessage]) -> dict[str, Any]:
    """An answer by which all studies are on what is asked."""
    numbers = map(int, chain.from_iterable(_read_lines(messages)))
    return {"fits": [{"number": number, "condition": "yes", "people": "yes"} for number in numbers]}


def _draft_study(study: Study) -> dict[str, Any]:
    """A study as a model would write it."""
    arms = [{"name": arm.name, "role": arm.role, "drugs": [*arm.drugs], "dose": arm.dose, "n": 0} for arm in study.arms]
    study_fields: dict[str, Any] = {"evidence_key": study.key, "aim": "treat", "condition": study.condition}
    study_fields |= {"people": "", "randomised": 0, "background": [*study.background], "harms": []}
    comparisons: list[dict[str, Any]] = [
        {"arm": row.arm, "versus": row.versus or row.against, "quote": row.passage.text, "outcome": row.outcome}
        | {
            "endpoint": row.endpoint,
            "primary": _name_flag(row.primary),
            "condition": row.condition or "",
            "subgroup": "",
        }
        | {"favours": row.favours or "untold", "significant": _name_flag(row.significant), "basis": row.basis}
        | {"equivalence": row.equivalence or "none", "hedged": row.hedged, "estimate": ""}
        for row in study.comparisons
        if row.passage is not None
    ]
    statements = [
        {"drug": view.drug, "quote": view.passage.text, "says": view.says, "basis": view.basis, "condition": ""}
        | {"reason": ""}
        for view in study.statements
    ]
    return {**study_fields, "arms": arms, "comparisons": comparisons, "statements": statements}


def _name_flag(flag: bool | None) -> str:
    return {True: "yes", False: "no", None: "untold"}[flag]


def quote_passages(messages: Sequence[LLMMessage]) -> dict[str, Any]:
    """A draft of a report whose claims are the passages that the last message shows."""
    shown_lines = [line for line in _read_lines(messages) if "passage" in line]
    claims = [
        {"evidence_key": line["key"], "quote": line["passage"], "drug": line["drug"]}
        | {"stance": line["says"] if line["says"] in ("supports", "contradicts") else "neutral"}
        for line in shown_lines[:12]
    ]
    return {"claims": claims}


def repeat_passages(messages: Sequence[LLMMessage]) -> dict[str, Any]:
    """An answer whose sentences are those of the passages that the last message shows."""
    shown_lines = [line for line in _read_lines(messages) if line.get("passages") and "says" in line]
    sentences = []
    paragraphs = []
    for line in shown_lines:
        sentence = {"text": sentences_of(line["passages"][0])[0], "keys": [line["key"]]}
        sentences.append(sentence)
        drug = next(iter(line["says"]), None)
        if drug is not None:
            paragraphs.append({"drug": drug, "sentences": [sentence]})
    if not sentences:  # an answer says something, and cites what it looked at
        keys = [line["key"] for line in _read_lines(messages) if "key" in line]
        sentences = [{"text": "Nothing was found.", "keys": keys[:1]}]
    answer = {"bottom_line": sentences[:1], "works": sentences[1:6]}
    return {"answer": answer, "drugs": paragraphs[:8], "mechanism": [], "would_change": []}


def agree_with_all(messages: Sequence[LLMMessage]) -> dict[str, Any]:
    """Verdicts of a checker that finds every sentence borne out."""
    numbers = [line["number"] for line in _read_lines(messages) if "number" in line]
    return {"verdicts": [{"number": at, "words": "", "borne_out": "yes", "advises": False} for at in numbers]}


def _read_lines(messages: Sequence[LLMMessage]) -> list[dict[str, Any]]:
    """What stands in the last prompt as JSON lines."""
    lines = _get_text(next(message for message in reversed(messages) if isinstance(message, UserMessage))).split("\n")
    return [json.loads(line) for line in lines if line.startswith("{")]


def _count_cached(text: str, before: Sequence[str]) -> int:
    """Tokens of a prompt that a provider need not read again."""
    common = max((_count_common(text, earlier) for earlier in before), default=0) // CHARACTERS_PER_TOKEN
    return common if common >= CACHED_FROM else 0


def _count_common(one: str, other: str) -> int:
    """Characters that two texts begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _get_text(message: LLMMessage) -> str:
    if isinstance(message, FunctionExecutionResultMessage):
        return "".join(result.content for result in message.content)
    return message.content if isinstance(message.content, str) else str(message.content)


def join_prompt(messages: Sequence[LLMMessage], options: dict[str, Any]) -> str:
    """All that a prompt puts before a model: tools and schema, which providers put first, and its messages."""
    return _write_tools(options) + "".join(map(_get_text, messages))


def _write_tools(options: dict[str, Any]) -> str:
    tools = [tool if isinstance(tool, dict) else tool.schema for tool in options.get("tools", ())]
    schema_class = options.get("json_output")
    schema = (
        schema_class.model_json_schema()
        if isinstance(schema_class, type) and issubclass(schema_class, BaseModel)
        else None
    )
    return "".join(json.dumps(tool, separators=(",", ":")) for tool in (*tools, schema) if tool)


def name_prompt(messages: Sequence[LLMMessage], options: dict[str, Any]) -> str:
    """What a prompt asks for: a draft by its name, searches, or something else."""
    schema_class = options.get("json_output")
    form = options.get("extra_create_args", {}).get("response_format")
    if form is not None:
        return str(form["json_schema"]["name"])
    if isinstance(schema_class, type):
        return schema_class.__name__
    is_first = isinstance(messages[0], SystemMessage) and options.get("tools")
    return "choice of searches" if is_first else "others"


async def measure_run(rounds: int, question: str, *, economy: bool = False) -> tuple[StandIn, ResearchReport]:
    """A run, and the stand-in that counted."""
    client = StandIn(TAKES_S)
    report = await research(
        question,
        model_client=client,
        offline=True,
        max_iterations=rounds,
        depth="exhaustive",
        max_seconds=3000,
        economy=economy,
    )
    return client, report


async def main(rounds: int, question: str, economy: bool) -> None:
    """Run, and print the counts."""
    client, report = await measure_run(rounds, question, economy=economy)
    for kind, tokens in client.tokens.most_common():
        print(f"{kind:20} {tokens:8,}  {client.calls[kind]:3} calls")
    total = client.tokens.total()
    cacheable = client.cacheable.total()
    reading_tokens = client.tokens["StudiesDraft"]
    shares = f"{cacheable / total:.1%} cacheable, {client.cached / total:.1%} of prompts answered by then"
    print(f"{'all':20} {total:8,}  {client.calls.total():3} calls, {shares}")
    cacheable_tokens = cacheable - client.cacheable["StudiesDraft"]
    cheaper = reading_tokens + cacheable_tokens
    print(f"with --batch: {reading_tokens / total:.1%} at a batch's price, {cheaper / total:.1%} so or cacheable")
    print(f"of a reading prompt {client.fixed['StudiesDraft'] / reading_tokens:.1%} are instructions and schema")
    print(f"{len(client.steps)} serial steps: {', '.join(client.steps)}")
    print(f"{report.search_iterations} rounds, {report.total_papers_reviewed} records read; {report.analyst}")


if __name__ == "__main__":
    given = sys.argv[1:]
    economy = "--economy" in given
    given = [each for each in given if each != "--economy"]
    rounds = int(given.pop(0)) if given and given[0].isdigit() else ROUNDS
    asyncio.run(main(rounds, " ".join(given) or QUESTION, economy))
