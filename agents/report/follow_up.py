"""The answer to a follow-up, from what a run collected: the same object for every face, and its forms."""

from collections.abc import Iterator

from pydantic import BaseModel, Field

from willowbark.tools.library.collected import Passage
from willowbark.tools.wording import capital, counted

from .content import DISCLAIMER
from .forms import find_url, record_name
from .forms.blocks import Block, Link, Quote, RichText, Section, Text, flow, paragraph, points
from .forms.html import render_part_for_notebook


class Quoted(BaseModel, frozen=True, extra="forbid"):
    """A quote about a drug from one record."""

    key: str
    """Empty for an entry of a curated table."""
    drug: str
    says: str
    """For an effect `supports` or `contradicts`; for a harm `reports` or `undecided`; for a label the section
    quoted."""
    sentence: str
    """Verbatim."""


class DrugRead(BaseModel, frozen=True, extra="forbid"):
    """Verdict of a run's records on one drug."""

    drug: str
    condition: str
    supporting: list[str] = Field(default_factory=list)
    """Keys of the supporting records, as in the next two fields."""
    contradicting: list[str] = Field(default_factory=list)
    undecided: list[str] = Field(default_factory=list)
    quality: str | None
    """strong, moderate, weak or refuted; None if no record supports or contradicts the drug."""
    certainty: str | None
    """high, moderate, low or very low; None as for `quality`."""
    quoted: list[Quoted] = Field(default_factory=list)
    """Sentences of the strongest supporting and contradicting records."""
    cautions: list[str] = Field(default_factory=list)
    """That it was withdrawn from a market, is not for the people whom the question names, or was not checked for them;
    each with its source. Empty if none applies."""

    @property
    def said(self) -> str:
        """The answer in a sentence."""
        subject = f"{capital(self.drug)} in {self.condition}"
        undecided = len(self.undecided)
        if self.quality is not None:
            supporting = counted(len(self.supporting), "supporting record")
            counts = f"{supporting}, {len(self.contradicting)} contradicting, {undecided} inconclusive"
            return f"{subject}: {counts}; {self.quality}, {self.certainty} certainty."
        if undecided:
            return f"{subject}: {counted(undecided, 'record')} of this run, none supporting or contradicting."
        return f"{subject}: no record of this run mentions it."


class AnswerWithin(BaseModel, frozen=True, extra="forbid"):
    """Answer to a question from the evidence of a run."""

    question: str
    run_id: str
    run_question: str
    """The run's own question."""
    records: int
    """Number of distinct records of the run."""
    drugs: list[DrugRead] = Field(default_factory=list)
    """Drugs named in the question; empty if it names none or asks about harm, or if no condition is known."""
    answer: list[str] = Field(default_factory=list)
    """For a question about harm or safety: the answer that a report would give first."""
    harms: list[Quoted] = Field(default_factory=list)
    """For a question about harm or safety: quotes from records and labels."""
    passages: list[Passage] = Field(default_factory=list)
    """Best first."""
    matching: int
    """Number of records that contain a word of the question."""
    truncated: bool
    """Whether more passages were found than given."""
    cited: dict[str, int] = Field(default_factory=dict)
    """Numbers of the run's references by key, of the records cited here."""
    further: str = ""
    """The question that stands alone, for a search beyond the run's records."""
    disclaimer: str = DISCLAIMER

    def to_markdown(self) -> str:
        """Format the answer as Markdown: verdicts on the drugs, then the passages with key, citation and link."""
        lines = [f"# {self.question}", "", f"Asked of run {self.run_id}: {self.run_question}", ""]
        for drug in self.drugs:
            points = [*(f"- {caution}" for caution in drug.cautions), *map(_quote, drug.quoted)]
            lines += [f"**{drug.said}**", "", *points, *([""] if points else [])]
        lines += [" ".join(self.answer), ""] if self.answer else []
        if self.harms:
            lines += ["**What records and labels say of harm:**", "", *map(_quote, self.harms), ""]
        if not self.passages:
            lines += ["No passage holds a word of the question."]
        for number, passage in enumerate(self.passages, 1):
            flags = ["RETRACTED"] * passage.retracted + ["preprint"] * passage.is_preprint
            address = find_url(passage.key, passage.url) or ""  # if it is a source's page
            cited = f"{passage.citation.removesuffix(passage.url).strip()} {address}".strip()
            where = " · ".join([record_name(passage.key), *flags, passage.section, cited])
            lines += [f"{number}. “{passage.text}”", f"   {where}", ""]
        more = "; there are more (`--max-results`)" if self.truncated else ""
        lines += [f"{counted(self.matching, 'record')} of {self.records:,} hold a word of the question{more}."]
        lines += ["", self.disclaimer]
        return "\n".join(lines)

    def to_section(self) -> Section:
        """Return the answer as a section of blocks, each quote with its record."""
        return Section(self.question, "within", tuple(self._list_blocks()))

    def _list_blocks(self) -> Iterator[Block]:
        if self.answer:
            yield paragraph(" ".join(self.answer), look="lead")
        for drug in self.drugs:
            yield paragraph(Text(drug.said, "strong"))
            if drug.cautions:
                yield points(drug.cautions)
            yield from map(_make_block, drug.quoted)
        if self.harms:
            yield paragraph(Text("What records and labels say of harm:", "strong"))
            yield from map(_make_block, self.harms)
        if self.passages:
            yield paragraph(Text("Passages of this run's records:", "strong"))
            yield points((_make_point(passage) for passage in self.passages), "steps")
        else:
            yield paragraph("No passage holds a word of the question.")
        yield paragraph(f"{self._count_matches()} {self.disclaimer}", look="small")

    def _count_matches(self) -> str:
        return f"{counted(self.matching, 'record')} of {self.records:,} hold a word of the question."

    def _repr_html_(self) -> str:
        return render_part_for_notebook(self.to_section())

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        yield "question", self.question
        yield "passages", len(self.passages)


def _make_block(quotation: Quoted) -> Block:
    if not quotation.key:
        return paragraph(f"{capital(quotation.drug)}, {quotation.says.lower()}: {quotation.sentence}")
    return Quote(quotation.sentence, f"{record_name(quotation.key)}, {quotation.drug}, {quotation.says}")


def _make_point(passage: Passage) -> RichText:
    flags = [Text("retracted", "flag")] if passage.retracted else []
    flags += [Text("preprint", "flag")] if passage.is_preprint else []
    link = Link(record_name(passage.key), find_url(passage.key, passage.url))
    return flow(f"“{passage.text}” ", *flags, link, Text(f", {passage.section}", "small"))


def _quote(quotation: Quoted) -> str:
    if not quotation.key:
        return f"- {capital(quotation.drug)}, {quotation.says.lower()}: {quotation.sentence}"
    return f"- {record_name(quotation.key)}, {quotation.drug}, {quotation.says}: “{quotation.sentence}”"
