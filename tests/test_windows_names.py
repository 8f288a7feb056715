"""Names of files that Windows takes too, by its rules, as far as they can be tried elsewhere."""

import subprocess
from collections import Counter
from pathlib import Path, PureWindowsPath

import pytest

from willowbark.agents.exports import FORMATS
from willowbark.teams.ledger import DEFAULT_PATH
from willowbark.teams.ledger.run_ids import make_run_id
from willowbark.teams.run.workspace import APPENDIX_FILE, EVIDENCE_FILE

ROOT = Path(__file__).parent.parent
FORBIDDEN = frozenset('<>:"|?*\\') | {chr(code) for code in range(32)}
"""https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file"""
LONGEST = 150  # characters of a path in a checkout: Windows takes 260 with the folder above it
QUESTIONS = ["CON", "nul.txt: a question?", "aux", 'Which drugs <might> treat "x" | y * z?', "com1.", "ünïcödé …"]


def problem_of(path: str) -> str:
    """Why Windows would not take a path; empty where it does."""
    for part in path.split("/"):
        if FORBIDDEN & set(part) or part.endswith((".", " ")) or PureWindowsPath(part).is_reserved():
            return f"{path}: {part}"
    return f"{path}: {len(path)} characters" if len(path) > LONGEST else ""


def test_every_file_of_the_repository_has_a_name_that_windows_takes() -> None:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = [name for name in names.split("\0") if name]

    assert len(files) > 500
    assert [problem for name in files if (problem := problem_of(name))] == []
    assert [name for name, number in Counter(map(str.lower, files)).items() if number > 1] == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_a_run_writes_has_names_that_windows_takes(question: str) -> None:
    folder = make_run_id(question)
    files = [APPENDIX_FILE, EVIDENCE_FILE, "log.txt", *(known.file_name for known in FORMATS)]

    assert [problem for name in files if (problem := problem_of(f"runs/{folder}/{name}"))] == []
    assert problem_of(DEFAULT_PATH.as_posix()) == ""


@pytest.mark.parametrize("name", ["a:b", "con", "NUL.txt", "end.", "end ", "a?b", "x" * 200])
def test_a_name_that_windows_refuses_is_found(name: str) -> None:
    assert problem_of(f"runs/{name}")
