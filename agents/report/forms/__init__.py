"""The forms of a report: its tree of blocks as Markdown and HTML, which link only to the sources' public pages."""

from .links import find_url, record_name, safe_url, write_on_one_line

__all__ = ["find_url", "record_name", "safe_url", "write_on_one_line"]
