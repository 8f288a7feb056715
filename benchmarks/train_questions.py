"""Learn to read questions, and print what it is worth: `python -m benchmarks.train_questions [--write]`.

From `labels/question_readings.tsv`: questions with their kind and what each name does in them, written by hand by
language models in many voices. Figures are of folds by voice: each voice is read by weights that never saw it.
`--write` learns from all of them and writes `tools/questions/heads.tsv`.
"""

import base64
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from willowbark.tools.lexicon.heads import compute_softmax
from willowbark.tools.questions import SURE, find_named_entities, normalise_question, split_parts
from willowbark.tools.questions.kinds import (
    KINDS,
    NamedEntity,
    QuestionKind,
    group_wordings,
    join_list,
    list_ngrams,
    list_surroundings,
    mask_names,
)

LABELS = Path(__file__).parent / "labels" / "question_readings.tsv"
HEADS = Path(__file__).resolve().parent.parent / "tools" / "questions" / "heads.tsv"
FEWEST = 3  # questions that a feature has to be in
FOLDS = 6
STRENGTH = {True: 1.0, False: 3.0}  # of the weights: of kinds, of roles


class Case(NamedTuple):
    """Something to tell: the features, and what is right."""

    voice: str
    features: frozenset[str]
    right: tuple[str, ...]
    """The class; more than one where a question honestly fits several, the main one first."""


def list_kind_cases(row: dict[str, str], text: str, names: Sequence[NamedEntity]) -> Iterator[Case]:
    """Yield the parts of a question with their kinds; the whole with its first where they do not match."""
    first = tuple(row["kind"].split("/"))
    further = [kind for kind in row["also"].split("|") if kind]
    parts = list(split_parts(text))
    if len(parts) != 1 + len(further):
        parts = [text]
    for part, right in zip(parts, [first, *((kind,) for kind in further)], strict=False):
        yield Case(row["voice"], frozenset(list_ngrams(mask_names(part, names)[0])), right)


def list_role_cases(row: dict[str, str], text: str, names: Sequence[NamedEntity]) -> Iterator[tuple[str, Case]]:
    """Yield what is to be told of each name in a question, with the head that tells it."""
    if not row["names"]:
        return
    spans = list[tuple[str, int, int]]()
    for part in row["names"].split(";"):
        label, colon, words = part.strip().partition(":")
        if not colon:
            continue
        negated = normalise_question(f"non-{words}").removeprefix("without ")  # "needle-free"
        for spelling in (words.lower(), negated.lower()):
            start = text.lower().find(spelling)
            if start >= 0:
                spans.append((label, start, start + len(spelling)))
                break
    masked, places = mask_names(text, [join_list(group) for group in group_wordings(text, names)])
    kind: QuestionKind = row["kind"].split("/")[0]  # type: ignore[assignment]
    for name, place in places.items():
        role = next((label for label, start, end in spans if start < name.end and name.start < end), "none")
        features = frozenset(list_surroundings(masked, place, kind))
        yield "left out", Case(row["voice"], features, ("there" if role == "not" else "apart",))
        if name.kind == "condition" and role in ("cond", "people") and kind not in ("harm", "safety", "avoid"):
            yield "of people", Case(row["voice"], features, ("there" if role == "people" else "apart",))


def read_cases() -> dict[str, list[Case]]:
    """What is to be learned, by head."""
    cases_by_head: dict[str, list[Case]] = {"kind": [], "left out": [], "of people": []}
    lines = (line for line in LABELS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        text = normalise_question(row["question"])
        names = find_named_entities(text)
        cases_by_head["kind"] += list_kind_cases(row, text, names)
        for head, case in list_role_cases(row, text, names):
            cases_by_head[head].append(case)
    return cases_by_head


class Learned(NamedTuple):
    """Weights of a head."""

    rows: list[str]
    classes: list[str]
    weights: "np.ndarray[tuple[int, int], np.dtype[np.float64]]"
    """The bias, then a row a feature."""

    def read(self, features: Iterable[str]) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
        """The probability of each class."""
        place = {name: at for at, name in enumerate(self.rows, 1)}
        return compute_softmax(
            self.weights[[0, *(place[feature] for feature in features if feature in place)]].sum(0).astype("f4")
        )


def learn(made_on: Sequence[Case], classes: Sequence[str]) -> Learned:
    """Fit a head."""
    counts = Counter(chain.from_iterable(case.features for case in made_on))
    samples = []
    for case in made_on:
        frequent = [feature for feature in sorted(case.features) if counts[feature] >= FEWEST]
        samples.append(dict.fromkeys(frequent, 1.0))
    rows = DictVectorizer()
    fitted = LogisticRegression(C=STRENGTH[len(classes) > 2], max_iter=300, tol=1e-3).fit(
        rows.fit_transform(samples), [case.right[0] for case in made_on]
    )
    weights = np.vstack((fitted.intercept_, fitted.coef_.T))
    if weights.shape[1] == 1:
        weights = np.hstack((-weights / 2, weights / 2))
    order = [list(fitted.classes_).index(class_) for class_ in classes]
    return Learned(list(rows.get_feature_names_out()), list(classes), weights[:, order])


def write_head(name: str, learned: Learned) -> str:
    """A head as `heads.py` reads it."""
    scale = np.abs(learned.weights).max() / 127
    small = np.round(learned.weights / scale).astype(np.int8)
    width = -len(learned.classes) % 3  # so that each line is whole in base64
    lines = [base64.b64encode(np.pad(row, (0, width)).tobytes()).decode() for row in small]
    head = "\t".join([name, f"{scale:.6g}", *learned.classes])
    weight_rows = zip(["", *learned.rows], lines, small.any(axis=1), strict=True)
    return "\n".join([head, *(f"{row}\t{line}" for row, line, tells in weight_rows if tells or not row)])


def main() -> None:
    """Print what is right by voice, and write the weights if asked to."""
    cases_by_head = read_cases()
    for name, all_cases in cases_by_head.items():
        classes = KINDS if name == "kind" else ("apart", "there")
        voices = sorted({case.voice for case in all_cases})
        answers: list[tuple[Case, str, float]] = []
        for at in range(FOLDS):
            fold = voices[at::FOLDS]
            learned = learn([case for case in all_cases if case.voice not in fold], classes)
            for case in all_cases:
                if case.voice in fold:
                    chances = learned.read(case.features)
                    answers.append((case, classes[int(chances.argmax())], float(chances.max())))
        if name == "kind":
            sure = [answer in case.right for case, answer, how in answers if how >= SURE]
            right = sum(answer in case.right for case, answer, _ in answers)
            print(f"kind: {right} of {len(answers)} right ({right / len(answers):.0%})", end="; ")
            print(f"of {len(sure)} ({len(sure) / len(answers):.0%}) not asked back {sum(sure) / len(sure):.0%}")
        else:
            there = [case.right[0] for case, answer, _ in answers if answer == "there"]
            due = [answer for case, answer, _ in answers if case.right[0] == "there"]
            hits = due.count("there")
            print(f"{name}: {there.count('there')} of {len(there)} right, {hits} of {len(due)} found")
    if "--write" in sys.argv:
        heads = {
            name: learn(head_cases, KINDS if name == "kind" else ("apart", "there"))
            for name, head_cases in cases_by_head.items()
        }
        HEADS.write_text("\n\n".join(write_head(*named_head) for named_head in heads.items()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
