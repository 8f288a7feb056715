"""Drugs, their targets, and the biological processes of the targets."""
