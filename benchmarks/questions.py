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


def read_table_rows(name: str | Path = "questions.tsv") -> Iterator[dict[str, str]]:
    """The rows of a table, among the labels if it is no path."""
    lines = (line for line in (LABELS / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    yield from csv.DictReader(lines, delimiter="\t")


def describe_reading(question: str, after: str) -> str:
    """How a question is read, as the table writes it."""
    parsed = parse_question(complete_follow_up(question, after) if after else question)
    return "asks back" if parsed.objection else write_reading(parsed)


def write_reading(question: Question) -> str:
    """How a question is read, asked back or not."""
    parts = {
        "c": question.conditions,
        "w": question.background,
        "d": question.drugs,
        "k": question.drug_classes,
        "x": question.left_out,
        "p": (question.population,) if question.population else (),
        "also": question.also,
    }
    phrases = [question.kind, *(f"{name} {', '.join(values)}" for name, values in parts.items() if values)]
    return "; ".join([*phrases, *(["acute"] if question.is_acute else [])])


async def answer_safety_questions() -> list[tuple[dict[str, str], str]]:
    """Each question on safety, with the first line of its answer."""
    first_lines = []
    async with Transport(Endpoints(library=open_library(BUNDLED))) as transport:
        for row in read_table_rows("safety_questions.tsv"):
            pool = list[Evidence]()
            drugs = parse_question(row["question"]).drugs
            for source in (
                (ChEMBL, OpenTargets, MyChem, OpenFDA) if drugs and row["part"] not in WITHOUT_RECORDS else ()
            ):
                pool += (await source(transport).look_up(*drugs)).records
            material = Material(Dossier(question=row["question"]), [], pool, [], Verdicts(), readings=Readings())
            answer = answer_question(material, find_mechanisms(material))
            first_lines.append((row, answer.sentences[0] if answer else ""))
    return first_lines


def main() -> None:
    """Print the shares, and what was misread or answered wrongly."""
    for part in dict.fromkeys(row["part"] for row in read_table_rows()):
        readings = [
            (row, describe_reading(row["question"], row["after"])) for row in read_table_rows() if row["part"] == part
        ]
        wrong = [(row, reading) for row, reading in readings if reading != row["reading"]]
        back = sum(reading == "asks back" for _, reading in wrong)
        obeyed = [
            " x " in f" {reading}" or reading == "asks back" for row, reading in readings if "; x " in row["reading"]
        ]
        print(f"{part}: {len(readings) - len(wrong)} of {len(readings)} as meant, {back} more asked back", end="; ")
        print(f"exclusions read: {sum(obeyed)} of {len(obeyed)}")
        for row, reading in wrong if part.endswith("made on") or "--show" in sys.argv else ():
            print(f"  {row['question']}\n    meant {row['reading']}\n    read  {reading}")
    answers = asyncio.run(answer_safety_questions())
    for part in dict.fromkeys(row["part"] for row, _ in answers):
        own = [(row, line) for row, line in answers if row["part"] == part]
        amiss = [(row, line) for row, line in own if not line.startswith(row["first"])]
        print(f"on safety, {part}: {len(own) - len(amiss)} of {len(own)} first lines right")
        for row, line in amiss:
            print(f"  {row['question']}\n    meant {row['first']}\n    said  {line}")


if __name__ == "__main__":
    main()
