"""The report: what it is made of, how it is put together, and the tree of blocks that all its forms show."""

from .content import DrugCandidate, ReportSection
from .model import ReportMessage, ResearchReport

__all__ = ["DrugCandidate", "ReportMessage", "ReportSection", "ResearchReport"]
