"""A source's reply, and functions to read its data safely: any part may be missing or malformed."""

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..errors import UnreadableReply

T = TypeVar("T")
_UNFORESEEN = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""Exceptions raised when a record has an unexpected shape."""
_BLANK = b"\xef\xbb\xbf \r\n\t"  # a byte order mark and white space
_HTML = re.compile(
    rb"[\xef\xbb\xbf\s]*(<\?xml[^>]*>\s*)?(<!--((?!-->).)*-->\s*)*<(!doctype\s+)?html\b", re.IGNORECASE | re.DOTALL
)
_SURROGATE = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)


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

    def json(self) -> Any:
        """Parse the body as JSON; control characters inside strings are accepted, as some sources send them."""
        self._refuse_html()
        with contextlib.suppress(ValueError, RecursionError):  # the decoder's error would hold the whole text
            found = json.loads(self.body, strict=False)
            if _SURROGATE.search(self.body):  # a lone surrogate cannot be encoded
                found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"), strict=False)
            return found
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

    def _refuse_html(self) -> None:
        if not self.body.strip(_BLANK):
            raise UnreadableReply(self.source, "answered nothing")
        if _HTML.match(self.body[:1000]):
            raise UnreadableReply(self.source, "answered with a web page instead of data")


def at(data: Any, *path: str) -> Any:
    """Return the value at a path of keys; None if any step is missing.

    >>> at({"a": {"b": 1}}, "a", "b"), at({"a": 2}, "a", "b") is None
    (1, True)
    """
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def dicts(data: Any, *path: str) -> list[dict[str, Any]]:
    """Return the objects of the list at a path; empty if there is no list.

    >>> dicts({"a": [{"b": 1}, None, 2]}, "a"), dicts({"a": "b"}, "a")
    ([{'b': 1}], [])
    """
    found = at(data, *path)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def entries(source: str, data: Any, *path: str, what: str, keys: Iterable[str]) -> list[dict[str, Any]]:
    """Return the objects of the list at a path, called `what` in messages.

    An UnreadableReply says that there is none, or none of its entries has any of the keys: the schema has changed.

    >>> entries("chembl", {"rows": [{"id": 1}, {}]}, "rows", what="rows", keys=("id",))
    [{'id': 1}, {}]
    """
    listed, found = at(data, *path), dicts(data, *path)
    if not isinstance(listed, list):
        raise UnreadableReply(source, f"answered without {what}")
    if listed and not any(key in each for key in keys for each in found):
        raise UnreadableReply(source, f"answered with {what} in which none has {' or '.join(keys)}")
    return found


def reported(entry: Mapping[str, Any]) -> Any:
    """Return an entry without its missing values; the caller knows its type."""
    return {name: value for name, value in entry.items() if value not in (None, "", [])}


def without_repeats(found: Iterable[T]) -> list[T]:
    """Return non-empty entries in order, each once."""
    kept: list[T] = []
    for each in found:
        if each and each not in kept:
            kept.append(each)
    return kept


def text(value: Any) -> str | None:
    """Return a string or number as one line of text; None for anything else, and for blank text."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    return " ".join(str(value).split()) or None


def count(value: Any) -> int | None:
    """Return a count, which some sources write as text; None if the value is not one."""
    written = str(value)
    return int(written) if written.isascii() and written.isdecimal() and len(written) <= 12 else None


def read_each(found: Iterable[Any], parse: Callable[[Any], T | None]) -> tuple[list[T], list[str]]:
    """Read records one by one; return those that parse and a line for each that does not, so one costs no others.

    >>> read_each([{"n": 1}, None], lambda each: each["n"])
    ([1], ['record 2 of the reply is unreadable (TypeError)'])
    """
    records, unread = [], []
    for place, each in enumerate(found, 1):
        try:
            record, why = parse(each), "no identifier"
        except _UNFORESEEN as error:
            record, why = None, type(error).__name__
        if record is None:
            unread.append(f"record {place} of the reply is unreadable ({why})")
        else:
            records.append(record)
    return records, unread
