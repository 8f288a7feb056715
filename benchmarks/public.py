"""Public benchmarks in one command, beside published figures: `make bench-public ARGS="path/to/folder"`.

    python -m benchmarks.public [FOLDER] [--library DIR] [--unlearnt] [--only NAME …] [--keep DIR]

The data are not part of the project: whoever measures brings them, and `SETS` says from where. A set whose file is
missing is named in a line and the rest runs; with no file at all nothing is measured, which is no failure. Nothing of
the program is tuned on these sets; `docs/explanation/benchmarks.md` says what it was trained on, and shows a run.

Exit status: 0, or 1 where a set could not be measured though its files are there.
"""

import argparse
import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import conditions
from benchmarks.public_claims import measure_abstracts, measure_question_kinds, measure_yes_no_questions
from benchmarks.public_reviews import measure_reviews
from benchmarks.public_trials import measure_oncology_trials, measure_trials

FOLDER = Path(__file__).parent / "data"


class Missing(Exception):
    """What a set needs, and is not there."""


class SetFiles(NamedTuple):
    """What is measured on, and how."""

    folder: Path
    library: Path | None
    """Of abstracts; None: the folder's own, if it holds one."""
    unlearnt: bool
    """Whether the records that the reader learnt from are left out of it."""
    keep: Path | None
    """Where reports are kept and found again; None keeps none."""

    def file(self, *patterns: str) -> Path:
        """The first file of the folder whose name fits.

        Raises:
            Missing: none does.
        """
        for pattern in patterns:
            paths = sorted(self.folder.glob(pattern))
            if paths:
                return paths[0]
        raise Missing(f"no {patterns[0]}")


Measure = Callable[[SetFiles], Iterator[str]]


class BenchmarkSet(NamedTuple):
    """A set: its name on the command line, where its files come from, and what measures it."""

    name: str
    source: str
    measure: Measure


def measure_conditions(files: SetFiles) -> Iterator[str]:
    """Whole runs on conditions by seed; the tables that are not there are told."""
    tables, missing = conditions.read_tables(files.folder)
    if not tables.drawn:
        raise Missing(f"no {' or '.join(missing)}")
    world = None if files.library else files.file("world*.jsonl.gz")
    yield from (f"    without {pattern}" for pattern in missing)
    with conditions.open_unlearnt_library(files.library, world, files.unlearnt) as library:
        yield from conditions.measure(library, tables, keep=files.keep)


def run_module(name: str, *patterns: str, needs: str = "", whole_folder: bool = False) -> Measure:
    """A set that a module of its own measures, in a process of its own."""

    def measure(files: SetFiles) -> Iterator[str]:
        file = files.file(*patterns)
        if needs and importlib.util.find_spec(needs) is None:
            raise Missing(f"the package {needs} is not installed")
        command = [sys.executable, "-m", f"benchmarks.{name}", str(files.folder if whole_folder else file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603
            assert running.stdout is not None
            yield from (f"    {line.rstrip()}" for line in running.stdout)
        if running.returncode < 0 or running.returncode > 1:
            raise RuntimeError(f"benchmarks.{name} ended with {running.returncode}")

    return measure


SETS = (
    BenchmarkSet(
        "clinifact",
        "https://github.com/ds4dh/CliniFact, data/processed/primary_outcome_publication_dataset",
        lambda files: measure_trials(files.file("clinifact*.jsonl.gz", "test_set.csv")),
    ),
    BenchmarkSet(
        "oncology",
        "the oncology trials of CliniFact",
        lambda files: measure_oncology_trials(files.file("clinifact*.jsonl.gz", "test_set.csv")),
    ),
    BenchmarkSet(
        "medevidence",
        "https://github.com/zy-f/med-evidence, run-med-evidence/datasets/med-evidence-abstract.jsonl",
        lambda files: measure_reviews(files.file("medevidence*.jsonl.gz", "med-evidence*.jsonl*")),
    ),
    BenchmarkSet(
        "evidence-inference",
        "https://github.com/jayded/evidence-inference, annotations of version 2",
        lambda files: measure_abstracts(files.file("evidence_inference*.jsonl.gz")),
    ),
    BenchmarkSet(
        "pubmedqa",
        "https://github.com/pubmedqa/pubmedqa, data/ori_pqal.json",
        lambda files: measure_yes_no_questions(files.file("pubmedqa*.json.gz", "ori_pqal.json")),
    ),
    BenchmarkSet("questions", "BioASQ, as below", lambda files: measure_question_kinds(files.file("bioasq*.jsonl.gz"))),
    BenchmarkSet(
        "retrieval",
        "BioASQ's files with snippets (http://participants-area.bioasq.org, 7b to 9b)",
        run_module("retrieval", "bioasq*.jsonl.gz"),
    ),
    BenchmarkSet(
        "mechanisms", "https://github.com/SuLab/DrugMechDB", run_module("mechanism_paths", "drugmechdb*.jsonl.gz")
    ),
    BenchmarkSet(
        "conditions",
        "a library of abstracts (world*.jsonl.gz, or --library), repoDB, PharmacotherapyDB and Every Cure's lists",
        measure_conditions,
    ),
)


def main() -> int:
    """Measure what can be measured, print it, and say in a line each what could not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="holds the files of the sets")
    parser.add_argument("--library", type=Path, help="a local library of abstracts to ask, instead of the folder's own")
    parser.add_argument(
        "--unlearnt", action="store_true", help="leave out of it the records that the reader learnt from"
    )
    parser.add_argument(
        "--only", nargs="+", choices=[benchmark_set.name for benchmark_set in SETS], help="sets to measure"
    )
    parser.add_argument("--keep", type=Path, help="keep reports on conditions there, and take them from there")
    options = parser.parse_args()
    files = SetFiles(options.folder, options.library, options.unlearnt, options.keep)
    measured = 0
    failed = 0
    for benchmark_set in SETS:
        if options.only and benchmark_set.name not in options.only:
            continue
        began = time.monotonic()
        lines = 0
        try:
            for line in benchmark_set.measure(files):
                if not lines:
                    print(f"{benchmark_set.name}:")
                lines += 1
                print(line, flush=True)
        except Missing as missing:
            print(f"{benchmark_set.name}: not measured, {missing}; from {benchmark_set.source}", flush=True)
            continue
        except Exception as error:  # noqa: BLE001  one set's failure is no other's
            failed += 1
            print(f"{benchmark_set.name}: not measured, {type(error).__name__}: {error}", flush=True)
            continue
        measured += 1
        print(f"    ({time.monotonic() - began:.0f} s)", flush=True)
    if not measured and not failed:
        print(f"nothing measured: put the files named above into {files.folder}, or name a folder that holds them")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
