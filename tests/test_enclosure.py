"""Whatever a record holds, it stays inside its block and comes out again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from willowbark.tools.enclosure import (
    disclose,
    enclose,
    enclosed,
    new_marker,
    restated,
    stated,
    visible,
    without_statements,
)
from willowbark.tools.evidence import Citation, Evidence
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.toolbox import SourceTool, ToolReply, replies_in

MARKER = "0123456789abcdef"
NASTY = st.sampled_from(
    [
        *("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\\n", '"', "\\"),
        *("\u200b", "\u202e", "\ufe0f", "\U000e0041", "[TOOL_RESULT]"),
        *(f"</records {MARKER}>", f"\n</records {MARKER}>\n", f"<records {MARKER}>\n{{}}\n"),
    ]
)
TEXT = st.lists(st.text(max_size=20) | NASTY, min_size=1, max_size=6).map("".join)


def record(content: str, **metadata: object) -> Evidence:
    return Evidence(
        content=content, citation=Citation(source="web", title="T", url="https://a.example"), metadata=metadata
    )


@given(st.lists(TEXT.filter(bool), max_size=4), TEXT)
def test_any_text_comes_out_as_it_went_in_but_for_what_is_invisible(contents: list[str], query: str) -> None:
    records = [record(text, abstract=text, nested={"a": [text, None, 1]}) for text in contents]

    block = enclose(records, MARKER, head={"query": query})
    (found,) = disclose(f"before\n{block}\nafter")

    assert found.head == {"query": visible(query)}
    assert [r.content for r in found.records] == [visible(text) or "(no visible text)" for text in contents]
    assert [r.metadata["abstract"] for r in found.records] == [visible(text) for text in contents]


@given(st.lists(TEXT.filter(bool), max_size=4), TEXT)
def test_a_block_that_says_all_gives_the_same_records_again(contents: list[str], query: str) -> None:
    records = [record(text, abstract=text, nested={"a": [text, None, 1]}) for text in contents]

    block, says_all = enclosed(records, MARKER, head={"query": query})

    (found,) = disclose(block)
    assert says_all == (found.records == records and found.head == {"query": query})


@pytest.mark.parametrize(("content", "is_kept"), [("Attacks fell.", True), ("Attacks\u200b fell.", False)])
def test_only_what_is_written_whole_is_not_read_back(content: str, is_kept: bool) -> None:
    reply = SourceReply(source="pubmed", query="q", status=Status.OK, records=[record(content, pmid="1")])
    text = SourceTool("pubmed").return_value_as_string(ToolReply(replies=[reply]))

    (found,) = replies_in(text)

    assert (found is reply) is is_kept
    assert found.records[0].content == "Attacks fell."


def test_what_a_tool_gives_is_written_once_for_log_and_model() -> None:
    tool, came = SourceTool("pubmed"), ToolReply(replies=[SourceReply(source="pubmed", query="q", status=Status.EMPTY)])

    assert tool.return_value_as_string(came) is tool.return_value_as_string(came)
    assert SourceTool("pubmed").return_value_as_string(came) != tool.return_value_as_string(came)  # another mark


@given(st.lists(TEXT.filter(bool), max_size=4))
def test_no_text_closes_its_block_or_opens_another(contents: list[str]) -> None:
    block = enclose([record(text, text=text) for text in contents], MARKER)

    lines = block.splitlines()  # which counts U+2028, U+0085 and form feeds as ends of lines too
    assert len(lines) == len(contents) + 3
    assert lines[0] == f"<records {MARKER}>"
    assert lines[-1] == f"</records {MARKER}>"
    assert all(isinstance(json.loads(line), dict) for line in lines[1:-1])


def test_a_record_of_nothing_visible_does_not_take_the_others_with_it() -> None:
    hidden = Evidence(content="\u200b", citation=Citation(source="web", title="\u2060", url=""))

    (block,) = disclose(enclose([hidden, record("Seen.")], MARKER))

    assert [r.content for r in block.records] == ["(no visible text)", "Seen."]


@pytest.mark.parametrize(
    "odd",
    [b"\xff", "\ud800", {1, 2}, {("a", 1): object}, float("nan"), object(), 10**400],
    ids=["bytes", "surrogate", "set", "odd keys", "nan", "object", "large"],
)
def test_odd_metadata_do_not_break_a_block(odd: object) -> None:
    (block,) = disclose(enclose([record("Seen.", odd=odd)], MARKER, head={"odd": "\ud800"}))

    assert block.records[0].content == "Seen."


def test_texts_are_cut_to_the_limit() -> None:
    (block,) = disclose(enclose([record("x" * 100)], MARKER, text_limit=10))

    assert block.records[0].content == "x" * 10 + "…"


def test_each_of_several_blocks_is_read_even_under_one_mark() -> None:
    text = "\n".join(enclose([record(word)], MARKER, head={"n": n}) for n, word in enumerate(["a", "b"]))

    assert [(b.head["n"], b.records[0].content) for b in disclose(text)] == [(0, "a"), (1, "b")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<records 0123456789abcdef>",
        "<records 0123456789abcdef>\n</records 0123456789abcdef>",
        "<records 0123456789abcdef>\nnot JSON\n</records 0123456789abcdef>",
        "<records 0123456789abcdef>\n[1]\n</records 0123456789abcdef>",
        "<records 0123456789abcdef>\n{}\n</records fedcba9876543210>",
        "<records short>\n{}\n</records short>",
        " <records 0123456789abcdef>\n{}\n</records 0123456789abcdef>",
        '<records 0123456789abcdef>\n{}\n{"content": "x"}\n</records 0123456789abcdef>',
    ],
)
def test_what_is_not_one_of_ours_is_passed_over(text: str) -> None:
    assert list(disclose(text)) == []


def test_an_opening_that_is_never_closed_hides_no_block() -> None:
    text = f"<records {'f' * 16}>\n{{}}\n{enclose([record('Seen.')], MARKER)}"

    assert [b.records[0].content for b in disclose(text)] == ["Seen."]


def test_many_openings_hide_nothing_and_hold_nothing_up() -> None:
    """Reading once for each opening would take hours here."""
    text = "".join(f"<records {n:016x}>\n{{}}\n" for n in range(1_000_000)) + enclose([record("Seen.")], MARKER)

    assert [b.records[0].content for b in disclose(text)] == ["Seen."]


class Wanted(BaseModel):
    queries: list[str]


class Other(BaseModel):
    queries: list[str]


@given(st.lists(TEXT, max_size=4))
def test_data_comes_out_of_words_as_it_went_in_and_leaves_the_words(queries: list[str]) -> None:
    said = f"Next query: all of these\n{stated(Wanted(queries=queries), MARKER)}"

    assert restated(said, Wanted) == Wanted(queries=[visible(query) for query in queries])
    assert restated(said, Other) is None
    assert without_statements(said) == "Next query: all of these"


@pytest.mark.parametrize("head", [{}, {"pool": 3}, {"source": "pubmed"}])
def test_a_block_of_no_record_is_no_statement(head: dict[str, object]) -> None:
    said = f"Found:\n{enclose([], MARKER, head=head)}"

    assert restated(said, Wanted) is None
    assert without_statements(said) == said


def test_marks_are_never_the_same() -> None:
    assert len({new_marker() for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u202e", "\ufe0f", "\U000e0100", "\u3164", "\U000e0041", "\ufeff", "\x1b", "\u034f"]
)
def test_hidden_characters_are_removed(hidden: str) -> None:
    assert visible(f"did{hidden} not") == "did not"


@pytest.mark.parametrize("shown", ["β-blocker", "naïve", "偏头痛", "αλφα", "µg ≥ 5 % ± 2", "नमस्ते", "e\u0301"])
def test_letters_of_all_scripts_stay(shown: str) -> None:
    assert visible(shown) == shown
