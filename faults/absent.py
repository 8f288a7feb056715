"""F4: nobody home. All sources dead, a model that is down, a model that answers junk."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.records.registry import cards

from .answering import Answer, AnsweringClient, Asked, calls
from .breakage import FaultyServer
from .plan import DeadBy, FaultPlan
from .replies import REPLIES
from .running import FACTOR, QUESTIONS, RunResult, run
from .server import SourceServer
from .verdict import Row, exactly, find_unsaid

_UNREACHABLE = 3  # the command line's exit code for sources that can't be reached
_DEATHS: dict[DeadBy, str] = {"reset": "the connection broke", "status": "(503)", "html": "a web page instead of data"}
"""How all sources are dead, and how a user reads it of each."""
_NO_SOURCE = "no source could be reached"
_INSTEAD = "baseline analyst"
_STANDS_IN = "did not do what it was asked for", "the answer not written", "Rules stand in for it."


class LanguageModel(AnsweringClient):
    """A model that gets words, as language models do, and no request as data."""

    reads_requests = False


def _down(_: Asked) -> Answer:
    raise ConnectionError("the model is down")


def _prose(_: Asked) -> Answer:
    return "As a large language model I would rather speak about the weather. Aspirin cures everything (PMID 1)."


def _wrong_json(asked: Asked) -> Answer:
    if asked.tools:
        return calls(("no_such_tool", {"query": 1}), (asked.tools[0], {"url": "http://169.254.169.254/"}))
    return json.dumps({"claims": "all of them", "confidence": 7, "recommendation": "trust me"})


def _invented(asked: Asked) -> Answer:
    if asked.tools:
        return calls(*((name, {"query": "migraine"}) for name in asked.tools if name.startswith("search_")))
    sentence = {"text": "Aspirinol cured 99 % of all patients in every trial.", "keys": ["pmid:99999999"]}
    places = {"answer": {"works": [sentence] * 3}, "mechanism": [sentence], "would_change": [sentence]}
    return json.dumps({**places, "drugs": [{"drug": "aspirinol", "sentences": [sentence]}]})


def _empty(_: Asked) -> Answer:
    return ""


SPECIALISTS = ("literature", "mechanism", "trials")
_UNUSABLE = {
    **dict.fromkeys(SPECIALISTS, "asked no source"),
    "judge": "no valid JudgeDraft",
    "report": "no valid WrittenDraft",
}


class Junk(NamedTuple):
    """A model that is of no use."""

    name: str
    answer: Callable[[Asked], Answer]
    causes: Mapping[str, str]
    """By agent, what a user reads of why the model's answer was not taken; agents whose answer was are left out."""


JUNK = (
    Junk("model down", _down, dict.fromkeys((*SPECIALISTS, "judge", "report"), "ConnectionError")),
    Junk("model answers prose", _prose, _UNUSABLE),
    Junk("model answers wrong JSON and tool calls", _wrong_json, _UNUSABLE),
    Junk("model invents", _invented, {"judge": "no valid JudgeDraft", "report": "sentences passed the checks"}),
    Junk("model answers nothing", _empty, _UNUSABLE),
)


def nobody_home(runs: int, seed: int) -> Row:
    """F4: a report comes, says what is missing, and holds nothing that no record says."""
    before, notes = time.perf_counter(), list[str]()
    reads = list[str]()
    kinds = len(_DEATHS) + len(JUNK)
    each = max(1, round(runs / kinds))
    with SourceServer() as server:
        endpoints = Endpoints.at(server.url)
        usual = asyncio.run(run(QUESTIONS[0], endpoints, factor=1.0))  # nothing waits where nothing fails
        for junk in JUNK * each:
            result = asyncio.run(run(QUESTIONS[0], endpoints, factor=1.0, client=LanguageModel(junk.answer)))
            notes += [f"{junk.name}: {problem}" for problem in _about_model(result, usual, junk.causes)]
            reads.append(result.work)
    for death, cause in _DEATHS.items():
        with FaultyServer(faults=FaultPlan(seed=seed, dead=dict.fromkeys(cards(), death)).scaled(FACTOR)) as server:
            for _ in range(each):
                found = asyncio.run(run(QUESTIONS[0], Endpoints.at(server.url)))
                reads.append(found.summary)
                notes += [f"all dead by {death}: {problem}" for problem in _about_sources(found, cause)]
    notes += (problem for problem in _command_line())
    figures = [exactly("things said wrong or left unsaid", len(notes), 0)]
    what = "all sources dead, model dead, model junk; the command line once"
    shown = list(dict.fromkeys((*reads[:2], *reads[-1:])))
    return Row("F4", each * kinds, what, seed, time.perf_counter() - before, figures, notes, shown)


def _about_model(found: RunResult, usual: RunResult, causes: Mapping[str, str]) -> list[str]:
    """What a run without a usable model does worse than the baseline analyst's own."""
    if found.failure:
        return [f"no report: {found.failure}"]
    problems = find_unsaid(found.limitations, [(f"{agent}:", cause, _INSTEAD) for agent, cause in causes.items()])
    problems += find_unsaid([found.work], [_STANDS_IN])
    if usual.references and not found.references:
        problems.append("the baseline analyst did not finish: nothing is cited")
    invented = [key for key in found.references if key.startswith(("pmid:", "nct:")) and key not in _recorded()]
    invented += [name for name in found.candidates if canonical_drug(name) is None]
    return problems + [f"invented: {name}" for name in invented]


@cache
def _recorded() -> frozenset[str]:
    """The keys of all publications and trials that the recorded replies hold."""
    text = "".join(file.read_text(encoding="utf-8") for file in REPLIES.rglob("*") if file.is_file())
    pmids = re.findall(r'(?:<PMID[^>]*>|"pmid": ")(\d+)', text)
    return frozenset([f"pmid:{each}" for each in pmids] + [f"nct:{each}" for each in re.findall(r"NCT\d{8}", text)])


def _about_sources(found: RunResult, cause: str) -> list[str]:
    if found.failure:
        return [f"no report: {found.failure}"]
    problems = find_unsaid(found.limitations, [(f"Not available: {source}:", cause) for source in found.asked])
    problems += find_unsaid([found.summary], [(_NO_SOURCE, "No answer")])
    if found.candidates or found.references:
        problems.append("it names candidates or references of which no source told")
    return problems


def _command_line() -> list[str]:
    """Ask on the command line with every source out of reach."""
    nowhere = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "willowbark", "ask", "--quiet", "--max-iterations", "1", QUESTIONS[0]],
            env={**os.environ, **nowhere, "NO_PROXY": "", "WILLOWBARK_RESEARCH__SEARCH_TIMEOUT": "5"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    problems = [] if done.returncode == _UNREACHABLE else [f"the exit code is {done.returncode}, not {_UNREACHABLE}"]
    said = done.stderr.strip().splitlines()
    return problems + ([] if len(said) == 1 and "can't be reached" in said[0] else [f"it says {said}"])
