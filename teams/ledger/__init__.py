"""The ledger: everything a run asked, was answered and decided, in one SQLite file a workspace.

    from willowbark.teams.ledger import Ledger

A run is resumed and replayed by its journal: a fresh team is asked the same question, and every request and model call
that the journal holds is answered from there. So nothing committed is asked twice, and no team's state is kept.
"""

from .database import LedgerError
from .journal import Journal, Turn
from .ledger import DEFAULT_PATH, Ledger, Model, Run, Status

__all__ = ["DEFAULT_PATH", "Journal", "Ledger", "LedgerError", "Model", "Run", "Status", "Turn"]
