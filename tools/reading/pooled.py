"""Reads a record once with the encoder, and tells from that of any drug in any condition.

The heads are those of `benchmarks/training/network.py`, in numpy: a drug in a condition is asked for with the means of
their mentions; this query looks at the record's pieces, and points at the sentences that carry the verdict.
"""

import io
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import onnxruntime

from ..lexicon.heads import Floats, compute_softmax
from .cut import (
    CutCondition,
    CutPair,
    CutRecord,
    Place,
    cut_condition,
    cut_pair,
    cut_record,
    find_names,
    list_condition_flags,
    list_pair_flags,
    list_sentence_flags,
)
from .document import Document
from .fields import FIELDS
from .view import Pieces, View

WIDTH = 384
LOOKS = 8
POINTERS = 3
_NAMES = 4096  # conditions whose names are kept encoded
_RECORDS = 32
"""Encoded records that are kept, the latest used: one takes 2 MB, and a run reads thousands."""


class PooledRecord(NamedTuple):
    """A record as the encoder read it."""

    record: CutRecord
    states: Floats
    """Of each piece."""
    keys: Floats
    """Looks × width of a look × pieces."""
    values: Floats
    """Looks × pieces × width of a look."""


class PairAnswer(NamedTuple):
    """What is told of a drug in a condition."""

    fields: dict[str, Floats]
    """Probabilities in the order of `FIELDS`."""
    sentences: dict[int, float]
    """By the order of a sentence in the document how likely it is the one that carries the verdict."""


