"""The former address of `willowbark.tools.records.registry`, for programs that import it here."""

from willowbark.tools.records.registry import *  # noqa: F403
