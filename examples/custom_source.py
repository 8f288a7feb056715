"""A source of one's own, in one file: notes from drug labels, searched beside PubMed.

A source is a class with `find` and a name of its own, by which records and report know it; a tool hands it to agents.
To have it in every run, give it a card in a file of its own under `tools/sources/` (see docs/how-to/add-a-source.md).
"""

import asyncio
from contextlib import suppress

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.judge import JudgeAgent
from willowbark.agents.report.model import ReportMessage
from willowbark.agents.reporter import ReportAgent
from willowbark.agents.specialist import SpecialistAgent
from willowbark.agents.specialists import literature_agent
from willowbark.teams import ResearchTeam
from willowbark.tools.http.transport import Transport
from willowbark.tools.records.enclosure import new_marker
from willowbark.tools.records.evidence import Citation, Evidence
from willowbark.tools.search import Filters, Source, SourceReply, Status, rank
from willowbark.tools.toolbox import EvidenceTool, Questions, SearchArgs, ToolReply

NOTES = {
    "propranolol": "Labelled in the United States for the prevention of common migraine headache.",
    "topiramate": "Labelled in the United States for the prevention of migraine in adults and adolescents.",
}


class LabelNotes(Source):
    """What a team noted from drug labels."""

    name = "labelnotes"
    description = "The team's own notes from drug labels."

    async def find(self, query: str, max_results: int = 10, filters: Filters | None = None) -> SourceReply:
        """Give the notes that fit, best first. A source with an API would ask `self.transport` here."""
        records = [
            Evidence(
                content=f"{drug.capitalize()}\n\n{drug.capitalize()}: {note}",
                citation=Citation(
                    source=self.name,
                    title=f"Label of {drug}",
                    url=f"https://dailymed.nlm.nih.gov/dailymed/search.cfm?query={drug}",
                ),
                metadata={"has_abstract": True},
            )
            for drug, note in NOTES.items()
            if "migraine" in query.lower()
        ]
        status = Status.OK if records else Status.EMPTY
        found = rank(query, records)[:max_results]
        return SourceReply(source=self.name, query=query, status=status, records=found, total=len(records))


class SearchLabelNotes(EvidenceTool[SearchArgs]):
    """The source as a tool for agents."""

    def __init__(self) -> None:
        self._marker = new_marker()
        super().__init__(SearchArgs, ToolReply, "search_labels", LabelNotes.description)

    def _questions(self, args: SearchArgs, transport: Transport) -> Questions:
        source = LabelNotes(transport)
        return {source.name: lambda: source.find(args.query)}


async def main() -> None:
    """Run a team with a labels specialist, and tell what its source gave."""
    model = BaselineChatCompletionClient()
    labels = SpecialistAgent("labels", model, tools=[SearchLabelNotes()], description="Reads the team's label notes.")
    team = ResearchTeam([literature_agent(model), labels, JudgeAgent("judge", model), ReportAgent("report", model)])
    result = await team.run(task="Which existing drugs could prevent migraine attacks?")
    last = result.messages[-1]
    assert isinstance(last, ReportMessage)
    for entry in last.content.search_log:
        print(f"{entry.specialist:11} {entry.source:10} {entry.status:8} {entry.taken} records")
    print(last.content.executive_summary)


with suppress(KeyboardInterrupt):  # Ctrl-C ends it without a traceback
    asyncio.run(main())
