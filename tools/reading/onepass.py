"""A reader that reads a record once, with weights that `make train-reader` wrote.

It tells what the bundled reader tells, of all drugs and conditions of a record from one encoding, with a head over
words beside it. Readings(reader=OnePassReader(Path("build/reader/reader.npz").read_bytes())) uses it in a run; what it
is worth beside the bundled one stands in `weights.md`.
"""

import hashlib
import io

import numpy as np

from ..lexicon.heads import Floats
from .document import Document
from .fields import CONDITION_ROLES
from .learned import Answer, LearnedReader
from .pooled import PooledReader
from .reading import Verdict
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
        heads = {name: array for name, array in stored.items() if not name.startswith(("words.", "shown.", "encoder"))}
        self._powers = np.asarray(heads.pop("join"), np.float32)
        self._network = PooledReader(stored["encoder"].tobytes(), heads, threads)
        self._words = WordHead.load(stored)
        self._shown = {name: float(least) for name, least in stored.items() if name.startswith("shown.")}
        self.version = hashlib.sha256(arrays).hexdigest()[:12]

    def tell_role(self, document: Document, condition: str) -> dict[str, float]:
        """Return how likely a condition plays each part in a record (`fields.CONDITION_ROLES`)."""
        chances = self._network.tell_condition(View(document, "", condition))
        return dict(zip(CONDITION_ROLES, map(float, chances), strict=True))

    def _tell(self, view: View) -> Answer:
        pair = self._network.tell_pair(view)
        by_words = self._words.tell(find_features(view))
        verdict = join_verdicts(pair.fields["verdict"], by_words, self._powers)
        sentences = {at: np.array([chance, chance, 1 - chance, chance]) for at, chance in pair.sentences.items()}
        return Answer({**pair.fields, "verdict": verdict}, sentences)

    def _decide(self, _: View, chances: Floats) -> Verdict:
        return _VERDICTS[int(chances.argmax())]

    def _find_least(self, verdict: Verdict) -> float:
        return self._shown.get(f"shown.{verdict}", 0.0)


_VERDICTS: tuple[Verdict, ...] = ("contradicts", "neutral", "none", "supports")
"""In the order of `FIELDS`."""
