"""Install Willowbark and neighbouring tools side by side, and print what each brings: `make bench-installs`.

Each goes into an environment of its own in a temporary folder, without a cache, and is then asked a question without a
key. Prints packages, megabytes, seconds of the installation (compare within one run alone) and how the question ended.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
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


TOOLS = (
    Tool("Willowbark", str(ROOT), ("willowbark", "ask", "--offline", "--quiet", QUESTION)),
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
    return f"| {tool.name} | {packages} | {size:,.0f} | {seconds:.0f} | {ask_without_key(tool, folder)} |"


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
        return "answers"
    wants_key = "api_key" in done.stderr or "API_KEY" in done.stderr or "api_key" in done.stdout
    return "ends: a key is missing" if wants_key else f"ends with exit code {done.returncode}"


def main() -> None:
    """Print the table."""
    print("| tool | packages | MB | seconds to install | asked without a key |\n|---|---|---|---|---|")
    for tool in TOOLS:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(tool, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
