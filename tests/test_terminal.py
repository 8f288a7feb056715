"""What a person at a terminal sees: one block while a run goes on, the answer at its end, links that can be clicked."""

import io
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pyte
import pytest
from builders import QUESTION, record, reply
from exports_sample import sample
from rich.console import Console

from willowbark.agents.report.forms.blocks import Table, spans
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.events import AgentEvent
from willowbark.teams.faces.terminal import Board, print_report
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


def in_terminal(arguments: list[str], folder: Path) -> tuple[bytes, pyte.HistoryScreen]:
    """A command in a real pseudo-terminal: what it sent, and the screen at its end."""
    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(LINES)}
    command = [sys.executable, "-m", "willowbark", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=other, stdout=other, stderr=other) as run:
        os.close(other)
        sent = b""
        while select.select([main], [], [], 300)[0]:
            try:
                sent += os.read(main, 65536)
            except OSError:  # the terminal is gone: Linux says EIO
                break
    os.close(main)
    assert run.returncode == 0, sent
    screen = pyte.HistoryScreen(COLUMNS, LINES, history=10_000)
    pyte.ByteStream(screen).feed(sent)
    return sent, screen


@pytest.mark.whole
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_run_ends_with_the_whole_answer_its_files_and_what_comes_next_on_the_last_screen(tmp_path: Path) -> None:
    asked = ["ask", QUESTION, "--offline", "--max-iterations", "1", "--depth", "quick"]
    sent, screen = in_terminal(asked, tmp_path)

    lines = [line.rstrip() for line in screen.display]
    assert "0 s · starting".encode() in sent
    assert not [line for line in lines if "waiting for" in line or " kept  " in line], "the block is gone"
    (folder,) = (tmp_path / "runs").iterdir()
    report = ResearchReport.model_validate_json((folder / "report.json").read_bytes())
    answer = " ".join(" ".join(lines).split())
    assert report.summary_parts[0].text in answer
    assert "This is not medical advice." in answer
    assert b"what the evidence says" in sent
    assert b"Candidates" in sent
    assert any(line.startswith("Run folder: runs/") for line in lines)
    assert any(line.startswith("Next: willowbark show last") for line in lines)
    assert "pubmed: ok" in (folder / "log.txt").read_text(encoding="utf-8")
