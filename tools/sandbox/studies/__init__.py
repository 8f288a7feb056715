"""Protocols of the sources of publications and trials."""
