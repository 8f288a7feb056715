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

from willowbark.tools.lexicon.heads import softmax
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.encoder import States, encoder
from willowbark.tools.reading.fields import FIELDS
from willowbark.tools.reading.learned import SHOWN, Weights
from willowbark.tools.reading.view import View

WEIGHTS = Path(__file__).resolve().parent.parent / "tools" / "reading" / "reader.npz"
STRENGTH = 0.0003  # of regressions on states: the smaller, the simpler
STRENGTH_TOLD = 0.03  # of those on what the encoder's own heads and the sentences say alone
TOLD = slice(5 * 384, None)
UNSURE = 0.6  # weight of a label with which a colleague could disagree


class Case(NamedTuple):
    """A record to read for a drug in a condition."""

    pmid: str
    title: str
    text: str
    types: tuple[str, ...]
    drug: str
    condition: str


def states_of(name: str, cases: Sequence[Case], kept: Path | None) -> list[tuple[States, list[str]]]:
    """The encoder's states of cases, and the parts of the record that their sentences are of."""
    path = kept / f"{name}.pickle" if kept else None
    if path and path.exists():
        found: list[tuple[States, list[str]]] = pickle.loads(path.read_bytes())  # noqa: S301  # of a former run
        return found
    found = []
    for case in cases:
        page = Document.cut(case.title, case.text, case.types)
        found.append((encoder().of_view(View(page, case.drug, case.condition)), page.zones))
    if path:
        path.write_bytes(pickle.dumps(found))
    return found


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
        coefficients = model.coef_
        intercepts = model.intercept_
        if len(model.classes_) == 2:
            coefficients = np.vstack([-coefficients, coefficients]) / 2
            intercepts = np.array([-1, 1]) * intercepts / 2
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
        said = told == at
        true = truth == at
        parts.append(
            f"{name} {100 * (said & true).sum() / max(1, said.sum()):.0f}/"
            f"{100 * (said & true).sum() / max(1, true.sum()):.0f}"
        )
    print(f"{title}: {len(truth)}, right {100 * (told == truth).mean():.1f}; P/R {', '.join(parts)}", flush=True)


def heard(rows: Any, stored: Mapping[str, Any], name: str) -> Any:
    """What a head says of rows of states, as probabilities."""
    return softmax(rows @ stored[name] + stored[f"{name}.bias"])


def look(title: str, cases: Sequence[Label], told: Any, shown_from: Mapping[str, float]) -> None:
    """Print verdicts as told, and as shown."""
    names = FIELDS["verdict"]
    truth = np.array([names.index(case.verdict) for case in cases])
    said = told.argmax(1)
    report(f"{title}, verdict", names, said, truth)
    certain = np.array([case.sure for case in cases])
    report(f"{title}, verdict, sure labels", names, said[certain], truth[certain])
    for name, least in shown_from.items():
        at = names.index(name)
        shown = (said == at) & (told[:, at] >= least)
        true = truth == at
        print(
            f"    {name} shown: {shown.sum()}, right {100 * true[shown].mean():.0f} % "
            f"({100 * true[shown & certain].mean():.0f}), recall {100 * (shown & true).sum() / true.sum():.0f} %"
        )


