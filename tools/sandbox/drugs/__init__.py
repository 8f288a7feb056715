"""Protocols of the sources of drugs and targets."""
