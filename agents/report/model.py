"""The report with methods for its forms, and its message."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import JsonValue, PrivateAttr

from willowbark.agents.autogen import ModelTextMessage
from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.reading.corrections import ExclusionReason
from willowbark.tools.records.enclosure import GUIDANCE
from willowbark.tools.wording import counted

from .content import ReportContent
from .forms.blocks import ReportTree
from .forms.html import notebook_html
from .forms.markdown import APPENDIX_METHOD, appendix_in_markdown, as_markdown
from .tree import brief, document
from .whole import WholeAnswer, whole_answer

if TYPE_CHECKING:
    import pandas as pd

MOST_ANSWER = 8_000  # bytes of an answer to pass on, some 2,000 tokens
_COLUMNS = {
    "evidence": (
        "drug direction design date year title sample_size measure value ci_low ci_high p effects "
        "is_preprint retracted concern sentence key"
    ).split(),
    "candidates": (
        "drug certainty evidence_quality clinical_status supporting contradicting inconclusive mechanism "
        "proposed_mechanism current_indications"
    ).split(),
    "trials": (
        "nct_id title drugs status phases enrollment start_date completion_date why_stopped why_stopped_kind "
        "has_results"
    ).split(),
}
_TYPES = {
    "Int64": "year sample_size enrollment supporting contradicting inconclusive effects".split(),
    "float64": "value ci_low ci_high p".split(),
}


Corrector = Callable[[Mapping[str, Any], str | None], "ResearchReport"]
"""Changes a report's run as asked, by whom, and returns its report, made again."""


class ResearchReport(ReportContent):
    """The answer to a question."""

    _corrector: Corrector | None = PrivateAttr(default=None)

    def correct_by(self, corrector: Corrector) -> None:
        """Set what `correct` does: that of the run that the report is of."""
        self._corrector = corrector

    def correct(
        self,
        record: str = "",
        *,
        drug: str = "",
        says: Literal["supports", "contradicts", "inconclusive", "not assessed"] | None = None,
        field: str | None = None,
        value: JsonValue = None,
        exclude: ExclusionReason | None = None,
        add: bool = False,
        file: str | None = None,
        set_aside: bool = False,
        undo: bool = False,
        quote: str = "",
        note: str = "",
        by: str | None = None,
    ) -> "ResearchReport":
        """Correct one thing and return the report, made again at once; this one stays as it was.

        The correction is kept by record in the workspace's `corrections.jsonl`, for later runs too.

        Args:
            record: PMID, NCT number, DOI or key; empty for a drug set aside.
            drug: generic name.
            says: what the record says of the drug.
            field: a field of the study, such as `aim`, `design`, `arms[placebo].n`, `deciding.participants`.
            value: of the field; None for "not reported".
            exclude: leave the record out, for this reason.
            add: add the record, by its number or from `file`.
            file: a file with the record to add.
            set_aside: leave the drug out of the report.
            undo: take back what the person said of the record or drug.
            quote: sentence of the record on which the word rests.
            note: why.
            by: who says so; None takes the variable `WILLOWBARK_PERSON`, else the system's user name.

        Raises:
            UsageError: the run was not kept in a ledger, or what is asked does not fit it.
        """
        if self._corrector is None:
            raise UsageError("this report is of no run that was kept: ask with `ledger=DEFAULT_PATH`, then correct it")
        given = {
            "record": record,
            "drug": drug,
            "says": says,
            "field": field,
            "value": value,
            "exclude": exclude,
            "add": add,
            "file": file,
            "set_aside": set_aside,
            "undo": undo,
            "quote": quote,
            "note": note,
        }
        return self._corrector(given, by)

    @property
    def line(self) -> str:
        """The report in a line: its title and numbers."""
        sizes = (len(self.candidates), "candidate"), (len(self.references), "reference")
        return f"{self.title}: {', '.join(counted(number, noun) for number, noun in sizes)}"

    def to_tree(self) -> ReportTree:
        """Return the tree for all forms: sections, paragraphs, lists, tables and figures."""
        return document(self)

    def to_brief(self) -> ReportTree:
        """Return the short report: the tree's first screen and tables of candidates."""
        return brief(self)

    def to_digest(self, most_bytes: int = MOST_ANSWER) -> WholeAnswer:
        """Return the answer to pass on as it is: sentences, provenance, cautions, gaps, whole quotes by drug.

        `most_bytes` bounds it, as JSON and as text, by leaving quotes off.
        """
        return whole_answer(self, most_bytes)

    def to_markdown(self, appendix: str = APPENDIX_METHOD) -> str:
        """Return the report as Markdown, without its appendix.

        Args:
            appendix: where the report says that its appendix is: the method, or the name of a file beside the report.
        """
        return as_markdown(self.to_tree(), appendix)

    def to_appendix(self) -> str:
        """Return the appendix as Markdown: further evidence, methods, searches as sent, further references."""
        return appendix_in_markdown(self.to_tree())

    def to_json(self) -> str:
        """Return the whole report as indented JSON."""
        return self.model_dump_json(indent=2)

    def to_dataframe(self, of: Literal["evidence", "candidates", "trials"] = "evidence") -> "pd.DataFrame":
        """Return a pandas frame with one row per record and drug, per candidate, or per registered trial.

        In the frame of evidence `measure`, `value`, `ci_low`, `ci_high` and `p` are the record's first effect size;
        `effects` counts all of them, and `evidence_table` has them. Whole numbers are `Int64`, so that "not reported"
        stays missing and is never 0.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas as pd  # noqa: PLC0415  an extra that takes half a second to import
        except ImportError:
            raise MissingExtra("a data frame", "notebook") from None
        rows = list[dict[str, Any]]()
        if of == "evidence":
            for row in self.evidence_table:
                first = row.effects[0].model_dump(exclude={"sentence"}) if row.effects else {}
                year = int(row.date[:4]) if row.date[:4].isdigit() else None
                rows.append({**row.model_dump(), **first, "year": year, "effects": len(row.effects)})
        elif of == "candidates":
            for each in self.candidates:
                sides = each.supporting_citations, each.contradicting_citations, each.undecided_citations
                counts = zip(("supporting", "contradicting", "inconclusive"), map(len, sides), strict=True)
                rows.append({**each.model_dump(), "drug": each.name, **dict(counts)})
        else:
            rows = [trial.model_dump() for trial in self.trials]
        frame = pd.DataFrame(rows, columns=_COLUMNS[of])
        return frame.astype({name: kind for kind, names in _TYPES.items() for name in names if name in frame})

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
