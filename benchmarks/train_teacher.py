"""Tune a larger encoder on labels and abstracts, and write what it says of them: what the package's encoder is taught.

    python -m benchmarks.train_teacher ABSTRACTS BASE OUT

ABSTRACTS as for `train.py`; BASE is the folder of all-mpnet-base-v2 as Hugging Face's `transformers` stores it
(https://huggingface.co/sentence-transformers/all-mpnet-base-v2, Apache-2.0; Song et al. 2020,
https://arxiv.org/abs/2004.09297); OUT an `.npz` of probabilities by label for `train_encoder.py --taught`. It learns
from the labels that the encoder learns from, in one pass: of its twelve layers the first `FIRST` stay, whose states are
made once, those up to `LAST` are tuned, and the rest is left away. Needs `transformers`; two hours on two cores.
"""

import argparse
import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from benchmarks.labels import labels
from benchmarks.train import report
from benchmarks.train_encoder import Case, Told, cases_of, loss_of, parted
from benchmarks.transformer import BATCH, batches, falling
from torch import nn
from torch.nn import functional

from willowbark.tools.reading.encoder import FIELDS, SENTENCES, SIGNS, Pieces

FIRST, LAST = 4, 10
PIECES = 208
RATE = 6e-5
DROPPED = 0.05
_PADDING, _MORE = 1, 4  # MPNet's vocabulary is BERT's, behind four pieces of its own
_OWN = {Pieces.START: 0, Pieces.END: 2, Pieces.UNKNOWN: 3}


class _Base(Protocol):
    """The parts of `MPNetModel` that are used here."""

    embeddings: Any
    encoder: Any


