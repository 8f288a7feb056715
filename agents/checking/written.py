"""What a model wrote and what of it stands, as a report keeps it."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel

from willowbark.tools.wording import counted

from ..asking.drafts import AnswerPart

PART_HEADINGS: dict[AnswerPart, str] = {
    "bottom_line": "",
    "works": "What works",
    "failed": "What failed",
    "makes_worse": "What makes it worse",
    "harms": "Harms, and who must not have it",
    "how_sure": "How sure",
    "missing": "What is missing",
}
"""Headings of an answer's parts in their order; the bottom line has none."""
MOST_PART_WORDS: dict[AnswerPart, int] = {
    "bottom_line": 60,
    "works": 150,
    "failed": 80,
    "makes_worse": 110,
    "harms": 100,
    "how_sure": 50,
    "missing": 50,
}
"""Words of each part: none may take the place of the others, and all together have those of the answer."""
WrittenPlace = Literal["answer", "drug", "mechanism", "would_change"]
"""Where in a report a sentence stands."""
MOST_WORDS: dict[WrittenPlace, int] = {"answer": 250, "drug": 90, "mechanism": 150, "would_change": 80}
"""Words of each place, of a drug's paragraph for each drug."""


class CheckedSentence(BaseModel, frozen=True, extra="forbid"):
    """A sentence by a model that stands in the report."""

    text: str
    citations: list[str] = []
    """Keys of the records that it rests on; empty where it rests on the computed table alone."""
    part: AnswerPart | Literal[""] = ""
    """Of the answer; empty elsewhere, and in an answer that was written as one paragraph."""
    is_checked: bool = False
    """Whether the checker saw it and found it borne out; code checked it in either case."""


class WrittenParagraph(BaseModel, frozen=True, extra="forbid"):
    """A paragraph on one drug."""

    drug: str
    sentences: list[CheckedSentence] = []


class DroppedSentence(BaseModel, frozen=True, extra="forbid"):
    """A sentence that does not stand, without its words: nothing of it is shown."""

    place: WrittenPlace
    reason: str


class WrittenAnswer(BaseModel, frozen=True, extra="forbid"):
    """The words of a model in a report, each sentence cited and checked."""

    answer: list[CheckedSentence] = []
    drugs: list[WrittenParagraph] = []
    mechanism: list[CheckedSentence] = []
    would_change: list[CheckedSentence] = []
    writer: str
    """Name of the model that wrote."""
    checker: str
    """Name of the model that compared sentences with passages; the writer's where no other is set."""
    made: int = 0
    """Sentences that the writer gave."""
    reworded: int = 0
    """Those that stand in other words than first given."""
    dropped: list[DroppedSentence] = []
    unchecked: int = 0
    """Sentences that stand and that no checker saw."""
    unchecked_because: str = ""
    """Why; empty where all were checked."""
    outdated: list[str] = []
    """Keys of records whose rows people corrected since it was written: sentences that cite them are stale."""

    def sentences(self) -> Iterator[CheckedSentence]:
        """Yield all sentences in the order of a report."""
        yield from self.answer
        for paragraph in self.drugs:
            yield from paragraph.sentences
        yield from self.mechanism
        yield from self.would_change

    def parts(self) -> list[tuple[str, list[CheckedSentence]]]:
        """Return the parts of the answer in their order, each with its heading; an empty one of the bottom line's."""
        headed = dict[str, list[CheckedSentence]]()
        for sentence in self.answer:
            heading = PART_HEADINGS[sentence.part] if sentence.part else ""
            headed.setdefault(heading, []).append(sentence)
        return list(headed.items())

    def lines(self) -> list[str]:
        """Return the parts of the answer in a line each, behind their headings, without citations."""
        texts = [(heading, " ".join(sentence.text for sentence in part)) for heading, part in self.parts()]
        return [f"{heading}: {text}" if heading else text for heading, text in texts]

    def on(self, drug: str) -> Sequence[CheckedSentence]:
        """Return the paragraph on a drug; empty if there is none."""
        return next((paragraph.sentences for paragraph in self.drugs if paragraph.drug == drug), ())

    @property
    def provenance(self) -> str:
        """Who wrote, who checked, and what became of it, in a line."""
        by = f"Written by {self.writer}"
        if self.unchecked < len(list(self.sentences())) or not self.unchecked:
            whom = "in another call" if self.checker == self.writer else f"by {self.checker}"
            by = f"{by}, checked {whom}"
        numbers = [counted(self.made, "sentence")]
        numbers += [f"{self.reworded} reworded"] if self.reworded else []
        numbers += [f"{len(self.dropped)} dropped"] if self.dropped else []
        return f"{by}: {', '.join(numbers)}."

    @property
    def warning(self) -> str:
        """What a reader has to know before the first sentence; empty where a checker saw all that stands."""
        every = len(list(self.sentences()))
        lines = list[str]()
        if self.unchecked:
            which = "Not checked" if self.unchecked == every else f"{self.unchecked} of {every} sentences not checked"
            lines.append(f"{which} against the passages that it cites, since {self.unchecked_because}.")
        stale = sum(self.is_stale(sentence) for sentence in self.sentences())
        if stale:
            lines.append(f"Stale: {stale} of {every} sentences rest on rows that people corrected since.")
        return " ".join(lines)

    def is_stale(self, sentence: CheckedSentence) -> bool:
        """Whether a sentence cites a record whose row people corrected since it was written."""
        return not set(sentence.citations).isdisjoint(self.outdated)
