"""What the careful reader's encoder is worth on evidence inference: its last layers tuned in each fold and thrown away.

    python -m benchmarks.gold_encoder FOLDER [--abstract]

Needs torch; FOLDER and folds as for `gold_sets.py`, whose linear heads it is joined with, half and half. It takes half
an hour for the gold passages and some hours for the abstracts.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks import gold_sets
from benchmarks.gold_sets import ANSWERS, Arms, Prompt, Tell, both_ways
from benchmarks.transformer import BATCH, WEIGHTS, Below, Layer, batches, falling, layers_of
from torch import nn
from torch.nn import functional

from willowbark.tools.reading.encoder import SIGNS, Encoder, Pieces, Shown, shown
from willowbark.tools.reading.features import Page

KEPT = 2  # layers that stay as they are
PASSES = 3
RATE = 1e-4
DROPPED = 0.2
HIDDEN = 0.06
SMOOTH = 0.05
_TINY = 1e-9


class Case(NamedTuple):
    """A prompt as the encoder sees it."""

    prompt: Prompt
    shown: Shown


class Answers(nn.Module):  # type: ignore[misc]
    """The last layers, and what tells the answer from the first state and those of arms and outcome."""

    def __init__(self, layers: Sequence[Layer], width: int) -> None:
        super().__init__()
        self.layers, self.dropped = nn.ModuleList(layers), nn.Dropout(DROPPED)
        self.answer = nn.Linear(4 * width, len(ANSWERS))

    def forward(self, states: torch.Tensor, held: torch.Tensor, pieces: torch.Tensor) -> torch.Tensor:
        """Scores, cases × answers."""
        for layer in self.layers:
            states = layer(states, held)
        found = [states[:, 0]]
        for sign in ("DRUG", "OTHER", "COND"):
            mine = (pieces == SIGNS[sign]).unsqueeze(-1).to(states.dtype)
            found.append((states * mine).sum(1) / mine.sum(1).clamp(min=1))
        return self.answer(self.dropped(torch.cat(found, -1))).float()


def _scores(model: Answers, below: Below, cases: Sequence[Case], batch: Sequence[int]) -> torch.Tensor:
    states, held = below.of(batch)
    if model.training:
        states[torch.rand(held.shape) < HIDDEN] = 0
    pieces = nn.utils.rnn.pad_sequence([torch.tensor(cases[at].shown.pieces) for at in batch], True)
    with torch.autocast("cpu", torch.bfloat16):
        return model(states, held, pieces)


class Tuner:
    """Tunes the encoder to answer prompts of some articles; what it sees of each is made once.

    Args:
        found: all prompts.
        page: what is read of each.
    """

    def __init__(self, found: Sequence[Prompt], page: Callable[[Prompt], Page]) -> None:
        with np.load(WEIGHTS) as file:
            self._stored = dict(file)
        pieces: Pieces = Encoder(self._stored, "").pieces
        self._cases = [Case(way, shown(Arms(page(way), way), pieces)) for way in both_ways(found)]
        self._place = {(each.prompt, each.prompt.label): at for at, each in enumerate(self._cases)}
        self._below = Below(self._stored, layers_of(self._stored)[:KEPT], self._cases)

    def learn(self, known: Sequence[Prompt]) -> Tell:
        """Tune on some prompts, both ways round."""
        torch.manual_seed(0)
        random.seed(0)
        model = Answers(layers_of(self._stored)[KEPT:], len(self._stored["norm.bias"]))
        which = [self._place[way, way.label] for way in both_ways(known)]
        rates = [
            {"params": model.layers.parameters(), "lr": RATE},
            {"params": model.answer.parameters(), "lr": 6 * RATE},
        ]
        optimizer = torch.optim.AdamW(rates, weight_decay=0.01)
        fall = torch.optim.lr_scheduler.LambdaLR(optimizer, falling(PASSES * -(-len(which) // BATCH), 0.02))
        model.train()
        for _ in range(PASSES):
            for batch in batches(self._cases, which, shuffled=True):
                truth = torch.tensor([ANSWERS.index(self._cases[at].prompt.label) for at in batch])
                scores = _scores(model, self._below, self._cases, batch)
                loss = functional.cross_entropy(scores, truth, label_smoothing=SMOOTH)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                fall.step()
        return lambda asked: self._chances(model.eval(), asked)

    def _chances(self, model: Answers, asked: Sequence[Prompt]) -> Any:
        which = [self._place[each, each.label] for each in asked]
        found: dict[int, Any] = {}
        with torch.no_grad():
            for batch in batches(self._cases, sorted(set(which)), shuffled=False):
                found |= zip(batch, _scores(model, self._below, self._cases, batch).softmax(-1).numpy(), strict=True)
        return np.array([found[at] for at in which])


def joined(one: Callable[[Sequence[Prompt]], Tell], other: Callable[[Sequence[Prompt]], Tell]) -> Any:
    """Learn both, and tell by the geometric mean of what they tell."""

    def learn(known: Sequence[Prompt]) -> Tell:
        first, second = one(known), other(known)

        def tell(asked: Sequence[Prompt]) -> Any:
            both = np.sqrt((first(asked) + _TINY) * (second(asked) + _TINY))
            return both / both.sum(axis=1, keepdims=True)

        return tell

    return learn


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--abstract", action="store_true", help="of the abstract alone, not of the gold passage")
    options = parser.parse_args()
    found = gold_sets.prompts(options.folder / "evidence_inference_train.jsonl.gz")
    if options.abstract:
        tuner = Tuner(found, lambda each: Page(each.title, each.abstract))
        print(gold_sets.answered("abstract, encoder and heads", found, joined(tuner.learn, gold_sets.on_abstracts)))
    else:
        tuner = Tuner(found, lambda each: Page("", each.evidence))
        print(gold_sets.answered("gold passage, encoder and heads", found, joined(tuner.learn, gold_sets.on_sentences)))


if __name__ == "__main__":
    main()
