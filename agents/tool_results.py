"""What a specialist's model sees of its tools' results: of its turn a line for each record, of earlier turns titles.

The line holds the end of the record's text, where a publication says what came out. All lines of a turn share
`EXCERPTS`, so that a turn with many records shows less of each, and leaves none out.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from willowbark.agents.autogen import FunctionExecutionResultMessage, LLMMessage, UserMessage
from willowbark.tools.outside import GivenOrigin, read_result
from willowbark.tools.reading.document import Document
from willowbark.tools.records.enclosure import MAX_WITHOUT_BLOCKS, blocks, condense, enclose_lines, one_line
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.toolbox import replies_in

EXCERPTS = 6_000  # characters of the records of a turn, about 1,500 tokens
LONGEST_EXCERPT = 400  # characters of a record, title included
SHORTEST_EXCERPT = 60  # the same where a turn found very many: a short title
FEW = 100  # characters of a record up to which only its title is shown
_TITLES = 8  # records of a result whose titles stay after the turn
_TITLE = 120  # characters
_HEAD = {"source", "status", "total", "warnings"}


def write_excerpts(text: str, seen: set[str]) -> str:
    """Reduce a tool's result to a line for each new record: title, key, the end of its text.

    Args:
        text: the result.
        seen: keys of records that the model has seen; those of this result are added.
    """
    replies = replies_in(text)
    if not replies:
        return _enclose_foreign_text(text, seen)
    marker = next(blocks(text)).marker
    parts = []
    for reply in replies:
        new = [record for record in reply.records if record.key not in seen]
        seen.update(record.key for record in new)
        status = reply.model_dump(mode="json", include=_HEAD, exclude_defaults=True)
        lines = [_make_line(record) for record in new]
        parts.append(enclose_lines(lines, marker, head={**status, "read": len(reply.records)}))
    return "\n".join(parts)


def _enclose_foreign_text(text: str, seen: set[str]) -> str:
    """Enclose what a tool that is not Willowbark's own returned: a line for each new record, else its first words."""
    if next(blocks(text), None) is not None:
        return condense(text, seen)
    works = read_result(text, GivenOrigin("", "")).works
    lines = []
    for work in works:
        key = work.names[0] if work.names else ""
        if key and key not in seen:
            seen.add(key)
            lines.append({"title": "", "key": key, "end": ""} if work.record is None else _make_line(work.record))
    head = {"named": len(works)} if works else {"text": one_line(text, MAX_WITHOUT_BLOCKS)}
    # the same text gets the same mark, so that a state saved twice is the same
    marker = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
    return enclose_lines(lines, marker, head=head)


def list_lines(records: Sequence[Evidence]) -> list[dict[str, str]]:
    """Return records in a line each: title, key, the end of the text."""
    return [_make_line(record) for record in records]


def _make_line(record: Evidence) -> dict[str, str]:
    title = one_line(record.citation.title, _TITLE)
    return {"title": title, "key": record.key, "end": _cut_last_sentences(record, LONGEST_EXCERPT - len(title))}


def _cut_last_sentences(record: Evidence, most: int) -> str:
    """Return the last whole sentences of a record's text that fit; empty if none does."""
    page = Document.of(record)  # without what addresses machines
    end = ""
    for sentence in reversed(page.sentences):
        longer = f"{sentence.quote} {end}".strip()
        if sentence.headed == "title" or len(longer) > most:
            break
        end = longer
    return one_line(end, most)


def drop_excerpts(message: LLMMessage) -> LLMMessage:
    """Return a message with titles of its results' first records in place of their lines; others unchanged."""
    if not isinstance(message, FunctionExecutionResultMessage):
        return message
    results = [result.model_copy(update={"content": _keep_titles(result.content)}) for result in message.content]
    return message.model_copy(update={"content": results})


def _keep_titles(text: str) -> str:
    parts = []
    for head, lines, marker in _read_shortened(text):
        if lines:
            head["titles"] = {line["key"]: line["title"] for line in lines[:_TITLES]}
        parts.append(enclose_lines([], marker, head=head))
    return "\n".join(parts) or text


def _read_shortened(text: str) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], str]]:
    """Yield head, lines and marker of each block that `write_excerpts` wrote."""
    for block in blocks(text):
        with suppress(ValueError):
            head, lines = block.read()
            yield head, lines, block.marker


def list_keys(messages: Sequence[LLMMessage]) -> set[str]:
    """Return the keys of the records that messages show."""
    keys = set[str]()
    for message in messages:
        for result in message.content if isinstance(message, FunctionExecutionResultMessage) else ():
            for head, lines, _ in _read_shortened(result.content):
                keys.update(head.get("titles", ()))
                keys.update(line["key"] for line in lines)
    return keys


def share_space(messages: Sequence[LLMMessage]) -> list[LLMMessage]:
    """Cut the excerpts of a turn's results, so that all of them together take `EXCERPTS`."""
    results = [message for message in messages if isinstance(message, FunctionExecutionResultMessage)]
    count = 0
    for message in results:
        for result in message.content:
            count += sum(len(lines) for _, lines, _ in _read_shortened(result.content))
    space = max(SHORTEST_EXCERPT, min(LONGEST_EXCERPT, EXCERPTS // max(1, count)))
    if space == LONGEST_EXCERPT:
        return list(messages)
    return [_cut(message, space) if message in results else message for message in messages]


def _cut(message: FunctionExecutionResultMessage, space: int) -> FunctionExecutionResultMessage:
    results = []
    for result in message.content:
        parts = []
        for head, lines, marker in _read_shortened(result.content):
            cut = [_cut_line(line, space) for line in lines]
            parts.append(enclose_lines(cut, marker, head=head))
        results.append(result.model_copy(update={"content": "\n".join(parts) or result.content}))
    return message.model_copy(update={"content": results})


def _cut_line(line: dict[str, Any], space: int) -> dict[str, Any]:
    """Cut a line to title and end of its text, or to the title where there is little space."""
    if space <= FEW:
        return {"title": one_line(line["title"], space), "key": line["key"]}
    title = one_line(line["title"], space // 2)
    end = line["end"]
    room = space - len(title)
    if len(end) > room:
        end = f"…{end[len(end) - room + 1 :]}"
    return {"title": title, "key": line["key"], "end": end}


def find_turn(messages: Sequence[LLMMessage]) -> int:
    """Return the place behind the last message of a person or another agent: where the present turn begins."""
    places = [place for place, message in enumerate(messages) if isinstance(message, UserMessage)]
    return places[-1] + 1 if places else 0
