"""The former address of `willowbark.tools.library.collected`, for programs that import it here."""

from willowbark.tools.library.collected import *  # noqa: F403
