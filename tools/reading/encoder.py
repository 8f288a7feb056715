"""The encoder: a small transformer that turns a record, drug and condition into feature vectors.

all-MiniLM-L6-v2 (Apache-2.0, https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), fine-tuned on labels made
by reading and stored as 8-bit integers; see `weights.md`. onnxruntime is imported with this module, at the first
reading.
"""

import json
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
import onnxruntime

from .heads import Floats
from .view import SIGNS, Pieces, View, shown

SENTENCES = ("+", "-", "0", "~")
"""Verdict carried by a sentence: supports, contradicts, none, neutral."""


class States(NamedTuple):
    """The encoder's output for a record."""

    whole: Floats
    """Concatenated: the start, then means over the drug, the condition, all sentences weighted by how much of a verdict
    they carry, and results with conclusions."""
    sentences: dict[int, Floats]
    """Probabilities in the order of `SENTENCES`, by sentence order."""


class Encoder:
    """The transformer. Thread-safe; its output for a record does not depend on other records.

    Args:
        raw: an ONNX model with its vocabulary in its metadata.
        threads: number used for one record; 0 means one per core.
    """

    def __init__(self, raw: bytes, threads: int = 0) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads free the processor
        self._session = onnxruntime.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
        self.pieces = Pieces(json.loads(self._session.get_modelmeta().custom_metadata_map["vocabulary"]))

    def of_view(self, view: View) -> States:
        """Encode a record for one drug and one condition."""
        seen = shown(view, self.pieces)
        pieces = np.array(seen.pieces)
        named = [np.flatnonzero(pieces == SIGNS[name]) for name in ("DRUG", "COND")]
        parts = [np.zeros(1, np.int64), *named, np.array(seen.places, np.int64)]
        picked = np.concatenate(parts)
        ends = np.cumsum([len(part) for part in parts])
        pooling = np.zeros((5, len(picked)), np.float32)  # each row computes a mean
        for row, (part, end) in enumerate(zip(parts, ends, strict=True)):
            pooling[row, end - len(part) : end] = 1 / max(1, len(part))
        telling = np.array([zone in "RC" for zone in seen.zones], bool)
        pooling[4, ends[2] :] = telling / max(1, telling.sum())
        whole, carried = self._session.run(None, {"pieces": pieces, "picked": picked, "pooling": pooling})
        return States(whole.ravel(), dict(zip(seen.orders, carried[ends[2] :], strict=True)))


@cache
def encoder() -> Encoder:
    """Load the bundled encoder once."""
    return Encoder(resources.files(__package__).joinpath("encoder.onnx").read_bytes())
