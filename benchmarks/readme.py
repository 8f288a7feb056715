"""Write the README's excerpt from the report of `make demo`: `make excerpt`; `tests/test_readme.py` compares them."""

import asyncio
from pathlib import Path

from willowbark.agents.report.content import NOT_REPORTED
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.run.research import research

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- excerpt:begin -->\n", "<!-- excerpt:end -->"
QUESTION = "Which existing drugs could prevent migraine attacks?"
SHOWN = 8  # candidates


def write_excerpt(report: ResearchReport) -> str:
    """The first candidates of a report as a table, as its own table has them."""
    rows = [
        f"| {c.name} | {c.level} | {len(c.supporting_citations)} | {len(c.contradicting_citations)} "
        f"| {len(c.undecided_citations)} | {'' if c.clinical_status == NOT_REPORTED else c.clinical_status} |"
        for c in report.candidates[:SHOWN]
    ]
    columns = "drug", "certainty, by the small reader", "supporting", "contradicting", "inconclusive", "status"
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join(
        [
            f"> {report.summary_parts[0].text}" if report.summary_parts else "",
            "",
            *head,
            *rows,
            "",
            f"The first {len(rows)} of {len(report.candidates)} candidates in the report of `make demo`.",
            "The bundled abstracts are few and paraphrased; they are for demonstration only.",
            "",
        ]
    )


def replace_excerpt(readme: str, excerpt: str) -> str:
    """A README with another excerpt between its marks."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{excerpt}{END}{after}"


def main() -> None:
    """Run the demo and write."""
    report = asyncio.run(research(QUESTION, offline=True, ledger=None))
    readme = README.read_text(encoding="utf-8")
    README.write_text(replace_excerpt(readme, write_excerpt(report)), encoding="utf-8")


if __name__ == "__main__":
    main()
