"""Try what type checkers see of Willowbark where it is installed: plainly, and editable.

    python .ci/type_use.py path/to/venv …

In each environment mypy and pyright read `tests/cases/typed_use.py`. They must find a mistake on each of its lines that
say so, and none elsewhere. The exit code is 1 where one finds more or less.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

USE = Path(__file__).parent.parent / "tests" / "cases" / "typed_use.py"
LONGEST_S = 300  # a checker's first run fetches and caches much


def read_mypy(venv: Path) -> set[int]:
    """Have mypy read the file; return the lines of its errors."""
    options = ["--no-error-summary", "--no-incremental", "--config-file="]
    printed = _run([str(venv / "bin" / "mypy"), *options, str(USE)], venv)
    return {int(line) for line in re.findall(r"^[^:]+:(\d+): error:", printed, re.MULTILINE)}


def read_pyright(venv: Path) -> set[int]:
    """Have pyright read the file; return the lines of its errors."""
    command = [str(venv / "bin" / "pyright"), "--outputjson", "--pythonpath", str(venv / "bin" / "python"), str(USE)]
    printed = _run(command, venv)
    found = json.loads(printed[printed.index("{") :])["generalDiagnostics"]
    return {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}


CHECKERS: dict[str, Callable[[Path], set[int]]] = {"mypy": read_mypy, "pyright": read_pyright}


def _run(command: list[str], folder: Path) -> str:
    """Run a checker away from the checkout, whose own settings and sources it would find."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command[0]}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(venvs: list[Path]) -> list[str]:
    """Compare what the checkers find in each environment with what is wrong; return the differences, a line each."""
    lines = USE.read_text(encoding="utf-8").splitlines()
    mistakes = {number for number, line in enumerate(lines, 1) if line.endswith("# mistake")}
    problems = []
    for venv in venvs:
        for name, read in CHECKERS.items():
            errors = read(venv)
            missed, wrong = sorted(mistakes - errors), sorted(errors - mistakes)
            print(
                f"{venv.name}: {name} finds {len(errors & mistakes)} of {len(mistakes)} mistakes, {len(wrong)} others"
            )
            problems += [f"{venv.name}: {name} misses line {line}: {lines[line - 1].strip()}" for line in missed]
            problems += [f"{venv.name}: {name} complains of line {line}: {lines[line - 1].strip()}" for line in wrong]
    return problems


if __name__ == "__main__":
    differences = main([Path(name).absolute() for name in sys.argv[1:]])
    print(*differences, sep="\n")
    sys.exit(bool(differences))
