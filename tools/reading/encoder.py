"""The encoder: a small transformer that turns a record, masked for one drug and one condition, into feature vectors.

all-MiniLM-L6-v2 (Apache-2.0, https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), fine-tuned on labels made
by reading and stored as 8-bit integers; see `weights.md`. onnxruntime is imported with this module, at the first
reading.
"""

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime

from ..lexicon.heads import Floats
from .view import SIGNS, Pieces, View

LONGEST = 240
"""Maximum pieces per record; a longer one loses its least informative sentences."""
LONGEST_IN_PASSING = 144
"""The same if at most one sentence names the drug, and it is not the title, the last one or a conclusion."""
_NAME = 12  # maximum pieces of the condition's name
_ZONES = {zone: 10 + at for at, zone in enumerate("TABMRC")}
_SOON = {zone: at for at, zone in enumerate("TCRAMB")}


class EncoderInput(NamedTuple):
    """Input of the encoder: pieces; of each sentence in it the order, the index of its zone piece, its zone."""

    pieces: list[int]
    orders: list[int]
    places: list[int]
    zones: list[str]


def cut_view(view: View, pieces: Pieces) -> EncoderInput:
    """Cut a view to the encoder's input: title, end, sentences naming the drug, conclusions and results first.

    The condition's name comes first and other conditions keep their names, since names tell whether a condition is
    broader, narrower or another one.
    """
    zones = view.document.zones
    last = len(view.sentences) - 1
    with_drug = {at for at, words in enumerate(view.sentences) if "DRUG" in words}
    in_passing = len(with_drug) <= 1 and all(at not in (0, last) and zones[at] != "C" for at in with_drug)

    def rank(at: int) -> int:
        if at in (0, last):
            return 0 if at == 0 else 1
        return 3 + _SOON[zones[at]] if at not in with_drug else 2 if zones[at] in "RC" else 3

    longest = LONGEST_IN_PASSING if in_passing else LONGEST
    whole = [Pieces.START, *[SIGNS["COND"], *pieces.cut_all(view.condition.split())][:_NAME]]
    room = longest - 1 - len(whole)
    pieces_of = dict[int, list[int]]()
    for at in sorted(range(len(zones)), key=rank):
        own = [_ZONES[zones[at]], *pieces.cut_all(view.spell(at))]
        if at in (0, last):
            own = own[: room if pieces_of else longest // 2]
        if len(own) <= room:
            pieces_of[at] = own
            room -= len(own)
    orders = sorted(pieces_of)
    places = list[int]()
    for at in orders:
        places.append(len(whole))
        whole += pieces_of[at]
    return EncoderInput([*whole, Pieces.END], orders, places, [zones[at] for at in orders])


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
        path: an ONNX model with its vocabulary in its metadata.
        threads: number used for one record, which changes no output; records side by side use the cores better.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads free the processor
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.pieces = Pieces(json.loads(self._session.get_modelmeta().custom_metadata_map["vocabulary"]))

    def encode(self, view: View) -> States:
        """Encode a record for one drug and one condition."""
        seen = cut_view(view, self.pieces)
        pieces = np.array(seen.pieces)
        signs = [np.flatnonzero(pieces == SIGNS[name]) for name in ("DRUG", "COND")]
        parts = [np.zeros(1, np.int64), *signs, np.array(seen.places, np.int64)]
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
def load_encoder() -> Encoder:
    """Load the bundled encoder once."""
    with resources.as_file(resources.files(__package__).joinpath("encoder.onnx")) as path:
        return Encoder(path)  # a session keeps bytes that it is given, 22 MB
