"""What people say of records: the first reader of `Study`, kept by record in one file of plain text.

The file has one correction a line, as JSON, and only ever grows, so that a team keeps it in git (with
`corrections.jsonl merge=union` in `.gitattributes`, two people's lines are joined). A later line of a person replaces
that person's earlier one on the same subject. Where two people differ, neither counts and both are shown.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import AwareDatetime, BaseModel, Field, JsonValue, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from ..errors import UsageError
from ..records.evidence import Evidence
from .reading import Direction

CORRECTIONS_FILE = "corrections.jsonl"
WORKSPACE_FOLDER = ".willowbark"
"""Holds a workspace's ledger; the corrections stand beside it, where git sees them."""
Change = Literal["stance", "field", "exclude", "add", "set aside", "count"]
ExclusionReason = Literal[
    "wrong population", "wrong intervention", "wrong comparator", "wrong outcome", "wrong study design",
    "wrong publication type", "duplicate", "retracted", "no usable data", "other",
]  # fmt: skip
"""Reasons of PRISMA 2020's flow diagram as reviewers word them; PRISMA itself fixes none.
https://doi.org/10.1136/bmj.n71"""
EXCLUSION_REASONS: tuple[ExclusionReason, ...] = get_args(ExclusionReason)
ErrorKind = Literal["direction", "comparator", "combination", "people", "condition", "figure", "other"]
"""What the readers got wrong, for counts of errors."""
MAX_NOTE = 1000  # characters
_NEEDS: Mapping[Change, str] = {
    "stance": "a record, a drug and what the record says of it",
    "field": "a record and a field",
    "exclude": "a record and a reason",
    "add": "a record",
    "set aside": "a drug",
    "count": "a record and a drug",
}
_MOST_BYTES = 64 << 20  # of the file: some 100,000 corrections, or 10,000 added records
_WHO = "WILLOWBARK_PERSON"


class Correction(BaseModel, frozen=True, extra="forbid"):
    """One thing that one person says of a record, or of a drug."""

    change: Change
    record: str = ""
    """Key of the record: `pmid:…`, `nct:…`; empty for a drug set aside."""
    drug: str = ""
    """Generic name in lower case; empty where the record as a whole is meant."""
    condition: str = ""
    """The question's condition; empty for every one."""
    says: Direction | None = None
    """Of a stance: what the record says of the drug."""
    field: str = ""
    """Of a field: its place in the `Study`, such as `aim`, `arms[placebo].n`, `deciding.participants`."""
    value: JsonValue = None
    """Of a field: what it is, None for "not reported". Of an added record: the record."""
    reason: ExclusionReason | None = None
    quote: str = ""
    """Sentence of the record on which the word rests; empty for the readers' own."""
    note: str = Field(default="", max_length=MAX_NOTE)
    was: JsonValue = None
    """What the readers had read before; None: nothing."""
    error: ErrorKind | None = None
    seconds: float | None = Field(default=None, ge=0)
    """Time spent on the row; None: not measured."""
    withdrawn: bool = False
    """Whether the person takes back what they said on this subject."""
    who: str = Field(min_length=1, max_length=100)
    at: AwareDatetime

    @model_validator(mode="after")
    def _check_parts(self) -> "Correction":
        lacking = {
            "stance": ""
            if self.record and self.drug and self.says is not None
            else "a record, a drug and what it says",
            "field": "" if self.record and self.field else "a record and a field",
            "exclude": "" if self.record and self.reason is not None else "a record and a reason",
            "add": "" if self.record and isinstance(self.value, dict) else "a record",
            "set aside": "" if self.drug else "a drug",
            "count": "" if self.record and self.drug else "a record and a drug",
        }[self.change]
        if lacking and not self.withdrawn:
            raise PydanticCustomError("correction", "needs {lacking}", {"lacking": lacking})
        return self

    @property
    def subject(self) -> tuple[str, ...]:
        """What it is about: later words of one person on it replace earlier ones."""
        return self.change, self.record, self.drug, self.condition, self.field

    @property
    def word(self) -> str:
        """What is said, to compare with what others say; reasons and notes may differ."""
        by_change: dict[Change, JsonValue] = {"stance": self.says and self.says.value, "field": self.value}
        return json.dumps(by_change.get(self.change), sort_keys=True)

    @property
    def by(self) -> str:
        """Who and on which day (UTC)."""
        return f"{self.who}, {self.at.astimezone(UTC):%Y-%m-%d}"


