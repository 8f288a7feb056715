"""Answers that a strong model gave, once, to all that a run asked; replayed, they show what a changed prompt breaks.

    python -m benchmarks.recorded                        replay all that is recorded, print what stood
    python -m benchmarks.recorded NAME                   the same of one
    python -m benchmarks.recorded NAME --ask DIR         write what is not answered yet into files, a prompt each, and
                                                         take answers from `….json` beside them, until none is left
    python -m benchmarks.recorded NAME --ask DIR --keep  the same, and take over the answers to prompts that ask about
                                                         the same records in other words
    python -m benchmarks.recorded NAME --library FILE    where the collection lies that a question was asked of, if that
                                                         is not the bundled one or beside this clone

`recorded/NAME.jsonl` opens with the question and its choices, and has a line for each prompt: hashes of it and of its
parts, what it is about, and the answer. The answers were given by reading what the prompts show, without looking at
what the code makes of them. `recorded/NAME.tsv` holds what the same reader took the records to say of each drug, in a
word, written down before a report was looked at; in how many of them the report says the same is printed.

Where a question was asked of a collection outside the repository, its first line names that as `library`. Sentences
that answers quote from its records are kept by their place in the record and looked up there, so that without the
collection nothing is replayed.

What is made false are the sentences that the model quoted: as quotes of claims, by `forgery.py`, and of readings.
"""

import argparse
import asyncio
import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autogen_core import FunctionCall
from autogen_core.models import CreateResult, LLMMessage, ModelFamily, RequestUsage, SystemMessage
from autogen_core.tools import Tool, ToolSchema
from autogen_ext.models.replay import ReplayChatCompletionClient
from benchmarks.conditions import open_unlearnt_library
from benchmarks.forgers import CUTS, FORGERS, ResultSentence
from benchmarks.forgery import count_forged, describe_sentence, make_evidence, print_forged, read_publications

from willowbark.agents.asking.claims import plain
from willowbark.agents.asking.drafts import StudyDraft
from willowbark.agents.asking.reader import MISREAD, ToRead
from willowbark.agents.asking.studies import Refused, check_study, with_words
from willowbark.agents.checking.basis import TABLE
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.ledger.model_calls import request_key
from willowbark.teams.run.research import research
from willowbark.tools.appraisal.appraised import get_condition
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.questions import parse_question

MENDS = "mended: "
"""Begins what a prompt is about that returns refused studies."""
REFLECTION = "reflection"
"""What a prompt asks for that shows a specialist what was read of what it found."""
AGAIN = "again: "
"""Begins what a prompt is about that has records read again, which the judge calls misread."""
FOLDER = Path(__file__).parent / "recorded"
COLLECTIONS = Path(__file__).resolve().parents[2] / "shared" / "data" / "benchmarks"
SHORTEST = 40
"""Characters of what is kept by its place in a record."""
EMPTY: Mapping[str, Mapping[str, Any]] = {
    "studies": {
        "condition": "", "people": "", "randomised": 0,
        "background": [], "arms": [], "comparisons": [], "harms": [], "statements": [],
    },
    "arms": {"drugs": [], "dose": "", "n": 0},
    "comparisons": {
        "outcome": "", "primary": "untold", "condition": "", "subgroup": "", "significant": "untold",
        "equivalence": "none", "basis": "own_data", "hedged": False, "estimate": "",
    },
    "statements": {"condition": "", "reason": ""},
}  # fmt: skip
"""What is not told, by the list that a part stands in; recorded answers leave it out, and their order of fields."""
OWN_WORDS = frozenset({"condition", "people", "name", "arm", "versus"})
"""Fields that a model words itself."""
JUDGED = frozenset({"misread", "strikes"})
"""Lists in which a judge names records and says why, in words of its own."""
BY_SENTENCE = {"CheckDraft": "verdicts", "MendedDraft": "sentences"}
"""Drafts that answer a prompt sentence by sentence, with the field of their answers."""
CHARACTERS_PER_TOKEN = 4
_MARK = re.compile(r"(?:^|(?<= ))\[([rt]?\d+)\] ")
_NUMBERED = re.compile(r"\d+\. .*\{\"text\"")
CAPABLE = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "family": ModelFamily.UNKNOWN,
    "structured_output": True,
}


