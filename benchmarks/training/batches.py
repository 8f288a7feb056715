"""Batches of records for the network: padded pieces, means of mentions, flags, and what is to be told."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import torch
from benchmarks.training.cases import ConditionCase, PairCase, RecordCase
from benchmarks.training.steady import SHARE, SteadyRecord, add_harmless
from torch import Tensor

from willowbark.tools.reading.cut import (
    CONDITION_FLAGS,
    DRUGS,
    SENTENCE_FLAGS,
    CutRecord,
    Place,
    list_condition_flags,
    list_pair_flags,
    list_sentence_flags,
)
from willowbark.tools.reading.fields import CONDITION_ROLES, FIELDS
from willowbark.tools.reading.view import Pieces

MISSING = -1
SORTED = 30
"""So many batches at a time are made of records of about the same length."""


@dataclass
class Batch:
    """A batch as the network reads it; what is not told is `MISSING`."""

    pieces: Tensor
    present: Tensor
    names: Tensor
    names_present: Tensor
    sentence_at: Tensor
    sentence_present: Tensor
    record: Tensor
    """Of each pair the record."""
    drug_mean: Tensor
    """Pairs × all pieces: the weights of a mean."""
    pair_mean: Tensor
    """The same for the condition of each pair."""
    pair_name: Tensor
    """Of each pair the place of its condition's name."""
    flags: Tensor
    sentence_drug: Tensor
    """The mean of the drug's mentions in each sentence: pairs and sentences × all pieces."""
    sentence_condition: Tensor
    sentence_flags: Tensor
    condition_record: Tensor
    condition_mean: Tensor
    condition_name: Tensor
    condition_flags: Tensor
    fields: dict[str, Tensor]
    sentence: Tensor
    weight: Tensor
    roles: Tensor
    """Conditions × roles: whether a condition may have a role."""
    purposes: Tensor
    cases: list[tuple[str, PairCase]]
    """The pairs with their records' PMIDs, in order."""


def order_cases(cases: Sequence[RecordCase], size: int, seed: int) -> list[list[RecordCase]]:
    """Return the batches of one pass over all records."""
    source = random.Random(seed)
    shuffled = source.sample(list(cases), len(cases))
    batches: list[list[RecordCase]] = []
    for first in range(0, len(shuffled), size * SORTED):
        alike = sorted(shuffled[first : first + size * SORTED], key=lambda case: case.record.length)
        batches += [alike[at : at + size] for at in range(0, len(alike), size)]
    source.shuffle(batches)
    return batches


def _add_steady_sentences(case: RecordCase, pieces: Pieces, source: random.Random) -> RecordCase:
    """Return a record with harmless sentences among its own, with the places of everything in it."""
    steady: SteadyRecord = add_harmless(case.record, pieces, source)
    pairs = tuple(
        pair._replace(
            pair=steady.move_pair(pair.pair),
            sentence=None if pair.sentence is None else steady.moved[pair.sentence],
        )
        for pair in case.pairs
    )
    conditions = tuple(row._replace(condition=steady.move_condition(row.condition)) for row in case.conditions)
    purposes = {steady.moved[at]: purpose for at, purpose in case.purposes.items()}
    return case._replace(record=steady.record, pairs=pairs, conditions=conditions, purposes=purposes)


def make_batch(cases: Sequence[RecordCase], pieces: Pieces | None = None, source: random.Random | None = None) -> Batch:
    """Make a batch; with a source of chance, drugs get signs at random and some records harmless sentences."""
    if source is not None and pieces is not None:
        cases = [_add_steady_sentences(case, pieces, source) if source.random() < SHARE else case for case in cases]
    return _Maker(cases, source).make()


