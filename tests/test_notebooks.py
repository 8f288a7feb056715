"""The notebooks run without network and key, and their outputs stand in them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.whole

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST_BYTES = 250_000


def cells(path: Path) -> list[dict[str, Any]]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return list(content["cells"])


def test_there_are_four() -> None:
    assert [path.name[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_committed_small_and_without_errors(path: Path) -> None:
    outputs = [output for cell in cells(path) for output in cell.get("outputs", [])]

    assert outputs
    assert path.stat().st_size < LARGEST_BYTES
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_hold_no_key_and_no_path_of_a_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert str(FOLDER.parent) not in text
    assert not [word for word in ("api_key", "/home/", "127.0.0.1:") if word in text]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="needs the extra `notebook`")
    pytest.importorskip("pandas", reason="needs the extra `notebook`")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import execute; from pathlib import Path; "
        "execute.executed(Path(sys.argv[2]))"
    )

    result = subprocess.run(
        [sys.executable, "-c", program, str(FOLDER), str(path)],
        env={**os.environ, "IPYTHONDIR": str(tmp_path), "MPLCONFIGDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert result.returncode == 0, result.stderr[-3000:]
