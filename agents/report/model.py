"""The report with methods for its forms, and its message."""

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from pydantic import JsonValue, PrivateAttr

from willowbark.agents.autogen import ChatCompletionClient, ModelTextMessage
from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.reading.corrections import ExclusionReason
from willowbark.tools.records.enclosure import GUIDANCE
from willowbark.tools.whole_file import write_file
from willowbark.tools.wording import counted, nearest

from ..pictures.overview import Overview
from .charts import make_overview
from .content import DrugCandidate, ReportContent
from .dossier import make_dossier
from .follow_up import AnswerWithin
from .forms.blocks import ReportTree
from .forms.html import render_for_notebook
from .forms.markdown import APPENDIX_METHOD, render_appendix, render_markdown
from .frames import FrameLibrary, FrameName, make_frame
from .tree import build_brief, build_document
from .whole import WholeAnswer, whole_answer

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

MOST_ANSWER = 8_000  # bytes of an answer to pass on, some 2,000 tokens


class UnknownDrug(UsageError, KeyError):
    """A report was asked for a drug that is none of its candidates."""

    def __str__(self) -> str:  # KeyError's own would quote the message
        return str(self.args[0])


Corrector = Callable[[Mapping[str, Any], str | None], "ResearchReport"]
"""Changes a report's run as asked, by whom, and returns its report, made again."""
Asker = Callable[[str], AnswerWithin]
"""Answers a question from what a report's run collected."""
Rewriter = Callable[[ChatCompletionClient | None], "ResearchReport"]
"""Has a model answer again in its own words, from a report's run as it stands, and returns its report."""
_NO_RUN = "this report is of no run that was kept: ask with `ledger=DEFAULT_PATH`, then {what}"


