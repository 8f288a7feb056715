"""Replies in XML: as data by xmltodict, or as trees where the order of elements matters (full texts).

xmltodict alone puts what stands between inline markup behind the markup ("β<sub>2</sub>-agonist" becomes "β-agonist"
and "2"), so an element of text is flattened before xmltodict sees it.
"""

import re
from collections.abc import Callable, Collection
from typing import Any, NoReturn, Protocol
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate

import xmltodict

from ..errors import UnreadableReply

MAX_DEPTH = 100  # PubMed's own records stay below 20, including formulas
MAX_ELEMENTS = 500_000  # of a reply, built into data: 200 articles of PubMed's have some 100,000
_DOCTYPE = re.compile(rb"<!DOCTYPE\s[^\[<>]*>")  # without declarations; any other is refused
_ITEM_DEPTH = 2  # of the wrapper put around each item, below the wrapper of the reply


def read_items(
    source: str,
    xml: bytes,
    take: Callable[[str, Any], None],
    *,
    items: Collection[str],
    texts: Collection[str],
    dropped: Collection[str] = (),
) -> str:
    """Hand each element named in `items` to `take` as soon as it ends, so that one at a time is in memory.

    An element becomes a dictionary of its attributes (`@Name`), its text (`#text`) and its elements, a list where a
    name is repeated; a text without attributes becomes a string, an empty element None. `first` and `every` walk it.

    Args:
        source: named in errors.
        xml: prefixes need not be declared.
        take: called with an element's name and data, wherever it stands in the reply, though not within another item;
            it must raise neither ValueError nor LookupError, which would be told of the XML.
        items: names of elements.
        texts: names of elements that hold text alone; markup in them is flattened by `join_text`. Text in any other
            element is white space to be left out.
        dropped: names of elements to leave out, with all that they hold.

    Returns:
        The root's name.

    Raises:
        UnreadableReply: the XML is cut or broken, holds entities or too many elements, or is nested deeper than 100;
            what was taken by then is not to be used.
    """
    flattening = _Flattening(texts)
    selection = _ItemSelection(items, dropped, flattening)
    flattening.read = lambda whole: _run_expat(whole, selection)

    def take_item(_: object, item: Any) -> bool:
        for name, data in item.items():
            take(name, data)
        return True

    try:
        xmltodict.parse(xml, expat=flattening, item_depth=_ITEM_DEPTH, item_callback=take_item, disable_entities=True)
    except (ExpatError, ValueError, LookupError) as error:
        raise _make_unreadable(source, error) from None
    return selection.root


def read_trees(source: str, xml: bytes, wanted: Collection[str]) -> tuple[str, list[Element]]:
    """Return the root's name, and the elements named in `wanted` as trees; raises as `read_items`."""
    trees = _Trees()
    selection = _ItemSelection(wanted, (), trees)
    try:
        _run_expat(xml, selection)
    except (ExpatError, ValueError, LookupError) as error:
        raise _make_unreadable(source, error) from None
    return selection.root, trees.built


def _make_unreadable(source: str, error: Exception) -> UnreadableReply:
    return UnreadableReply(source, f"answered with XML that is cut or broken ({type(error).__name__})")


def first(data: Any, *path: str) -> Any:
    """Return the data at a path of names, of repeated elements the first; None if any step is missing.

    This and the next three walk what `read_items` hands over, and trees alike: the files that libraries are built from
    are parsed to trees, twice as fast as to dictionaries.

    >>> first({"a": [{"b": "1"}, {"b": "2"}]}, "a", "b"), first({"a": "1"}, "a", "b") is None
    ('1', True)
    """
    for name in path:
        if isinstance(data, dict):
            data = data.get(name)
            if isinstance(data, list):
                data = data[0]
        elif isinstance(data, Element):
            data = data.find(name)
        else:
            return None
    return data


