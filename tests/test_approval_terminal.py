"""`willowbark ask --approve` in a real terminal: typed at, interrupted, and without one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION

pytestmark = pytest.mark.whole

pty = pytest.importorskip("pty", reason="needs a POSIX terminal")

COMMAND = (sys.executable, "-m", "willowbark")
ASK = ("ask", "--offline", "--approve", "--json", "--max-iterations", "1", QUESTION)
IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # or Ctrl-C would reach nobody
os.execv(sys.argv[1], sys.argv[1:])
"""
PROMPT = "Which of these go into the report?"


def environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("WILLOWBARK_")}
    return {**ours, "TERM": "xterm", "COLUMNS": "120"}


def typed_at(folder: Path, *arguments: str, answers: dict[str, str]) -> tuple[int, str]:
    """Run a command in a terminal of its own; each answer is typed once its prompt shows.

    Returns:
        The exit code, and all that the terminal showed.
    """
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", IN_TERMINAL, *COMMAND, *arguments],
        cwd=folder,
        env=environment(),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown, waiting = "", dict(answers)
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # how Linux says that the other end was closed
            break
        if not piece:
            break
        shown += piece.decode(errors="replace")
        for prompt in [one for one in waiting if one in shown]:
            os.write(master, waiting.pop(prompt).encode())
    os.close(master)
    assert not waiting, shown[-2000:]
    return process.wait(), shown


def report_in(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("runs/*/report.json")
    return json.loads(file.read_text())  # type: ignore[no-any-return]


def test_a_person_at_the_terminal_decides(tmp_path: Path) -> None:
    answers = {PROMPT: "99\n", "there are candidates 1 to": "1; the others are weaker\n"}
    code, shown = typed_at(tmp_path, *ASK, answers=answers)
    report = report_in(tmp_path)

    assert code == 0
    assert "1. " in shown
    assert (report["approval"]["decided_by"], report["approval"]["via"]) == ("person", "terminal")
    assert report["drug_candidates"] == report["approval"]["accepted"]
    assert len(report["drug_candidates"]) == 1
    assert {one["reason"] for one in report["approval"]["set_aside"]} == {"the others are weaker"}


def test_ctrl_c_at_the_prompt_cancels_and_resume_asks_again(tmp_path: Path) -> None:
    code, shown = typed_at(tmp_path, *ASK, answers={PROMPT: "\x03"})
    (run,) = (path.name for path in (tmp_path / "runs").iterdir())
    stopped = report_in(tmp_path)

    assert code == 130
    assert f"willowbark resume {run}" in shown
    assert "Traceback" not in shown
    assert stopped["approval"]["because"] == "the run ended before anybody decided: cancelled"

    code, _ = typed_at(tmp_path, "resume", run, answers={PROMPT: "none\n"})
    assert code == 0
    assert report_in(tmp_path)["approval"]["decided_by"] == "person"

    code, shown = typed_at(tmp_path, "replay", run, answers={})
    assert code == 0
    assert PROMPT not in shown


@pytest.mark.parametrize(("setting", "kept"), [("all", True), ("none", False)])
def test_without_a_terminal_the_default_holds_at_once(setting: str, kept: bool, tmp_path: Path) -> None:
    (tmp_path / "willowbark.toml").write_text(f'[research]\napproval_default = "{setting}"\n')
    done = subprocess.run(
        [*COMMAND, *ASK], cwd=tmp_path, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    report = report_in(tmp_path)

    assert done.returncode == 0, done.stderr[-2000:]
    assert (report["approval"]["decided_by"], report["approval"]["because"]) == ("default", "no terminal to ask in")
    assert bool(report["drug_candidates"]) is kept