@dataclass(frozen=True)
class Answered:
    """A prompt, by its hashes, and its answer."""

    kind: str
    """The draft that it asks for, or the first tool of the specialist whose searches it asks for."""
    about: str
    """What it asks about: the records and drugs that it lists; of several rounds which one."""
    prompt: str
    """Hash of all of it."""
    instructions: str
    """Hash of its system prompt."""
    form: str
    """Hash of the tools or the schema that it offers."""
    answer: Any
    """A draft, searches by tool, or what a specialist says of them."""

    @property
    def occasion(self) -> str:
        """Why it asks for studies once more; empty where it does not."""
        return next((mark for mark in (MENDS, AGAIN) if self.about.startswith(mark)), "")


class RecordedClient(ReplayChatCompletionClient):
    """Answers prompts as they were answered before, in whatever order they come.

    Where the words of a prompt changed, what was said of the same records, or in the same round, is said again.

    Attributes:
        used: the answers that were given.
        changed: prompts that were answered when they had other instructions or asked for another draft.
        unknown: the prompts that were not answered before, without an answer.
    """

    def __init__(self, answered: Sequence[Answered]) -> None:
        super().__init__([], model_info=CAPABLE)  # type: ignore[arg-type]
        self.display_name = "a strong model, recorded"
        self.answered = {each.prompt: each for each in answered}
        self.used: list[Answered] = []
        self.changed: list[Answered] = []
        self.unknown: list[Answered] = []
        self.texts: dict[str, str] = {}
        self.tokens = dict[str, tuple[int, int]]()
        """Tokens in and out by what was asked."""
        self._kinds = Counter[str]()

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        json_output: Any = None,
        extra_create_args: Mapping[str, Any] = {},
        **options: Any,
    ) -> CreateResult:
        """Answer as before.

        Raises:
            LookupError: nobody answered this before.
        """
        asked = self._asked(messages, tools, json_output, extra_create_args)
        self.texts[asked.prompt] = _text(messages, tools, json_output)
        known = self.answered.get(asked.prompt) or self._alike(asked, _said(messages[-1]))
        if known is None:
            self.unknown.append(asked)
            raise LookupError(f"not answered before: {asked.kind} about {asked.about}")
        self.used.append(known)
        prompt = _text(messages, tools, json_output)
        said = json.dumps(known.answer, ensure_ascii=False)
        usage = RequestUsage(
            prompt_tokens=len(prompt) // CHARACTERS_PER_TOKEN, completion_tokens=len(said) // CHARACTERS_PER_TOKEN
        )
        before = self.tokens.get(asked.kind, (0, 0))
        self.tokens[asked.kind] = (before[0] + usage.prompt_tokens, before[1] + usage.completion_tokens)
        if isinstance(known.answer, str) or not asked.kind.startswith("searches"):
            said = known.answer if isinstance(known.answer, str) else said
            return CreateResult(finish_reason="stop", content=said, usage=usage, cached=False)
        calls = [
            FunctionCall(id=f"call_{at}", name=name, arguments=json.dumps(given))
            for at, (name, given) in enumerate(known.answer.items())
        ]
        return CreateResult(finish_reason="function_calls", content=calls, usage=usage, cached=False)

    def _alike(self, asked: Answered, text: str) -> Answered | None:
        """What was answered on the same; None where something was not asked about before."""
        former = [
            each for each in self.answered.values() if each.kind == asked.kind and each.occasion == asked.occasion
        ]
        if asked.kind == REFLECTION:
            former = [each for each in self.answered.values() if _is_said_of(each, asked)]
        if not former:
            return None
        if asked.kind == "FitsDraft":  # numbers of topics mean nothing beside other topics
            former = [each for each in former if each.about == asked.about]
        field = {"StudiesDraft": "studies"}.get(asked.kind)
        if asked.kind in BY_SENTENCE:
            answer = _answer_again(asked, former)
        elif asked.kind == "WrittenDraft":
            answer = _without_strangers(former[-1].answer, text)
        elif asked.kind == REFLECTION:
            answer = former[0].answer
        elif field is None:
            same = next((each for each in former if each.about == asked.about), None)
            answer = same.answer if same else None
        else:
            keys = [each.split(" ")[0] for each in asked.about.removeprefix(asked.occasion).split(", ")]
            said = {each["evidence_key"]: each for one in former for each in one.answer[field]}
            mine = [each for key, each in said.items() if f'{{"key": "{key}"' in text]
            is_known = asked.occasion == MENDS or {each["evidence_key"] for each in mine} >= set(keys)
            answer = {field: [_by_number(study, text) for study in mine]} if is_known else None
        if answer is None:
            return None
        is_drafted = not asked.kind.startswith("searches")  # tools get new fields, which no answer need use
        if not any(
            (each.instructions, each.form if is_drafted else "")
            == (asked.instructions, asked.form if is_drafted else "")
            for each in former
        ):
            self.changed.append(asked)
        return Answered(**{**asdict(asked), "answer": answer})

    def _asked(
        self, messages: Sequence[LLMMessage], tools: Any, json_output: Any, extra: Mapping[str, Any]
    ) -> Answered:
        kind = f"searches by {_first(tools)}" if tools else REFLECTION
        if isinstance(json_output, type):
            kind = json_output.__name__
        self._kinds[kind] += 1
        lines = [line for line in _said(messages[-1]).split("\n") if line.startswith('{"key"')]
        keys = sorted(
            {
                " ".join([each["key"], each.get("drug", "")]).strip()
                for each in map(json.loads, lines)
                if each.get("drugs") != []
            }
        )
        about = f"round {self._kinds[kind]}" if kind == "JudgeDraft" or not keys else ", ".join(keys)
        if kind == REFLECTION and not keys:
            about = f"searches {_hash(_said(messages[-1]))}"
        if kind == "FitsDraft":
            about = f"topics {_hash(_said(messages[-1]).partition('{')[2])}"
        if kind in BY_SENTENCE:
            about = " ".join(map(_hash, _sentences_in(_said(messages[-1]))))
        if kind == "StudiesDraft" and '"evidence_key":' in _said(messages[-1]):
            about = f"{MENDS}{about}"
        elif kind == "StudiesDraft" and MISREAD in _said(messages[-1]):
            about = f"{AGAIN}{about}"
        return Answered(
            kind=kind,
            about=about,
            prompt=request_key(messages, tools, json_output, extra)[:16],
            instructions=_hash(_said(messages[0])) if isinstance(messages[0], SystemMessage) else "",
            form=_hash(_form(tools, json_output)),
            answer=None,
        )


