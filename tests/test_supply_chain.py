"""What is installed is what was locked, and nothing of it that is refused."""

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from willowbark.teams.faces.studio import STUDIO_VERSION

PROJECT = Path(__file__).parent.parent
LOCKS = (
    "requirements.txt",
    "requirements-dev.txt",
    "studio/requirements.txt",
    "studio/autogenstudio.txt",
    ".ci/axe.txt",
    ".ci/docs.txt",
    ".ci/mutants.txt",
)


def test_every_lock_is_installed_with_its_hashes() -> None:
    lines = (PROJECT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    from_locks = [line for line in lines if "pip install" in line and re.search(r" -r \S+\.txt", line)]

    assert len(from_locks) >= 4
    assert [line for line in from_locks if "--require-hashes" not in line] == []
    for lock in LOCKS:
        text = (PROJECT / lock).read_text(encoding="utf-8")
        assert text.count("==") <= text.count("--hash=sha256:"), lock


def wheel(folder: Path) -> Path:
    """The smallest package that pip takes."""
    made = folder / "stub-1.0-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("stub-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: stub\nVersion: 1.0\n")
        archive.writestr("stub-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("stub-1.0.dist-info/RECORD", "")
    return made


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stub==1.0 --hash=sha256:{right}", ""),
        ("stub==1.0", "Hashes are required"),
        ("stub --hash=sha256:{right}", "pinned with =="),
        ("stub==1.0 --hash=sha256:{wrong}", "DO NOT MATCH"),
    ],
    ids=["as it is locked", "without a hash", "without a version", "with another hash"],
)
def test_the_installer_takes_what_is_locked_by_hash_and_nothing_else(line: str, said: str, tmp_path: Path) -> None:
    right = hashlib.sha256(wheel(tmp_path).read_bytes()).hexdigest()
    lock = tmp_path / "lock.txt"
    lock.write_text(line.format(right=right, wrong="0" * 64) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "install", "--require-hashes", "--no-index", f"--find-links={tmp_path}"]
    command += ["--dry-run", "--disable-pip-version-check", "-r", str(lock)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (told.returncode == 0) == (not said), told.stderr
    assert said in " ".join((told.stdout + told.stderr).split())


def locked(lock: str) -> dict[str, str]:
    text = (PROJECT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_holds_what_is_refused(lock: str) -> None:
    """The 2.x of `mcp` does not go with AutoGen 0.7; 0.4.3.dev of Studio runs anybody's commands."""
    pins = locked(lock)

    assert int(pins.get("mcp", "1").split(".")[0]) < 2
    assert pins.get("autogenstudio", STUDIO_VERSION) == STUDIO_VERSION
    assert "diskcache" not in pins  # CVE-2025-69872
    assert {pins[name] for name in pins if name.startswith("autogen-")} <= {"0.7.5"}


def test_a_run_loads_no_mcp(tmp_path: Path) -> None:
    """Whichever `mcp` is installed beside Willowbark, nothing of it is imported."""
    (tmp_path / "mcp.py").write_text("raise SystemExit('mcp was imported')\n")
    script = (
        "import willowbark.teams.run.research, willowbark.teams.faces.cli, willowbark.teams.faces.studio, sys; "
        "print('mcp' in sys.modules)"
    )
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environ, check=False)

    assert told.stdout.strip() == "False", told.stderr
