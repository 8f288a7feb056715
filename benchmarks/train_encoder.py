"""Tune the careful reader's encoder on labels and abstracts, and write its weights.

`make train-encoder ARGS="ABSTRACTS BASE"`: the abstracts as for `train.py`, and the folder of a BERT model as Hugging
Face's `transformers` stores it (all-MiniLM-L6-v2, Apache-2.0). Learnt is what `train.py` does not keep apart; a quarter
of the records that the heads learnt from is left out too and looked at after each pass: the shares of the two readers
are chosen on it. Sums of several threads differ in the last digit, so two trainings give the same figures, not the same
bytes.
"""

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks.careful import Beside, is_apart, is_left_out
from benchmarks.labels import EARLIER, Label, labels
from benchmarks.train import CARRIED, UNSURE, carrier_of, report
from benchmarks.train_facts_encoder import BATCH, batches, put
from torch import nn
from torch.nn import functional
from transformers import BertModel

from willowbark.tools.reading.encoder import FIELDS, LONGEST_WHOLE, SIGNS, Encoder, Pieces, Shown, shown
from willowbark.tools.reading.encoder import SENTENCES as SENTENCES_CARRY
from willowbark.tools.reading.features import Page, View

SHARE = {"verdict": 1.0, "role": 0.5, "effect": 0.3, "kind": 0.3, "match": 0.2, "comparator": 0.15}
SENTENCES = 0.5  # of the loss: what each sentence carries
FOUND = 0.3  # of the loss: which sentence of a record carries its verdict
WEIGHTS = Path(__file__).parents[1] / "tools" / "reading" / "encoder.npz"
HIDDEN = 0.08  # of the word pieces, in training
SMOOTH = 0.05
CHECKPOINT = 100


class Case(NamedTuple):
    """A label as the encoder sees it."""

    label: Label
    shown: Shown
    carrier: int | None
    """The sentence that carries the verdict."""


class Tuned(nn.Module):  # type: ignore[misc]
    """The encoder and its heads: fields from its first state, the drug's and the condition's; sentences from theirs."""

    def __init__(self, base: Path) -> None:
        super().__init__()
        self.body = BertModel.from_pretrained(
            base, add_pooling_layer=False, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0,
            hidden_act="gelu_pytorch_tanh", attn_implementation="sdpa",
        )  # fmt: skip
        self.body.embeddings.word_embeddings.weight.requires_grad_(False)
        width = self.body.config.hidden_size
        self.dropped = nn.Dropout(0.2)
        self.heads = nn.ModuleDict({name: nn.Linear(3 * width, len(classes)) for name, classes in FIELDS.items()})
        self.sentence = nn.Linear(width, 1 + len(CARRIED))

    def forward(self, pieces: torch.Tensor, places: Sequence[Sequence[int]]) -> tuple[dict[str, Any], torch.Tensor]:
        """The scores of each field, cases × classes, and of all sentences, one after another."""
        states = self.body(input_ids=pieces, attention_mask=(pieces > 0).long()).last_hidden_state

        def mean(sign: str) -> torch.Tensor:
            mine = (pieces == SIGNS[sign]).unsqueeze(-1).to(states.dtype)
            return (states * mine).sum(1) / mine.sum(1).clamp(min=1)

        seen = self.dropped(torch.cat([states[:, 0], mean("DRUG"), mean("COND")], -1))
        told = self.sentence(torch.cat([states[at, list(each)] for at, each in enumerate(places)]))
        return {name: head(seen) for name, head in self.heads.items()}, told


