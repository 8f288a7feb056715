"""The baseline analyst: answers what any model is asked, without a language model."""

from .client import BaselineChatCompletionClient

__all__ = ["BaselineChatCompletionClient"]
