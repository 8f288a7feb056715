"""The former address of `willowbark.tools.records.enclosure`, for programs that import it here."""

from willowbark.tools.records.enclosure import *  # noqa: F403
