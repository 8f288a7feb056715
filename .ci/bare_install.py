"""Run the commands of README and documentation in an installation that has what `pip install willowbark` brings.

    python .ci/bare_install.py path/to/bin/willowbark

Each runs as it is typed, over the bundled library; of servers, of commands that need a key, a file or an extra that is
not there, `--help` is run instead, and said. Prints a line a command; the exit code is 1 where one failed.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"```(\w*)[^\n]*\n(.*?)\n```", re.DOTALL)
QUESTION = "Which drugs help people stop smoking?"
NOT_RUN = (
    "serve",
    "mcp",
    "studio",
    "library",
    "read",
    "forget",
    "resume",
    "--model",
    "--approve",
    "--trace",
    "docx",
    "DIR",
    "--iteration",
)


def commands() -> list[list[str]]:
    """The command lines of blocks, each once; RUN is the last one, and a question that is left out is asked."""
    found = dict[str, list[str]]()
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        for kind, block in FENCE.findall(page.read_text(encoding="utf-8")):
            for line in block.splitlines() if kind in ("", "console", "sh", "bash") else ():
                words = shlex.split(line.replace("…", QUESTION).partition("2>")[0])
                places = [at for at, word in enumerate(words) if word.rpartition("/")[2] == "willowbark"]
                if places and "pip" not in words:
                    typed = ["last" if word == "RUN" else word for word in words[places[0] + 1 :]]
                    found[" ".join(typed)] = typed
    return list(found.values())


def main() -> int:
    """Run them all."""
    program, failed = str(Path(sys.argv[1]).absolute()), 0
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "WILLOWBARK_LIBRARY__PATH": "bundled",
        "WILLOWBARK_RESEARCH__MAX_ITERATIONS": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        for words in [["ask", QUESTION, "--quiet"], ["ask", QUESTION, "--quiet", "--fresh"], *commands()]:
            is_shown = any(each in word.split(",") for word in words for each in NOT_RUN)
            groups = 2 if words[0] in ("studio", "library") and len(words) > 1 else 1
            typed = [*words[:groups], "--help"] if is_shown else words
            run = [program, *typed]
            done = subprocess.run(
                run, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
            )
            failed += done.returncode != 0
            told = "ok" if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
            print(f"willowbark {shlex.join(typed)}: {told}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
