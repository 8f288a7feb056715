"""A question: what it asks, and the query that sources are asked."""

from .question import Question, QuestionError, parse_question, preprocess_query, validate_question

__all__ = ["Question", "QuestionError", "parse_question", "preprocess_query", "validate_question"]
