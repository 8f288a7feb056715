"""Two readers side by side: one that reads a record for a drug in a condition, and one that reads it once.

They were trained apart and err apart: what is told are the probabilities of both, multiplied with a power each.
"""

from collections.abc import Mapping

import numpy as np

from willowbark.tools.lexicon.heads import Floats, compute_softmax
from willowbark.tools.reading.learned import LearnedAnswer, LearnedReader
from willowbark.tools.reading.onepass import OnePassReader
from willowbark.tools.reading.view import View


class JoinedReader(LearnedReader):
    """Reads with both. Thread-safe.

    Args:
        once: the reader that reads a record once.
        share: how much of the power the other one has, 0 to 1.
        shown: by verdict the least probability from which on it is sure; others always are.
    """

    name = "joined"

    def __init__(self, once: OnePassReader, share: float, shown: Mapping[str, float]) -> None:
        super().__init__()
        self._once, self._share, self._shown = once, share, shown
        self.version = f"{self.version[:6]}{once.version[:6]}"

    def tell(self, view: View) -> LearnedAnswer:
        """Return what both tell of a view; a sentence that one had no room for keeps what the other says of it."""
        first, second = super().tell(view), self._once.tell(view)
        fields = {name: self._join(chances, second.fields[name]) for name, chances in first.fields.items()}
        sentences = {**second.sentences, **first.sentences}
        for at in first.sentences.keys() & second.sentences.keys():
            sentences[at] = np.exp(self._weigh(first.sentences[at], second.sentences[at]))
        return LearnedAnswer(fields, sentences, self._join(first.condition, second.condition))

    def find_least(self, what: str) -> float:
        """Return the probability from which on something is sure."""
        return self._shown.get(what, super().find_least(what))

    def _join(self, first: Floats, second: Floats) -> Floats:
        return compute_softmax(self._weigh(first, second))

    def _weigh(self, first: Floats, second: Floats) -> Floats:
        return np.asarray(self._share * np.log(first + 1e-6) + (1 - self._share) * np.log(second + 1e-6), np.float32)
