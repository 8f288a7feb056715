"""The research team is an AutoGen team: AutoGen's own Console shows it."""

import asyncio
from contextlib import suppress

from autogen_agentchat.ui import Console

from willowbark.teams import ResearchTeam


async def main() -> None:
    """Run the team on the console."""
    await Console(ResearchTeam().run_stream(task="Which existing drugs could prevent migraine attacks?"))


with suppress(KeyboardInterrupt):  # Ctrl-C ends it without a traceback
    asyncio.run(main())
