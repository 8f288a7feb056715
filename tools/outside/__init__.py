"""Evidence from outside: what tools give that are not Willowbark's own."""

from .given import GivenOrigin, read_result
from .intake import take_in

__all__ = ["GivenOrigin", "read_result", "take_in"]
