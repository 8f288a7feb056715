"""The ladder of a source's wires: after a 403 the next one is tried, and the one that passes is remembered.

Reports of ClinicalTrials.gov's firewall contradict one another: some see httpx refused and requests pass, some requests
refused and urllib pass. All wires send the same honest User-Agent, never a browser's.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import platformdirs
from pydantic import BaseModel, RootModel, ValidationError

from ..errors import UsageError
from ..records.card import WireName
from ..whole_file import write_file

_LOG = logging.getLogger(__name__)


class PassingWire(BaseModel, frozen=True, extra="forbid"):
    """The wire that passed where a source refused another."""

    wire: WireName
    since: str
    """Date, such as `2026-11-28`."""


class _Remembered(RootModel[dict[str, PassingWire]]):
    """By source."""


def default_path() -> Path:
    """Return the file in which a user's runs remember which wires pass."""
    return Path(platformdirs.user_state_dir("willowbark")) / "wires.json"


class WireMemory:
    """Which wire passed at each source that refused its first, from run to run.

    Args:
        path: JSON file; None remembers within this object only.

    Attributes:
        problem: why the file could not be read, in one line; empty if it could, or there is none.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.problem = ""
        self.passing = dict[str, PassingWire]()
        try:
            if path is not None:
                self.passing = _Remembered.model_validate_json(path.read_bytes()).root
        except FileNotFoundError:
            pass
        except (OSError, ValidationError):
            self.problem = f"{path} cannot be read and is not used; deleting it does no harm"
            _LOG.warning(self.problem)

    def keep(self, source: str, wire: WireName, *, is_first: bool) -> None:
        """Remember the wire that passed; the source's first needs no remembering."""
        current_wire = self.passing.get(source)
        if (current_wire is None and is_first) or (current_wire is not None and current_wire.wire == wire):
            return
        if is_first:
            del self.passing[source]
        else:
            self.passing[source] = PassingWire(wire=wire, since=f"{datetime.now(UTC):%Y-%m-%d}")
        if self._path is None:
            return
        content = _Remembered(self.passing).model_dump_json(indent=1).encode()
        try:
            write_file(self._path, content)
        except UsageError as error:
            _LOG.warning(f"which wire passes at {source} is not remembered: {error}")


class Ladder:
    """The wires of one source in a run, in the order in which they are tried.

    Args:
        source: its name.
        wires: in the card's order; a remembered one comes first.
        memory: where the one that passes is remembered.
    """

    def __init__(self, source: str, wires: Sequence[WireName], memory: WireMemory) -> None:
        self._source = source
        self._memory = memory
        self._usual = wires[0]
        remembered = memory.passing.get(source)
        self._order = sorted(wires, key=lambda name: remembered is None or name != remembered.wire)
        self._refused = list[WireName]()
        self._is_exhausted = False

    @property
    def first(self) -> WireName:
        """The wire for the next request: the first that was not refused."""
        return next(name for name in self._order if name not in self._refused)

    @property
    def names(self) -> Sequence[WireName]:
        """All wires, in the order in which they are tried."""
        return self._order

    def refuse(self, name: WireName) -> WireName | None:
        """Take note of a 403; return the wire to try now, None if all were refused.

        Once all were, further requests are tried over the first alone: a firewall is not to be hammered.
        """
        if self._is_exhausted:
            return None
        if name not in self._refused:
            self._refused.append(name)
        if len(self._refused) < len(self._order):
            return self.first
        self._refused.clear()
        self._is_exhausted = True
        return None

    def accept(self, name: WireName) -> None:
        """Take note of a reply; the wire is remembered if others were refused before."""
        self._is_exhausted = False
        if self._refused:
            self._memory.keep(self._source, name, is_first=name == self._usual)
