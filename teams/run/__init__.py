"""Runs: from a question to a report, even if they are interrupted or fail."""
