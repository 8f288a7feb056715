"""Willowbark: which existing drugs might treat a condition, and how good is the evidence?"""

__version__ = "0.1.0"
