"""Learn the reader's heads and thresholds on the encoder's states, print what they are worth, and write them.

    python -m benchmarks.train_reader FOLDER [--states FOLDER] [--closing]

FOLDER holds abstracts (`world_half.jsonl.gz`, `corpus_half.jsonl.gz`) and registered outcomes
(`clinifact_half.jsonl.gz`). The encoder stays as it is: its states of each case are taken once and kept under
`--states`. Fields are learnt from the quarter of the labelled records that the encoder did not learn from;
`primary`, `indication` and `alone` from `labels/primary_*.tsv`, and `primary` from registered p values too. All
figures are of five folds by record. `--closing` prints those of the part kept apart as well.
"""

import argparse
import csv
import gzip
import json
import pickle
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.labels import EARLIER, FOLDER, Label, is_apart, is_left_out, labels
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from willowbark.tools.lexicon import find_drugs
from willowbark.tools.lexicon.conditions import find_known_conditions
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.encoder import States, encoder
from willowbark.tools.reading.facts import facts_of
from willowbark.tools.reading.heads import softmax
from willowbark.tools.reading.learned import FIELDS, Threshold, Weights, decide, kind_of_study
from willowbark.tools.reading.view import View

ROOT = Path(__file__).resolve().parent.parent / "tools" / "reading"
STRENGTH = 0.0003  # of regressions on states: the smaller, the simpler
STRENGTH_TOLD = 0.03  # of those on what the encoder's own heads and the sentences say alone
STRENGTH_DESIGN = 0.003
TOLD = slice(5 * 384, None)
UNSURE = 0.6  # weight of a label with which a colleague could disagree
RIGHT = {"supports": 0.92, "contradicts": 0.80}
"""How many of the verdicts shown as such have to be right, where no colleague would disagree with the label."""
FEW, UNTRIED = 10, 0.5
"""Where fewer verdicts than `FEW` would be shown, no threshold can be chosen, and they are from `UNTRIED` on."""
LEANS = np.arange(-0.6, 1.21, 0.1).round(1)
SHOWN_FROM = np.arange(0.3, 0.91, 0.05).round(2)
_AGAINST_NOTHING = ("placebo", "sham", "no treatment", "vehicle", "observation")


class Case(NamedTuple):
    """A record to read for a drug in a condition; both empty where its design is asked for."""

    pmid: str
    title: str
    text: str
    types: tuple[str, ...]
    drug: str
    condition: str


def read_lines(path: Path) -> Iterable[dict[str, Any]]:
    """The objects of a packed file with one JSON object a line."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def states_of(name: str, cases: Sequence[Case], kept: Path | None) -> list[tuple[States, list[str]]]:
    """The encoder's states of cases, and the parts of the record that their sentences are of."""
    path = kept / f"{name}.pickle" if kept else None
    if path and path.exists():
        found: list[tuple[States, list[str]]] = pickle.loads(path.read_bytes())  # noqa: S301  # of a former run
        return found
    found = []
    for case in cases:
        page = Document.cut(case.title, case.text, case.types)
        if case.drug:
            found.append((encoder().of_view(View(page, case.drug, case.condition)), page.zones))
        else:
            found.append((encoder().of_document(page), page.zones))
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
        parts.append(f"{name} {100 * (said & true).sum() / max(1, said.sum()):.0f}/"
                     f"{100 * (said & true).sum() / max(1, true.sum()):.0f}")  # fmt: skip
    print(f"{title}: {len(truth)}, right {100 * (told == truth).mean():.1f}; P/R {', '.join(parts)}", flush=True)


def kinds_of(cases: Sequence[Case], comparators: Any) -> list[tuple[str, str]]:
    """The row of the thresholds that each case belongs to."""
    found = []
    for case, at in zip(cases, comparators.argmax(1), strict=True):
        design = facts_of(Document.cut(case.title, case.text, case.types)).design
        found.append(kind_of_study(design, FIELDS["comparator"][int(at)]))
    return found


