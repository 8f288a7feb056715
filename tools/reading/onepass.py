"""A reader that reads a record once, with weights that `make train-reader` wrote.

It tells what the bundled reader tells, of all drugs and conditions of a record from one encoding, with a head over
words beside it. Readings(reader=OnePassReader(Path("build/reader/reader.npz").read_bytes())) uses it in a run; what it
is worth beside the bundled one stands in `weights.md`.
"""

import hashlib
import io

import numpy as np

from .learned import THRESHOLD, LearnedAnswer, LearnedReader, read_thresholds
from .pooled import PooledReader
from .view import View
from .words import WordHead, find_features, join_verdicts


class OnePassReader(LearnedReader):
    """Reads with one file of weights.

    Thread-safe. A record's encoding is kept with its document.

    Args:
        arrays: the file's content.
        threads: number used for one record; 0 means one per core.
    """

    name = "onepass"

    def __init__(self, arrays: bytes, threads: int = 0) -> None:
        with np.load(io.BytesIO(arrays)) as file:
            stored = dict(file)
        heads = {name: array for name, array in stored.items() if not name.startswith(("words.", THRESHOLD, "encoder"))}
        self._powers = np.asarray(heads.pop("join"), np.float32)
        self._network = PooledReader(stored["encoder"].tobytes(), heads, threads)
        self._words = WordHead.load(stored)
        self._shown = read_thresholds(stored)
        self.version = hashlib.sha256(arrays).hexdigest()[:12]

    def tell(self, view: View) -> LearnedAnswer:
        """Return what the weights tell of a view."""
        pair = self._network.tell_pair(view)
        by_words = self._words.tell(find_features(view))
        verdict = join_verdicts(pair.fields["verdict"], by_words, self._powers)
        sentences = {at: np.array([chance, chance, 1 - chance, chance]) for at, chance in pair.sentences.items()}
        role = self._network.tell_condition(view)
        return LearnedAnswer({**pair.fields, "verdict": verdict}, sentences, role)

    def find_least(self, what: str) -> float:
        """Return the probability from which on something is sure."""
        return self._shown.get(what, 0.0)
