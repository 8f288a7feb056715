"""Screening: many conditions at once, over a local library, in three stages that go on where they were stopped.

1. search: each condition to the keys of its records;
2. read: each record for each drug and condition once, by the hash of what is read, across conditions and calls;
3. conclude: candidates by condition, as an ordinary run appraises and ranks them, to a matrix condition by drug.
"""

from .course import Screening, read_names, screen

__all__ = ["Screening", "read_names", "screen"]