def _by_number(study: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A study whose quotes are the numbers of the passages that the prompt shows, where they are whole ones."""
    line = next(line for line in text.split("\n") if line.startswith(f'{{"key": "{study["evidence_key"]}"'))
    numbers = _numbers_of(json.loads(line))
    parts = {}
    for name in ("comparisons", "harms", "statements"):
        parts[name] = [{**part, "quote": _number_quote(part["quote"], numbers)} for part in study[name]]
    return {**study, **parts}


def _numbers_of(line: Mapping[str, Any]) -> dict[str, str]:
    """The passages that a prompt shows of a record, each with its number."""
    shown = [line["text"], *line.get("results", ()), *line.get("tables", ())]
    cut = [_MARK.split(text)[1:] for text in shown]
    pairs = [pair for parts in cut for pair in zip(parts[::2], parts[1::2], strict=True)]
    return {plain(words): label for label, words in pairs if plain(words)}


def _number_quote(quote: str, numbers: Mapping[str, str]) -> str:
    """The numbers of passages that a quote consists of; the quote itself where it is none of them, or several."""
    left, labels = plain(quote), list[str]()
    while left:
        passage = next((words for words in numbers if left.startswith(words)), None)
        if passage is None:
            return quote
        labels.append(numbers[passage])
        left = left.removeprefix(passage).strip(" …")
    return ", ".join(labels)


def _is_said_of(former: Answered, asked: Answered) -> bool:
    """Whether an answer is what a specialist said of all that a prompt shows, among further records."""
    shown = set(asked.about.split(", "))
    return isinstance(former.answer, str) and shown <= set(former.about.split(", "))


def _sentences_in(text: str) -> list[str]:
    """The sentences that a prompt asks about, each with the keys that it cites."""
    lines = [
        line[line.find("{") :] for line in text.split("\n") if line.startswith('{"number"') or _NUMBERED.match(line)
    ]
    parts = map(json.loads, lines)
    return [f"{part['text']} {' '.join(part.get('cites') or part.get('keys') or ())}" for part in parts]


def _answer_again(asked: Answered, former: Sequence[Answered]) -> Any:
    """What was said of the same sentences, in the order of the prompt; None where one was not asked about."""
    field = BY_SENTENCE[asked.kind]
    said = dict[str, dict[str, Any]]()
    asked_before = set[str]()
    for one in former:
        names = one.about.split(" ")
        asked_before.update(names)
        said |= {names[each["number"] - 1]: each for each in one.answer[field]}
    names = asked.about.split(" ")
    if not asked_before >= set(names):
        return None
    return {field: [{**said[name], "number": at} for at, name in enumerate(names, 1) if name in said]}


def _without_strangers(answer: Any, text: str) -> Any:
    """An answer without sentences that cite what a prompt does not show."""
    if isinstance(answer, dict) and "keys" in answer:
        return answer if all(key == TABLE or f'"key": "{key}"' in text for key in answer["keys"]) else None
    if isinstance(answer, dict):
        return {name: _without_strangers(value, text) for name, value in answer.items()}
    if isinstance(answer, list):
        parts = (_without_strangers(part, text) for part in answer)
        return [part for part in parts if part is not None]
    return answer


def changes(client: RecordedClient) -> str:
    """What a run asked that was never answered, or by other instructions; empty where there is nothing of either."""
    lines = [
        f"{asked.kind} ({asked.about[:80]}): asks about what was not asked about before" for asked in client.unknown
    ]
    for kind in dict.fromkeys(asked.kind for asked in client.changed):
        former = {each.instructions for each in client.answered.values() if each.kind == kind}
        is_new = all(asked.instructions not in former for asked in client.changed if asked.kind == kind)
        lines.append(f"{kind}: its {'instructions' if is_new else 'schema'} changed")
    if lines:
        lines.append("Read what changed, then record again: python -m benchmarks.recorded NAME --ask DIR --keep")
    return "\n".join(lines)


def collection(name: str, given: Path | None = None) -> Path | None:
    """The file of publications that a question was asked of; None for the bundled library.

    Raises:
        FileNotFoundError: it is not at hand.
    """
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as file:
        library = json.loads(file.readline()).get("library")
    if library is None:
        return None
    where = given or COLLECTIONS / f"{library}.jsonl.gz"
    if not where.exists():
        raise FileNotFoundError(f"{name} is not replayed: it was asked of {library}, which is not at {where}")
    return where


def find_replayable(names: Iterable[str], given: Path | None = None) -> Iterator[tuple[str, Path | None]]:
    """Yield recorded runs with their collections; one whose collection is not at hand is told, and left out."""
    for name in names:
        try:
            yield name, collection(name, given)
        except FileNotFoundError as missing:
            print(missing)


def recorded(name: str, where: Path | None = None) -> tuple[dict[str, Any], list[Answered]]:
    """A question with its choices, and what was answered; quotes by their places where its collection is not given."""
    texts = _texts(where)
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as file:
        head, *lines = map(json.loads, file)
    return head, [Answered(**{**line, "answer": filled(quoted(line["answer"], texts))}) for line in lines]


def trimmed(answer: Any, within: str = "") -> Any:
    """An answer without what it does not tell."""
    if isinstance(answer, list):
        return [trimmed(part, within) for part in answer]
    if not isinstance(answer, dict):
        return answer
    empty = EMPTY.get(within, {})
    return {name: trimmed(value, name) for name, value in answer.items() if name not in empty or value != empty[name]}


def filled(answer: Any, within: str = "") -> Any:
    """An answer with all that its form asks for."""
    if isinstance(answer, list):
        return [filled(part, within) for part in answer]
    if not isinstance(answer, dict):
        return answer
    return {**EMPTY.get(within, {}), **{name: filled(value, name) for name, value in answer.items()}}


def placed(answer: Any, texts: Mapping[str, str], text: str = "") -> Any:
    """An answer whose quotes are replaced by where they begin and end in the text of their record.

    Raises:
        ValueError: a quote is not in its record.
    """
    if isinstance(answer, dict):
        text = texts.get(answer.get("evidence_key", ""), text)
        return {
            name: value if name in JUDGED else placed(value, texts, "" if name in OWN_WORDS else text)
            for name, value in answer.items()
        }
    if isinstance(answer, list):
        return [placed(each, texts, text) for each in answer]
    if not (text and isinstance(answer, str) and len(answer) >= SHORTEST):
        return answer
    words = " ".join(answer.split())
    start = text.index(words)
    return [start, start + len(words)]


def quoted(answer: Any, texts: Mapping[str, str], text: str = "") -> Any:
    """An answer with its quotes in words again."""
    if isinstance(answer, dict):
        text = texts.get(answer.get("evidence_key", ""), text)
        return {name: quoted(value, texts, text) for name, value in answer.items()}
    if isinstance(answer, list):
        if text and len(answer) == 2 and all(isinstance(each, int) for each in answer):
            return text[answer[0] : answer[1]]
        return [quoted(each, texts, text) for each in answer]
    return answer


def _texts(where: Path | None) -> dict[str, str]:
    """The text of each record of a collection, by its key; nothing for the bundled library."""
    if where is None:
        return {}
    return {
        f"pmid:{each['pmid']}": " ".join(f"{each['title']} {each['abstract']}".split())
        for each in read_publications(where)
    }


@contextmanager
def choices(head: Mapping[str, Any], where: Path | None) -> Iterator[dict[str, Any]]:
    """What `research` takes for a question, for as long as its library is needed."""
    options = {**head, "max_seconds": 3000}
    if where is None:
        yield {**options, "offline": True}
        return
    with open_unlearnt_library(None, where) as folder:
        yield {**options, "library": folder}


async def replayed(name: str, where: Path | None = None) -> tuple[RecordedClient, ResearchReport]:
    """A recorded run, lived again."""
    head, answered = recorded(name, where)
    client = RecordedClient(answered)
    with choices(head, where) as options:
        return client, await research(model_client=client, **options)


def ask(name: str, folder: Path, keep: bool, where: Path | None = None) -> None:
    """Put what is not answered into files, and take the answers that stand beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    head, answered = recorded(name, where)
    texts = _texts(where)
    while True:
        client = RecordedClient(answered)
        with choices(head, where) as options:
            asyncio.run(research(model_client=client, **options))
        due = [*client.unknown, *([] if keep else client.changed)]
        first = due[0].kind.partition(" by ")[0] if due else ""  # what follows a failed answer would be asked otherwise
        new = []
        for each in (each for each in due if each.kind.startswith(first)):
            file = folder / f"{first.replace(' ', '-')}-{each.prompt}"
            file.with_suffix(".txt").write_text(client.texts[each.prompt], encoding="utf-8")
            if file.with_suffix(".json").exists():
                answer = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
                new.append(Answered(**{**asdict(each), "answer": answer}))
            else:
                print(f"to answer: {file}.txt ({each.about[:100]})")
        if not new:
            break
        answered = [*answered, *new]
        _write(name, head, answered, texts)
    if not due:
        _write(name, head, client.used, texts)


FITTING = {
    "helps": ("for", "both"),
    "suggested": ("for", "open"),
    "mixed": ("both", "open", "missed"),
    "failed": ("against", "missed"),
    "harms": ("against",),
    "unclear": ("open", "missed", "nothing"),
    "elsewhere": ("open", "nothing"),
}
"""What a report may say of a drug for each word of a truth table: by which kinds of records it cites for it."""


def _name_side(supporting: int, contradicting: int, missed: int) -> str:
    """Name what a report cites of a drug, by its numbers of records; `missed` alone is neither for nor against."""
    if supporting:
        return "both" if contradicting or missed else "for"
    if contradicting:
        return "against"
    return "missed" if missed else "open"


def disagreements(name: str, report: ResearchReport) -> tuple[list[str], int]:
    """Where a report and the truth table differ, and how many drugs were compared: those whose records were found."""
    rows = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()[1:]
    found = {row.key for row in report.evidence_table} | {row.key for row in report.trials}
    candidates = {each.name.casefold(): each for each in report.candidates}
    told = list[str]()
    compared = 0
    for drug, verdict, keys, why in (row.split("\t") for row in rows):
        if not found & set(keys.split(" ")):
            continue
        compared += 1
        says = "nothing"
        further = report.clinical_findings.content  # drugs that are no candidates, in lines
        if re.search(
            rf"^\W*{re.escape(drug)}\b.*\|", further, re.MULTILINE
        ):  # one without a verdict: others are candidates
            says = "open"
        if (candidate := candidates.get(drug)) is not None:
            cited = candidate.supporting_citations, candidate.contradicting_citations, candidate.missed_citations
            says = _name_side(*map(len, cited))
        if says not in FITTING[verdict]:
            told.append(f"{drug}: {verdict} ({why}), the report cites {says}")
    return told, compared


def _write(name: str, head: Mapping[str, Any], answered: Sequence[Answered], texts: Mapping[str, str]) -> None:
    once = {each.prompt: {**asdict(each), "answer": trimmed(placed(each.answer, texts))} for each in answered}
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (head, *once.values()))
    (FOLDER / f"{name}.jsonl").write_text(text, encoding="utf-8")


