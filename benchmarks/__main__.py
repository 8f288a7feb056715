"""Run a benchmark by its name, `make bench-quality` or `python -m benchmarks quality`; without a name, list them."""

import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple


class Benchmark(NamedTuple):
    """What a benchmark runs, one module after another, and what it prints."""

    modules: tuple[str, ...]
    prints: str


BENCHMARKS = {
    "forgery": Benchmark(("forgery",), 'claims forged on abstracts, and which pass (ARGS="abstracts.jsonl.gz")'),
    "injection": Benchmark(("faults.injection",), "readings that text put into records moves"),
    "installs": Benchmark(("installs",), "Willowbark and neighbouring tools, installed and asked; writes their table"),
    "joint": Benchmark(("joint",), 'arms, comparator and direction read jointly (ARGS="--library FILE --small apart")'),
    "library": Benchmark(("library",), 'a library of made-up articles (ARGS="--records 1000000 --folder DIR")'),
    "people": Benchmark(
        ("people",), 'what people meet: corrections, files, MCP, waits (ARGS="--shelf FOLDER --write")'
    ),
    "public": Benchmark(("public",), 'public benchmarks beside published figures (ARGS="FOLDER --library DIR")'),
    "quality": Benchmark(
        ("truth", "screen_readings", "own_quotes", "mentions"),
        "the demo beside a reading of its records, first screens as they were read, names",
    ),
    "recall": Benchmark(("recall",), 'a library\'s trials that a question reaches (ARGS="LIBRARY --depth exhaustive")'),
    "registry": Benchmark(("registry",), 'posted results beside a reading by hand (ARGS="FILE --part apart")'),
    "retrieval": Benchmark(("retrieval",), 'a question\'s records among those collected (ARGS="FILE --among FOLDER")'),
    "screen": Benchmark(("screen",), 'conditions screened over a library (ARGS="FOLDER --library DIR")'),
    "sentences": Benchmark(("sentences",), "true and forged sentences against the checks of a written answer"),
    "smoke": Benchmark(("smoke",), 'time, memory and requests over recorded replies (ARGS="--library DIR")'),
    "soak": Benchmark(("faults.soak",), "eight runs side by side under faults (ARGS=--minutes 10)"),
    "watch": Benchmark(("watch",), 'a year of update files, week by week, for one question (ARGS="--weeks 4")'),
}


def list_benchmarks() -> str:
    """A line for each benchmark: the target of make that runs it, and what it prints."""
    return "\n".join(f"bench-{name:<11} prints {benchmark.prints}" for name, benchmark in BENCHMARKS.items())


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark named first; the rest are options of its last module, since those before it take none.

    Returns:
        The exit code of the first module that failed; 2 for a name that is none.
    """
    name, *options = arguments or [""]
    if name not in BENCHMARKS:
        print(list_benchmarks())
        return 0 if name in ("", "list") else 2
    modules = BENCHMARKS[name].modules
    for module in modules:
        path = module if "." in module else f"benchmarks.{module}"
        own_options = options if module == modules[-1] else []
        code = subprocess.call([sys.executable, "-m", path, *own_options])  # noqa: S603 - a module of the table above
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
