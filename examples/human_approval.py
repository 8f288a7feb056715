"""A person reads the candidates before the report is written, and says whether it should be.

The team stops at the judge's word; AutoGen's UserProxyAgent asks the person; the team goes on where it stood.
"""

import asyncio
from collections.abc import Sequence

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.conditions import FunctionalTermination, SourceMatchTermination
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from autogen_core import CancellationToken

from willowbark.agents.judge import AssessmentMessage
from willowbark.agents.report import ReportMessage
from willowbark.teams import ResearchTeam


def search_is_over(messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> bool:
    """Whether the judge has said that the report should be written."""
    return any(isinstance(m, AssessmentMessage) and m.content.recommendation == "synthesize" for m in messages)


async def main() -> None:
    """Search, ask, write."""
    stop = FunctionalTermination(search_is_over) | SourceMatchTermination(["report"])
    team = ResearchTeam(termination_condition=stop)
    searched = await team.run(task="Which existing drugs could prevent migraine attacks?")
    verdict = next(m.content for m in reversed(searched.messages) if isinstance(m, AssessmentMessage))

    reviewer = UserProxyAgent("reviewer", input_func=lambda prompt: input(f"{prompt}\n> "))
    candidates = ", ".join(verdict.details.drug_candidates) or "none"
    asked = TextMessage(content=f"Candidates: {candidates}. Write the report? (yes/no)", source="team")
    print(asked.content)
    answer = (await reviewer.on_messages([asked], CancellationToken())).chat_message.to_text()
    if not answer.strip().lower().startswith("y"):
        print("No report was written.")
        return

    written = await team.run()
    report = next(m.content for m in written.messages if isinstance(m, ReportMessage))
    print(report.to_markdown())


asyncio.run(main())
