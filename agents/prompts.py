"""Prompts stand as Markdown files beside the agents that use them."""

from importlib import resources


def prompt(file: str) -> str:
    """The text of a prompt, such as `judge.md`."""
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8").strip()