class Ruling(NamedTuple):
    """What people say on one subject: the last word of each, the latest last."""

    words: tuple[Correction, ...]

    @property
    def agreed(self) -> Correction | None:
        """The latest word if all say the same; None in dispute."""
        return self.words[-1] if len({word.word for word in self.words}) == 1 else None


class CorrectionBook:
    """Corrections by subject, as they count. An empty one changes nothing."""

    def __init__(self, corrections: Iterable[Correction] = ()) -> None:
        self.all = tuple(sorted(corrections, key=lambda correction: (correction.at, correction.who)))
        latest: dict[tuple[str, ...], dict[str, Correction]] = {}
        for correction in self.all:
            of_person = latest.setdefault(correction.subject, {})
            of_person.pop(correction.who, None)
            if not correction.withdrawn:
                of_person[correction.who] = correction
        self._rulings = [Ruling(tuple(words.values())) for words in latest.values() if words]
        self._by_record: dict[str, list[Ruling]] = {}
        for ruling in self._rulings:
            self._by_record.setdefault(ruling.words[0].record, []).append(ruling)

    def __bool__(self) -> bool:
        return bool(self._rulings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CorrectionBook) and self.all == other.all

    def __hash__(self) -> int:
        return hash(self.all)

    @property
    def rulings(self) -> list[Ruling]:
        """All that counts or is in dispute."""
        return list(self._rulings)

    def select_conditions(self, conditions: Sequence[str]) -> "CorrectionBook":
        """Return those that concern a question on these conditions."""
        return CorrectionBook(
            correction for correction in self.all if not correction.condition or correction.condition in conditions
        )

    def find(self, change: Change, names: Iterable[str], conditions: Sequence[str], drug: str = "") -> list[Ruling]:
        """Return the rulings of one kind on a record, by any of its names; those on its condition before general ones.

        Args:
            change: what was said.
            names: identifiers of the record; one empty name for drugs set aside.
            conditions: those of the question.
            drug: only those on this drug; empty for all.
        """
        rulings: list[Ruling] = []
        for name in names:
            of_record = self._by_record.get(name, ())
            rulings += [ruling for ruling in of_record if _concerns(ruling.words[0], change, conditions, drug)]
        return sorted(rulings, key=lambda ruling: not ruling.words[0].condition)

    def find_stance(self, names: Iterable[str], conditions: Sequence[str], drug: str) -> Ruling | None:
        """Return what people say that a record says of a drug; None if nobody does."""
        return next(iter(self.find("stance", names, conditions, drug)), None)

    def find_fields(self, names: Iterable[str], conditions: Sequence[str], drug: str) -> list[Ruling]:
        """Return what people say of a study's fields, those that hold for one drug alone for that drug."""
        rulings = self.find("field", names, conditions)
        return [ruling for ruling in rulings if ruling.words[0].drug in ("", drug)]

    def find_exclusion(self, names: Sequence[str], conditions: Sequence[str]) -> Correction | None:
        """Return the word by which a record is left out; None if nobody leaves it out, or another judged it since."""
        ruling = next(iter(self.find("exclude", names, conditions)), None)
        if ruling is None:
            return None
        people = {word.who for word in ruling.words}
        judges: set[str] = set()
        for stance in self.find("stance", names, conditions):
            judges |= {word.who for word in stance.words}
        return ruling.words[-1] if judges <= people else None

    def drugs_of(self, names: Iterable[str], conditions: Sequence[str]) -> list[str]:
        """List the drugs of which people say what a record says."""
        rulings = self.find("stance", names, conditions)
        return list(dict.fromkeys(ruling.words[0].drug for ruling in rulings if ruling.agreed is not None))

    def lets_count(self, name: str, drug: str, conditions: Sequence[str]) -> bool:
        """Whether people let a record's row on a drug count that a judge struck: they say so, or what it says."""
        stance = self.find_stance([name], conditions, drug)
        is_settled = stance is not None and stance.agreed is not None
        return is_settled or bool(self.find("count", [name], conditions, drug))

    def find_aside(self, drug: str, conditions: Sequence[str]) -> Correction | None:
        """Return the word by which a drug is set aside; None if it is not."""
        ruling = next(iter(self.find("set aside", [""], conditions, drug)), None)
        return None if ruling is None else ruling.words[-1]

    def list_added(self, conditions: Sequence[str]) -> list[Evidence]:
        """Return the records that people added for a question's conditions."""
        names = list(self._by_record)
        rulings = self.find("add", names, conditions)
        return [Evidence.model_validate(ruling.words[-1].value) for ruling in rulings]

    def write_content(self) -> dict[str, Any]:
        """Return it as JSON content, for a run's ledger."""
        return {"corrections": [correction.model_dump(mode="json", exclude_defaults=True) for correction in self.all]}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> "CorrectionBook":
        """Restore it from a run's ledger."""
        return cls(Correction.model_validate(correction) for correction in content["corrections"])


