"""Queries for the trials and reviews on a condition: its names in titles, word by word and in any order.

A quoted name misses "heart failure and preserved left-ventricular ejection fraction", and a question's aim leaves out
trials that do not tell it, so neither stands in these queries.
"""

import re
from collections.abc import Sequence
from typing import Literal

from ..lexicon import condition_synonyms
from ..lexicon.conditions import find_known_conditions, is_in_mesh
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


def first_queries(asked: Question, *, of_trials: bool = False) -> list[str]:
    """Return what a question asks a source first: where it is open, trials and reviews before anything else.

    Args:
        asked: the question.
        of_trials: whether the source is a registry of trials, which needs no query of its own for them.
    """
    trials = [] if of_trials else trial_queries(asked)
    return [*trials[:1], asked.text]


def trial_queries(asked: Question) -> list[str]:
    """Return the queries for trials and reviews in the order of asking; empty unless a question asks what helps.

    A question that names drugs or classes has queries of its own for these.
    """
    if not asked.asks_what_helps or asked.drugs or asked.drug_classes:
        return []
    queries = [trial_query(asked, "ti"), trial_query(asked, "tiab")]
    return [query for query in queries if query]


def trial_query(asked: Question, field: Literal["ti", "tiab"] = "ti") -> str:
    """Write the query for the trials and reviews on all conditions of a question; empty if it names none.

    Args:
        asked: the question.
        field: where the conditions are named: `ti` in titles, `tiab` in titles or abstracts, as the appraisal takes a
            record to be on a condition.

    >>> from willowbark.tools.questions import parse_question
    >>> trial_query(parse_question("Which drugs prevent diabetes insipidus?")).partition(" AND (")[0]
    '((diabetes[ti] AND insipidus[ti]) OR "diabetes insipidus"[majr])'
    """
    names = [write_names(_names_of(name, asked), field) for name in asked.conditions]
    return f"{' AND '.join(names)}{_WITH_KINDS}" if all(names) and names else ""


def _names_of(condition: str, asked: Question) -> list[str]:
    """Return a condition's names; if the question's own says more than the usual one, only those as narrow."""
    usual = frozenset(_telling_words(condition))
    own = [frozenset(_telling_words(each.text)) for each in find_known_conditions(asked.text) if each.name == condition]
    narrow = [words for words in own if words > usual]
    names = condition_synonyms(condition)
    if not narrow:
        return [*names]
    return [" ".join(narrow[0]), *(name for name in names if frozenset(_telling_words(name)) > narrow[0])]


def write_names(names: Sequence[str], field: str) -> str:
    """Write the alternatives of names as words in a field; a name that holds all words of another is left out."""
    words = {frozenset(parts): parts for parts in map(_telling_words, names) if parts}
    shortest = [parts for own, parts in words.items() if not any(other < own for other in words)]
    groups = [" AND ".join(f"{word}[{field}]" for word in parts) for parts in shortest[:MOST_NAMES]]
    alternatives = [f"({group})" if " " in group else group for group in groups]
    alternatives += [f'"{name}"[majr]' for name in names[:1] if is_in_mesh(name)]
    return f"({' OR '.join(alternatives)})" if groups else ""


def for_registry(query: str) -> str:
    """Take the kinds of studies out of a query: a registry of trials holds nothing else, and knows no types."""
    return query.replace(_WITH_KINDS, "")


def _telling_words(name: str) -> tuple[str, ...]:
    """Return the words of a name that tell it from others, in its order."""
    words = content_words(re.sub(r"['\u2019]s\b", "", name))
    general = cue_list("any condition", __package__)
    return tuple(dict.fromkeys(word for word in words if word not in general))
