"""Willowbark as its users write it; type checkers complain of each line that ends in `# mistake`, and no other."""

import asyncio
from pathlib import Path

from willowbark import ResearchReport, RunOptions, Settings, Team, ask, research, research_stream

QUESTION = "Which existing drugs could prevent migraine attacks?"


def answer() -> ResearchReport:
    report = ask(QUESTION, offline=True, max_iterations=3, sources=["pubmed"], settings=Settings())
    ask(QUESTION, ofline=True)  # mistake
    ask(QUESTION, max_iterations="three")  # mistake
    ask(7)  # mistake
    return ask(RunOptions(question=QUESTION), depth="quick") if report.candidates else report


async def follow() -> ResearchReport:
    await research(QUESTION, library=Path("records"))
    await research(QUESTION, libary="records")  # mistake
    async for event in research_stream(QUESTION, depth="quick"):
        print(event.message)
    async for event in research_stream(QUESTION, depth="slow"):  # mistake
        print(event.mesage)  # mistake
    team = Team(max_turns=3)
    Team(max_turn=3)  # mistake
    await team.run(task=QUESTION)
    return await research(QUESTION)


def use(report: ResearchReport) -> Path:
    level: str = report["gabapentin"].certainty
    number: int = report["gabapentin"].certainty  # mistake
    picture = report.plot()
    page: str = report.to_html()
    print(level, number, page, "gabapentin" in report, picture.save("overview.svg"), report.drugs)
    report.to_dataframe("studys")  # mistake
    report.sav("answer.docx")  # mistake
    return report.save("answer.docx")


if __name__ == "__main__":
    asyncio.run(follow())
