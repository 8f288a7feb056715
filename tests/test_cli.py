"""The command line: what goes to stdout, what to stderr, and which exit code tells it."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from faults.bent import Bend, BendingServer
from faults.server import SourceServer
from typer.testing import CliRunner, Result

from willowbark import __version__
from willowbark.teams.faces.cli import app
from willowbark.tools.http.endpoints import Endpoints

pytestmark = pytest.mark.whole

SCRIPT = Path(__file__).with_name("cli_with_scripted_run.py")
ANSWERED = "answer: what prevents migraine?"


scripted_run = run_path(str(SCRIPT))["scripted_run"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of one's own, without keys or proxies."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.endswith("_API_KEY") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    return tmp_path


def put_sources_at(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Let a server stand for the public sources."""
    endpoints = Endpoints.at(url)
    monkeypatch.setattr(Endpoints, "public", lambda *_: endpoints)


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A port in the sources' place, on which nobody listens yet."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        put_sources_at(monkeypatch, f"http://127.0.0.1:{taken.getsockname()[1]}")
        yield taken


@pytest.fixture
def reachable(listener: socket.socket) -> None:
    """Something that listens in the sources' place."""
    listener.listen()


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, obj=scripted_run, prog_name="willowbark")


def start(*arguments: str, script: Path | None = SCRIPT, **options: Any) -> "subprocess.Popen[str]":
    program = [sys.executable, str(script)] if script else [sys.executable, "-m", "willowbark"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    return subprocess.Popen([*program, *arguments], **{**pipes, **options})


def wait_for(process: "subprocess.Popen[str]", words: str) -> None:
    """Wait until a process says some words on stderr."""
    assert process.stderr is not None
    while words not in process.stderr.readline():
        assert process.poll() is None


def files_of_the_run() -> set[str]:
    (folder,) = Path("runs").iterdir()
    return {path.name for path in folder.iterdir()}


ALL_FILES = {"report.md", "report-appendix.md", "report.json", "evidence.csv", "log.txt"}


@pytest.mark.usefixtures("reachable")
def test_the_report_goes_to_stdout_and_a_run_folder_and_progress_to_stderr_where_it_cannot_command_a_terminal() -> None:
    result = invoke("ask", ANSWERED)

    assert result.exit_code == 0
    assert result.stdout.startswith("# Migraine prévention\n")
    assert files_of_the_run() == ALL_FILES
    assert f"Run folder: {next(Path('runs').iterdir())}" in result.stderr
    (line,) = [line for line in result.stderr.splitlines() if "searching" in line]
    assert "round 1" in line
    assert "PubMed: [31mred[0m second line" in line
    assert "\x1b" not in result.stderr


@pytest.mark.usefixtures("reachable")
def test_options_and_settings_choose_what_is_written_and_where(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = invoke("ask", ANSWERED, "--quiet", "--json")
    assert (quiet.stderr, json.loads(quiet.stdout)["title"]) == ("", "Migraine prévention")
    Path("willowbark.toml").write_text('[output]\ndirectory = "moved"')
    told = invoke("ask", ANSWERED, "--quiet").stderr
    assert f"willowbark.toml in this folder writes run folders to {here / 'moved'}" in told
    assert told.count("\n") == 1
    for more in (["--out", "there"], ["--config", "willowbark.toml", "--out", "there"]):
        assert invoke("ask", ANSWERED, "--quiet", *more).stderr == ""
    assert {path.name for path in Path("there").glob("*/*")} >= {"report.md", "report.json", "log.txt"}
    monkeypatch.setenv("WILLOWBARK_OUTPUT__DIRECTORY", "elsewhere")
    assert invoke("ask", ANSWERED, "--quiet").stderr == ""


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["ask", ""], "the question is empty"),
        (["ask", ANSWERED, "--model", "gpt-4o"], "known forms: baseline, openai/MODEL"),
        (["ask", ANSWERED, "--max-iterations", "21"], "max_iterations: should be less than or equal to 20"),
        (["ask", ANSWERED, "--config", "broken.toml"], "broken.toml: is not valid TOML"),
        (["ask", ANSWERED, "--in", "last", "--model", "baseline"], "--model: not with --in"),
        (["ask", ANSWERED, "--out", "broken.toml"], "cannot be written to (Not a directory)"),
        (["ask", ANSWERED, "--library", "nowhere"], "the folder cannot be read"),
        (["doctor", "--config", "nope.toml"], "nope.toml"),
    ],
)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(arguments: list[str], part: str) -> None:
    Path("broken.toml").write_text("[research\n")

    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 2
    assert part in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert not Path("runs").exists()


