"""What every life would load anew: lives are forked from a process that has imported this."""

from willowbark.tools.lexicon import canonical_drug

from . import lives

__all__ = ["lives"]
canonical_drug("propranolol")  # reads the dictionary of drugs
