"""Install Willowbark and neighbouring tools side by side; write what each brings into the docs: `make bench-installs`.

Each goes into an environment of its own in a temporary folder, without a cache, and is then asked a question without a
key. The table has packages, megabytes, seconds of the installation (compare within one run alone) and how the question
ended; it stands in `docs/explanation/why.md` between two marks.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.marked import replace_part

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "why.md"
HEAD = "| tool | packages | MB | seconds to install | asked without a key |\n|---|---|---|---|---|\n"
ANSWER_S = 900  # for a question, on a machine that others use too
QUESTION = "Which existing drugs could prevent migraine attacks?"
PAPER = "Gabapentin in migraine. Attacks fell more with gabapentin than with placebo in a trial of 143 people.\n"
_RESEARCHER = f"""
import asyncio
from gpt_researcher import GPTResearcher
async def main():
    researcher = GPTResearcher(query={QUESTION!r})
    await researcher.conduct_research()
    print(await researcher.write_report())
asyncio.run(main())
"""


class Tool(NamedTuple):
    """A tool, what installs it, and how it is asked."""

    name: str
    requirement: str
    asked: Sequence[str]
    """Program of its environment, and arguments."""
    answers: str = "answers"
    """What the table says where it does."""


TOOLS = (
    Tool(
        "Willowbark",
        str(ROOT),
        ("willowbark", "ask", "--offline", "--quiet", QUESTION),
        "answers (bundled library, no model)",
    ),
    Tool("paper-qa", "paper-qa", ("pqa", "ask", QUESTION)),
    Tool("gpt-researcher", "gpt-researcher", ("python", "-c", _RESEARCHER)),
)


def measure(tool: Tool, folder: Path) -> str:
    """Install a tool and ask it; return a line of the table."""
    uv = str(Path(sysconfig.get_path("scripts")) / "uv")
    venv = str(folder / "venv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, venv], check=True)  # noqa: S603
    began = time.monotonic()
    install = [uv, "pip", "install", "--quiet", "--no-cache", "--python", venv, tool.requirement]
    subprocess.run(install, check=True)  # noqa: S603
    seconds = time.monotonic() - began
    library = next((folder / "venv" / "lib").glob("python3*"))
    packages = len(list(library.glob("site-packages/*.dist-info")))
    size = sum(path.stat().st_size for path in library.rglob("*") if path.is_file()) / 1e6
    name = f"{tool.name} {find_version(tool, library)}"
    return f"| {name} | {packages} | {size:,.0f} | {seconds:.0f} | {ask_without_key(tool, folder)} |\n"


def find_version(tool: Tool, library: Path) -> str:
    """Read a tool's version from the name of its metadata's folder.

    Raises:
        SystemExit: the tool is not there.
    """
    stem = tool.name.lower().replace("-", "[_-]")
    for path in sorted(library.glob("site-packages/*.dist-info")):
        match = re.fullmatch(rf"{stem}-(.+)", path.stem, re.I)
        if match:
            return match[1]
    raise SystemExit(f"{tool.name} was installed and its metadata is not in {library}: adapt find_version")


def ask_without_key(tool: Tool, folder: Path) -> str:
    """Ask a question in an environment without keys; say how that ended."""
    papers = folder / "papers"
    papers.mkdir()
    (papers / "paper.txt").write_text(PAPER, encoding="utf-8")
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    program, *arguments = tool.asked
    command = [str(folder / "venv" / "bin" / program), *arguments]
    settings = {"cwd": papers, "env": environment | {"HOME": str(folder)}, "capture_output": True, "text": True}
    try:
        done = subprocess.run(command, **settings, timeout=ANSWER_S, check=False)  # type: ignore[call-overload]  # noqa: S603
    except subprocess.TimeoutExpired:
        return f"no answer in {ANSWER_S} s"
    if done.returncode == 0:
        return tool.answers
    wants_key = "api_key" in done.stderr or "API_KEY" in done.stderr or "api_key" in done.stdout
    return "ends: a key is missing" if wants_key else f"ends with exit code {done.returncode}"


def main() -> None:
    """Print the table line by line, and write it into its page."""
    print(HEAD, end="")
    lines = []
    for tool in TOOLS:
        with tempfile.TemporaryDirectory() as folder:
            line = measure(tool, Path(folder))
        print(line, end="", flush=True)
        lines.append(line)
    day = datetime.now(UTC).date()
    table = f"{HEAD}{''.join(lines)}\nMeasured on {day} by `make bench-installs`, which writes this table.\n"
    PAGE.write_text(replace_part(PAGE.read_text(encoding="utf-8"), "installs", table), encoding="utf-8")


if __name__ == "__main__":
    main()
