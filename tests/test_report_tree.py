"""One tree, five forms: what a section says is in all of them, and nothing in it is live in any."""

import io
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from docx import Document as WordDocument
from exports_sample import effect, hostile, sample
from exports_sample import row as study
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from rich.console import Console

from willowbark.agents.exports import render
from willowbark.agents.report.forms import markdown
from willowbark.agents.report.forms.blocks import (
    Cite,
    Details,
    Figure,
    Group,
    Items,
    Pairs,
    Paragraph,
    ReportTree,
    RichText,
    Row,
    Section,
    Table,
    Text,
    TreeNode,
    flow,
    points,
    spans,
)
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.report.tables import find_best_estimate
from willowbark.agents.report.texts import write_blocks, write_lines
from willowbark.agents.report.tree import MOST_BLOCKS, select_block_rows
from willowbark.teams.faces.terminal import print_report
from willowbark.teams.page.app import render_report
from willowbark.tools.records.registry import linked_hosts


def word_text(report: ResearchReport) -> str:
    word = WordDocument(io.BytesIO(render(report, "docx")))
    cells = [cell.text for each in word.tables for row in each.rows for cell in row.cells]
    return "\n".join([*(each.text for each in word.paragraphs), *cells])


def terminal_text(report: ResearchReport, *, brief: bool = False) -> str:
    console = Console(file=io.StringIO(), width=2000, force_terminal=True, color_system="standard")
    print_report(report.to_brief() if brief else report.to_tree(), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


FORMS: dict[str, Callable[[ResearchReport], str]] = {
    "markdown": lambda report: f"{report.to_markdown()}\n{report.to_appendix()}",
    "page": lambda report: render(report, "html").decode(),
    "browser": lambda report: render_report("20260101-000000-x-0000", report.to_json())[0],
    "word": word_text,
}
BRIEF: dict[str, Callable[[ResearchReport], str]] = {
    "terminal": lambda report: terminal_text(report, brief=True),
    "studio": ResearchReport.to_markdown,
}


def written(document: ReportTree) -> set[str]:
    """The words of a report, but for those of pictures, and of what only a click opens."""
    blocks: list[TreeNode] = [*document.opening, *document.sections, *document.closing]
    words: set[str] = set()
    while blocks:
        match blocks.pop():
            case Section(title=title, note=note, blocks=inner):
                blocks += inner
                words |= bare(f"{title} {note}")
            case Figure() | Details():
                pass
            case Table(rows=rows, columns=columns, look=look):
                blocks += [node for row in rows for cell in (*row.cells, row.below) for node in cell]
                words |= bare(" ".join(columns[1:])) if look != "flow" else set()
            case node:
                words |= bare(" ".join(each.text for each in spans((node,))))
    return words


def bare(text: str) -> set[str]:
    """Words of a form's text without its tags, entities, marks and punctuation."""
    plain = re.sub(r"</?[a-z][^>]*>|\x1b\]8;.*?\x1b\\\\|\x1b\[[0-9;]*m", " ", text)
    return set(re.findall(r"\w+", unescape(plain)))


@pytest.mark.parametrize("form", FORMS)
def test_every_word_of_a_report_is_in_every_form(form: str) -> None:
    report = sample()
    shown = FORMS[form](report)

    whole = report.to_tree()
    assert whole.appendix is not None
    assert written(replace(whole, sections=(*whole.sections, whole.appendix))) - bare(shown) == set()
    for words in ("It helped", "Smokers were volunteers.", "Mechanisms of bupropion", "clonidine"):
        assert words in shown, words


@pytest.mark.parametrize(
    ("form", "place"),
    [
        (ResearchReport.to_markdown, "In `to_appendix()`"),
        (lambda report: report.to_markdown("report-appendix.md"), "In `report-appendix.md`"),
        (terminal_text, "report-appendix.md"),
        (ResearchReport._repr_html_, "report.to_appendix()"),
    ],
    ids=["markdown", "run folder", "terminal", "notebook"],
)
def test_what_is_read_from_top_to_bottom_names_the_appendix_and_leaves_it_out(
    form: Callable[[ResearchReport], str], place: str
) -> None:
    report = sample()
    shown = form(report)

    assert written(report.to_tree()) - bare(shown) == set()
    assert place in shown
    assert "Smokers were volunteers." not in shown
    assert "Every query as sent" not in shown


@pytest.mark.parametrize("form", BRIEF)
def test_where_a_face_shows_the_result_alone_it_is_the_same_answer_and_table(form: str) -> None:
    report = sample()
    shown = BRIEF[form](report)

    assert written(report.to_brief()) - bare(shown) == set()
    assert report.summary_parts[0].text in " ".join(shown.split())[:2_000]


def test_a_terminal_obeys_no_record() -> None:
    shown = terminal_text(hostile("\x1b[31mred\x1b[0m\x07 [link=https://evil.example]x[/link]"))

    assert "\x1b[31mred" not in shown
    assert "\x07" not in shown
    leads_to = set(re.findall(r"\x1b\]8;[^;]*;([^\x1b]*)\x1b", shown)) - {""}
    assert leads_to, "records are links"
    assert {urlsplit(address).hostname for address in leads_to} <= linked_hosts()


def test_lists_and_wide_tables_keep_what_they_hold_in_one_line_and_in_markdown() -> None:
    content = TypeAdapter(RichText).validate_python(flow("a", points([flow("b", Cite((1,))), "c"])))
    assert [node.text for node in spans(content)] == ["a", "b", "[1]", "; ", "c"]
    assert markdown.render_inline(flow("a", Text(" b", "strong"), "c", Text("d ", "emphasis"), "e")) == "a **b**c*d* e"
    rows = (Row((flow("1"), flow("2")), flow("more")), Row((flow("3"), flow("4"))))
    wide = Table("Caption", ("a", "b"), (Group(rows, flow("both")),), "records")

    assert markdown._render_table(wide) == "both\n\n- 1\\\n  *b:* 2\\\n  more\n- 3\\\n  *b:* 4"


def test_a_column_that_holds_nothing_is_left_out_and_a_cell_that_holds_nothing_has_no_name_beside_it() -> None:
    rows = (Row((flow("1"), flow("2"), (), flow("4"))), Row((flow("5"), (), (), flow("8")), flow("more")))
    table = Table("", ("a", "b", "c", "d"), (Group(rows),), "records").without_empty_columns()

    assert table.columns == ("a", "b", "d")
    assert markdown._render_table(table) == "- 1\\\n  *b:* 2 · *d:* 4\n- 5\\\n  *d:* 8\\\n  more"


def test_what_is_folded_on_the_page_is_open_on_paper_and_keeps_its_anchor() -> None:
    page = render(sample(), "html").decode()

    assert '<details class="fold" id="methods"><summary><h3 id="h-methods">Methods' in page
    assert "<details open" not in page
    on_paper = page[page.index("@media print") :]
    assert "details::details-content { content-visibility: visible; block-size: auto; }" in on_paper


def cite(keys: Iterable[str]) -> Cite:
    return Cite(tuple(range(1, len(list(keys)) + 1)))


@given(st.text(min_size=1))
def test_a_value_in_a_text_is_never_a_mark_of_its_template(value: str) -> None:
    [line] = write_lines("summary", "set_aside", number=1, who=value)
    assert line == f"1 candidate was set aside by {value} before the report was written"

    known = [(value, value, value, ["pmid:1"])]
    [items] = write_blocks("findings", "mechanistic", cite, known=known, missing="", skipped="")
    assert isinstance(items, Items)
    [item] = items.items
    assert item == (Text(value, "strong"), Text(f": {value}; pathways: {value}".rstrip()), Cite((1,)))


@pytest.mark.parametrize("value", ["- x", "a :: b", "~ x", "{{ 7 * 7 }}", "**x**", "x\n\ny", "\ue0000\ue001"])
def test_what_looks_like_a_mark_stays_as_it_was_written(value: str) -> None:
    intro, said = write_blocks("safety", "intro", silent=value)
    assert isinstance(intro, Paragraph)
    assert isinstance(said, Paragraph)
    assert f"events were found for {value}; that is" in said.content[0].text  # type: ignore[union-attr]

    label = {"key": "pmid:1", "people": value, "boxed": [value], "uses": [], "warnings": [], "interactions": []}
    [pairs] = write_blocks("safety", "label", cite, l={**label, "contraindications": ""})
    assert isinstance(pairs, Pairs)
    assert len(pairs.pairs) == 4


def test_figures_stand_with_a_p_value_only_where_it_is_told_whose_they_are() -> None:
    def shown(*figures: str, result: str = "better") -> list[str]:
        return study("pmid:1", "A trial", figures=list(figures), pico={"result": result}).tested_figures

    assert shown("31%", "23%", "P < .025") == ["P < .025"]
    assert shown("3.1 ± 0.4", "-0.70%", "p = 0.01") == ["p = 0.01"]
    assert shown("31%", "23%") == []
    assert shown("25%", "95% CI 12-36", "p=0.0004", "3%") == ["25%", "95% CI 12-36", "p=0.0004"]
    assert shown("46 vs. -12%", "p = 0.004") == ["46 vs. -12%", "p = 0.004"]
    assert shown("31%", "p = 0.002", result="no difference") == [], "on another outcome"
    assert shown("31%", "p = 0.2", result="no difference") == ["31%", "p = 0.2"]


@pytest.mark.parametrize(("drugs", "most"), [(1, 12), (5, 3), (40, 2)])
def test_however_many_drugs_there_are_each_block_shows_both_sides_and_the_first_more(drugs: int, most: int) -> None:
    one = sample().candidates[0]
    keys = [f"pmid:{number}" for number in range(40)]
    sides = {"supporting_citations": keys[1:], "contradicting_citations": keys[:1]}
    found = [one.model_copy(update={"name": f"drug {place}", **sides}) for place in range(drugs)]
    table = [study(key, "A trial", drug=each.name) for each in found for key in keys]

    shown = select_block_rows(found, table)
    assert list(shown) == [each.name for each in found[:MOST_BLOCKS]]
    assert len(shown["drug 0"]) == most
    assert [rows for rows in shown.values() if not (rows[0].key == keys[0] and rows[1].key in keys[1:])] == []


@pytest.mark.parametrize(
    "doubt",
    [
        {"design": "in vivo"},
        {"design": "cohort study"},
        {"alone": False},
        {"is_preprint": True},
        {"concern": True},
        {"surrogate": True},
        {"sample_size": 99},
        {"comparator": "active"},
        {"effects": []},
        {"effects": [effect(1.2, 0.9, 1.6, "It rose.")]},
        {"effects": [effect(0.2, -0.4, 0.5, "It rose.").model_copy(update={"measure": "MD"})]},
        {"sample_size": 200},
    ],
    ids=str,
)
def test_the_best_estimate_is_of_the_study_with_fewest_doubts(doubt: dict[str, Any]) -> None:
    good = {"comparator": "placebo", "effects": [effect(2.8, 1.9, 4.3, "It fell.")], "sample_size": 300}
    best = find_best_estimate([study("pmid:1", "T", **{**good, **doubt}), study("pmid:2", "T", **good)])

    assert best is not None
    assert best.key == "pmid:2"
    assert find_best_estimate([]) is None


def test_a_drug_that_mostly_fails_has_a_block_however_low_it_stands() -> None:
    one = sample().candidates[0]
    drugs = [one.model_copy(update={"name": str(at), "contradicting_citations": []}) for at in range(MOST_BLOCKS + 2)]
    drugs[-1] = drugs[-1].model_copy(update={"contradicting_citations": ["pmid:1", "pmid:2", "pmid:3"]})

    assert list(select_block_rows(drugs, [])) == [*map(str, range(MOST_BLOCKS)), str(MOST_BLOCKS + 1)]
