"""How Willowbark was installed, and the command that adds an extra to that installation.

Installers leave traces: pip and uv write `direct_url.json` (PEP 610), uv's tools have `uv-receipt.toml`, pipx's
environments `pipx_metadata.json`. https://packaging.python.org/en/latest/specifications/direct-url/
"""

import json
import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

Installer = Literal["uv tool", "pipx", "editable", "uv", "pip"]
"""`uv`: an environment without pip, which uv made. `editable`: in a checkout, by pip."""
NAME = "willowbark"
_UV_RECEIPT = "uv-receipt.toml"
_PIPX_RECEIPT = "pipx_metadata.json"


def find_installer(prefix: Path | None = None, origin: Mapping[str, Any] | None = None) -> Installer:
    """Tell how Willowbark was installed.

    Args:
        prefix: of the environment; None takes the running one's.
        origin: content of `direct_url.json`; None reads it.
    """
    folder = prefix or Path(sys.prefix)
    if (folder / _UV_RECEIPT).exists():
        return "uv tool"
    if (folder / _PIPX_RECEIPT).exists():
        return "pipx"
    direct = read_origin() if origin is None else origin
    if find_spec("pip") is None:
        return "uv"
    return "editable" if direct.get("dir_info", {}).get("editable") else "pip"


def advise_extra(extra: str, prefix: Path | None = None, origin: Mapping[str, Any] | None = None) -> str:
    """Return the command that adds an extra to this installation, and where to run it.

    >>> advise_extra("openai", Path("/none"), {"url": "file:///src", "dir_info": {}})
    "pip install '.[openai]' in the folder of Willowbark's source"
    >>> advise_extra("openai", Path("/none"), {"url": "file:///src", "dir_info": {"editable": True}})
    "pip install -e '.[openai]' in the folder of Willowbark's source"
    """
    direct = read_origin() if origin is None else origin
    installer = find_installer(prefix, direct)
    former = _extras_of_tool(prefix or Path(sys.prefix)) if installer == "uv tool" else []
    wanted = ",".join(dict.fromkeys([*former, extra]))
    command = {
        "uv tool": "uv tool install",
        "pipx": f"pipx runpip {NAME} install",
        "editable": "pip install -e",
        "uv": "uv pip install",
        "pip": "pip install",
    }[installer]
    if "vcs_info" in direct:
        return f"{command} '{NAME}[{wanted}] @ {direct['vcs_info'].get('vcs', 'git')}+{direct['url']}'"
    return f"{command} '.[{wanted}]' in the folder of Willowbark's source"


def read_origin() -> Mapping[str, Any]:
    """Read where the package was installed from; empty if that is not recorded."""
    with suppress(PackageNotFoundError, ValueError):
        text = distribution(NAME).read_text("direct_url.json")
        return dict(json.loads(text)) if text else {}
    return {}


def _extras_of_tool(prefix: Path) -> list[str]:
    """Read the extras that a tool of uv has: it loses those that its next installation does not name."""
    with suppress(OSError, ValueError):
        receipt = tomllib.loads((prefix / _UV_RECEIPT).read_text(encoding="utf-8"))
        for requirement in receipt["tool"]["requirements"]:
            if requirement["name"] == NAME:
                return list(requirement.get("extras", []))
    return []
