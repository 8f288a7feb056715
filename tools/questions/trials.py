"""Queries for the trials and reviews on a condition: its names in titles, word by word and in any order.

A quoted name misses "heart failure and preserved left-ventricular ejection fraction", and a question's aim leaves out
trials that do not tell it, so neither stands in these queries.
"""

import re
from collections.abc import Sequence
from typing import Literal

from ..lexicon import condition_synonyms
from ..lexicon.conditions import find_known_conditions, is_in_mesh, list_title_words
from ..lexicon.matching import content_words, cue_list
from .question import Question

MOST_NAMES = 24  # of a condition: Europe PMC takes queries by GET
RANDOMISED_ALONE = '"randomized controlled trial"[pt]'
KINDS_OF_STUDIES = (
    '("randomized controlled trial"[pt] OR "meta-analysis"[pt] OR "systematic review"[pt]'
    " OR randomized[tiab] OR randomised[tiab] OR placebo[tiab])"
)
"""The kinds of studies that come first. The words find what is not indexed yet, after the highly sensitive strategy in
the Cochrane Handbook, https://training.cochrane.org/handbook/current/chapter-04-technical-supplement-searching-studies."""
_WITH_KINDS = f" AND {KINDS_OF_STUDIES}"


def list_first_queries(question: Question, *, of_trials: bool = False) -> list[str]:
    """Return what a question asks a source first: where it is open, trials and reviews before anything else.

    Args:
        asked: the question.
        of_trials: whether the source is a registry of trials, which needs no query of its own for them.
    """
    trials = [] if of_trials else list_trial_queries(question)
    return [*trials[:1], question.text]


def list_trial_queries(question: Question) -> list[str]:
    """Return the queries for trials and reviews in the order of asking; empty unless a question asks what helps.

    A question that names drugs or classes has queries of its own for these.
    """
    if not question.asks_what_helps or question.drugs or question.drug_classes:
        return []
    queries = [write_trial_query(question, "ti"), write_trial_query(question, "tiab")]
    return [query for query in queries if query]


def write_trial_query(question: Question, field: Literal["ti", "tiab"] = "ti") -> str:
    """Write the query for the trials and reviews on all conditions of a question; empty if it names none.

    Args:
        asked: the question.
        field: where the conditions are named: `ti` in titles, `tiab` in titles or abstracts, as the appraisal takes a
            record to be on a condition.

    >>> from willowbark.tools.questions import parse_question
    >>> write_trial_query(parse_question("Which drugs prevent diabetes insipidus?")).partition(" AND (")[0]
    '((diabetes[ti] AND insipidus[ti]) OR "diabetes insipidus"[majr])'
    """
    names = [write_names(*_choose_names(name, question), field) for name in question.conditions]
    return f"{' AND '.join(names)}{_WITH_KINDS}" if all(names) and names else ""


def narrow_to_randomised(query: str) -> str:
    """Narrow a query for trials and reviews to what is indexed as a randomised trial.

    >>> narrow_to_randomised(f"gout[ti] AND {KINDS_OF_STUDIES}")
    'gout[ti] AND "randomized controlled trial"[pt]'
    """
    return query.replace(KINDS_OF_STUDIES, RANDOMISED_ALONE)


def _choose_names(condition: str, question: Question) -> tuple[list[str], tuple[str, ...]]:
    """Return a condition's names and what else tells it in titles.

    If the question's own name says more than the usual one, only names as narrow are returned.
    """
    usual = set(_list_telling_words(condition))
    names = condition_synonyms(condition)
    for mention in find_known_conditions(question.text):
        own = _list_telling_words(mention.text)
        if mention.name == condition and set(own) > usual:
            narrow = [name for name in names if set(_list_telling_words(name)) > set(own)]
            return [" ".join(own), *narrow], list_title_words(mention.text)
    return [*names], list_title_words(condition)


def write_names(names: Sequence[str], in_titles: Sequence[str], field: str) -> str:
    """Write the alternatives of names as words in a field; a name that holds all words of another is left out.

    Args:
        names: of a condition, the common one first.
        in_titles: what else tells it, in titles alone.
        field: see `write_trial_query`.
    """
    by_words = {frozenset(parts): parts for parts in map(_list_telling_words, names) if parts}
    if field == "ti":
        by_words |= {frozenset(phrase.split()): tuple(phrase.split()) for phrase in in_titles}
    groups: list[str] = []
    for words, parts in by_words.items():
        is_longer = any(other < words for other in by_words)
        if not is_longer and len(groups) < MOST_NAMES:
            groups.append(" AND ".join(f"{word}[{field}]" for word in parts))
    alternatives = [f"({group})" if " " in group else group for group in groups]
    alternatives += [f'"{name}"[majr]' for name in names[:1] if is_in_mesh(name)]
    return f"({' OR '.join(alternatives)})" if groups else ""


def remove_kinds(query: str) -> str:
    """Take the kinds of studies out of a query: a registry of trials holds nothing else, and knows no types."""
    return query.replace(_WITH_KINDS, "")


def _list_telling_words(name: str) -> tuple[str, ...]:
    """Return the words of a name that tell it from others, in its order."""
    words = content_words(re.sub(r"['\u2019]s\b", "", name))
    general = cue_list("any condition", __package__)
    return tuple(dict.fromkeys(word for word in words if word not in general))
