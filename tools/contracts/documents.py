"""Replies as plain data, whatever their form: objects, lists, texts and numbers."""

from typing import Any
from xml.etree.ElementTree import Element

from ..http.reply import Reply
from ..http.xml import join_text, read_trees

TEXT = ""
"""Key of an XML element's own text."""
_RECORDS = ("PubmedArticle",)


class Elements(list[Any]):
    """Elements of XML of one name in one place; a single one is written as a list of many is."""


def read_document(reply: Reply) -> Any:
    """Return a reply as plain data; an `UnreadableReply` says that it is neither JSON nor XML, or a web page."""
    if not reply.body.lstrip().startswith(b"<"):
        return reply.json()
    _, elements = read_trees(reply.source, reply.xml(), _RECORDS)
    data = {}
    for name in _RECORDS:
        data[name] = Elements(_as_data(element) for element in elements if element.tag == name)
    return data


def _as_data(element: Element) -> dict[str, Any]:
    data: dict[str, Any] = {f"@{name}": value for name, value in element.items()}
    if text := " ".join(join_text(element).split()):
        data[TEXT] = text
    for child in element:
        data.setdefault(child.tag, Elements()).append(_as_data(child))
    return data
