"""Check the installation: packages, extras, keys (whether set, never their values), configuration, sources.

Each source is asked one tiny question, and its reply held against its contract.
"""

import asyncio
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
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.ladder import WireMemory, default_path
from willowbark.tools.installation import advise_extra
from willowbark.tools.records.registry import cards, has_package

from ..config import FILE_NAME, Settings
from ..ledger.database import DEFAULT_PATH as LEDGER_PATH
from ..model_clients import PROVIDERS
from .terminal import complain, write_lines

REACH_TIMEOUT_S = 3.0
_DRUG = "propranolol"
_CONDITION = "migraine"
_TITLE = "Propranolol in the prevention of migraine: a randomized, double-blind, placebo-controlled trial."
_ABSTRACT = (
    "Two hundred adults with migraine were randomized to propranolol or placebo for 12 weeks. Attacks per month fell "
    "significantly more with propranolol than with placebo (P<0.001). Propranolol prevents migraine attacks."
)
_OFFLINE = 'run `willowbark ask --offline "…"`, which searches a bundled library'
_PACKAGES = "autogen-agentchat autogen-core autogen-ext pydantic httpx requests starlette uvicorn".split()
_MODEL_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "OLLAMA_HOST")
_EXTRA = re.compile(r"(?P<package>[\w.-]+).*\bextra == ['\"](?P<extra>[\w-]+)['\"]")
"""A requirement of an extra: https://packaging.python.org/en/latest/specifications/dependency-specifiers/"""


class Diagnosis(NamedTuple):
    """What the doctor found."""

    code: Literal[0, 3, 4]
    """Exit code: all is right; no source that is searched answered; something is wrong."""
    complaint: str = ""
    """What is wrong, in one line; empty if nothing is."""


def examine(config: Path | None, *, is_offline: bool = False) -> Diagnosis:
    """Print what is in place and what is missing, and how each source answered.

    Args:
        config: settings file; None reads `willowbark.toml`, if there is one.
        is_offline: check folders, library and weights alone, and ask no source.

    Raises:
        UsageError: invalid settings or keys, or a library that cannot be read.
    """
    write_lines(describe_installation())
    settings = Settings.load(config)
    default = Path(FILE_NAME)
    write_lines(
        [
            f"Settings    {config or (default if default.exists() else f'defaults (no {FILE_NAME} here)')}",
            f"Model       {settings.llm.model}{f' at {settings.llm.base_url}' if settings.llm.base_url else ''}",
        ]
    )
    faults = check_folders({"Runs": settings.output.directory, "Ledger": LEDGER_PATH.parent})
    faults += check_studies(LEDGER_PATH.parent)
    faults += check_library(settings, is_offline=is_offline)
    if is_offline:
        faults += check_weights()
    elif settings.library.path is None:
        diagnosis = check_sources(settings)
        if diagnosis.code:
            return diagnosis
    return Diagnosis(4, "; ".join(faults)) if faults else Diagnosis(0)


def check_folders(folders: Mapping[str, Path]) -> list[str]:
    """Print whether folders, or those in which they would be made, can be written to; return what cannot."""
    faults = list[str]()
    for name, folder in folders.items():
        existing = next((parent for parent in (folder, *folder.absolute().parents) if parent.exists()), Path("/"))
        is_writable = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
        write_lines([f"{name:<11} {folder} ({'can' if is_writable else 'CANNOT'} be written to)"])
        if not is_writable:
            faults.append(f"{folder} cannot be written to")
    return faults


def describe_studies(folder: Path) -> list[str]:
    """Say how many studies a folder's store holds, by which reader, one line each; StoreError if it cannot be used."""
    from willowbark.tools.reading.store import STORE_FILE, StudyStore  # noqa: PLC0415  loads the reader's tables

    path = folder / STORE_FILE
    if not path.exists():
        return ["none read yet"]
    with StudyStore(path, is_writable=False) as store:
        return [count.line for count in store.counts()] or ["none read yet"]


def check_studies(folder: Path) -> list[str]:
    """Print how many studies a folder's store holds, by which reader; return what is wrong with it."""
    try:
        lines = describe_studies(folder)
        faults = list[str]()
    except UsageError as error:
        lines = faults = [str(error)]
    write_lines(f"{'Studies' if place == 0 else '':<11} {line}" for place, line in enumerate(lines))
    return faults


def check_library(settings: Settings, *, is_offline: bool) -> list[str]:
    """Print what the library holds that is searched offline or by the settings; return what is wrong with it."""
    from willowbark.tools.library import BUNDLED, open_library  # noqa: PLC0415  loads the index's library

    path = settings.library.path
    if path is None and not is_offline:
        return []
    library = open_library(path or BUNDLED, complain)
    write_lines([f"Library     {library.summary}{'' if path is None else '; no source is asked'}"])
    contents = library.contents
    write_lines([f"            {line}" for line in contents.unread])
    faults = check_studies(library.folder) if path not in (None, BUNDLED) else []
    return faults if contents.publications + contents.trials else [*faults, f"the library {path} holds no records"]


