"""The options of a run as keyword arguments, so that type checkers refuse one that does not exist.

They are those of `RunOptions`, which says what each of them means.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from ..config import Depth, ReportWords, Settings
from .options import Hook, Shown

if TYPE_CHECKING:
    from willowbark.agents.approval import Approve
    from willowbark.agents.approver import ApproverAgent
    from willowbark.agents.autogen import CancellationToken, ChatCompletionClient
    from willowbark.tools.http.endpoints import Endpoints
    from willowbark.tools.http.transport import Recorder

    from ..ledger import Ledger


class ChosenAnew(TypedDict, total=False):
    """The options that a resumed run takes; it keeps the others from its start."""

    approve: "Approve | ApproverAgent | bool | None"
    model_client: "ChatCompletionClient | None"
    endpoints: "Endpoints | None"
    recorder: "Recorder | None"
    cancellation_token: "CancellationToken | None"
    hooks: Sequence[Hook]
    raise_unreachable: bool
    shown: Shown
    studies: Path | None
    corrections: Path | None


class RunChoices(ChosenAnew, total=False):
    """The options of a new run."""

    settings: Settings | Path | None
    model: str | None
    batch: bool | None
    economy: bool | None
    fallback: bool | None
    max_iterations: int | None
    depth: Depth | None
    max_results: int | None
    sources: Sequence[str] | None
    include_rag: bool | None
    words: ReportWords | None
    max_tokens: int | None
    max_seconds: float | None
    max_cost_usd: float | None
    ledger: "Ledger | Path | None"
    run_id: str | None
    fresh: bool
    offline: bool
    library: str | Path | None
