"""What README and documentation name exists: commands as they are typed, options, files, targets, names in code."""

import re
import runpy
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from willowbark.teams.faces.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(ROOT.glob("docs/**/*.md"))
BARE = runpy.run_path(str(ROOT / ".ci" / "bare_install.py"))
FENCE, INLINE = BARE["FENCE"], BARE["INLINE"]
OTHERS = {"claude_desktop_config", "test_a_429_is_worth_retrying"}  # another program's file, and an example of a name
CODE = (".py", ".toml", ".in", ".txt", ".tsv", ".j2", ".html", ".js", ".css", ".json", ".ipynb", "Makefile", "run")
SOURCES = ("agents", "tools", "teams", "src", "tests", "benchmarks", "faults", "studio", "examples", "notebooks", ".ci")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?")
STAND_IN = re.compile(r"FOLDER|NAME|yoursource")
OPTION = re.compile(r"--[a-z][a-z-]+")


@pytest.mark.parametrize(("page", "line"), BARE["documented"]([*BARE["PAGES"], ROOT / "CONTRIBUTING.md"]))
def test_a_command_is_one_that_the_program_takes(page: str, line: str) -> None:
    BARE["take_apart"](line, missing="last")


@cache
def code() -> str:
    """All that the project's own code holds, and its data by name."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    texts = [
        (ROOT / name).read_text(encoding="utf-8", errors="replace")
        for name in listed
        if name.endswith(CODE) and (name.startswith(SOURCES) or "/" not in name) and (ROOT / name).is_file()
    ]
    return "\n".join([*listed, *texts])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_name_file_and_option_in_a_sentence_exists(page: Path) -> None:
    known = set(re.findall(r"\w+", code())) | OTHERS
    options = {option for text in [code()] for option in OPTION.findall(text)}
    for command in every_command(get_command(app)):
        options |= {option for each in command.params for option in each.opts}
    missing = []
    for shown in INLINE.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if NAME.fullmatch(shown) and ("_" in shown or re.search(r"[a-z][A-Z]", shown)):
            missing += [shown for part in shown.removesuffix("()").split(".") if part not in known]
        missing += [shown for option in OPTION.findall(shown) if option not in options]
        is_path = re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", shown) and shown.partition("/")[0] in SOURCES
        if is_path and not (ROOT / shown).exists() and not STAND_IN.search(shown):
            missing.append(shown)
    assert missing == []


def every_command(command: Any) -> list[Any]:
    """A command and those within it."""
    within = [every_command(each) for each in getattr(command, "commands", {}).values()]
    return [command, *(each for some in within for each in some)]


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
