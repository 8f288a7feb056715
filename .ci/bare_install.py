"""Run the command lines of README and documentation in an installation that has the package and what it brings.

    python .ci/bare_install.py path/to/bin/willowbark [--extras]

Bash runs each line once, as it is typed, in a home folder that has records of PubMed, a library built of them, and a
run. The bundled library answers, and a loopback server in OpenAI's place. Servers of Willowbark run until they say
where they listen. Prints a table: exit code, seconds, command. A command works when it ends with 0 (`watch run`: or
10), or names the extra or program that it needs; with `--extras` only Studio and a browser may be missing. The exit
code is 1 where one does not work.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from typer import BadParameter
from typer.main import get_command

from willowbark.teams.faces.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("docs/**/*.md"))]
FENCE = re.compile(r"```(\w*)[^\n]*\n(.*?)\n```", re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PROGRAM = re.compile(r"(?:^|(?<=[ /]))willowbark(?= |$)")
QUESTION = "Which drugs help people stop smoking?"
STAND_INS = {
    r'"…"': f'"{QUESTION}"',
    r"--to …": "--to md",
    r"\bRUN\b": "last",
    r"\bFILE\b": "export.xml",
    r"\bFOLDER\b": "~/pubmed",
    r"\bDIR\b": "mirror",
    r"CONDITIONS\.csv": "conditions.csv",
    r"\bNAME\b": "smoking",
    r"--port \d+": "--port 0",
    r"(willowbark serve)": r"\1 --port 0",
    r"_TOKEN=…": "_TOKEN=sixteen-letters-and-more",
    r"_KEY=…": "_KEY=none",
    r"^(?:[\d*]+ ){5} *": "",  # when cron calls it
}
NEEDS = re.compile(
    r"(?:uv tool|pipx runpip willowbark|pip) install [^']*'[^']+'|`make studio`|needs Chromium|this is no terminal"
)
READY_S, ENDS_S = 60, 600


def documented(pages: Iterable[Path] = PAGES) -> list[tuple[str, str]]:
    """Every line that calls `willowbark`, of blocks and within sentences, and the page that it stands on."""
    found = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        blocks = [code for kind, code in FENCE.findall(text) if kind in ("", "console", "sh", "bash")]
        lines = [line for block in blocks for line in block.splitlines()]
        for line in [*lines, *INLINE.findall(FENCE.sub("", text))]:
            if PROGRAM.search(line) and not re.search(r"pip install|mcp add|^(?:which|uvx|docker|pipx) ", line):
                found.append((page.relative_to(ROOT).as_posix(), line))
    return found


def complete(pages: Iterable[Path]) -> list[str]:
    """The lines that lack no argument, each once, with something real in the place of RUN and other stand-ins.

    Those that name a model come first, so that `last` is a run of the rules, which finds something.
    """
    lines = dict[str, None]()
    for _, line in documented(pages):
        typed = line
        for stand_in, real in STAND_INS.items():
            typed = re.sub(stand_in, real, typed)
        with suppress(BadParameter):  # one that names a command alone, or leaves out a part with "…"
            if "…" not in typed and take_apart(typed):
                lines[typed] = None
    return sorted(lines, key=lambda line: "--model" not in line)


def take_apart(line: str, missing: str = "") -> bool:
    """Have the program take a command line apart, without running it; gives whether it does something.

    Args:
        line: as documentation has it.
        missing: what stands in for each argument that a line within a sentence leaves out.

    Raises:
        BadParameter: there is no such command, an argument is missing, or a value is none.
    """
    words = [word.partition("|")[0] for word in shlex.split(line.replace("\\|", "|"))]
    start = next(at for at, word in enumerate(words) if word.rpartition("/")[2] == "willowbark")
    ends = [at for at, word in enumerate(words) if at > start and word in ("2>", ">", "", "&&")]
    words = words[start + 1 : min(ends, default=len(words))]
    command: Any = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    if hasattr(command, "commands"):  # a group: options of its own, or its name alone in a sentence
        if words and words[0] not in {option for parameter in command.params for option in parameter.opts}:
            raise BadParameter(f"no such command: {words[0]}")
        return bool(words)
    if missing and not [word for word in words if not word.startswith("-")]:
        words += [missing for each in command.params if each.param_type_name == "argument" and each.required]
    command.make_context("willowbark", words)
    return True


@contextmanager
def prepared(program: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """A home folder with what the documentation takes for granted, and the environment for it."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    from autogen_core.models import UserMessage  # noqa: PLC0415
    from batch_servers import OpenAIBatchServer  # noqa: PLC0415
    from benchmarks.baseline import write_baseline  # noqa: PLC0415
    from benchmarks.prompt_tokens import quote_passages  # noqa: PLC0415
    from openai_server import rote  # noqa: PLC0415

    def answer(body: dict[str, Any]) -> str:
        form = body.get("response_format", {}).get("json_schema")
        if form is None:
            return "ready"
        said = rote(form["schema"])
        if "claims" in said:
            said = quote_passages([UserMessage(content=body["messages"][-1]["content"], source="user")])
        return json.dumps(said | ({"readings": []} if "readings" in said else {}))

    with tempfile.TemporaryDirectory() as folder, OpenAIBatchServer(answer).running() as url:
        home = Path(folder)
        write_baseline(home / "mirror", 200)
        shutil.copy(ROOT / "tests" / "replies" / "pubmed" / "efetch.xml", home / "export.xml")
        (home / "conditions.csv").write_text("condition\nmigraine\n", encoding="utf-8")
        (home / "review").symlink_to(home)
        for venv in (".venv", ".venvs/studio"):
            (home / venv).mkdir(parents=True)
            (home / venv / "bin").symlink_to(program.parent)
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR", "CHROMIUM") if name in os.environ}
        environment = kept | {
            "HOME": folder,
            "PATH": os.pathsep.join([str(program.parent), os.defpath, "/usr/local/bin"]),
            "OPENAI_API_KEY": "none",
            "WILLOWBARK_LIBRARY__PATH": "bundled",
            "OPENAI_BASE_URL": url,
            "WILLOWBARK_RESEARCH__MAX_ITERATIONS": "2",
        }
        for first in (["library", "build", "pubmed", "--from", "mirror"], ["ask", "--offline", QUESTION]):
            subprocess.run([program, *first], cwd=home, env=environment, check=True, capture_output=True)
        yield home, environment


