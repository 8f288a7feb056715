"""Drugs, what they act on, and the processes in which these take part."""
