"""A source's reply: received whole and in time, and read safely, as any part may be missing or malformed.

httpx and requests accept a truncated gzip body as a good reply and decode any encoding that a server names, so bodies
are read raw, decoded here under a size cap, and must contain the end of the compressed stream.
"""

import contextlib
import email.utils
import json
import mmap
import re
import time
import zlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from ..errors import SourceUnavailable, UnreadableReply

T = TypeVar("T")
MAX_BODY_BYTES = 32 * 1024 * 1024  # 200 PubMed records with reference lists take about 6 MB
HEADERS = {"User-Agent": "willowbark/0.1 (drug repurposing research)", "Accept-Encoding": "gzip"}
CHUNK_BYTES = 64 * 1024
_INFLATED_BYTES = 1024 * 1024  # decoded at a time, so that a decompression bomb is refused before it takes much memory
_ABSURD_RETRY_AFTER_S = 7 * 86_400.0  # a longer Retry-After is assumed to be a server error; budgets are of a day
_UNFORESEEN = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""Exceptions raised when a record has an unexpected shape."""
_BLANK = b"\xef\xbb\xbf \r\n\t"  # a byte order mark and white space
_HTML = re.compile(
    rb"[\xef\xbb\xbf\s]*(<\?xml[^>]*>\s*)?(<!--((?!-->).)*-->\s*)*<(!doctype\s+)?html\b", re.IGNORECASE | re.DOTALL
)
_SURROGATE = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)


class TooSlow(SourceUnavailable):
    """No complete reply in time."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a source, the same for all its attempts; it may contain a key, so that part of it is never shown."""

    source: str
    method: str
    url: str = field(repr=False)
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    shown_url: str = ""
    """Without any key."""
    sent: str = field(default="", repr=False)
    """The JSON or text of the body, without any key; empty if `shown_url` holds everything."""
    hash: str = ""
    also: Collection[int] = ()
    """Statuses besides 2xx whose replies can be read."""
    carrier: "Carrier | None" = field(default=None, repr=False)
    """Carries the request in place of our HTTP client, to the public source alone; None sends it by our client."""
    needs_key: bool = False
    """Whether the public source is asked only with a key."""


Carrier = Callable[[Request, float], Awaitable["Reply"]]
"""Sends a request and returns its whole reply within so many seconds; raises `SearchError`."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A source's reply; its methods raise `UnreadableReply`, which triggers a retry."""

    source: str
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = field(repr=False)
    url: str = ""
    """URL of the request, without any key."""
    moved_to: str = ""
    """Path that answered in place of the one asked, after a permanent redirect; empty if there was none."""

    def json(self) -> Any:
        """Parse the body as JSON; control characters inside strings are accepted, as some sources send them."""
        self._refuse_html()
        with contextlib.suppress(ValueError, RecursionError):  # the decoder's error would hold the whole text
            data = json.loads(self.body, strict=False)
            if _SURROGATE.search(self.body):  # a lone surrogate cannot be encoded
                data = json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"), strict=False)
            return data
        raise UnreadableReply(self.source, "answered with JSON that is cut or broken")

    def xml(self) -> bytes:
        """Return the body as XML; completeness is checked when it is parsed."""
        self._refuse_html()
        if not self.body.lstrip(_BLANK).startswith(b"<"):
            raise UnreadableReply(self.source, "answered with something that is not XML")
        return self.body

    def html(self, largest: int) -> str:
        """Return the body as an HTML page of at most `largest` bytes."""
        if not self.body.strip(_BLANK):
            raise UnreadableReply(self.source, "answered nothing")
        if not _HTML.match(self.body[:1000]) or len(self.body) > largest:
            raise UnreadableReply(self.source, "answered with something that is not a page, or is too large")
        return self.body.decode("utf-8", "replace")

    @property
    def retry_after_s(self) -> float | None:
        """Seconds of the Retry-After header, given as such or as a date (RFC 9110, section 10.2.3).

        None for a missing, unreadable, negative or excessive value (more than a week).
        """
        header = self.headers.get("retry-after", "").strip()
        try:
            seconds = float(header)
        except ValueError:
            try:
                moment = email.utils.parsedate_to_datetime(header).timestamp()
            except (ValueError, TypeError, OverflowError, IndexError):
                return None
            seconds = max(0.0, moment - time.time())
        return seconds if 0 <= seconds <= _ABSURD_RETRY_AFTER_S else None

    def _refuse_html(self) -> None:
        if not self.body.strip(_BLANK):
            raise UnreadableReply(self.source, "answered nothing")
        if _HTML.match(self.body[:1000]):
            raise UnreadableReply(self.source, "answered with a web page instead of data")


