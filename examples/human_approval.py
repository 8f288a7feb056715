"""A person says which candidates the report should deal with, before it is written.

The approver is AutoGen's `UserProxyAgent` with a typed answer: it speaks between the judge's last word and the report.
Outside a team of one's own, `await research(question, approve=…)` takes a function or an `ApproverAgent` instead.
"""

import asyncio
from contextlib import suppress

from willowbark.agents.approver import ApproverAgent
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.model import ReportMessage
from willowbark.teams import ResearchTeam
from willowbark.teams.research_team import default_participants


async def main() -> None:
    """Search, ask, write."""
    person = ApproverAgent(input_func=input, default="none", timeout_s=600)
    client = BaselineChatCompletionClient()
    team = ResearchTeam(default_participants(client, approver=person), client)

    result = await team.run(task="Which existing drugs could prevent migraine attacks?")
    report = next(m.content for m in result.messages if isinstance(m, ReportMessage))
    print(report.to_markdown())


with suppress(KeyboardInterrupt):  # Ctrl-C ends it without a traceback
    asyncio.run(main())
