"""A run's checks of its evidence, each made once: the approver and the report agent look at the same pool."""

from collections.abc import Sequence

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.evidence import Evidence
from willowbark.tools.http.transport import Transport

from .checking import checked

Checked = tuple[list[Evidence], list[Candidate]]


class Checks:
    """Checks pools, and remembers the latest.

    Args:
        transport: the way to the sources; None looks nothing up.
    """

    def __init__(self, transport: Transport | None = None) -> None:
        self._transport = transport
        self._latest: tuple[tuple[str, ...], Checked] | None = None

    async def of(self, question: str, pool: Sequence[Evidence]) -> Checked:
        """The checked pool and its candidates; see `checked`."""
        key = (question, *(record.key for record in pool))
        if self._latest is None or self._latest[0] != key:
            self._latest = key, await checked(question, pool, self._transport)
        return self._latest[1]
