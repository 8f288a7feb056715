"""Logs of what happens inside, on stderr: `-v` tells events, `-vv` details, `--log-json` writes a line of JSON each.

Modules log with the standard library; structlog lays it out. AutoGen's events come as objects that hold whole prompts:
their kind and their numbers are logged, their texts are not. Values of key variables are masked wherever they appear.
"""

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any, TextIO

from willowbark.tools.enclosure import one_line

from ..events import AgentEvent

_LEVELS = {1: logging.INFO, 2: logging.DEBUG}
_OURS = ("willowbark", "autogen_core.events", "autogen_agentchat.events")
_MORE = ("httpx", "urllib3", "asyncio")  # with -vv
_EXTRAS = (
    *("round", "told", "records", "source"),
    *("agent", "tool", "status", "tokens", "cost_usd", "candidates", "stop_reason"),
)
_ID = re.compile(r"_[0-9a-f-]{36}/[0-9a-f-]{36}$")  # what AutoGen adds to an agent's name
_SHOWN_OF_AN_EVENT = ("agent_id", "tool_name", "prompt_tokens", "completion_tokens")
_SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_SHORTEST_SECRET = 6  # characters; masking shorter values would garble ordinary words

_log = logging.getLogger("willowbark.run")

EventDict = MutableMapping[str, Any]


@contextmanager
def logged(verbosity: int, *, as_json: bool = False, environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Log to stderr while this is open.

    Args:
        verbosity: 0 logs nothing, 1 events, 2 and more details.
        as_json: lines of JSON instead of text.
        environ: where secrets are that must not be shown.
    """
    if verbosity <= 0:
        yield
        return
    level = _LEVELS.get(verbosity, logging.DEBUG)
    handler = _ToStderr()
    handler.addFilter(_worth_a_line)
    handler.setFormatter(_formatter(as_json, [v for n, v in environ.items() if n.upper().endswith(_SECRET_ENDINGS)]))
    loggers = [logging.getLogger(name) for name in (_OURS if verbosity == 1 else (*_OURS, *_MORE))]
    before = [(each, each.level, each.propagate) for each in loggers]
    for each in loggers:
        each.setLevel(level)
        each.propagate = False
        each.addHandler(handler)
    try:
        yield
    finally:
        for each, level_before, propagated in before:
            each.removeHandler(handler)
            each.setLevel(level_before)
            each.propagate = propagated


def log_event(event: AgentEvent) -> None:
    """Log what a run told; pieces of an answer are details."""
    level = logging.DEBUG if event.type == "streaming" else logging.INFO
    _log.log(level, event.type, extra={"round": event.iteration, "told": one_line(event.message)})


def _worth_a_line(record: logging.LogRecord) -> bool:
    """AutoGen logs every message between agents, as objects of which nothing but the kind could be shown."""
    return isinstance(record.msg, str) or type(record.msg).__name__ != "MessageEvent"


class _ToStderr(logging.StreamHandler[TextIO]):
    """Writes to what stderr is at that moment: a live progress line redirects it."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, _: TextIO) -> None:
        """Nothing to keep."""


def _formatter(as_json: bool, secrets: list[str]) -> logging.Formatter:
    import structlog  # noqa: PLC0415  runs without -v need no log

    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(_EXTRAS),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if as_json
        else structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            _without_texts,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _Masked(secrets),
            render,
        ],
    )


def _without_texts(_: Any, __: str, event: EventDict) -> EventDict:
    """Keep kind and numbers of an event object of AutoGen's, and the names of exceptions."""
    record = event.get("_record")
    said = record.msg if isinstance(record, logging.LogRecord) else None
    if said is not None and not isinstance(said, str):
        fields = getattr(said, "kwargs", {})
        event["event"] = str(fields.get("type") or type(said).__name__)
        event.update({name: _plain(fields[name]) for name in _SHOWN_OF_AN_EVENT if fields.get(name)})
    if isinstance(record, logging.LogRecord) and record.exc_info and record.exc_info[0] is not None:
        event["exception_type"] = record.exc_info[0].__name__
    event.pop("exc_info", None)
    return event


def _plain(value: Any) -> Any:
    return _ID.sub("", value) if isinstance(value, str) else value


class _Masked:
    """Replaces secrets in every text of a log line."""

    def __init__(self, secrets: list[str]) -> None:
        self._secrets = [secret.strip() for secret in secrets if len(secret.strip()) >= _SHORTEST_SECRET]

    def __call__(self, _: Any, __: str, event: EventDict) -> EventDict:
        return {name: self._masked(value) for name, value in event.items()}

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, "[key]")
        return value
