"""Error classes, by what the caller should do.

    WillowbarkError
    ├── UsageError            fix the input: question, configuration, model name, run folder
    │   └── MissingExtra          install the extra it names
    ├── ReadingStopped        nothing: the run was stopped while reading
    └── SearchError           a source did not answer as asked
        ├── SourceUnavailable try again later
        │   ├── RateLimitError    … after the time it names
        │   └── SourcePaused      … after the pause: it was not asked
        ├── UnreadableReply   try again: the reply was truncated or malformed
        └── SourceRefused     don't try again: the source will not answer this
            └── AccessRefused     ask from elsewhere, or give its records as a file: it answers nothing from here

Messages say what, where and what to do. They never include a URL, since a URL can include a key.
"""

from .installation import advise_extra


class WillowbarkError(Exception): ...


class UsageError(WillowbarkError):
    """The input is invalid; the message names what is wrong and how to fix it."""


class MissingExtra(UsageError):
    """A feature needs packages that only an extra of `pyproject.toml` installs."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, extra)
        self.what = what
        self.extra = extra

    def __str__(self) -> str:
        return f"{self.what} needs an extra: {advise_extra(self.extra)}"


class ReadingStopped(WillowbarkError): ...


class SearchError(WillowbarkError):
    """A source did not answer as asked; `reason` is one line without URLs or keys."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)  # all that a copy in another process is made from
        self.source = source
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


class SourceUnavailable(SearchError):
    """The source is down, unreachable or too slow; worth retrying now or later."""


class RateLimitError(SourceUnavailable):
    """The source asks for fewer requests; `retry_after_s` is None if it gave no usable time."""

    def __init__(self, source: str, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(source, reason)
        self.retry_after_s = retry_after_s


class SourcePaused(SourceUnavailable):
    """The source was not asked: it kept failing, or asked to be left alone for longer than a call may take."""


class UnreadableReply(SearchError):
    """The reply was truncated or malformed (HTML instead of JSON, say); worth retrying."""


class SourceRefused(SearchError):
    """The source refuses this request; retrying gives the same answer.

    `status` is the HTTP status that it refused with; None if the reason came otherwise.
    """

    def __init__(self, source: str, reason: str, status: int | None = None) -> None:
        super().__init__(source, reason)
        self.status = status


class AccessRefused(SourceRefused):
    """The source answers nothing from here, whatever is asked (401, 403): a firewall, or a missing key."""
