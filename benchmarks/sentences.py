"""True and forged sentences against the checks of a written answer, with an honest, a careless and a lying checker.

    python -m benchmarks.sentences [--verbose]

`claims/sentences.tsv` holds sentences made for this, on records of the bundled library that recorded runs read: true
ones, written by reading their passages, and forged ones by kind. `false` says of a forged one what in it stands in no
passage: a figure, a drug, an identifier; it is empty where all its figures and drugs do, so that only reading tells.
`borne_out` and `advises` are what the same reader said who wrote them, from sentence and passages alone: the honest
checker. The careless one says yes to all after a second; the liar yes to forged sentences and no to true ones.

Records are split in two by their keys: checks may be settled on one half, the other is printed apart.
"""

import argparse
import asyncio
import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from autogen_core import CancellationToken
from autogen_core.models import CreateResult, LLMMessage, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from benchmarks.recorded import CAPABLE

from willowbark.agents.asking.drafts import SentenceDraft
from willowbark.agents.checking.basis import CitedSource, WritingBasis
from willowbark.agents.checking.checker import SentenceChecker
from willowbark.agents.checking.table import find_fault, lower_certainty
from willowbark.tools.appraisal import Level

SENTENCES = Path(__file__).parent / "claims" / "sentences.tsv"
READ = SENTENCES.with_name("sentences_read.jsonl")
"""What the recorded runs on kidney disease and migraine read in these records, passages of the bundled library."""
TRUE = "true"
LEVELS: Mapping[str, Level] = {
    "losartan": "high", "captopril": "high", "irbesartan": "high", "enalapril": "moderate", "bisoprolol": "low",
    "propranolol": "low", "candesartan": "very low", "gabapentin": "very low", "topiramate": "very low",
    "valproic acid": "very low", "amitriptyline": "very low",
}  # fmt: skip
"""Certainty as the recorded runs computed it, of the drugs of which sentences word one."""
TAKES_S = 1.0  # of a careless checker's answer


class MadeSentence(NamedTuple):
    """A sentence that was made to be checked."""

    kind: str
    false: str
    """figure, drug or identifier where it has one that stands in no passage; empty otherwise."""
    borne_out: str
    advises: bool
    draft: SentenceDraft

    @property
    def is_apart(self) -> bool:
        """Whether its first record is of the half on which no check was settled."""
        return hashlib.sha256(self.draft.keys[0].encode()).digest()[0] % 2 == 1


class ScriptedChecker(ReplayChatCompletionClient):
    """A checker that answers by what it is told of each sentence.

    Args:
        verdicts: by sentence, whether it is borne out and whether it advises.
        takes_s: seconds of an answer.
    """

    def __init__(self, verdicts: Mapping[str, tuple[str, bool]], takes_s: float = 0.0) -> None:
        super().__init__([], model_info=CAPABLE)  # type: ignore[arg-type]
        self._verdicts = verdicts
        self._takes_s = takes_s

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        """Answer on the sentences of the prompt."""
        await asyncio.sleep(self._takes_s)
        lines = [json.loads(line) for line in str(messages[-1].content).split("\n") if line.startswith('{"number"')]
        given = []
        for line in lines:
            borne_out, advises = self._verdicts[line["text"]]
            given.append({"number": line["number"], "words": "", "borne_out": borne_out, "advises": advises})
        said = json.dumps({"verdicts": given})
        return CreateResult(finish_reason="stop", content=said, usage=RequestUsage(0, 0), cached=False)


def made_sentences() -> list[MadeSentence]:
    """The sentences of the table."""
    with SENTENCES.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        MadeSentence(
            row["kind"],
            row["false"],
            row["borne_out"],
            bool(row["advises"]),
            SentenceDraft(text=row["sentence"], keys=row["keys"].split(" ")),
        )
        for row in rows
    ]


@cache
def basis_of_runs() -> WritingBasis:
    """What the recorded runs read in publications of the bundled library."""
    with READ.open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    sources = {
        line["key"]: CitedSource(
            line["key"],
            line["title"],
            tuple(line["passages"]),
            tuple(line["values"]),
            frozenset(line["drugs"]),
            is_study=True,
        )
        for line in lines
    }
    return WritingBasis(question="Which drugs help?", sources=sources, levels=LEVELS)


