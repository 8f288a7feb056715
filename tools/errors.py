"""The error tree, named by what the caller should do.

    WillowbarkError
    ├── UsageError            mend the input: question, configuration, model name, run folder
    │   └── MissingExtra          install what it names
    ├── ReadingStopped        nothing: somebody stopped the run while it read
    └── SearchError           a source did not give what was asked
        ├── SourceUnavailable try again later
        │   └── RateLimitError    … after the time it names
        ├── UnreadableReply   try again: the reply was cut, or not what was due
        └── SourceRefused     don't try again: the source will not answer this

Messages say what, where and what to do. They never hold a URL, since a URL can hold a key.
"""

from typing import Any


class WillowbarkError(Exception):
    """Anything that Willowbark itself raises."""


class UsageError(WillowbarkError):
    """The input is at fault; the message names the thing and the way out."""


class MissingExtra(UsageError):
    """What was asked for needs packages that only an extra installs.

    Args:
        what: what was asked for.
        extra: the name of the extra in `pyproject.toml`.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra: pip install '.[{extra}]' in the folder of Willowbark's source")


class ReadingStopped(WillowbarkError):
    """A record was not read, since the run was stopped before its turn came."""


class SearchError(WillowbarkError):
    """A source did not give what was asked.

    Attributes:
        source: name of the source, such as `pubmed`.
        reason: one line without addresses or keys.
    """

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason

    def __reduce__(self) -> tuple[type["SearchError"], tuple[Any, ...]]:
        return type(self), (self.source, self.reason)


class SourceUnavailable(SearchError):
    """The source is down, out of reach or too slow: worth another try, now or later."""


class RateLimitError(SourceUnavailable):
    """The source asks for fewer requests.

    Attributes:
        retry_after_s: seconds the source asked to wait; None where it named no usable time.
    """

    def __init__(self, source: str, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(source, reason)
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type["RateLimitError"], tuple[Any, ...]]:
        return type(self), (self.source, self.reason, self.retry_after_s)


class UnreadableReply(SearchError):
    """The reply was cut, or was not what was due (HTML where JSON was asked, say): worth another try."""


class SourceRefused(SearchError):
    """The source will not answer this request: asking again gives the same answer."""
