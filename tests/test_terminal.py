"""What a person at a terminal sees and types: one block during a run, a question, the answer at its end, links."""

import io
import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyte
import pytest
from builders import QUESTION, record, reply
from exports_sample import sample
from rich.console import Console

from willowbark.agents.report.content import SummaryPart
from willowbark.agents.report.forms.blocks import Table, spans
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.events import AgentEvent
from willowbark.teams.faces.terminal import LINES_AFTER, TerminalProgress, print_brief, print_report
from willowbark.teams.run.board import Board
from willowbark.tools.search import Status

COLUMNS, LINES = 80, 24


def shown(board: Board) -> list[str]:
    """The block's lines on a terminal of 80 columns."""
    console = Console(width=COLUMNS, file=io.StringIO(), force_terminal=False)
    with console.capture() as captured:
        console.print(board)
    return [line.rstrip() for line in captured.get().splitlines()]


def search(tool: str, iteration: int = 1) -> AgentEvent:
    return AgentEvent(type="searching", message=tool, data={"tool": tool, "arguments": "{}"}, iteration=iteration)


def test_a_source_is_waited_for_until_it_answers() -> None:
    now = [0.0]
    board = Board(lambda: now[0])
    board.note(search("search_pubmed"))
    board.note(search("get_label"))
    board.note(search("get_paper"))  # looks up single records: no search to wait for
    now[0] = 3.0
    board.note(AgentEvent(type="search_complete", message="", data=reply(record("1", "A trial")), iteration=1))
    now[0] = 9.0

    head, pubmed, label = shown(board)
    assert head == "round 1 · 9 s · waiting for openFDA"
    assert pubmed.split() == ["PubMed", "1", "found", "1", "kept", "3", "s"]
    assert label.split() == ["openFDA", "0", "found", "0", "kept", "9", "s", "waiting"]


def test_time_between_rounds_is_not_a_sources_and_one_that_failed_says_why() -> None:
    now = [0.0]
    board = Board(lambda: now[0])
    for asked_at, answered_at in ((0.0, 2.0), (50.0, 51.0)):
        now[0] = asked_at
        board.note(search("search_pubmed"))
        now[0] = answered_at
        board.note(AgentEvent(type="search_complete", message="", data=reply(record("1", "A trial"))))
    assert shown(board)[1].split()[-2:] == ["3", "s"]

    failed = reply(status=Status.UNAVAILABLE, warnings=["no answer \x1b[31mwithin 90 s " + "and more " * 20])
    board.note(AgentEvent(type="search_complete", message="", data=failed))
    line = shown(board)[1]
    assert "no answer" in line
    assert len(line) <= COLUMNS
    assert "\x1b" not in line


def test_a_pipe_is_told_of_reading_now_and_then_and_of_what_failed_once_somebody_has_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    progress, read = TerminalProgress(), AgentEvent(type="streaming", message="12 of 30 read")
    progress.show(read)
    with progress.paused():
        progress.show(AgentEvent(type="error", message="a source failed"))
        assert capsys.readouterr().err == ""
    assert capsys.readouterr().err.endswith("error: a source failed\n")
    monkeypatch.setattr("willowbark.teams.faces.terminal.COUNT_EVERY_S", 0.0)
    progress.show(read)
    assert capsys.readouterr().err.endswith("12 of 30 read\n")


