"""What the reader is trained on: records cut once, with what readers said of drugs and conditions in them.

A record belongs to one part: `closing` if anything of it is kept apart, else `development` (one in twelve) or
`training`. Nothing is learnt or chosen on `closing`.
"""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.labels import FOLDER, draw_bucket, is_apart, labels, read_lines
from benchmarks.public_trials import ANOTHER, OUTCOME_MET, read_trials
from benchmarks.study_verdicts import is_open
from benchmarks.training.studies import list_drug_labels
from numpy.typing import NDArray

from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.lexicon.conditions import find_known_conditions
from willowbark.tools.reading.cut import CutCondition, CutPair, CutRecord, cut_condition, cut_pair, cut_record
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.fields import CONDITION_ROLES, FIELDS, PURPOSES
from willowbark.tools.reading.view import Pieces, View
from willowbark.tools.reading.words import find_features

PARTS = ("training", "development", "closing")
UNSURE = 0.6
"""Weight of a label with which a colleague could disagree."""
_HEED = {"studies": 2.0, "readings": 2.0}
"""Weight of labels from whole studies: they are a tenth of all, and were read with all drugs and conditions in view."""
_DEVELOPMENT = 12  # one record in so many
_AIMS = {"treat": "treat_target", "prevent": "prevent_target"}
_TARGET = frozenset(_AIMS.values())
_NO_TARGET = frozenset(CONDITION_ROLES) - _TARGET
_AT_MOST = 8  # conditions of a study reading


class Ask(NamedTuple):
    """What a reader said of a drug in a condition."""

    drug: str
    condition: str
    values: Mapping[str, str]
    """Values of `FIELDS`; those that were not asked for are absent."""
    start: int | None = None
    """Where the sentence that carries the verdict starts; None if none does."""
    is_sure: bool = True
    source: str = "labels"


@dataclass
class Source:
    """A record with all that was said of it."""

    pmid: str
    title: str
    text: str
    types: tuple[str, ...] = ()
    asks: list[Ask] = field(default_factory=list)
    study: Mapping[str, Any] | None = None
    """A whole reading of it, in the form of `study_readings.jsonl.gz`."""
    roles: dict[str, str] = field(default_factory=dict)
    """Roles of conditions by name, from a label of the whole study (`labels/studies_*.jsonl`)."""
    is_closing: bool = False


class PairCase(NamedTuple):
    """A drug and a condition in a cut record, with what is to be told of them."""

    pair: CutPair
    values: Mapping[str, int]
    """By field the index of its value."""
    sentence: int | None
    """Which of the cut record's sentences carries the verdict; None if it was left out or none does."""
    weight: float
    words: NDArray[np.int64]
    ask: Ask


class ConditionCase(NamedTuple):
    """A condition in a cut record, with the roles that it may have."""

    condition: CutCondition
    roles: frozenset[str]


class RecordCase(NamedTuple):
    """A cut record with its cases."""

    pmid: str
    part: str
    record: CutRecord
    pairs: tuple[PairCase, ...]
    conditions: tuple[ConditionCase, ...]
    purposes: Mapping[int, int]
    """By sentence the index of what it is for, where a reader quoted it."""


def read_sources(folder: Path) -> list[Source]:
    """Read the abstracts of a folder with all labels on them."""
    records: dict[str, Source] = {}
    for name in ("world_half", "corpus_half"):
        for row in _read_if_there(folder / f"{name}.jsonl.gz"):
            if row.get("abstract"):
                pmid = str(row["pmid"])
                types = tuple(row.get("publication_types") or ())
                records.setdefault(pmid, Source(pmid, row["title"], row["abstract"], types))
    _add_labels(records)
    for reading in _read_if_there(folder / "study_readings.jsonl.gz"):
        if str(reading["pmid"]) in records:
            source = records[str(reading["pmid"])]
            source.study = reading
            source.is_closing |= not is_open(source.pmid)
            _add_views(source, reading)
    for path in sorted(FOLDER.glob("studies_*.jsonl")):
        for label in _read_if_there(path):
            labelled = records.get(label["record"].removeprefix("pmid:"))
            if labelled is not None:
                _add_study(labelled, label)
    sources = [source for source in records.values() if source.asks or source.study or source.roles]
    return sorted([*sources, *_read_registered(folder, {source.pmid: source for source in sources})], key=_get_pmid)


def _get_pmid(source: Source) -> str:
    return source.pmid