def check_weights() -> list[str]:
    """Print whether the bundled weights read a question and a record; return what is wrong with them."""
    from willowbark.tools.appraisal.appraised import load_reader  # noqa: PLC0415  loads the weights
    from willowbark.tools.questions import parse_question  # noqa: PLC0415
    from willowbark.tools.reading.document import Document  # noqa: PLC0415

    try:
        conditions = parse_question(f"Which existing drugs could prevent {_CONDITION}?").conditions
        reading = load_reader().read_document(Document(_TITLE, _ABSTRACT), _DRUG, _CONDITION)
        is_right = conditions == (_CONDITION,) and reading.verdict == "supports"
        problem = "" if is_right else "read a plain record wrongly"
    except Exception as error:  # noqa: BLE001  whatever a damaged file leads to
        problem = f"cannot be used ({type(error).__name__})"
    write_lines([f"Weights     {problem or 'read a question and a record as they should'}"])
    return [f"the bundled weights {problem}: install Willowbark again"] if problem else []


def check_sources(settings: Settings) -> Diagnosis:
    """Ask each source one tiny question, side by side, and print how it answered and what to do.

    Besides the sources that the settings search, those are asked that runs look things up in.
    """
    from willowbark.tools.contracts.contact import contact_sources  # noqa: PLC0415  loads all sources
    from willowbark.tools.contracts.known_items import asked_sources  # noqa: PLC0415

    endpoints = Endpoints.public()
    addresses = list_addresses(endpoints, settings)
    to_reach = {*addresses, *asked_sources()}
    names = [name for name in cards() if name in to_reach and name in endpoints.by_source]
    contacts = asyncio.run(contact_sources(names, endpoints))
    write_lines([f"Source      {contact.line}" for contact in contacts])
    write_lines([*describe_unused(addresses, endpoints), *describe_wires()])
    unwell = [contact for contact in contacts if contact.outcome != "answered"]
    searched = [contact for contact in contacts if contact.source in addresses]
    if searched and all(contact.outcome == "silent" for contact in searched):
        return Diagnosis(3, advise_unreachable(addresses))
    if searched and all(contact.outcome in ("silent", "refused") for contact in searched):
        return Diagnosis(3, f"no source that is searched gave an answer; {_OFFLINE}")
    if unwell:
        return Diagnosis(4, f"not as they should be: {', '.join(contact.source for contact in unwell)}")
    return Diagnosis(0)


def describe_installation() -> Iterator[str]:
    """Describe Python, packages, extras and keys, one per line."""
    yield f"Willowbark  {_find_version('willowbark')}"
    yield f"Python      {platform.python_version()} on {sys.platform}"
    yield f"Packages    {', '.join(f'{name} {_find_version(name)}' for name in _PACKAGES)}"
    for name, installed in list_extras().items():
        yield f"Extra       {name}: " + ("installed" if installed else advise_extra(name))
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
            steps += [] if has_package(card) else [advise_extra("web")]
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


def list_extras() -> dict[str, bool]:
    """Check which extras are installed, with all their packages and the provider's library."""
    needed = {name: [provider.library.replace(".", "-")] for name, provider in PROVIDERS.items()}
    for requirement in requires("willowbark") or []:
        if match := _EXTRA.match(requirement):
            needed.setdefault(match["extra"], []).append(match["package"])
    return {name: all(map(_find_version, packages)) for name, packages in needed.items()}


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def list_addresses(endpoints: Endpoints, settings: Settings) -> dict[str, str]:
    """Return the base URLs of the sources to search; UsageError if one lacks the key it needs."""
    endpoints.require(settings.tools.sources)
    return {name: endpoints[name].base_url for name in settings.tools.sources if name in endpoints.by_source}


def advise_unreachable(addresses: Mapping[str, str]) -> str:
    """Say in one line what cannot be reached and what to do."""
    hosts = ", ".join(sorted({urlsplit(address).netloc for address in addresses.values()}))
    return f"the public sources can't be reached ({hosts}): check the network, or {_OFFLINE}"


def find_reachable(addresses: Mapping[str, str], *, enough: int | None = None) -> set[str]:
    """Find the sources whose base URLs (or proxies) accept a connection, trying all at once; stop after `enough`."""
    answering = set[str]()

    def connect(source: str, address: str) -> None:
        parts = urlsplit(address)
        proxy = urllib.request.getproxies().get(parts.scheme)
        with suppress(OSError, ValueError):
            if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
                parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
            port = parts.port or (80 if parts.scheme == "http" else 443)
            with socket.create_connection((parts.hostname or "", port), timeout=REACH_TIMEOUT_S):
                answering.add(source)

    threads = [threading.Thread(target=connect, args=address, daemon=True) for address in addresses.items()]
    for thread in threads:  # threads, as looking up a name in a broken network may take longer than the timeout
        thread.start()
    deadline = time.monotonic() + REACH_TIMEOUT_S
    while any(thread.is_alive() for thread in threads) and time.monotonic() < deadline:
        if enough is not None and len(answering) >= enough:
            break
        time.sleep(0.01)
    return set(answering)
