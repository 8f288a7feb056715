"""The former address of `willowbark.tools.records.card`, for programs that import it here."""

from willowbark.tools.records.card import *  # noqa: F403
