"""The local library: a folder of records that replaces the sources, without network.

`building` reads PubMed's files and others into it, `rows` are its records as lines, `index` and `kept_index` search
them, and `library` answers in a source's place, so that a run does not know the difference.
"""

from .library import BUNDLED, Library, make_evidence, open_library, read_environment

__all__ = ["BUNDLED", "Library", "make_evidence", "open_library", "read_environment"]