class PooledReader:
    """The encoder and its heads. Thread-safe; what is told of a record does not depend on other records.

    Args:
        model: an ONNX model with its vocabulary in its metadata.
        heads: the arrays of the heads.
        threads: number used for one record; 0 means one per core.
    """

    def __init__(self, model: bytes, heads: Mapping[str, Any], threads: int = 0) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads free the processor
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.pieces = Pieces(json.loads(self._session.get_modelmeta().custom_metadata_map["vocabulary"]))
        self._heads = _widen(heads)
        self._encode_name = lru_cache(_NAMES)(self._encode_condition_name)
        self._encode_record = lru_cache(_RECORDS)(self._read)

    def read(self, document: Document, drug: str = "") -> PooledRecord:
        """Encode a record; `drug` is the one asked about, in case only its record knows it."""
        return self._encode_record(document, find_names(document, drug))

    def _read(self, document: Document, unknown: str) -> PooledRecord:
        record = cut_record(document, self.pieces, unknown)
        states, looked = self._session.run(None, {"pieces": np.array(record.list_pieces(), np.int64)})
        states = np.array(states)  # a copy: the runtime's own output holds the memory of the whole run
        parts = looked.reshape(len(states), 2, LOOKS, WIDTH // LOOKS)
        keys = np.ascontiguousarray(parts[:, 0].transpose(1, 2, 0))
        values = np.ascontiguousarray(parts[:, 1].transpose(1, 0, 2))
        return PooledRecord(record, states, keys, values)

    def tell_pair(self, view: View) -> PairAnswer:
        """Tell of a view's drug in its condition."""
        pooled = self.read(view.document, view.drug)
        record = pooled.record
        pair = cut_pair(record, view, self.pieces)
        drug = pair.drug or pair.classes
        condition = pair.condition
        flags = np.array(list_pair_flags(record, pair), np.float32)
        means = [
            _average(pooled, drug),
            _average(pooled, condition.places),
            self._encode_name(condition.name),
            pooled.states[0],
        ]
        query = _gelu(self._apply("ask", np.concatenate([*means, flags])))
        seen = self._look(pooled, query)
        pointed, carried = self._point(pooled, pair, query)
        counted = np.array([len(record.sentences) / 20], np.float32)
        joined = np.concatenate([*means, seen, carried, flags, counted])
        hidden = _gelu(self._apply("hidden", self._norm("norm", joined)))
        fields = {name: compute_softmax(self._apply(f"heads.{name}", hidden)) for name in FIELDS}
        orders = (sentence.order for sentence in record.sentences)
        return PairAnswer(fields, dict(zip(orders, map(float, pointed[0]), strict=True)))

    def _point(self, pooled: PooledRecord, pair: CutPair, query: Floats) -> tuple[Floats, Floats]:
        """Return how much each pointer heeds each sentence, and what they carry."""
        record = pooled.record
        if not record.sentences:
            return np.zeros((POINTERS, 0), np.float32), np.zeros(POINTERS * WIDTH, np.float32)
        sentences = np.concatenate(
            [
                pooled.states[record.starts],
                _average_in_sentences(pooled, pair.drug or pair.classes),
                _average_in_sentences(pooled, pair.condition.places),
                list_sentence_flags(record, pair),
            ],
            axis=1,
        )
        sentences = _gelu(self._apply("sentence", sentences) + self._apply("sentence_ask", query))
        pointed = compute_softmax(self._apply("point", sentences).T)
        return pointed, (pointed @ self._apply("value", sentences)).ravel()

    def tell_condition(self, view: View) -> Floats:
        """Tell which part a view's condition plays in its record: probabilities in the order of `CONDITION_ROLES`."""
        pooled = self.read(view.document, view.drug)
        condition: CutCondition = cut_condition(pooled.record, view, self.pieces)
        flags = np.array(list_condition_flags(pooled.record, condition), np.float32)
        name = self._encode_name(condition.name)
        question = np.concatenate([_average(pooled, condition.places), name, pooled.states[0], flags])
        query = _gelu(self._apply("condition_ask", question))
        joined = np.concatenate([question, self._look(pooled, query)])
        hidden = _gelu(self._apply("condition_hidden", self._norm("condition_norm", joined)))
        return compute_softmax(self._apply("condition_role", hidden))

    def _encode_condition_name(self, name: tuple[int, ...]) -> Floats:
        states, _ = self._session.run(None, {"pieces": np.array(name, np.int64)})
        return np.asarray(states.mean(0), np.float32)

    def _look(self, pooled: PooledRecord, query: Floats) -> Floats:
        question = self._apply("look", query).reshape(LOOKS, 1, WIDTH // LOOKS)
        scores = question @ pooled.keys * np.float32((WIDTH // LOOKS) ** -0.5)
        return np.asarray((compute_softmax(scores) @ pooled.values).ravel(), np.float32)

    def _apply(self, name: str, states: Floats) -> Floats:
        return np.asarray(states @ self._heads[f"{name}.weight"] + self._heads[f"{name}.bias"], np.float32)

    def _norm(self, name: str, states: Floats) -> Floats:
        centred = states - states.mean()
        scaled = centred / np.sqrt((centred**2).mean() + 1e-5)
        return np.asarray(scaled * self._heads[f"{name}.weight"] + self._heads[f"{name}.bias"], np.float32)


def _widen(stored: Mapping[str, Any]) -> dict[str, Floats]:
    """Return arrays in single precision: those in bytes by their scales."""
    return {
        name: np.asarray(array, np.float32) * stored.get(f"{name}.scale", 1)
        for name, array in stored.items()
        if not name.endswith(".scale")
    }


def _gelu(states: Floats) -> Floats:
    """Return the Gaussian error linear unit by its usual approximation (https://arxiv.org/abs/1606.08415)."""
    inner = np.sqrt(2 / np.pi) * (states + 0.044715 * states**3)
    return np.asarray(0.5 * states * (1 + np.tanh(inner)), np.float32)


def _average(pooled: PooledRecord, places: Sequence[Place]) -> Floats:
    if not places:
        return np.zeros(WIDTH, np.float32)
    return np.asarray(pooled.states[pooled.record.find_indices(places)].mean(0), np.float32)


def _average_in_sentences(pooled: PooledRecord, places: Sequence[Place]) -> Floats:
    """Return the mean of what stands in each sentence at some of its places; zeros where none is."""
    means = np.zeros((len(pooled.record.sentences), WIDTH), np.float32)
    for at in {place.sentence for place in places}:
        means[at] = _average(pooled, [place for place in places if place.sentence == at])
    return means


def load_pooled(arrays: bytes, threads: int = 0) -> PooledReader:
    """Load a reader from one file of weights."""
    with np.load(io.BytesIO(arrays)) as stored:
        heads = {name: array for name, array in stored.items() if name != "encoder"}
        return PooledReader(stored["encoder"].tobytes(), heads, threads)
