"""The ledger: all requests, answers and decisions of the runs, in one SQLite file per workspace.

    from willowbark.teams.ledger import Ledger

To resume or replay a run, a fresh team is asked the same question, and every request and model call that the journal
holds is answered from it. So nothing committed is asked twice, and no team state needs saving.
"""

from .database import LedgerError
from .journal import Journal, Turn
from .ledger import DEFAULT_PATH, Ledger, Model, Run, Status

__all__ = ["DEFAULT_PATH", "Journal", "Ledger", "LedgerError", "Model", "Run", "Status", "Turn"]
