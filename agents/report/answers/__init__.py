"""The answer to questions that do not ask what helps: harm, safety, comparison, mechanism, status, what does not help.

Each kind is answered from what its own records say, never from a drug's effect in the condition. Where nothing that was
read bears on it, the first sentence says that, and what was read instead.
"""

from collections.abc import Callable, Mapping, Sequence

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.questions.kinds import Kind

from ..content import ReportSection
from ..forms.blocks import paragraph
from ..material import Material, References
from .answer import Answer
from .comparison import on_comparison
from .harm import on_harm
from .mechanism import on_mechanism
from .negative import on_no_help
from .status import on_status

__all__ = ["Answer", "answer_of", "only_asked", "section_of"]


def answer_of(material: Material, references: References) -> Answer | None:
    """The answer by the question's kind; None where it asks what helps or prevents."""
    answer = _ANSWERS.get(material.asked.kind)
    return answer(material, references) if answer else None


def section_of(answer: Answer | None) -> ReportSection | None:
    """The section below the summary: the whole answer, and what it rests on; None where help is asked for."""
    if answer is None:
        return None
    return ReportSection.of("What was asked", [*map(paragraph, answer.sentences), *answer.blocks])


def only_asked(material: Material, shown: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that a report shows: none where nothing is asked of what helps, which is what they stand for."""
    return list(shown) if material.asked.asks_what_helps else []


def _other(material: Material, references: References) -> Answer:
    """What is not answered; what helps stands after it."""
    return Answer(["This question is not one that Willowbark answers; what was read instead is which drugs help."], [])


_ANSWERS: Mapping[Kind, Callable[[Material, References], Answer]] = {
    "harm": on_harm,
    "avoid": on_harm,
    "safety": on_harm,
    "compare": on_comparison,
    "mechanism": on_mechanism,
    "status": on_status,
    "negative": on_no_help,
    "other": _other,
}
