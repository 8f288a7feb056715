"""The former address of `willowbark.tools.records.evidence`, for programs that import it here."""

from willowbark.tools.records.evidence import *  # noqa: F403
