"""Trains the reader that reads a record once, from labels and a folder of abstracts to one file of weights.

    python -m benchmarks.training FOLDER [--out FOLDER] [--passes 3] [--seed 7] [--minutes 100] [--closing]
    python -m benchmarks.training --smoke

FOLDER holds abstracts (`world_half.jsonl.gz`, `corpus_half.jsonl.gz`), trials with a registered p value
(`clinifact_half.jsonl.gz`) and whole readings (`study_readings.jsonl.gz`); what is missing is left out. Labels stand in
`benchmarks/labels`. Records are cut once; the network starts from all-MiniLM-L6-v2 and is fitted, with a checkpoint
every hundred steps, from which the same command goes on; then the head over words is learnt, both are joined and the
thresholds settled on development records, and everything is written in whole numbers as `reader.npz`, with `card.json`
beside it: what was used, and what it is worth. `--minutes` lets the rate fall by the clock where that is later than by
steps: what comes out then depends on how fast the machine was. `--closing` counts on the records kept apart as well.
`--smoke` does all this in a minute or two on records of the bundled library.
"""

import argparse
import hashlib
import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks.training.calibration import Settled, describe, list_verdicts, settle
from benchmarks.training.cases import UNSURE, RecordCase, Source, cut_source, cut_sources, read_sources
from benchmarks.training.export import build_model, list_heads, measure_ranges
from benchmarks.training.fitting import Fit, Plan, predict, predict_roles, refine_roles, score
from benchmarks.training.made import make_sources
from benchmarks.training.network import Network, load_base
from benchmarks.training.thresholds import ROLE_RIGHT, find_least
from benchmarks.training.vocabulary import PACKAGE, Vocabulary, drop_seldom, find_base, read_vocabulary
from benchmarks.training.word_heads import learn_words

from willowbark.tools.reading.document import Document
from willowbark.tools.reading.fields import CONDITION_ROLES, FIELDS
from willowbark.tools.reading.learned import ROLE, THRESHOLD
from willowbark.tools.reading.pooled import load_pooled
from willowbark.tools.reading.view import Pieces, View
from willowbark.tools.reading.words import WordHead

MEASURED = 20
MOST_APART = 0.15
"""Records by which the written file is compared with the network, and by how much it may differ."""
SMOKE = Plan(epochs=1.0, size=8)


class Trained(NamedTuple):
    """A network and what was settled around it."""

    network: Network
    vocabulary: Vocabulary
    words: WordHead
    settled: Settled
    role_from: float
    """Least probability from which on the part of a condition is told."""


def train(sources: Sequence[Source], plan: Plan, out: Path, *, closing: bool) -> dict[str, Any]:
    """Train, write `reader.npz` and `card.json`, and return the card."""
    begun = time.process_time()
    base = find_base()
    vocabulary = read_vocabulary(base)
    pieces = Pieces(vocabulary.names)
    parts = _split(cut_sources(sources, pieces))
    torch.manual_seed(plan.seed)
    network = Network(len(vocabulary.names))
    load_base(network, base, vocabulary.kept, vocabulary.names)
    Fit(network, plan, out, _say).fit(parts["training"], parts["development"], pieces)
    refine_roles(network, parts["training"], plan, _say)
    all_pairs = chain.from_iterable(case.pairs for case in parts["training"])
    pairs = [pair for pair in all_pairs if "verdict" in pair.values]
    truth = np.array([pair.values["verdict"] for pair in pairs])
    words = learn_words([pair.words for pair in pairs], truth, np.array([pair.weight for pair in pairs], np.float32))
    words = WordHead.load(words.store())
    predictions = predict(network, parts["development"])
    verdicts = list_verdicts(predictions, words)
    settled = settle(verdicts, UNSURE)
    trained = Trained(network, vocabulary, words, settled, settle_roles(network, parts["development"]))
    weights = write_weights(trained, parts["training"], out / "reader.npz")
    card: dict[str, Any] = {
        "base": PACKAGE,
        "plan": plan._asdict(),
        "records": {part: len(cases) for part, cases in parts.items()},
        "labels": _count_labels(sources),
        "powers": settled.powers.round(1).tolist(),
        "shown from": settled.shown | {ROLE: trained.role_from},
        "development": {
            **describe(verdicts, settled),
            **score(predictions),
            **score_roles(network, parts["development"]),
        },
        "file": {
            "bytes": len(weights),
            "sha256": hashlib.sha256(weights).hexdigest(),
            "distance from floats": measure_difference(network, weights, sources, pieces),
        },
    }
    if closing:
        apart = predict(network, parts["closing"])
        figures = describe(list_verdicts(apart, words), settled)
        card["closing"] = {**figures, **score(apart), **score_roles(network, parts["closing"])}
    card["processor minutes"] = round((time.process_time() - begun) / 60, 1)
    (out / "card.json").write_text(json.dumps(card, indent=1), encoding="utf-8")
    return card


