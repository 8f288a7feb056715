"""The turns of a run as messages of its agents."""

from collections.abc import Mapping, Sequence
from typing import get_args

from willowbark.agents.approval import ApprovalMessage
from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.autogen import BaseChatMessage
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.report.model import ReportMessage

from ..ledger import Turn, restore

TurnMessage = FindingsMessage | AssessmentMessage | ApprovalMessage | ReportMessage
"""What agents contribute to a run."""
_TYPES: Mapping[str, type[BaseChatMessage]] = {kind.__name__: kind for kind in get_args(TurnMessage)}


def restore_messages(turns: Sequence[Turn]) -> list[BaseChatMessage]:
    """Convert turns to messages; LedgerError if a turn is not from this version."""
    return [restore(_TYPES[turn.type], turn.message, turn.type) for turn in turns if turn.type in _TYPES]
