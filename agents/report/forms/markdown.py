"""Renders a report's tree as Markdown; records' texts are escaped, so that none becomes markup, a link or a heading."""

from collections.abc import Iterable, Iterator

from willowbark.tools.records.enclosure import escape, visible

from . import blocks as nodes
from .blocks import Block, TreeNode
from .links import safe_url

APPENDIX_METHOD = "to_appendix()"
"""Where there is no file: in Python, over MCP."""
_AROUND = {"strong": "**", "emphasis": "*", "flag": "**", "mark": "**"}


def render_markdown(document: nodes.ReportTree, appendix: str = APPENDIX_METHOD) -> str:
    """Render the report, with a line on the contents of its appendix and on where that is."""
    appended = [section.title[:1].lower() + section.title[1:] for section in _list_appendix(document)]
    parts = [
        f"# {escape(document.title)}",
        *(f"> {render_inline(paragraph.content)}" for paragraph in document.opening),
        f"**Question.** {escape(document.question)}",
        *_render_blocks(document.sections, 2),
        *([f"**Appendix.** In `{appendix}`: {escape(', '.join(appended))}."] if appended else []),
        *(f"*{render_inline(paragraph.content)}*" for paragraph in document.closing),
    ]
    return "\n\n".join(parts) + "\n"


def render_appendix(document: nodes.ReportTree) -> str:
    """Render the appendix; its references are numbered on from the report's."""
    parts = [f"# Appendix: {escape(document.title)}", *_render_blocks(_list_appendix(document), 2)]
    return "\n\n".join([*parts, *(f"*{render_inline(paragraph.content)}*" for paragraph in document.closing)]) + "\n"


def _list_appendix(document: nodes.ReportTree) -> list[nodes.Section]:
    return (
        [block for block in document.appendix.blocks if isinstance(block, nodes.Section)] if document.appendix else []
    )


def render_blocks(blocks: Iterable[Block]) -> str:
    """Render some blocks of a report."""
    return "\n\n".join(_render_blocks(blocks, 3))


def _render_blocks(blocks: Iterable[Block], level: int) -> Iterator[str]:
    for block in blocks:
        match block:
            case nodes.Section():
                note = f" ({escape(block.note)})" if block.note else ""
                yield f"{'#' * level} {escape(block.title)}{note}"
                yield from _render_blocks(block.blocks, min(level + 1, 6))
            case nodes.Details():
                yield f"**{escape(block.summary)}**"
                yield from _render_blocks(block.blocks, level)
            case nodes.Paragraph():
                yield render_inline(block.content)
            case nodes.Items():
                yield "\n".join(_list_lines(block, ""))
            case nodes.Pairs():
                yield "\n".join(f"- **{escape(name)}:** {render_inline(content)}" for name, content in block.pairs)
            case nodes.Table():
                yield _render_table(block)
            case nodes.Quote():
                yield f"> {render_inline((block,))}"
            case nodes.Figure():
                pass  # the tables have its data


def _list_lines(block: nodes.Items, indent: str) -> Iterator[str]:
    for number, item in enumerate(block.items, block.start):
        mark = "- " if block.look in ("points", "lines") else f"{number}. "
        inner = nodes.find_lists(item)
        yield f"{indent}{mark}{render_inline(node for node in item if node not in inner)}"
        for inner_list in inner:
            yield from _list_lines(inner_list, indent + " " * len(mark))


def _render_table(block: nodes.Table) -> str:
    """Render a table with its caption above it; a wide one as a list, one point per row.

    Studies of a drug need no caption: their heading is the drug.
    """
    parts = [f"*{escape(block.caption)}*"] if block.caption and block.look != "records" else []
    if not block.is_wide:
        head = f"| {' | '.join(map(escape, block.columns))} |\n{'|---' * len(block.columns)}|"
        rows = [f"| {' | '.join(map(render_inline, row.cells))} |" for row in block.rows]
        return "\n\n".join([*parts, "\n".join([head, *rows])])
    for group in block.groups:
        if group.title:
            parts.append(render_inline(group.title))
        points = ("\\\n  ".join(filter(None, map(render_inline, block.card(row)))) for row in group.rows)
        parts.append("\n".join(f"- {point}" for point in points))
    return "\n\n".join(parts)


def render_inline(content: Iterable[TreeNode]) -> str:
    """Render content in one line."""
    line = "".join(map(_render_span, nodes.spans(content)))
    return " ".join(filter(None, line.split(" "))).strip()


def _render_span(node: nodes.Span) -> str:
    if isinstance(node, nodes.Cite):
        return f" {node.text}"
    core = escape(node.text)
    if not isinstance(node, nodes.Text):
        address = safe_url(node.url or "")
        return f"[{core}]({address})" if address else core
    if node.style == "code":
        core = f"`{' '.join(visible(node.text).replace('|', ' ').replace('`', chr(39)).split())}`"
    if not core:
        return " " if node.text else ""
    around = _AROUND.get(node.style, "")
    before = " " if node.text[:1].isspace() else ""
    after = " " if node.text[-1:].isspace() else ""
    return f"{before}{around}{f'[{core}]' if node.style == 'flag' else core}{around}{after}"
