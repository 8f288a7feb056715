"""Make the learned reader's weights from labels and abstracts: the same bytes each time.

`make train ARGS=path/to/abstracts.jsonl.gz` (one JSON object a line with `pmid`, `title`, `abstract`; abstracts never
enter the repository). The hash of what was learnt is printed: `make train-twice` compares two. `--check` prints
cross-validation by PMID and by condition and writes nothing; `--closing` looks at the part kept apart as well, which is
for closing figures only.
"""

import argparse
import base64
import gzip
import hashlib
import json
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.labels import EARLIER, Label, labels
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from willowbark.tools.reading import text as zones
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.features import View, features
from willowbark.tools.reading.heads import Head, Trees
from willowbark.tools.reading.learned import context_of, named, sentence_features, summed, telling
from willowbark.tools.reading.signs import signs

WEIGHTS = Path(__file__).parents[1] / "tools" / "reading" / "weights.json"
FIELDS = ("role", "verdict", "effect", "kind", "comparator", "match")
CARRIED = {"supports": "+", "contradicts": "-", "neutral": "~"}
UNSURE = 0.6  # weight of a label with which a colleague could disagree
DOUBLE = 0.7  # weight of each of two labels of a triple
APART = frozenset(
    {"pneumonia", "peripheral neuropathy", "chronic pain", "alzheimer's disease", "acute coronary syndrome", "gout",
     "confusion", "oesophageal varices"}
)  # fmt: skip
FOLDS = 4


class Linear(NamedTuple):
    """A linear head as it is learnt."""

    classes: list[str]
    names: list[str]
    weights: Any
    bias: Any

    def stored(self) -> dict[str, Any]:
        """Whole numbers of a byte, in base64, with their scale."""
        scale = float(np.float32(np.abs(self.weights).max() / 127))
        whole = np.round(self.weights / scale).astype(np.int8)
        return {
            "classes": self.classes,
            "scale": float(f"{scale:.6g}"),
            "bias": [float(f"{each:.4g}") for each in self.bias],
            "features": "\t".join(self.names),
            "weights": base64.b64encode(np.ascontiguousarray(whole).tobytes()).decode(),
        }


def bucket(text: str, count: int) -> int:
    """A number below `count` by SHA-256: the same on every machine."""
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % count


def matrix(rows: Sequence[Iterable[str]], names: Sequence[str]) -> csr_matrix:
    """Rows of features as a sparse matrix of ones, in the order of the names: sums depend on it in the last digit."""
    place = {name: at for at, name in enumerate(names)}
    found: list[int] = []
    ends = [0]
    for row in rows:
        found.extend(sorted(place[name] for name in row if name in place))
        ends.append(len(found))
    return csr_matrix((np.ones(len(found), np.float32), found, ends), shape=(len(rows), len(names)))


def frequent(rows: Sequence[Iterable[str]], least: int) -> list[str]:
    """Features that at least so many rows have, sorted."""
    counts = Counter(name for row in rows for name in row)
    return sorted(name for name, count in counts.items() if count >= least and "\t" not in name)


def telling_columns(table: csr_matrix, truth: Any, count: int) -> Any:
    """The columns that differ most from chance between classes, in order."""
    total = np.asarray(table.sum(axis=0)).ravel()
    best = np.zeros(table.shape[1])
    for name in sorted(set(truth)):
        mine = truth == name
        share = mine.mean()
        seen = np.asarray(table[mine].sum(axis=0)).ravel()
        best = np.maximum(best, np.abs(seen - total * share) / np.sqrt(total * share * (1 - share) + 1))
    return np.sort(np.argsort(-best, kind="stable")[:count])


def linear(table: csr_matrix, names: Sequence[str], truth: Any, heed: Any, *, strength: float, count: int) -> Linear:
    """Learn a linear head on the most telling columns."""
    kept = telling_columns(table, truth, count)
    model = LogisticRegression(C=strength, max_iter=60).fit(table[:, kept], truth, sample_weight=heed)
    return Linear([str(each) for each in model.classes_], [names[at] for at in kept], model.coef_.T, model.intercept_)


