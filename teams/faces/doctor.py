"""Can it run here? Packages, extras, keys (whether they are set, never their values), configuration, sources."""

import asyncio
import importlib.util
import os
import platform
import queue
import re
import shutil
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from willowbark.tools.http.endpoints import Endpoints
    from willowbark.tools.http.transport import Transport

    from ..config import Settings

INDENT = 12  # columns before what a line tells
REACH_TIMEOUT_S = 3.0
LIVE_TIMEOUT_S = 20.0  # for one source; some take nine seconds on a good day
ASKED_LIVE = "propranolol"  # every source knows it
_PACKAGES = (
    "autogen-agentchat",
    "autogen-core",
    "autogen-ext",
    "pydantic",
    "httpx",
    "requests",
    "starlette",
    "uvicorn",
)
_WITHOUT_EMAIL = "Crossref is asked once a second, not 3 times"
_MODEL_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_ENDPOINT",
    "OLLAMA_HOST",
)
_MISSING = "not installed"
_OF_EXTRA = re.compile(r"(?P<package>[\w.-]+).*\bextra == ['\"](?P<extra>[\w-]+)['\"]")
"""A requirement of an extra, as packages name it: https://packaging.python.org/en/latest/specifications/dependency-specifiers/"""
_PORTS = {"http": 80, "https": 443}


def reachable(
    addresses: Mapping[str, str], *, timeout_s: float = REACH_TIMEOUT_S, enough: int | None = None
) -> set[str]:
    """Which of some addresses can be connected to, all tried side by side; through a proxy, the proxy counts.

    Args:
        addresses: base URLs by source.
        timeout_s: seconds to wait in all; a name look-up that hangs longer is left behind.
        enough: stop after so many; None waits for all.

    Returns:
        The sources that answered.
    """
    answers: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
    for source, address in addresses.items():
        ask = threading.Thread(target=lambda s, a: answers.put((s, _connects(a, timeout_s))), args=(source, address))
        ask.daemon = True
        ask.start()
    found: set[str] = set()
    deadline = time.monotonic() + timeout_s
    for _ in addresses:
        try:
            source, connected = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        if connected:
            found.add(source)
        if enough is not None and len(found) >= enough:
            break
    return found


def _connects(address: str, timeout_s: float) -> bool:
    try:
        host, port = _first_hop(address)
        with socket.create_connection((host, port), timeout=timeout_s):
            return True
    except (OSError, ValueError):
        return False


def _first_hop(address: str) -> tuple[str, int]:
    """Host and port that a request to this address connects to: a proxy's where the environment names one."""
    parts = urlsplit(address)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if not parts.hostname:
        raise ValueError("no host")
    return parts.hostname, parts.port or _PORTS.get(parts.scheme, 443)


def addresses_of(endpoints: "Endpoints", settings: "Settings") -> dict[str, str]:
    """Base URLs of the sources that are to be searched.

    Raises:
        UsageError: one of them needs a key, and there is none.
    """
    endpoints.require(settings.tools.sources)
    return {name: endpoints[name].base_url for name in settings.tools.sources if name in endpoints.by_source}


def unreachable_advice(endpoints: "Endpoints", addresses: Mapping[str, str]) -> str:
    """One line: what cannot be reached, and the way out."""
    hosts = ", ".join(sorted({urlsplit(address).netloc for address in addresses.values()}))
    return (
        f"the public sources can't be reached ({hosts}): check the network, "
        'or run `willowbark ask --offline "…"`, which searches a bundled library'
    )


