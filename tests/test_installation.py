"""The advice for an extra fits how Willowbark was installed."""

import json
from pathlib import Path
from typing import Any

import pytest

from willowbark.tools.errors import MissingExtra
from willowbark.tools.installation import advise_extra, find_installer

FOLDER: dict[str, Any] = {"url": "file:///home/somebody/willowbark", "dir_info": {}}
EDITABLE = FOLDER | {"dir_info": {"editable": True}}
GIT = {"url": "https://host.example/willowbark.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}
RECEIPT = '[tool]\nrequirements = [{ name = "willowbark", extras = ["report"], directory = "/src" }]\n'
IN_FOLDER = "in the folder of Willowbark's source"


@pytest.mark.parametrize(
    ("origin", "advice"),
    [
        (FOLDER, f"pip install '.[mcp]' {IN_FOLDER}"),
        (EDITABLE, f"pip install -e '.[mcp]' {IN_FOLDER}"),
        (GIT, "pip install 'willowbark[mcp] @ git+https://host.example/willowbark.git'"),
        ({}, f"pip install '.[mcp]' {IN_FOLDER}"),
    ],
    ids=["folder", "editable", "git", "not recorded"],
)
def test_pip_installs_as_it_did(origin: dict[str, Any], advice: str, tmp_path: Path) -> None:
    assert advise_extra("mcp", tmp_path, origin) == advice


def test_a_tool_of_uv_keeps_the_extras_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT)

    assert find_installer(tmp_path, FOLDER) == "uv tool"
    assert advise_extra("mcp", tmp_path, FOLDER) == f"uv tool install '.[report,mcp]' {IN_FOLDER}"
    (tmp_path / "uv-receipt.toml").write_text("damaged [")
    assert advise_extra("mcp", tmp_path, FOLDER) == f"uv tool install '.[mcp]' {IN_FOLDER}"


def test_pipx_installs_into_its_own_environment(tmp_path: Path) -> None:
    (tmp_path / "pipx_metadata.json").write_text(json.dumps({}))

    assert advise_extra("mcp", tmp_path, FOLDER) == f"pipx runpip willowbark install '.[mcp]' {IN_FOLDER}"


def test_what_misses_an_extra_says_how_to_add_it_here() -> None:
    assert str(MissingExtra("a plot", "report")) == f"a plot needs an extra: {advise_extra('report')}"
