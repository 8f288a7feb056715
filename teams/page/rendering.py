"""Renders the pages' templates, and serves what they load."""

import hashlib
import json
from contextlib import suppress
from datetime import datetime
from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from willowbark.tools.records.enclosure import one_line, visible
from willowbark.tools.records.registry import title_of

from ..run.board import find_source
from ..run.history import RunRow
from .uploads import MOST_BYTES

if TYPE_CHECKING:
    from ..events import AgentEvent

STATIC = {"page.css": __package__, "page.js": __package__, "report.css": "willowbark.agents.exports"}
"""Files that pages load, and the packages that contain them."""
_TEMPLATES = Environment(
    loader=FileSystemLoader(str(resources.files(__package__))),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    finalize=lambda value: value if hasattr(value, "__html__") else visible(str(value)),
)
"""The templates, whose output is stripped of invisible characters, and escaped unless it is markup."""


@cache
def read_static_file(name: str) -> bytes:
    """Read a style sheet or the script."""
    return resources.files(STATIC[name]).joinpath(name).read_bytes()


def build_static_address(name: str) -> str:
    """Return a static file's address, which changes with the content so that browsers may cache the file."""
    return f"/static/{name}?{hashlib.sha256(read_static_file(name)).hexdigest()[:12]}"


def render_page(template: str, **content: Any) -> str:
    """Render a whole page."""
    common = {"title": "", "here": "", "main": None, "wrong": None, "line": None, "token": False, "offline": False}
    return _TEMPLATES.get_template(template).render({**common, **content})


def render_part(name: str, *content: Any) -> str:
    """Render a part of a page that is updated in place: `board`, `approval` or `log_line`."""
    return str(getattr(_TEMPLATES.get_template("parts.html").module, name)(*content))


def log_line(event: "AgentEvent") -> str:
    """Render an event as a line of the log; a search by the names of its source and its arguments."""
    text = event.message.replace("**", "").replace("`", "")
    if event.call is not None and event.agent is not None:
        source = find_source(event.call["tool"])
        arguments = event.call["arguments"]
        with suppress(ValueError, AttributeError):  # shown as the model wrote them
            values = json.loads(arguments).values()
            arguments = ", ".join(map(_format_argument, values))
        text = f"{event.agent}: {title_of(source) if source else event.call['tool']}: {arguments}"
    return render_part("log_line", event, text)


def _format_argument(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _load(name: str) -> Any:
    """Return a module of agents, of which the form for a question needs none: they take most of a second."""
    return import_module(f"willowbark.agents.{name}")


def _format_start(row: RunRow) -> str:
    """Format a run's start from its id, or return the id if it contains no time."""
    try:
        return f"{datetime.strptime(row.run_id[:15], '%Y%m%d-%H%M%S'):%Y-%m-%d %H:%M}"
    except ValueError:
        return row.name


_TEMPLATES.globals["most_upload"] = MOST_BYTES
_TEMPLATES.filters |= {
    "one_line": one_line,
    "address": build_static_address,
    "source_title": title_of,
    "when": _format_start,
}
_TEMPLATES.filters["whole"] = lambda text: " ".join(visible(str(text)).split())
_TEMPLATES.filters["bars"] = lambda level: Markup(_load("pictures.strip").draw_level(level))  # noqa: S704  drawn by code
_TEMPLATES.filters["record_name"] = lambda key: _load("report.forms").record_name(key)
_TEMPLATES.filters["log_line"] = lambda event: Markup(log_line(event))  # noqa: S704  rendered by a template, which escapes
