"""Fits the network: seeded, a checkpoint every so many steps, resumes from the last one."""

import json
import math
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks.training.batches import MISSING, Batch, make_batch, order_cases, split, to_arrays
from benchmarks.training.cases import PairCase, RecordCase
from benchmarks.training.network import Answers, Network
from torch import Tensor
from torch.nn import functional

from willowbark.tools.reading.fields import FIELDS
from willowbark.tools.reading.view import Pieces

WEIGHTS = {"verdict": 1.0, "role": 0.5, "effect": 0.4, "comparator": 0.4, "match": 0.3, "kind": 0.3}
FEW = {"primary": 3.2, "indication": 2.4, "alone": 2.4}
"""Of fields with few labels: the sum over the labels of a batch is divided by all its pairs."""
SENTENCE = 0.4
SENTENCE_FIELDS = 0.15
ROLE = 0.5
PURPOSE = 0.2
RATE = 1.5e-4
DEEPER = 0.9
SIGNS = 3.0
HEADS = 5.0
"""Of the last layer; how much of it each layer below has; factors for the signs' table and for heads."""
RISE = 60
LEAST = 0.03
CLIP = 1.0
AVERAGE = 0.99
ROLE_RATE = 3e-4
ROLE_PASSES = 6
"""Of the heads for conditions, when they are fitted alone at the end."""
SAVED = 100
"""Steps between checkpoints."""


class Plan(NamedTuple):
    """How long to fit."""

    epochs: float = 3.0
    size: int = 12
    """Records a batch."""
    seed: int = 7
    minutes: float | None = None
    """Lets the rate fall by the clock where that is later than by steps; None: by steps alone."""


def count_loss(answers: Answers, batch: Batch) -> tuple[Tensor, dict[str, float]]:
    """Return the loss of a batch, and its parts."""
    parts: dict[str, Tensor] = {}
    for name, factor in (WEIGHTS | FEW).items():
        truth = batch.fields[name]
        heed = batch.weight * (truth >= 0)
        whole = batch.weight.sum() if name in FEW else heed.sum()
        if heed.any():
            losses = functional.cross_entropy(answers.fields[name], truth.clamp(min=0), reduction="none")
            parts[name] = factor * (losses * heed).sum() / whole
    marked = batch.sentence >= 0
    if marked.any():
        places = batch.sentence[marked]
        parts["sentence"] = SENTENCE * functional.cross_entropy(answers.pointed[marked], places)
        for name, scores in answers.by_sentence.items():
            truth = batch.fields[name][marked]
            own = scores[marked][torch.arange(len(places)), places]
            loss = functional.cross_entropy(own, truth, ignore_index=MISSING, reduction="sum")
            parts[f"told {name}"] = SENTENCE_FIELDS * loss / max(1, int((truth >= 0).sum()))
    if len(batch.roles):
        allowed = answers.roles.masked_fill(~batch.roles, -1e4).logsumexp(-1)
        parts["condition"] = ROLE * (answers.roles.logsumexp(-1) - allowed).mean()
    purposes = batch.purposes[batch.sentence_present]
    if (purposes >= 0).any():
        scores = answers.purposes[batch.sentence_present]
        parts["purpose"] = PURPOSE * functional.cross_entropy(scores, purposes, ignore_index=MISSING)
    return torch.stack([*parts.values()]).sum(), {name: float(value.detach()) for name, value in parts.items()}