class ResearchReport(ReportContent):
    """The answer to a question."""

    _corrector: Corrector | None = PrivateAttr(default=None)
    _asker: Asker | None = PrivateAttr(default=None)
    _rewriter: Rewriter | None = PrivateAttr(default=None)

    def bind_run(self, corrector: Corrector, asker: Asker, rewriter: Rewriter) -> None:
        """Set what `correct`, `ask` and `rewrite` do: on the run that the report is of."""
        self._corrector = corrector
        self._asker = asker
        self._rewriter = rewriter

    def ask(self, question: str) -> AnswerWithin:
        """Answer a follow-up from what the run collected, with its own citations; no source and no model is asked.

        A notebook shows the answer; `further` is the question to `ask` anew for a search beyond the run.

        Raises:
            UsageError: an empty question, or the run was not kept in a ledger.
        """
        if self._asker is None:
            raise UsageError(_NO_RUN.format(what="ask it"))
        return self._asker(question)

    def rewrite(self, model_client: ChatCompletionClient | None = None) -> "ResearchReport":
        """Have a model write the answer again, from the evidence as people corrected it; this report stays as it was.

        Each sentence is checked as the first time. No source is asked, and nothing is read again.

        Args:
            model_client: writes and checks, and is left open; None takes the run's own model.

        Raises:
            UsageError: the run was not kept, has no language model, or the model gave no answer that stands.
        """
        if self._rewriter is None:
            raise UsageError(_NO_RUN.format(what="correct it"))
        return self._rewriter(model_client)

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
            raise UsageError(_NO_RUN.format(what="correct it"))
        change = {
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
        return self._corrector(change, by)

    @property
    def line(self) -> str:
        """The report in a line: its title and numbers."""
        sizes = (len(self.candidates), "candidate"), (len(self.references), "reference")
        return f"{self.title}: {', '.join(counted(number, noun) for number, noun in sizes)}"

    def to_tree(self) -> ReportTree:
        """Return the tree for all forms: sections, paragraphs, lists, tables and figures."""
        return build_document(self)

    def to_brief(self) -> ReportTree:
        """Return the short report: the tree's first screen and tables of candidates."""
        return build_brief(self)

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
        return render_markdown(self.to_tree(), appendix)

    def to_appendix(self) -> str:
        """Return the appendix as Markdown: further evidence, methods, searches as sent, further references."""
        return render_appendix(self.to_tree())

    def to_json(self) -> str:
        """Return the whole report as indented JSON."""
        return self.model_dump_json(indent=2)

    def to_html(self) -> str:
        """Return the report as one page that loads nothing; pictures need the extra `report`."""
        from ..exports.formats import as_html  # noqa: PLC0415  a report that nobody exports needs none

        return as_html(self).decode()

    def save(self, path: str | Path, to: str | None = None) -> Path:
        """Write the report to a file, and return its path.

        The ending tells the form: `.docx`, `.pdf`, `.html`, `.md`, `.json`, `.csv`, `.xlsx`, `.bib`, `.ris`, ….

        Args:
            path: the file; its folder is created.
            to: name of a form, where the ending does not tell it: `save("evidence.csv", to="comparisons")`.

        Raises:
            UsageError: no such form, its extra is not installed, or the file cannot be written.
        """
        from ..exports.formats import format_for, render  # noqa: PLC0415  as above

        file = Path(path)
        return write_file(file, render(self, to or format_for(file).name), "; name another file")

    def to_dossier(self) -> ReportTree:
        """Return a brief for repurposing dossiers: two pages a candidate, each statement cited, and what is missing."""
        return make_dossier(self)

    def to_paper(self) -> ReportTree:
        """Return the tree for paper: the answer, a picture, the candidates; details open the appendix."""
        from ..exports.paper import arrange_for_paper  # noqa: PLC0415  as above

        return arrange_for_paper(self.to_tree(), make_overview(self))

    def plot(self) -> Overview:
        """Return a picture of what there is to plot: estimates of comparisons, certainty by drug, results by year.

        A notebook shows it; `save("overview.png")` writes it.

        Raises:
            UsageError: there is nothing to plot, or matplotlib is not installed.
        """
        overview = make_overview(self)
        if not overview.panels:
            raise UsageError("there is nothing to plot: no estimate with an interval, no level, no dated result")
        if find_spec("matplotlib") is None:
            raise MissingExtra("a plot", "report")
        return overview

    @property
    def drugs(self) -> "pd.DataFrame":
        """The candidates as a frame, one row a drug; as `to_dataframe("drugs")`."""
        return self.to_dataframe("drugs")

    def __getitem__(self, drug: str) -> DrugCandidate:
        """Return a candidate by any of its names: `report["Neurontin"]` is gabapentin.

        Raises:
            KeyError: the report has no such candidate; names those near.
        """
        name = canonical_drug(drug) or drug.strip().lower()
        for candidate in self.candidates:
            if candidate.name.lower() == name:
                return candidate
        raise UnknownDrug(f"{drug}: the report has no such candidate{nearest(name, self.drug_candidates)}")

    def __contains__(self, drug: object) -> bool:
        """Tell whether a drug is a candidate, by any of its names."""
        name = canonical_drug(str(drug)) or str(drug).strip().lower()
        return name in {candidate.name.lower() for candidate in self.candidates}

    @overload
    def to_dataframe(self, of: FrameName = ..., library: Literal["pandas"] | None = ...) -> "pd.DataFrame": ...
    @overload
    def to_dataframe(self, of: FrameName = ..., *, library: Literal["polars"]) -> "pl.DataFrame": ...

    def to_dataframe(self, of: FrameName = "evidence", library: FrameLibrary | None = None) -> Any:
        """Return a table as a frame: one row per record and drug, per candidate, per study, or per registered trial.

        In the frame of evidence `measure`, `value`, `ci_low`, `ci_high` and `p` are the record's first effect size;
        `effects` counts all of them, and `evidence_table` has them. In that of studies they are the deciding
        comparison's; `comparisons` counts all. Whole numbers are `Int64`, so that "not reported" stays missing and is
        never 0.

        Args:
            of: the table.
            library: `pandas` or `polars`; None takes pandas, or polars where that alone is installed.

        Raises:
            UsageError: no such table, or the library is not installed.
        """
        return make_frame(self, of, library)

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
        return render_for_notebook(self.to_tree())


class ReportMessage(ModelTextMessage[ResearchReport]):
    """A report as a message."""

    def to_text(self) -> str:
        """Return one line for consoles."""
        return self.content.line

    def to_model_text(self) -> str:
        """Return the digest for other agents' models; the report stays in the data."""
        return f"{self.to_text()}\n{GUIDANCE}\n{self.content.to_digest().as_text()}"