def probabilities(head: Linear, table: csr_matrix, place: Mapping[str, int]) -> Any:
    """What a linear head says of rows."""
    scores = table[:, [place[name] for name in head.names]] @ head.weights + head.bias
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)


def zone_head(records: Iterable[Mapping[str, str]]) -> Linear:
    """Learn what sentences are for from abstracts that label their own parts."""
    rows: list[list[str]] = []
    truth: list[str] = []
    for record in records:
        page = Document(record["title"], record["abstract"])
        sentences = page.sentences
        if not page.is_structured:
            continue
        for order, sentence in enumerate(sentences):
            if order == 0 or sentence.headed is None:
                continue
            first = _after_heading(page, order)
            words = [word for word in page.words[first : sentence.last] if word]
            if words:
                rows.append(zones.zone_features(words, order, len(sentences)))
                truth.append(zones.ZONES[sentence.headed])
    names = frequent(rows, 6)
    return linear(matrix(rows, names), names, np.array(truth), None, strength=0.1, count=4000)


def _after_heading(text: Document, order: int) -> int:
    """The first token after a sentence's heading, if it has one."""
    sentence = text.sentences[order]
    colon = text.whole.find(":", sentence.start, min(sentence.end, sentence.start + 50))
    if colon < 0:
        return sentence.first
    return next((at for at in range(sentence.first, sentence.last) if text.tokens[at].start > colon), sentence.first)


class Cases:
    """Labels with their views and features."""

    def __init__(self, found: Sequence[Label], records: Mapping[str, Mapping[str, str]], zone: Head) -> None:
        self.labels = [each for each in found if each.pmid in records]
        pages: dict[str, Document] = {}
        self.views: list[View] = []
        for each in self.labels:
            record = records[each.pmid]
            page = pages.setdefault(each.pmid, Document(record["title"], record["abstract"], zone=zone))
            self.views.append(View(page, each.drug, each.condition))
        twice = Counter(each.triple for each in self.labels)
        self.heed = np.array(
            [(1.0 if x.sure else UNSURE) * (DOUBLE if twice[x.triple] > 1 else 1.0) for x in self.labels]
        )
        self.truth = {name: np.array([getattr(each, name) for each in self.labels]) for name in FIELDS}
        rows = [features(view) for view in self.views]
        self.names = frequent(rows, 5)
        self.table = matrix(rows, self.names)
        self._sentences()
        self.signs = [signs(view) for view in self.views]

    def _sentences(self) -> None:
        """A row for each sentence that could carry a verdict, and what it carries."""
        rows, truth, heed, owner = [], [], [], []
        for at, (label, view) in enumerate(zip(self.labels, self.views, strict=True)):
            context, carrier = context_of(view), carrier_of(label, view)
            for order in telling(view):
                rows.append(sentence_features(view, order, context))
                owner.append((at, order))
                carries = order == carrier and label.verdict != "none"
                truth.append(CARRIED[label.verdict] if carries else "0")
                spoken = label.verdict != "none" and view.document.zones[order] in "RC" and not carries
                heed.append(self.heed[at] * (0.3 if spoken else 1.0))
        self.sentence_names = frequent(rows, 6)
        self.sentence_table = matrix(rows, self.sentence_names)
        self.sentence_truth, self.sentence_heed = np.array(truth), np.array(heed)
        self.owner = np.array(owner)


def carrier_of(label: Label, view: View) -> int | None:
    """The sentence that overlaps most with the label's; None where there is none."""
    if label.start is None or label.end is None:
        return None
    shared = [min(label.end, s.end) - max(label.start, s.start) for s in view.document.sentences]
    best = int(np.argmax(shared))
    return best if shared[best] > 0 else None


