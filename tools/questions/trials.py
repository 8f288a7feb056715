"""Queries for the trials and reviews on a condition: its names in titles, word by word and in any order.

A quoted name misses "heart failure and preserved left-ventricular ejection fraction", and a question's aim leaves out
trials that do not tell it, so neither stands in these queries.
"""

import re
from collections.abc import Iterable, Sequence

from ..lexicon import condition_synonyms
from ..lexicon.conditions import is_in_mesh
from ..lexicon.matching import content_words, cue_list
from .question import Question

MOST_NAMES = 16  # of a condition: Europe PMC takes queries by GET
KINDS_OF_STUDIES = (
    '("randomized controlled trial"[pt] OR "meta-analysis"[pt] OR "systematic review"[pt]'
    " OR randomized[tiab] OR randomised[tiab] OR placebo[tiab])"
)
"""The kinds of studies that come first. The words find what is not indexed yet, after the highly sensitive strategy in
the Cochrane Handbook, https://training.cochrane.org/handbook/current/chapter-04-technical-supplement-searching-studies."""
_WITH_KINDS = f" AND {KINDS_OF_STUDIES}"


def trial_query(asked: Question) -> str:
    """Write the query for the trials and reviews on all conditions of a question; empty if it names none.

    >>> from willowbark.tools.questions import parse_question
    >>> trial_query(parse_question("Which drugs prevent diabetes insipidus?")).partition(" AND (")[0]
    '((diabetes[ti] AND insipidus[ti]) OR "diabetes insipidus"[majr])'
    """
    names = [name_in_titles(condition_synonyms(name)) for name in asked.conditions]
    return f"{' AND '.join(names)}{_WITH_KINDS}" if all(names) and names else ""


def name_in_titles(names: Sequence[str]) -> str:
    """Write the alternatives of names as words in a title; a name that holds all words of another is left out."""
    words = {frozenset(parts): parts for parts in map(_telling_words, names) if parts}
    shortest = [parts for own, parts in words.items() if not any(other < own for other in words)]
    groups = [" AND ".join(f"{word}[ti]" for word in parts) for parts in shortest[:MOST_NAMES]]
    alternatives = [f"({each})" if " " in each else each for each in groups]
    alternatives += [f'"{name}"[majr]' for name in names[:1] if is_in_mesh(name)]
    return f"({' OR '.join(alternatives)})" if groups else ""


def exclude_drugs(query: str, drugs: Iterable[str]) -> str:
    """Narrow a query to records whose title names none of the drugs."""
    named = " OR ".join(f'"{drug}"[ti]' for drug in drugs)
    return f"{query} NOT ({named})" if named else query


def for_registry(query: str) -> str:
    """Take the kinds of studies out of a query: a registry of trials holds nothing else, and knows no types."""
    return query.replace(_WITH_KINDS, "")


def _telling_words(name: str) -> tuple[str, ...]:
    """Return the words of a name that tell it from others, in its order."""
    words = content_words(re.sub(r"['\u2019]s\b", "", name))
    general = cue_list("any condition", __package__)
    return tuple(dict.fromkeys(word for word in words if word not in general))