class Fit:
    """A network while it is fitted, with the averages of its weights."""

    def __init__(self, network: Network, plan: Plan, folder: Path, say: Callable[[str], None]) -> None:
        self.network = network
        self.plan = plan
        self.folder = folder
        self.say = say
        self.own = {name: weights for name, weights in network.named_parameters() if weights.requires_grad}
        groups = [_group(name, weights) for name, weights in self.own.items()]
        self.optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.99), eps=1e-6)
        self.averages = {name: weights.detach().clone() for name, weights in self.own.items()}
        self.step = 0
        self.spent = 0.0
        self._resume()

    def _resume(self) -> None:
        path = self.folder / "last.pt"
        if path.exists():
            state = torch.load(path, weights_only=True)
            self.network.load_state_dict(state["network"], strict=False)
            self.optimizer.load_state_dict(state["optimizer"])
            self.averages = state["averages"]
            self.step = state["step"]
            self.spent = state["spent"]
            self.say(f"goes on at step {self.step}")

    def save(self) -> None:
        """Keep everything that is needed to go on."""
        state = {
            "network": _drop_words(self.network),
            "optimizer": self.optimizer.state_dict(),
            "averages": self.averages,
            "step": self.step,
            "spent": self.spent,
        }
        new = self.folder / "last.pt.new"
        torch.save(state, new)
        os.replace(new, self.folder / "last.pt")

    def swap(self) -> None:
        """Exchange the weights for their averages, or back."""
        for name, weights in self.own.items():
            weights.data, self.averages[name] = self.averages[name], weights.data

    def fit(self, cases: Sequence[RecordCase], development: Sequence[RecordCase], pieces: Pieces) -> None:
        """Fit to the end of the plan; the network then has the averages of its weights."""
        steps = math.ceil(len(cases) / self.plan.size)
        total = max(1, int(self.plan.epochs * steps))
        self.say(f"{len(cases)} records, {steps} steps a pass, {total} in all")
        begun = time.monotonic() - self.spent
        running: dict[str, float] = {}
        self.network.train()
        while self.step < total:
            at = self.step // steps
            order = order_cases(cases, self.plan.size, self.plan.seed + at)
            for chosen in order[self.step % steps :]:
                self.spent = time.monotonic() - begun
                for name, value in self._take_step(chosen, total, pieces).items():
                    running[name] = 0.97 * running.get(name, value) + 0.03 * value
                if self.step % 20 == 0:
                    parts = ", ".join(f"{name} {value:.3f}" for name, value in running.items())
                    self.say(f"{self.step}: {self.spent:.0f} s, {parts}")
                if self.step % SAVED == 0:
                    self.save()
                if self.step % steps == 0 or self.step >= total:
                    break
            self.save()
            self.swap()
            self.say(f"after {self.step / steps:.2f} passes: {json.dumps(score(predict(self.network, development)))}")
            self.swap()
            self.network.train()
            if self._measure_progress(total) >= 1:
                break
        self.swap()

    def _measure_progress(self, total: int) -> float:
        """How far fitting has come, by steps or by the clock."""
        by_clock = self.spent / (60 * self.plan.minutes) if self.plan.minutes else 0.0
        return min(1.0, max(self.step / total, by_clock))

    def _take_step(self, chosen: Sequence[RecordCase], total: int, pieces: Pieces) -> dict[str, float]:
        seed = self.plan.seed * 1_000_003 + self.step  # of each step alone, so that what is resumed goes on the same
        torch.manual_seed(seed)
        batch = make_batch(chosen, pieces, random.Random(seed))
        with torch.autocast("cpu", torch.bfloat16):
            answers = self.network(batch)
        loss, parts = count_loss(answers, batch)
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        rise = min(1.0, (self.step + 1) / RISE)
        fall = max(LEAST, 0.5 * (1 + math.cos(math.pi * self._measure_progress(total))))
        for group in self.optimizer.param_groups:
            group["lr"] = group["base"] * rise * fall
        torch.nn.utils.clip_grad_norm_(list(self.own.values()), CLIP)
        self.optimizer.step()
        self.step += 1
        share = min(AVERAGE, (1 + self.step) / (20 + self.step))
        with torch.no_grad():
            for name, weights in self.own.items():
                self.averages[name].lerp_(weights, 1 - share)
        return parts


def refine_roles(network: Network, cases: Sequence[RecordCase], plan: Plan, say: Callable[[str], None]) -> None:
    """Fit the heads for conditions alone, on conditions whose role a reader told; everything else stays as it is."""
    chosen = [_keep_certain(case) for case in cases]
    chosen = [case for case in chosen if case.conditions]
    own = [weights for name, weights in network.named_parameters() if name.startswith("condition_")]
    network.requires_grad_(False)
    for weights in own:
        weights.requires_grad_(True)
    optimizer = torch.optim.AdamW(own, lr=ROLE_RATE, weight_decay=0.05)
    torch.manual_seed(plan.seed)
    network.train()
    for turn in range(ROLE_PASSES if chosen else 0):
        losses = []
        for batch_cases in order_cases(chosen, plan.size, plan.seed + turn):
            batch = make_batch(batch_cases)
            with torch.autocast("cpu", torch.bfloat16):
                answers = network(batch)
            truth = batch.roles.long().argmax(-1)
            loss = functional.cross_entropy(answers.roles, truth)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        say(f"roles of conditions, {len(chosen)} records, pass {turn + 1}: {np.mean(losses):.3f}")


