"""What a run says that it will take, against what it took: `python -m benchmarks.estimates`.

Runs over the bundled library on the stand-in of `prompt_tokens.py`, tokens at four characters. The first estimate knows
nothing of the question but its choices, and says from where to where: for little that is found, and for much; the
second comes when the first searches are back, before anything is read.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from benchmarks.prompt_tokens import QUESTION, StandIn

from willowbark.teams.run.research import research_stream

ASKED: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (QUESTION, {"max_iterations": 2}),
    (QUESTION, {"max_iterations": 4}),
    (QUESTION, {"max_iterations": 1, "max_results": 20}),
    (QUESTION, {"max_iterations": 2, "max_results": 15}),
    ("Which existing drugs might slow diabetic kidney disease?", {"max_iterations": 2}),
    ("Which existing drugs help people stop smoking?", {"max_iterations": 2}),
    ("Which existing drugs lower portal hypertension?", {"max_iterations": 2}),
    ("Which existing drugs lower portal hypertension?", {"max_iterations": 3}),
)
_TOLD = re.compile(r"up to about ([\d,]+)(?: to ([\d,]+))? tokens")


async def measured(question: str, choices: Mapping[str, Any]) -> tuple[list[tuple[int, ...]], int]:
    """The estimates of a run, in their order, each a number or two, and the tokens that it took."""
    told, used = list[tuple[int, ...]](), 0
    async for event in research_stream(
        question,
        model_client=StandIn(),
        offline=True,
        max_seconds=3000,
        **choices,
    ):
        told += [
            tuple(int(each.replace(",", "")) for each in found.groups() if each)
            for found in _TOLD.finditer(event.message)
        ]
        if event.report is not None:
            used = event.report.tokens_used
    return told, used


async def main() -> None:
    """Print a line a run."""
    for question, choices in ASKED:
        ((least, most), (second,)), used = await measured(question, choices)
        asked = ", ".join(f"{name} {value}" for name, value in choices.items())
        print(
            f"{used:7,} used; {least:,} to {most:,} said at first ({'' if least <= used <= most else 'not '}kept to), "
            f"{second:7,} after the first searches ({second / used - 1:+.0%}): {question} ({asked})",
            flush=True,
        )


if __name__ == "__main__":
    asyncio.run(main())
