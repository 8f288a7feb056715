"""Parse questions and turn them into queries for the sources."""

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
