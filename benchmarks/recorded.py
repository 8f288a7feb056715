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
from itertools import chain
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
        self.answered = {record.prompt: record for record in answered}
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
        request = self._describe_request(messages, tools, json_output, extra_create_args)
        self.texts[request.prompt] = _join_text(messages, tools, json_output)
        former = self.answered.get(request.prompt) or self._find_alike(request, _get_text(messages[-1]))
        if former is None:
            self.unknown.append(request)
            raise LookupError(f"not answered before: {request.kind} about {request.about}")
        self.used.append(former)
        prompt = _join_text(messages, tools, json_output)
        content = json.dumps(former.answer, ensure_ascii=False)
        usage = RequestUsage(
            prompt_tokens=len(prompt) // CHARACTERS_PER_TOKEN, completion_tokens=len(content) // CHARACTERS_PER_TOKEN
        )
        before = self.tokens.get(request.kind, (0, 0))
        self.tokens[request.kind] = (before[0] + usage.prompt_tokens, before[1] + usage.completion_tokens)
        if isinstance(former.answer, str) or not request.kind.startswith("searches"):
            content = former.answer if isinstance(former.answer, str) else content
            return CreateResult(finish_reason="stop", content=content, usage=usage, cached=False)
        calls = [
            FunctionCall(id=f"call_{at}", name=name, arguments=json.dumps(arguments))
            for at, (name, arguments) in enumerate(former.answer.items())
        ]
        return CreateResult(finish_reason="function_calls", content=calls, usage=usage, cached=False)

    def _find_alike(self, request: Answered, text: str) -> Answered | None:
        """What was answered on the same; None where something was not asked about before."""
        former = [
            earlier
            for earlier in self.answered.values()
            if earlier.kind == request.kind and earlier.occasion == request.occasion
        ]
        if request.kind == REFLECTION:
            former = [earlier for earlier in self.answered.values() if _is_said_of(earlier, request)]
        if not former:
            return None
        if request.kind == "FitsDraft":  # numbers of topics mean nothing beside other topics
            former = [earlier for earlier in former if earlier.about == request.about]
        field = {"StudiesDraft": "studies"}.get(request.kind)
        if request.kind in BY_SENTENCE:
            answer = _answer_again(request, former)
        elif request.kind == "WrittenDraft":
            answer = _drop_strangers(former[-1].answer, text)
        elif request.kind == REFLECTION:
            answer = former[0].answer
        elif field is None:
            same = next((earlier for earlier in former if earlier.about == request.about), None)
            answer = same.answer if same else None
        else:
            keys = [part.split(" ")[0] for part in request.about.removeprefix(request.occasion).split(", ")]
            all_studies = chain.from_iterable(earlier.answer[field] for earlier in former)
            studies = {study["evidence_key"]: study for study in all_studies}
            mine = [study for key, study in studies.items() if f'{{"key": "{key}"' in text]
            is_complete = request.occasion == MENDS or {study["evidence_key"] for study in mine} >= set(keys)
            answer = {field: [_number_quotes(study, text) for study in mine]} if is_complete else None
        if answer is None:
            return None
        is_drafted = not request.kind.startswith("searches")  # tools get new fields, which no answer need use
        if not any(
            (earlier.instructions, earlier.form if is_drafted else "")
            == (request.instructions, request.form if is_drafted else "")
            for earlier in former
        ):
            self.changed.append(request)
        return Answered(**{**asdict(request), "answer": answer})

    def _describe_request(
        self, messages: Sequence[LLMMessage], tools: Any, json_output: Any, extra: Mapping[str, Any]
    ) -> Answered:
        kind = f"searches by {_name_first_tool(tools)}" if tools else REFLECTION
        if isinstance(json_output, type):
            kind = json_output.__name__
        self._kinds[kind] += 1
        lines = [line for line in _get_text(messages[-1]).split("\n") if line.startswith('{"key"')]
        keys = sorted(
            {
                " ".join([line_fields["key"], line_fields.get("drug", "")]).strip()
                for line_fields in map(json.loads, lines)
                if line_fields.get("drugs") != []
            }
        )
        about = f"round {self._kinds[kind]}" if kind == "JudgeDraft" or not keys else ", ".join(keys)
        if kind == REFLECTION and not keys:
            about = f"searches {_hash(_get_text(messages[-1]))}"
        if kind == "FitsDraft":
            about = f"topics {_hash(_get_text(messages[-1]).partition('{')[2])}"
        if kind in BY_SENTENCE:
            about = " ".join(map(_hash, _list_sentences(_get_text(messages[-1]))))
        if kind == "StudiesDraft" and '"evidence_key":' in _get_text(messages[-1]):
            about = f"{MENDS}{about}"
        elif kind == "StudiesDraft" and MISREAD in _get_text(messages[-1]):
            about = f"{AGAIN}{about}"
        return Answered(
            kind=kind,
            about=about,
            prompt=request_key(messages, tools, json_output, extra)[:16],
            instructions=_hash(_get_text(messages[0])) if isinstance(messages[0], SystemMessage) else "",
            form=_hash(_write_form(tools, json_output)),
            answer=None,
        )