def run(line: str, home: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Have bash run a line; gives the exit code, and what was said last."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have it ignored in what runs in the background
    log = home / "said.log"
    serves = re.search(r"willowbark (serve|mcp --http)", line)
    with log.open("wb") as said:
        process = subprocess.Popen(
            ["bash", "-c", f"{line}\nexit $?"],  # bash stays: `--install-completion` looks for it
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        until = time.monotonic() + READY_S
        while serves and process.poll() is None and time.monotonic() < until:
            if b"http://" in log.read_bytes():
                os.killpg(process.pid, signal.SIGINT)
                break
            time.sleep(0.05)
        try:
            code = process.wait(timeout=READY_S if serves else ENDS_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
    return code, log.read_text(encoding="utf-8", errors="replace").strip()


def main(program: Path, *, extras: bool, pages: Iterable[Path] = PAGES) -> list[str]:
    """Run the lines of the pages, print the table; gives what did not work, a line each."""
    failed, needing, began = [], 0, time.monotonic()
    print("exit  seconds  command")
    with prepared(program) as (home, environment):
        for line in complete(pages):
            start = time.monotonic()
            code, said = run(line, home, environment)
            needs = NEEDS.search(said) if code == 2 else None
            works = code == 0 or (code == 10 and "watch run" in line) or (code == 130 and "http://" in said)
            note = ""
            if needs and not (extras and " install " in needs[0]):
                note, needing = f"  # needs {needs[0]}", needing + 1
            elif not works:
                note = f"  # FAILED: {said[-400:]}"
                failed.append(f"{line}: exit code {code}: {said[-400:]}")
            print(f"{code:4}  {time.monotonic() - start:7.1f}  {line}{note}", flush=True)
    print(f"{len(failed)} failed, {needing} name what they need; {time.monotonic() - began:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]).absolute(), extras="--extras" in sys.argv)))
