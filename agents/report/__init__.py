"""The report: its material, its assembly, and the tree of blocks that all its forms show."""

from .content import DrugCandidate, ReportSection
from .model import ReportMessage, ResearchReport

__all__ = ["DrugCandidate", "ReportMessage", "ReportSection", "ResearchReport"]
