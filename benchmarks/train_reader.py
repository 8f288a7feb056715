"""Learn the reader's heads on the encoder's states, print what they are worth, and write them.

    python -m benchmarks.train_reader FOLDER [--states FOLDER] [--closing]

FOLDER holds abstracts (`world_half.jsonl.gz`, `corpus_half.jsonl.gz`) and registered outcomes
(`clinifact_half.jsonl.gz`). The encoder stays as it is: its states of each case are taken once and kept under
`--states`. Fields are learnt from the quarter of the labelled records that the encoder did not learn from; `primary`,
`indication` and `alone` from `labels/primary_*.tsv`, and `primary` from registered p values too; which part a condition
plays from labels of whole studies and whole readings (`study_readings.jsonl.gz`). From which probability on a verdict
is shown follows from verdicts by heads that had not seen the record (`training.thresholds`), and so for the parts.
All figures are of five folds by record. `--closing` prints those of the part kept apart as well.
"""

import argparse
import csv
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.labels import EARLIER, FOLDER, Label, is_apart, is_left_out, labels, read_lines
from benchmarks.public_trials import ANOTHER, OUTCOME_MET, read_trials
from benchmarks.training.cases import read_sources
from benchmarks.training.condition_heads import RoleCase, learn_condition_roles
from benchmarks.training.thresholds import find_thresholds
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from willowbark.tools.lexicon.heads import compute_softmax
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.encoder import States, load_encoder
from willowbark.tools.reading.fields import FIELDS
from willowbark.tools.reading.learned import THRESHOLD, Weights
from willowbark.tools.reading.view import View

WEIGHTS = Path(__file__).resolve().parent.parent / "tools" / "reading" / "reader.npz"
STRENGTH = 0.0003  # of regressions on states: the smaller, the simpler
STRENGTH_OF_ANSWERS = 0.03  # of those on what the encoder's own heads and the sentences say alone
ANSWERS = slice(5 * 384, None)
UNSURE = 0.6  # weight of a label with which a colleague could disagree


class Case(NamedTuple):
    """A record to read for a drug in a condition."""

    pmid: str
    title: str
    text: str
    types: tuple[str, ...]
    drug: str
    condition: str


def load_states(name: str, cases: Sequence[Case], folder: Path | None) -> list[tuple[States, list[str]]]:
    """The encoder's states of cases, and the parts of the record that their sentences are of."""
    path = folder / f"{name}.pickle" if folder else None
    if path and path.exists():
        states: list[tuple[States, list[str]]] = pickle.loads(path.read_bytes())  # noqa: S301  # of a former run
        return states
    states = []
    for case in cases:
        page = Document.cut(case.title, case.text, case.types)
        states.append((load_encoder().encode(View(page, case.drug, case.condition)), page.zones))
    if path:
        path.write_bytes(pickle.dumps(states))
    return states


def _spread_weights(weights: Any, classes: Any, count: int) -> Any:
    """Columns of weights for all classes: those without a case have none."""
    spread = np.zeros((weights.shape[1], count), np.float32)
    spread[:, classes] = weights.T
    return spread


class Regression:
    """A multinomial regression as the package runs it: rows of weights, and a bias."""

    def __init__(self, rows: Any, truth: Any, heed: Any, strength: float, count: int) -> None:
        used = ANSWERS if strength == STRENGTH_OF_ANSWERS else slice(None)
        scaler = StandardScaler().fit(rows[:, used])
        model = LogisticRegression(C=strength, max_iter=400)
        model.fit(scaler.transform(rows[:, used]), truth, sample_weight=heed)
        coefficients = model.coef_
        intercepts = model.intercept_
        if len(model.classes_) == 2:
            coefficients = np.vstack([-coefficients, coefficients]) / 2
            intercepts = np.array([-1, 1]) * intercepts / 2
        self.weights = np.zeros((rows.shape[1], count), np.float32)
        self.bias = np.full(count, -20, np.float32)  # of classes without a case
        self.weights[used] = _spread_weights(coefficients / scaler.scale_, model.classes_, count)
        self.bias[model.classes_] = intercepts - coefficients @ (scaler.mean_ / scaler.scale_)

    def probabilities(self, rows: Any) -> Any:
        """Of each row and class."""
        return compute_softmax(rows @ self.weights + self.bias)


