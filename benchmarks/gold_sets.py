"""What the learned reader's signs are worth on public gold sets that nobody here labelled, by cross-validation.

    python -m benchmarks.gold_sets FOLDER

Needs scikit-learn. FOLDER holds what is measured, and what it does not hold is named:

- `evidence_inference_train.jsonl.gz` (DeYoung and others, BioNLP 2020): did an intervention increase, decrease or not
  change an outcome, against a comparator? Of the gold sentence, and of the abstract alone. Both are asked again with
  intervention and comparator changed about: an answer with a direction should turn.
- `bioasq_7b_9b.jsonl.gz` (BioASQ 7b to 9b): yes/no questions, answered from their gold snippets.

The product answers neither form: it reads drugs in conditions. What is measured is whether its view of a sentence
(who stands where, beside which words of result) carries over; small linear heads are learnt in each fold, by article
and by question, and nothing is kept of them.
"""

import argparse
import gzip
import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from willowbark.tools.lexicon.stemming import stem, stems
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.features import View
from willowbark.tools.reading.learned import context_of, sentence_features
from willowbark.tools.reading.signs import signs

FOLDS = 5
UP, DOWN, SAME = "increased", "decreased", "no difference"
ANSWERS = (DOWN, UP, SAME)  # in the order of the alphabet, as heads have them
TURNED = {UP: DOWN, DOWN: UP, SAME: SAME, "nothing": "nothing"}
_HEADING = re.compile(r"^\s*(?:ABSTRACT\.)?([A-Z][A-Z &/,]+):+\s*\n+", re.MULTILINE)
_CONTROL = frozenset(stems("control placebo sham comparator comparison usual conventional standard"))
_TREATED = frozenset(stems("intervention experimental active treated"))
"""How texts call the arms of a trial that has a control, beside their own names."""
_ARTICLE = re.compile(r"TITLE:\s*(.*?)\n+(.*)", re.DOTALL)
_QUESTION = re.compile(r"\b(?:not|no|without|never|only|always|all|any|effective|approved|associated|cause\w*)\b")


class Prompt(NamedTuple):
    """Did the intervention change the outcome, against the comparator?"""

    article: str
    intervention: str
    comparator: str
    outcome: str
    label: str
    evidence: str
    title: str
    abstract: str

    def turned(self) -> "Prompt":
        """The same with the arms changed about."""
        return self._replace(intervention=self.comparator, comparator=self.intervention, label=TURNED[self.label])


class Arms(View):
    """A page with the intervention as the drug, the comparator as the other, and the outcome as the condition."""

    def __init__(self, page: Document, prompt: Prompt) -> None:
        self.prompt = prompt
        super().__init__(page, prompt.intervention, prompt.outcome)

    def _mask_drugs(self) -> None:
        mine, theirs = frozenset(stems(self.prompt.intervention)), frozenset(stems(self.prompt.comparator))
        own, other = mine - theirs, theirs - mine
        if mine & _CONTROL and not theirs & _CONTROL:
            own, other = own | _CONTROL - other, other | _TREATED - own
        elif theirs & _CONTROL:
            own, other = own | _TREATED - other, other | _CONTROL - own
        for wanted, sign in ((own, "DRUG"), (other, "OTHER")):
            for start, end in _runs(self.document, wanted):
                self._put(start, end, sign, self.drug_at if sign == "DRUG" else None)

    def _mask_conditions(self, condition: str) -> None:
        arms = {*stems(self.prompt.intervention), *stems(self.prompt.comparator)}
        for start, end in _runs(self.document, frozenset(stems(condition)) - arms):
            self._put(start, end, "COND", self.cond_at)