def checkers(sentences: Sequence[MadeSentence]) -> dict[str, ScriptedChecker]:
    """The three checkers, by name."""
    honest = {sentence.draft.text: (sentence.borne_out, sentence.advises) for sentence in sentences}
    careless = {sentence.draft.text: ("yes", False) for sentence in sentences}
    liar = {sentence.draft.text: ("no" if sentence.kind == TRUE else "yes", False) for sentence in sentences}
    return {
        "honest": ScriptedChecker(honest),
        "careless": ScriptedChecker(careless, TAKES_S),
        "liar": ScriptedChecker(liar),
    }


def stands_for_code(sentence: MadeSentence, basis: WritingBasis) -> str:
    """Which check of the table a sentence fails; empty if it stands with its levels as they are."""
    if lower_certainty(sentence.draft.text, basis) != sentence.draft.text:
        return "words a higher certainty"
    fault = find_fault(sentence.draft, basis)
    return f"{fault.kind} ({fault.detail})" if fault else ""


async def standing(
    sentences: Sequence[MadeSentence], client: ScriptedChecker, basis: WritingBasis
) -> list[MadeSentence]:
    """The sentences that stand for code and for a checker."""
    left = [sentence for sentence in sentences if not stands_for_code(sentence, basis)]
    verdicts = await SentenceChecker(client).check([each.draft for each in left], basis, CancellationToken())
    return [
        sentence
        for sentence, verdict in zip(left, verdicts, strict=True)
        if verdict is not None and verdict.borne_out == "yes" and not verdict.advises
    ]


async def count(sentences: Sequence[MadeSentence]) -> dict[str, list[MadeSentence]]:
    """Which sentences stand with each checker."""
    basis = basis_of_runs()
    return {name: await standing(sentences, client, basis) for name, client in checkers(sentences).items()}


def print_counts(sentences: Sequence[MadeSentence], found: Mapping[str, Sequence[MadeSentence]], verbose: bool) -> None:
    """Print how many sentences of each kind stand with each checker, and the due figures."""
    basis = basis_of_runs()
    print(f"{'kind':24} {'made':>5} {'code':>6} " + " ".join(f"{name:>9}" for name in found))
    for kind in dict.fromkeys(sentence.kind for sentence in sentences):
        mine = [sentence for sentence in sentences if sentence.kind == kind]
        by_code = sum(not stands_for_code(each, basis) for each in mine)
        counts = [sum(each.kind == kind for each in kept) for kept in found.values()]
        print(f"{kind:24} {len(mine):5} {by_code:6} " + " ".join(f"{number:9}" for number in counts))
    for part, is_apart in (("settled on", False), ("kept apart", True)):
        half = [sentence for sentence in sentences if sentence.is_apart is is_apart]
        true = [each for each in half if each.kind == TRUE]
        forged = [each for each in half if each.kind != TRUE]
        stand = [each for each in found["honest"] if each.is_apart is is_apart]
        print(
            f"{part}: true that stand {sum(each.kind == TRUE for each in stand)} of {len(true)}, "
            f"forged that stand with the honest checker {sum(each.kind != TRUE for each in stand)} of {len(forged)}"
        )
    false = [each for each in found["liar"] if each.false]
    made = sum(bool(sentence.false) for sentence in sentences)
    print(f"false figures, drugs and identifiers that stand with the liar: {len(false)} of {made}")
    for each in sentences if verbose else ():
        why = stands_for_code(each, basis)
        if (each.kind == TRUE) == bool(why):
            print(f"  {each.kind}: {each.draft.text} [{why or 'stands for code'}]")


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--verbose", action="store_true", help="print true sentences that fail, forged ones that pass code"
    )
    given = parser.parse_args()
    sentences = made_sentences()
    print_counts(sentences, asyncio.run(count(sentences)), given.verbose)


if __name__ == "__main__":
    main()
