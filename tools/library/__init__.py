"""The local library: a folder of records that replaces the sources, without network."""

from .library import BUNDLED, Library, endpoints_of_environment, open_library

__all__ = ["BUNDLED", "Library", "endpoints_of_environment", "open_library"]
