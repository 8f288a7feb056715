"""Draw records, print them to be read, and write down what a reader says each study compared and found.

    python -m benchmarks.label_studies draw FOLDER 720      which records, in which part, before anyone looks
    python -m benchmarks.label_studies batch FOLDER 1       the first 15 of them, sentences and names numbered
    python -m benchmarks.label_studies answer FOLDER FILE   answers to `labels/studies_01.jsonl`
    python -m benchmarks.label_studies agreement            first against second reading, by field
    python -m benchmarks.label_studies counts               how many labels of each kind there are

FOLDER holds `world_half.jsonl.gz` and `study_readings.jsonl.gz`. `batch` and `answer` take `--again` for the tenth that
is read twice. No rule decides a label: a program only looks up names and offsets of what a reader points at. One answer
is one line, the number of the record first:

    12 T rct 60/58 children 1t 2,3o h:dry_mouth aT bC n:a=30,P=30 a>*P:e!:5,6 a=b:e-:7@2 .b:wj:8 k9 ??

| part | means |
|---|---|
| `T` | aim: T treat, P prevent, H harm, M mechanism or kinetics, O other |
| `rct` | design, by the first letters of `DESIGNS` |
| `60/58` | randomised/analysed; `-` where not reported |
| `children` | who took part, of `PEOPLE` |
| `1t`, `h:dry_mouth` | a condition by number, or by name (`~` as written); role: `CONDITION_ROLES`, else mention |
| `aT`, `x=xylitol` `xT` | a drug by letter, a name for a new one (`~` as written); role: `DRUG_ROLES`, else mentioned |
| `n:a=30,P=30` | people in arms |
| `a+b>*P:e!:5,6@2` | comparison, deciding ones first: arm, who is favoured, versus, outcome, sentences, condition |
| `>` `<` `=` `?` | favours the arm, the other, neither, untold; `*` significant, `~` not; `=` alone: not |
| `P N U S Q B R V` | placebo, nothing, usual care, other treatment, unknown, baseline, baseline on the drug, unstated |
| `e s h r` | efficacy, surrogate, harm, process; `!` primary, `-` not; `qcf` equivalence; `g` subgroup; `/p` basis |
| `.b,c:wj:8@2` | statement on drugs: `STATED`, `BASES`, sentences, condition |
| `k9` | sentences that conclude |
| `??` | a colleague could disagree |

A mark `'` behind a drug in an arm tells another dose or schedule of the same drugs.
"""

import argparse
import csv
import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.labels import FOLDER, is_apart, kappa, labels, read_lines

from willowbark.tools.reading.document import Document
from willowbark.tools.reading.learned import LearnedReader

DRAWN = FOLDER / "studies_01_drawn.tsv"
FIRST = FOLDER / "studies_01.jsonl"
AGAIN = FOLDER / "studies_01_again.jsonl"
BATCH = 15
TWICE = 10
"""One record in so many is read a second time."""
PARTS = ("training", "training", "development", "apart")
"""By a quarter of the hashes each."""
LENGTHS = range(500, 3600)  # characters of an abstract
CANDIDATES = 30  # of one collection in one part whose readings are weighed
MORE = 6  # times as many of trials of all fields
CONDITIONS_ASKED = 2  # conditions that the small reader is asked of, for the drug named most
AIMS = {"T": "treat", "P": "prevent", "H": "harm", "M": "mechanism", "O": "other"}
DESIGNS = (
    "rct", "systematic_review", "meta_analysis", "review", "cohort", "case_control", "cross_sectional", "case_report",
    "protocol", "animal", "in_vitro", "guideline", "other",
)  # fmt: skip
PEOPLE = ("children", "older", "women", "men", "healthy", "pregnant", "animals", "cells")
CONDITION_ROLES = {
    "t": "treat_target", "v": "prevent_target", "p": "people", "h": "adverse_effect", "o": "outcome", "m": "mention",
    "x": "not_a_condition_here",
}  # fmt: skip
DRUG_ROLES = {
    "T": "tested", "C": "comparator", "K": "combined", "B": "background", "A": "cause", "O": "outcome",
    "M": "mentioned", "U": "other_use", "X": "not_a_drug_here",
}  # fmt: skip
ARM_ROLES = {"P": "placebo", "N": "none", "U": "usual_care", "S": "other_treatment", "Q": "unknown"}
AGAINST = {"B": "baseline", "R": "baseline_on_drug", "V": "unstated"}
VERSUS_KINDS = (*ARM_ROLES.values(), *AGAINST.values(), "active", "background_alone", "other_dose")
FAVOURS = {">": "arm", "<": "versus", "=": "neither", "?": None}
SIGNIFICANT = {"*": True, "~": False, ".": None, "": None}
ENDPOINTS = {"e": "efficacy", "s": "surrogate", "h": "harm", "r": "process"}
PRIMARY = {"!": True, "-": False, "": None}
EQUIVALENCE = {"q": "shown", "c": "claimed", "f": "not_shown", "": None}
BASES = {"o": "own_data", "p": "pooled", "m": "modelled", "j": "judgement", "c": "cited", "r": "recommendation"}
STATED = {"w": "works", "n": "does_not_work", "h": "harms", "g": "give", "v": "avoid", "u": "not_shown"}