def test_identifiers_are_links_to_the_sources_pages() -> None:
    out = io.StringIO()
    print_report(sample().to_tree(), Console(file=out, force_terminal=True, width=COLUMNS, legacy_windows=False))

    assert "https://pubmed.ncbi.nlm.nih.gov/" in out.getvalue()
    assert "\x1b]8;" in out.getvalue()
    plain = io.StringIO()
    print_report(sample().to_tree(), Console(file=plain, width=COLUMNS))
    assert "\x1b" not in plain.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_no_word_of_a_candidates_line_is_broken_or_lost(width: int) -> None:
    report = sample()
    names = ("cyproheptadine", "onabotulinumtoxina")
    candidates = [each.model_copy(update={"name": name}) for each, name in zip(report.candidates, names, strict=False)]
    told = report.model_copy(update={"candidates": candidates})
    console = Console(file=io.StringIO(), width=width)
    print_report(told.to_brief(), console)
    assert isinstance(console.file, io.StringIO)
    words = console.file.getvalue().replace("[boxed", "boxed").replace("warning]", "warning").split()

    (table,) = (block for section in told.to_brief().sections for block in section.blocks if isinstance(block, Table))
    for row in table.rows:
        for cell in row.cells:
            assert set(" ".join(node.text for node in spans(cell)).split()) <= set(words)


ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("WILLOWBARK_")}
IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # or Ctrl-C would reach nobody
os.execv(sys.executable, [sys.executable, "-m", "willowbark", *sys.argv[1:]])
"""


def in_terminal(folder: Path, *arguments: str, answers: dict[str, str] | None = None) -> tuple[int, bytes]:
    """Run a command in a real pseudo-terminal; each answer is typed once its prompt shows.

    Returns:
        The exit code, and all that the terminal was sent.
    """
    main, other = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(LINES)}
    command = [sys.executable, "-c", IN_TERMINAL, *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=other, stdout=other, stderr=other, start_new_session=True
    )
    os.close(other)
    sent, waiting = b"", dict(answers or {})
    while select.select([main], [], [], 300)[0]:
        try:
            sent += os.read(main, 65536)
        except OSError:  # the terminal is gone: Linux says EIO
            break
        for prompt in [each for each in waiting if each.encode() in sent]:
            os.write(main, waiting.pop(prompt).encode())
    os.close(main)
    assert not waiting, sent[-2000:]
    return process.wait(), sent


@pytest.mark.whole
def test_a_run_ends_with_the_whole_answer_its_files_and_what_comes_next_on_the_last_screen(tmp_path: Path) -> None:
    asked = ["ask", QUESTION, "--offline", "--max-iterations", "1", "--depth", "quick"]
    code, sent = in_terminal(tmp_path, *asked)
    screen = pyte.HistoryScreen(COLUMNS, LINES, history=10_000)
    pyte.ByteStream(screen).feed(sent)

    lines = [line.rstrip() for line in screen.display]
    assert code == 0
    assert "0 s · starting".encode() in sent
    assert not [line for line in lines if "waiting for" in line or " kept  " in line], "the block is gone"
    (folder,) = (tmp_path / "runs").iterdir()
    report = ResearchReport.model_validate_json((folder / "report.json").read_bytes())
    answer = " ".join(" ".join(lines).split())
    assert report.summary_parts[0].text in answer
    assert "This is not medical advice." in answer
    assert b"what the evidence says" in sent
    assert b"Candidates" in sent
    assert [line for line in lines if line.startswith("Run folder: runs/")], lines
    assert [line for line in lines if line.startswith("Next: willowbark show last")], lines
    assert "pubmed: ok" in (folder / "log.txt").read_text(encoding="utf-8")


ASK = ("ask", "--offline", "--approve", "--json", "--max-iterations", "1", QUESTION)
PROMPT = "Which of these go into the report?"


def report_in(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("runs/*/report.json")
    return json.loads(file.read_text())  # type: ignore[no-any-return]


@pytest.mark.whole
def test_a_person_at_the_terminal_decides(tmp_path: Path) -> None:
    answers = {PROMPT: "99\n", "there are candidates 1 to": "1; the others are weaker\n"}
    code, sent = in_terminal(tmp_path, *ASK, answers=answers)
    report = report_in(tmp_path)

    assert code == 0
    assert b"1. " in sent
    assert (report["approval"]["decided_by"], report["approval"]["via"]) == ("person", "terminal")
    assert report["drug_candidates"] == report["approval"]["accepted"]
    assert len(report["drug_candidates"]) == 1
    assert {one["reason"] for one in report["approval"]["set_aside"]} == {"the others are weaker"}


@pytest.mark.whole
def test_ctrl_c_at_the_prompt_cancels_and_resume_asks_again(tmp_path: Path) -> None:
    code, sent = in_terminal(tmp_path, *ASK, answers={PROMPT: "\x03"})
    (run,) = (path.name for path in (tmp_path / "runs").iterdir())
    stopped = report_in(tmp_path)

    assert code == 130
    assert f"willowbark resume {run}".encode() in sent
    assert b"Traceback" not in sent
    assert stopped["approval"]["because"] == "the run ended before anybody decided: cancelled"

    code, _ = in_terminal(tmp_path, "resume", run, answers={PROMPT: "none\n"})
    assert code == 0
    assert report_in(tmp_path)["approval"]["decided_by"] == "person"

    code, sent = in_terminal(tmp_path, "replay", run)
    assert code == 0
    assert PROMPT.encode() not in sent


@pytest.mark.whole
@pytest.mark.parametrize(("setting", "kept"), [("all", True), ("none", False)])
def test_without_a_terminal_the_default_holds_at_once(setting: str, kept: bool, tmp_path: Path) -> None:
    (tmp_path / "willowbark.toml").write_text(f'[research]\napproval_default = "{setting}"\n')
    command = [sys.executable, "-m", "willowbark", *ASK]
    done = subprocess.run(
        command, cwd=tmp_path, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    report = report_in(tmp_path)

    assert done.returncode == 0, done.stderr[-2000:]
    assert (report["approval"]["decided_by"], report["approval"]["because"]) == ("default", "no terminal to ask in")
    assert bool(report["drug_candidates"]) is kept


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 14)])
def test_a_small_window_keeps_cautions_failures_and_the_advice_on_its_last_screen(columns: int, rows: int) -> None:
    parts = [
        SummaryPart(text="Two trials report benefit of gabapentin."),
        SummaryPart(label="Gabapentin", text="One of one trial reports benefit. " * 3),
        SummaryPart(label="Bisoprolol", text="One of one trial reports benefit. " * 3),
        SummaryPart(label="Failed", text="nitroglycerin."),
        SummaryPart(label="Cautions", text="boxed warning: valproic acid."),
        SummaryPart(label="Missing", text="doses were not weighed. " * 4),
        SummaryPart(label="Read", text="64 publications. " * 4),
        SummaryPart(text="This is not medical advice."),
    ]
    console = Console(file=io.StringIO(), width=columns, height=rows, force_terminal=False)
    print_brief(sample(summary_parts=parts).to_brief(), console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    last = "\n".join(lines[-(rows - LINES_AFTER) :])
    assert "Two trials report benefit" in "\n".join(lines[:6]), "first"
    for word in ("Two trials report", "nitroglycerin", "valproic acid", "not medical advice"):
        assert word in last
    assert rows > 20 or "Bisoprolol: " not in last