def _number_quotes(study: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A study whose quotes are the numbers of the passages that the prompt shows, where they are whole ones."""
    line = next(line for line in text.split("\n") if line.startswith(f'{{"key": "{study["evidence_key"]}"'))
    numbers = _number_passages(json.loads(line))
    parts = {}
    for name in ("comparisons", "harms", "statements"):
        parts[name] = [{**part, "quote": _number_quote(part["quote"], numbers)} for part in study[name]]
    return {**study, **parts}


def _number_passages(line: Mapping[str, Any]) -> dict[str, str]:
    """The passages that a prompt shows of a record, each with its number."""
    passages = [line["text"], *line.get("results", ()), *line.get("tables", ())]
    numbers = {}
    for text in passages:
        parts = _MARK.split(text)[1:]  # labels and words by turns
        for label, words in zip(parts[::2], parts[1::2], strict=True):
            if plain(words):
                numbers[plain(words)] = label
    return numbers


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


def _is_said_of(former: Answered, request: Answered) -> bool:
    """Whether an answer is what a specialist said of all that a prompt shows, among further records."""
    keys = set(request.about.split(", "))
    return isinstance(former.answer, str) and keys <= set(former.about.split(", "))


def _list_sentences(text: str) -> list[str]:
    """The sentences that a prompt asks about, each with the keys that it cites."""
    lines = [
        line[line.find("{") :] for line in text.split("\n") if line.startswith('{"number"') or _NUMBERED.match(line)
    ]
    parts = map(json.loads, lines)
    return [f"{part['text']} {' '.join(part.get('cites') or part.get('keys') or ())}" for part in parts]


def _answer_again(request: Answered, former: Sequence[Answered]) -> Any:
    """What was said of the same sentences, in the order of the prompt; None where one was not asked about."""
    field = BY_SENTENCE[request.kind]
    verdicts = dict[str, dict[str, Any]]()
    names_before = set[str]()
    for one in former:
        names = one.about.split(" ")
        names_before.update(names)
        verdicts |= {names[verdict["number"] - 1]: verdict for verdict in one.answer[field]}
    names = request.about.split(" ")
    if not names_before >= set(names):
        return None
    return {field: [{**verdicts[name], "number": at} for at, name in enumerate(names, 1) if name in verdicts]}


def _drop_strangers(answer: Any, text: str) -> Any:
    """An answer without sentences that cite what a prompt does not show."""
    if isinstance(answer, dict) and "keys" in answer:
        return answer if all(key == TABLE or f'"key": "{key}"' in text for key in answer["keys"]) else None
    if isinstance(answer, dict):
        return {name: _drop_strangers(value, text) for name, value in answer.items()}
    if isinstance(answer, list):
        parts = (_drop_strangers(part, text) for part in answer)
        return [part for part in parts if part is not None]
    return answer


def describe_changes(client: RecordedClient) -> str:
    """What a run asked that was never answered, or by other instructions; empty where there is nothing of either."""
    lines = [
        f"{request.kind} ({request.about[:80]}): asks about what was not asked about before"
        for request in client.unknown
    ]
    for kind in dict.fromkeys(request.kind for request in client.changed):
        former = {earlier.instructions for earlier in client.answered.values() if earlier.kind == kind}
        is_new = all(request.instructions not in former for request in client.changed if request.kind == kind)
        lines.append(f"{kind}: its {'instructions' if is_new else 'schema'} changed")
    if lines:
        lines.append("Read what changed, then record again: python -m benchmarks.recorded NAME --ask DIR --keep")
    return "\n".join(lines)


def find_collection(name: str, path: Path | None = None) -> Path | None:
    """The file of publications that a question was asked of; None for the bundled library.

    Raises:
        FileNotFoundError: it is not at hand.
    """
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as file:
        library = json.loads(file.readline()).get("library")
    if library is None:
        return None
    where = path or COLLECTIONS / f"{library}.jsonl.gz"
    if not where.exists():
        raise FileNotFoundError(f"{name} is not replayed: it was asked of {library}, which is not at {where}")
    return where


def find_replayable(names: Iterable[str], path: Path | None = None) -> Iterator[tuple[str, Path | None]]:
    """Yield recorded runs with their collections; one whose collection is not at hand is told, and left out."""
    for name in names:
        try:
            yield name, find_collection(name, path)
        except FileNotFoundError as missing:
            print(missing)


def read_recorded(name: str, where: Path | None = None) -> tuple[dict[str, Any], list[Answered]]:
    """A question with its choices, and what was answered; quotes by their places where its collection is not given."""
    texts = _read_texts(where)
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as file:
        head, *lines = map(json.loads, file)
    return head, [Answered(**{**line, "answer": fill_answer(restore_quotes(line["answer"], texts))}) for line in lines]


def trim_answer(answer: Any, within: str = "") -> Any:
    """An answer without what it does not tell."""
    if isinstance(answer, list):
        return [trim_answer(part, within) for part in answer]
    if not isinstance(answer, dict):
        return answer
    empty = EMPTY.get(within, {})
    return {
        name: trim_answer(value, name) for name, value in answer.items() if name not in empty or value != empty[name]
    }


def fill_answer(answer: Any, within: str = "") -> Any:
    """An answer with all that its form asks for."""
    if isinstance(answer, list):
        return [fill_answer(part, within) for part in answer]
    if not isinstance(answer, dict):
        return answer
    return {**EMPTY.get(within, {}), **{name: fill_answer(value, name) for name, value in answer.items()}}


def place_quotes(answer: Any, texts: Mapping[str, str], text: str = "") -> Any:
    """An answer whose quotes are replaced by where they begin and end in the text of their record.

    Raises:
        ValueError: a quote is not in its record.
    """
    if isinstance(answer, dict):
        text = texts.get(answer.get("evidence_key", ""), text)
        return {
            name: value if name in JUDGED else place_quotes(value, texts, "" if name in OWN_WORDS else text)
            for name, value in answer.items()
        }
    if isinstance(answer, list):
        return [place_quotes(part, texts, text) for part in answer]
    if not (text and isinstance(answer, str) and len(answer) >= SHORTEST):
        return answer
    words = " ".join(answer.split())
    start = text.index(words)
    return [start, start + len(words)]


def restore_quotes(answer: Any, texts: Mapping[str, str], text: str = "") -> Any:
    """An answer with its quotes in words again."""
    if isinstance(answer, dict):
        text = texts.get(answer.get("evidence_key", ""), text)
        return {name: restore_quotes(value, texts, text) for name, value in answer.items()}
    if isinstance(answer, list):
        if text and len(answer) == 2 and all(isinstance(part, int) for part in answer):
            return text[answer[0] : answer[1]]
        return [restore_quotes(part, texts, text) for part in answer]
    return answer


def _read_texts(where: Path | None) -> dict[str, str]:
    """The text of each record of a collection, by its key; nothing for the bundled library."""
    if where is None:
        return {}
    return {
        f"pmid:{record['pmid']}": " ".join(f"{record['title']} {record['abstract']}".split())
        for record in read_publications(where)
    }


@contextmanager
def open_choices(head: Mapping[str, Any], where: Path | None) -> Iterator[dict[str, Any]]:
    """What `research` takes for a question, for as long as its library is needed."""
    options = {**head, "max_seconds": 3000}
    if where is None:
        yield {**options, "offline": True}
        return
    with open_unlearnt_library(None, where) as folder:
        yield {**options, "library": folder}


async def replay_recorded(name: str, where: Path | None = None) -> tuple[RecordedClient, ResearchReport]:
    """A recorded run, lived again."""
    head, answered = read_recorded(name, where)
    client = RecordedClient(answered)
    with open_choices(head, where) as options:
        return client, await research(model_client=client, **options)


def ask(name: str, folder: Path, keep: bool, where: Path | None = None) -> None:
    """Put what is not answered into files, and take the answers that stand beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    head, answered = read_recorded(name, where)
    texts = _read_texts(where)
    while True:
        client = RecordedClient(answered)
        with open_choices(head, where) as options:
            asyncio.run(research(model_client=client, **options))
        unanswered = [*client.unknown, *([] if keep else client.changed)]
        # only the first kind, as what follows a failed answer would be asked otherwise
        first = unanswered[0].kind.partition(" by ")[0] if unanswered else ""
        new = []
        for request in unanswered:
            if not request.kind.startswith(first):
                continue
            file = folder / f"{first.replace(' ', '-')}-{request.prompt}"
            file.with_suffix(".txt").write_text(client.texts[request.prompt], encoding="utf-8")
            if file.with_suffix(".json").exists():
                answer = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
                new.append(Answered(**{**asdict(request), "answer": answer}))
            else:
                print(f"to answer: {file}.txt ({request.about[:100]})")
        if not new:
            break
        answered = [*answered, *new]
        _write(name, head, answered, texts)
    if not unanswered:
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


def list_disagreements(name: str, report: ResearchReport) -> tuple[list[str], int]:
    """Where a report and the truth table differ, and how many drugs were compared: those whose records were found."""
    rows = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()[1:]
    keys_in_report = {row.key for row in report.evidence_table} | {row.key for row in report.trials}
    candidates = {candidate.name.casefold(): candidate for candidate in report.candidates}
    lines = list[str]()
    compared = 0
    for drug, verdict, keys, why in (row.split("\t") for row in rows):
        if not keys_in_report & set(keys.split(" ")):
            continue
        compared += 1
        says = "nothing"
        further = report.clinical_findings.content  # drugs that are no candidates, in lines
        # a drug without a verdict: others are candidates
        if re.search(rf"^\W*{re.escape(drug)}\b.*\|", further, re.MULTILINE):
            says = "open"
        candidate = candidates.get(drug)
        if candidate is not None:
            cited = candidate.supporting_citations, candidate.contradicting_citations, candidate.missed_citations
            says = _name_side(*map(len, cited))
        if says not in FITTING[verdict]:
            lines.append(f"{drug}: {verdict} ({why}), the report cites {says}")
    return lines, compared


def _write(name: str, head: Mapping[str, Any], answered: Sequence[Answered], texts: Mapping[str, str]) -> None:
    once = {
        answer.prompt: {**asdict(answer), "answer": trim_answer(place_quotes(answer.answer, texts))}
        for answer in answered
    }
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (head, *once.values()))
    (FOLDER / f"{name}.jsonl").write_text(text, encoding="utf-8")


