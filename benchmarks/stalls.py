"""How long the code chews on what a model answers, at worst: `python -m benchmarks.stalls [MEGABYTES]`.

Whole runs over the bundled library on the stand-in of `prompt_tokens.py`; one kind of prompt is answered with something
of 1 MB that is made to take long, or with the longest that the bounds of an answer let through. Meanwhile a clock ticks
in the event loop: what is printed is the most processor time between two ticks, in which nothing else of the run moves,
no deadline and no Ctrl-C. The first line is the same run with honest answers.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from autogen_core import FunctionCall
from autogen_core.models import CreateResult, LLMMessage, RequestUsage
from benchmarks.prompt_tokens import QUESTION, StandIn, prompt_kind

from willowbark.agents.asking import MAX_ANSWER
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.run.research import research

TICK_S = 0.005
MOST_RECORDS = 10  # of a page: what an honest run takes should not hide the rest
Said = str | list[FunctionCall]
Make = Callable[[int], Said]
"""From a number of characters to an answer of about as many."""
_VERDICT: dict[str, Any] = {
    "mechanism_reasoning": "Some mechanisms are known.",
    "mechanism_score": 5,
    "clinical_reasoning": "Some trials agree, others are small.",
    "clinical_evidence_score": 6,
    "drug_candidates": ["propranolol"],
    "candidates_score": 7,
    "key_findings": ["Several drugs were tested against placebo."],
    "gaps": [],
    "next_searches": [],
    "reasoning": "Evidence was found for several drugs, and more may be had.",
    "confidence": 0.6,
}
_IDENTIFIERS = "PMID 12345678, NCT01234567, doi:10.1056/NEJMoa1, (Smith and Jones, 1999) "
_WRITTEN_CALL = '<tool_call>{"name": "search_pubmed", "arguments": {"query": "migraine AND propranolol"}}</tool_call> '
_NUMBERS = "propranolol 1.5 mg versus placebo 2.5 (95% CI 1.1 to 3.2; P<0.001), not 12 of 40 weeks, "


def _filled(text: str, size: int) -> str:
    return (text * (size // len(text) + 1))[:size]


def _judged(**fields: Any) -> str:
    return json.dumps({**_VERDICT, **fields})


def _readings(text: str, size: int) -> str:
    reading = {
        "evidence_key": "pmid:9251876", "drug": "bisoprolol", "quote": _filled(text, 1900), "role": "tested",
        "match": "same", "kind": "efficacy", "comparator": "placebo", "against": "", "effect": "better",
        "hedged": False, "non_inferior": False,
    }  # fmt: skip
    return json.dumps({"readings": [reading] * min(size // 2200, 10_000)})


def _claims(text: str, size: int) -> str:
    claim = {
        "evidence_key": "pmid:9251876", "quote": _filled(text, 1900), "drug": "bisoprolol", "topic": "clinical",
        "text": _filled(text[::-1], 1900), "stance": "supports",
    }  # fmt: skip
    named = {
        "name": "bisoprolol",
        "paragraph": _filled(text, 900),
        "proposed_mechanism": _filled(_IDENTIFIERS, 600),
    }
    return json.dumps({"claims": [claim] * (size // 4200), "candidates": [named] * 40})


def _called(number: int, query: str) -> list[FunctionCall]:
    arguments = json.dumps({"query": query})
    return [FunctionCall(id=f"call_{at}", name="search_pubmed", arguments=arguments) for at in range(number)]


ANYWHERE: dict[str, Make] = {
    "braces": lambda size: "{" * size,
    "braces, each with a field": lambda size: _filled('{"a":', size),
    "brackets": lambda size: _filled('{"gaps":', 9) + "[" * size,
    "thoughts begun": lambda size: _filled("<think>", size),
    "thoughts ended": lambda size: _filled("</think>", size),
    "identifiers": lambda size: _filled(_IDENTIFIERS, size),
    "spaces": lambda size: " " * size,
    "backslashes": lambda size: '{"gaps": "' + "\\" * size,
}
SHAPES: dict[str, dict[str, Make]] = {
    "JudgeDraft": {
        **ANYWHERE,
        "200 long gaps": lambda size: _judged(gaps=[_filled(_IDENTIFIERS, size // 200)] * 200),
        "one query": lambda size: _judged(
            next_searches=[{"closes": "x", "specialist": "literature", "query": _filled("migraine AND (", size)}]
        ),
        "queries": lambda size: _judged(
            next_searches=[
                {"closes": "x", "specialist": "literature", "query": _filled(f"drug{at} OR ", 1900)}
                for at in range(size // 2000)
            ]
        ),
        "reasons": lambda size: _judged(reasoning=_filled(_NUMBERS, size), mechanism_reasoning=_filled("a.", size)),
    },
    "ReadingsDraft": {
        **ANYWHERE,
        "quotes of identifiers": lambda size: _readings(_IDENTIFIERS, size),
        "quotes of figures": lambda size: _readings(_NUMBERS, size),
        "quotes of one letter": lambda size: _readings("a", size),
    },
    "ReportDraft": {
        **ANYWHERE,
        "claims of identifiers": lambda size: _claims(_IDENTIFIERS, size),
        "claims of figures": lambda size: _claims(_NUMBERS, size),
        "claims of short words": lambda size: _claims("a ", size),
    },
    "choice of searches": {
        "text": lambda size: _filled(_IDENTIFIERS, size),
        "thoughts begun": lambda size: _filled("<think>", size),
        "one query": lambda size: _called(1, _filled("(migraine AND ", size)),
        "calls written as text": lambda size: _filled(_WRITTEN_CALL, min(size, MAX_ANSWER)),
        "braces": lambda size: _filled('{"name":', min(size, MAX_ANSWER)),
        "calls": lambda size: _called(size // 2000, _filled('"migraine ', 1900)),
    },
}


class Hostile(StandIn):
    """Answers one kind of prompt with something of its own."""

    def __init__(self, kind: str, said: Said) -> None:
        super().__init__()
        self._kind, self._said = kind, said

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        """Answer, hostile or not."""
        if prompt_kind(messages, options) != self._kind:
            return await super().create(messages, **options)
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        reason = "stop" if isinstance(self._said, str) else "function_calls"
        return CreateResult(finish_reason=reason, content=self._said, usage=usage, cached=False)  # type: ignore[arg-type]


async def longest_stall(client: StandIn, max_iterations: int = 1) -> tuple[float, ResearchReport]:
    """The most processor time, in seconds, between two ticks of a clock in a run's loop; and the report."""
    ticks = [time.thread_time()]

    async def tick() -> None:
        while True:
            await asyncio.sleep(TICK_S)
            ticks.append(time.thread_time())

    clock = asyncio.create_task(tick())
    try:
        report = await research(
            QUESTION, model_client=client, offline=True, max_iterations=max_iterations, max_results=MOST_RECORDS
        )
    finally:
        clock.cancel()
        with suppress(asyncio.CancelledError):
            await clock
    ticks.append(time.thread_time())
    return max(after - before for before, after in pairwise(ticks)), report


def shapes(size: int) -> Iterator[tuple[str, str, Said]]:
    """Kind of prompt, shape, and an answer of that shape: whole, and as long as is read at all."""
    for kind, made in SHAPES.items():
        for shape, make in made.items():
            yield kind, shape, make(size)
            if shape not in ANYWHERE and kind != "choice of searches":
                yield kind, f"{shape}, as many as are read", make(MAX_ANSWER * 8 // 10)


async def main(size: int) -> None:
    """Print the stalls, longest last."""
    await longest_stall(StandIn(), 2)  # what is loaded once
    honest, _ = await longest_stall(StandIn(), 2)
    print(f"{honest:6.2f} s  honest answers")
    found = []
    for kind, shape, said in shapes(size):
        stall, report = await longest_stall(Hostile(kind, said), 2 if kind == "JudgeDraft" else 1)
        found.append((stall, kind, shape))
        print(f"{stall:6.2f} s  {kind}: {shape}; {report.stop_reason}", flush=True)
    print(f"longest: {max(found)[0]:.2f} s, {max(found)[1]}: {max(found)[2]}")


if __name__ == "__main__":
    asyncio.run(main(int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 1_000_000))