class Layer(nn.Module):  # type: ignore[misc]
    """A layer of MPNet: its attention heeds how far two places are apart."""

    def __init__(self, base: Any) -> None:
        super().__init__()
        attention = base.attention
        self.query, self.key, self.value = attention.attn.q, attention.attn.k, attention.attn.v
        self.heard, self.heard_norm = attention.attn.o, attention.LayerNorm
        self.wide, self.narrow, self.narrow_norm = base.intermediate.dense, base.output.dense, base.output.LayerNorm

    def forward(self, states: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """The states of the next layer; `bias` is added to what each place hears of each."""
        count, length, width = states.shape
        query, key, value = (
            each(states).view(count, length, 12, width // 12).transpose(1, 2)
            for each in (self.query, self.key, self.value)
        )
        heard = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias.to(query.dtype))
        heard = self.heard(heard.transpose(1, 2).reshape(count, length, width))
        states = self.heard_norm(states + functional.dropout(heard, DROPPED, self.training))
        told = self.narrow(functional.gelu(self.wide(states)))
        return self.narrow_norm(states + functional.dropout(told, DROPPED, self.training))


class Teacher(nn.Module):  # type: ignore[misc]
    """The layers of MPNet up to `LAST`, and heads as the package's encoder has them."""

    def __init__(self, base: _Base) -> None:
        super().__init__()
        self._base = [base]  # in a list, so that its parameters are not those of this module
        layers = [Layer(each) for each in base.encoder.layer[:LAST]]
        self._first, self.layers = layers[:FIRST], nn.ModuleList(layers[FIRST:])
        self.layers.requires_grad_(True)
        self.dropped = nn.Dropout(0.2)
        self.heads = nn.ModuleDict({name: nn.Linear(3 * 768, len(each)) for name, each in FIELDS.items()})
        self.sentence = nn.Linear(768, len(SENTENCES))
        self._below: dict[int, torch.Tensor] = {}

    def told(self, cases: Sequence[Case], batch: Sequence[int]) -> Told:
        """Tell the cases of a batch."""
        pieces = _padded([cases[at] for at in batch])
        with torch.autocast("cpu", torch.bfloat16):
            bias = self._bias(pieces)
            states = functional.dropout(self._states(pieces, bias, batch), DROPPED, self.training)
            for layer in self.layers:
                states = layer(states, bias)
            means = [_mean(states, pieces == SIGNS[sign] + _MORE) for sign in ("DRUG", "COND")]
            seen = self.dropped(torch.cat([states[:, 0], *means], -1))
            places = torch.cat([states[row, cases[at].shown.places] for row, at in enumerate(batch)])
            return Told({name: head(seen).float() for name, head in self.heads.items()}, self.sentence(places).float())

    def _bias(self, pieces: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            far = self._base[0].encoder.compute_position_bias(torch.zeros(1, pieces.shape[1], 768))
        return far + (pieces == _PADDING)[:, None, None, :].float() * -1e4

    def _states(self, pieces: torch.Tensor, bias: torch.Tensor, batch: Sequence[int]) -> torch.Tensor:
        """What the layers that stay give, made once for each case."""
        if any(at not in self._below for at in batch):
            with torch.no_grad():
                states = self._base[0].embeddings(input_ids=pieces)
                for layer in self._first:
                    states = layer.eval()(states, bias)
            for row, at in enumerate(batch):
                self._below[at] = states[row, pieces[row] != _PADDING].to(torch.bfloat16)
        return nn.utils.rnn.pad_sequence([self._below[at].float() for at in batch], True)


def _mean(states: torch.Tensor, mine: torch.Tensor) -> torch.Tensor:
    weights = mine.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def _padded(cases: Sequence[Case]) -> torch.Tensor:
    """The pieces of cases in MPNet's numbers."""
    rows = [torch.tensor([_OWN.get(piece, piece + _MORE) for piece in each.shown.pieces]) for each in cases]
    return nn.utils.rnn.pad_sequence(rows, True, _PADDING)


def tune(model: Teacher, cases: Sequence[Case], learnt: Sequence[int]) -> None:
    """Learn in one pass, the rate falling."""
    fresh = [each for name, each in model.named_parameters() if not name.startswith("layers.")]
    rates = [{"params": model.layers.parameters(), "lr": RATE}, {"params": fresh, "lr": 8 * RATE}]
    optimizer = torch.optim.AdamW(rates, weight_decay=0.01)
    steps = -(-len(learnt) // BATCH)
    fall = torch.optim.lr_scheduler.LambdaLR(optimizer, falling(steps, 0.02))
    model.train()
    for step, batch in enumerate(batches(cases, learnt, shuffled=True), 1):
        loss = loss_of([cases[at] for at in batch], model.told(cases, batch))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        fall.step()
        if step % 100 == 0:
            print(f"{step} of {steps} steps, loss {float(loss.detach()):.3f}", flush=True)


def said_of(model: Teacher, cases: Sequence[Case], which: Sequence[int]) -> dict[str, Any]:
    """What it says of each field of some cases: cases × classes."""
    model.eval()
    found = {name: np.zeros((len(which), len(classes)), np.float32) for name, classes in FIELDS.items()}
    row = {each: at for at, each in enumerate(which)}
    with torch.no_grad():
        for batch in batches(cases, which, shuffled=False):
            for name, scores in model.told(cases, batch).fields.items():
                found[name][[row[each] for each in batch]] = scores.softmax(-1).numpy()
    return found


def main() -> None:
    """Tune, print, write."""
    from transformers import MPNetModel  # noqa: PLC0415

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("abstracts", "base", "out"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(2)
    with gzip.open(options.abstracts, "rt", encoding="utf-8") as file:
        records = {record["pmid"]: record for record in map(json.loads, file)}
    names = (options.base / "vocab.txt").read_text(encoding="utf-8").splitlines()
    pieces = Pieces(names[_MORE:])
    cases = list(cases_of([each for each in labels() if each.pmid in records], records, pieces, PIECES))
    learnt, left_out = parted(cases)
    base = MPNetModel.from_pretrained(options.base, add_pooling_layer=False).requires_grad_(False)
    model = Teacher(base)
    tune(model, cases, learnt)
    told = said_of(model, cases, left_out)
    for name in ("verdict", "role", "match"):
        truth = np.array([getattr(cases[at].label, name) for at in left_out])
        report(f"left out, {name}", FIELDS[name], told[name], truth)
    said = said_of(model, cases, learnt)
    np.savez(options.out, key=np.array([cases[at].label.key for at in learnt]), **said)


if __name__ == "__main__":
    main()