class First(NamedTuple):
    """The linear heads of one training."""

    fields: dict[str, Linear]
    sentence: Linear


def learn_first(cases: Cases, rows: Any) -> First:
    """Learn the linear heads from some of the cases."""
    fields = {
        name: linear(
            cases.table[rows], cases.names, cases.truth[name][rows], cases.heed[rows], strength=0.03, count=3500
        )
        for name in FIELDS
    }
    own = np.isin(cases.owner[:, 0], rows)
    sentence = linear(
        cases.sentence_table[own], cases.sentence_names, cases.sentence_truth[own], cases.sentence_heed[own],
        strength=0.05, count=5000,
    )  # fmt: skip
    return First(fields, sentence)


def apply_first(cases: Cases, first: First, rows: Any) -> dict[int, dict[str, float]]:
    """What the linear heads say of some of the cases, as numbers with names."""
    place = {name: at for at, name in enumerate(cases.names)}
    found: dict[int, dict[str, float]] = {int(at): {} for at in rows}
    for field in FIELDS:
        head = first.fields[field]
        for at, told in zip(rows, probabilities(head, cases.table[rows], place), strict=True):
            found[int(at)].update(named(field, head.classes, told))
    own = np.where(np.isin(cases.owner[:, 0], rows))[0]
    place = {name: at for at, name in enumerate(cases.sentence_names)}
    said: dict[int, dict[int, Any]] = defaultdict(dict)
    for each, told in zip(own, probabilities(first.sentence, cases.sentence_table[own], place), strict=True):
        at, order = cases.owner[each]
        said[int(at)][int(order)] = told
    for each in rows:
        found[int(each)].update(summed(cases.views[each], said[int(each)], first.sentence.classes))
    return found


def second_table(cases: Cases, told: Mapping[int, Mapping[str, float]]) -> tuple[list[str], Any]:
    """The numbers the trees look at, those that are seldom other than 0 left out."""
    rows = [{**cases.signs[at], **told[at]} for at in range(len(cases.labels))]
    counts = Counter(name for row in rows for name, value in row.items() if value)
    columns = sorted(name for name, count in counts.items() if count >= 25)
    return columns, np.array([[row.get(name, 0.0) for name in columns] for row in rows], np.float32)


def trees(table: Any, truth: Any, heed: Any, rounds: int) -> HistGradientBoostingClassifier:
    """Learn boosted trees: small, slow and each on a fifth of the columns."""
    model = HistGradientBoostingClassifier(
        max_iter=rounds, learning_rate=0.08, max_leaf_nodes=10, min_samples_leaf=20, l2_regularization=3.0,
        max_features=0.2, max_bins=32, early_stopping=False, random_state=0,
    )  # fmt: skip
    return model.fit(table, truth, sample_weight=heed)


def stored_trees(model: HistGradientBoostingClassifier, columns: Sequence[str]) -> dict[str, Any]:
    """Trees as flat lists: a node's column, threshold, left child (the right one follows it) and value."""
    feature: list[int] = []
    threshold: list[float] = []
    left: list[int] = []
    value: list[int] = []
    roots: list[int] = []
    deepest = 0
    for ensemble in model._predictors:
        for predictor in ensemble:
            nodes = predictor.nodes
            roots.append(len(feature))
            waiting = [(0, len(feature), 0)]
            _grow(feature, threshold, left, value)
            while waiting:
                source, target, depth = waiting.pop(0)
                node = nodes[source]
                deepest = max(deepest, depth)
                if node["is_leaf"]:
                    left[target], value[target] = target, round(float(node["value"]) * 1e4)
                    continue
                feature[target], left[target] = int(node["feature_idx"]), len(feature)
                threshold[target] = float(f"{node['num_threshold']:.5g}")
                for child in (node["left"], node["right"]):
                    waiting.append((int(child), len(feature), depth + 1))
                    _grow(feature, threshold, left, value)
    return {
        "classes": [str(each) for each in model.classes_],
        "bias": [float(f"{each:.5g}") for each in model._baseline_prediction.ravel()],
        "depth": deepest,
        "columns": list(columns),
        "roots": roots, "feature": feature, "threshold": threshold, "left": left, "value": value,
    }  # fmt: skip


