"""`python -m faults.guards`: does the fault matrix bite? Breaks one guard of the program at a time, and runs its row.

Each broken guard is one that a user relies on: that losses are named with their cause, that nothing is asked twice
after a kill, that what was altered is not believed, that runs side by side wait for each other. The program is copied,
changed in one place, and measured there; a row that still holds has not noticed. No file of the checkout is changed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
_COPIED = ("agents", "tools", "teams", "faults", "benchmarks", "src", "tests/replies")
_SCALES = {"F4": 0.02, "F8": 0.06, "F9": 0.18, "F12": 0.1, "F14": 0.2}
"""Shares of the rows' full sizes: one run of each kind at least."""
_PATIENCE_S = 900.0


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard of the program, and what it becomes."""

    name: str
    """What a user could no longer rely on."""
    row: str
    """Of the matrix, which is due to notice."""
    path: str
    before: str
    """Text that stands once in the file."""
    after: str

    def break_in(self, root: Path) -> None:
        """Break it in a copy of the program; ValueError where the text does not stand there once."""
        file = root / self.path
        text = file.read_text(encoding="utf-8")
        if text.count(self.before) != 1:
            raise ValueError(f"{self.path} has {text.count(self.before)} times {self.before!r}, not once")
        file.write_text(text.replace(self.before, self.after), encoding="utf-8")


GUARDS = (
    Guard(
        "a report says why a model was not used",
        "F4",
        "agents/asking/answers.py",
        "        answer.failures.append(outcome)\n",
        '        answer.failures.append("the model failed")\n',
    ),
    Guard(
        "a report says who wrote in a model's place",
        "F4",
        "agents/asking/answers.py",
        'instead = f"; {name_analyst(self.by)} answered instead" if self.by is not None else ""',
        'instead = ""',
    ),
    Guard(
        "a lost source is named with its cause",
        "F4",
        "agents/report/templates/limitations.md.j2",
        "Not available: {{ failure }}.",
        "Not available: a source.",
    ),
    Guard(
        "a model's answers are kept, and asked for once",
        "F8",
        "teams/ledger/model_calls.py",
        "        if journal is not None:\n            cost = ",
        "        if journal is not None and self.reads_requests:\n            cost = ",
    ),
    Guard(
        "a source's replies are kept, and asked for once",
        "F8",
        "teams/ledger/journal.py",
        "            rows = self._database.query(_REPLY, request, self.run_id, since.isoformat())\n",
        "            rows = self._database.query(_REPLY, '', self.run_id, since.isoformat())\n",
    ),
    Guard(
        "a resumed run reads what it read before",
        "F8",
        "teams/ledger/model_calls.py",
        '    text = _MARKER.sub(r"\\1>", _CLOCK.sub("", text))\n',
        "",
    ),
    Guard(
        "altered replies are not believed",
        "F9",
        "teams/ledger/database.py",
        "if unpacker.eof and expected in (None, compute_digest(data)):",
        "if unpacker.eof:",
    ),
    Guard(
        "a run is gone on with by one process alone",
        "F9",
        "teams/ledger/runs.py",
        'lock.execute("BEGIN EXCLUSIVE")',
        'lock.execute("BEGIN")',
    ),
    Guard(
        "a full disk is named",
        "F9",
        "teams/ledger/database.py",
        '    "full|no space": "cannot grow: the disk is full;',
        '    "full|no space": "cannot grow;',
    ),
    Guard(
        "runs that share a ledger wait for each other",
        "F12",
        "teams/ledger/database.py",
        "timeout=busy_timeout_s, isolation_level=None",
        "timeout=0.0, isolation_level=None",
    ),
    Guard(
        "a run takes no answer that a model gave another run",
        "F12",
        "teams/ledger/journal.py",
        '"SELECT answer FROM model_call WHERE request = ? AND run = ? LIMIT 1", request, self.run_id\n',
        '"SELECT answer FROM model_call WHERE request = ? LIMIT 1", request\n',
    ),
    Guard(
        "a report says what became of a hostile model server",
        "F14",
        "agents/reporter.py",
        "{stand_in}, since {analyst} {failed or f'gave no report: {failure}'}",
        "{stand_in}",
    ),
)


def measure(root: Path, row: str, jobs: int) -> list[str]:
    """Measure a row in a copy of the program; return the figures that fall short, and what went wrong otherwise."""
    command = [sys.executable, "-m", "faults.matrix", "--only", row, "--scale", str(_SCALES[row]), "--json"]
    paths = os.pathsep.join(map(str, (root / "src", root)))
    try:
        done = subprocess.run(
            [*command, "--jobs", str(jobs)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ["it did not end"]
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return [f"it measured nothing: {done.stderr.strip().splitlines()[-1:]}"]
    return [_describe(figure) for figure in json.loads(lines[0])["figures"] if _falls_short(figure)]


def _falls_short(figure: dict[str, float]) -> bool:
    """Whether a figure is out of its bounds, other than one that a busy machine may spoil."""
    low, high = figure["at_least"], figure["at_most"]
    is_low = low is not None and figure["measured"] < low
    is_high = high is not None and figure["measured"] > high
    return (is_low or is_high) and not figure["timed"]


def _describe(figure: dict[str, float]) -> str:
    return f"{figure['name']}: {figure['measured']:g}"


def copy_program(folder: Path) -> Path:
    """Copy what the matrix needs, without caches."""
    for name in _COPIED:
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Break each guard and print whether its row noticed; 1 where one did not, or where a row falls short as it is."""
    parser = argparse.ArgumentParser(prog="python -m faults.guards", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=_SCALES, help=f"some of {', '.join(_SCALES)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes side by side")
    asked = parser.parse_args(arguments)
    chosen = [guard for guard in GUARDS if guard.row in (asked.only or _SCALES)]
    noticed = 0
    for row in dict.fromkeys(guard.row for guard in chosen):
        with tempfile.TemporaryDirectory() as folder:
            problems = measure(copy_program(Path(folder)), row, asked.jobs)
        if problems:
            print(f"{row} falls short with nothing broken: {'; '.join(problems)}")
            return 1
    for guard in chosen:
        with tempfile.TemporaryDirectory() as folder:
            root = copy_program(Path(folder))
            guard.break_in(root)
            problems = measure(root, guard.row, asked.jobs)
        noticed += bool(problems)
        print(
            f"{guard.row:<4} {'NOTICED' if problems else 'UNNOTICED'}  {guard.name}  ({'; '.join(problems)})",
            flush=True,
        )
    print(f"noticed {noticed} of {len(chosen)}")
    return int(noticed < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
