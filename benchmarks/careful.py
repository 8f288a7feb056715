"""What the careful reader is worth beside the heads alone, on labels that neither had learnt from.

    python -m benchmarks.careful ABSTRACTS HEADS

ABSTRACTS as for `train.py`, HEADS what `train.py --told` writes: what the heads say out of fold. The encoder is run as
the package runs it. Printed are the figures on the quarter that shares and thresholds were chosen on, and on the part
kept apart, which is for closing figures only; then how often two drugs compared stand as the heads read them out of
fold, what results in figures tell, on records that the heads learnt from, and how often the heads alone quote the
sentence that a label names, on records that they did not learn from.
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.labels import EARLIER, Label, labels
from benchmarks.train import (
    APART,
    LEAN,
    UNSURE,
    bucket,
    calibration,
    carrier_of,
    macro_f1,
    report,
    sharpened,
    sure_from,
)

from willowbark.tools.reading.document import Document
from willowbark.tools.reading.encoder import BEYOND_DOUBT, FIELDS, encoder
from willowbark.tools.reading.features import View
from willowbark.tools.reading.learned import LearnedReader
from willowbark.tools.reading.reading import SURE_OF_HARM

TINY = 1e-9
_COMPARED = frozenset(("tested", "comparator", "combined"))
_RIGHT = ("better", "worse")
_TELLS = {1: "tell the result behind the verdict", 2: "a side of it", 0: "something else"}


class Beside:
    """What the heads say out of fold of some cases, as `train.py --told` writes it, and the encoder beside them."""

    def __init__(self, kept: Path, told: Mapping[str, Any], found: Sequence[Label]) -> None:
        heads = np.load(kept)
        row = {str(key): at for at, key in enumerate(heads["key"])}
        both = [at for at, each in enumerate(found) if each.key in row]
        self.labels = [found[at] for at in both]
        rows = [row[each.key] for each in self.labels]
        self._said = {name: (np.log(heads[name][rows] + TINY), np.log(told[name][both] + TINY)) for name in FIELDS}

    def truth(self, name: str) -> Any:
        return np.array([getattr(each, name) for each in self.labels])

    def pooled(self, name: str, share: float) -> Any:
        heads, encoder = self._said[name]
        return sharpened(np.exp((1 - share) * heads + share * encoder), 1.0)

    def share(self, name: str) -> float:
        """How much the encoder has to count for the labels to be most probable."""
        place = [FIELDS[name].index(each) for each in self.truth(name)]

        def loss(share: float) -> float:
            return float(-np.log(self.pooled(name, share)[np.arange(len(place)), place] + TINY).mean())

        best = float(min(np.arange(0, 1.01, 0.05), key=loss).round(2))
        print(f"{name}: the encoder counts {best}; loss {loss(0):.3f} and {loss(1):.3f}, joined {loss(best):.3f}")
        return best

    def settle(self) -> dict[str, Any]:
        """Choose the shares, the sharpness and from where on a verdict counts."""
        share = {name: self.share(name) for name in FIELDS}
        names, told = list(FIELDS["verdict"]), self.pooled("verdict", share["verdict"])
        heed = np.array([1.0 if each.sure else UNSURE for each in self.labels])
        sharpness = calibration(names, told, self.truth("verdict"), heed)
        sure, _ = sure_from(names, sharpened(told, sharpness), self.truth("verdict"))
        lean = {**LEAN, **self.leant("role", share["role"])}
        return {"share": {**share, "sentence": 0.5}, "sharpness": sharpness, "lean": lean, "sure": sure}

    def leant(self, name: str, share: float) -> dict[str, float]:
        """What is added to the score of each class for the mean F1 to be best: seldom ones are told too seldom."""
        scores, truth = np.log(self.pooled(name, share) + TINY), self.truth(name)
        classes = FIELDS[name]
        lean = np.zeros(len(classes))
        for at in [*range(len(classes))] * 2:
            tried = [(macro_f1(classes, scores + lean + step * np.eye(len(classes))[at], truth), -abs(step), step)
                     for step in np.arange(-0.6, 1.21, 0.1)]  # fmt: skip
            lean[at] += max(tried)[-1]
        return dict(zip(classes, map(float, lean.clip(-1, 1.5).round(2)), strict=True))

    def look_at_harm(self, title: str, share: Mapping[str, float]) -> None:
        """Print how often a record that the heads, or both, read as surely reporting harm does."""
        told_as = {"kind": "harm", "effect": "worse", "role": "cause"}
        told = (self.truth("kind") == "harm") & (self.truth("effect") == "worse") | (self.truth("role") == "cause")
        for who, by in (("heads", dict.fromkeys(FIELDS, 0.0)), ("joined", share)):
            kind, effect, role = (
                self.pooled(name, by[name])[:, FIELDS[name].index(of)] for name, of in told_as.items()
            )
            shown = np.maximum(kind * effect, role) >= SURE_OF_HARM
            figures = f"{100 * told[shown].mean():.0f} % right, recall {100 * shown[told].mean():.0f}"
            print(f"{title}, harm from {SURE_OF_HARM} on, {who}: {shown.sum()} shown, {figures}")
        kind, effect = (np.array(FIELDS[name])[self.pooled(name, 0.0).argmax(axis=1)] for name in ("kind", "effect"))
        no_more = (kind == "harm") & np.isin(effect, ("no_difference", "better"))
        truth = (self.truth("kind") == "harm") & np.isin(self.truth("effect"), ("no_difference", "better"))
        print(f"{title}, no more harm, heads: {no_more.sum()} read so, {100 * truth[no_more].mean():.0f} % right")

    def look(self, title: str, settled: Mapping[str, Any]) -> None:
        """Print the figures of the heads, of the encoder and of both; of both where no colleague would disagree too."""
        for name in ("verdict", "role", "match", "effect"):
            sharpness = settled["sharpness"] if name == "verdict" else 1.0
            for who, share in (("heads", 0.0), ("encoder", 1.0), ("joined", settled["share"][name])):
                told = sharpened(self.pooled(name, share), sharpness if who == "joined" else 1.0)
                lean = settled["lean"] if who == "joined" else LEAN
                report(f"{title}, {name}, {who}", FIELDS[name], told, self.truth(name), lean)
            sure = np.array([each.sure for each in self.labels])
            report(f"{title}, {name}, joined, sure labels", FIELDS[name], told[sure], self.truth(name)[sure], lean)
        self.look_at_harm(title, settled["share"])
        told = sharpened(self.pooled("verdict", settled["share"]["verdict"]), settled["sharpness"])
        truth = self.truth("verdict")
        heads = np.exp(self._said["verdict"][0])
        asked = heads[:, FIELDS["verdict"].index("none")] < BEYOND_DOUBT
        in_a_run = np.where(asked[:, None], told, heads)
        title = f"{title}, verdict, as in a run, {100 * asked.mean():.0f} % of them read with the encoder"
        report(title, FIELDS["verdict"], in_a_run, truth, settled["lean"])
        for name, least in settled["sure"].items():
            chance = told[:, FIELDS["verdict"].index(name)]
            shown = (chance >= least) & (chance == told.max(axis=1))
            right = truth[shown] == name
            recall = right.sum() / (truth == name).sum()
            figures = f"{shown.sum()} shown, {100 * right.mean():.0f} % right, recall {100 * recall:.0f}"
            print(f"{name} from {least} on: {figures}")


def is_apart(label: Label) -> bool:
    """Whether a label is for closing figures only."""
    return bucket("fold" + label.pmid, 20) >= 16 or label.condition in APART


def is_left_out(label: Label) -> bool:
    """Whether the encoder did not learn from a label that is not kept apart."""
    return bucket("fold" + label.pmid, 4) == 0


def quotes(found: Sequence[Label], records: Mapping[str, Mapping[str, str]]) -> None:
    """Print how often a reading with the label's verdict quotes the label's sentence, and one that names the drug."""
    reader, same, named = LearnedReader(), list[bool](), list[bool]()
    for label in found:
        page = Document(records[label.pmid]["title"], records[label.pmid]["abstract"])
        view = View(page, label.drug, label.condition)
        reading, at = reader.read_document(page, label.drug, label.condition), carrier_of(label, view)
        if reading.verdict == label.verdict and at is not None and reading.passages:
            starts = [each.start for each in page.sentences]
            quoted = starts.index(reading.passages[0].start)
            same.append(quoted == at)
            named.append("DRUG" in view.sentences[quoted])
    told = f"{100 * np.mean(same):.0f} % are the label's, {100 * np.mean(named):.0f} % name the drug"
    print(f"{len(same)} quotes: {told}")


def head_to_head(found: Sequence[Label], kept: Path) -> None:
    """Print how often two drugs that heads, out of fold, read as compared stand as read: by one reading, and by both.

    Right is what the label of either drug says, where it has the drug compared with an active one.
    """
    heads = dict(np.load(kept))
    row = {str(key): at for at, key in enumerate(heads.pop("key"))}
    groups: dict[tuple[str, str], list[Label]] = {}
    for label in found:
        if label.key in row:
            groups.setdefault((label.pmid, label.condition), []).append(label)

    def said(label: Label, name: str) -> str:
        return str(FIELDS[name][int(heads[name][row[label.key]].argmax())])

    def is_compared(label: Label) -> bool:
        return said(label, "comparator") == "active" and said(label, "role") in _COMPARED

    counts = {by: Counter[bool]() for by in ("one reading", "both")}
    for pair in (pair for group in groups.values() for pair in permutations(group, 2)):
        effects = [said(each, "effect") for each in pair]
        if not is_compared(pair[0]) or effects[0] != "better":
            continue
        labels_say = [(each.effect, want) for each, want in zip(pair, _RIGHT, strict=True)
                      if each.comparator == "active"]  # fmt: skip
        right = bool(labels_say) and labels_say[0][0] == labels_say[0][1]
        counts["one reading"][right] += 1
        if is_compared(pair[1]) and effects[1] == "worse":
            counts["both"][right] += 1
    told = (
        f"{100 * each[True] / max(1, each.total()):.0f} % right of {each.total()} by {by}"
        for by, each in counts.items()
    )
    print(f"one drug better than another: {', '.join(told)}")


def in_figures(records: Mapping[str, Mapping[str, str]]) -> None:
    """Print how often a result shown in figures tells the one behind the verdict, as `labels/in_figures.tsv` says."""
    lines = (Path(__file__).parent / "labels" / "in_figures.tsv").read_text(encoding="utf-8").splitlines()[1:]
    reader, tells = LearnedReader(), list[int]()
    for pmid, drug, condition, start, _, told in (line.split("\t") for line in lines):
        found = reader.read_document(
            Document(records[pmid]["title"], records[pmid]["abstract"]), drug, condition
        ).in_figures
        if found and found.start == int(start):
            tells.append(int(told))
    shares = ", ".join(f"{100 * tells.count(n) / len(tells):.0f} % {what}" for n, what in _TELLS.items())
    print(f"{len(tells)} results in figures: {shares}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("abstracts", type=Path)
    parser.add_argument("heads", type=Path)
    options = parser.parse_args()
    with gzip.open(options.abstracts, "rt", encoding="utf-8") as file:
        records = {record["pmid"]: record for record in map(json.loads, file)}
    known = [each for each in labels(EARLIER) if each.pmid in records]
    apart = [each for each in known if is_apart(each)]
    hidden = {each.pmid for each in apart}
    left_out = [each for each in known if each.pmid not in hidden and is_left_out(each)]
    tuned = encoder()
    settled = {**tuned.joined.settled._asdict(), "share": tuned.joined.share}
    for title, found in (("left out", left_out), ("kept apart", apart)):
        told: dict[str, list[Any]] = {name: [] for name in FIELDS}
        for label in found:
            record = records[label.pmid]
            said = tuned.told(View(Document(record["title"], record["abstract"]), label.drug, label.condition))
            for name, chances in said.fields.items():
                told[name].append(chances)
        Beside(options.heads, {name: np.array(each) for name, each in told.items()}, found).look(title, settled)
    learnt = {each.pmid for each in known}
    head_to_head(known, options.heads)
    in_figures(records)
    quotes([each for each in labels() if each.pmid in records.keys() - learnt and each.verdict != "none"], records)


if __name__ == "__main__":
    main()
