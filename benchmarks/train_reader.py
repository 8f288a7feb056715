"""Learn the reader's heads on the shipped encoder's states and on words, print what they are worth, and write them.

    python -m benchmarks.train_reader FOLDER [--states FOLDER] [--closing]

FOLDER holds abstracts (`world_half.jsonl.gz`, `corpus_half.jsonl.gz`), registered outcomes (`clinifact_half.jsonl.gz`)
and whole readings (`study_readings.jsonl.gz`). The encoder stays as it is: its states of each case are taken once and
kept under `--states`. Fields are learnt from the quarter of the labelled records that the encoder did not learn from,
the words from all; `primary`, `indication` and `alone` from `labels/primary_*.tsv`, and `primary` from registered p
values too. Everything that is chosen is chosen on what heads say of records that they have not seen (five folds by
record): how the encoder and the words are joined, and from which probability on a verdict is shown, which is the least
at which `RIGHT` holds. Records that are kept apart (`training.cases`) are left out; `--closing` prints their figures.
"""

import argparse
import csv
import hashlib
import itertools
import pickle
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.labels import EARLIER, FOLDER, Label, bucket_of, is_apart, is_left_out, labels
from benchmarks.training.cases import read_sources
from benchmarks.training.condition_heads import learn_condition_roles
from benchmarks.training.word_heads import learn_words
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from willowbark.tools.lexicon.heads import softmax
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.encoder import States, encoder
from willowbark.tools.reading.fields import FIELDS
from willowbark.tools.reading.learned import SHOWN, build_row, join_verdicts, predict
from willowbark.tools.reading.view import View
from willowbark.tools.reading.words import WordHead, find_features

WEIGHTS = Path(__file__).resolve().parent.parent / "tools" / "reading" / "reader.npz"
STRENGTH = 0.0003  # of regressions on states: the smaller, the simpler
STRENGTH_TOLD = 0.03  # of those on what the encoder's own heads and the sentences say alone
TOLD = slice(5 * 384, None)
UNSURE = 0.6  # weight of a label with which a colleague could disagree
RIGHT = {"supports": 0.94, "contradicts": 0.80}
"""How many of the verdicts shown as such have to be right, where no colleague would disagree with the label."""
GONE = ("lean", "sure")
"""Arrays of former weights that nothing reads."""
FOLDS = 5
POWERS = np.arange(0.1, 1.31, 0.1)
SAVED = 200
"""So many states are taken between two writings of their file."""
SHOWN_FROM = np.arange(0.5, 0.96, 0.01)


class Case(NamedTuple):
    """A record to read for a drug in a condition."""

    pmid: str
    title: str
    text: str
    types: tuple[str, ...]
    drug: str
    condition: str


