"""What moved from one report to the next, in words: what `willowbark watch` tells.

A drug moved where its certainty, its evidence or the studies that decide on it did; a trial where it stopped, ended or
posted results. Nothing else is told: how a study's text is worded, in which place of a list it stands, or that a study
was not read this time though it is there.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from willowbark.tools.wording import counted, listed

LONGEST = 2_000
"""Characters of all lines on a question; what is left out is counted."""
_MOST_KEYS = 3  # records named in a phrase
_SIDES = {
    "supports": "found benefit",
    "contradicts": "found no benefit",
    "missed": "missed its primary outcome",
    "undecided": "decides nothing",
}
"""What a study says of a drug, as a report has it, in words; in the order in which changes are told."""
_CITATIONS = {
    "undecided": "undecided_citations",
    "supports": "supporting_citations",
    "contradicts": "contradicting_citations",
    "missed": "missed_citations",
}
_ORDINALS = ("a", "a second", "a third", "a fourth", "a fifth")
_AGAINST = {"placebo": " against placebo", "none": " against no treatment"}
_ENDED = {"TERMINATED": "was terminated", "WITHDRAWN": "was withdrawn", "SUSPENDED": "was suspended"}


@dataclass(frozen=True)
class DrugState:
    """What a report says of one drug."""

    certainty: str
    evidence: str
    sides: Mapping[str, str]
    """By record's key, what it says: a key of `_SIDES`."""


@dataclass
class ReportStates:
    """What a report says, as far as it is compared."""

    drugs: dict[str, DrugState] = field(default_factory=dict)
    rows: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    """Rows of the evidence by drug and record's key."""
    trials: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> "ReportStates":
        """Read a report as JSON content; raises KeyError, TypeError or AttributeError where it is none."""
        drugs = {}
        for candidate in report["candidates"]:
            sides: dict[str, str] = {}
            for side, name in _CITATIONS.items():
                sides |= dict.fromkeys(candidate.get(name) or (), side)
            drugs[candidate["name"]] = DrugState(candidate["certainty"], candidate["evidence_quality"], sides)
        rows = {(row["drug"], row["key"]): row for row in report["evidence_table"]}
        trials = {trial["key"]: trial for trial in report["trials"]}
        return cls(drugs, rows, trials)

    def list_keys(self) -> set[str]:
        """List the records that decide on any drug."""
        return set(chain.from_iterable(state.sides for state in self.drugs.values()))


def tell_changes(
    earlier: Mapping[str, Any],
    later: Mapping[str, Any],
    retracted: Collection[str] = (),
    present: Collection[str] = (),
) -> list[str]:
    """Tell what moved between two reports of one question, one line each; empty if nothing did.

    Args:
        earlier: the former report, as JSON content.
        later: the present one.
        retracted: keys of records that were retracted meanwhile.
        present: keys of records that are there still, whether they were read this time or not.

    Raises:
        KeyError, TypeError, AttributeError: one of them is no report.
    """
    before = ReportStates.of(earlier)
    after = ReportStates.of(later)
    lines = []
    for drug in sorted(before.drugs.keys() | after.drugs.keys()):
        line = _tell_drug(drug, before, after, retracted, present)
        if line:
            lines.append(line)
    for key in sorted(before.trials.keys() & after.trials.keys()):
        lines += _tell_trial(key, before.trials[key], after.trials[key])
    return _shorten(lines)


