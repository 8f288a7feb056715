"""Check the installation: packages, extras, keys (whether set, never their values), configuration, sources."""

import os
import platform
import re
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from urllib.parse import urlsplit

from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.ladder import WireMemory, default_path
from willowbark.tools.records.registry import cards, has_package

from ..config import FILE_NAME, Settings
from ..model_clients import PROVIDERS
from .terminal import write_lines

REACH_TIMEOUT_S = 3.0
_PACKAGES = "autogen-agentchat autogen-core autogen-ext pydantic httpx requests starlette uvicorn".split()
_MODEL_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "OLLAMA_HOST")
_EXTRA = re.compile(r"(?P<package>[\w.-]+).*\bextra == ['\"](?P<extra>[\w-]+)['\"]")
"""A requirement of an extra: https://packaging.python.org/en/latest/specifications/dependency-specifiers/"""


def examine(config: Path | None) -> str | None:
    """Print what is in place and what is missing; return advice if no source can be reached, otherwise None.

    UsageError for invalid settings or keys.
    """
    from willowbark.tools.library import open_library  # noqa: PLC0415  loads the index's library

    write_lines(describe_installation())
    settings = Settings.load(config)
    default, root = Path(FILE_NAME), settings.output.directory
    existing = next((folder for folder in (root, *root.absolute().parents) if folder.exists()), Path("/"))
    writable = os.access(existing, os.W_OK | os.X_OK)
    write_lines(
        [
            f"Settings    {config or (default if default.exists() else f'defaults (no {FILE_NAME} here)')}",
            f"Model       {settings.llm.model}{f' at {settings.llm.base_url}' if settings.llm.base_url else ''}",
            f"Runs        {root} ({'can' if writable else 'CANNOT'} be written to)",
        ]
    )
    if settings.library.path is not None:
        library = open_library(settings.library.path)
        write_lines([f"Library     {library.summary}; no source is asked"])
        write_lines([f"            {line}" for line in library.contents.unread])
        return None
    endpoints = Endpoints.public()
    addresses = addresses_of(endpoints, settings)
    reached = reachable(addresses)
    states = {name: "reachable" if name in reached else "OUT OF REACH" for name in addresses}
    lines = [f"Source      {name}: {states[name]} ({urlsplit(at).netloc})" for name, at in addresses.items()]
    write_lines([*lines, *describe_unused(addresses, endpoints), *describe_wires()])
    return None if reached else unreachable_advice(addresses)


def describe_installation() -> Iterator[str]:
    """Describe Python, packages, extras and keys, one per line."""
    yield f"Willowbark  {_version('willowbark')}"
    yield f"Python      {platform.python_version()} on {sys.platform}"
    yield f"Packages    {', '.join(f'{name} {_version(name)}' for name in _PACKAGES)}"
    for name, installed in extras().items():
        yield f"Extra       {name}: " + ("installed" if installed else f"pip install '.[{name}]'")
    effects = {card.key: card.without_key for card in cards().values() if card.key and card.without_key}
    effects["NCBI_EMAIL"] = "Crossref is asked once a second, not 3 times"
    for name in (*effects, *_MODEL_KEYS):
        missing = f"not set ({effects[name]})" if name in effects else "not set"
        yield f"Environment {name}: {'set' if os.environ.get(name, '').strip() else missing}"


def describe_unused(addresses: Mapping[str, str], endpoints: Endpoints) -> Iterator[str]:
    """Say for each source that is not searched why, one per line."""
    for card in cards().values():
        if card.name in addresses:
            continue
        if card.use in ("named", "web"):
            steps = [] if endpoints.may_search(card.name) else [f"set {card.key}"]
            steps += [] if has_package(card) else ["pip install '.[web]'"]
            steps += ["name it under tools.sources"] if card.use == "named" or not steps else []
            yield f"Source      {card.name}: off ({card.off or card.without_key}; {' and '.join(steps)})"


def describe_wires() -> Iterator[str]:
    """Say over which library a source is asked that refused the usual one, one per line."""
    memory = WireMemory(default_path())
    if memory.problem:
        yield f"Wire        {memory.problem}"
    for source, passing in memory.passing.items():
        refused = cards()[source].wires[0] if source in cards() else "another"
        yield f"Wire        {source}: asked over {passing.wire} since {passing.since}, as it refused {refused}"


def extras() -> dict[str, bool]:
    """Check which extras are installed, with all their packages and the provider's library."""
    needed = {name: [provider.library.replace(".", "-")] for name, provider in PROVIDERS.items()}
    for requirement in requires("willowbark") or []:
        if found := _EXTRA.match(requirement):
            needed.setdefault(found["extra"], []).append(found["package"])
    return {name: all(map(_version, packages)) for name, packages in needed.items()}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def addresses_of(endpoints: Endpoints, settings: Settings) -> dict[str, str]:
    """Return the base URLs of the sources to search; UsageError if one lacks the key it needs."""
    endpoints.require(settings.tools.sources)
    return {name: endpoints[name].base_url for name in settings.tools.sources if name in endpoints.by_source}


def unreachable_advice(addresses: Mapping[str, str]) -> str:
    """Say in one line what cannot be reached and what to do."""
    hosts = ", ".join(sorted({urlsplit(address).netloc for address in addresses.values()}))
    return (
        f"the public sources can't be reached ({hosts}): check the network, "
        'or run `willowbark ask --offline "…"`, which searches a bundled library'
    )


def reachable(addresses: Mapping[str, str], *, enough: int | None = None) -> set[str]:
    """Find the sources whose base URLs (or proxies) accept a connection, trying all at once; stop after `enough`."""
    found = set[str]()

    def connect(source: str, address: str) -> None:
        parts = urlsplit(address)
        proxy = urllib.request.getproxies().get(parts.scheme)
        with suppress(OSError, ValueError):
            if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
                parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
            port = parts.port or (80 if parts.scheme == "http" else 443)
            with socket.create_connection((parts.hostname or "", port), timeout=REACH_TIMEOUT_S):
                found.add(source)

    threads = [threading.Thread(target=connect, args=each, daemon=True) for each in addresses.items()]
    for thread in threads:  # threads, as looking up a name in a broken network may take longer than the timeout
        thread.start()
    deadline = time.monotonic() + REACH_TIMEOUT_S
    while any(each.is_alive() for each in threads) and time.monotonic() < deadline:
        if enough is not None and len(found) >= enough:
            break
        time.sleep(0.01)
    return set(found)