def _split(cases: Sequence[RecordCase]) -> dict[str, list[RecordCase]]:
    parts: dict[str, list[RecordCase]] = {"training": [], "development": [], "closing": []}
    for case in cases:
        parts[case.part].append(case)
    return parts


def _count_labels(sources: Sequence[Source]) -> dict[str, int]:
    counts = Counter(ask.source for ask in chain.from_iterable(source.asks for source in sources))
    return dict(sorted(counts.items()))


def settle_roles(network: Network, cases: Sequence[RecordCase]) -> float:
    """Return the least probability from which on the part of a condition is told rightly often enough."""
    rows = [(row.roles, chances) for _, row, chances in predict_roles(network, cases) if len(row.roles) == 1]
    if not rows:
        return 1.0
    hits = np.array([CONDITION_ROLES[chances.argmax()] in roles for roles, chances in rows])
    return find_least(np.array([chances.max() for _, chances in rows]), hits, ROLE_RIGHT)


def score_roles(network: Network, cases: Sequence[RecordCase]) -> dict[str, Any]:
    """Return how many roles of conditions are told rightly, where a reader told one."""
    rows = [(row.roles, chances) for _, row, chances in predict_roles(network, cases) if len(row.roles) == 1]
    hits = [CONDITION_ROLES[chances.argmax()] in roles for roles, chances in rows]
    targets = [(chances[:2].sum() > 0.5) == (not roles.isdisjoint(CONDITION_ROLES[:2])) for roles, chances in rows]
    if not rows:
        return {}
    return {"roles": len(rows), "role of condition": np.mean(hits).round(4), "target or not": np.mean(targets).round(4)}


def write_weights(trained: Trained, cases: Sequence[RecordCase], path: Path) -> bytes:
    """Write everything that the reader needs into one file, and return it."""
    network, vocabulary = drop_seldom(trained.network, trained.vocabulary, cases)
    model = build_model(network, vocabulary.names, measure_ranges(trained.network, cases))
    arrays: dict[str, Any] = {
        "encoder": np.frombuffer(model, np.uint8),
        **list_heads(network),
        **trained.words.store(),
        "join": trained.settled.powers,
        **{f"{THRESHOLD}{name}": np.array(least, np.float32) for name, least in trained.settled.shown.items()},
        f"{THRESHOLD}{ROLE}": np.array(trained.role_from, np.float32),
    }
    np.savez_compressed(path, **arrays)
    return path.read_bytes()


def measure_difference(network: Network, weights: bytes, sources: Sequence[Source], pieces: Pieces) -> float:
    """Return how far probabilities of the written file are from the network's, in the median of the most moved field.

    Raises:
        ValueError: they differ so much that the file must be wrong.
    """
    reader = load_pooled(weights, threads=1)
    distances = []
    for source in [source for source in sources if source.asks][:MEASURED]:
        document = Document.cut(source.title, source.text, source.types)
        for row in predict(network, [cut_source(source, pieces)]):
            answer = reader.tell_pair(View(document, row.case.ask.drug, row.case.ask.condition))
            distances.append(max(np.abs(answer.fields[name] - row.fields[name]).max() for name in FIELDS))
    distance = float(np.median(distances))
    if distance > MOST_APART:
        raise ValueError(f"the written weights tell probabilities {distance:.2f} from the network's: not to be used")
    return round(distance, 3)


def _say(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    """Read the arguments, train, print the card."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="abstracts, registered outcomes, whole readings")
    parser.add_argument("--out", type=Path, default=Path("build/reader"), help="checkpoints, weights and card")
    parser.add_argument("--passes", type=float, default=3.0, help="over all training records")
    parser.add_argument("--seed", type=int, default=Plan().seed, help="of what is drawn by chance")
    parser.add_argument("--minutes", type=float, help="wall clock by which the rate has fallen")
    parser.add_argument(
        "--threads", type=int, default=1, help="of the processor: on a busy machine one is faster than two"
    )
    parser.add_argument("--closing", action="store_true", help="count on the records kept apart as well")
    parser.add_argument("--smoke", action="store_true", help="everything on tiny data")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.smoke:
        with tempfile.TemporaryDirectory() as folder:
            card = train(make_sources(), SMOKE, Path(folder), closing=True)
    elif options.folder is None or not options.folder.is_dir():
        parser.error(f"{options.folder or 'no folder'}: name a folder with abstracts, or --smoke")
    else:
        options.out.mkdir(parents=True, exist_ok=True)
        plan = Plan(epochs=options.passes, minutes=options.minutes, seed=options.seed)
        card = train(read_sources(options.folder), plan, options.out, closing=options.closing)
    print(json.dumps(card, indent=1, default=float))


if __name__ == "__main__":
    main()
