"""Tune the careful reader's encoder on labels and abstracts, and write its weights.

`make train-encoder ARGS="ABSTRACTS BASE"`: the abstracts as for `train.py`, and the folder of a BERT model as Hugging
Face's `transformers` stores it (all-MiniLM-L6-v2, Apache-2.0). With `--on` it goes on from the package's weights, and
the first `--keep` layers stay as they are, which the layers that tell designs and participants stand on. With
`--taught`, half of what is learnt of a label is what a larger encoder, tuned on the same labels, says of it
(`train_teacher.py`). Learnt is what `train.py` does not keep apart; a quarter of the records that the heads learnt from
is left out too and looked at after each pass: the shares of the two readers are chosen on it. Sums of several threads
differ in the last digit, so two trainings give the same figures, not the same bytes.
"""

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks.careful import TINY, Beside, is_apart, is_left_out
from benchmarks.labels import EARLIER, Label, labels
from benchmarks.train import CARRIED, UNSURE, carrier_of, report
from benchmarks.transformer import (
    BATCH,
    WEIGHTS,
    Below,
    Layer,
    Stored,
    arrays_of,
    base_of,
    batches,
    falling,
    in_bytes,
    layers_of,
    linear,
)
from torch import nn
from torch.nn import functional

from willowbark.tools.reading.document import Document
from willowbark.tools.reading.encoder import FIELDS, LONGEST, LONGEST_WHOLE, SIGNS, Encoder, Pieces, Shown, shown
from willowbark.tools.reading.encoder import SENTENCES as SENTENCES_CARRY
from willowbark.tools.reading.features import View

SHARE = {"verdict": 1.0, "role": 0.5, "effect": 0.3, "kind": 0.3, "match": 0.2, "comparator": 0.15}
SENTENCES = 0.5  # of the loss: what each sentence carries
FOUND = 0.3  # of the loss: which sentence of a record carries its verdict
HIDDEN = 0.08  # of the word pieces, in training
DROPPED = 0.2
SMOOTH = 0.05
TAUGHT = 0.5  # of what is learnt of a label, where a teacher says something of it, is the teacher's
CHECKPOINT = 100


class Case(NamedTuple):
    """A label as the encoder sees it."""

    label: Label
    shown: Shown
    carrier: int | None
    """The sentence that carries the verdict."""
    taught: Mapping[str, Any] | None = None
    """What a teacher says of each field: probabilities; None without one."""


class Tuned(nn.Module):  # type: ignore[misc]
    """The layers that are tuned and their heads: fields from the first state, the drug's and the condition's;
    sentences from theirs.
    """

    def __init__(self, layers: Sequence[Layer], stored: Stored) -> None:
        super().__init__()
        self.layers, self.dropped = nn.ModuleList(layers), nn.Dropout(DROPPED)
        width, known = len(stored["norm.bias"]), "sentence" in stored
        self.heads = nn.ModuleDict(
            {
                name: linear(stored, f"field.{name}") if known else nn.Linear(3 * width, len(classes))
                for name, classes in FIELDS.items()
            }
        )
        self.sentence = linear(stored, "sentence") if known else nn.Linear(width, len(SENTENCES_CARRY))

    def forward(
        self, states: torch.Tensor, held: torch.Tensor, pieces: torch.Tensor, places: Sequence[Sequence[int]]
    ) -> tuple[dict[str, Any], torch.Tensor]:
        """The scores of each field, cases × classes, and of all sentences, one after another."""
        for layer in self.layers:
            states = layer(states, held)

        def mean(sign: str) -> torch.Tensor:
            mine = (pieces == SIGNS[sign]).unsqueeze(-1).to(states.dtype)
            return (states * mine).sum(1) / mine.sum(1).clamp(min=1)

        seen = self.dropped(torch.cat([states[:, 0], mean("DRUG"), mean("COND")], -1))
        told = self.sentence(torch.cat([states[at, list(each)] for at, each in enumerate(places)]))
        return {name: head(seen).float() for name, head in self.heads.items()}, told.float()


class Told(NamedTuple):
    """What a batch comes to."""

    fields: dict[str, Any]
    sentences: torch.Tensor


def run(model: Tuned, below: Below, cases: Sequence[Case], batch: Sequence[int]) -> Told:
    """Tell the cases of a batch."""
    states, held = below.of(batch)
    if model.training:
        states[torch.rand(held.shape) < HIDDEN] = 0
    pieces = nn.utils.rnn.pad_sequence([torch.tensor(cases[at].shown.pieces) for at in batch], True)
    with torch.autocast("cpu", torch.bfloat16):
        return Told(*model(states, held, pieces, [cases[at].shown.places for at in batch]))


