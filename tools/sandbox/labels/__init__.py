"""Protocols of the sources of labels, approvals and adverse events."""
