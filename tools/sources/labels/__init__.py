"""Regulators' data: labels and approvals."""