def settle(kinds: Sequence[tuple[str, str]], told: Any, truth: Any, certain: Any) -> dict[tuple[str, str], Threshold]:
    """Choose, for each kind of study, the lean of each verdict by mean F1, and from where on it is shown."""
    names, found = FIELDS["verdict"], {}
    for kind in sorted(set(kinds)):
        here = np.array([each == kind for each in kinds])
        scores, right = np.log(told[here] + 1e-9), truth[here]
        lean = np.zeros(len(names))
        for at in [names.index("contradicts"), names.index("supports"), names.index("neutral")] * 2:
            tried = []
            for step in LEANS:
                lean[at] = step
                best = (scores + lean).argmax(1)
                f1 = [2 * ((best == c) & (right == c)).sum() / max(1, (best == c).sum() + (right == c).sum())
                      for c in range(len(names))]  # fmt: skip
                tried.append((float(np.mean(f1)), -abs(step), step))
            lean[at] = max(tried)[-1]
        best, sure = (scores + lean).argmax(1), dict[str, float]()
        for name, wanted in RIGHT.items():
            at = names.index(name)
            said, chance = (best == at) & certain[here], told[here][:, at]
            sure[name] = UNTRIED
            for least in SHOWN_FROM[::-1]:
                shown = said & (chance >= least)
                if shown.sum() >= FEW and (right[shown] == at).mean() >= wanted:
                    sure[name] = float(least)
        found[kind] = Threshold(dict(zip(names, map(float, lean.round(1)), strict=True)), sure)
    return found


def heard(rows: Any, stored: Mapping[str, Any], name: str) -> Any:
    """What a head says of rows of states, as probabilities."""
    return softmax(rows @ stored[name] + stored[f"{name}.bias"])


def verdicts(told: Any, kinds: Sequence[tuple[str, str]], thresholds: Mapping[tuple[str, str], Threshold]) -> Any:
    """The verdict of each case as the reader decides it, by its order, and whether it is shown."""
    names = FIELDS["verdict"]
    best = [names.index(decide({"verdict": each}, thresholds[kind])) for each, kind in zip(told, kinds, strict=True)]
    shown = [told[at][one] >= thresholds[kind].sure.get(names[one], 0)
             for at, (one, kind) in enumerate(zip(best, kinds, strict=True))]  # fmt: skip
    return np.array(best), np.array(shown)


def written(thresholds: Mapping[tuple[str, str], Threshold]) -> str:
    """The table of thresholds as the package reads it."""
    lines = ["design\tcomparator\tverdict\tlean\tsure"]
    for (design, comparator), each in sorted(thresholds.items()):
        for name in FIELDS["verdict"]:
            lines.append(f"{design}\t{comparator}\t{name}\t{each.lean[name]:g}\t{each.sure.get(name, 0.0):g}")
    return "\n".join(lines) + "\n"


def look(title: str, cases: Sequence[Label], told: Any, shown: Any) -> None:
    """Print verdicts as told, and as shown from the thresholds on."""
    names = FIELDS["verdict"]
    truth = np.array([names.index(each.verdict) for each in cases])
    report(f"{title}, verdict", names, told, truth)
    sure = np.array([each.sure for each in cases])
    report(f"{title}, verdict, sure labels", names, told[sure], truth[sure])
    for name in RIGHT:
        here, true = (told == names.index(name)) & shown, truth == names.index(name)
        print(f"    {name} shown: {here.sum()}, right {100 * true[here].mean():.0f} %, "
              f"recall {100 * (here & true).sum() / true.sum():.0f} %")  # fmt: skip


