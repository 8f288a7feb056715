"""The material of the pages: tags in which every text is escaped, the frame of a page, the parts of a form."""

import hashlib
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from willowbark.tools.enclosure import one_line, visible

_EMPTY = frozenset({"input", "link", "meta", "rect"})


STATIC = {"page.css": __package__, "page.js": __package__, "report.css": "willowbark.teams.exports"}
"""What pages load beside themselves, and the package that holds it."""


class Html(str):
    """Markup that is safe to send."""

    __slots__ = ()


Content = str | Html | None
"""A text is escaped; None adds nothing."""


@cache
def static(name: str) -> bytes:
    """A style sheet, or the script."""
    return resources.files(STATIC[name]).joinpath(name).read_bytes()


@cache
def address_of(name: str) -> str:
    """Where a style sheet or the script stands: a browser that has this content need not ask again, or for long."""
    return f"/static/{name}?{hashlib.sha256(static(name)).hexdigest()[:12]}"


def tag(name: str, /, *content: Content, **attributes: str | bool | float | None) -> Html:
    """An element; `class_`, `for_` and `aria_label` are written as HTML has them, what is None or False is left out.

    >>> tag("p", "a < b", class_="small", hidden=True)
    '<p class="small" hidden>a &lt; b</p>'
    """
    said = ""
    for word, value in attributes.items():
        if value is not None and value is not False:
            key = word.rstrip("_").replace("_", "-")
            said += f" {key}" if value is True else f' {key}="{escape(str(value))}"'
    return Html(f"<{name}{said}>" if name in _EMPTY else f"<{name}{said}>{joined(content)}</{name}>")


def joined(content: Iterable[Content]) -> Html:
    """Texts and markup as markup."""
    return Html("".join(one if isinstance(one, Html) else escape(visible(one)) for one in content if one is not None))


def page(title: str, *content: Content, here: str = "", main: str | None = None) -> str:
    """A whole page.

    Args:
        title: of the window.
        content: of the body, below the bar.
        here: the address that the bar marks as the present one.
        main: where the main part begins, by its id, in content that brings its own; None makes the content one.
    """
    links = [
        tag("a", name, href=address, aria_current="page" if address == here else None)
        for address, name in (("/", "Ask"), ("/runs", "Runs"), ("/diff", "Compare"))
    ]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{one_line(title)} · Willowbark"),
        tag("link", rel="icon", href="data:,"),
        tag("link", rel="stylesheet", href=address_of("report.css")),
        tag("link", rel="stylesheet", href=address_of("page.css")),
        tag("script", src=address_of("page.js"), defer=True),
    )
    bar = tag("nav", tag("strong", "Willowbark"), *links, class_="bar", aria_label="Willowbark")
    skip = tag("a", "To the content", class_="skip", href=f"#{main or 'content'}")
    body = tag("main", *content, id="content") if main is None else joined(content)
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', skip, bar, body), lang='en')}\n"


def message(line: str, *, title: str = "That did not work") -> str:
    """A page of one line."""
    return page(title, tag("h1", title), problem(line), tag("p", tag("a", "Ask a question", href="/")))


def problem(line: str | None) -> Html | None:
    """What went wrong, in a line."""
    return tag("p", one_line(line), class_="problem", role="alert") if line else None


def entry(wrong: bool) -> str:
    """The page that asks for the token."""
    return page(
        "Token",
        tag("h1", "This server wants its token"),
        tag("p", "It stands where the server was started: in its first lines, or in the variable that they name."),
        problem("That is not the token." if wrong else None),
        posting("/token", field("Token", "token", type="password", autocomplete="current-password"), button("Enter")),
    )


def posting(address: str, *content: Content, **attributes: str) -> Html:
    """A form that is sent to an address."""
    return tag("form", *content, method="post", action=address, **attributes)


def button(label: str, **attributes: str) -> Html:
    """What sends a form."""
    return tag("p", tag("button", label, type="submit", **attributes))


def field(label: str, name: str, value: str = "", *, note: str = "", **attributes: Any) -> Html:
    """A labelled field; `note` stands below it, and other attributes are the input\'s."""
    described = {"aria_describedby": f"{name}-note"} if note else {}
    box = tag("input", id=name, name=name, value=value, **{"type": "text", **described, **attributes})
    return tag(
        "p",
        tag("label", label, for_=name),
        box,
        tag("span", note, id=f"{name}-note", class_="small") if note else None,
        class_="field",
    )


def pick(kind: str, name: str, value: str, label: str, chosen: bool) -> Html:
    """A box or button to pick, with its label."""
    return tag("label", tag("input", type=kind, name=name, value=value, checked=chosen), f" {label}", class_="pick")
