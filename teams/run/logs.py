"""Logs on stderr: `-v` logs events, `-vv` details; with `--log-json`, each line is JSON.

Modules log with the standard library; structlog formats it. AutoGen's event objects contain whole prompts: only their
kind and numbers are logged, not their texts. Values of key variables are masked wherever they appear.
"""

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from willowbark.tools.enclosure import one_line

from ..events import AgentEvent

_OURS = ("willowbark", "autogen_core.events", "autogen_agentchat.events")
_MORE = ("httpx", "urllib3", "asyncio")  # with -vv
_EXTRAS = ("round", "told", "records", "source", "agent", "tool", "status", "tokens", "cost_usd", "stop_reason")
_ID = re.compile(r"_[0-9a-f-]{36}/[0-9a-f-]{36}$")  # suffix that AutoGen adds to an agent's name
_SHOWN_OF_AN_EVENT = ("agent_id", "tool_name", "prompt_tokens", "completion_tokens")
_SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_SHORTEST_SECRET = 6  # characters; masking shorter values would garble ordinary words
_log = logging.getLogger("willowbark.run")


@contextmanager
def logged(verbosity: int, *, as_json: bool = False, environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Log to stderr while this is open: nothing at verbosity 0, events at 1, details above; mask `environ`'s keys."""
    if verbosity <= 0:
        yield
        return
    import structlog  # noqa: PLC0415  runs without -v need no log

    values = [value.strip() for name, value in environ.items() if name.upper().endswith(_SECRET_ENDINGS)]
    secrets = [value for value in values if len(value) >= _SHORTEST_SECRET]

    def without_texts(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Keep kind and numbers of AutoGen's event objects, and the names of exceptions; mask secrets."""
        record: logging.LogRecord = event["_record"]
        if not isinstance(record.msg, str):
            fields = getattr(record.msg, "kwargs", {})
            event["event"] = str(fields.get("type") or type(record.msg).__name__)
            shown = {name: fields[name] for name in _SHOWN_OF_AN_EVENT if fields.get(name)}
            event.update({n: _ID.sub("", value) if isinstance(value, str) else value for n, value in shown.items()})
        if record.exc_info and record.exc_info[0] is not None:
            event["exception_type"] = record.exc_info[0].__name__
        event.pop("exc_info", None)
        for name, value in event.items():
            for secret in secrets if isinstance(value, str) else ():
                event[name] = event[name].replace(secret, "[key]")
        return event

    lines: Any = structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(_EXTRAS),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            without_texts,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(ensure_ascii=False) if as_json else lines,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: type(record.msg).__name__ != "MessageEvent")  # only texts, which are not logged
    handler.setFormatter(formatter)
    loggers = [logging.getLogger(name) for name in (_OURS if verbosity == 1 else (*_OURS, *_MORE))]
    before = [(each, each.level, each.propagate) for each in loggers]
    for each in loggers:
        each.setLevel(logging.INFO if verbosity == 1 else logging.DEBUG)
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
    """Log a run's event; pieces of an answer count as details."""
    level = logging.DEBUG if event.type == "streaming" else logging.INFO
    known = {"agent": event.agent, "tokens": event.tokens, "cost_usd": event.cost_usd}
    extra = {name: value for name, value in known.items() if value is not None}
    _log.log(level, event.type, extra={"round": event.iteration, "told": one_line(event.message), **extra})