def every(data: Any, *path: str) -> list[Any]:
    """Return the data of each element at a path of names, which xmltodict makes a list only where there are several.

    >>> every({"a": {"b": "1"}}, "a", "b"), every({"a": {"b": ["1", "2"]}}, "a", "b"), every({}, "a", "b")
    (['1'], ['1', '2'], [])
    """
    *above, name = path
    parent = first(data, *above)
    if isinstance(parent, Element):
        return parent.findall(name)
    if not isinstance(parent, dict) or name not in parent:
        return []
    children = parent[name]
    return children if isinstance(children, list) else [children]


def attribute(data: Any, name: str) -> str | None:
    """Return an attribute of an element; None if it has none of this name."""
    if isinstance(data, Element):
        return data.get(name)
    return data.get(f"@{name}") if isinstance(data, dict) else None


def text_of(data: Any) -> str:
    """Return the text of an element that holds text alone; empty for None.

    >>> text_of({"@Label": "AIM", "#text": "Why."}), text_of("Why."), text_of({"@Label": "AIM"}), text_of(None)
    ('Why.', 'Why.', '', '')
    """
    if isinstance(data, dict):
        data = data.get("#text")
    elif isinstance(data, Element):
        data = join_text(data) if len(data) else data.text
    return data or ""


def lift_markup(before: str, inside: str) -> str:
    """Write a superscript inline, with `^` where dropping it would change a number or a unit.

    >>> lift_markup("10", "-5"), lift_markup("kg/m", "2"), lift_markup("CD4", "+")
    ('^-5', '^2', '+')
    >>> lift_markup("19", "th"), lift_markup("[", "18")
    ('th', '18')
    """
    inside = inside.strip()
    last = before[-1:]
    is_ordinal = inside.lower() in ("st", "nd", "rd", "th")
    power = any(c.isdigit() for c in inside) or (last.isdigit() and inside.isalpha() and not is_ordinal)
    return f"^{inside}" if power and last and (last.isalnum() or last in ")]") else inside


def join_text(element: Element, is_left_out: Callable[[Element], bool] | None = None) -> str:
    """Return the text of an XML element, nested 100 deep at most; superscripts, powers and fractions stay readable.

    `is_left_out` selects descendants to skip; superscripts left empty by this are dropped too.
    """
    pieces: list[str] = []
    _gather(element, pieces, is_left_out)
    return "".join(pieces)


def _gather(element: Element, pieces: list[str], is_left_out: Callable[[Element], bool] | None) -> None:
    between = {"msup": "^", "mfrac": "/"}.get(_strip_namespace(element))  # MathML: inserted between the two children
    pieces.append(element.text or "")
    for at, child in enumerate(element):
        if _strip_namespace(child) == "sup":
            inside: list[str] = []
            _gather(child, inside, is_left_out)
            above = "".join(inside)
            if is_left_out is None or above.strip(" \t\n,;–-"):  # not what stood between those left out
                pieces.append(lift_markup(next((piece for piece in reversed(pieces) if piece), ""), above))
        elif is_left_out is None or not is_left_out(child):
            _gather(child, pieces, is_left_out)
            if _strip_namespace(child) in ("p", "list-item", "title", "break"):
                pieces.append(" ")
        if between and at == 0:
            pieces.append(between)
        pieces.append(child.tail or "")


def _strip_namespace(element: Element) -> str:
    return element.tag.rpartition(":")[2]


class _XmlBuilder(Protocol):
    """Receives the wanted elements of a document, one after the other."""

    def open(self) -> None: ...
    def start(self, name: str, attributes: dict[str, str]) -> object: ...
    def data(self, text: str) -> object: ...
    def end(self, name: str) -> object: ...
    def close(self) -> None: ...


