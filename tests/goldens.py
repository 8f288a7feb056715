"""Texts compared word by word with a file: a difference is shown as a diff, with the command that renews it."""

import difflib
import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
GOLDENS = PROJECT / "tests" / "cases"
MOST_LINES = 60
"""Lines of a diff that are shown; a report that moved as a whole would fill screens and say nothing more."""


def assert_golden(file: Path, text: str, renew: str = "") -> None:
    """Compare a text with a file of the project.

    `RENEW=1` in the environment writes the file and passes; `renew` is another command that writes it, whose files
    `RENEW=1` leaves alone.
    """
    if os.environ.get("RENEW") and not renew:
        file.write_text(text, encoding="utf-8")
    golden = file.read_text(encoding="utf-8") if file.exists() else ""
    if text != golden:
        pytest.fail(describe_difference(file, golden, text, renew or name_renewal()), pytrace=False)


def describe_difference(file: Path, golden: str, text: str, renew: str) -> str:
    """A unified diff of at most `MOST_LINES` lines, and what to type where the new text is right."""
    name = file.relative_to(PROJECT).as_posix()
    diff = list(difflib.unified_diff(golden.splitlines(), text.splitlines(), name, "now", lineterm="", n=1))
    if not diff:
        diff = ["they differ in ends of lines alone"]
    lines = diff[:MOST_LINES]
    if len(diff) > MOST_LINES:
        lines.append(f"… and {len(diff) - MOST_LINES} more lines")
    return "\n".join([f"{name} says something else:", *lines, "", f"Read what changed. Where it is right: {renew}"])


def name_renewal() -> str:
    """The command that renews the goldens of the test file that runs now."""
    test_file = os.environ.get("PYTEST_CURRENT_TEST", "tests").partition("::")[0]
    return f"RENEW=1 .venv/bin/pytest {test_file}"
