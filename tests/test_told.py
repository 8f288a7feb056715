"""What is told of a study comes from the one comparison that decides, and its certainty can be redone from the rows."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from benchmarks.forgery import make_evidence, read_publications
from benchmarks.truth import QUESTIONS

from willowbark.agents.report.content import EvidenceRow
from willowbark.agents.report.tables import tabulate_evidence
from willowbark.tools.appraisal.appraised import AppraisedRecord, Readings
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.appraisal.certainty import DECIDED, AppraisedItem, appraise_candidate
from willowbark.tools.appraisal.stance import DrugStance, derive_stance
from willowbark.tools.appraisal.told import tell_result
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.assembler import PLACEBO, UNKNOWN, UNTREATED
from willowbark.tools.reading.reading import StudyDesign
from willowbark.tools.reading.text import plain
from willowbark.tools.records.study import Arm, Comparison, Estimate, Study, StudyPassage

pytestmark = pytest.mark.whole
NOT_NAMED = {None, PLACEBO, UNTREATED, UNKNOWN, "before treatment"}


class Answered(NamedTuple):
    candidates: list[Candidate]
    rows: list[EvidenceRow]

    def records(self) -> Iterator[tuple[str, AppraisedRecord]]:
        for candidate in self.candidates:
            for record in candidate.records:
                yield candidate.drug, record


@pytest.fixture(scope="module", params=["portal_hypertension", "smoking_cessation", "diabetic_nephropathy"])
def answered(request: pytest.FixtureRequest) -> Answered:
    pool = [make_evidence(record) for record in read_publications(None)]
    found = appraise_candidates(parse_question(QUESTIONS[request.param]), pool, Readings())
    return Answered(found, tabulate_evidence(found, {record.key: record for record in pool}))


def test_the_comparator_told_is_the_other_arm_of_that_comparison(answered: Answered) -> None:
    compared = 0
    for drug, record in answered.records():
        row, told = record.stance.comparison, record.told
        if told.comparator in NOT_NAMED or row is None or record.stance.says == "comparator":
            continue
        compared += 1
        assert told.comparator is not None
        assert drug not in told.comparator.split(" and ")
        assert row.versus is not None
        arm = record.study.arm(row.versus)
        assert set(told.comparator.removesuffix(" alone").split(" and ")) <= {*arm.drugs, arm.name}
    assert compared


def test_figures_effects_and_people_stand_in_the_passage_or_the_arms_of_that_comparison(answered: Answered) -> None:
    figures, percentages = 0, 0
    for _, record in answered.records():
        row, told = record.stance.comparison, record.told
        passage = " ".join(plain(told.passage.text).split()) if told.passage else ""
        is_compared = row is not None and row.versus is not None  # what authors say alone has no effect of its own
        percentages += is_compared and "%" in passage
        figures += len(told.figures) + len(told.effects)
        assert [figure for figure in told.figures if figure not in passage] == []
        assert [size for size in told.effects if " ".join(plain(size.sentence).split()) not in passage] == []
        assert told.participants is None or (row and told.participants == record.study.participants_of(row))
    assert figures or not percentages


def test_what_is_quoted_is_that_comparisons_passage(answered: Answered) -> None:
    quoted = [record for _, record in answered.records() if record.sentence]
    assert quoted
    assert [each.key for each in quoted if not each.told.passage or each.sentence != each.told.passage.text] == []


def test_no_comparator_is_credited_or_blamed_by_the_others_result(answered: Answered) -> None:
    for drug, record in answered.records():
        row = record.stance.comparison
        if row is not None and row.versus is not None and drug in record.study.drugs_of(row.versus):
            assert drug in record.study.drugs_of(row.arm) or record.item.direction not in DECIDED


def test_certainty_is_redone_from_the_rows_that_are_shown(answered: Answered) -> None:
    designs = {design.label: design for design in StudyDesign}
    for candidate in answered.candidates:
        items = []
        for row in (each for each in answered.rows if each.drug == candidate.drug):
            fields = row.model_dump(include=set(AppraisedItem.model_fields))
            items.append(AppraisedItem.model_validate(fields | {"design": designs[row.design]}))
        again = appraise_candidate(items)
        assert (again.certainty, again.outcome) == (candidate.appraisal.certainty, candidate.appraisal.outcome)


def test_each_drug_stands_in_one_list_and_failed_only_without_support(answered: Answered) -> None:
    drugs = [candidate.drug for candidate in answered.candidates]
    assert len(drugs) == len(set(drugs))
    for candidate in answered.candidates:
        found = candidate.appraisal
        if found.outcome == "failed":
            assert not found.supporting or found.quality == "refuted"
        assert not set(found.supporting) & {*found.contradicting, *found.missed}


ARMS = (
    Arm(name="A", role="drug", drugs=("propranolol",), n=40),
    Arm(name="A and B", role="drug", drugs=("propranolol", "timolol"), n=41),
    Arm(name="B", role="drug", drugs=("timolol",), n=42),
    Arm(name="placebo", role="placebo", n=43),
)
PASSAGE = StudyPassage(text="Attacks fell in 44.1% on propranolol and in placebo 24.2% (p = 0.01).")


def study(**fields: object) -> Study:
    row = Comparison.model_validate(
        {"arm": "A", "versus": "placebo", "endpoint": "efficacy", "favours": "arm", **fields}
    )
    return Study(key="pmid:1", reader="person", version="1", aim="treat", arms=ARMS, comparisons=(row,))


def tell(drug: str, **fields: object) -> tuple[str | None, str | None, int | None]:
    made = study(**fields)
    told = tell_result(made, derive_stance(made, drug))
    return told.result, told.comparator, told.participants


def test_result_comparator_and_people_are_told_of_one_comparison() -> None:
    assert tell("propranolol") == ("better", "placebo", 83)
    assert tell("propranolol", versus="B") == ("better", "timolol", 82)
    assert tell("propranolol", arm="A and B", versus="B") == ("better", "timolol alone", 83)
    assert tell("timolol", arm="A and B") == ("better, with propranolol", "placebo", 84)
    assert tell("timolol", versus="B") == (None, "A", None)
    assert tell("propranolol", versus=None, against="baseline", significant=True)[:2] == ("better", "before treatment")


def test_another_arms_figure_in_the_same_sentence_is_not_the_drugs() -> None:
    made = study(passage=PASSAGE)
    assert tell_result(made, derive_stance(made, "propranolol")).figures == ("44.1%", "p = 0.01")


def test_a_review_is_not_told_as_a_comparison() -> None:
    row = Comparison(arm="A", against="unstated", endpoint="efficacy", favours="arm", significant=True)
    made = study().model_copy(update={"design": "review", "comparisons": (row,)})
    told = tell_result(made, derive_stance(made, "propranolol"))
    assert (told.result, told.participants) == ("called effective", None)
    assert tell_result(made, DrugStance(drug="propranolol", says="none")).result is None


def test_an_estimate_of_another_passage_joins_no_line() -> None:
    made = study(passage=StudyPassage(text="Propranolol helped."), estimate=Estimate(measure="RR", value=0.5))
    assert tell_result(made, derive_stance(made, "propranolol")).effects == ()
