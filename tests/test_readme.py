"""What README and documentation say to type works: Python runs over the bundled library, commands and options exist."""

import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.readme import QUESTION, replace_excerpt, write_excerpt
from faults.server import SourceServer
from typer.main import get_command

from willowbark.teams.faces.cli import app
from willowbark.teams.run.research import research

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"```(?P<kind>\w*)(?P<title>[^\n]*)\n(?P<code>.*?)\n```", re.DOTALL)
RUNNER = """
import ast, asyncio, inspect, sys
code = compile(sys.stdin.read(), "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
result = eval(code, {"__name__": "__main__"})
if inspect.iscoroutine(result):
    asyncio.run(result)
"""


def blocks(*kinds: str) -> Iterator[tuple[Path, re.Match[str]]]:
    for page in PAGES:
        for match in FENCE.finditer(page.read_text(encoding="utf-8")):
            if match["kind"] in kinds:
                yield page, match


def programs() -> list[tuple[str, str]]:
    """All Python of README and documentation, but for files with a name: they are tried where they belong."""
    found = [(p, m["code"]) for p, m in blocks("python") if not m["title"]]
    return [(f"{page.relative_to(ROOT)}#{number}", code) for number, (page, code) in enumerate(found)]


def commands() -> list[tuple[str, list[str]]]:
    """Every `willowbark …` in blocks without a language."""
    found = []
    for page, match in blocks("", "console", "sh", "bash"):
        for line in match["code"].splitlines():
            words = shlex.split(line.replace("…", "a question"))
            names = [place for place, word in enumerate(words) if word.endswith("willowbark") or word == "willowbark"]
            if names:
                found.append((f"{page.relative_to(ROOT)}: {line}", words[names[0] + 1 :]))
    return found


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with SourceServer() as server:
        yield server.url


@pytest.mark.parametrize(("where", "code"), programs(), ids=[where for where, _ in programs()])
def test_an_example_runs(where: str, code: str, address: str, tmp_path: Path) -> None:
    if "frames" in code:
        pytest.importorskip("pandas", reason=f"{where} needs the extra `notebook`")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "WILLOWBARK_LIBRARY__PATH": "bundled",
        "WILLOWBARK_RESEARCH__MAX_ITERATIONS": "1",
        "WILLOWBARK_RESEARCH__MAX_RESULTS_PER_TOOL": "4",
        "PYTHONWARNINGS": "ignore",
    }

    result = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=code,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert result.returncode == 0, f"{where}\n{result.stderr[-2000:]}"


@pytest.mark.parametrize(("where", "words"), commands(), ids=[where for where, _ in commands()])
def test_a_command_and_its_options_exist(where: str, words: list[str]) -> None:
    command = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}

    words = words[: words.index("2>")] if "2>" in words else words
    assert not [word for word in words if word.startswith("-") and word.split("=")[0] not in known], where
    assert command is not get_command(app), f"{where}: no such command"


def test_the_reference_names_every_command_and_option_of_ask() -> None:
    reference = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    command = get_command(app)
    options = [parameter.opts[0] for parameter in command.commands["ask"].params if parameter.opts[0].startswith("-")]  # type: ignore[attr-defined]

    assert not [name for name in command.commands if f"`willowbark {name}" not in reference]  # type: ignore[attr-defined]
    assert not [option for option in options if f"`{option}`" not in reference]


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    named = {name for text in texts for name in re.findall(r"`make ([a-z-]+)`", text)}

    assert named <= targets


def test_the_excerpt_is_the_demos_own_report() -> None:
    report = asyncio.run(research(QUESTION, offline=True, ledger=None))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert replace_excerpt(readme, write_excerpt(report)) == readme, "run `make excerpt`"
