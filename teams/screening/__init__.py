"""Screening: many conditions at once, in three stages that continue where they were interrupted.

1. search: find the keys of each condition's records;
2. read: read each record once for each drug and condition, identified by hash, across conditions and calls;
3. conclude: appraise and rank candidates as in an ordinary run, into a matrix of conditions by drugs.
"""

from .course import Screening, read_names, screen

__all__ = ["Screening", "read_names", "screen"]