def _read_if_there(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from read_lines(path)


def _add_labels(records: Mapping[str, Source]) -> None:
    names = ("role", "verdict", "match", "kind", "effect", "comparator")
    for label in labels():
        if label.pmid in records:
            values = {name: getattr(label, name) for name in names}
            source = records[label.pmid]
            source.asks.append(Ask(label.drug, label.condition, values, label.start, label.sure))
            source.is_closing |= is_apart(label)
    for path in sorted(FOLDER.glob("primary_*.tsv")):
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["pmid"] in records:
                    values = {name: row[name] for name in ("primary", "indication")}
                    values["alone"] = "alone" if row["alone"] == "1" else "not_alone"
                    ask = Ask(row["drug"], row["condition"], values, None, row["sure"] == "1", "primary")
                    records[row["pmid"]].asks.append(ask)


def _add_study(source: Source, label: Mapping[str, Any]) -> None:
    """Add a label of a whole study: roles of conditions, and what it says of drugs in what it is to treat or prevent.

    Where a reader of single drugs said something of a pair, that stands.
    """
    source.is_closing |= label["part"] == "apart"
    for condition in label["conditions"]:
        role = condition["role"]
        source.roles[condition["name"]] = role if role in CONDITION_ROLES else "mention"
    labelled = {(ask.drug, ask.condition) for ask in source.asks}
    for row in list_drug_labels(label):
        is_read = (row.drug, row.condition) in labelled
        values = {"alone": row.values["alone"]} if is_read and "alone" in row.values else row.values
        if not is_read or values is not row.values:
            start = None if is_read else row.start
            source.asks.append(Ask(row.drug, row.condition, values, start, row.is_sure, "studies"))


def _add_views(source: Source, reading: Mapping[str, Any]) -> None:
    """Add the verdicts of a whole reading, on conditions that the lexicon finds; those of single drugs stand."""
    labelled = {(ask.drug, ask.condition) for ask in source.asks}
    for view in reading["says"]:
        names = find_known_conditions(view["condition"])
        drug = canonical_drug(view["drug"])
        if names and drug and (drug, names[0].name) not in labelled:
            values = {"verdict": view["verdict"], "role": view["role"]}
            source.asks.append(Ask(drug, names[0].name, values, None, bool(reading["sure"]), "readings"))


def is_closing_trial(pmid: str) -> bool:
    """Whether a paper with a registered p value is kept apart: one in two."""
    return draw_bucket(f"registered{pmid}", 2) == 0


def _read_registered(folder: Path, by_pmid: Mapping[str, Source]) -> Iterator[Source]:
    """Yield papers with a registered p value, which tells the primary outcome; add it to those that are known."""
    path = folder / "clinifact_half.jsonl.gz"
    if not path.exists():
        return
    for row, trial in zip(read_lines(path), read_trials(path), strict=True):
        pmid = str(row["pmid"])
        source = by_pmid.get(pmid) or Source(pmid, trial.title, trial.text)
        source.is_closing |= is_closing_trial(pmid)
        if trial.label != ANOTHER and trial.drug and trial.condition:
            primary = "met" if trial.label == OUTCOME_MET else "not_met"
            source.asks.append(Ask(trial.drug, trial.condition, {"primary": primary}, None, True, "registered"))
            if pmid not in by_pmid:
                yield source


def find_part(source: Source) -> str:
    """Return to which part a record belongs."""
    if source.is_closing:
        return "closing"
    return "development" if draw_bucket(f"development{source.pmid}", _DEVELOPMENT) == 0 else "training"


def cut_source(source: Source, pieces: Pieces) -> RecordCase:
    """Cut a record and find in it what was asked."""
    document = Document.cut(source.title, source.text, source.types)
    record = cut_record(document, pieces)
    orders = {sentence.order: at for at, sentence in enumerate(record.sentences)}
    pairs = []
    roles: dict[CutCondition, list[frozenset[str]]] = defaultdict(list)
    for ask in source.asks:
        view = View(document, ask.drug, ask.condition)
        pair = cut_pair(record, view, pieces)
        values = {name: FIELDS[name].index(value) for name, value in ask.values.items() if value in FIELDS[name]}
        sentence = orders.get(_find_sentence(document, ask.start))
        weight = (1.0 if ask.is_sure else UNSURE) * _HEED.get(ask.source, 1.0)
        pairs.append(PairCase(pair, values, sentence, weight, find_features(view), ask))
        if "match" in ask.values:
            roles[pair.condition].append(_find_roles(ask.values))
    conditions = [ConditionCase(condition, _join_roles(possible)) for condition, possible in roles.items()]
    purposes: dict[int, int] = {}
    role_by_condition = list_condition_roles(source, document)
    if role_by_condition:
        conditions = [
            ConditionCase(cut_condition(record, View(document, "", name), pieces), frozenset({role}))
            for name, role in role_by_condition.items()
        ]
    if source.study is not None:
        purposes = dict(_find_purposes(source.study, document, orders))
    useful = tuple(case for case in conditions if len(case.roles) < len(CONDITION_ROLES))
    return RecordCase(source.pmid, find_part(source), record, tuple(pairs), useful, purposes)


def _find_sentence(document: Document, start: int | None) -> int:
    """Return the order of the sentence at an offset; -1 if there is none."""
    if start is None:
        return -1
    return next((sentence.order for sentence in document.sentences if start < sentence.end), -1)


def _find_roles(values: Mapping[str, str]) -> frozenset[str]:
    """Return which roles a condition may have by what was said of one drug in it: whether it is the target, no more.

    A narrower guess (an adverse effect where the drug is a cause) teaches the head to tell nothing else.
    """
    is_on_it = values["match"] in ("same", "narrower") and values["kind"] in ("efficacy", "surrogate")
    if is_on_it and values["role"] in ("tested", "combined", "comparator"):
        return _TARGET
    is_elsewhere = values["match"] in ("complication", "broader", "other")
    if is_elsewhere or values["role"] in ("other_use", "cause") or values["kind"] == "harm":
        return _NO_TARGET
    return frozenset(CONDITION_ROLES)


def _join_roles(possible: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the roles by what was said of all drugs: a target for one is a target."""
    if _TARGET in possible:
        return _TARGET
    return frozenset.intersection(*possible) or frozenset(CONDITION_ROLES)


def _list_stems(phrase: str) -> frozenset[str]:
    return frozenset(word[:6] for word in re.findall(r"[a-z]{4,}", phrase.lower()))


def is_inside(condition: str, phrase: str | None) -> bool:
    """Return whether a phrase tells of a condition: by the lexicon, else by the condition's words."""
    if any(mention.name == condition for mention in find_known_conditions(phrase or "")):
        return True
    words = _list_stems(condition)
    return bool(words) and words <= _list_stems(phrase or "")


def find_condition_role(condition: str, study: Mapping[str, Any]) -> str:
    """Return the role of a condition in a study by a whole reading of it."""
    aims = [study["aim"]] if study["aim"] in _AIMS and is_inside(condition, study["condition"]) else []
    if not aims and study["aim"] in ("treat", "prevent", "other"):
        aims = [view["aim"] for view in study["says"] if _is_on(view, condition) and view["aim"] in _AIMS]
    is_people = is_inside(condition, study["people"])
    if aims and not (is_people and not is_inside(condition, study["condition"])):
        return _AIMS[aims[0]]
    if is_people:
        return "people"
    if _is_adverse(condition, study):
        return "adverse_effect"
    is_outcome = any(is_inside(condition, result["outcome"]) for result in study["results"])
    return "outcome" if is_outcome else "mention"


def _is_on(view: Mapping[str, Any], condition: str) -> bool:
    is_used = view["role"] in ("tested", "comparator", "combined", "other_use")
    return is_used and view.get("verdict") != "none" and is_inside(condition, view["condition"])


def _is_adverse(condition: str, study: Mapping[str, Any]) -> bool:
    causes = any(view["role"] == "cause" and is_inside(condition, view["condition"]) for view in study["says"])
    harms = any(row["kind"] == "harm" and is_inside(condition, row["outcome"]) for row in study["results"])
    return causes or harms or (study["aim"] == "harm" and is_inside(condition, study["condition"]))


def list_condition_roles(source: Source, document: Document) -> dict[str, str]:
    """Return the roles of conditions that a reader told, by a label of the study or else by a whole reading."""
    if source.roles or source.study is None:
        return source.roles
    names = list(dict.fromkeys(name for name, _, _ in document.conditions))
    return {name: find_condition_role(name, source.study) for name in names[:_AT_MOST]}


def _find_purposes(
    study: Mapping[str, Any], document: Document, orders: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield what the sentences that a reader quoted are for; others are `other`."""
    purposes = dict.fromkeys(orders.values(), "other")
    conclusion = study["conclusion"] or ""
    quotes = [(conclusion, "conclusion")]
    for result in study["results"]:
        is_main = result["is_primary"] and result["kind"] != "harm"
        quotes.append((result["quote"], "harm" if result["kind"] == "harm" else "primary" if is_main else "secondary"))
    for quote, purpose in reversed(quotes):
        start = document.whole.find(quote) if quote else -1
        order = _find_sentence(document, start if start >= 0 else None)
        if order in orders:
            purposes[orders[order]] = purpose
    for at, purpose in purposes.items():
        yield at, PURPOSES.index(purpose)


def cut_sources(sources: Iterable[Source], pieces: Pieces, say: Callable[[str], None] = print) -> list[RecordCase]:
    """Cut all records and print how many there are of each part."""
    cases = [cut_source(source, pieces) for source in sources]
    for part in PARTS:
        own = [case for case in cases if case.part == part]
        pairs = sum(len(case.pairs) for case in own)
        conditions = chain.from_iterable(case.conditions for case in own)
        roles = Counter(len(condition.roles) == 1 for condition in conditions)
        say(f"{part}: {len(own)} records, {pairs} pairs, {roles[True]} + {roles[False]} conditions")
    return cases