_COMPARISON = re.compile(
    r"(?P<arm>[a-z]'*(?:\+[a-z]'*)*|[PNUSQ])(?P<favours>[><=?])(?P<significant>[*~.]?)"
    r"(?P<versus>[a-z]'*(?:\+[a-z]'*)*|[PNUSQBRV]):(?P<endpoint>[eshr])(?P<primary>[!-]?)(?P<equivalence>[qcf]?)"
    r"(?P<subgroup>g?)(?:/(?P<basis>[opmjcr]))?:(?P<sentences>\d+(?:,\d+)*)(?:@(?P<condition>\S+))?"
)
_STATEMENT = re.compile(
    r"\.(?P<drugs>[a-z](?:,[a-z])*):(?P<says>[wnhgvu])(?P<basis>[opmjcr]):(?P<sentences>\d+(?:,\d+)*)"
    r"(?:@(?P<condition>\S+))?"
)
_CONDITION = re.compile(r"(?P<numbers>\d+(?:,\d+)*)(?P<role>[tvphomx])")
_NEW_CONDITION = re.compile(r"(?P<role>[tvphom]):(?P<name>[a-z][^\s~]+)(?:~(?P<written>\S+))?")
_DRUG = re.compile(r"(?P<letters>[a-z](?:,[a-z])*)(?P<role>[TCKBAOMUX])")
_NEW_DRUG = re.compile(r"(?P<letter>[a-z])=(?P<name>[a-z0-9][^\s:~]+)(?:~(?P<written>[^\s:]+))?")
_PEOPLE_COUNT = re.compile(r"(?P<randomised>\d+|-)/(?P<analysed>\d+|-)")
_SIZES = re.compile(r"n:(?P<sizes>\S+)")
_CONCLUSION = re.compile(r"k(?P<sentences>\d+(?:,\d+)*)")

Span = list[int]
Row = dict[str, Any]


class AnswerError(ValueError):
    """An answer that cannot be read; the message says which and why."""