def find_missing_keys(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> list[str]:
    """Return the records that decided on a drug in a report, and that the next report has nowhere."""
    return sorted(ReportStates.of(earlier).list_keys() - ReportStates.of(later).list_keys())


def _tell_drug(
    drug: str, before: ReportStates, after: ReportStates, retracted: Collection[str], present: Collection[str]
) -> str:
    """Tell what moved of a drug; empty if nothing did."""
    was = before.drugs.get(drug)
    now = after.drugs.get(drug)
    old = was.sides if was else {}
    new = now.sides if now else {}
    phrases = []
    for side in _SIDES:
        keys = sorted(key for key in new if key not in old and new[key] == side)
        phrases += _tell_new(drug, keys, side, sum(other == side for other in old.values()), after)
    for key in sorted(old.keys() & new.keys()):
        if old[key] != new[key]:
            phrases.append(f"{key} now {_SIDES[new[key]]} (before: {_SIDES[old[key]]})")
    gone = sorted(old.keys() - new.keys())
    unread = [key for key in gone if key in present and key not in retracted]
    phrases += [_tell_gone(key, old[key], retracted) for key in gone if key not in unread]
    if now is None and was is not None:
        return _join(drug, "no longer a candidate", phrases) if phrases else ""
    if was is None and now is not None:
        return _join(drug, f"a new candidate, {_to_words(now.certainty)} certainty", phrases)
    assert was is not None
    assert now is not None
    if was.certainty != now.certainty:
        why = "" if phrases else " (other studies were read)"
        phrases.append(f"certainty {_to_words(was.certainty)} → {_to_words(now.certainty)}{why}")
    elif was.evidence != now.evidence:
        phrases.append(f"evidence {_to_words(was.evidence)} → {_to_words(now.evidence)}")
    return _join(drug, "", phrases) if phrases else ""


def _tell_new(drug: str, keys: Sequence[str], side: str, former: int, report: ReportStates) -> list[str]:
    """Word new studies of a drug that say the same."""
    if not keys:
        return []
    rows = [report.rows.get((drug, key), {}) for key in keys]
    kinds = {_name_kind(row) for row in rows}
    against = {_AGAINST.get((row.get("pico") or {}).get("comparator", ""), "") for row in rows}
    kind = kinds.pop() if len(kinds) == 1 else "study"
    comparison = against.pop() if len(against) == 1 else ""
    if len(keys) > 1:
        plural = "studies" if kind == "study" else f"{kind}s"
        verb = _SIDES[side].replace("its", "their").replace("decides", "decide")
        return [f"{len(keys)} further {plural}{comparison} {verb} ({_list_keys(keys)})"]
    ordinal = _ORDINALS[former] if former < len(_ORDINALS) else "a further"
    return [f"{ordinal} {kind}{comparison} {_SIDES[side]} ({keys[0]})"]


def _tell_gone(key: str, side: str, retracted: Collection[str]) -> str:
    what = "was retracted" if key in retracted else "is gone"
    return f"{key} {what}, which {_SIDES[side]}"


def _tell_trial(key: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Word that a trial stopped, ended or posted results."""
    lines = []
    drugs = listed(now.get("drugs") or [])
    number = f"{now.get('nct_id') or key}{f' ({drugs})' if drugs else ''}"
    if was.get("status") != now.get("status"):
        state = str(now.get("status") or "unknown")
        reason = f": “{now['why_stopped']}”" if state in _ENDED and now.get("why_stopped") else ""
        lines.append(f"{number} {_ENDED.get(state, f'is now {_to_words(state)}')}{reason}")
    if now.get("has_results") and not was.get("has_results"):
        lines.append(f"{number} posted results")
    return lines


def _name_kind(row: Mapping[str, Any]) -> str:
    design = str(row.get("design", "")).lower()
    if "review" in design or "meta" in design:
        return "review"
    return "trial" if "rct" in design or "trial" in design else "study"


def _to_words(value: str) -> str:
    return value.replace("_", " ").lower()


def _list_keys(keys: Sequence[str]) -> str:
    more = len(keys) - _MOST_KEYS
    return ", ".join(keys[:_MOST_KEYS]) + (f" and {more} more" if more > 0 else "")


def _join(drug: str, beginning: str, phrases: Sequence[str]) -> str:
    return f"{drug}: {'; '.join(filter(None, [beginning, *phrases]))}"


def _shorten(lines: Sequence[str]) -> list[str]:
    """Leave out the last lines where all of them are too long, and count them."""
    lines_within_bound: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > LONGEST:
            left = len(lines) - len(lines_within_bound)
            return [*lines_within_bound, f"and {counted(left, 'further change')}, which the report holds"]
        lines_within_bound.append(line)
    return lines_within_bound
