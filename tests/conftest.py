"""What holds for every test: no network but loopback, no user's cache, no keys from the environment."""

import socket
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from willowbark.tools.records.registry import cards

if TYPE_CHECKING:
    from faults.server import SourceServer

    from willowbark.tools.http.endpoints import Endpoints

sys.modules["ddgs"] = None  # type: ignore[assignment]  # as not installed: a run searches the web where a test says so
LOOPBACK = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", None)
FOREIGN_SETTINGS = (
    "WILLOWBARK_LIBRARY__PATH NCBI_EMAIL HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy"
).split()

hypothesis.settings.register_profile(
    "suite",
    deadline=None,  # other programs use the processor too: a slow example says nothing
    derandomize=True,
    database=None,
    max_examples=40,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("suite")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Open the network for live tests; everywhere else pytest-socket (see pyproject.toml) keeps it shut."""
    for item in items:
        if item.get_closest_marker("live"):
            item.add_marker(pytest.mark.enable_socket)


@pytest.fixture(autouse=True)
def _alone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No names but loopback's are looked up, nothing of the user's is read, no cache of the user's is written."""
    if request.node.get_closest_marker("live"):
        yield
        return
    looked_up = socket.getaddrinfo

    def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name in LOOPBACK:
            return looked_up(host, *args, **kwargs)
        if str(name).endswith(".invalid"):  # RFC 2606: these exist nowhere, with or without a network
            raise socket.gaierror(socket.EAI_NONAME, "name or service not known")
        raise RuntimeError(f"a test looked up {host!r}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", guarded)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
        for name in (*FOREIGN_SETTINGS, *(card.key for card in cards().values() if card.key)):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def ddgs_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package ddgs, which the other tests do without."""
    monkeypatch.delitem(sys.modules, "ddgs")


@pytest.fixture(scope="module")
def sources() -> Iterator["SourceServer"]:
    """The sources, as far as their recorded replies go."""
    from faults.server import SourceServer

    with SourceServer() as server:
        yield server


@pytest.fixture
def endpoints(sources: "SourceServer") -> "Endpoints":
    """Where they are."""
    from willowbark.tools.http.endpoints import Endpoints

    return Endpoints.at(sources.url)