def _keep_certain(case: RecordCase) -> RecordCase:
    """Return a record with one pair, which a batch needs, and the conditions whose role is told."""
    certain = tuple(row for row in case.conditions if len(row.roles) == 1)
    return case._replace(pairs=case.pairs[:1], conditions=certain if case.pairs else ())


def _group(name: str, weights: Tensor) -> dict[str, Any]:
    """Return an optimiser's group: deeper layers learn slower, heads and signs faster."""
    parts = name.split(".")
    if parts[0] != "encoder":
        rate = RATE * HEADS
    elif parts[1] == "signs":
        rate = RATE * SIGNS
    else:
        below = 5 - int(parts[2]) if parts[1] == "layers" else 6
        rate = RATE * DEEPER**below
    return {"params": [weights], "lr": rate, "base": rate, "weight_decay": 0.01 if weights.dim() > 1 else 0.0}


def _drop_words(network: Network) -> dict[str, Tensor]:
    return {name: weights for name, weights in network.state_dict().items() if name != "encoder.words.weight"}


class Prediction(NamedTuple):
    """What the network tells of a pair: probabilities by field, and of each sentence that it carries the verdict."""

    pmid: str
    case: PairCase
    fields: dict[str, Any]
    pointed: Any


def predict(network: Network, cases: Sequence[RecordCase], size: int = 16) -> list[Prediction]:
    """Predict the pairs of records."""
    network.eval()
    predictions = []
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for chosen in split([case for case in cases if case.pairs], size):
            batch = make_batch(chosen)
            answers = network(batch)
            fields = to_arrays(answers.fields)
            pointed = answers.pointed.softmax(-1).numpy()
            for at, (pmid, case) in enumerate(batch.cases):
                own = {name: values[at] for name, values in fields.items()}
                predictions.append(Prediction(pmid, case, own, pointed[at]))
    return predictions


def predict_roles(network: Network, cases: Sequence[RecordCase], size: int = 16) -> list[tuple[str, Any, Any]]:
    """Predict the roles of conditions: PMID, case, probabilities."""
    network.eval()
    predictions = []
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for chosen in split([case for case in cases if case.conditions], size):
            roles = network(make_batch(chosen)).roles.softmax(-1).numpy()
            own_roles = iter(roles)  # in the order of the records and their conditions
            for case in chosen:
                predictions += [(case.pmid, row, next(own_roles)) for row in case.conditions]
    return predictions


def score(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """Return how many labelled verdicts and fields are told rightly."""
    rows = [row for row in predictions if "verdict" in row.case.values]
    truth = np.array([row.case.values["verdict"] for row in rows])
    chances = np.array([row.fields["verdict"] for row in rows])
    verdicts = chances.argmax(1)
    result: dict[str, Any] = {"pairs": len(rows), "verdict": round(float((verdicts == truth).mean()), 4)}
    result["loss"] = round(float(-np.log(chances[np.arange(len(truth)), truth] + 1e-9).mean()), 4)
    for name in ("supports", "contradicts"):
        at = FIELDS["verdict"].index(name)
        right = float((verdicts[truth == at] == at).sum())
        result[name] = f"{right / max(1, (verdicts == at).sum()):.3f}/{right / max(1, (truth == at).sum()):.3f}"
    for name in ("role", "match", "kind", "effect", "comparator", "primary", "indication", "alone"):
        own = [row for row in predictions if name in row.case.values]
        hits = [row.fields[name].argmax() == row.case.values[name] for row in own]
        result[name] = round(float(np.mean(hits)), 4) if hits else None
    return result
