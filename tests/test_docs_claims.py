"""What README and documentation state is so: settings, data, names in code, figures and lists."""

import ast
import json
import pkgutil
import re
import runpy
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import pytest

from willowbark.agents import context
from willowbark.agents.assessment import StopReason
from willowbark.teams import exports
from willowbark.teams.config import ResearchSettings, RoleSettings, Settings
from willowbark.teams.ledger import ledger
from willowbark.teams.page import guard, live_runs
from willowbark.teams.run import hooks
from willowbark.tools import collected
from willowbark.tools.http import wire
from willowbark.tools.http.limiter import RetryPolicy
from willowbark.tools.library import index
from willowbark.tools.sources.studies import leads
from willowbark.tools.works import fulltext

mcp = pytest.importorskip("willowbark.teams.faces.mcp", reason="needs the extra `mcp`")

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(ROOT.glob("docs/**/*.md"))
BARE = runpy.run_path(str(ROOT / ".ci" / "bare_install.py"))
FENCE = BARE["FENCE"]
BLOCKS = [(page, match[1], match[2]) for page in PAGES for match in FENCE.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "shown"), [(page.name, text) for page, kind, text in BLOCKS if kind == "toml"])
def test_settings_that_a_page_shows_are_taken(page: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "shown.toml").write_text(shown, encoding="utf-8")
    Settings.load(tmp_path / "shown.toml")


@pytest.mark.parametrize(("page", "shown"), [(page.name, text) for page, kind, text in BLOCKS if kind == "json"])
def test_json_that_a_page_shows_is_json(page: str, shown: str) -> None:
    json.loads(shown)


@pytest.mark.parametrize(
    ("page", "shown"),
    [(page.name, text) for page, kind, text in BLOCKS if kind == "python"],
)
def test_what_an_example_imports_of_the_package_is_there(page: str, shown: str) -> None:
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
    ("SECURITY.md", f"{wire.MAX_BODY_BYTES >> 20} MB decoded at most"),
    ("SECURITY.md", f"ended after {guard.REQUEST_S:.0f} seconds, {guard.MOST_CONNECTIONS} connections at most"),
    ("SECURITY.md", f"at most {mcp.MOST_BYTES:,} bytes of text"),
    ("docs/explanation/limits.md", f"Of up to {NUMBERS[FULL]} open articles"),
    (
        "docs/explanation/evidence.md",
        f"({NUMBERS[context.TEXTS_PER_CANDIDATE]} each, {NUMBERS[FULL]} in all",
    ),
    ("docs/how-to/ask-the-evidence.md", f"A record gives {NUMBERS[collected.PER_RECORD]} passages at most"),
    ("docs/how-to/resume.md", f"Above {ledger.MAX_BYTES >> 30} GiB"),
    ("docs/how-to/run-offline.md", f"of more than {index._IN_MEMORY_BYTES / 1e6:.0f} MB"),
    ("docs/how-to/set-the-judge.md", f"| rounds, `max_iterations` | {ResearchSettings().max_iterations} |"),
    ("docs/how-to/set-the-judge.md", f"| `max_seconds` | {ResearchSettings().limits.max_seconds:.0f} |"),
    ("docs/how-to/set-the-judge.md", f"| `quick` | about 60 | {ResearchSettings(depth='quick').page_size} |"),
    ("docs/how-to/ask-a-person.md", f"{ResearchSettings().approval_timeout_s:.0f} by default"),
    ("docs/how-to/use-hooks.md", f"more than {hooks.HOOK_TIMEOUT_S:.0f} seconds"),
    ("docs/how-to/use-over-mcp.md", f"| {mcp.RESEARCH_BYTES // 1000} kB, text and data together |"),
    (
        "docs/how-to/use-over-mcp.md",
        f"each that the settings name | {mcp.MOST_BYTES // 1000} kB |",
    ),
    ("docs/how-to/use-the-page.md", f"{NUMBERS[live_runs.MOST_AT_ONCE].capitalize()} runs can be under way at once"),
    ("docs/reference/tools.md", f"at most {NUMBERS[leads.MOST_TRIALS]} trials are fetched"),
]


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
        ("docs/how-to/use-over-mcp.md", mcp.QUESTIONS),
        ("docs/how-to/export.md", [each.name for each in exports.FORMATS]),
        ("docs/how-to/swap-the-model.md", RoleSettings.model_fields),
    ],
)
def test_a_list_of_names_is_whole(page: str, names: Iterable[str]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [name for name in names if f"`{name}`" not in text] == []