@dataclass
class Page:
    """A record as it is shown: sentences, and names with their letters or numbers."""

    key: str
    document: Document
    drugs: dict[str, str] = field(default_factory=dict)
    """Name by letter; a drug class has its own name."""
    conditions: dict[int, str] = field(default_factory=dict)
    places: dict[str, list[Span]] = field(default_factory=dict)
    """Offsets of mentions by name."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Page":
        """Return the page of a record of the collection."""
        document = Document.cut(record["title"], record["abstract"])
        page = cls(f"pmid:{record['pmid']}", document)
        drugs = [*document.drugs, *document.classes]
        for name, start, end in chain(drugs, document.conditions):
            page.places.setdefault(name, []).append([start, end])
        drug_names = dict.fromkeys(mention[0] for mention in drugs)
        page.drugs = dict(zip("abcdefghijklmnopqrstuvw", drug_names, strict=False))
        condition_names = dict.fromkeys(mention[0] for mention in document.conditions)
        page.conditions = dict(enumerate(condition_names, 1))
        return page

    def spans(self, numbers: str) -> list[Span]:
        """Return the offsets of sentences by their numbers; AnswerError for a number that there is not."""
        places = []
        for number in map(int, numbers.split(",")):
            if number >= len(self.document.sentences):
                raise AnswerError(f"{self.key} has no sentence {number}")
            sentence = self.document.sentences[number]
            places.append([sentence.start, sentence.end])
        return places

    def condition(self, written: str) -> str:
        """Return a condition by its number, or as it is written."""
        if not written.isdecimal():
            return written.replace("_", " ")
        if int(written) not in self.conditions:
            raise AnswerError(f"{self.key} has no condition {written}")
        return self.conditions[int(written)]

    def drug(self, letter: str) -> str:
        """Return a drug by its letter; AnswerError if none has it."""
        if letter not in self.drugs:
            raise AnswerError(f"{self.key} has no drug {letter}")
        return self.drugs[letter]

    def write(self, number: int) -> Iterator[str]:
        """Yield the lines that are shown to a reader."""
        yield f"## {number} {self.key}"
        yield "D " + " ".join(f"{letter}={name}" for letter, name in self.drugs.items())
        yield "C " + "; ".join(f"{at} {name}" for at, name in self.conditions.items())
        for sentence in self.document.sentences:
            yield f"{sentence.order}. {sentence.quote.strip()}"


def choose_part(key: str) -> str:
    """Return the part that a record belongs to, by SHA-256 of its key: the same whoever asks."""
    return PARTS[_draw_bucket(f"study {key}", len(PARTS))]


def _draw_bucket(text: str, count: int) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % count


def draw(folder: Path, count: int) -> list[Row]:
    """Choose about so many records not drawn yet, by what the small reader doubts or gets wrong and by how many names.

    A record that an older label is kept apart of is out, and one in `study_readings.jsonl.gz`. Records with older
    labels can be in half of the part for training alone, since the present reader has learnt from them.
    """
    older = defaultdict(list)
    for label in labels():
        older[label.pmid].append(label)
    excluded = {row["pmid"] for row in read_lines(folder / "study_readings.jsonl.gz")}
    excluded |= {key.removeprefix("pmid:") for key in read_drawn().values()}
    excluded |= {pmid for pmid, rows in older.items() if any(map(is_apart, rows))}
    pools = defaultdict(list)
    for record in read_lines(folder / "world_half.jsonl.gz"):
        pmid = record["pmid"]
        part = choose_part(f"pmid:{pmid}")
        is_new = pmid not in older
        if pmid not in excluded and len(record["abstract"]) in LENGTHS and (is_new or part == "training"):
            pools[record["provenance"], part, is_new].append(record)
    reader = LearnedReader()
    scored = {group: _score_pool(pool, older, reader) for group, pool in sorted(pools.items())}
    weights = {group: len(rows) ** 0.5 for group, rows in scored.items()}
    chosen: list[Row] = []
    for group, rows in scored.items():
        total = sum(weight for other, weight in weights.items() if other[1:] == group[1:])
        chosen += rows[: round(count / len(PARTS) * weights[group] / total)]
    chosen.sort(key=lambda row: _draw_bucket(f"order {row['record']}", 2**64))
    return chosen


def _score_pool(pool: list[Row], older: Mapping[str, list[Any]], reader: LearnedReader) -> list[Row]:
    """Return the candidates of one collection, of most worth first: those with several drugs or conditions."""
    pool.sort(key=lambda record: _draw_bucket(f"draw {record['pmid']}", 2**64))
    limit = CANDIDATES * (MORE if pool[0]["provenance"] == "ei" else 1)
    rows: list[Row] = []
    for record in pool:
        if len(rows) == limit:
            break
        page = Page.of(record)
        names = len(page.document.drugs and page.drugs), len(page.conditions)
        if min(names) == 0:
            continue
        doubt = _estimate_doubt(page, older.get(record["pmid"], []), reader)
        worth = doubt + 0.1 * sum(min(number, 4) for number in names)
        rows.append({"record": page.key, "part": choose_part(page.key), "doubt": round(doubt, 2), "worth": worth})
    return sorted(rows, key=lambda row: -row["worth"])


def _estimate_doubt(page: Page, older: Sequence[Any], reader: LearnedReader) -> float:
    """Return 1 where the small reader contradicts an older label, else one minus its least probability."""
    pairs = {(label.drug, label.condition): label.verdict for label in older[: 2 * CONDITIONS_ASKED]}
    if not pairs:
        drug = Counter(mention[0] for mention in page.document.drugs).most_common(1)[0][0]
        names = Counter(mention[0] for mention in page.document.conditions).most_common(CONDITIONS_ASKED)
        pairs = {(drug, name): None for name, _ in names}
    doubt = 0.0
    for (drug, condition), verdict in pairs.items():
        reading = reader.read_document(page.document, drug, condition)
        is_wrong = verdict is not None and verdict != reading.verdict
        doubt = max(doubt, 1.0 if is_wrong else 1.0 - reading.probability)
    return doubt


def read_drawn(path: Path = DRAWN) -> dict[int, str]:
    """Return the keys of the records that were drawn, by their number from 1; none if there is no such file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as file:
        return {int(row["number"]): row["record"] for row in csv.DictReader(file, delimiter="\t")}