def _runs(page: Document, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Where words of some stems stand, those in a row together."""
    begun: tuple[int, int] | None = None
    for word, start, end in page.pieces:
        if word and stem(word) in wanted:
            begun = (begun[0], end) if begun else (start, end)
        elif begun:
            yield begun
            begun = None
    if begun:
        yield begun


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a packed file with one a line."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(map(json.loads, file))


def prompts(path: Path) -> list[Prompt]:
    """The prompts of evidence inference, an answer of an annotator each."""
    names = {"significantly increased": UP, "significantly increase": UP, "significantly decreased": DOWN}
    found = []
    for row in lines(path):
        told = _ARTICLE.match(row["text"].strip())
        title, body = (told[1].strip(), told[2]) if told else ("", row["text"])
        abstract = _HEADING.sub(lambda heading: f"\n{heading[1].title()}: ", body.replace("ABSTRACT.", "")).strip()
        label = names.get(row["label"], SAME)
        evidence = " ".join(row["evidence"].split())
        arms = row["intervention"], row["comparator"], row["outcome"]
        found.append(Prompt(row["pmcid"], *arms, label, evidence, title, abstract))
    return found


def fold_of(key: str) -> int:
    """A fold by SHA-256: the same on every machine."""
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % FOLDS


Row = Mapping[str, float] | Sequence[str]
"""Features with their values, or names of those that are there."""


class Head:
    """A linear head over names of features, learnt at once."""

    def __init__(self, rows: Sequence[Row], truth: Sequence[str], strength: float, least: int = 4) -> None:
        counts = Counter(name for row in rows for name in row)
        self.place = {name: at for at, name in enumerate(sorted(n for n, count in counts.items() if count >= least))}
        self.model = LogisticRegression(C=strength, max_iter=60, class_weight="balanced")
        self.model.fit(self._table(rows), list(truth))
        self.classes = [str(each) for each in self.model.classes_]

    def _table(self, rows: Sequence[Row]) -> csr_matrix:
        found, values, ends = list[int](), list[float](), [0]
        for row in rows:
            told = row if isinstance(row, Mapping) else dict.fromkeys(row, 1.0)
            for name, value in told.items():
                if name in self.place:
                    found.append(self.place[name])
                    values.append(value)
            ends.append(len(found))
        return csr_matrix((values, found, ends), shape=(len(rows), len(self.place)))

    def chances(self, rows: Sequence[Row]) -> Any:
        """Probabilities, rows × classes."""
        return self.model.predict_proba(self._table(rows))


def of_sentence(view: View, order: int, share: float) -> list[str]:
    """What a sentence shows, and how much of the outcome's name stands in it."""
    return [*map(intern, sentence_features(view, order, context_of(view))), f"covers{int(4 * share)}"]


def covered(view: Arms, order: int) -> float:
    """The share of the outcome's words that a sentence holds."""
    wanted = set(stems(view.prompt.outcome))
    first, last = view.document.spans[order]
    held = {stem(word) for word, _, _ in view.document.pieces[first:last] if word}
    return len(wanted & held) / max(1, len(wanted))


@cache
def of_evidence(prompt: Prompt) -> tuple[str, ...]:
    """The features of a gold passage, all its sentences together."""
    view = Arms(Document("", prompt.evidence), prompt)
    found = (name for at in range(len(view.sentences)) for name in of_sentence(view, at, covered(view, at)))
    shown = ("good", "less", "more", "not", "same", "cmp", "null", "sig", "nonsig")
    told = (f"#{name}{min(int(n), 3)}" for name, n in signs(view).items() if n and name.startswith(shown))
    return tuple(dict.fromkeys((*found, *told)))


def both_ways(found: Sequence[Prompt]) -> list[Prompt]:
    """Each prompt, and the same with its arms changed about."""
    return [way for each in found for way in (each, each.turned())]


Tell = Callable[[Sequence[Prompt]], Any]
"""Gives the probabilities of the answers to some prompts, prompts × `ANSWERS`."""


def learn_sentences(known: Sequence[Prompt]) -> Head:
    """Learn what a gold passage tells, both ways round."""
    ways = both_ways(known)
    return Head([of_evidence(each) for each in ways], [each.label for each in ways], 0.05)


def on_sentences(known: Sequence[Prompt]) -> Tell:
    """Answers from the gold passage."""
    head = learn_sentences(known)
    return lambda asked: head.chances([of_evidence(each) for each in asked])


def _best(head: Head, rows: Sequence[Row]) -> list[str]:
    return [head.classes[at] for at in head.chances(rows).argmax(axis=1)]


def on_abstracts(known: Sequence[Prompt]) -> Tell:
    """Answers from the abstract: what each of its sentences tells, weighed by how much of the outcome it holds."""
    inner = [fold_of(f"inner{each.article}") % 2 for each in known]
    heads = [learn_sentences([each for each, half in zip(known, inner, strict=True) if half != h]) for h in (0, 1)]
    rows, truth = [], []
    for each, half in zip(known, inner, strict=True):
        for way in (each, each.turned()):
            rows.append(of_abstract(way, heads[half]))
            truth.append(way.label)
    second, first = Head(rows, truth, 0.01, 5), learn_sentences(known)
    return lambda asked: second.chances([of_abstract(each, first) for each in asked])


@cache
def cut(prompt: Prompt) -> tuple[tuple[tuple[str, ...], ...], tuple[float, ...]]:
    """What the telling sentences of an abstract show, and the share of the outcome that each holds."""
    view = Arms(Document(prompt.title, prompt.abstract), prompt)
    orders = [at for at, zone in enumerate(view.document.zones) if zone in "TRC"] or list(range(len(view.sentences)))
    shares = tuple(covered(view, at) for at in orders)
    return tuple(tuple(of_sentence(view, at, s)) for at, s in zip(orders, shares, strict=True)), shares


def of_abstract(prompt: Prompt, head: Head) -> dict[str, float]:
    """What the sentences of an abstract tell together, and the words of the one that holds most of the outcome."""
    rows, held = cut(prompt)
    if not rows:
        return {"empty": 1.0}
    told, shares = head.chances(rows), np.array(held)
    found = dict.fromkeys((f"w:{name}" for name in rows[int(shares.argmax())]), 1.0)
    for column, name in enumerate(head.classes):
        chances = told[:, column]
        found[f"best {name}"] = 4 * float(chances.max())
        found[f"fits {name}"] = 4 * float((chances * shares).max())
        found[f"mean {name}"] = 4 * float((chances * (shares + 0.05)).sum() / (shares + 0.05).sum())
        found[f"end {name}"] = 2 * float(chances[-1])
        found[f"top {name}"] = 4 * float(chances[shares >= shares.max() - 1e-9].mean())
    found["covers"] = float(shares.max())
    return found


def crossed(found: Sequence[Prompt], learn: Callable[[Sequence[Prompt]], Tell]) -> tuple[list[str], list[str]]:
    """Answers to each prompt, and to the same with its arms changed about, by what was learnt on other articles.

    A prompt and the same turned are both asked, and what both say together counts. Where a text does not tell the arms
    apart both say the same, and the prompt as it stands decides.
    """
    plain, turned = [""] * len(found), [""] * len(found)
    mirror = [ANSWERS.index(TURNED[name]) for name in ANSWERS]
    for fold in range(FOLDS):
        mine = [at for at, each in enumerate(found) if fold_of(each.article) == fold]
        tell = learn([each for each in found if fold_of(each.article) != fold])
        one, other = tell([found[at] for at in mine]), tell([found[at].turned() for at in mine])
        for row, at in enumerate(mine):
            plain[at] = ANSWERS[int((one[row] + 0.99 * other[row][mirror]).argmax())]
            turned[at] = ANSWERS[int((other[row] + 0.99 * one[row][mirror]).argmax())]
    return plain, turned


def macro_f1(truth: Sequence[str], given: Sequence[str]) -> float:
    """The mean F1 of the classes, in percent."""
    marks = []
    for name in sorted(set(truth)):
        hit = sum(a == b == name for a, b in zip(truth, given, strict=True))
        marks.append(200 * hit / max(1, sum(a == name for a in truth) + sum(b == name for b in given)))
    return float(np.mean(marks))


def answered(what: str, found: Sequence[Prompt], learn: Callable[[Sequence[Prompt]], Tell]) -> str:
    """The figures of one task, and of the arms changed about."""
    plain, turned = crossed(found, learn)
    truth = [each.label for each in found]
    directed = [at for at, each in enumerate(plain) if each != SAME]
    flipped = sum(turned[at] == TURNED[plain[at]] for at in directed)
    right = sum(a == b for a, b in zip(truth, plain, strict=True))
    return (
        f"evidence inference, {what}: {len(found)} prompts, accuracy {100 * right / len(found):.1f}, macro-F1 "
        f"{macro_f1(truth, plain):.1f}; arms changed about: {flipped} of {len(directed)} answers with a direction "
        f"turn ({100 * flipped / max(1, len(directed)):.0f} %)"
    )


def evidence_inference(path: Path) -> Iterator[str]:
    """Figures of both tasks."""
    found = prompts(path)
    yield answered("gold passage", found, on_sentences)
    yield answered("abstract", found, on_abstracts)


def of_question(body: str, snippets: Iterable[str]) -> dict[str, float]:
    """A yes/no question beside its snippets: how it is put, what stands in the sentences that hold most of it."""
    wanted = frozenset(stems(body))
    found: dict[str, float] = {}
    words = re.findall(r"[a-z]+", body.lower())
    found |= {f"q:{one} {two}": 1.0 for one, two in zip(["^", *words], words, strict=False)}
    found |= {f"q:{word}": 1.0 for word in words}
    found |= {f"q!{hit}": 1.0 for hit in _QUESTION.findall(body.lower())}
    asked = Prompt("", body, "", "", "", "", "", "")
    views = [Arms(Document("", text), asked) for text in snippets]
    totals: Counter[str] = Counter()
    best: list[tuple[float, Sequence[str]]] = []
    for view in views:
        totals.update({name: min(value, 3.0) for name, value in signs(view).items() if value})
        for at, told in enumerate(view.sentences):
            first, last = view.document.spans[at]
            held = {stem(word) for word, _, _ in view.document.pieces[first:last] if word}
            share = len(wanted & held) / max(1, len(wanted))
            best.append((share, told))
            if share >= 0.4:
                for name in sentence_features(view, at, ""):
                    found[f"s:{name}"] = found.get(f"s:{name}", 0.0) + share
    count = max(1, len(views))
    found |= {f"#{name}": value / count for name, value in totals.items() if name not in ("words", "gap", "gap2")}
    for share, shown in sorted(best, key=lambda pair: -pair[0])[:1]:
        found |= {f"b:{word}": share for word in shown}
    return {name: min(value, 3.0) for name, value in found.items()}


def bioasq(path: Path) -> Iterator[str]:
    """Figures of yes/no questions."""
    rows = [row for row in lines(path) if row["type"] == "yesno"]
    truth = [str(row["exact_answer"]).lower() for row in rows]
    cases = [of_question(row["body"], [each["text"] for each in row["snippets"]]) for row in rows]
    given = [""] * len(rows)
    for fold in range(FOLDS):
        inside = [at for at, row in enumerate(rows) if fold_of(row["id"]) != fold]
        mine = [at for at, row in enumerate(rows) if fold_of(row["id"]) == fold]
        head = Head([cases[at] for at in inside], [truth[at] for at in inside], 0.02)
        for at, told in zip(mine, _best(head, [cases[at] for at in mine]), strict=True):
            given[at] = told
    right = sum(a == b for a, b in zip(truth, given, strict=True))
    yield (
        f"BioASQ yes/no: {len(rows)} questions ({truth.count('yes')} yes), accuracy {100 * right / len(rows):.1f}, "
        f"macro-F1 {macro_f1(truth, given):.1f}"
    )


def main() -> None:
    """Print what can be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore", ConvergenceWarning)  # stopped early on purpose: it costs nothing on other folds
    sets = (("evidence_inference_train.jsonl.gz", evidence_inference), ("bioasq_7b_9b.jsonl.gz", bioasq))
    for name, measure in sets:
        if (folder / name).exists():
            for line in measure(folder / name):
                print(line, flush=True)
        else:
            print(f"not measured: no {name}")


if __name__ == "__main__":
    main()