def predict_out_of_fold(rows: Any, truth: Any, heed: Any, groups: Any, count: int, strength: float = STRENGTH) -> Any:
    """What regressions that have not seen a record say of it."""
    chances = np.zeros((len(rows), count), np.float32)
    for learn, tell in GroupKFold(5).split(rows, truth, groups):
        model = Regression(rows[learn], truth[learn], heed[learn], strength, count)
        chances[tell] = model.probabilities(rows[tell])
    return chances


def print_scores(title: str, names: Sequence[str], answers: Any, truth: Any) -> None:
    """Print accuracy, and of each class precision and recall, of what is told."""
    parts = []
    for at, name in enumerate(names):
        is_answered = answers == at
        true = truth == at
        parts.append(
            f"{name} {100 * (is_answered & true).sum() / max(1, is_answered.sum()):.0f}/"
            f"{100 * (is_answered & true).sum() / max(1, true.sum()):.0f}"
        )
    print(f"{title}: {len(truth)}, right {100 * (answers == truth).mean():.1f}; P/R {', '.join(parts)}", flush=True)


def ask_head(rows: Any, stored: Mapping[str, Any], name: str) -> Any:
    """What a head says of rows of states, as probabilities."""
    return compute_softmax(rows @ stored[name] + stored[f"{name}.bias"])


def print_verdicts(title: str, cases: Sequence[Label], chances: Any, shown_from: Mapping[str, float]) -> None:
    """Print verdicts as told, and as shown."""
    names = FIELDS["verdict"]
    truth = np.array([names.index(case.verdict) for case in cases])
    answers = chances.argmax(1)
    print_scores(f"{title}, verdict", names, answers, truth)
    certain = np.array([case.sure for case in cases])
    print_scores(f"{title}, verdict, sure labels", names, answers[certain], truth[certain])
    for name, least in shown_from.items():
        at = names.index(name)
        is_shown = (answers == at) & (chances[:, at] >= least)
        true = truth == at
        print(
            f"    {name} shown: {is_shown.sum()}, right {100 * true[is_shown].mean():.0f} % "
            f"({100 * true[is_shown & certain].mean():.0f}), recall {100 * (is_shown & true).sum() / true.sum():.0f} %"
        )


