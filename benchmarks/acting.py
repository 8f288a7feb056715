"""Make the weights by which sentences on how a drug acts are told, and print how well they do.

    python -m benchmarks.acting ABSTRACTS.jsonl.gz [--write]

Needs scikit-learn. ABSTRACTS holds `pmid`, `title` and `abstract` a line; the labels are `labels/acting.tsv`: of the
sentences that name a drug some were drawn by chance (four of five among those with a word of action), and as many that
weights learnt from the first found likeliest. Figures are of sentences on drugs not learnt from, eight folds by drug.
The same input gives the same bytes.
"""

import argparse
import csv
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GroupKFold

from willowbark.tools.mechanism import acting
from willowbark.tools.reading.features import Page

LABELS = Path(__file__).parent / "labels" / "acting.tsv"
WEIGHTS = Path(acting.__file__).with_suffix(".tsv")
LEAST_OFTEN = 8  # labelled sentences that a feature stands in
STRENGTH = 0.1  # of the weights, scikit-learn's C
FOLDS = 8


def labelled(abstracts: Path) -> tuple[list[dict[str, int]], list[dict[str, str]]]:
    """The features of each labelled sentence, and its row; of those read twice one row, that which says less."""
    with LABELS.open(encoding="utf-8") as file:
        every = sorted(csv.DictReader(file, delimiter="\t"), key=lambda row: (row["tells"] == "1", row["who"]))
    rows = {(row["pmid"], row["drug"], row["start"]): row for row in reversed(every)}
    print_agreement(every)
    wanted = {row["pmid"] for row in rows.values()}
    with gzip.open(abstracts, "rt", encoding="utf-8") as lines:
        records = {each["pmid"]: each for each in map(json.loads, lines) if each["pmid"] in wanted}
    kept = sorted((row for row in rows.values() if row["pmid"] in records), key=lambda row: tuple(row.values()))
    found = []
    for row in kept:
        page = Page(records[row["pmid"]]["title"], records[row["pmid"]]["abstract"])
        starts = [each.start for each in page.text.sentences]
        if int(row["start"]) not in starts:
            raise SystemExit(f"PMID {row['pmid']} is cut into other sentences than when it was labelled")
        at = starts.index(int(row["start"]))
        sentence = page.text.quote(int(row["start"]), int(row["end"]))
        named = acting.names_in(sentence)
        found.append(acting.features(sentence, row["drug"], named, page.zones[at]))
    return found, kept


def print_agreement(rows: Sequence[dict[str, str]]) -> None:
    """Print how often two readers of a sentence said the same."""
    told = defaultdict(list)
    for row in rows:
        told[row["pmid"], row["drug"], row["start"]].append(row["tells"])
    twice = [each for each in told.values() if len(each) > 1]
    print(f"{len(told)} sentences; of {len(twice)} read by two the same was said of {sum(a == b for a, b in twice)}")


def fitted(rows: Any, tells: Any) -> LogisticRegression:
    """Weights for some sentences."""
    return LogisticRegression(C=STRENGTH, max_iter=1000).fit(rows, tells)


def main() -> None:
    """Print the figures; write the weights where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("abstracts", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found, rows = labelled(options.abstracts)
    often = Counter(name for each in found for name in each)
    vectors = DictVectorizer()
    seen = vectors.fit_transform([{k: v for k, v in each.items() if often[k] >= LEAST_OFTEN} for each in found])
    tells = np.array([row["tells"] == "1" for row in rows])
    drugs, chances = [row["drug"] for row in rows], np.zeros(len(rows))
    denied = np.array([*map(acting.denies, found)])
    for learnt, left in GroupKFold(FOLDS).split(seen, tells, drugs):
        chances[left] = fitted(seen[learnt], tells[learnt]).predict_proba(seen[left])[:, 1] * ~denied[left]
    for part in ("chance", "likeliest", "all"):
        mine = np.array([part in (row["drawn"], "all") for row in rows])
        told, chance = tells[mine], chances[mine]
        precision = average_precision_score(told, chance)
        print(f"{part}: {told.sum()} of {len(told)} tell it; average precision {precision:.2f}")
        for least in (acting.LEAST, acting.LEAST_OF_FEW):
            shown = chance >= least
            right, held = told[shown].mean(), told[shown].sum() / told.sum()
            print(f"    from {least} on {shown.sum()}, {right:.0%} right, {held:.0%} found")
    if options.write:
        model = fitted(seen, tells)
        weights = {"": model.intercept_[0], **dict(zip(vectors.get_feature_names_out(), model.coef_[0], strict=True))}
        lines = [f"{name}\t{weight:.3f}" for name, weight in weights.items()]
        WEIGHTS.write_text("\n".join(["feature\tweight", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