def clinifact(path: Path) -> list[tuple[Case, bool, bool]]:
    """Trials, with whether their registered primary outcome was significant, and whether they are against placebo."""
    found = []
    for row in read_lines(path):
        if row["label"] == "2":
            continue  # another paper, which only cites the trial
        rivals = {each.name for each in find_drugs(row["comparator"])} | {"placebo"}
        own = [each.name for each in find_drugs(row["group"]) if each.name not in rivals]
        titled = list(dict.fromkeys(each.name for each in find_drugs(row["title"]) if each.name not in rivals))
        named = [each.name for each in find_drugs(row["text"])]
        alone = any(word in row["comparator"].lower() for word in (*_AGAINST_NOTHING, "control", "standard", "usual"))
        if own:
            drug = max(dict.fromkeys(own), key=lambda name: named.count(name) + 3 * (name in titled))
        elif titled and alone:
            drug = titled[0]
        else:
            continue
        conditions = [each[0] for each in find_known_conditions(row["title"])]
        conditions = conditions or [each[0] for each in find_known_conditions(row["text"])]
        if conditions:
            of_nothing = any(word in row["comparator"].lower() for word in _AGAINST_NOTHING)
            case = Case(row["pmid"], row["title"], row["text"], (), drug, conditions[0])
            found.append((case, row["label"] == "1", of_nothing or "placebo" in row["title"].lower()))
    return found


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

    def case_of(pmid: str, drug: str = "", condition: str = "") -> Case:
        record = records[pmid]
        types = tuple(record.get("publication_types") or ())
        return Case(pmid, record["title"], record["abstract"], types, drug, condition)

    known = [each for each in labels() if each.pmid in records]
    apart = {each.pmid for each in known if is_apart(each)}
    early = {each.pmid for each in labels(EARLIER) if is_left_out(each)}
    stored = dict(np.load(ROOT / "reader.npz"))
    base = Weights((ROOT / "reader.npz").read_bytes(), (ROOT / "thresholds.tsv").read_text())

    def rows_of(name: str, cases: Sequence[Case]) -> Any:
        return np.array([base.row(*each) for each in states_of(name, cases, options.states)])

    def of_labels(name: str, found: Sequence[Label]) -> tuple[Any, list[Case]]:
        triples = sorted({each.triple: None for each in found}, key=lambda triple: triple[0])
        rows = rows_of(name, [case_of(*each) for each in triples])
        place = {each: at for at, each in enumerate(triples)}
        return rows[[place[each.triple] for each in found]], [case_of(*each.triple) for each in found]

    left = [each for each in known if each.pmid in early - apart]
    rows, cases = of_labels("left", left)
    groups, heed = np.array([each.pmid for each in left]), np.where([each.sure for each in left], 1.0, UNSURE)
    told: dict[str, Any] = {}
    for name in ("verdict", "role", "match", "kind", "effect", "comparator"):
        truth = np.array([FIELDS[name].index(getattr(each, name)) for each in left])
        strength = STRENGTH if name == "verdict" else STRENGTH_TOLD
        told[name] = out_of_fold(rows, truth, heed, groups, len(FIELDS[name]), strength)
        report(f"left out, {name}", FIELDS[name], told[name].argmax(1), truth)
        final = Regression(rows, truth, heed, strength, len(FIELDS[name]))
        stored[name], stored[f"{name}.bias"] = final.weights, final.bias

    fresh = []
    for path in sorted(FOLDER.glob("primary_*.tsv")):
        with path.open(encoding="utf-8") as file:
            fresh += [each for each in csv.DictReader(file, delimiter="\t") if each["pmid"] in records]
    new_rows = rows_of("new", [case_of(each["pmid"], each["drug"], each["condition"]) for each in fresh])
    new_groups = np.array([each["pmid"] for each in fresh])
    new_heed = np.where([each["sure"] == "1" for each in fresh], 1.0, UNSURE)
    for each in fresh:
        each["alone"] = "alone" if each["alone"] == "1" else "not_alone"
    trials = clinifact(options.folder / "clinifact_half.jsonl.gz")
    trial_rows = rows_of("clini", [each[0] for each in trials])
    trial_groups = np.array([each[0].pmid for each in trials])
    met = np.array([FIELDS["primary"].index("met" if each[1] else "not_met") for each in trials])
    for name in ("primary", "indication", "alone"):
        truth = np.array([FIELDS[name].index(each[name]) for each in fresh])
        all_rows, all_truth, all_heed, all_groups = new_rows, truth, new_heed, new_groups
        if name == "primary":
            all_rows, all_truth = np.concatenate([new_rows, trial_rows]), np.concatenate([truth, met])
            all_heed = np.concatenate([new_heed, np.ones(len(met))])
            all_groups = np.concatenate([new_groups, trial_groups])
        chances = out_of_fold(all_rows, all_truth, all_heed, all_groups, len(FIELDS[name]))
        report(f"read for it, {name}", FIELDS[name], chances[: len(truth)].argmax(1), truth)
        unseen = np.isin(new_groups, list(early - apart))
        report(f"    not learnt from by the encoder, {name}", FIELDS[name], chances[: len(truth)].argmax(1)[unseen],
               truth[unseen])  # fmt: skip
        if name == "primary":
            report("registered p values, primary", FIELDS[name], chances[len(truth) :].argmax(1), met)
        final = Regression(all_rows, all_truth, all_heed, STRENGTH, len(FIELDS[name]))
        stored[name], stored[f"{name}.bias"] = final.weights, final.bias

    place = partial(np.asarray, dtype=np.int64)
    truth = place([FIELDS["verdict"].index(each.verdict) for each in left])
    kinds = kinds_of(cases, told["comparator"])
    trial_told = {name: heard(trial_rows, stored, name) for name in ("verdict", "comparator")}
    trial_kinds = kinds_of([each[0] for each in trials], trial_told["comparator"])
    placebo, failed = np.array([each[2] for each in trials]), ~np.array([each[1] for each in trials])
    names = FIELDS["verdict"]
    certain = np.array([*(each.sure for each in left), *(True for _ in trials)])
    by_outcome = place([names.index("contradicts" if each else "supports") for each in failed])
    chances = np.concatenate([told["verdict"], trial_told["verdict"]])
    thresholds = settle([*kinds, *trial_kinds], chances, np.concatenate([truth, by_outcome]), certain)
    said, sure = verdicts(trial_told["verdict"], trial_kinds, thresholds)
    for how, counts in (("told", np.ones(len(said), bool)), ("shown", sure)):
        against, for_it = ((said == names.index(name)) & counts & placebo for name in ("contradicts", "supports"))
        print(f"{how}: of {(placebo & failed).sum()} failed trials against placebo {against[failed].sum()} as failed, "
              f"{for_it[failed].sum()} as supporting; as failed rightly {against[failed].sum()} of {against.sum()}; "
              f"of {(placebo & ~failed).sum()} successes {for_it[~failed].sum()} as supporting")  # fmt: skip
    look("left out", left, *verdicts(told["verdict"], kinds, thresholds))
    learn_design(records, options, stored)
    halves = {name: np.asarray(each, np.float16) for name, each in stored.items()}
    np.savez(ROOT / "reader.npz", **halves)  # type: ignore[arg-type]
    (ROOT / "thresholds.tsv").write_text(written(thresholds), encoding="utf-8")
    if options.closing:
        rows, cases = of_labels("apart", [each for each in known if each.pmid in apart])
        kept = [each for each in known if each.pmid in apart]
        told = {name: heard(rows, stored, name) for name in FIELDS}
        for name in FIELDS:
            if hasattr(kept[0], name) and name != "verdict":
                names = FIELDS[name]
                report(f"kept apart, {name}", names, told[name].argmax(1), place([names.index(getattr(each, name))
                       for each in kept]))  # fmt: skip
        look("kept apart", kept, *verdicts(told["verdict"], kinds_of(cases, told["comparator"]), thresholds))


