"""The report with methods for its forms, and its message."""

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
        """The report in a line: its title and numbers."""
        sizes = (len(self.candidates), "candidate"), (len(self.references), "reference")
        return f"{self.title}: {', '.join(counted(number, noun) for number, noun in sizes)}"

    def to_tree(self) -> Document:
        """Return the tree for all forms: sections, paragraphs, lists, tables and figures."""
        return document(self)

    def to_brief(self) -> Document:
        """Return the short report: the tree's first screen and tables of candidates."""
        return brief(self)

    def to_digest(self, most_bytes: int = MOST_BYTES) -> EvidenceDigest:
        """Return a digest in at most `most_bytes`: the answer, and studies with quotes by drug."""
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
        """Return the report as Markdown, without its appendix."""
        return as_markdown(self.to_tree())

    def to_appendix(self) -> str:
        """Return the appendix as Markdown: further evidence, methods, searches as sent, further references."""
        return appendix_in_markdown(self.to_tree())

    def to_json(self) -> str:
        """Return the whole report as indented JSON."""
        return self.model_dump_json(indent=2)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the evidence table as a pandas frame, one row per record and drug; `report.frames` has others.

        Raises:
            UsageError: pandas is not installed.
        """
        return evidence_frame(self)

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """Leave out the content, as AutoGen formats every message for its log, even if that is off."""
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
        """Return one line for consoles."""
        return self.content.line

    def to_model_text(self) -> str:
        """Return the digest for other agents' models; the report stays in the data."""
        return f"{self.to_text()}\n{GUIDANCE}\n{self.content.to_digest().as_text()}"
