"""Files of records from anywhere, read by what they hold and not by their names."""

from .item import FileItem, FileRecord, UnreadableRecord
from .reader import read_records

__all__ = ["FileItem", "FileRecord", "UnreadableRecord", "read_records"]
