"""XML as data: no word is lost to markup, and every item is handed over as soon as it is read."""

from pathlib import Path
from typing import Any

import pytest

from willowbark.tools.errors import UnreadableReply
from willowbark.tools.http.reply import read_each
from willowbark.tools.http.xml import attribute, every, first, read_items, read_trees, text_of
from willowbark.tools.sources.studies.pubmed import parse_article, parse_articles

RECORDED = Path(__file__).parent / "replies" / "pubmed" / "efetch.xml"
SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "replies"
ARTICLES = ("PubmedArticle", "PubmedBookArticle")


def read(xml: str) -> list[tuple[str, Any]]:
    """Every item of a document whose texts are `text` and whose items are `item` and `note`."""
    items: list[tuple[str, Any]] = []
    read_items(
        "pubmed",
        xml.encode(),
        lambda name, data: items.append((name, data)),
        items=("item", "note"),
        texts=("text", "note"),
        dropped=("long",),
    )
    return items


def read_text(inner: str) -> str:
    [(_, data)] = read(f"<root><item><text>{inner}</text></item></root>")
    return text_of(first(data, "text"))


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        ("a β<sub>2</sub>-agonist", "a β2-agonist"),
        ("<i>in vitro</i>, 10<sup>3</sup> cells", "in vitro, 10^3 cells"),
        ("before <b>within <i>deep</i> after</b> behind", "before within deep after behind"),
        ("<unheard-of>a</unheard-of> b <text>c</text> d", "a b c d"),
        ("one <!-- a remark --> two <![CDATA[<three>]]> &lt;four&gt;", "one  two <three> <four>"),
    ],
)
def test_words_and_markup_stay_in_their_order(inner: str, text: str) -> None:
    assert read_text(inner) == text


def test_an_element_that_comes_once_is_walked_as_one_that_comes_often() -> None:
    once, often = (read(f"<root><item><a>{'<text>1</text>' * count}</a></item></root>")[0][1] for count in (1, 2))

    assert [text_of(text) for text in every(once, "a", "text")] == ["1"]
    assert [text_of(text) for text in every(often, "a", "text")] == ["1", "1"]
    assert text_of(first(once, "a", "text")) == text_of(first(often, "a", "text")) == "1"
    assert every(once, "b", "text") == every(once, "text") == []


def test_attributes_stand_beside_the_text_and_what_is_empty_is_empty() -> None:
    [(_, data)] = read('<root><item><text kind="x">1</text><text kind="y"/><text/></item></root>')
    texts = every(data, "text")

    assert [attribute(text, "kind") for text in texts] == ["x", "y", None]
    assert [text_of(text) for text in texts] == ["1", "", ""]


def test_an_item_of_text_alone_keeps_its_words_beside_its_attributes() -> None:
    [(name, data)] = read('<root><wrapper><note code="1">No <i>such</i> database.</note></wrapper></root>')

    assert (name, text_of(data)) == ("note", "No such database.")


def test_what_is_dropped_is_no_part_of_an_item() -> None:
    [(_, data)] = read("<root><item><long><text>1</text></long><text>2</text></item></root>")

    assert [text_of(text) for text in every(data, "text")] == ["2"]
    assert first(data, "long") is None


def test_items_are_handed_over_before_the_reply_is_read_to_its_end() -> None:
    taken: list[str] = []
    cut = b"<root><item><text>1</text></item><item><text>2"
    with pytest.raises(UnreadableReply, match="cut or broken"):
        read_items(
            "pubmed", cut, lambda _, data: taken.append(text_of(first(data, "text"))), items=["item"], texts=["text"]
        )

    assert taken == ["1"]


def test_one_item_may_be_the_whole_reply() -> None:
    assert read("<item><text>1</text></item>") == [("item", {"text": "1"})]
    assert read("<root/>") == []


def compare_with_trees(xml: bytes) -> int:
    """Read articles by xmltodict and as trees, which must give the same; returns their number."""
    _, trees = read_trees("pubmed", xml, ARTICLES)
    records, _ = read_each([{tree.tag: tree} for tree in trees], parse_article)
    assert parse_articles(xml).records == records
    return len(records)


def test_recorded_articles_are_the_same_as_data_and_as_trees() -> None:
    assert compare_with_trees(RECORDED.read_bytes()) > 40


@pytest.mark.skipif(not SHARED.exists(), reason="../shared/data/replies is not beside this clone")
def test_real_articles_are_the_same_as_data_and_as_trees() -> None:
    sets = [path.read_bytes() for path in sorted((SHARED / "pubmed_efetch").rglob("*.xml"))]
    count = 0
    for xml in sets:
        try:
            count += compare_with_trees(xml)
        except UnreadableReply:
            continue
    assert count > 220
