"""Logs on stderr: `-v` logs events, `-vv` details; with `--log-json`, each line is JSON.

AutoGen's event objects contain whole prompts: only their kind and numbers are logged. Values of key variables are
masked wherever they appear.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from willowbark.tools.records.enclosure import one_line

from ..events import AgentEvent

_OURS = ("willowbark", "autogen_core.events", "autogen_agentchat.events")
_MORE = ("httpx", "urllib3", "asyncio")  # with -vv
_EXTRAS = ("round", "told", "agent", "tokens", "cost_usd")
_ID = re.compile(r"_[0-9a-f-]{36}/[0-9a-f-]{36}$")  # suffix that AutoGen adds to an agent's name
_EVENT_FIELDS = ("agent_id", "tool_name", "prompt_tokens", "completion_tokens")
_SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_SHORTEST_SECRET = 6  # characters; masking shorter values would garble ordinary words
_log = logging.getLogger("willowbark.run")


class _LineFormatter(logging.Formatter):
    """Formats a record as one line, of text or JSON, without texts of AutoGen's events and without secrets."""

    def __init__(self, secrets: Sequence[str], *, as_json: bool) -> None:
        super().__init__()
        self._secrets = secrets
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(record.msg, str):
            line: dict[str, Any] = {"event": record.getMessage()}
        else:
            event_fields = getattr(record.msg, "kwargs", {})
            line = {"event": str(event_fields.get("type") or type(record.msg).__name__)}
            line |= {name: event_fields[name] for name in _EVENT_FIELDS if event_fields.get(name)}
        line |= {name: value for name in _EXTRAS if (value := getattr(record, name, None)) is not None}
        if record.exc_info and record.exc_info[0] is not None:
            line["exception_type"] = record.exc_info[0].__name__
        for name, value in line.items():
            if isinstance(value, str):
                line[name] = _ID.sub("", value)
                for secret in self._secrets:
                    line[name] = line[name].replace(secret, "[key]")
        when = datetime.fromtimestamp(record.created, UTC).isoformat()
        level = record.levelname.lower()
        if self._as_json:
            head = {"level": level, "logger": record.name, "timestamp": when}
            return json.dumps({**line, **head}, ensure_ascii=False, default=str)
        fields = " ".join(f"{name}={value!r}" for name, value in line.items() if name != "event")
        return f"{when} [{level}] {line['event']} [{record.name}] {fields}".rstrip()


@contextmanager
def logged(verbosity: int, *, as_json: bool = False, environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Log to stderr while this is open: nothing at verbosity 0, events at 1, details above; mask `environ`'s keys."""
    if verbosity <= 0:
        yield
        return
    values = [value.strip() for name, value in environ.items() if name.upper().endswith(_SECRET_ENDINGS)]
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: type(record.msg).__name__ != "MessageEvent")  # only texts, which are not logged
    secrets = [value for value in values if len(value) >= _SHORTEST_SECRET]
    handler.setFormatter(_LineFormatter(secrets, as_json=as_json))
    loggers = [logging.getLogger(name) for name in (_OURS if verbosity == 1 else (*_OURS, *_MORE))]
    before = [(logger, logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.INFO if verbosity == 1 else logging.DEBUG)
        logger.propagate = False
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger, level_before, propagated in before:
            logger.removeHandler(handler)
            logger.setLevel(level_before)
            logger.propagate = propagated


def log_event(event: AgentEvent) -> None:
    """Log a run's event; pieces of an answer count as details."""
    level = logging.DEBUG if event.type == "streaming" else logging.INFO
    figures = {"agent": event.agent, "tokens": event.tokens, "cost_usd": event.cost_usd}
    extra = {name: value for name, value in figures.items() if value is not None}
    _log.log(level, event.type, extra={"round": event.iteration, "told": one_line(event.message), **extra})
