"""The how-to "Add a source", walked step by step in a copy of the house: its four files, and nothing else."""

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
BLOCK = re.compile(r'^```python title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SEEN = """
import asyncio, json
from willowbark.agents.baseline.client import BaselineChatCompletionClient
from willowbark.agents.report.forms.links import safe_url
from willowbark.teams.config import Settings
from willowbark.teams.faces.doctor import addresses_of
from willowbark.teams.research_team import default_participants
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.registry import fresh_days, offered, title_of
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.toolbox import source_class

async def ask(query):
    with SandboxServer() as server:
        async with Transport(Endpoints.sandbox(server.url)) as transport:
            return await source_class("examplebase")(transport).find(query)

team = default_participants(BaselineChatCompletionClient())
[mechanism] = [agent for agent in team if agent.name == "mechanism"]
tools = mechanism.dump_component().model_dump_json()
found = asyncio.run(ask("propranolol OR topiramate"))
print(json.dumps({
    "tool": '"source":"examplebase"' in tools,
    "order": offered(),
    "searched": Settings().tools.sources,
    "title": title_of("examplebase"),
    "days": fresh_days("examplebase"),
    "limit": Endpoints.public({})["examplebase"].per_second,
    "doctor": addresses_of(Endpoints.public({}), Settings())["examplebase"],
    "linked": safe_url(found.records[0].citation.url),
    "found": [found.status, found.total],
    "studies": len(appraise_candidates("Which drugs prevent migraine?", found.records)),
}))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product with the how-to's files written into it."""
    root = tmp_path_factory.mktemp("house")
    for name in ("agents", "teams", "tools", "src"):
        shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", root / "tests", ignore=shutil.ignore_patterns("__pycache__", "cases", "library"))
    shutil.copy(ROOT / "pyproject.toml", root)
    blocks = dict(BLOCK.findall((ROOT / "docs" / "how-to" / "add-a-source.md").read_text(encoding="utf-8")))
    evidence = root / "tools" / "evidence.py"
    listed = evidence.read_text(encoding="utf-8")
    assert listed.count('    "preprint",\n') == 1
    evidence.write_text(listed.replace('    "preprint",\n', '    "examplebase",\n    "preprint",\n'), encoding="utf-8")
    files = {"tools/sources/labels/examplebase.py", "tools/sandbox/labels/examplebase.py", "tests/test_examplebase.py"}
    assert set(blocks) == files
    for path, text in blocks.items():
        assert not (root / path).exists()
        (root / path).write_text(text, encoding="utf-8")
    return root


def run(house: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(house / "src")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=house, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_new_source_is_seen_everywhere(house: Path) -> None:
    done = run(house, "-c", SEEN)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)

    assert seen["tool"]
    assert seen["order"] == seen["searched"]
    assert seen["order"][-1] == "examplebase"
    assert (seen["title"], seen["days"], seen["limit"]) == ("Examplebase", 7, 2)
    assert seen["doctor"] == "https://api.example.org/v1"
    assert seen["linked"] == "https://www.example.org/notes/1"
    assert seen["found"] == ["ok", 2]
    assert seen["studies"] == 0


def test_its_own_test_and_those_of_the_registry_hold(house: Path) -> None:
    tests = ("tests/test_examplebase.py", "tests/test_registry.py")
    done = run(house, "-m", "pytest", "-q", "-k", "examplebase or no_page or every_name", *tests)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stdout


def test_a_source_without_a_place_in_the_sandbox_is_found_out(house: Path) -> None:
    route = house / "tools" / "sandbox" / "labels" / "examplebase.py"
    route.rename(route.with_suffix(".away"))
    try:
        done = run(house, "-c", SEEN)
    finally:
        route.with_suffix(".away").rename(route)

    assert done.returncode != 0
    assert "willowbark.tools.sandbox.labels.examplebase" in done.stderr
