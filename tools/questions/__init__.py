"""A question: what it asks, and the query that sources are asked."""

from .question import (
    Question,
    QuestionError,
    follow_up,
    parse_question,
    preprocess_query,
    stand_alone,
    understood_question,
    validate_question,
)

__all__ = [
    "Question",
    "QuestionError",
    "follow_up",
    "parse_question",
    "preprocess_query",
    "stand_alone",
    "understood_question",
    "validate_question",
]