class StateStore:
    """The encoder's states of cases, kept in a file: each is taken once.

    Args:
        path: the file; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._states: dict[str, tuple[States, list[str]]] = {}
        if path and path.exists():
            self._states = pickle.loads(path.read_bytes())  # noqa: S301  # of a former run

    def find_all(self, cases: Sequence[Case]) -> list[tuple[States, list[str]]]:
        """Return the states of cases, and the parts of the record that their sentences are of."""
        found = [self._find(case) for case in cases]
        self._save()
        return found

    def _find(self, case: Case) -> tuple[States, list[str]]:
        key = hashlib.sha256(repr(case[1:]).encode()).hexdigest()
        if key not in self._states:
            page = Document.cut(case.title, case.text, case.types)
            states = encoder().of_view(View(page, case.drug, case.condition))
            self._states[key] = (_round(states), page.zones)
            if len(self._states) % SAVED == 0:
                self._save()
        return self._states[key]

    def _save(self) -> None:
        if self._path:
            new = self._path.with_suffix(".new")
            new.write_bytes(pickle.dumps(self._states))
            new.replace(self._path)


def _round(states: States) -> States:
    """Return states in half precision: the file is half as large, and no figure moves."""
    sentences = {at: told.astype(np.float16) for at, told in states.sentences.items()}
    return States(states.whole.astype(np.float16), sentences)


def _widen(states: States) -> States:
    """Return states in single precision."""
    sentences = {at: told.astype(np.float32) for at, told in states.sentences.items()}
    return States(states.whole.astype(np.float32), sentences)


def _spread(found: Any, classes: Any, count: int) -> Any:
    """Columns of weights for all classes: those without a case have none."""
    spread = np.zeros((found.shape[1], count), np.float32)
    spread[:, classes] = found.T
    return spread


class Regression:
    """A multinomial regression as the package runs it: rows of weights, and a bias."""

    def __init__(self, rows: Any, truth: Any, heed: Any, strength: float, count: int) -> None:
        used = TOLD if strength == STRENGTH_TOLD else slice(None)
        scaler = StandardScaler().fit(rows[:, used])
        model = LogisticRegression(C=strength, max_iter=400)
        model.fit(scaler.transform(rows[:, used]), truth, sample_weight=heed)
        coefficients, intercepts = model.coef_, model.intercept_
        if len(model.classes_) == 2:
            coefficients, intercepts = np.vstack([-coefficients, coefficients]) / 2, np.array([-1, 1]) * intercepts / 2
        self.weights = np.zeros((rows.shape[1], count), np.float32)
        self.bias = np.full(count, -20, np.float32)  # of classes without a case
        self.weights[used] = _spread(coefficients / scaler.scale_, model.classes_, count)
        self.bias[model.classes_] = intercepts - coefficients @ (scaler.mean_ / scaler.scale_)

    def probabilities(self, rows: Any) -> Any:
        """Of each row and class."""
        return softmax(rows @ self.weights + self.bias)


def out_of_fold(rows: Any, truth: Any, heed: Any, groups: Any, count: int, strength: float = STRENGTH) -> Any:
    """What regressions that have not seen a record say of it."""
    found = np.zeros((len(rows), count), np.float32)
    for learn, tell in GroupKFold(5).split(rows, truth, groups):
        model = Regression(rows[learn], truth[learn], heed[learn], strength, count)
        found[tell] = model.probabilities(rows[tell])
    return found


def report(title: str, names: Sequence[str], told: Any, truth: Any) -> None:
    """Print accuracy, and of each class precision and recall, of what is told."""
    parts = []
    for at, name in enumerate(names):
        said, true = told == at, truth == at
        parts.append(
            f"{name} {100 * (said & true).sum() / max(1, said.sum()):.0f}/"
            f"{100 * (said & true).sum() / max(1, true.sum()):.0f}"
        )
    print(f"{title}: {len(truth)}, right {100 * (told == truth).mean():.1f}; P/R {', '.join(parts)}", flush=True)


def learn_join(told: Any, by_words: Any, truth: Any, heed: Any) -> Any:
    """Find with which powers the probabilities of encoder and words are joined: the least loss on unseen records."""
    rows = np.arange(len(truth))

    def loss(powers: Any) -> float:
        joined = join_verdicts(told, by_words, np.asarray(powers, np.float32))
        return float(-(heed * np.log(joined[rows, truth] + 1e-9)).sum() / heed.sum())

    return np.array(min(itertools.product(POWERS, POWERS), key=loss), np.float32)


def settle(told: Any, truth: Any, certain: Any) -> dict[str, float]:
    """Choose from which probability on each verdict is shown: the least at which it is right often enough."""
    names = FIELDS["verdict"]
    said = told.argmax(1)
    shown = {}
    for name in SHOWN:
        at = names.index(name)
        able = (said == at) & certain
        enough = (each for each in SHOWN_FROM if (truth[able & (told[:, at] >= each)] == at).mean() >= RIGHT[name])
        shown[name] = float(next(enough, 1.0))
    return shown


def look(title: str, cases: Sequence[Label], told: Any, shown: Mapping[str, float]) -> None:
    """Print verdicts as told, and as shown."""
    names = FIELDS["verdict"]
    truth, said = np.array([names.index(each.verdict) for each in cases]), told.argmax(1)
    report(f"{title}, verdict", names, said, truth)
    certain = np.array([each.sure for each in cases])
    report(f"{title}, verdict, sure labels", names, said[certain], truth[certain])
    for name in SHOWN:
        at = names.index(name)
        is_shown, true = (said == at) & (told[:, at] >= shown[name]), truth == at
        print(
            f"    {name} shown: {is_shown.sum()}, right {100 * true[is_shown].mean():.0f} % "
            f"({100 * true[is_shown & certain].mean():.0f}), recall {100 * (is_shown & true).sum() / true.sum():.0f} %"
        )


def read_cases(path: Path, records: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the rows of a file of labels on records that there are."""
    with path.open(encoding="utf-8") as file:
        yield from (row for row in csv.DictReader(file, delimiter="\t") if row["pmid"] in records)