def learn_design(records: Mapping[str, Mapping[str, Any]], options: argparse.Namespace, stored: dict[str, Any]) -> None:
    """Learn to tell designs from the encoder's states of whole records."""
    known: dict[str, str] = {}
    for each in labels():
        known.setdefault(each.pmid, each.design)
    for path in sorted(FOLDER.glob("making_*.tsv")):
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                known.setdefault(row["pmid"], row["design"])
    chosen = [each for each in known if each in records]
    np.random.default_rng(0).shuffle(chosen)
    chosen = chosen[:4500]
    cases = [Case(each, records[each]["title"], records[each]["abstract"],
                  tuple(records[each].get("publication_types") or ()), "", "") for each in chosen]  # fmt: skip
    rows = np.array([each[0].whole for each in states_of("design", cases, options.states)])
    names = sorted({*known.values()})
    truth = np.array([names.index(known[each]) for each in chosen])
    groups = np.array(chosen)
    told = out_of_fold(rows, truth, np.ones(len(rows)), groups, len(names), STRENGTH_DESIGN)
    report("designs by the encoder", names, told.argmax(1), truth)
    final = Regression(rows, truth, np.ones(len(rows)), STRENGTH_DESIGN, len(names))
    stored["design"], stored["design.bias"] = final.weights, final.bias


if __name__ == "__main__":
    main()