class _ItemSelection:
    """Passes on the wanted elements of a document, within bounds of depth and number."""

    def __init__(self, wanted: Collection[str], dropped: Collection[str], builder: _XmlBuilder) -> None:
        self.root = ""
        self._wanted = frozenset(wanted)
        self._dropped = frozenset(dropped)
        self._builder = builder
        self._depth = 0
        self._passed = 0  # elements
        self._began_at = 0  # depth of the wanted element; 0 outside
        self._dropped_at = 0  # depth of an element dropped in it; 0 outside

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self.root = self.root or name
        if self._depth > MAX_DEPTH or self._passed > MAX_ELEMENTS:
            raise ValueError("nested too deeply, or cut up beyond any article")
        if self._dropped_at:
            return
        if not self._began_at:
            if name not in self._wanted:
                return
            self._began_at = self._depth
            self._builder.open()
        if name in self._dropped:
            self._dropped_at = self._depth
            return
        self._passed += 1
        self._builder.start(name, attributes)

    def add_text(self, text: str) -> None:
        if self._began_at and not self._dropped_at:
            self._builder.data(text)

    def end(self, name: str) -> None:
        if self._depth == self._dropped_at:
            self._dropped_at = 0
        elif self._began_at and not self._dropped_at:
            self._builder.end(name)
        if self._depth == self._began_at:
            self._builder.close()
            self._began_at = 0
        self._depth -= 1


def _run_expat(xml: bytes, selection: _ItemSelection) -> None:
    parser = ParserCreate()  # which loads nothing and knows no namespaces
    parser.buffer_text = True
    parser.StartElementHandler = selection.start
    parser.EndElementHandler = selection.end
    parser.CharacterDataHandler = selection.add_text
    parser.StartDoctypeDeclHandler = _refuse_declarations
    # a declared DTD, even one that is never loaded, would have expat pass over unknown entities without a word
    head = _DOCTYPE.sub(b"", xml[:4096], count=1)
    parser.Parse(head + xml[4096:], True)


def _refuse_declarations(*_: object) -> NoReturn:
    raise ValueError("declares entities or a grammar of its own")


class _Trees:
    """Builds a tree for each element."""

    def __init__(self) -> None:
        self.built: list[Element] = []
        self.open()

    def open(self) -> None:
        self._tree = TreeBuilder()
        self.start = self._tree.start
        self.data = self._tree.data
        self.end = self._tree.end

    def close(self) -> None:
        self.built.append(self._tree.close())


class _Flattening:
    """Stands between expat and xmltodict, as its `expat`: passes on each text in one piece, without markup in it."""

    StartElementHandler: Callable[[str, dict[str, str]], None]
    EndElementHandler: Callable[[str], None]
    CharacterDataHandler: Callable[[str], None]

    def __init__(self, texts: Collection[str]) -> None:
        self.read: Callable[[bytes], None] = lambda _: None
        self._texts = frozenset(texts)
        self._inside = 0  # elements open within a text, with its own; 0 outside
        self._pieces: list[str] = []
        self._marked_up: TreeBuilder | None = None  # of a text with markup

    def ParserCreate(self, *_: object) -> "_Flattening":  # noqa: N802  expat's name
        return self

    def Parse(self, xml: bytes, _: bool) -> None:  # noqa: N802  expat's name
        self.StartElementHandler("reply", {})
        self.read(xml)
        self.EndElementHandler("reply")

    def open(self) -> None:
        self.StartElementHandler("item", {})

    def close(self) -> None:
        self.EndElementHandler("item")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._inside:
            self.StartElementHandler(name, attributes)
            if name in self._texts:
                self._inside = 1
                self._pieces = []
            return
        if self._marked_up is None:
            self._marked_up = TreeBuilder()
            self._marked_up.start("text", {})
            self._marked_up.data("".join(self._pieces))
        self._inside += 1
        self._marked_up.start(name, attributes)

    def data(self, text: str) -> None:
        if self._marked_up is not None:
            self._marked_up.data(text)
        elif self._inside:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        if self._inside > 1 and self._marked_up is not None:
            self._marked_up.end(name)
            self._inside -= 1
            return
        if self._inside:
            self.CharacterDataHandler(self._take_text())
            self._inside = 0
        self.EndElementHandler(name)

    def _take_text(self) -> str:
        if self._marked_up is None:
            return "".join(self._pieces)
        self._marked_up.end("text")
        tree = self._marked_up.close()
        self._marked_up = None
        return join_text(tree)