class Room:
    """What the heads are learnt from: abstracts, the encoder's states, what was learnt so far."""

    def __init__(self, folder: Path, states: Path | None) -> None:
        self.folder = folder
        self.sources = {source.pmid: source for source in read_sources(folder)}
        self.closing = {pmid for pmid, source in self.sources.items() if source.is_closing}
        with np.load(WEIGHTS) as file:
            self.stored: dict[str, Any] = {name: array for name, array in file.items() if name not in GONE}
        self._own = {name: np.asarray(array, np.float32) for name, array in self.stored.items()}
        self._states = StateStore(states / "states.pickle" if states else None)
        self._features: dict[Case, Any] = {}

    def make_case(self, pmid: str, drug: str, condition: str) -> Case:
        """Return the case of a record that there is."""
        source = self.sources[pmid]
        return Case(pmid, source.title, source.text, source.types, drug, condition)

    def find_rows(self, cases: Sequence[Case]) -> Any:
        """Return the heads' input of cases."""
        found = self._states.find_all(cases)
        return np.array([build_row(self._own, _widen(states), zones) for states, zones in found])

    def find_words(self, case: Case) -> Any:
        """Return the features of a case's words."""
        if case not in self._features:
            document = Document.cut(case.title, case.text, case.types)
            self._features[case] = find_features(View(document, case.drug, case.condition)).astype(np.int32)
        return self._features[case]

    def learn(self, name: str, rows: Any, truth: Any, heed: Any, groups: Any, strength: float = STRENGTH) -> Any:
        """Learn a field; return what heads that have not seen a record say of it."""
        count = len(FIELDS[name])
        final = Regression(rows, truth, heed, strength, count)
        self.stored[name], self.stored[f"{name}.bias"] = final.weights, final.bias
        return out_of_fold(rows, truth, heed, groups, count, strength)


def learn_fields(room: Room, left: Sequence[Label]) -> dict[str, Any]:
    """Learn the fields from labels that the encoder did not learn from; return what is said of them unseen."""
    rows = room.find_rows([room.make_case(*label.triple) for label in left])
    groups, heed = np.array([each.pmid for each in left]), np.where([each.sure for each in left], 1.0, UNSURE)
    told = {}
    for name in ("verdict", "role", "match", "kind", "effect", "comparator"):
        truth = np.array([FIELDS[name].index(getattr(each, name)) for each in left])
        told[name] = room.learn(name, rows, truth, heed, groups, STRENGTH if name == "verdict" else STRENGTH_TOLD)
        report(f"left out, {name}", FIELDS[name], told[name].argmax(1), truth)
    return told


def learn_all_words(room: Room, known: Sequence[Label], left: Sequence[Label]) -> Any:
    """Learn the head over words from all labels; return what heads that have not seen a record say of those left."""
    names = FIELDS["verdict"]
    features = [room.find_words(room.make_case(*label.triple)) for label in known]
    truth = np.array([names.index(label.verdict) for label in known])
    heed = np.where([label.sure for label in known], 1.0, UNSURE)
    fold = np.array([bucket_of(f"words{label.pmid}", FOLDS) for label in known])
    told: dict[str, Any] = {}
    for at in range(FOLDS):
        learnt = np.flatnonzero(fold != at)
        head = learn_words([features[row] for row in learnt], truth[learnt], heed[learnt])
        told |= {known[row].key: head.tell(features[row]) for row in np.flatnonzero(fold == at)}
    room.stored |= learn_words(features, truth, heed).store()
    found = np.array([told[label.key] for label in left])
    report("left out, verdict by words", names, found.argmax(1), np.array([names.index(each.verdict) for each in left]))
    return found


