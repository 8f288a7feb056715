"""The local library: a folder of records that replaces the sources, without network."""

from .library import BUNDLED, Library, open_library, read_environment

__all__ = ["BUNDLED", "Library", "open_library", "read_environment"]