def _get_text(message: LLMMessage) -> str:
    return message.content if isinstance(message.content, str) else str(message.content)


def _write_form(tools: Sequence[Tool | ToolSchema], json_output: Any) -> str:
    schemas = [tool.schema if isinstance(tool, Tool) else tool for tool in tools]
    if isinstance(json_output, type):
        schemas.append(json_output.model_json_schema())  # type: ignore[attr-defined]
    return json.dumps(schemas)


def _name_first_tool(tools: Sequence[Tool | ToolSchema]) -> str:
    return next((tool.name if isinstance(tool, Tool) else tool["name"] for tool in tools), "nothing")


def _join_text(messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema], json_output: Any) -> str:
    return "\n\n".join([_write_form(tools, json_output), *map(_get_text, messages)])


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
    options = parser.parse_args()
    if options.ask:
        ask(options.name, options.ask, options.keep, find_collection(options.name, options.library))
        return
    names = [options.name] if options.name else sorted(path.stem for path in FOLDER.glob("*.jsonl"))
    quoted_sentences: list[ResultSentence] = []
    for name, where in find_replayable(names, options.library):
        client, report = asyncio.run(replay_recorded(name, where))
        changes = describe_changes(client)
        if changes:
            raise SystemExit(f"{name}:\n{changes}")
        print_stood(name, client, report)
        differences, compared = list_disagreements(name, report)
        print(
            f"  {compared - len(differences)} of {compared} drugs as the truth table has them",
            *differences,
            sep="\n    ",
        )
        quoted_sentences += print_readings(client, report, where)
    if quoted_sentences:  # passages that a model names by number cannot be forged
        print(f"forged, of {len(quoted_sentences)} sentences that the model quoted:")
        print_forged(count_forged(quoted_sentences, options.verbose))


