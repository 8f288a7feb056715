"""Tune the careful reader's encoder to tell designs and participants, and write its last layers beside the others.

`make train-facts-encoder ARGS=ABSTRACTS`: as for `train_facts.py`. The first layers of `encoder.npz` stay as they are,
the last ones are copied and tuned: train again whenever `train-encoder` tuned the first ones. With `--on` it goes on
from those that tell it now, and with `--passes 0` too it measures them alone. The part kept apart is that of
`train_facts.py` and only measured; an eighth of the other records is left out, and how much the encoder counts beside
the heads is chosen on it, with heads that have not seen it either. Sums of several threads differ in the last digit, so
two trainings give the same figures, not the same bytes.
"""

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from benchmarks import train_facts
from benchmarks.train_facts import Record, fit_design, fit_participants, folds, seen, share, tell
from benchmarks.transformer import BATCH, WEIGHTS, Below, Layer, Stored, arrays_of, batches, falling, layers_of, linear
from torch import nn
from torch.nn import functional

from willowbark.tools.reading.encoder import Encoder, ShownWhole, shown_whole
from willowbark.tools.reading.facts import NOT_REPORTED, WAYS, Candidate, candidates, weight_of
from willowbark.tools.reading.heads import Floats, Head, pooled, softmax
from willowbark.tools.reading.reading import Design

DESIGNS = sorted(get_args(Design))
HIDDEN = 0.06  # of the word pieces, in training
DROPPED = 0.2
SMOOTH = 0.05
HINTED = 0.25  # weight of a record whose design its type or title hints at
SHARES = np.arange(0, 1.01, 0.1).round(1)
CHECKPOINT = 50


class Case(NamedTuple):
    """A record as the encoder sees it."""

    record: Record
    labelled: bool
    shown: ShownWhole
    offered: dict[int, Candidate]


