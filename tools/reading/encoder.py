"""The encoder: a small pre-trained transformer that turns a record, seen for a drug and a condition, into numbers.

Six layers (all-MiniLM-L6-v2, Apache-2.0, https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2; Devlin et al.
2019, https://aclanthology.org/N19-1423), tuned on labels made by reading and stored as whole numbers of a byte in
`encoder.onnx`; see `weights.md`. onnxruntime runs it, and is imported with this module: at the first reading.
"""

import json
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
import onnxruntime

from .document import Document
from .heads import Floats
from .view import SIGNS, Pieces, Shown, View, shown, shown_whole

THREADS = 0
"""Threads that read one record together; 0 takes as many as there are cores."""
SENTENCES = ("+", "-", "0", "~")
"""What a sentence carries: supports, contradicts, no verdict, neutral."""


class States(NamedTuple):
    """A record as the encoder has it."""

    whole: Floats
    """Its start, and the means over the drug, the condition, all sentences by how much of a verdict they carry, and
    results with conclusions: one after another."""
    sentences: dict[int, Floats]
    """Of each sentence that was looked at, by its order, probabilities in the order of `SENTENCES`."""


class Encoder:
    """The transformer. Threads may ask at once; what it says of a record does not depend on what else is read.

    Args:
        raw: a model as `benchmarks/train_reader.py` writes it, its vocabulary in its metadata.
        threads: that read one record together; 0 takes as many as there are cores.
    """

    def __init__(self, raw: bytes, threads: int = THREADS) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads leave the processor
        self._session = onnxruntime.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
        self.pieces = Pieces(json.loads(self._session.get_modelmeta().custom_metadata_map["vocabulary"]))

    def of_view(self, view: View) -> States:
        """A record as seen for one drug and one condition."""
        return self._states(shown(view, self.pieces))

    def of_document(self, document: Document) -> States:
        """A record as seen for its design."""
        return self._states(shown_whole(document, self.pieces))

    def _states(self, seen: Shown) -> States:
        pieces = np.array(seen.pieces)
        named = [np.flatnonzero(pieces == SIGNS[name]) for name in ("DRUG", "COND")]
        parts = [np.zeros(1, np.int64), *named, np.array(seen.places, np.int64)]
        picked = np.concatenate(parts)
        ends = np.cumsum([len(part) for part in parts])
        pooling = np.zeros((5, len(picked)), np.float32)  # each row takes a mean
        for row, (part, end) in enumerate(zip(parts, ends, strict=True)):
            pooling[row, end - len(part) : end] = 1 / max(1, len(part))
        telling = np.array([zone in "RC" for zone in seen.zones], bool)
        pooling[4, ends[2] :] = telling / max(1, telling.sum())
        whole, carried = self._session.run(None, {"pieces": pieces, "picked": picked, "pooling": pooling})
        return States(whole.ravel(), dict(zip(seen.orders, carried[ends[2] :], strict=True)))


@cache
def encoder() -> Encoder:
    """The encoder that came with the package, loaded once."""
    return Encoder(resources.files(__package__).joinpath("encoder.onnx").read_bytes())