def about_here(environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Lines on Python, packages, extras and keys."""
    yield f"Willowbark  {_version('willowbark')}"
    yield f"Python      {platform.python_version()} on {sys.platform}"
    yield f"Packages    {', '.join(f'{name} {_version(name)}' for name in _PACKAGES)}"
    for name, installed in extras().items():
        yield f"Extra       {name}: " + ("installed" if installed else f"pip install 'willowbark[{name}]'")
    without = {**without_keys(), "NCBI_EMAIL": _WITHOUT_EMAIL}
    for name in (*without, *_MODEL_KEYS):
        missing = f"not set ({without[name]})" if name in without else "not set"
        yield f"Environment {name}: {'set' if environ.get(name, '').strip() else missing}"


def without_keys() -> dict[str, str]:
    """What goes on without the keys that sources would take, by variable."""
    from willowbark.tools.registry import cards  # noqa: PLC0415  reading the cards imports every source

    return {card.key: card.without_key for card in cards().values() if card.key and card.without_key}


def about_settings(settings: "Settings", file: Path | None) -> Iterator[str]:
    """Lines on the configuration in force."""
    yield f"Settings    {file if file else 'defaults (no willowbark.toml here)'}"
    server = f" at {settings.llm.base_url}" if settings.llm.base_url else ""
    yield f"Model       {settings.llm.model}{server}"
    root = settings.output.directory
    yield f"Runs        {root} ({'can' if _writable(root) else 'CANNOT'} be written to)"


def about_sources(addresses: Mapping[str, str], reached: set[str]) -> Iterator[str]:
    """A line on each source."""
    for name, address in addresses.items():
        yield f"Source      {name}: {'reachable' if name in reached else 'OUT OF REACH'} ({urlsplit(address).netloc})"


def about_others(addresses: Mapping[str, str], endpoints: "Endpoints") -> Iterator[str]:
    """A line on each source that is not asked, and why."""
    from willowbark.tools.registry import cards  # noqa: PLC0415  reading the cards imports every source

    for card in cards().values():
        if card.use == "named" and card.name not in addresses:
            key = f"set {card.key} and " if not endpoints.may_search(card.name) else ""
            why = card.off or card.without_key
            yield f"Source      {card.name}: off ({why}; {key}name it under tools.sources)"


async def live(endpoints: "Endpoints") -> dict[str, tuple[bool, str]]:
    """Ask every source one small question, all side by side, each once.

    Returns:
        By source: whether it answered, and a line on what it said or why it did not.
    """
    from willowbark.tools.questions import parse_question  # noqa: PLC0415
    from willowbark.tools.registry import cards  # noqa: PLC0415  reading the cards imports every source

    parse_question(ASKED_LIVE)  # reads the lexicon, whose seconds are not the sources'
    said = await asyncio.gather(*(_asked_live(name, endpoints) for name in cards()))
    return dict(zip(cards(), said, strict=True))


async def _asked_live(name: str, endpoints: "Endpoints") -> tuple[bool, str]:
    from willowbark.tools.errors import SearchError  # noqa: PLC0415  with the transport, only for this visit
    from willowbark.tools.http.transport import ExchangeLog, RetryPolicy, Transport  # noqa: PLC0415
    from willowbark.tools.registry import cards  # noqa: PLC0415

    if not endpoints.may_search(name):
        return False, f"not asked (set {cards()[name].key})"
    log, policy = ExchangeLog(), replace(RetryPolicy.within(LIVE_TIMEOUT_S), attempts=1)
    started = time.monotonic()
    try:
        async with Transport(endpoints, policy=policy, recorder=log) as transport, asyncio.timeout(LIVE_TIMEOUT_S):
            answer = await _small_question(name, transport)
    except SearchError as error:
        return False, f"FAILED: {error.reason}"
    except TimeoutError:
        return False, f"FAILED: no answer within {LIVE_TIMEOUT_S:g} s"
    requests, kilobytes = len(log.exchanges), sum(each.received_bytes for each in log.exchanges) / 1000
    spent = f"{time.monotonic() - started:.1f} s, {requests} request{'' if requests == 1 else 's'}, {kilobytes:.1f} kB"
    return True, f"answered ({spent}): {answer}"


async def _small_question(name: str, transport: "Transport") -> str:
    from willowbark.tools.registry import cards  # noqa: PLC0415
    from willowbark.tools.sources.card import source_modules  # noqa: PLC0415
    from willowbark.tools.toolbox import source_class  # noqa: PLC0415

    if cards()[name].use == "looked_up":
        answer: str = await source_modules()[name].small_question(transport)
        return answer
    reply = await source_class(name)(transport).find(ASKED_LIVE, 1)
    first = f", the first: {reply.records[0].citation.title[:60]}" if reply.records else ""
    warned = f" ({'; '.join(reply.warnings)})" if reply.warnings else ""
    return f"{reply.total:,} on {ASKED_LIVE}{first}{warned}"


def extras() -> dict[str, bool]:
    """Which of the package's extras are installed: with every package that each names, and its provider's library."""
    from ..model_clients import PROVIDERS  # noqa: PLC0415  only the doctor's visit needs it

    needed: dict[str, list[str]] = {}
    for requirement in requires("willowbark") or []:
        if found := _OF_EXTRA.match(requirement):
            needed.setdefault(found["extra"], []).append(found["package"])
    return {
        name: all(_version(package) != _MISSING for package in packages)
        and (name not in PROVIDERS or _importable(PROVIDERS[name].library))
        for name, packages in needed.items()
    }


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return _MISSING


def _writable(root: Path) -> bool:
    """Whether run folders can be made: by the nearest folder that exists, and room on its disk."""
    existing = next((folder for folder in (root, *root.absolute().parents) if folder.exists()), Path("/"))
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK) and shutil.disk_usage(existing).free > 0