def _concerns(word: Correction, change: Change, conditions: Sequence[str], drug: str) -> bool:
    is_of_question = not word.condition or word.condition in conditions
    return word.change == change and is_of_question and drug in ("", word.drug)


def find_corrections_file(ledger: Path) -> Path:
    """Return the file of corrections of the workspace that holds a ledger."""
    folder = ledger.parent
    return (folder.parent if folder.name == WORKSPACE_FOLDER else folder) / CORRECTIONS_FILE


def read_corrections(path: Path) -> CorrectionBook:
    """Read a file of corrections; an empty book if there is none.

    Raises:
        UsageError: it cannot be read, or a line is no correction; names the line.
    """
    try:
        if not path.exists():
            return CorrectionBook()
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path}: is not a file of {_MOST_BYTES >> 20} MB at most")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is not UTF-8"
        raise UsageError(f"{path}: cannot be read ({why})") from None
    corrections = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            corrections.append(_parse_line(line, f"{path}, line {number}"))
    return CorrectionBook(corrections)


def _parse_line(line: str, place: str) -> Correction:
    try:
        return Correction.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        advice = "mend the line or take it out (git's marks of a conflict, too)"
        raise UsageError(f"{place}: is no correction ({where}: {first['msg'].lower()}); {advice}") from None


def append_corrections(path: Path, corrections: Sequence[Correction]) -> None:
    """Add corrections to a file, which is created if missing, in one write; UsageError if that cannot be done.

    What the file holds already is read first, so that nothing is added to a damaged one.
    """
    read_corrections(path)
    lines = [
        json.dumps(correction.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)
        for correction in corrections
    ]
    text = "".join(f"{line}\n" for line in lines)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_open_line = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        content = f"\n{text}" if is_open_line else text
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode(errors="surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from None


def find_person(name_given: str | None = None) -> str:
    """Return who corrects: as given, by `WILLOWBARK_PERSON`, or by the system's user name.

    Raises:
        UsageError: none of these names anybody.
    """
    from getpass import getuser  # noqa: PLC0415  reads the system's table of users

    name = name_given or os.environ.get(_WHO)
    if name is None:
        try:
            name = getuser()
        except (KeyError, OSError):
            name = ""
    name = " ".join(name.split())[:100]
    if not name:
        raise UsageError(f"say who corrects: --by NAME, or the variable {_WHO}")
    return name


def get_time() -> datetime:
    """Return the time of a correction, to the second (UTC)."""
    return datetime.now(UTC).replace(microsecond=0)
