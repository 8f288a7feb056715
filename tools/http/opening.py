"""Opens a wire by its name."""

from typing import TYPE_CHECKING

from ..records.card import WireName
from .wires import HttpxWire, Wire

if TYPE_CHECKING:
    import httpx


def open_wire(name: WireName, network: "httpx.AsyncBaseTransport | None" = None) -> Wire:
    """Open a wire; `network` carries its requests whatever the name, None uses the network."""
    if network is not None or name == "httpx":
        return HttpxWire(network)
    from .threaded import RequestsLine, StandardLine, ThreadedWire  # noqa: PLC0415  loads libraries of one source

    return ThreadedWire(name, RequestsLine if name == "requests" else StandardLine)