def _said(message: LLMMessage) -> str:
    return message.content if isinstance(message.content, str) else str(message.content)


def _form(tools: Sequence[Tool | ToolSchema], json_output: Any) -> str:
    schemas = [tool.schema if isinstance(tool, Tool) else tool for tool in tools]
    if isinstance(json_output, type):
        schemas.append(json_output.model_json_schema())  # type: ignore[attr-defined]
    return json.dumps(schemas)


def _first(tools: Sequence[Tool | ToolSchema]) -> str:
    return next((tool.name if isinstance(tool, Tool) else tool["name"] for tool in tools), "nothing")


def _text(messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema], json_output: Any) -> str:
    return "\n\n".join([_form(tools, json_output), *map(_said, messages)])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def main() -> None:
    """Replay or record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--ask", type=Path)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--library", type=Path, help="gzipped publications, where they are not beside this clone")
    parser.add_argument("--verbose", action="store_true", help="print the forgeries that pass")
    given = parser.parse_args()
    if given.ask:
        ask(given.name, given.ask, given.keep, collection(given.name, given.library))
        return
    names = [given.name] if given.name else sorted(path.stem for path in FOLDER.glob("*.jsonl"))
    told_by_quotes: list[ResultSentence] = []
    for name, where in find_replayable(names, given.library):
        client, report = asyncio.run(replayed(name, where))
        if changed := changes(client):
            raise SystemExit(f"{name}:\n{changed}")
        print_stood(name, client, report)
        told, compared = disagreements(name, report)
        print(f"  {compared - len(told)} of {compared} drugs as the truth table has them", *told, sep="\n    ")
        told_by_quotes += print_readings(client, report, where)
    if told_by_quotes:  # passages that a model names by number cannot be forged
        print(f"forged, of {len(told_by_quotes)} sentences that the model quoted:")
        print_forged(count_forged(told_by_quotes, given.verbose))


def print_stood(name: str, client: RecordedClient, report: ResearchReport) -> None:
    """Print what became of the sentences that were written, and the tokens by what was asked."""
    print(f"{name}: {report.written.provenance if report.written else 'no answer in words'}")
    dropped = Counter(each.reason for each in report.written.dropped) if report.written else Counter[str]()
    print(*(f"  {count} dropped, since: {reason}" for reason, count in dropped.items()), sep="\n")
    spent = [f"{kind} {asked:,} in, {said:,} out" for kind, (asked, said) in client.tokens.items()]
    asked, said = (sum(column) for column in zip(*client.tokens.values(), strict=True))
    print(f"  tokens: {asked:,} in, {said:,} out ({'; '.join(spent)})")


def studies_read(answers: Sequence[Answered], question: str, where: Path | None) -> Iterator[tuple[StudyDraft, ToRead]]:
    """The studies that a model read in publications, each with its record, in the words of the passages it names."""
    library = {f"pmid:{record['pmid']}": record for record in read_publications(where)}
    condition = get_condition(parse_question(question))
    for answered in answers:
        for study in answered.answer["studies"] if answered.kind == "StudiesDraft" else ():
            draft = StudyDraft.model_validate(study)
            if draft.evidence_key not in library:
                continue  # a trial, whose entry is read as it stands
            given = ToRead(make_evidence(library[draft.evidence_key]), (), condition)
            rows = [with_words(row, given.passages) for row in draft.comparisons]
            yield draft.model_copy(update={"comparisons": rows}), given


def print_readings(client: RecordedClient, report: ResearchReport, where: Path | None) -> list[ResultSentence]:
    """Print what became of the studies, on their own quotes and on forged ones.

    Returns:
        The sentences that were quoted for a comparison, each once.
    """
    library = {f"pmid:{record['pmid']}": record for record in read_publications(where)}
    refused = list[str]()
    told = dict[str, ResultSentence]()
    forged_quotes = Counter[bool]()
    number = 0
    for draft, given in studies_read(client.used, report.research_question, where):
        number += 1
        problems = _problems(draft, given)
        refused += [f"{draft.evidence_key}: {problem}" for problem in problems]
        comparisons = [] if problems else draft.comparisons
        for numbered in comparisons:
            row = with_words(numbered, given.passages)  # forgers change words, and models name passages by number
            if row.favours == "untold" or not find_drugs(row.quote):
                continue
            told.setdefault(row.quote, describe_sentence(library[draft.evidence_key], row.quote, None))
            rng = random.Random(row.quote)
            for forge in (*FORGERS.values(), *CUTS.values()):
                made = forge(told[row.quote], rng)
                if made:
                    other = row.model_copy(update={"quote": made.quote, "estimate": ""})
                    forgery = draft.model_copy(update={"comparisons": [other], "harms": [], "statements": []})
                    forged_quotes[not _problems(forgery, given)] += 1
    print(f"  {number} studies, of which do not stand: {len(refused)} parts", *refused, sep="\n    ")
    print(f"  {forged_quotes[True]} of {forged_quotes.total()} stand on a forged or cut quote")
    return list(told.values())


def _problems(draft: StudyDraft, given: ToRead) -> list[str]:
    """Why a study or parts of it do not stand."""
    try:
        return check_study(draft, given, "").problems
    except Refused as problem:
        return [str(problem)]


if __name__ == "__main__":
    main()
