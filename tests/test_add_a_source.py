"""The how-to "Add a source", walked step by step in a copy of the house: its two files, and nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SEEN = """
import json
from willowbark.agents.baseline.client import BaselineChatCompletionClient
from willowbark.agents.report.forms import safe_url
from willowbark.teams.config import Settings
from willowbark.teams.faces.doctor import list_addresses
from willowbark.teams.research_team import default_participants
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.registry import get_fresh_days, list_offered, title_of

team = default_participants(BaselineChatCompletionClient())
[mechanism] = [agent for agent in team if agent.name == "mechanism"]
print(json.dumps({
    "tool": '"source":"examplebase"' in mechanism.dump_component().model_dump_json(),
    "order": list_offered(),
    "searched": Settings().tools.sources,
    "title": title_of("examplebase"),
    "days": get_fresh_days("examplebase"),
    "limit": Endpoints.public({})["examplebase"].per_second,
    "doctor": list_addresses(Endpoints.public({}), Settings())["examplebase"],
    "linked": safe_url("https://www.example.org/notes/1"),
}))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product and its tests with the how-to's files written into it."""
    root = tmp_path_factory.mktemp("house")
    for name in ("agents", "teams", "tools", "faults", "src", "tests"):
        shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "cases"))
    shutil.copy(ROOT / "pyproject.toml", root)
    blocks = dict(BLOCK.findall((ROOT / "docs" / "how-to" / "add-a-source.md").read_text(encoding="utf-8")))
    assert set(blocks) == {"tools/sources/labels/examplebase.py", "tests/replies/examplebase/notes.json"}
    for path, text in blocks.items():
        (root / path).parent.mkdir(exist_ok=True)
        assert not (root / path).exists()
        (root / path).write_text(text, encoding="utf-8")
    return root


def run(house: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{house / 'src'}{os.pathsep}{house}"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=house, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_new_source_is_seen_everywhere(house: Path) -> None:
    done = run(house, "-c", SEEN)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)

    assert seen["tool"]
    assert seen["order"] == seen["searched"]
    without_web = [name for name in seen["order"] if name != "duckduckgo"]  # searched where `ddgs` is installed
    assert without_web[-1] == "examplebase"
    assert (seen["title"], seen["days"], seen["limit"]) == ("Examplebase", 7, 2)
    assert seen["doctor"] == "https://api.example.org/v1"
    assert seen["linked"] == "https://www.example.org/notes/1"


def test_the_tests_of_all_sources_hold_for_it(house: Path) -> None:
    tests = ("tests/test_registry.py", "tests/test_failing_sources.py")
    done = run(house, "-m", "pytest", "-q", "-k", "examplebase", *tests)

    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.rpartition(" passed")[0].split()[-1]) > 10
