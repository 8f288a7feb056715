"""The tools that a question asks first, by its kind: the table `first_tools.tsv`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from willowbark.tools.lexicon.matching import compile_cues, read_table
from willowbark.tools.questions import Question
from willowbark.tools.records.registry import cards

EVERYTHING = "all"
_ON_TRIALS = compile_cues("trial|trials|phase|registered|recruiting|enrolling")


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the table."""

    name: str
    kinds: tuple[str, ...]
    tools: frozenset[str] | None
    """Names of the tools asked first; None for all."""
    why: str

    @property
    def line(self) -> str:
        """The route in words, for a log.

        >>> route_named("trials").line
        'a question on trials asks search_clinicaltrials, search_pubmed first, the others if the judge wants more'
        """
        if self.tools is None:
            return f"a question on {self.name} asks all sources"
        return (
            f"a question on {self.name} asks {', '.join(sorted(self.tools))} first, the others if the judge wants more"
        )


def route_of(question: Question) -> Route:
    """Choose the row for a question; one that asks several things asks all sources.

    >>> from willowbark.tools.questions import parse_question
    >>> route_of(parse_question("How does propranolol work in migraine?")).name
    'mechanisms'
    """
    if question.also:
        return route_named("treatment")
    if question.kind == "status":
        return route_named("trials" if _ON_TRIALS.search(question.text) else "approval and safety")
    return next(route for route in routes().values() if question.kind in route.kinds)


def route_named(name: str) -> Route:
    return routes()[name]


@cache
def routes() -> Mapping[str, Route]:
    """Return the rows by name."""
    rows = {}
    for row in read_table("first_tools.tsv", __package__):
        tools = None if row["tools"] == EVERYTHING else frozenset(row["tools"].split("|"))
        rows[row["name"]] = Route(row["name"], tuple(row["kinds"].split("|")), tools, row["why"])
    return rows


def is_first(route: Route, tool: str) -> bool:
    """Whether a tool is asked in round one; a user's own tools always are."""
    return route.tools is None or tool in route.tools or tool not in _own_tools()


def title_of_tool(tool: str) -> str:
    """Return the name of the source that a tool asks, for people."""
    names = {card.tool or f"search_{name}": card.title for name, card in cards().items()}
    return names.get(tool, "databases of mechanisms" if tool == "get_mechanisms" else tool)


@cache
def _own_tools() -> frozenset[str]:
    of_cards = [card.tool or f"search_{name}" for name, card in cards().items() if card.specialist is not None]
    return frozenset({*of_cards, "get_mechanisms"})
