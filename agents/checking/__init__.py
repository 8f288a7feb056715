"""What a model wrote is checked here, sentence by sentence, before a report shows it.

`table` holds the rules that code checks, `checker` asks another model whether the cited passages bear a sentence out.
"""

from .basis import TABLE, CitedSource, WritingBasis
from .checker import SentenceChecker
from .table import find_fault, lower_certainty
from .written import CheckedSentence, DroppedSentence, WrittenAnswer, WrittenParagraph

__all__ = [
    "TABLE",
    "CheckedSentence",
    "CitedSource",
    "DroppedSentence",
    "SentenceChecker",
    "WritingBasis",
    "WrittenAnswer",
    "WrittenParagraph",
    "find_fault",
    "lower_certainty",
]