def print_stood(name: str, client: RecordedClient, report: ResearchReport) -> None:
    """Print what became of the sentences that were written, and the tokens by what was asked."""
    print(f"{name}: {report.written.provenance if report.written else 'no answer in words'}")
    dropped = Counter(sentence.reason for sentence in report.written.dropped) if report.written else Counter[str]()
    print(*(f"  {count} dropped, since: {reason}" for reason, count in dropped.items()), sep="\n")
    spent = [f"{kind} {asked:,} in, {said:,} out" for kind, (asked, said) in client.tokens.items()]
    asked, said = (sum(column) for column in zip(*client.tokens.values(), strict=True))
    print(f"  tokens: {asked:,} in, {said:,} out ({'; '.join(spent)})")


def list_studies(answers: Sequence[Answered], question: str, where: Path | None) -> Iterator[tuple[StudyDraft, ToRead]]:
    """The studies that a model read in publications, each with its record, in the words of the passages it names."""
    library = {f"pmid:{record['pmid']}": record for record in read_publications(where)}
    condition = get_condition(parse_question(question))
    for answered in answers:
        for study in answered.answer["studies"] if answered.kind == "StudiesDraft" else ():
            draft = StudyDraft.model_validate(study)
            if draft.evidence_key not in library:
                continue  # a trial, whose entry is read as it stands
            record_to_read = ToRead(make_evidence(library[draft.evidence_key]), (), condition)
            rows = [with_words(row, record_to_read.passages) for row in draft.comparisons]
            yield draft.model_copy(update={"comparisons": rows}), record_to_read


