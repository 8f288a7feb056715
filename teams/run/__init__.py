"""Runs: from a question to a report, whatever happens on the way."""