def _grow(feature: list[int], threshold: list[float], left: list[int], value: list[int]) -> None:
    feature.append(0)
    threshold.append(1e30)
    left.append(0)
    value.append(0)


ROUNDS = {"verdict": 70, "role": 50}


def crossed(cases: Cases, folds: Any) -> tuple[dict[int, dict[str, float]], dict[str, tuple[list[str], Any]]]:
    """Predictions of every case in a fold of 0 and more by what was learnt on the other folds; folds of -1 stay out."""
    told: dict[int, dict[str, float]] = {}
    for fold in range(FOLDS):
        rest, mine = np.where((folds != fold) & (folds >= 0))[0], np.where(folds == fold)[0]
        told.update(apply_first(cases, learn_first(cases, rest), mine))
    told.update({at: {} for at in np.where(folds < 0)[0]})
    _, table = second_table(cases, told)
    found: dict[str, tuple[list[str], Any]] = {}
    for name, rounds in ROUNDS.items():
        classes = sorted(set(cases.truth[name]))
        chances = np.zeros((len(table), len(classes)))
        for fold in range(FOLDS):
            rest, mine = (folds != fold) & (folds >= 0), folds == fold
            model = trees(table[rest], cases.truth[name][rest], cases.heed[rest], rounds)
            chances[np.ix_(mine, [classes.index(each) for each in model.classes_])] = model.predict_proba(table[mine])
        found[name] = classes, chances
    return told, found


def calibration(classes: Sequence[str], chances: Any, truth: Any, heed: Any) -> float:
    """The exponent under which the probabilities tell the truth best."""
    place = np.array([classes.index(each) for each in truth])

    def loss(sharpness: float) -> float:
        sharp = np.clip(chances, 1e-6, 1) ** sharpness
        sharp /= sharp.sum(axis=1, keepdims=True)
        return float(-(heed * np.log(sharp[np.arange(len(place)), place])).sum())

    return float(min(np.arange(0.5, 1.61, 0.05), key=loss).round(2))


LEAN = {"supports": -0.6, "contradicts": 0.0, "neutral": 0.0, "none": 0.0, "complication": 1.3}
"""Log odds: a wrong support costs most, and what helps with a complication alone is less sure to help."""

SHOWN = {
    "supports": 0.85,
    "contradicts": 0.75,
}  # the share due to be right of what a report shows


def sure_from(
    classes: Sequence[str], chances: Any, truth: Any
) -> tuple[dict[str, float], dict[str, tuple[float, float, float]]]:
    """The probabilities from which on verdicts are right often enough; before, then after: precision, and recall."""
    scores = np.log(np.clip(chances, 1e-9, 1)) + np.array([LEAN[name] for name in classes])
    guess = np.array(classes)[scores.argmax(axis=1)]
    sure: dict[str, float] = {}
    figures: dict[str, tuple[float, float, float]] = {}
    for name, due in SHOWN.items():
        chance, right, given = chances[:, classes.index(name)], truth == name, guess == name
        steps = [float(step) for step in np.arange(0.3, 0.951, 0.01).round(2)]
        sure[name] = next((s for s in steps if right[given & (chance >= s)].mean() >= due), steps[-1])
        kept = given & (chance >= sure[name])
        figures[name] = right[given].mean(), right[kept].mean(), kept[right].mean()
    return sure, figures


