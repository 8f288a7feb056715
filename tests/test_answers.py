"""The first line of a report answers the question that was asked, whatever its kind."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchmarks.questions import answer_safety_questions
from builders import evidence, material
from goldens import GOLDENS, assert_golden
from posted_study import trial

from willowbark.agents.report.answers import ReportAnswer, answer_question
from willowbark.agents.report.material import find_mechanisms
from willowbark.agents.report.texts import References, write_line
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.harms import list_boxed_warnings, list_label_warnings
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.records import Drug, Label
from willowbark.tools.records.evidence import Citation, Evidence

WRONG = {"fourth": 1, "fifth": 1, "second work": 2, "second kept": 1, "sixth": 2, "ninth": 3, "tenth": 3, "eleventh": 2}
"""How many questions on safety of a part are not answered rightly; of the other parts none."""
CAUSE = {"role": "cause"}


class Told:
    """A reader that says of each drug what it was told to, whatever the record."""

    name, version = "told", "1"

    def __init__(self, **fields: dict[str, Any]) -> None:
        self._fields = fields

    def read_document(self, page: Document, drug: str, condition: str, key: str = "") -> Reading:
        fields = {"role": "mentioned", **self._fields.get(drug, {})}
        return Reading(key=key, drug=drug, condition=condition, reader=self.name, version=self.version, **fields)


def paper(text: str, pmid: int = 1) -> Evidence:
    return evidence(text, title=text.partition(".")[0], url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/")


def label(drug: str, *sections: str) -> Evidence:
    url = f"https://dailymed.nlm.nih.gov/dailymed/drugInfo.cfm?setid={drug}"
    citation = Citation(source="openfda", title=f"{drug}: drug label", url=url)
    return Evidence(content="\n\n".join([citation.title, *sections]), citation=citation, record=Label(drug=drug))


def entry(drug: str, **fields: Any) -> Evidence:
    citation = Citation(source="chembl", title=drug, url="https://www.ebi.ac.uk/chembl/x")
    return Evidence(content=drug, citation=citation, record=Drug(drug=drug, **fields))


def answered(question: str, *pool: Evidence, **told: dict[str, Any]) -> ReportAnswer:
    found = material(question, pool, Readings(Told(**told)))
    answer = answer_question(found, find_mechanisms(found))
    assert answer is not None
    return answer


def said_to(question: str, *pool: Evidence, **told: dict[str, Any]) -> str:
    return " ".join(answered(question, *pool, **told).sentences)


WORSE = {"role": "tested", "kind": "efficacy", "effect": "worse", "comparator": "placebo"}
CASES = [
    json.loads(line) for line in (Path(__file__).parent / "cases" / "answers.jsonl").read_text("utf-8").splitlines()
]


def made(number: int, told: dict[str, Any]) -> Evidence:
    """A record of a case, by the one that it names: paper, label, entry of a drug database, trial with results."""
    if "paper" in told:
        return paper(told["paper"], number)
    if "label" in told:
        return label(told["label"], *told["sections"])
    return entry(told.pop("entry"), **told) if "entry" in told else trial()


@pytest.mark.parametrize("case", CASES, ids=[each["case"] for each in CASES])
def test_each_kind_of_question_is_answered_first_and_from_what_bears_on_it(case: dict[str, Any]) -> None:
    pool = [made(number, dict(each)) for number, each in enumerate(case.get("pool", ()), 1)]
    answer = answered(case["question"], *pool, **case.get("told", {}))
    said = " ".join(answer.sentences)

    assert answer.confidence == case.get("confidence", answer.confidence)
    assert said.startswith(case.get("first", ""))
    assert [part for part in case.get("parts", ()) if part not in said] == []
    assert [words for words in case.get("never", ()) if words in said] == []


def test_titles_questions_as_read_answers_and_what_they_quote_are_as_kept() -> None:
    told = list[str]()
    for case in CASES:
        pool = [made(number, dict(each)) for number, each in enumerate(case.get("pool", ()), 1)]
        found = material(case["question"], pool, Readings(Told(**case.get("told", {}))))
        answer, title = answer_question(found, find_mechanisms(found)), write_line("summary", "title", m=found)
        assert answer is not None
        section = References(found.records).write("", [*answer.statements, *answer.quotations])
        read = write_line("findings", "question", asked=found.asked)
        told.append(f"# {case['case']}: {title} ({answer.confidence})\n\n{read}\n\n{section.content}\n")

    assert_golden(GOLDENS / "answers.md", "\n".join(told))


async def test_questions_on_safety_are_answered_rightly_in_the_first_line() -> None:
    wrong = Counter(row["part"] for row, said in await answer_safety_questions() if not said.startswith(row["first"]))

    assert wrong <= Counter(WRONG), wrong


def test_an_answer_on_what_to_avoid_says_once_that_it_is_no_proof_of_safety() -> None:
    undecided = paper("Propranolol in gout. Gout was as rare with propranolol.")
    said = said_to("Which beta blockers should be avoided in gout?", undecided)
    assert "nothing on which drugs to avoid in gout" in said
    assert said.count("That is no proof of safety.") == 1


def test_whether_a_drug_helps_alone_has_no_answer_of_another_kind() -> None:
    found = material("Does phenobarbital help in epilepsy?", ())
    assert answer_question(found, find_mechanisms(found)) is None


def test_a_withdrawal_is_said_once_however_many_parts_of_a_question_it_answers() -> None:
    said = answered("Does rofecoxib help migraine, and is it still marketed?").sentences
    assert sum("withdrawn" in sentence for sentence in said) == 1


def test_a_label_without_a_drug_or_a_sentence_in_its_boxed_warning_warns_of_nothing() -> None:
    nameless = label("x", "Warnings: Liver failure was seen.").model_copy(update={"record": Label()})
    assert list_label_warnings([nameless], parse_question("Which drugs cause liver failure?")) == []
    assert list_boxed_warnings([label("x", "Boxed warning:   ")], ["x"]) == []
