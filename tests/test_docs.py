"""What README and documentation say is so: commands as they are typed, options, files, names, settings, figures."""

import ast
import doctest
import importlib
import json
import pkgutil
import re
import runpy
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import Any, get_args

import pytest
from benchmarks.__main__ import BENCHMARKS
from builders import run_python
from typer.main import get_command

import willowbark
from willowbark.agents import context, exports
from willowbark.agents.assessment import StopReason
from willowbark.teams import guard
from willowbark.teams.config import ResearchSettings, RoleSettings, Settings
from willowbark.teams.faces.cli import app
from willowbark.teams.page import live_runs
from willowbark.teams.run import hooks
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.reply import MAX_BODY_BYTES
from willowbark.tools.library import collected
from willowbark.tools.sources.studies import leads
from willowbark.tools.works import fulltext

mcp = pytest.importorskip("willowbark.teams.faces.mcp", reason="needs the extra `mcp`")

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(ROOT.glob("docs/**/*.md"))
BARE = runpy.run_path(str(ROOT / ".ci" / "bare_install.py"))
FENCE, INLINE = BARE["FENCE"], BARE["INLINE"]
BLOCKS = [(page, match[1], match[2]) for page in PAGES for match in FENCE.finditer(page.read_text(encoding="utf-8"))]
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
    targets |= {f"bench-{name}" for name in BENCHMARKS}
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    named = {name for text in texts for name in re.findall(r"`make ([a-z-]+)`", text)}

    assert named <= targets


def test_every_benchmark_that_make_runs_exists() -> None:
    modules = {module for benchmark in BENCHMARKS.values() for module in benchmark.modules}
    paths = [ROOT / (module.replace(".", "/") if "." in module else f"benchmarks/{module}") for module in modules]

    assert [path.name for path in paths if not path.with_suffix(".py").is_file()] == []


@pytest.mark.parametrize(("page", "kind", "shown"), [(page.name, kind, text) for page, kind, text in BLOCKS])
def test_settings_json_and_imports_that_a_page_shows_are_taken(
    page: str, kind: str, shown: str, tmp_path: Path
) -> None:
    if kind == "toml":
        (tmp_path / "shown.toml").write_text(shown, encoding="utf-8")
        Settings.load(tmp_path / "shown.toml")
    elif kind == "json":
        json.loads(shown)
    elif kind == "python" and not (find_spec("agent_framework") is None and "agent_framework" in shown):
        for node in ast.walk(ast.parse(shown)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("willowbark"):
                for name in node.names:
                    pkgutil.resolve_name(f"{node.module}.{name.name}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_name_of_the_package_in_a_sentence_or_the_reference_is_there(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    names = re.findall(r"`(willowbark(?:\.\w+)+)(?:\(\))?`", text)
    for name, members in re.findall(
        r"^::: (\S+)\n(?:    options:\n)?(?:      members: \[(.*?)\])?", text, re.MULTILINE
    ):
        names += [name, *(f"{name}.{member}" for member in members.split(", ") if members)]
    for name in set(names) - {"willowbark.toml"}:
        pkgutil.resolve_name(name)


NUMBERS = {2: "two", 5: "five", 6: "six", 12: "twelve"}
FULL = fulltext.FULL_TEXT_LIMIT
FIGURES = [
    ("SECURITY.md", f"{NUMBERS[RetryPolicy().attempts]} attempts at most"),
    ("SECURITY.md", f"{MAX_BODY_BYTES >> 20} MB decoded at most"),
    ("SECURITY.md", f"{guard.MOST_CONNECTIONS} connections at most"),
    ("SECURITY.md", f"at most {mcp.MOST_BYTES:,} bytes of text"),
    ("docs/explanation/limits.md", f"Of up to {NUMBERS[FULL]} open articles"),
    (
        "docs/explanation/evidence.md",
        f"({NUMBERS[context.TEXTS_PER_CANDIDATE]} each, {NUMBERS[FULL]} in all",
    ),
    ("docs/how-to/ask-the-evidence.md", f"A record gives {NUMBERS[collected.PER_RECORD]} passages at most"),
    ("docs/how-to/set-the-judge.md", f"| rounds, `max_iterations` | {ResearchSettings().max_iterations} |"),
    ("docs/how-to/set-the-judge.md", f"| `max_seconds` | {ResearchSettings().limits.max_seconds:.0f} |"),
    ("docs/how-to/set-the-judge.md", f"| `quick` | about 60 | {ResearchSettings(depth='quick').page_size} |"),
    ("docs/how-to/ask-a-person.md", f"{ResearchSettings().approval_timeout_s:.0f} by default"),
    ("docs/how-to/use-hooks.md", f"more than {hooks.HOOK_TIMEOUT_S:.0f} seconds"),
    ("docs/how-to/use-over-mcp.md", f"| {mcp.RESEARCH_BYTES // 1000} kB, text and data together |"),
    (
        "docs/how-to/use-over-mcp.md",
        f"name | {mcp.MOST_BYTES // 1000} kB of text; of studies also {mcp.FOUND_BYTES // 1000} kB of data |",
    ),
    ("docs/how-to/use-the-page.md", f"{NUMBERS[live_runs.MOST_AT_ONCE].capitalize()} runs can be under way at once"),
    ("docs/reference/tools.md", f"at most {NUMBERS[leads.MOST_TRIALS]} trials are fetched"),
]


TEAMS = [
    ROOT / "docs/how-to" / f"{name}.md"
    for name in ("use-the-team-in-autogen", "use-a-function", "use-a-stock-agent", "use-somebodys-mcp-server")
]
THEIRS = 'command="biomcp", args=["run"]'
"""How a page starts somebody's server; here it is the tests' own."""


@pytest.mark.whole
@pytest.mark.parametrize("shown", [text for page, kind, text in BLOCKS if page in TEAMS and kind == "python"])
def test_each_program_on_teams_runs(shown: str, tmp_path: Path) -> None:
    server = str(ROOT / "tests" / "small_mcp_server.py")
    shown = shown.replace(THEIRS, f'command={sys.executable!r}, args=[{server!r}, "prompt"]')
    program = f"import asyncio\n\nasync def main():\n{indent(shown, '    ')}\n\nasyncio.run(main())\n"
    done = run_python("-c", program, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_how_to_and_tutorial_holds_something_that_is_run() -> None:
    pages = [*ROOT.glob("docs/how-to/*.md"), *ROOT.glob("docs/tutorial/*.md")]
    idle = [page.stem for page in pages if "```python" not in page.read_text("utf-8") and not BARE["complete"]([page])]
    assert idle == ["release"]


def test_pages_show_every_picture_there_is_and_no_other() -> None:
    shown = {name for page in PAGES for name in re.findall(r"pictures/([\w-]+\.png)", page.read_text(encoding="utf-8"))}
    assert shown == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}


@pytest.mark.parametrize(("page", "words"), FIGURES)
def test_a_figure_that_a_page_states_is_the_programs(page: str, words: str) -> None:
    assert words in " ".join((ROOT / page).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("docs/explanation/evidence.md", get_args(StopReason)),
        ("docs/how-to/export.md", [each.name for each in exports.FORMATS]),
        ("docs/how-to/swap-the-model.md", RoleSettings.model_fields),
    ],
)
def test_a_list_of_names_is_whole(page: str, names: Iterable[str]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [name for name in names if f"`{name}`" not in text] == []


MODULES = sorted(each.name for each in pkgutil.walk_packages(willowbark.__path__, "willowbark."))


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_the_examples_of_a_module_hold(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        pytest.skip(f"{name} needs an extra: {missing.name}")
    assert doctest.testmod(module).failed == 0