def main() -> None:  # noqa: PLR0915  # steps in a row
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

    def case_of(pmid: str, drug: str = "", condition: str = "") -> Case:
        record = records[pmid]
        types = tuple(record.get("publication_types") or ())
        return Case(pmid, record["title"], record["abstract"], types, drug, condition)

    known = [each for each in labels() if each.pmid in records]
    apart = {each.pmid for each in known if is_apart(each)}
    early = {each.pmid for each in labels(EARLIER) if is_left_out(each)}
    stored = dict(np.load(WEIGHTS))
    base = Weights(WEIGHTS.read_bytes())

    def rows_of(name: str, cases: Sequence[Case]) -> Any:
        return np.array([base.row(*each) for each in states_of(name, cases, options.states)])

    def rows_of_labels(name: str, found: Sequence[Label]) -> Any:
        triples = sorted({each.triple: None for each in found}, key=lambda triple: triple[0])
        cases = [case_of(*each) for each in triples]
        place = {each: at for at, each in enumerate(triples)}
        return rows_of(name, cases)[[place[each.triple] for each in found]]

    def learn(name: str, rows: Any, truth: Any, heed: Any, groups: Any, strength: float = STRENGTH) -> Any:
        count = len(FIELDS[name])
        final = Regression(rows, truth, heed, strength, count)
        stored[name] = final.weights
        stored[f"{name}.bias"] = final.bias
        return out_of_fold(rows, truth, heed, groups, count, strength)

    left = [each for each in known if each.pmid in early - apart]
    rows = rows_of_labels("left", left)
    groups = np.array([each.pmid for each in left])
    heed = np.where([each.sure for each in left], 1.0, UNSURE)
    told: dict[str, Any] = {}
    for name in ("verdict", "role", "match", "kind", "effect", "comparator"):
        truth = np.array([FIELDS[name].index(getattr(each, name)) for each in left])
        told[name] = learn(name, rows, truth, heed, groups, STRENGTH if name == "verdict" else STRENGTH_TOLD)
        report(f"left out, {name}", FIELDS[name], told[name].argmax(1), truth)

    sources = {source.pmid: source for source in read_sources(options.folder) if source.pmid in records}

    def rows_of_roles(cases: Sequence[RoleCase]) -> Any:
        return rows_of("conditions", [case_of(case.pmid, case.drug, case.condition) for case in cases])

    stored |= learn_condition_roles(sources, rows_of_roles)

    fresh = []
    for path in sorted(FOLDER.glob("primary_*.tsv")):
        with path.open(encoding="utf-8") as file:
            fresh += [each for each in csv.DictReader(file, delimiter="\t") if each["pmid"] in records]
    trials = [
        trial
        for trial in read_trials(options.folder / "clinifact_half.jsonl.gz")
        if trial.label != ANOTHER and trial.drug and trial.condition
    ]
    trial_cases = [Case("", t.title, t.text, (), str(t.drug), str(t.condition)) for t in trials]
    trial_rows = rows_of("trials", trial_cases)
    met, placebo = (
        np.array(each) for each in zip(*((t.label == OUTCOME_MET, t.against_nothing) for t in trials), strict=True)
    )
    new_rows = rows_of("new", [case_of(each["pmid"], each["drug"], each["condition"]) for each in fresh])
    all_rows = np.concatenate([new_rows, trial_rows])
    all_groups = np.array([*(each["pmid"] for each in fresh), *(t.title for t in trials)])
    all_heed = np.array([*(1.0 if each["sure"] == "1" else UNSURE for each in fresh), *(1.0 for _ in trials)])
    unseen = np.isin(all_groups[: len(fresh)], list(early - apart))
    for name in ("primary", "indication", "alone"):
        if name == "alone":
            values = ["alone" if each["alone"] == "1" else "not_alone" for each in fresh]
        else:
            values = [each[name] for each in fresh]
        if name == "primary":
            values += ["met" if each else "not_met" for each in met]
        truth = np.array([FIELDS[name].index(each) for each in values])
        count = len(values)
        chances = learn(name, all_rows[:count], truth, all_heed[:count], all_groups[:count]).argmax(1)
        own = slice(len(fresh))
        of_trials = slice(len(fresh), None)
        report(f"read for it, {name}", FIELDS[name], chances[own], truth[own])
        report(f"    not learnt from by the encoder, {name}", FIELDS[name], chances[own][unseen], truth[own][unseen])
        if name == "primary":
            report("registered p values, primary", FIELDS[name], chances[of_trials], truth[of_trials])

    names = FIELDS["verdict"]
    chances = heard(trial_rows, stored, "verdict")
    by_outcome = np.where(met, names.index("supports"), names.index("contradicts"))
    truth = np.concatenate([[names.index(each.verdict) for each in left], by_outcome[placebo]])
    certain = np.array([*(each.sure for each in left), *(True for _ in met[placebo])])
    every = np.concatenate([told["verdict"], chances[placebo]])
    shown_from = find_thresholds(every, truth, certain)
    stored |= {f"{SHOWN}{name}": np.array(least) for name, least in shown_from.items()}
    against, for_it = (
        (chances.argmax(1) == names.index(name)) & (chances[:, names.index(name)] >= shown_from[name]) & placebo
        for name in ("contradicts", "supports")
    )
    print(
        f"shown from {shown_from}: of {(placebo & ~met).sum()} failed trials against placebo "
        f"{against[~met].sum()} as failed, {for_it[~met].sum()} as supporting; as failed rightly {against[~met].sum()} "
        f"of {against.sum()}; of {(placebo & met).sum()} successes {for_it[met].sum()} as supporting"
    )
    look("left out", left, told["verdict"], shown_from)
    np.savez(WEIGHTS, **{name: np.asarray(each, np.float16) for name, each in stored.items()})  # type: ignore[arg-type]
    if options.closing:
        kept = [each for each in known if each.pmid in apart]
        rows = rows_of_labels("apart", kept)
        for name in ("role", "match", "kind", "effect", "comparator"):
            truth = np.array([FIELDS[name].index(getattr(each, name)) for each in kept])
            report(f"kept apart, {name}", FIELDS[name], heard(rows, stored, name).argmax(1), truth)
        look("kept apart", kept, heard(rows, stored, "verdict"), shown_from)


if __name__ == "__main__":
    main()
