"""The examples run as their users run them, each in a process of its own, on the bundled library."""

import os
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from builders import run_python

pytestmark = pytest.mark.whole

EXAMPLES = Path(__file__).parent.parent / "examples"
PRINTED = {
    "in_agent_framework.py": ("pubmed: ok", "certainty\n", "not medical advice"),
    "minimal.py": ("## Candidates", "## References"),
    "streaming.py": ("round 1", "confidence"),
    "console.py": ("TextMessage (user)", "ReportMessage (report)"),
    "custom_source.py": ("labels      labelnotes ok       2 records",),
    "human_approval.py": ("Which of these go into the report?", "a person (AutoGen user proxy)", "## References"),
    "resume.py": ("stopped after round 1", "2 rounds", "candidates"),
    "tracing.py": ("invoke_agent judge", "execute_tool search_pubmed", "round 1"),
}
NEEDED = (
    ("in_agent_framework.py", "agent-framework", "agent_framework"),
    ("tracing.py", "trace", "opentelemetry.sdk"),
)
AT = """
import runpy, sys
from willowbark.tools.http.endpoints import Endpoints
endpoints = Endpoints.at(sys.argv[1])
Endpoints.public = staticmethod(lambda *_: endpoints)
runpy.run_path(sys.argv[2], run_name="__main__")
"""
"""An example with a server in the public sources' place."""


def run(name: str, folder: Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return run_python(EXAMPLES / name, folder=folder, stdin=stdin)


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_prints_what_it_promises(name: str, tmp_path: Path) -> None:
    for example, extra, module in NEEDED:
        if name == example and find_spec(module.partition(".")[0]) is None:
            pytest.skip(f"needs the extra `{extra}`")

    result = run(name, tmp_path, stdin="yes\n")

    assert result.returncode == 0, result.stderr[-2000:]
    printed = result.stderr if name == "tracing.py" else result.stdout
    assert [part for part in PRINTED[name] if part not in printed] == [], printed[-2000:]


@pytest.mark.parametrize("name", ["console.py", "minimal.py", "resume.py"])
def test_an_interrupted_example_ends_at_once_without_a_traceback(name: str, tmp_path: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have it ignored in what runs in the background
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WILLOWBARK_")}
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes requests, and never answers
        silent.settimeout(60)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with subprocess.Popen(
            [sys.executable, "-c", AT, url, str(EXAMPLES / name)],
            cwd=tmp_path,
            env={**environment, "PYTHONWARNINGS": "ignore"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            silent.accept()[0].close()
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=20)[1].decode()

    assert "Traceback" not in said
    assert process.returncode == 0


@pytest.mark.parametrize("name", ["minimal.py", "streaming.py", "resume.py", "console.py"])
def test_an_example_without_a_network_ends_in_a_line(name: str, tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "WILLOWBARK_LIBRARY__PATH"}
    done = subprocess.run(
        [sys.executable, "-c", AT, "http://127.0.0.1:1", str(EXAMPLES / name)],
        cwd=tmp_path,
        env={**environment, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert "Traceback" not in done.stderr
    if name == "streaming.py":
        assert "unavailable" in done.stdout
    if name == "minimal.py":
        assert done.returncode == 1
        assert "no source could be reached" in done.stderr


def test_a_person_can_refuse_every_candidate(tmp_path: Path) -> None:
    result = run("human_approval.py", tmp_path, stdin="none; not for us\n")

    assert result.returncode == 0, result.stderr[-2000:]
    assert "all were set aside before the report was written" in result.stdout
    assert "certainty): not for us" in result.stdout
