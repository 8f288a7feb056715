"""The ledger: all requests, answers and decisions of the runs, in one SQLite file per workspace."""

from .runs import DEFAULT_PATH, Journal, Ledger, LedgerError, Model, Run, Turn, restore

__all__ = ["DEFAULT_PATH", "Journal", "Ledger", "LedgerError", "Model", "Run", "Status", "Turn", "restore"]
