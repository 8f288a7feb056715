"""The baseline analyst: answers every request to a model without a language model."""

from .client import BaselineChatCompletionClient

__all__ = ["BaselineChatCompletionClient"]