def learn_outcomes(room: Room, unseen: Set[str]) -> None:
    """Learn the primary outcome, the indication and whether a drug is alone; print what they are worth."""
    fresh = [row for path in sorted(FOLDER.glob("primary_*.tsv")) for row in read_cases(path, room.sources)]
    fresh = [row for row in fresh if row["pmid"] not in room.closing]
    trials = [
        ask
        for pmid, source in sorted(room.sources.items())
        if pmid not in room.closing
        for ask in ((pmid, each) for each in source.asks if each.source == "registered")
    ]
    cases = [room.make_case(each["pmid"], each["drug"], each["condition"]) for each in fresh]
    cases += [room.make_case(pmid, ask.drug, ask.condition) for pmid, ask in trials]
    rows, groups = room.find_rows(cases), np.array([case.pmid for case in cases])
    heed = np.array([*(1.0 if each["sure"] == "1" else UNSURE for each in fresh), *(1.0 for _ in trials)])
    is_unseen = np.isin(groups[: len(fresh)], list(unseen))
    for name in ("primary", "indication", "alone"):
        if name == "alone":
            values = ["alone" if each["alone"] == "1" else "not_alone" for each in fresh]
        else:
            values = [each[name] for each in fresh]
        if name == "primary":
            values += [ask.told["primary"] for _, ask in trials]
        truth, count = np.array([FIELDS[name].index(each) for each in values]), len(values)
        said = room.learn(name, rows[:count], truth, heed[:count], groups[:count]).argmax(1)
        own, of_trials = slice(len(fresh)), slice(len(fresh), None)
        report(f"read for it, {name}", FIELDS[name], said[own], truth[own])
        report(f"    not learnt from by the encoder, {name}", FIELDS[name], said[own][is_unseen], truth[own][is_unseen])
        if name == "primary":
            report("registered p values, primary", FIELDS[name], said[of_trials], truth[of_trials])


def main() -> None:
    """Learn, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--states", type=Path)
    parser.add_argument("--closing", action="store_true")
    options = parser.parse_args()
    room = Room(options.folder, options.states)
    known = [each for each in labels() if each.pmid in room.sources]
    open_ = [each for each in known if each.pmid not in room.closing]
    early = {each.pmid for each in labels(EARLIER) if is_left_out(each)}
    left = [each for each in open_ if each.pmid in early]
    names = FIELDS["verdict"]
    truth = np.array([names.index(each.verdict) for each in left])
    certain = np.array([each.sure for each in left])
    told = learn_fields(room, left)["verdict"]
    by_words = learn_all_words(room, open_, left)
    room.stored["join"] = learn_join(told, by_words, truth, np.where(certain, 1.0, UNSURE))
    joined = join_verdicts(told, by_words, room.stored["join"])
    shown = settle(joined, truth, certain)
    room.stored |= {f"shown.{name}": np.array(least) for name, least in shown.items()}
    print(f"joined with powers {room.stored['join'].round(1).tolist()}, shown from {shown}")
    look("left out", left, joined, shown)
    learn_outcomes(room, early - room.closing)
    learn_condition_roles(room)
    write_weights(room.stored)
    if options.closing:
        kept = [each for each in known if is_apart(each)]
        cases = [room.make_case(*each.triple) for each in kept]
        rows = room.find_rows(cases)
        for name in ("role", "match", "kind", "effect", "comparator"):
            truth = np.array([FIELDS[name].index(getattr(each, name)) for each in kept])
            report(f"kept apart, {name}", FIELDS[name], predict(room.stored, name, rows).argmax(1), truth)
        head = WordHead.load(room.stored)
        by_words = np.array([head.tell(room.find_words(case)) for case in cases])
        joined = join_verdicts(predict(room.stored, "verdict", rows), by_words, room.stored["join"])
        look("kept apart", kept, joined, shown)


def write_weights(stored: Mapping[str, Any]) -> None:
    """Write all arrays: whole numbers as they are, others in half precision."""
    arrays = {
        name: np.asarray(each, each.dtype if each.dtype.kind in "iu" or name == "words.scales" else np.float16)
        for name, each in stored.items()
    }
    np.savez_compressed(WEIGHTS, **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
