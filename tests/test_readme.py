"""What README and documentation say to type works: Python runs over the bundled library."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.example_reports import replay_example
from benchmarks.marked import replace_part
from benchmarks.readme import write_excerpt
from builders import run_python
from goldens import assert_golden

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


@pytest.mark.parametrize(("where", "code"), programs(), ids=[where for where, _ in programs()])
def test_an_example_runs(where: str, code: str, tmp_path: Path) -> None:
    if "frames" in code:
        pytest.importorskip("pandas", reason=f"{where} needs the extra `notebook`")
    if "agent_framework" in code:
        pytest.importorskip("agent_framework", reason=f"{where} is for users of Agent Framework")
    result = run_python("-c", RUNNER, folder=tmp_path, stdin=code)

    assert result.returncode == 0, f"{where}\n{result.stderr[-2000:]}"


@pytest.mark.filterwarnings("ignore:Resolved model mismatch")
def test_the_excerpt_is_the_examples_own_report() -> None:
    report = asyncio.run(replay_example())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    renewed = replace_part(readme, "excerpt", write_excerpt(report))

    assert_golden(ROOT / "README.md", renewed, renew="python -m benchmarks.readme")
