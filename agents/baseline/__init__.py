"""The baseline analyst: answers every request to a model by rules, without a language model.

`client` looks like any model client of AutoGen's: it chooses calls for offered tools and answers typed requests;
`assessing` holds the rules by which it judges evidence, plans searches and drafts claims.
"""

from .client import BaselineChatCompletionClient

__all__ = ["BaselineChatCompletionClient"]