class Tuned(nn.Module):  # type: ignore[misc]
    """The last layers, and what tells designs and candidates from their states."""

    def __init__(self, layers: Sequence[Layer], width: int) -> None:
        super().__init__()
        self.layers, self.dropped = nn.ModuleList(layers), nn.Dropout(DROPPED)
        self.design, self.alone = nn.Linear(2 * width, len(DESIGNS)), nn.Linear(2 * width, 2)
        self.ways = nn.Linear(width, len(WAYS))

    @classmethod
    def of(cls, stored: Stored, first: int) -> "Tuned":
        """As the package has it."""
        layers = [Layer(stored, f"making.{at}") for at in range(first, len(layers_of(stored)))]
        found = cls(layers, len(stored["norm.bias"]))
        found.design, found.alone, found.ways = (linear(stored, f"making.{n}") for n in ("design", "alone", "ways"))
        return found

    def forward(self, states: torch.Tensor, held: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Scores of the designs, of no and one patient, and of each piece for each way."""
        for layer in self.layers:
            states = layer(states, held)
        told = held.unsqueeze(-1).to(states.dtype)
        whole = self.dropped(torch.cat([states[:, 0], (states * told).sum(1) / told.sum(1)], -1))
        return self.design(whole).float(), self.alone(whole).float(), self.ways(self.dropped(states)).float()


def scores(case: Case, alone: torch.Tensor, ways: torch.Tensor) -> tuple[list[int], torch.Tensor]:
    """Candidates that are looked at, and their scores; as `encoder.Making` has them."""
    found: dict[int, list[torch.Tensor]] = {value: [alone[value]] for value in (0, 1)}
    for value, candidate in case.offered.items():
        for kind, numbers in candidate.ways:
            if places := [case.shown.places[each] for each in numbers if each in case.shown.places]:
                found.setdefault(value, []).append(ways[places, WAYS.index(kind)].mean())
    return list(found), torch.stack([torch.logsumexp(torch.stack(each), 0) for each in found.values()])


def tune(model: Tuned, below: Below, cases: Sequence[Case], learnt: Sequence[int], options: argparse.Namespace) -> None:
    """Learn for some passes, the rate falling to nothing."""
    fresh = [each for name, each in model.named_parameters() if not name.startswith("layers")]
    rates = [{"params": model.layers.parameters(), "lr": options.rate}, {"params": fresh, "lr": 6 * options.rate}]
    optimizer = torch.optim.AdamW(rates, weight_decay=0.01)
    steps = options.passes * -(-len(learnt) // BATCH)
    fall = torch.optim.lr_scheduler.LambdaLR(optimizer, falling(steps, 0.02))
    began, step = time.monotonic(), 0
    for _ in range(options.passes):
        model.train()
        for batch in batches(cases, learnt, shuffled=True):
            states, held = below.of(batch)
            states[torch.rand(held.shape) < HIDDEN] = 0
            with torch.autocast("cpu", torch.bfloat16):
                designs, alone, ways = model(states, held)
            truth = torch.tensor([DESIGNS.index(cases[at].record.design) for at in batch])
            heed = torch.tensor([1.0 if cases[at].labelled else HINTED for at in batch])
            wrong = functional.cross_entropy(designs, truth, reduction="none", label_smoothing=SMOOTH)
            loss = (wrong * heed).mean()
            counted = []
            for row, at in enumerate(batch):
                values, told = scores(cases[at], alone[row], ways[row])
                wanted = cases[at].record.participants or NOT_REPORTED
                if cases[at].labelled and wanted in values:
                    counted.append(functional.cross_entropy(told[None], torch.tensor([values.index(wanted)])))
            loss = loss + (torch.stack(counted).mean() if counted else 0)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            fall.step()
            step += 1
            if step % CHECKPOINT == 0:
                print(f"{step} of {steps} steps, {(time.monotonic() - began) / step:.2f} s a step", flush=True)


class Opinion(NamedTuple):
    """What one teller says of a record: probabilities of the designs, and of its candidates for a design."""

    design: Floats
    participants: Floats


def by_heads(case: Case, design: Head, ranker: Head, told: str) -> Opinion:
    """What the heads say, with candidates for the design told."""
    weight = weight_of(ranker).get
    offered = candidates(case.record.untyped, told).values()
    found = [sum(weight(name, 0.0) for name in each.features) for each in offered]
    return Opinion(softmax(design.scores([seen(case.record.untyped)])[0]), softmax(np.array(found, np.float32)))


def look(title: str, cases: Sequence[Case], heads: tuple[Head, Head], run: Encoder) -> dict[str, float]:
    """Print what heads, encoder and both tell; give the shares of the encoder that are best here."""
    told: dict[str, dict[float, list[bool]]] = {name: {each: [] for each in SHARES} for name in ("design", "n", "none")}
    for case in cases:
        making = run.making(case.record.untyped)
        mine = by_heads(case, *heads, case.record.told)
        values, wanted = list(case.offered), case.record.participants
        counted = making.participants(case.offered)
        for each in SHARES:
            told["design"][each].append(
                DESIGNS[int(pooled(mine.design, making.design, each).argmax())] == case.record.design
            )
            best = values[int(pooled(mine.participants, counted, each).argmax())]
            told["none" if wanted is None else "n"][each].append(best == (wanted or NOT_REPORTED))
    right = {name: {each: 100 * float(np.mean(found)) for each, found in some.items()} for name, some in told.items()}
    for name, some in right.items():
        print(
            f"{title}, {name} of {len(told[name][0.0])}: { ({float(each): round(x, 1) for each, x in some.items()}) }"
        )
    both = {each: right["n"][each] + right["none"][each] / 2 for each in SHARES}
    return {
        "design": float(max(SHARES, key=lambda each: right["design"][each])),
        "participants": float(max(SHARES, key=lambda each: both[each])),
    }


def written(stored: dict[str, Any], model: Tuned, first: int, shares: dict[str, float]) -> dict[str, Any]:
    """The encoder's arrays with the tuned ones in place of those that were there."""
    found = {name: each for name, each in stored.items() if not name.startswith("making.")}
    joined = json.loads(str(stored["joined"]))
    found["joined"] = json.dumps({**joined, "share": {**joined["share"], **shares}})
    for name in ("design", "alone", "ways"):
        found |= arrays_of(f"making.{name}", getattr(model, name))
    for at, layer in enumerate(model.layers, first):
        found |= layer.arrays(f"making.{at}")
    return found


def main() -> None:
    """Tune, choose the shares, write, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("abstracts", type=Path)
    parser.add_argument("--labels", type=Path, default=Path(__file__).resolve().parent / "labels")
    parser.add_argument("--on", action="store_true", help="go on from the layers that tell it now")
    parser.add_argument("--first", type=int, default=2, help="how many layers stay as they are")
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--rate", type=float, default=1e-4)
    options = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    with np.load(WEIGHTS) as file:
        stored = dict(file)
    pieces = Encoder(stored, "").pieces
    records, hinted = train_facts.load(options.abstracts, options.labels)
    cases = [
        Case(each, some is records, shown_whole(each.untyped, pieces), candidates(each.untyped, ""))
        for some in (records, hinted)
        for each in some
    ]
    apart = {each.pmid for each in records if share("fold", each.pmid, 5) == 0}
    left_out = {each.pmid for each in records if share("left out", each.pmid, 8) == 0} - apart
    learnt = [at for at, each in enumerate(cases) if each.record.pmid not in apart | left_out]
    print(
        f"{len(records)} records: {len(apart)} kept apart, {len(left_out)} left out; {len(hinted)} hinted at",
        flush=True,
    )
    layers, first = layers_of(stored), options.first
    below = Below(stored, layers[:first], cases)
    model = Tuned.of(stored, first) if options.on else Tuned(layers[first:], len(stored["norm.bias"]))
    if options.passes:
        tune(model, below, cases, learnt, options)
    known = [cases[at].record for at in learnt if cases[at].labelled]
    design = fit_design(known, hinted)
    for some, (_, test) in zip([fit_design(train, hinted) for train, _ in folds(known)], folds(known), strict=True):
        tell(some, test)
    tell(design, [each for each in records if each.pmid in apart | left_out])
    heads = design, fit_participants(known)
    run = Encoder(written(stored, model, first, {"design": 0.0, "participants": 0.0}), "")
    shares = look("left out", [each for each in cases if each.labelled and each.record.pmid in left_out], heads, run)
    look(f"kept apart ({shares})", [each for each in cases if each.labelled and each.record.pmid in apart], heads, run)
    np.savez(WEIGHTS, **written(stored, model, first, shares))
    print(f"{WEIGHTS.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