def main() -> None:  # noqa: PLR0912, PLR0915  # steps in a row
    """Learn, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--states", type=Path)
    parser.add_argument("--closing", action="store_true")
    options = parser.parse_args()
    records: dict[str, dict[str, Any]] = {}
    for name in ("world_half", "corpus_half"):
        for record in read_lines(options.folder / f"{name}.jsonl.gz"):
            if record.get("abstract"):
                records.setdefault(str(record["pmid"]), record)

    def make_case(pmid: str, drug: str = "", condition: str = "") -> Case:
        record = records[pmid]
        types = tuple(record.get("publication_types") or ())
        return Case(pmid, record["title"], record["abstract"], types, drug, condition)

    own_labels = [label for label in labels() if label.pmid in records]
    apart = {label.pmid for label in own_labels if is_apart(label)}
    early = {label.pmid for label in labels(EARLIER) if is_left_out(label)}
    stored = dict(np.load(WEIGHTS))
    base = Weights(WEIGHTS.read_bytes())

    def list_rows(name: str, cases: Sequence[Case]) -> Any:
        return np.array([base.row(*case) for case in load_states(name, cases, options.states)])

    def list_label_rows(name: str, wanted_labels: Sequence[Label]) -> Any:
        triples = sorted({label.triple: None for label in wanted_labels}, key=lambda triple: triple[0])
        cases = [make_case(*triple) for triple in triples]
        place = {triple: at for at, triple in enumerate(triples)}
        return list_rows(name, cases)[[place[label.triple] for label in wanted_labels]]

    def learn(name: str, rows: Any, truth: Any, heed: Any, groups: Any, strength: float = STRENGTH) -> Any:
        count = len(FIELDS[name])
        final = Regression(rows, truth, heed, strength, count)
        stored[name] = final.weights
        stored[f"{name}.bias"] = final.bias
        return predict_out_of_fold(rows, truth, heed, groups, count, strength)

    left = [label for label in own_labels if label.pmid in early - apart]
    rows = list_label_rows("left", left)
    groups = np.array([label.pmid for label in left])
    heed = np.where([label.sure for label in left], 1.0, UNSURE)
    chances_by_field: dict[str, Any] = {}
    for name in ("verdict", "role", "match", "kind", "effect", "comparator"):
        truth = np.array([FIELDS[name].index(getattr(label, name)) for label in left])
        chances_by_field[name] = learn(
            name, rows, truth, heed, groups, STRENGTH if name == "verdict" else STRENGTH_OF_ANSWERS
        )
        print_scores(f"left out, {name}", FIELDS[name], chances_by_field[name].argmax(1), truth)

    sources = {source.pmid: source for source in read_sources(options.folder) if source.pmid in records}

    def list_role_rows(cases: Sequence[RoleCase]) -> Any:
        return list_rows("conditions", [make_case(case.pmid, case.drug, case.condition) for case in cases])

    stored |= learn_condition_roles(sources, list_role_rows)

    fresh = []
    for path in sorted(FOLDER.glob("primary_*.tsv")):
        with path.open(encoding="utf-8") as file:
            fresh += [row for row in csv.DictReader(file, delimiter="\t") if row["pmid"] in records]
    trials = [
        trial
        for trial in read_trials(options.folder / "clinifact_half.jsonl.gz")
        if trial.label != ANOTHER and trial.drug and trial.condition
    ]
    trial_cases = [Case("", t.title, t.text, (), str(t.drug), str(t.condition)) for t in trials]
    trial_rows = list_rows("trials", trial_cases)
    is_met, placebo = (
        np.array(column) for column in zip(*((t.label == OUTCOME_MET, t.against_nothing) for t in trials), strict=True)
    )
    new_rows = list_rows("new", [make_case(row["pmid"], row["drug"], row["condition"]) for row in fresh])
    all_rows = np.concatenate([new_rows, trial_rows])
    all_groups = np.array([*(row["pmid"] for row in fresh), *(t.title for t in trials)])
    all_heed = np.array([*(1.0 if row["sure"] == "1" else UNSURE for row in fresh), *(1.0 for _ in trials)])
    unseen = np.isin(all_groups[: len(fresh)], list(early - apart))
    for name in ("primary", "indication", "alone"):
        if name == "alone":
            values = ["alone" if row["alone"] == "1" else "not_alone" for row in fresh]
        else:
            values = [row[name] for row in fresh]
        if name == "primary":
            values += ["met" if success else "not_met" for success in is_met]
        truth = np.array([FIELDS[name].index(value) for value in values])
        count = len(values)
        chances = learn(name, all_rows[:count], truth, all_heed[:count], all_groups[:count]).argmax(1)
        own = slice(len(fresh))
        of_trials = slice(len(fresh), None)
        print_scores(f"read for it, {name}", FIELDS[name], chances[own], truth[own])
        print_scores(
            f"    not learnt from by the encoder, {name}", FIELDS[name], chances[own][unseen], truth[own][unseen]
        )
        if name == "primary":
            print_scores("registered p values, primary", FIELDS[name], chances[of_trials], truth[of_trials])

    names = FIELDS["verdict"]
    chances = ask_head(trial_rows, stored, "verdict")
    truth = np.array([names.index(label.verdict) for label in left])
    # Labels alone: a registered p value is what came out, and not always what the abstract says.
    shown_from = find_thresholds(chances_by_field["verdict"], truth, np.array([label.sure for label in left]))
    stored |= {f"{THRESHOLD}{name}": np.array(least) for name, least in shown_from.items()}
    is_shown = {}
    for name in ("contradicts", "supports"):
        at = names.index(name)
        is_shown[name] = (chances.argmax(1) == at) & (chances[:, at] >= shown_from[name]) & placebo
    against = is_shown["contradicts"]
    for_it = is_shown["supports"]
    print(
        f"shown from {shown_from}: of {(placebo & ~is_met).sum()} failed trials against placebo "
        f"{against[~is_met].sum()} as failed, {for_it[~is_met].sum()} as supporting; "
        f"as failed rightly {against[~is_met].sum()} of {against.sum()}; "
        f"of {(placebo & is_met).sum()} successes {for_it[is_met].sum()} as supporting"
    )
    print_verdicts("left out", left, chances_by_field["verdict"], shown_from)
    np.savez(WEIGHTS, **{name: np.asarray(array, np.float16) for name, array in stored.items()})  # type: ignore[arg-type]
    if options.closing:
        apart_labels = [label for label in own_labels if label.pmid in apart]
        rows = list_label_rows("apart", apart_labels)
        for name in ("role", "match", "kind", "effect", "comparator"):
            truth = np.array([FIELDS[name].index(getattr(label, name)) for label in apart_labels])
            print_scores(f"kept apart, {name}", FIELDS[name], ask_head(rows, stored, name).argmax(1), truth)
        print_verdicts("kept apart", apart_labels, ask_head(rows, stored, "verdict"), shown_from)


if __name__ == "__main__":
    main()
