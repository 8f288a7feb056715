"""Keys in the system's keyring, for those who do not want them in their shell's profile.

A key is never written to a file. A file in the user's configuration folder names the variables whose values the keyring
holds, so that nobody else's keyring is opened in vain. The library `keyring` is the extra of that name.
https://keyring.readthedocs.io
"""

import os
from collections.abc import MutableMapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import platformdirs

from willowbark.tools.errors import UsageError
from willowbark.tools.whole_file import write_file

SERVICE = "willowbark"
_NAMES_FILE = "keys-in-keyring.txt"


def find_names_file() -> Path:
    """Return the file of the names, in the user's folder for configuration."""
    return platformdirs.user_config_path(SERVICE) / _NAMES_FILE


def list_keyring_names() -> list[str]:
    """List the variables whose values the keyring holds, by what was kept there."""
    file = find_names_file()
    return file.read_text(encoding="utf-8").split() if file.exists() else []


def has_keyring() -> bool:
    """Whether the library is installed and finds a keyring that it can use."""
    if find_spec("keyring") is None:
        return False
    return float(_import_keyring().get_keyring().priority) > 0


def keep_key(name: str, value: str) -> None:
    """Put a key into the keyring, and its name into the file of names.

    Raises:
        UsageError: the keyring refuses it; the message holds no key.
    """
    try:
        _import_keyring().set_password(SERVICE, name, value)
    except Exception as error:  # noqa: BLE001  each system's keyring has errors of its own
        raise UsageError(
            f"the keyring did not take {name} ({type(error).__name__}); set it in the environment"
        ) from None
    names = dict.fromkeys([*list_keyring_names(), name])
    write_file(find_names_file(), "".join(f"{variable}\n" for variable in names).encode())


def load_keys(environ: MutableMapping[str, str] = os.environ) -> list[str]:
    """Put the keys of the keyring into the environment where that lacks them; return a complaint a key not found."""
    missing = [name for name in list_keyring_names() if not environ.get(name, "").strip()]
    if not missing:
        return []
    if find_spec("keyring") is None:
        return [f"{', '.join(missing)}: kept in the keyring, and the package keyring is not installed"]
    problems = []
    for name in missing:
        try:
            value = _import_keyring().get_password(SERVICE, name)
        except Exception as error:  # noqa: BLE001  as above
            problems.append(f"{name}: the keyring did not give it ({type(error).__name__})")
            continue
        if value:
            environ[name] = value
    return problems


def _import_keyring() -> Any:
    return import_module("keyring")