def test_a_source_without_its_key_is_one_line_and_nothing_is_asked() -> None:
    Path("willowbark.toml").write_text('[tools]\nsources = ["brave"]')
    for command in (["doctor"], ["ask", ANSWERED]):
        result = invoke(*command)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert "BRAVE_API_KEY" in result.stderr


@pytest.mark.usefixtures("listener")
def test_sources_out_of_reach_end_at_once_with_the_way_out() -> None:
    began = time.monotonic()
    result = invoke("ask", ANSWERED)

    assert (result.exit_code, result.stdout) == (3, "")
    assert "can't be reached" in result.stderr
    doctor = invoke("doctor")
    assert (doctor.exit_code, "pubmed: SILENT: no connection" in doctor.stdout) == (3, True)
    assert "can't be reached" in doctor.stderr
    assert time.monotonic() - began < 20  # the sources' own patience would take longer
    assert not Path("runs").exists()


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize(
    ("word", "line", "kept"),
    [
        ("fail", "the run failed: the team failed", ALL_FILES),
        ("crash", "RuntimeError: something unforeseen", {"log.txt"}),
    ],
)
def test_a_failed_run_is_one_line_exits_with_4_and_keeps_what_there_is(word: str, line: str, kept: set[str]) -> None:
    result = invoke("ask", f"{word}: what prevents migraine?")

    assert result.exit_code == 4
    assert line in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert files_of_the_run() == kept


@pytest.mark.parametrize(
    ("question", "signals", "files"),
    [
        ("wait: what prevents migraine?", [signal.SIGINT], ALL_FILES),
        ("wait: what prevents migraine?", [signal.SIGTERM], ALL_FILES),
        ("hang: what prevents migraine?", [signal.SIGINT] * 2, set()),
    ],
    ids=["Ctrl-C", "SIGTERM", "a second Ctrl-C"],
)
def test_what_is_asked_to_stop_keeps_what_there_is_and_exits_with_130(
    question: str, signals: list[signal.Signals], files: set[str]
) -> None:
    process = start("ask", question, "--offline")
    wait_for(process, "searching")
    for number in signals:
        process.send_signal(number)
        time.sleep(0.2)
    stderr = process.communicate(timeout=60)[1]

    assert process.returncode == 130
    assert "stopped" in stderr.splitlines()[-1]
    assert "Traceback" not in stderr
    assert files_of_the_run() == files


def test_a_run_that_is_to_outlive_its_terminal_does() -> None:
    nohup = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    process = start("ask", "wait: what prevents migraine?", "--offline", preexec_fn=nohup)
    wait_for(process, "searching")
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(3)  # what obeyed would have ended by then
    process.terminate()
    process.communicate(timeout=60)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal that can be closed")
def test_a_terminal_that_is_closed_costs_no_report() -> None:
    ours, theirs = os.openpty()
    leader = (
        "import fcntl, os, signal, sys, termios; signal.signal(signal.SIGHUP, signal.SIG_DFL);"
        "fcntl.ioctl(2, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
    )
    asked = ["ask", "wait: what prevents migraine?", "--offline"]
    command = [sys.executable, "-c", leader, sys.executable, str(SCRIPT), *asked]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = b""
    while b"round 1" not in shown:
        shown += os.read(ours, 1000)
    os.close(ours)

    process.wait(60)
    assert files_of_the_run() == ALL_FILES


def test_where_no_file_can_be_written_the_report_is_printed() -> None:
    process = start("ask", ANSWERED, "--offline", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9)))
    stdout, stderr = process.communicate(timeout=60)

    assert "# Migraine prévention" in stdout
    assert "willowbark: the report was not kept: runs/" in stderr
    assert "File too large" in stderr
    assert process.returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_report_that_cannot_be_printed_stands_in_its_folder() -> None:
    with open("/dev/full", "w") as full:
        process = start("ask", ANSWERED, "--offline", stdout=full)
        stderr = process.communicate(timeout=60)[1]

    assert stderr.splitlines()[-1].startswith("willowbark: the report cannot be printed (No space left on device)")
    assert "Traceback" not in stderr
    assert files_of_the_run() == ALL_FILES


def test_a_reader_that_leaves_early_is_no_failure_and_reports_are_utf_8_whatever_the_locale() -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    process = start("ask", "answer long: what prevents migraine?", "--offline", "-q", env=environment)
    assert process.stdout is not None
    assert process.stdout.read(40).startswith("# Migraine prévention")
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(60) == 0


