"""Mechanistic chains from drug to target to process to disease, with the evidence for each step."""