class _Maker:
    def __init__(self, cases: Sequence[RecordCase], source: random.Random | None) -> None:
        self.cases = cases
        self.source = source
        self.records = [case.record for case in cases]
        self.length = max(record.length for record in self.records)
        self.most = max(len(record.sentences) for record in self.records)
        self.total = self.length * len(cases)
        self.names: dict[tuple[int, ...], int] = {}

    def make(self) -> Batch:
        pairs: list[tuple[int, PairCase]] = []
        conditions: list[tuple[int, ConditionCase]] = []
        for at, case in enumerate(self.cases):
            pairs += zip(repeat(at), case.pairs)
            conditions += zip(repeat(at), case.conditions)
        pair_names = [self._number_name(pair.pair.condition.name) for _, pair in pairs]
        condition_names = [self._number_name(row.condition.name) for _, row in conditions]
        pieces, present = _pad([self._draw(record) for record in self.records])
        names, names_present = _pad(list(self.names) or [(0,)])
        sentence_at, sentence_present = self._place_sentences()
        flags = [list_pair_flags(self.records[at], pair.pair) for at, pair in pairs]
        return Batch(
            pieces=pieces,
            present=present,
            names=names,
            names_present=names_present,
            sentence_at=sentence_at,
            sentence_present=sentence_present,
            record=torch.tensor([at for at, _ in pairs], dtype=torch.long),
            drug_mean=self._average([(at, pair.pair.drug or pair.pair.classes) for at, pair in pairs]),
            pair_mean=self._average([(at, pair.pair.condition.places) for at, pair in pairs]),
            pair_name=torch.tensor(pair_names, dtype=torch.long),
            flags=torch.tensor(flags, dtype=torch.float32).reshape(len(pairs), -1),
            sentence_drug=self._average_in_sentences([(at, pair.pair.drug or pair.pair.classes) for at, pair in pairs]),
            sentence_condition=self._average_in_sentences([(at, pair.pair.condition.places) for at, pair in pairs]),
            sentence_flags=self._flag_sentences(pairs),
            condition_record=torch.tensor([at for at, _ in conditions], dtype=torch.long),
            condition_mean=self._average([(at, row.condition.places) for at, row in conditions]),
            condition_name=torch.tensor(condition_names, dtype=torch.long),
            condition_flags=torch.tensor(
                [list_condition_flags(self.records[at], row.condition) for at, row in conditions], dtype=torch.float32
            ).reshape(len(conditions), CONDITION_FLAGS),
            fields={
                name: torch.tensor([pair.values.get(name, MISSING) for _, pair in pairs], dtype=torch.long)
                for name in FIELDS
            },
            sentence=torch.tensor(
                [MISSING if pair.sentence is None else pair.sentence for _, pair in pairs], dtype=torch.long
            ),
            weight=torch.tensor([pair.weight for _, pair in pairs], dtype=torch.float32),
            roles=torch.tensor(
                [[role in row.roles for role in CONDITION_ROLES] for _, row in conditions], dtype=torch.bool
            ).reshape(len(conditions), len(CONDITION_ROLES)),
            purposes=self._list_purposes(),
            cases=[(self.cases[at].pmid, pair) for at, pair in pairs],
        )

    def _number_name(self, name: tuple[int, ...]) -> int:
        return self.names.setdefault(name, len(self.names))

    def _draw(self, record: CutRecord) -> list[int]:
        signs = list(range(DRUGS))
        if self.source is not None:
            self.source.shuffle(signs)
        return record.list_pieces(signs)

    def _place_sentences(self) -> tuple[Tensor, Tensor]:
        places = np.zeros((len(self.cases), self.most), np.int64)
        present = np.zeros(places.shape, bool)
        for at, record in enumerate(self.records):
            count = len(record.sentences)
            places[at, :count] = [at * self.length + start for start in record.starts]
            present[at, :count] = True
        return torch.from_numpy(places), torch.from_numpy(present)

    def _average(self, rows: Sequence[tuple[int, Sequence[Place]]]) -> Tensor:
        weights = np.zeros((len(rows), self.total), np.float32)
        for row, (at, places) in enumerate(rows):
            indices = self.records[at].find_indices(places)
            weights[row, [at * self.length + index for index in indices]] = 1 / max(1, len(indices))
        return torch.from_numpy(weights)

    def _average_in_sentences(self, rows: Sequence[tuple[int, Sequence[Place]]]) -> Tensor:
        weights = np.zeros((len(rows), self.most, self.total), np.float32)
        for row, (at, places) in enumerate(rows):
            for sentence in {place.sentence for place in places}:
                own = [place for place in places if place.sentence == sentence]
                indices = [at * self.length + index for index in self.records[at].find_indices(own)]
                weights[row, sentence, indices] = 1 / len(indices)
        return torch.from_numpy(weights.reshape(len(rows) * self.most, self.total))

    def _flag_sentences(self, pairs: Sequence[tuple[int, PairCase]]) -> Tensor:
        flags = np.zeros((len(pairs), self.most, SENTENCE_FLAGS), np.float32)
        for row, (at, pair) in enumerate(pairs):
            own = list_sentence_flags(self.records[at], pair.pair)
            flags[row, : len(own)] = own
        return torch.from_numpy(flags)

    def _list_purposes(self) -> Tensor:
        purposes = np.full((len(self.cases), self.most), MISSING, np.int64)
        for at, case in enumerate(self.cases):
            for sentence, purpose in case.purposes.items():
                purposes[at, sentence] = purpose
        return torch.from_numpy(purposes)


def _pad(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    length = max(map(len, rows))
    pieces = np.zeros((len(rows), length), np.int64)
    present = np.zeros(pieces.shape, bool)
    for at, row in enumerate(rows):
        pieces[at, : len(row)] = row
        present[at, : len(row)] = True
    return torch.from_numpy(pieces), torch.from_numpy(present)


def split(cases: Sequence[RecordCase], size: int) -> Iterator[Sequence[RecordCase]]:
    """Yield records in batches, in order."""
    for at in range(0, len(cases), size):
        yield cases[at : at + size]


def to_arrays(answers: dict[str, Any]) -> dict[str, Any]:
    """Return scores as probabilities."""
    return {name: scores.softmax(-1).numpy() for name, scores in answers.items()}