def padded(cases: Sequence[Case], batch: Sequence[int]) -> torch.Tensor:
    longest = max(len(cases[each].shown.pieces) for each in batch)
    found = torch.zeros(len(batch), -(-longest // 16) * 16, dtype=torch.long)
    for at, each in enumerate(batch):
        found[at, : len(cases[each].shown.pieces)] = torch.tensor(cases[each].shown.pieces)
    return found


def tune(model: Tuned, cases: Sequence[Case], learnt: Sequence[int], options: argparse.Namespace, look: Any) -> None:
    """Learn for some passes, the rate falling to nothing."""
    own = [each for name, each in model.named_parameters() if name.startswith("body.") and each.requires_grad]
    heads = [each for name, each in model.named_parameters() if not name.startswith("body.")]
    rates = [{"params": own, "lr": options.rate}, {"params": heads, "lr": 6 * options.rate}]
    optimizer = torch.optim.AdamW(rates, weight_decay=0.01)
    steps = options.passes * -(-len(learnt) // BATCH)
    fall = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(
            (step + 1) / (0.05 * steps), options.end + (1 - options.end) * (steps - step) / (0.95 * steps)
        ),
    )
    began, step = time.monotonic(), 0
    heed = torch.tensor([1.0 if each.label.sure else UNSURE for each in cases])
    place = {name: {told: at for at, told in enumerate(classes)} for name, classes in FIELDS.items()}
    signs = ("", *CARRIED)
    for turn in range(options.passes):
        model.train()
        for batch in batches(cases, learnt, shuffled=True):
            pieces = padded(cases, batch)
            pieces[(torch.rand(pieces.shape) < HIDDEN) & (pieces > max(SIGNS.values()))] = Pieces.UNKNOWN
            with torch.autocast("cpu", torch.bfloat16):
                told, sentences = model(pieces, [cases[each].shown.places for each in batch])
            loss = torch.zeros(())
            for name, share in SHARE.items():
                truth = torch.tensor([place[name][getattr(cases[each].label, name)] for each in batch])
                wrong = functional.cross_entropy(told[name].float(), truth, reduction="none", label_smoothing=SMOOTH)
                loss = loss + share * (wrong * heed[batch]).mean()
            carried = [
                signs.index(cases[each].label.verdict) if order == cases[each].carrier else 0
                for each in batch
                for order in cases[each].shown.orders
            ]
            loss = loss + SENTENCES * functional.cross_entropy(sentences.float(), torch.tensor(carried))
            loss = loss + FOUND * astray([cases[each] for each in batch], sentences.float())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            fall.step()
            step += 1
            if step % CHECKPOINT == 0:
                print(f"{step} of {steps} steps, {(time.monotonic() - began) / step:.2f} s a step", flush=True)
        look(f"pass {turn + 1}")


def of_records(batch: Sequence[Case], sentences: torch.Tensor) -> Iterator[tuple[torch.Tensor, int]]:
    """How much each sentence of a record speaks for the verdict, and which of them carries it, where one does."""
    signs, at = ("", *CARRIED), 0
    for each in batch:
        mine = sentences[at : at + len(each.shown.orders)]
        at += len(mine)
        if each.carrier in each.shown.orders:
            yield mine[:, signs.index(each.label.verdict)] - mine[:, 0], each.shown.orders.index(each.carrier)


def astray(batch: Sequence[Case], sentences: torch.Tensor) -> torch.Tensor:
    """How improbable the sentences that carry the verdicts are among those of their records."""
    told = [functional.cross_entropy(scores, torch.tensor(at)) for scores, at in of_records(batch, sentences)]
    return torch.stack(told).mean() if told else torch.zeros(())


def told_of(model: Tuned, cases: Sequence[Case], which: Sequence[int]) -> dict[str, Any]:
    """What the encoder says of each field of some cases; how often it finds the telling sentence is printed."""
    model.eval()
    hits: list[bool] = []
    found = {name: np.zeros((len(which), len(classes)), np.float32) for name, classes in FIELDS.items()}
    row = {each: at for at, each in enumerate(which)}
    with torch.no_grad():
        for batch in batches(cases, which, shuffled=False):
            with torch.autocast("cpu", torch.bfloat16):
                told, sentences = model(padded(cases, batch), [cases[each].shown.places for each in batch])
            hits += [int(scores.argmax()) == at for scores, at in of_records([cases[x] for x in batch], sentences)]
            for name, scores in told.items():
                found[name][[row[each] for each in batch]] = scores.float().softmax(-1).numpy()
    print(f"the sentence with the verdict found in {100 * np.mean(hits):.1f} of {len(hits)}")
    return found


def stored(model: Tuned, pieces: Pieces, seen: set[int], settled: dict[str, Any]) -> dict[str, Any]:
    """The weights as whole numbers of a byte, a scale for each row; word pieces that no abstract has are left out."""
    kept = sorted(at for at in range(len(pieces.names)) if at in seen or at <= Pieces.LAST_SPECIAL)
    found: dict[str, Any] = {
        "vocabulary": "\n".join(pieces.names[at] for at in kept), "joined": json.dumps(settled)
    }  # fmt: skip
    state = {name: each.detach().float().numpy() for name, each in model.state_dict().items()}
    body = {name.removeprefix("body."): each for name, each in state.items() if name.startswith("body.")}
    put(found, "words", body["embeddings.word_embeddings.weight"][kept])
    places = body["embeddings.position_embeddings.weight"] + body["embeddings.token_type_embeddings.weight"][0]
    found["places"] = places[:LONGEST_WHOLE].astype(np.float16)
    for end in ("weight", "bias"):
        found[f"norm.{end}"] = body[f"embeddings.LayerNorm.{end}"]
    for at in range(model.body.config.num_hidden_layers):
        layer = f"encoder.layer.{at}."
        asked = [layer + f"attention.self.{name}" for name in ("query", "key", "value")]
        put(found, f"{at}.asked", np.concatenate([body[f"{name}.weight"] for name in asked]))
        found[f"{at}.asked.bias"] = np.concatenate([body[f"{name}.bias"] for name in asked])
        for short, name in (
            ("heard", "attention.output.dense"),
            ("wide", "intermediate.dense"),
            ("narrow", "output.dense"),
        ):
            put(found, f"{at}.{short}", body[f"{layer}{name}.weight"])
            found[f"{at}.{short}.bias"] = body[f"{layer}{name}.bias"]
        for short, name in (("heard", "attention.output"), ("narrow", "output")):
            for end in ("weight", "bias"):
                found[f"{at}.{short}.norm.{end}"] = body[f"{layer}{name}.LayerNorm.{end}"]
    for name in FIELDS:
        put(found, f"field.{name}", state[f"heads.{name}.weight"])
        found[f"field.{name}.bias"] = state[f"heads.{name}.bias"]
    order = [("0", *CARRIED.values()).index(sign) for sign in SENTENCES_CARRY]
    put(found, "sentence", state["sentence.weight"][order])
    found["sentence.bias"] = state["sentence.bias"][order]
    return found


def cases_of(found: Sequence[Label], records: dict[str, dict[str, str]], pieces: Pieces) -> Iterator[Case]:
    """Labels as the encoder sees them."""
    pages: dict[str, Page] = {}
    for label in found:
        record = records[label.pmid]
        page = pages.setdefault(label.pmid, Page(record["title"], record["abstract"]))
        view = View(page, label.drug, label.condition)
        yield Case(label, shown(view, pieces), None if label.verdict == "none" else carrier_of(label, view))


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("abstracts", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("--start", type=Path, nargs="+", help="go on from a state, or from the mean of several")
    parser.add_argument("--state", type=Path, default=Path("encoder.pt"), help="written after each pass")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--end", type=float, default=0.02, help="what the rate falls to, as a share of it")
    parser.add_argument("--threads", type=int, default=2)
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
    pieces = Pieces((options.base / "vocab.txt").read_text(encoding="utf-8").splitlines())
    cases = list(cases_of([each for each in labels() if each.pmid in records], records, pieces))
    hidden = {each.label.pmid for each in cases if is_apart(each.label)}
    rest = [at for at, each in enumerate(cases) if each.label.pmid not in hidden]
    beside_heads = {each.pmid for each in labels(EARLIER) if is_left_out(each)}
    left_out = [at for at in rest if cases[at].label.pmid in beside_heads]
    learnt = sorted(set(rest) - set(left_out))
    print(f"{len(cases)} labels: {len(learnt)} learnt, {len(left_out)} left out", flush=True)
    model = Tuned(options.base)
    if options.start:
        states = [torch.load(path) for path in options.start]
        model.load_state_dict({name: sum(each[name] for each in states) / len(states) for name in states[0]})

    def look(title: str, which: Sequence[int] = left_out) -> None:
        told = told_of(model, cases, which)
        for name in ("verdict", "role", "match"):
            truth = np.array([getattr(cases[at].label, name) for at in which])
            report(f"{title}, {name}", FIELDS[name], told[name], truth)
        torch.save(model.state_dict(), options.state)

    if options.passes:
        tune(model, cases, learnt, options, look)
    if not options.heads:
        return
    beside = Beside(options.heads, told_of(model, cases, left_out), [cases[at].label for at in left_out])
    settled = beside.settle()
    beside.look("left out", settled)
    seen = {piece for case in cases for piece in case.shown.pieces}
    np.savez(WEIGHTS, **stored(model, pieces, seen, settled))
    print(f"{WEIGHTS.stat().st_size / 1e6:.1f} MB")
    few = left_out[:100]
    told, run = told_of(model, cases, few)["verdict"], Encoder.load(WEIGHTS.read_bytes())
    pages = (records[cases[at].label.pmid] for at in few)
    views = (
        View(Page(x["title"], x["abstract"]), cases[at].label.drug, cases[at].label.condition)
        for at, x in zip(few, pages, strict=True)
    )
    apart_by = np.abs(np.array([run.told(view).fields["verdict"] for view in views]) - told).max(axis=1)
    print(f"as the package runs it: probabilities differ by {np.median(apart_by):.3f}, at most {apart_by.max():.3f}")


if __name__ == "__main__":
    main()
