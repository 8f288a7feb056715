"""Willowbark as an agent of Microsoft's Agent Framework: a run's steps, its answer, a further question.

Needs the extra `agent-framework`. Without network: set WILLOWBARK_LIBRARY__PATH to `bundled`.
"""

import asyncio
import sys
from contextlib import suppress

from willowbark import WillowbarkError
from willowbark.teams.faces.agent_framework import WillowbarkAgent

QUESTION = "Which existing drugs could prevent migraine attacks?"


async def main() -> None:
    """Print each step with who took it, the candidates, and what the run says on one of them."""
    agent = WillowbarkAgent()
    session = agent.create_session()
    stream = agent.run(QUESTION, stream=True, session=session)
    async for update in stream:
        for content in update.contents:
            if content.type == "text_reasoning":
                print(f"{update.author_name}: {content.text.strip()[:100]}")
    report = (await stream.get_final_response()).value
    print(*[f"{candidate.name}: {candidate.certainty} certainty" for candidate in report.candidates], sep="\n")
    further = await agent.run("Is propranolol safe in pregnancy?", session=session)
    print(further.text)


with suppress(KeyboardInterrupt):  # Ctrl-C ends it without a traceback
    try:
        asyncio.run(main())
    except WillowbarkError as problem:  # no network, say: one line says what to do
        sys.exit(str(problem))