def read_pages(folder: Path, numbers: Iterable[int]) -> dict[int, Page]:
    """Return the pages of drawn records by their numbers; numbers that there are not are left out."""
    keys = read_drawn()
    chosen = {keys[number]: number for number in numbers if number in keys}
    pages = {}
    for record in read_lines(folder / "world_half.jsonl.gz"):
        key = f"pmid:{record['pmid']}"
        if key in chosen:
            pages[chosen[key]] = Page.of(record)
    return dict(sorted(pages.items()))


def is_twice(key: str) -> bool:
    """Whether a record is one of those that are read twice."""
    return _draw_bucket(f"again {key}", TWICE) == 0


class Answer:
    """One line of a reader's answer, read part by part into a row of the label file."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.written: dict[str, str] = {}
        self.drug_roles: dict[str, str] = {}
        self.condition_roles: dict[str, str] = {}
        self.arms: dict[str, Row] = {}
        self.sizes: dict[str, int] = {}
        self.row: Row = {
            "record": page.key, "part": choose_part(page.key), "aim": None, "design": None, "people": [],
            "randomised": None, "analysed": None, "conditions": [], "drugs": [], "arms": [], "comparisons": [],
            "statements": [], "conclusion": [], "sure": 1,
        }  # fmt: skip

    def read(self, parts: Sequence[str]) -> Row:
        """Read the parts of an answer; AnswerError for one that means nothing."""
        for part in parts:
            naming = _NEW_DRUG.fullmatch(part)
            if naming:
                name = naming["name"].replace("_", " ")
                self.page.drugs[naming["letter"]] = name
                self.written[name] = (naming["written"] or naming["name"]).replace("_", " ")
        for part in parts:
            if not (self._read_word(part) or self._read_role(part) or self._read_finding(part)):
                raise AnswerError(f"{self.page.key}: {part!r} means nothing")
        if self.row["aim"] is None or self.row["design"] is None:
            raise AnswerError(f"{self.page.key}: the aim or the design is missing")
        self._finish()
        return self.row

    def _read_word(self, part: str) -> bool:
        """Read the aim, the design, who took part, how many, or a doubt."""
        designs = [name for name in DESIGNS if len(part) > 1 and name.startswith(part)]
        count = _PEOPLE_COUNT.fullmatch(part)
        if part in AIMS:
            self.row["aim"] = AIMS[part]
        elif part in PEOPLE:
            self.row["people"].append(part)
        elif designs:
            self.row["design"] = designs[0]
        elif count:
            self.row |= {name: int(value) if value != "-" else None for name, value in count.groupdict().items()}
        elif part == "??":
            self.row["sure"] = 0
        else:
            return False
        return True

    def _read_role(self, part: str) -> bool:
        """Read the role of conditions or drugs, or the sizes of arms."""
        numbered = _CONDITION.fullmatch(part)
        new = _NEW_CONDITION.fullmatch(part)
        drugs = _DRUG.fullmatch(part)
        sizes = _SIZES.fullmatch(part)
        if numbered:
            for number in numbered["numbers"].split(","):
                self.condition_roles[self.page.condition(number)] = CONDITION_ROLES[numbered["role"]]
        elif sizes:
            pairs = [pair.split("=") for pair in sizes["sizes"].split(",")]
            self.sizes = {self._add_arm(arm): int(size) for arm, size in pairs}
        elif new:
            name = self.page.condition(new["name"])
            self.condition_roles[name] = CONDITION_ROLES[new["role"]]
            self.written[name] = (new["written"] or name).replace("_", " ")
        elif drugs:
            for letter in drugs["letters"].split(","):
                self.drug_roles[self.page.drug(letter)] = DRUG_ROLES[drugs["role"]]
        else:
            return _NEW_DRUG.fullmatch(part) is not None
        return True

    def _read_finding(self, part: str) -> bool:
        """Read a comparison, a statement or the conclusion."""
        comparison = _COMPARISON.fullmatch(part)
        statement = _STATEMENT.fullmatch(part)
        conclusion = _CONCLUSION.fullmatch(part)
        if comparison:
            self.row["comparisons"].append(self._compare(comparison))
        elif statement:
            for letter in statement["drugs"].split(","):
                self.row["statements"].append(self._state(letter, statement))
        elif conclusion:
            self.row["conclusion"] = self.page.spans(conclusion["sentences"])
        else:
            return False
        return True

    def _add_arm(self, written: str) -> str:
        """Return the name of an arm, which is added if it is new."""
        letters = written.replace("'", "")
        if letters in ARM_ROLES:
            name = ARM_ROLES[letters]
            row = {"role": ARM_ROLES[letters], "drugs": []}
        else:
            names = [self.page.drug(letter) for letter in letters.split("+")]
            marks = " (another schedule)" * written.count("'")
            name = " + ".join(names) + marks
            row = {"role": "drug", "drugs": names}
        self.arms.setdefault(name, {"name": name, **row, "n": None})
        return name

    def _compare(self, match: re.Match[str]) -> Row:
        """Return a comparison: what differs between its arms follows from their drugs."""
        arm = self._add_arm(match["arm"])
        against = AGAINST.get(match["versus"])
        versus = None if against else self._add_arm(match["versus"])
        first = self.arms[arm]["drugs"]
        other = self.arms[versus]["drugs"] if versus else []
        is_neither = match["favours"] == "=" and not match["significant"]
        condition = match["condition"]
        return {
            "arm": arm,
            "versus": versus,
            "against": against or "arm",
            "versus_kind": against or _find_kind(self.arms[str(versus)], first),
            "contrast": [name for name in first if name not in other],
            "endpoint": ENDPOINTS[match["endpoint"]],
            "primary": PRIMARY[match["primary"]],
            "condition": self.page.condition(condition) if condition else None,
            "subgroup": match["subgroup"] == "g",
            "favours": FAVOURS[match["favours"]],
            "significant": False if is_neither else SIGNIFICANT[match["significant"]],
            "equivalence": EQUIVALENCE[match["equivalence"]],
            "basis": BASES[match["basis"] or "o"],
            "sentences": self.page.spans(match["sentences"]),
        }

    def _state(self, letter: str, match: re.Match[str]) -> Row:
        """Return a statement on a drug."""
        condition = match["condition"]
        return {
            "drug": self.page.drug(letter),
            "says": STATED[match["says"]],
            "basis": BASES[match["basis"]],
            "condition": self.page.condition(condition) if condition else None,
            "sentences": self.page.spans(match["sentences"]),
        }

    def _finish(self) -> None:
        """Write down names with their roles and mentions, and arms with their sizes."""
        for name, size in self.sizes.items():
            self.arms[name]["n"] = size
        self.row["arms"] = list(self.arms.values())
        names = dict.fromkeys([*self.page.conditions.values(), *self.condition_roles])
        for name in names:
            role = self.condition_roles.get(name, "mention")
            self.row["conditions"].append({"name": name, "role": role, "mentions": self._find_mentions(name)})
        for name in dict.fromkeys(self.page.drugs.values()):
            role = self.drug_roles.get(name, "mentioned")
            arms = [arm["name"] for arm in self.row["arms"] if name in arm["drugs"]]
            is_isolated = any(row["contrast"] == [name] for row in self.row["comparisons"])
            is_single = any(arm["drugs"] == [name] for arm in self.row["arms"])
            alone = (is_isolated or is_single) if arms else None
            mentions = self._find_mentions(name)
            self.row["drugs"].append({"name": name, "role": role, "alone": alone, "arms": arms, "mentions": mentions})

    def _find_mentions(self, name: str) -> list[Span]:
        """Return the offsets of a name: as the lexicon finds it, else as it is written in the record."""
        if name in self.page.places:
            return self.page.places[name]
        words = re.split(r"[\s-]+", self.written.get(name, name))
        pattern = r"[\s-]+".join(map(re.escape, words))
        matches = re.finditer(rf"\b{pattern}", self.page.document.whole, re.IGNORECASE)
        return [list(match.span()) for match in matches]


def _find_kind(versus: Mapping[str, Any], first: Sequence[str]) -> str:
    """Return what an arm is compared with: an arm of its own drugs is another dose, of some of them the background."""
    if versus["role"] != "drug":
        return str(versus["role"])
    if set(versus["drugs"]) == set(first):
        return "other_dose"
    return "background_alone" if set(versus["drugs"]) < set(first) else "active"


def read_answers(pages: Mapping[int, Page], lines: Iterable[str]) -> dict[str, Row]:
    """Return rows of the label file by record; `skip` behind a number leaves a record out."""
    rows = {}
    for line in lines:
        number, *parts = line.split()
        if parts == ["skip"]:
            continue
        if int(number) not in pages:
            raise AnswerError(f"there is no record {number}")
        page = pages[int(number)]
        rows[page.key] = Answer(page).read(parts)
    return rows


def read_rows(path: Path) -> dict[str, Row]:
    """Return the rows of a label file by record; none if there is no such file."""
    return {row["record"]: row for row in read_lines(path)} if path.exists() else {}


def write_rows(path: Path, rows: Mapping[str, Row]) -> None:
    """Write a label file, a record a line, in the order in which records were drawn."""
    order = {key: number for number, key in read_drawn().items()}
    ranked = sorted(rows.values(), key=lambda row: order[row["record"]])
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in ranked]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _find_target(row: Row) -> str:
    roles = ("treat_target", "prevent_target")
    return ", ".join(sorted(condition["name"] for condition in row["conditions"] if condition["role"] in roles))


def _list_pairs(first: Row, second: Row) -> Iterator[tuple[str, str, str]]:
    """Yield field, first and second answer for everything that both readings tell of one record."""
    for name in ("aim", "design", "randomised", "analysed", "people", "sure"):
        yield name, str(first[name]), str(second[name])
    yield "targets", _find_target(first), _find_target(second)
    for kind, parts in (("conditions", ("role",)), ("drugs", ("role", "alone"))):
        others = {row["name"]: row for row in second[kind]}
        for row in first[kind]:
            if row["name"] in others:
                for part in parts:
                    yield f"{kind[:-1]} {part}", str(row[part]), str(others[row["name"]][part])
    deciding = [(row["comparisons"] or [{}])[0] for row in (first, second)]
    for part in ("contrast", "versus_kind", "endpoint", "primary", "favours", "significant", "sentences"):
        yield f"deciding {part}", str(deciding[0].get(part)), str(deciding[1].get(part))
    yield "statements", str(_list_statements(first)), str(_list_statements(second))
    yield "conclusion", str(first["conclusion"]), str(second["conclusion"])


def _list_statements(row: Row) -> list[tuple[str, str]]:
    return sorted({(view["drug"], view["says"]) for view in row["statements"]})


def measure_agreement(first: Mapping[str, Row], second: Mapping[str, Row]) -> dict[str, list[tuple[str, str]]]:
    """Return pairs of answers by field, of the records that were read twice."""
    answers = defaultdict(list)
    for key in first.keys() & second.keys():
        for name, one, other in _list_pairs(first[key], second[key]):
            answers[name].append((one, other))
    return answers


def _print_agreement() -> None:
    """Print how far two readings agree, a line for each field."""
    for name, pairs in measure_agreement(read_rows(FIRST), read_rows(AGAIN)).items():
        same = sum(one == other for one, other in pairs)
        print(f"| {name} | {same} of {len(pairs)} | {same / len(pairs):.0%} | {kappa(pairs):.2f} |")


def _print_counts() -> None:
    """Print how many labels of each kind there are."""
    rows = list(read_rows(FIRST).values())
    for name in ("part", "aim", "design", "sure"):
        print(name, dict(Counter(row[name] for row in rows).most_common()))
    for kind in ("conditions", "drugs"):
        parts = chain.from_iterable(row[kind] for row in rows)
        print(kind, dict(Counter(part["role"] for part in parts).most_common()))
    comparisons = list(chain.from_iterable(row["comparisons"] for row in rows))
    for name in ("versus_kind", "endpoint", "primary", "favours", "significant"):
        print(name, dict(Counter(comparison[name] for comparison in comparisons).most_common()))
    statements = chain.from_iterable(row["statements"] for row in rows)
    print("statements", dict(Counter(statement["says"] for statement in statements).most_common()))


def main() -> None:
    """Run one of the commands above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=("draw", "batch", "answer", "agreement", "counts"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("item", nargs="?", help="how many, number of a batch, or a file of answers")
    parser.add_argument("--again", action="store_true", help="the tenth that is read twice")
    chosen = parser.parse_args()
    if chosen.command == "agreement":
        _print_agreement()
    elif chosen.command == "counts":
        _print_counts()
    elif chosen.command == "draw":
        _append_drawn(draw(chosen.folder, int(chosen.item)))
    elif chosen.command == "batch":
        numbers = [number for number, key in read_drawn().items() if not chosen.again or is_twice(key)]
        start = (int(chosen.item) - 1) * BATCH
        for number, page in read_pages(chosen.folder, numbers[start : start + BATCH]).items():
            print("\n".join(page.write(number)))
    else:
        lines = [line for line in Path(chosen.item).read_text(encoding="utf-8").splitlines() if line.strip()]
        path = AGAIN if chosen.again else FIRST
        pages = read_pages(chosen.folder, [int(line.split()[0]) for line in lines])
        try:
            rows = read_rows(path) | read_answers(pages, lines)
        except AnswerError as error:
            sys.exit(str(error))
        write_rows(path, rows)
        print(f"{len(rows)} records in {path.name}")


def _append_drawn(rows: Sequence[Row]) -> None:
    start = len(read_drawn()) + 1
    with DRAWN.open("a", encoding="utf-8") as file:
        if start == 1:
            file.write("number\trecord\tpart\tdoubt\n")
        for number, row in enumerate(rows, start):
            file.write(f"{number}\t{row['record']}\t{row['part']}\t{row['doubt']}\n")


if __name__ == "__main__":
    main()