class BodyReader:
    """Decodes a body as it arrives; refuses one that is truncated, too large or in an unknown encoding.

    Closed by its `with`.

    Args:
        source: named in errors.
        encoding: the reply's Content-Encoding.

    Raises:
        SourceUnavailable: when made, for an encoding other than gzip.
    """

    def __init__(self, source: str, encoding: str) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise SourceUnavailable(source, f"the answer is encoded as {encoding[:40]!r}; gzip was asked for")
        self._source = source
        self._gzip = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
        self._raw_bytes = 0  # a stream that decodes to nothing could go on forever
        # malloc would keep as much memory for every thread that used it; closed, it is not kept by an error's frames
        self._body = mmap.mmap(-1, MAX_BODY_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._body.close()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; a SourceUnavailable says that they are broken, or too many."""
        self._raw_bytes += len(chunk)
        rest = chunk
        while rest:
            piece = rest
            rest = b""
            if self._gzip is not None:
                if self._gzip.eof:  # RFC 1952, section 2.2: members follow one another
                    self._gzip = zlib.decompressobj(wbits=31)
                try:
                    piece = self._gzip.decompress(piece, _INFLATED_BYTES)
                except zlib.error as error:
                    raise SourceUnavailable(self._source, "the answer's gzip stream is broken") from error
                rest = self._gzip.unused_data or self._gzip.unconsumed_tail
            if max(self._raw_bytes, self._body.tell() + len(piece)) > MAX_BODY_BYTES:
                raise SourceUnavailable(self._source, f"the answer is larger than {MAX_BODY_BYTES // 1024**2} MB")
            self._body.write(piece)

    def finish(self) -> bytes:
        """Return the whole body; a SourceUnavailable says that its end is missing."""
        if self._gzip is not None and not self._gzip.eof:
            raise SourceUnavailable(self._source, "the answer's gzip stream was cut")
        return self._body[: self._body.tell()]


def at(data: Any, *path: str) -> Any:
    """Return the value at a path of keys; None if any step is missing.

    >>> at({"a": {"b": 1}}, "a", "b"), at({"a": 2}, "a", "b") is None
    (1, True)
    """
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def dicts(data: Any, *path: str) -> list[dict[str, Any]]:
    """Return the objects of the list at a path, without entries of other types; empty if there is no list."""
    listed = at(data, *path)
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def entries(source: str, data: Any, *path: str, what: str, keys: Iterable[str]) -> list[dict[str, Any]]:
    """Return the objects of the list at a path, called `what` in messages.

    An UnreadableReply says that there is none, or none of its entries has any of the keys: the schema has changed.

    >>> entries("chembl", {"rows": [{"id": 1}, {}]}, "rows", what="rows", keys=("id",))
    [{'id': 1}, {}]
    """
    listed = at(data, *path)
    objects = dicts(data, *path)
    if not isinstance(listed, list):
        raise UnreadableReply(source, f"answered without {what}")
    names: set[str] = set().union(*objects)
    if listed and names.isdisjoint(keys):
        raise UnreadableReply(source, f"answered with {what} in which none has {' or '.join(keys)}")
    return objects


def reported(entry: Mapping[str, Any]) -> Any:
    """Return an entry without its missing values; the caller knows its type."""
    return {name: value for name, value in entry.items() if value not in (None, "", [])}


def without_repeats(values: Iterable[T]) -> list[T]:
    """Return non-empty entries in order, each once."""
    distinct: list[T] = []
    for value in values:
        if value and value not in distinct:
            distinct.append(value)
    return distinct


def text(value: Any) -> str | None:
    """Return a string or number as one line of text; None for anything else, and for blank text."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    return " ".join(str(value).split()) or None


def count(value: Any) -> int | None:
    """Return a count, which some sources write as text; None if the value is not one."""
    written = str(value)
    return int(written) if written.isascii() and written.isdecimal() and len(written) <= 12 else None


def read_each(
    entries_of_reply: Iterable[Any], parse: Callable[[Any], T | None], first: int = 1
) -> tuple[list[T], list[str]]:
    """Read records one by one; return those that parse and a line for each that does not, so one costs no others.

    `first` is the place in the reply of the first of them.

    >>> read_each([{"n": 1}, None], lambda each: each["n"])
    ([1], ['record 2 of the reply is unreadable (TypeError)'])
    """
    records = []
    unread = []
    for place, entry in enumerate(entries_of_reply, first):
        try:
            record = parse(entry)
            why = "no identifier"
        except _UNFORESEEN as error:
            record = None
            why = type(error).__name__
        if record is None:
            unread.append(f"record {place} of the reply is unreadable ({why})")
        else:
            records.append(record)
    return records, unread
