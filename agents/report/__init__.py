"""The report: what it is made of, how it is put together, and the forms it takes."""

from .model import (
    DrugCandidate,
    ReportMessage,
    ReportSection,
    ResearchReport,
)

__all__ = ["DrugCandidate", "ReportMessage", "ReportSection", "ResearchReport"]
