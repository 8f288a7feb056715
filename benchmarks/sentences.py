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
RECORDED_READINGS = SENTENCES.with_name("sentences_read.jsonl")
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
        verdicts = []
        for line in lines:
            borne_out, advises = self._verdicts[line["text"]]
            verdicts.append({"number": line["number"], "words": "", "borne_out": borne_out, "advises": advises})
        content = json.dumps({"verdicts": verdicts})
        return CreateResult(finish_reason="stop", content=content, usage=RequestUsage(0, 0), cached=False)


def read_made_sentences() -> list[MadeSentence]:
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
def read_basis() -> WritingBasis:
    """What the recorded runs read in publications of the bundled library."""
    with RECORDED_READINGS.open(encoding="utf-8") as file:
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


def make_checkers(sentences: Sequence[MadeSentence]) -> dict[str, ScriptedChecker]:
    """The three checkers, by name."""
    honest = {sentence.draft.text: (sentence.borne_out, sentence.advises) for sentence in sentences}
    careless = {sentence.draft.text: ("yes", False) for sentence in sentences}
    liar = {sentence.draft.text: ("no" if sentence.kind == TRUE else "yes", False) for sentence in sentences}
    return {
        "honest": ScriptedChecker(honest),
        "careless": ScriptedChecker(careless, TAKES_S),
        "liar": ScriptedChecker(liar),
    }


def name_failed_check(sentence: MadeSentence, basis: WritingBasis) -> str:
    """Which check of the table a sentence fails; empty if it stands with its levels as they are."""
    if lower_certainty(sentence.draft.text, basis) != sentence.draft.text:
        return "words a higher certainty"
    fault = find_fault(sentence.draft, basis)
    return f"{fault.kind} ({fault.detail})" if fault else ""


async def list_standing(
    sentences: Sequence[MadeSentence], client: ScriptedChecker, basis: WritingBasis
) -> list[MadeSentence]:
    """The sentences that stand for code and for a checker."""
    standing_for_code = [sentence for sentence in sentences if not name_failed_check(sentence, basis)]
    verdicts = await SentenceChecker(client).check(
        [sentence.draft for sentence in standing_for_code], basis, CancellationToken()
    )
    return [
        sentence
        for sentence, verdict in zip(standing_for_code, verdicts, strict=True)
        if verdict is not None and verdict.borne_out == "yes" and not verdict.advises
    ]


async def count(sentences: Sequence[MadeSentence]) -> dict[str, list[MadeSentence]]:
    """Which sentences stand with each checker."""
    basis = read_basis()
    return {name: await list_standing(sentences, client, basis) for name, client in make_checkers(sentences).items()}


def print_counts(
    sentences: Sequence[MadeSentence], standing_by_checker: Mapping[str, Sequence[MadeSentence]], verbose: bool
) -> None:
    """Print how many sentences of each kind stand with each checker, and the due figures."""
    basis = read_basis()
    print(f"{'kind':24} {'made':>5} {'code':>6} " + " ".join(f"{name:>9}" for name in standing_by_checker))
    for kind in dict.fromkeys(sentence.kind for sentence in sentences):
        mine = [sentence for sentence in sentences if sentence.kind == kind]
        by_code = sum(not name_failed_check(sentence, basis) for sentence in mine)
        counts = []
        for standing_sentences in standing_by_checker.values():
            count_of_kind = sum(sentence.kind == kind for sentence in standing_sentences)
            counts.append(f"{count_of_kind:9}")
        print(f"{kind:24} {len(mine):5} {by_code:6} " + " ".join(counts))
    for part, is_apart in (("settled on", False), ("kept apart", True)):
        half = [sentence for sentence in sentences if sentence.is_apart is is_apart]
        true = [sentence for sentence in half if sentence.kind == TRUE]
        forged = [sentence for sentence in half if sentence.kind != TRUE]
        stand = [sentence for sentence in standing_by_checker["honest"] if sentence.is_apart is is_apart]
        true_standing = sum(sentence.kind == TRUE for sentence in stand)
        print(
            f"{part}: true that stand {true_standing} of {len(true)}, "
            f"forged that stand with the honest checker {len(stand) - true_standing} of {len(forged)}"
        )
    false = [sentence for sentence in standing_by_checker["liar"] if sentence.false]
    false_made = sum(bool(sentence.false) for sentence in sentences)
    print(f"false figures, drugs and identifiers that stand with the liar: {len(false)} of {false_made}")
    for any_sentence in sentences if verbose else ():
        why = name_failed_check(any_sentence, basis)
        if (any_sentence.kind == TRUE) == bool(why):
            print(f"  {any_sentence.kind}: {any_sentence.draft.text} [{why or 'stands for code'}]")


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--verbose", action="store_true", help="print true sentences that fail, forged ones that pass code"
    )
    options = parser.parse_args()
    sentences = read_made_sentences()
    print_counts(sentences, asyncio.run(count(sentences)), options.verbose)


if __name__ == "__main__":
    main()
