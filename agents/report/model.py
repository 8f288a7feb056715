"""The report as other programs take it: its content with the forms that it has by itself, and its message."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from willowbark.agents.autogen import ModelTextMessage
from willowbark.tools.enclosure import GUIDANCE
from willowbark.tools.wording import counted

from ..digest import DIRECTIONS, MOST_BYTES, NOT_RATED, EvidenceDigest, EvidenceLine, describe_study, make_digest
from .content import NOT_REPORTED, ReportContent
from .forms.blocks import Document
from .forms.html import notebook_html
from .forms.markdown import appendix_in_markdown, as_markdown
from .frames import evidence_frame
from .tree import brief, document

if TYPE_CHECKING:
    import pandas as pd


class ResearchReport(ReportContent):
    """The answer to a question."""

    @property
    def line(self) -> str:
        """The report in a line: its title, and how much it holds."""
        sizes = (len(self.candidates), "candidate"), (len(self.references), "reference")
        return f"{self.title}: {', '.join(counted(number, noun) for number, noun in sizes)}"

    def to_tree(self) -> Document:
        """The report as every form of it shows it: sections, paragraphs, lists, tables and figures."""
        return document(self)

    def to_brief(self) -> Document:
        """What the report comes to: the tree's first screen and tables of candidates alone."""
        return brief(self)

    def to_digest(self, most_bytes: int = MOST_BYTES) -> EvidenceDigest:
        """What the report comes to in so many bytes: its answer, and studies with their quotes, drug by drug."""
        answer = self.summary_parts[0].line if self.summary_parts else self.executive_summary
        lines = [
            EvidenceLine(
                drug=candidate.name,
                direction=row.direction,
                certainty=NOT_RATED if candidate.certainty == NOT_REPORTED else candidate.certainty,
                study=describe_study(row.design, row.date, row.sample_size),
                id=row.key,
                quote=row.sentence,
            )
            for candidate in self.candidates
            for row in self.evidence_table
            if row.drug == candidate.name and row.sentence and not row.retracted and row.direction in DIRECTIONS
        ]
        return make_digest(self.research_question, answer, lines, most_bytes)

    def to_markdown(self) -> str:
        """The report as Markdown, without its appendix."""
        return as_markdown(self.to_tree())

    def to_appendix(self) -> str:
        """The appendix as Markdown: further evidence, methods, searches as sent, further references."""
        return appendix_in_markdown(self.to_tree())

    def to_json(self) -> str:
        """The whole report as JSON, indented."""
        return self.model_dump_json(indent=2)

    def to_dataframe(self) -> "pd.DataFrame":
        """The evidence table as a pandas frame, one row for each record and drug; `report.frames` has others.

        Raises:
            UsageError: pandas is not installed.
        """
        return evidence_frame(self)

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """Without what it holds: AutoGen writes every message for its log, whether or not anybody reads that."""
        yield from (
            ("research_question", self.research_question),
            ("drug_candidates", self.drug_candidates),
        )

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"<ResearchReport: {self.title}; {counted(len(self.candidates), 'candidate')}>")

    def _repr_html_(self) -> str:
        return notebook_html(self.to_tree())


class ReportMessage(ModelTextMessage[ResearchReport]):
    """A report as a message."""

    def to_text(self) -> str:
        """One line for consoles."""
        return self.content.line

    def to_model_text(self) -> str:
        """The digest of the evidence: what other agents' models need; the report stays in the type."""
        return f"{self.to_text()}\n{GUIDANCE}\n{self.content.to_digest().as_text()}"
