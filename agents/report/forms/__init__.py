"""The forms of a report: its tree of blocks as Markdown and HTML, which link only to the sources' public pages."""

from .links import line, record_name, safe_url, url_of

__all__ = ["line", "record_name", "safe_url", "url_of"]