def print_readings(client: RecordedClient, report: ResearchReport, where: Path | None) -> list[ResultSentence]:
    """Print what became of the studies, on their own quotes and on forged ones.

    Returns:
        The sentences that were quoted for a comparison, each once.
    """
    library = {f"pmid:{record['pmid']}": record for record in read_publications(where)}
    refused = list[str]()
    sentences = dict[str, ResultSentence]()
    forged_quotes = Counter[bool]()
    number = 0
    for draft, record_to_read in list_studies(client.used, report.research_question, where):
        number += 1
        problems = _list_problems(draft, record_to_read)
        refused += [f"{draft.evidence_key}: {problem}" for problem in problems]
        comparisons = [] if problems else draft.comparisons
        for numbered in comparisons:
            row = with_words(
                numbered, record_to_read.passages
            )  # forgers change words, and models name passages by number
            if row.favours == "untold" or not find_drugs(row.quote):
                continue
            sentences.setdefault(row.quote, describe_sentence(library[draft.evidence_key], row.quote, None))
            rng = random.Random(row.quote)
            for forge in (*FORGERS.values(), *CUTS.values()):
                forged_claim = forge(sentences[row.quote], rng)
                if forged_claim:
                    other = row.model_copy(update={"quote": forged_claim.quote, "estimate": ""})
                    forgery = draft.model_copy(update={"comparisons": [other], "harms": [], "statements": []})
                    forged_quotes[not _list_problems(forgery, record_to_read)] += 1
    print(f"  {number} studies, of which do not stand: {len(refused)} parts", *refused, sep="\n    ")
    print(f"  {forged_quotes[True]} of {forged_quotes.total()} stand on a forged or cut quote")
    return list(sentences.values())


def _list_problems(draft: StudyDraft, record_to_read: ToRead) -> list[str]:
    """Why a study or parts of it do not stand."""
    try:
        return check_study(draft, record_to_read, "").problems
    except Refused as problem:
        return [str(problem)]


if __name__ == "__main__":
    main()
