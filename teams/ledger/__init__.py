"""The ledger: everything a run asked, was answered and decided, in one SQLite file a workspace.

    from willowbark.teams.ledger import Ledger

A run is resumed and replayed by its journal: a fresh team is asked the same question, and every request and model call
that the journal holds is answered from there. So nothing committed is asked twice, and no team's state is kept: one
that is saved while three agents speak side by side can miss what one of them just said.

A ledger that cannot be opened stops a run before it starts. One that can no longer be written (a full disk, say) stops
it at once, in words: the report of what was found until then still comes, what was committed stays, and the run can be
resumed. Going on without it would ask, and pay, for what nobody could get back.
"""

from .database import LedgerError
from .journal import Journal
from .runs import DEFAULT_PATH, Ledger, Model, Run

__all__ = ["DEFAULT_PATH", "Journal", "Ledger", "LedgerError", "Model", "Run"]
