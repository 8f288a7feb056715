"""The report of a run: computed as data first, put into words last.

`assembly` takes a `Material` (what the run collected, appraised and decided) and fills a `ReportContent`: candidates,
tables, the first screen (`summary`), answers to questions other than what helps (`answers`). `tree` makes sections of
it, `forms` write these as Markdown and HTML. Sentences are Jinja templates, which `texts` reads. `writing` has a model
propose claims, `answering` has one write the answer; both are checked before anything of theirs is shown.
"""

from .content import DrugCandidate, ReportSection
from .model import ReportMessage, ResearchReport

__all__ = ["DrugCandidate", "ReportMessage", "ReportSection", "ResearchReport"]