def tune(
    model: Tuned, below: Below, cases: Sequence[Case], learnt: Sequence[int], options: argparse.Namespace, look: Any
) -> None:
    """Learn for some passes, the rate falling."""
    fresh = [each for name, each in model.named_parameters() if not name.startswith("layers.")]
    more = 3 if options.on else 6
    rates = [{"params": model.layers.parameters(), "lr": options.rate}, {"params": fresh, "lr": more * options.rate}]
    optimizer = torch.optim.AdamW(rates, weight_decay=0.01)
    steps = options.passes * -(-len(learnt) // BATCH)
    fall = torch.optim.lr_scheduler.LambdaLR(optimizer, falling(steps, options.end))
    began, step = time.monotonic(), 0
    for turn in range(options.passes):
        for batch in batches(cases, learnt, shuffled=True):
            model.train()
            loss = loss_of([cases[at] for at in batch], run(model, below, cases, batch))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            fall.step()
            step += 1
            if step % CHECKPOINT == 0:
                print(f"{step} of {steps} steps, {(time.monotonic() - began) / step:.2f} s a step", flush=True)
        look(f"pass {turn + 1}")


def loss_of(batch: Sequence[Case], told: Told) -> torch.Tensor:
    """How improbable the labels of a batch are."""
    heed, loss = torch.tensor([1.0 if each.label.sure else UNSURE for each in batch]), torch.zeros(())
    for name, share in SHARE.items():
        wrong = functional.cross_entropy(
            told.fields[name], torch.stack([aim(each, name) for each in batch]), reduction="none"
        )
        loss = loss + share * (wrong * heed).mean()
    carried = [
        SENTENCES_CARRY.index(CARRIED[each.label.verdict] if order == each.carrier else "0")
        for each in batch
        for order in each.shown.orders
    ]
    loss = loss + SENTENCES * functional.cross_entropy(told.sentences, torch.tensor(carried))
    found = [functional.cross_entropy(scores, torch.tensor(at)) for scores, at in of_records(batch, told.sentences)]
    return loss + FOUND * (torch.stack(found).mean() if found else 0)


def aim(case: Case, name: str) -> torch.Tensor:
    """The probabilities that are learnt for a field: the label's, smoothed, and the teacher's beside them."""
    classes = FIELDS[name]
    said = functional.one_hot(torch.tensor(classes.index(getattr(case.label, name))), len(classes)).float()
    said = (1 - SMOOTH) * said + SMOOTH / len(classes)
    return said if case.taught is None else (1 - TAUGHT) * said + TAUGHT * torch.tensor(case.taught[name])


def of_records(batch: Sequence[Case], sentences: torch.Tensor) -> Iterator[tuple[torch.Tensor, int]]:
    """How much each sentence of a record speaks for the verdict, and which of them carries it, where one does."""
    at = 0
    for each in batch:
        mine = sentences[at : at + len(each.shown.orders)]
        at += len(mine)
        if each.carrier in each.shown.orders:
            sign = SENTENCES_CARRY.index(CARRIED[each.label.verdict])
            yield mine[:, sign] - mine[:, SENTENCES_CARRY.index("0")], each.shown.orders.index(each.carrier)


def told_of(model: Tuned, below: Below, cases: Sequence[Case], which: Sequence[int]) -> dict[str, Any]:
    """What the encoder says of each field of some cases; how often it finds the telling sentence is printed."""
    model.eval()
    hits: list[bool] = []
    found = {name: np.zeros((len(which), len(classes)), np.float32) for name, classes in FIELDS.items()}
    row = {each: at for at, each in enumerate(which)}
    with torch.no_grad():
        for batch in batches(cases, which, shuffled=False):
            told = run(model, below, cases, batch)
            mine = of_records([cases[at] for at in batch], told.sentences)
            hits += [int(scores.argmax()) == at for scores, at in mine]
            for name, scores in told.fields.items():
                found[name][[row[each] for each in batch]] = scores.softmax(-1).numpy()
    print(f"the sentence with the verdict found in {100 * np.mean(hits):.1f} of {len(hits)}")
    return found


def written(start: Stored, model: Tuned, pieces: Pieces, keep: int) -> dict[str, Any]:
    """The arrays that it was tuned from, the tuned ones in their place, without the word pieces of other scripts."""
    kept = [at for at, name in enumerate(pieces.names)
            if at <= Pieces.LAST_SPECIAL or (name.isascii() and not name.startswith("[unused"))]  # fmt: skip
    found = {name: each for name, each in start.items() if name.partition(".")[0] not in ("words", "joined")}
    found |= in_bytes("words", start["words"][kept] * start["words.scale"][kept])
    found["vocabulary"] = "\n".join(pieces.names[at] for at in kept)
    found["places"] = start["places"][: max(LONGEST, LONGEST_WHOLE)].astype(np.float16)
    for at, layer in enumerate(model.layers, keep):
        found |= layer.arrays(str(at))
    for name, head in model.heads.items():
        found |= arrays_of(f"field.{name}", head)
    return found | dict(arrays_of("sentence", model.sentence))


def cases_of(
    found: Sequence[Label],
    records: dict[str, dict[str, str]],
    pieces: Pieces,
    longest: int = LONGEST,
    taught: Path | None = None,
) -> Iterator[Case]:
    """Labels as the encoder sees them, and what a teacher says of them."""
    with np.load(taught) if taught else nullcontext({}) as file:
        told = dict(file)
    row = {str(key): at for at, key in enumerate(told.pop("key", ()))}
    pages: dict[str, Document] = {}
    for label in found:
        record = records[label.pmid]
        page = pages.setdefault(label.pmid, Document(record["title"], record["abstract"]))
        view = View(page, label.drug, label.condition)
        carrier = None if label.verdict == "none" else carrier_of(label, view)
        said = {name: each[row[label.key]] for name, each in told.items()} if label.key in row else None
        yield Case(label, shown(view, pieces, longest), carrier, said)


def going_on(base: Stored) -> dict[str, Any]:
    """The package's arrays, with all words of the base, and its places beyond those that the package has."""
    with np.load(WEIGHTS) as file:
        tuned = dict(file)
    words = {name: each for name, each in base.items() if name.partition(".")[0] == "words"}
    places = np.concatenate([tuned["places"].astype(np.float32), base["places"][len(tuned["places"]) :]])
    return {**tuned, **words, "places": places}


def parted(cases: Sequence[Case]) -> tuple[list[int], list[int]]:
    """Which cases are learnt, and which are left out; those kept apart are neither."""
    hidden = {each.label.pmid for each in cases if is_apart(each.label)}
    beside_heads = {each.pmid for each in labels(EARLIER) if is_left_out(each)}
    rest = [at for at, each in enumerate(cases) if each.label.pmid not in hidden]
    left_out = [at for at in rest if cases[at].label.pmid in beside_heads]
    learnt = sorted(set(rest) - set(left_out))
    print(f"{len(cases)} labels: {len(learnt)} learnt, {len(left_out)} left out", flush=True)
    return learnt, left_out


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("abstracts", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("--on", action="store_true", help="go on from the package's weights")
    parser.add_argument("--keep", type=int, default=0, help="how many layers stay as they are")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--end", type=float, default=0.02, help="what the rate falls to, as a share of it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--taught", type=Path, help="what a larger encoder says of the labels (`train_teacher.py`)")
    parser.add_argument(
        "--heads", type=Path, help="what the heads say out of fold (`train.py --told`): join both, write the weights"
    )
    return parser.parse_args()


def main() -> None:
    """Tune, print, write."""
    options = asked()
    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(options.threads)
    with gzip.open(options.abstracts, "rt", encoding="utf-8") as file:
        records = {record["pmid"]: record for record in map(json.loads, file)}
    start = base_of(options.base)
    if options.on:
        start = going_on(start)
    pieces = Pieces((options.base / "vocab.txt").read_text(encoding="utf-8").splitlines())
    known = [each for each in labels() if each.pmid in records]
    cases = list(cases_of(known, records, pieces, taught=options.taught))
    learnt, left_out = parted(cases)
    layers = layers_of(start)
    below = Below(start, layers[: options.keep], cases)
    model = Tuned(layers[options.keep :], start)

    def look(title: str) -> float:
        """Print what it tells of the labels left out; give the loss of the verdict."""
        told = told_of(model, below, cases, left_out)
        for name in ("verdict", "role", "match"):
            truth = np.array([getattr(cases[at].label, name) for at in left_out])
            report(f"{title}, {name}", FIELDS[name], told[name], truth)
        place = [FIELDS["verdict"].index(cases[at].label.verdict) for at in left_out]
        return float(-np.log(told["verdict"][np.arange(len(place)), place] + TINY).mean())

    if options.passes:
        before = {name: each.clone() for name, each in model.state_dict().items()}
        tune(model, below, cases, learnt, options, look)
        if options.on:
            halfway(model, before, look)
    if not options.heads:
        return
    beside = Beside(options.heads, told_of(model, below, cases, left_out), [cases[at].label for at in left_out])
    settled = beside.settle()
    beside.look("left out", settled)
    if options.on:
        settled["share"] = {**json.loads(str(start["joined"]))["share"], **settled["share"]}
    kept = written(start, model, pieces, options.keep)
    np.savez(WEIGHTS, **kept, joined=json.dumps(settled))
    print(f"{WEIGHTS.stat().st_size / 1e6:.1f} MB")
    few = left_out[:100]
    told, package = told_of(model, below, cases, few)["verdict"], Encoder.load(WEIGHTS.read_bytes())
    pages = (records[cases[at].label.pmid] for at in few)
    views = (
        View(Document(x["title"], x["abstract"]), cases[at].label.drug, cases[at].label.condition)
        for at, x in zip(few, pages, strict=True)
    )
    apart_by = np.abs(np.array([package.told(view).fields["verdict"] for view in views]) - told).max(axis=1)
    print(f"as the package runs it: probabilities differ by {np.median(apart_by):.3f}, at most {apart_by.max():.3f}")


def halfway(model: Tuned, before: Mapping[str, torch.Tensor], look: Callable[[str], float]) -> None:
    """Take the mean of the states before and after, where it tells the labels left out better than the last one."""
    after = {name: each.clone() for name, each in model.state_dict().items()}
    last = look("at last")
    model.load_state_dict({name: (before[name] + each) / 2 for name, each in after.items()})
    if look("the mean of before and after") > last:
        model.load_state_dict(after)


if __name__ == "__main__":
    main()