def test_the_doctor_tells_what_is_set_and_who_answers_and_never_a_key(
    sources: SourceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_sources_at(monkeypatch, sources.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hush")
    Path("willowbark.toml").write_text('[llm]\nmodel = "ollama/llama3.1"')
    result = invoke("doctor")

    for part in (
        f"Willowbark  {__version__}",
        "OPENAI_API_KEY: set",
        "NCBI_API_KEY: not set",
        "BRAVE_API_KEY: not set (",
        "ollama/llama3.1",
        "mcp: installed",
        "runs (can be written to)",
        ".willowbark (can be written to)",
        "pubmed: answered and read as expected",
        "biorxiv: answered and read as expected",
    ):
        assert part in result.stdout
    assert (result.exit_code, result.stderr) == (0, "")
    assert "hush" not in result.output


def test_the_doctor_names_the_source_and_the_field_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(body: bytes) -> bytes:
        return body.replace(b"displayName", b"display_name")

    with BendingServer() as server:
        server.bends = {"reactome": Bend("reactome", "renamed", "/reactome/data/query/ids", "displayName", rename)}
        put_sources_at(monkeypatch, server.url)
        result = invoke("doctor")

    assert "reactome: answered and NOT UNDERSTOOD: [].displayName is missing" in result.stdout
    assert (result.exit_code, result.stderr) == (4, "willowbark: not as they should be: reactome\n")


@pytest.mark.usefixtures("listener")
def test_the_doctor_offline_checks_folders_library_and_weights_and_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    result = invoke("doctor", "--offline")

    assert (result.exit_code, result.stderr) == (0, "")
    assert "Library     the library that comes with Willowbark" in result.stdout
    assert "Weights     read a question and a record as they should" in result.stdout
    assert "Source " not in result.stdout
    Path("runs").write_text("a file where the folder belongs")
    result = invoke("doctor", "--offline")
    assert (result.exit_code, result.stderr) == (4, "willowbark: runs cannot be written to\n")

    def refuse() -> None:
        raise ValueError("cut")

    monkeypatch.setattr("willowbark.tools.appraisal.appraised.load_reader", refuse)
    result = invoke("doctor", "--offline")
    assert "Weights     cannot be used (ValueError)" in result.stdout
    assert "the bundled weights cannot be used (ValueError): install Willowbark again" in result.stderr


def test_help_names_version_commands_and_exit_codes_in_whole_sentences() -> None:
    assert invoke("--version").stdout == f"willowbark {__version__}\n"
    result = invoke("--help")
    commands = result.stdout.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()

    assert [word for word in ("ask", "doctor", "Exit codes", "130") if word not in result.stdout] == []
    assert len(commands) > 10
    assert [line for line in commands if not line.endswith(".") or line.endswith("...")] == []


def test_a_shell_completes_commands_and_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(words: str) -> list[str]:
        monkeypatch.setenv("_WILLOWBARK_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        return CliRunner().invoke(app, [], prog_name="willowbark").stdout.splitlines()

    (Path("runs") / "20250601-120000-migraine").mkdir(parents=True)
    assert completed("willowbark exp") == ["export"]
    assert completed("willowbark export 2025") == ["20250601-120000-migraine"]
    assert completed("willowbark show ") == ["last", "20250601-120000-migraine"]
    Path("willowbark.toml").write_text("not = [toml")
    assert completed("willowbark show ") == [""]


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        (
            "from willowbark.teams.faces.cli import app; app(['--help'], standalone_mode=False)",
            {"pydantic", "autogen_core", "httpx", "numpy", "starlette"},
        ),
        ("import willowbark.teams.faces.ask", {"autogen_core", "numpy", "PIL"}),
        ("import willowbark.teams.faces.runs", {"matplotlib", "docx"}),
        (
            "import asyncio; from willowbark import research; "
            "asyncio.run(research('Does propranolol prevent migraine?', offline=True, ledger=None)); "
            "assert 'willowbark.tools.records.evidence' in sys.modules",
            {"rich", "pygments", "httpx._main"},
        ),
    ],
    ids=["help", "the start of a run", "exports", "a run from Python"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str, heavy: set[str]) -> None:
    check = f"import sys; {code}; sys.exit(bool({heavy!r} & set(sys.modules)))"

    assert subprocess.run([sys.executable, "-c", check], check=False, capture_output=True).returncode == 0