def report(
    title: str, classes: Sequence[str], chances: Any, truth: Any, lean: Mapping[str, float] | None = None
) -> None:
    """Print accuracy, macro-F1, precision and recall of each class, and the calibration error."""
    scores = np.log(np.clip(chances, 1e-9, 1)) + np.array([(lean or {}).get(name, 0.0) for name in classes])
    best = scores.argmax(axis=1)
    guess = np.array(classes)[best]
    print(f"{title}: n {len(truth)}, accuracy {100 * (guess == truth).mean():.1f}", end="")
    lines, marks = [], []
    for name in classes:
        hit = ((guess == name) & (truth == name)).sum()
        precision, recall = hit / max(1, (guess == name).sum()), hit / max(1, (truth == name).sum())
        marks.append(2 * precision * recall / max(1e-9, precision + recall))
        lines.append(f"{name} {100 * precision:.0f}/{100 * recall:.0f} (n {(truth == name).sum()})")
    sure = chances[np.arange(len(best)), best]
    bins = np.minimum((sure * 10).astype(int), 9)
    right = guess == truth
    error = sum(abs(sure[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean() for b in set(bins))
    print(f", macro-F1 {100 * np.mean(marks):.1f}, calibration error {error:.3f}\n    " + ", ".join(lines))
    if "none" in classes:
        quiet = np.isin(truth, ("none", "neutral"))
        print(f"    neutral and none kept {100 * np.isin(guess[quiet], ('none', 'neutral')).mean():.1f}")


def spread(classes: Sequence[str], chances: Any, truth: Any, folds: Any) -> str:
    """The accuracy in each fold."""
    right = np.array(classes)[chances.argmax(axis=1)] == truth
    return " ".join(f"{100 * right[folds == fold].mean():.1f}" for fold in range(FOLDS))


def folds_of(cases: Cases, key: Callable[[Label], str], apart: Any) -> Any:
    """A fold for each case by a hash of its key; -1 for those kept apart."""
    return np.where(apart, -1, [bucket("fold" + key(each), FOLDS) for each in cases.labels])


def macro_f1(classes: Sequence[str], scores: Any, truth: Any) -> float:
    """The mean F1 of the classes, 0 to 1."""
    guess = np.array(classes)[scores.argmax(axis=1)]
    hits = [(((guess == name) & (truth == name)).sum(), (guess == name).sum() + (truth == name).sum())
            for name in classes]  # fmt: skip
    return float(np.mean([2 * hit / max(1, told) for hit, told in hits]))


def sharpened(chances: Any, sharpness: float) -> Any:
    sharp = np.clip(chances, 1e-9, 1) ** sharpness
    return sharp / sharp.sum(axis=1, keepdims=True)


def finished(cases: Cases, told: dict[int, dict[str, float]], rows: Any) -> tuple[First, dict[str, Any], list[str]]:
    """The heads learnt from all of some cases: linear ones, then trees on what linear ones say out of fold."""
    first = learn_first(cases, rows)
    columns, table = second_table(cases, told)
    second = {
        name: trees(table[rows], cases.truth[name][rows], cases.heed[rows], rounds) for name, rounds in ROUNDS.items()
    }
    return first, second, columns


def keep(
    path: Path, cases: Cases, told: Mapping[int, Mapping[str, float]], found: Mapping[str, tuple[list[str], Any]]
) -> None:
    """Write what is said of each label by what had not learnt from it, for `train_encoder.py`: a matrix a field."""
    kept: dict[str, Any] = {name: chances for name, (_, chances) in found.items()}
    for field in FIELDS:
        if field not in kept:
            classes = sorted(set(cases.truth[field]))
            kept[field] = [
                [told[at].get(f"p:{field}:{each}", 0.0) for each in classes] for at in range(len(cases.labels))
            ]
    np.savez(path, key=[each.key for each in cases.labels], **kept)


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("abstracts", type=Path)
    parser.add_argument("--check", action="store_true", help="cross-validation by condition as well; write nothing")
    parser.add_argument("--closing", action="store_true", help="look at the part kept apart; write nothing")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="learn from an Nth of the records, print the hash alone"
    )
    parser.add_argument(
        "--told", type=Path, metavar="FILE", help="write what is said of each label out of fold, and nothing else"
    )
    return parser.parse_args()


def main() -> None:
    """Learn, print, write."""
    options = asked()
    began = time.monotonic()
    warnings.simplefilter("ignore", ConvergenceWarning)  # stopped early on purpose: it costs nothing on other folds
    with gzip.open(options.abstracts, "rt", encoding="utf-8") as file:
        records = {record["pmid"]: record for record in map(json.loads, file)}
    if options.sample:
        records = {pmid: each for pmid, each in records.items() if bucket(f"sample{pmid}", options.sample) == 0}
    zone = zone_head(records.values()).stored()
    cases = Cases(labels(EARLIER), records, Head.load(zone))
    apart = np.array([bucket("fold" + each.pmid, 20) >= 16 or each.condition in APART for each in cases.labels])
    print(f"{len(cases.labels)} labels, {apart.sum()} kept apart; {time.monotonic() - began:.0f} s", flush=True)
    everything = np.zeros(len(apart), bool)
    kept = apart if options.check or options.closing else everything
    folds = folds_of(cases, lambda each: each.pmid, kept)
    told, found = crossed(cases, folds)
    inside = folds >= 0
    classes, chances = found["verdict"]
    sharpness = calibration(classes, chances[inside], cases.truth["verdict"][inside], cases.heed[inside])
    raw = dict(found)
    found["verdict"] = classes, sharpened(chances, sharpness)
    sure, figures = sure_from(classes, found["verdict"][1][inside], cases.truth["verdict"][inside])
    print(f"sharpness {sharpness}; {time.monotonic() - began:.0f} s")
    for name, (before, after, recall) in figures.items():
        shown = f"precision {100 * after:.0f} instead of {100 * before:.0f}, recall {100 * recall:.0f}"
        print(f"{name} counts from a probability of {sure[name]} on: {shown}")
    for name, (names, each) in found.items():
        report(f"{name}, by PMID", names, each[inside], cases.truth[name][inside], LEAN)
        print("    folds", spread(names, each, cases.truth[name], folds), flush=True)
    if options.told:
        keep(options.told, cases, told, raw)
        return
    if options.check:
        folds = folds_of(cases, lambda each: each.condition, kept)
        for name, (names, each) in crossed(cases, folds)[1].items():
            report(f"{name}, by condition", names, each[inside], cases.truth[name][inside], LEAN)
            print("    folds", spread(names, each, cases.truth[name], folds), flush=True)
    if options.check and not options.closing:
        return
    first, second, columns = finished(cases, told, np.where(inside)[0])
    if options.closing:
        rows = np.where(apart)[0]
        said = apply_first(cases, first, rows)
        full = [{**cases.signs[at], **said[int(at)]} for at in rows]
        for name, model in second.items():
            walked = Trees(stored_trees(model, columns))
            chances = np.array([walked.probabilities(walked.row(row)) for row in full])
            chances = sharpened(chances, sharpness) if name == "verdict" else chances
            report(f"{name}, kept apart", walked.classes, chances, cases.truth[name][rows], LEAN)
        return
    learnt = {
        "zone": zone,
        "sentence": first.sentence.stored(),
        "fields": {name: head.stored() for name, head in first.fields.items()},
        **{name: stored_trees(model, columns) for name, model in second.items()},
        "sharpness": sharpness,
        "lean": LEAN,
        "sure": sure,
    }
    written = (json.dumps(learnt, separators=(",", ":")).replace('],"', '],\n"') + "\n").encode()
    print(
        f"SHA-256 {hashlib.sha256(written).hexdigest()}, {len(written) / 1e6:.2f} MB; {time.monotonic() - began:.0f} s"
    )
    if not options.sample:
        WEIGHTS.write_bytes(written)


if __name__ == "__main__":
    main()
