"""How many questions are read rightly or asked back, and on safety answered rightly: `python -m benchmarks.questions`.

By `labels/questions.tsv`: a question's reading is written as in that table, so that the two can be compared word by
word; what was misread of the half that rules were written on is printed, of the half kept apart it is only counted
(`--show` prints it too). By `labels/safety_questions.tsv`: the first line of the answer, without any record for the
first ones, else from what the bundled library holds on the drugs.
The later parts of both were written later, in the same way.
"""

import asyncio
import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from willowbark.agents.asking.claims import Verdicts
from willowbark.agents.findings import Dossier
from willowbark.agents.report.answers import answer_question
from willowbark.agents.report.material import Material, find_mechanisms
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import BUNDLED, open_library
from willowbark.tools.questions import Question, complete_follow_up, parse_question
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.sources.drugs.chembl import ChEMBL
from willowbark.tools.sources.drugs.mychem import MyChem
from willowbark.tools.sources.drugs.opentargets import OpenTargets
from willowbark.tools.sources.labels.openfda import OpenFDA

LABELS = Path(__file__).parent / "labels"
WITHOUT_RECORDS = ("work", "kept")


def rows(name: str | Path = "questions.tsv") -> Iterator[dict[str, str]]:
    """The rows of a table, among the labels if it is no path."""
    lines = (line for line in (LABELS / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    yield from csv.DictReader(lines, delimiter="\t")


def reading_of(question: str, after: str) -> str:
    """How a question is read, as the table writes it."""
    asked = parse_question(complete_follow_up(question, after) if after else question)
    return "asks back" if asked.objection else write_reading(asked)


def write_reading(asked: Question) -> str:
    """How a question is read, asked back or not."""
    parts = {
        "c": asked.conditions,
        "w": asked.background,
        "d": asked.drugs,
        "k": asked.drug_classes,
        "x": asked.left_out,
        "p": (asked.population,) if asked.population else (),
        "also": asked.also,
    }
    said = [asked.kind, *(f"{name} {', '.join(each)}" for name, each in parts.items() if each)]
    return "; ".join([*said, *(["acute"] if asked.is_acute else [])])


async def first_lines() -> list[tuple[dict[str, str], str]]:
    """Each question on safety, with the first line of its answer."""
    found = []
    async with Transport(Endpoints(library=open_library(BUNDLED))) as transport:
        for row in rows("safety_questions.tsv"):
            pool = list[Evidence]()
            drugs = parse_question(row["question"]).drugs
            for source in (
                (ChEMBL, OpenTargets, MyChem, OpenFDA) if drugs and row["part"] not in WITHOUT_RECORDS else ()
            ):
                pool += (await source(transport).look_up(*drugs)).records
            material = Material(Dossier(question=row["question"]), [], pool, [], Verdicts(), readings=Readings())
            answer = answer_question(material, find_mechanisms(material))
            found.append((row, answer.sentences[0] if answer else ""))
    return found


def main() -> None:
    """Print the shares, and what was misread or answered wrongly."""
    for part in dict.fromkeys(row["part"] for row in rows()):
        read = [(row, reading_of(row["question"], row["after"])) for row in rows() if row["part"] == part]
        wrong = [(row, said) for row, said in read if said != row["reading"]]
        back = sum(said == "asks back" for _, said in wrong)
        obeyed = [" x " in f" {said}" or said == "asks back" for row, said in read if "; x " in row["reading"]]
        print(f"{part}: {len(read) - len(wrong)} of {len(read)} as meant, {back} more asked back", end="; ")
        print(f"exclusions read: {sum(obeyed)} of {len(obeyed)}")
        for row, said in wrong if part.endswith("made on") or "--show" in sys.argv else ():
            print(f"  {row['question']}\n    meant {row['reading']}\n    read  {said}")
    told = asyncio.run(first_lines())
    for part in dict.fromkeys(row["part"] for row, _ in told):
        own = [(row, said) for row, said in told if row["part"] == part]
        amiss = [(row, said) for row, said in own if not said.startswith(row["first"])]
        print(f"on safety, {part}: {len(own) - len(amiss)} of {len(own)} first lines right")
        for row, said in amiss:
            print(f"  {row['question']}\n    meant {row['first']}\n    said  {said}")


if __name__ == "__main__":
    main()
