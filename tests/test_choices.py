"""The options of a run are typed arguments: type checkers and the call itself refuse one that does not exist."""

import subprocess
import sys
from pathlib import Path

import pytest

from willowbark import ask
from willowbark.teams.run.choices import ChosenAnew, RunChoices
from willowbark.teams.run.options import _CHOSEN_ANEW, RunOptions
from willowbark.tools.errors import UsageError

MISTAKEN = """
from willowbark import ask
ask("gout?", ofline=True)
ask("gout?", max_iterations="three")
ask("gout?", offline=True, max_iterations=3)
"""


def test_the_arguments_of_a_run_are_its_options() -> None:
    assert set(RunChoices.__annotations__) == set(RunOptions.model_fields) - {"question"}
    assert set(ChosenAnew.__annotations__) == _CHOSEN_ANEW


def test_an_argument_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"^ofline: there is no such option.*offline"):
        ask("gout?", ofline=True)  # type: ignore[call-arg]


@pytest.mark.whole
def test_a_type_checker_finds_wrong_names_and_values_of_arguments(tmp_path: Path) -> None:
    script = tmp_path / "mistaken.py"
    script.write_text(MISTAKEN)
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(tmp_path), str(script)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = [line for line in found.stdout.splitlines() if ": error: " in line]
    assert [line.split(":")[1] for line in lines] == ["3", "4"], found.stdout
    assert "ofline" in lines[0]
