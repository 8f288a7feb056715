"""Who speaks next, read from the thread alone.

A round is: its specialists side by side, then the judge. Before the report comes the approver, where there is one.
A state saved in the middle of a round knows no longer who was speaking, so the policy asks the thread which round this
is, who was called in it, and who has answered.
"""

from collections.abc import Sequence

from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, TextMessage

from willowbark.agents.approval import ApprovalMessage
from willowbark.agents.assessment import AssessmentMessage

Thread = Sequence[BaseAgentEvent | BaseChatMessage]


def next_speakers(
    thread: Thread, specialists: Sequence[str], judge: str, reporter: str, approver: str | None = None
) -> list[str]:
    """Name who speaks next; several speak side by side.

    Args:
        thread: all messages so far.
        specialists: names of those who search.
        judge: name of the judge.
        reporter: name of who writes the report.
        approver: name of who asks a person about the candidates; None asks nobody.

    Returns:
        Names; empty where the policy leaves a choice among the specialists.
    """
    messages = _since_question(thread)
    verdicts = [place for place, message in enumerate(messages) if isinstance(message, AssessmentMessage)]
    latest = messages[verdicts[-1]] if verdicts else None
    since = messages[verdicts[-1] + 1 :] if verdicts else messages
    called = list(specialists)
    if isinstance(latest, AssessmentMessage):
        if latest.content.recommendation == "synthesize":
            asked = approver is None or any(isinstance(message, ApprovalMessage) for message in since)
            return [reporter if asked or approver is None else approver]
        called = [name for name in specialists if name in latest.content.next_specialists]
    answered = {m.source for m in since if isinstance(m, BaseChatMessage) and m.source in specialists}
    missing = [name for name in called if name not in answered]
    if missing:
        return missing
    return [judge] if answered else []


def _since_question(thread: Thread) -> Thread:
    """The messages after the user's latest one: a team may be asked one question after another."""
    for place in range(len(thread) - 1, -1, -1):
        message = thread[place]
        if isinstance(message, TextMessage) and message.source == "user":
            return thread[place + 1 :]
    return thread
