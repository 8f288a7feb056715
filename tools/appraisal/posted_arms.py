"""Who got what: which posted group had the drug, and what the other group had instead.

Results are posted by groups with titles and descriptions; what each of them was given stands with the arms of the
protocol (https://clinicaltrials.gov/data-api/about-api/study-data-structure).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from willowbark.tools.lexicon import find_drugs

from ..lexicon.matching import cued

Against = Literal["nothing", "active"]

_said = partial(cued, package=__package__)
_INERT = r"(?:placebos?|sham|dummy|vehicle)"
_IN_PLACEBO = rf"\b{_INERT}\b(?:(?!\b(?:and|plus|with|then|followed|in addition)\b(?! placebo))[^,;.+&/]){{0,40}}?"
_FILLERS = re.compile(r"\b(?:arm|group|cohort|part|phase)\b(?:\s+[0-9ivab]{1,3}\b)?|[^a-z0-9.]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One group with the drug beside one without."""

    drug: str
    """Title of the group that had it."""
    other: str
    """Title of the group that had not."""
    against: Against
    """`nothing`: placebo, sham, no treatment, or the same treatment without the drug."""


@dataclass(frozen=True, slots=True)
class _Given:
    text: str
    inert: bool
    others: frozenset[str]
    """Drugs other than the one asked about."""
    has_drug: bool
    kind: str
    """The arm's type; empty where no arm has the group's title."""


def comparison(
    groups: Sequence[str], outcome: Mapping[str, Any], arms: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> Comparison | str:
    """Tell drug from comparator in an analysis of two groups.

    Args:
        groups: titles of the groups that the analysis compares.
        outcome: the posted outcome, with `groups`.
        arms: the protocol's arms: `label`, `type`, `interventions`.
        names: the drug's names.

    Returns:
        The comparison, or why there is none to be read.
    """
    if len(groups) != 2:
        return (
            "the analysis names one group alone" if len(groups) == 1 else "the analysis covers several groups at once"
        )
    described = {str(g.get("name")): str(g.get("description") or "") for g in outcome.get("groups", ())}
    first, second = (_given(title, described.get(title, ""), arms, names) for title in groups)
    if first.has_drug and second.has_drug:
        return "the drug is on both sides"
    if not first.has_drug and not second.has_drug:
        return "neither group is said to have had the drug"
    ours, theirs = (first, second) if first.has_drug else (second, first)
    drug, other = groups if first.has_drug else tuple(reversed(groups))
    if any(_said("sequence").search(title) or "→" in title or "->" in title for title in (drug, other)):
        return "the groups are sequences of treatments"
    if extra := sorted(ours.others - theirs.others):
        return f"given together with {', '.join(extra)}, which the other group had not"
    if theirs.others - ours.others:
        return Comparison(drug, other, "active")
    if theirs.inert or theirs.kind in ("PLACEBO_COMPARATOR", "SHAM_COMPARATOR", "NO_INTERVENTION"):
        return Comparison(drug, other, "nothing")
    if theirs.others:  # the same background treatment, the drug left out
        return Comparison(drug, other, "nothing")
    if theirs.kind == "ACTIVE_COMPARATOR":
        return Comparison(drug, other, "active")
    return "what the other group had is not said"


def _given(title: str, described: str, arms: Sequence[Mapping[str, Any]], names: Sequence[str]) -> _Given:
    arm = _arm_of(title, arms)
    told = [title, *(arm.get("interventions", ()) if arm else ())]
    text = _without_placebo(" ; ".join(told), names)
    if not arm and not _holds(text, names) and not _said("nothing").search(text) and not find_drugs(text):
        text = _without_placebo(f"{title} ; {described}", names)
    own = {each.name for name in names for each in find_drugs(name)}
    others = frozenset(each.name for each in find_drugs(text)) - own
    return _Given(
        text=text,
        inert=bool(_said("nothing").search(text)),
        others=others - {"sodium chloride"},
        has_drug=_holds(text, names),
        kind=str(arm.get("type") or "") if arm else "",
    )


def _holds(text: str, names: Sequence[str]) -> bool:
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-]|-free)", text, re.IGNORECASE) for name in names)


def _without_placebo(text: str, names: Sequence[str]) -> str:
    """Take out drugs that are named for their placebo alone: "placebo matching X", "X placebo"."""
    named = {*names, *(mention.text for mention in find_drugs(text))}
    for name in sorted(named, key=lambda each: (-len(each), each)):
        text = re.sub(rf"{_IN_PLACEBO}\b{re.escape(name)}\b", " placebo ", text, flags=re.IGNORECASE)
        text = re.sub(
            rf"(?<![\w-]){re.escape(name)}[\s(),-]*(?:\d+ ?m?g\)? )?(?:match(?:ed|ing)[\s-]+)?{_INERT}\b",
            " placebo ",
            text,
            flags=re.IGNORECASE,
        )
    return text


def _arm_of(title: str, arms: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The arm that a group's title names: the same words, or all of the one's within the other's, if only one fits."""
    wanted = _plain(title)
    same = [arm for arm in arms if _plain(str(arm.get("label") or "")) == wanted]
    if same:
        return same[0]
    words = frozenset(wanted.split())
    near = [
        arm
        for arm in arms
        if (held := frozenset(_plain(str(arm.get("label") or "")).split()))
        and words
        and (held <= words or words <= held)
    ]
    return near[0] if len(near) == 1 else None


def _plain(title: str) -> str:
    return " ".join(_FILLERS.sub(" ", title.lower()).split())
