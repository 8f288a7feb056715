"""What regulators hold: labels, approvals, reports of adverse events."""
