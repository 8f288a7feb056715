"""Sentences of publications that tell how a drug acts are found, whole; aims, methods and results are not."""

import pytest

from willowbark.tools.evidence import Citation, Evidence
from willowbark.tools.mechanism.acting import LEAST, LEAST_OF_FEW, acting, chance, features, names_in
from willowbark.tools.questions.query import parse_question

TELLS = "Allopurinol inhibits xanthine oxidase, the enzyme that turns hypoxanthine into uric acid."


def _paper(pmid: int, *sentences: str) -> Evidence:
    cited = Citation(source="pubmed", title="On a drug", url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/")
    content = f"{cited.title}\n\nEnzymes were measured in cells. {' '.join(sentences)} These findings are new."
    return Evidence(content=content, citation=cited, metadata={"pmid": str(pmid), "has_abstract": True})


def _said(question: str, *pool: Evidence) -> list[tuple[str, str]]:
    return [(each.drug, each.sentence) for each in acting(pool, parse_question(question))]


@pytest.mark.parametrize(
    ("sentence", "drug", "tells"),
    [
        (TELLS, "allopurinol", True),
        ("Losartan selectively blocks the angiotensin II type 1 receptor.", "losartan", True),
        ("Metformin activates AMPK in hepatocytes and suppresses gluconeogenesis.", "metformin", True),
        ("Patients were randomised to allopurinol 300 mg or placebo for 24 weeks.", "allopurinol", False),
        ("Pain scores fell in patients who received losartan.", "losartan", False),
        ("This study investigated the use of metformin in children.", "metformin", False),
    ],
)
def test_what_tells_how_a_drug_acts_is_likelier_than_what_was_done_or_found(
    sentence: str, drug: str, tells: bool
) -> None:
    assert (chance(features(sentence, drug, names_in(sentence), "R")) >= LEAST) is tells


def test_of_each_publication_the_best_sentence_is_told_whole() -> None:
    paper = _paper(1, "Gout is common.", TELLS, "Allopurinol inhibits the enzyme.")

    assert _said("How does allopurinol act?", paper) == [("allopurinol", TELLS)]


def test_a_class_is_told_by_its_own_name_and_by_its_members() -> None:
    members = _paper(1, "Simvastatin inhibits HMG-CoA reductase in hepatocytes and blocks cholesterol synthesis.")
    itself = _paper(2, "Statins inhibit HMG-CoA reductase, the enzyme of cholesterol synthesis, in hepatocytes.")

    assert {drug for drug, _ in _said("How do statins act?", members, itself)} == {"simvastatin", "statins"}


def test_what_most_say_comes_first_and_the_same_sentence_once() -> None:
    alone = _paper(1, "Allopurinol activates TRPA1 channels in sensory neurons of mice.")
    others = [_paper(2, TELLS), _paper(3, TELLS), _paper(4, f"Here we show that {TELLS}")]

    said = _said("How does allopurinol act?", alone, *others)

    assert [sentence for _, sentence in said].index(TELLS) == 0
    assert len(said) == 3


def test_where_few_are_likely_to_tell_it_the_likeliest_stand() -> None:
    fair = "Patients took allopurinol, an enzyme inhibitor that reduces uric acid."
    poor = "Pain scores fell in patients who received allopurinol."
    likely = chance(features(fair, "allopurinol", names_in(fair), "R"))

    assert LEAST_OF_FEW <= likely < LEAST
    assert _said("How does allopurinol act?", _paper(1, fair), _paper(2, poor)) == [("allopurinol", fair)]
    surely = [_paper(at, f"In study {word} {TELLS}") for at, word in enumerate(("one", "two", "three"), 2)]
    assert fair not in [each for _, each in _said("How does allopurinol act?", _paper(1, fair), *surely)]


def test_each_drug_that_a_sentence_names_is_looked_at_and_none_that_is_left_out() -> None:
    both = "Febuxostat inhibits xanthine oxidase in hepatocytes, as does allopurinol."

    assert _said("How do allopurinol and febuxostat act?", _paper(1, both)) == [("febuxostat", both)]
    assert not _said("How do statins other than simvastatin act?", _paper(3, "Simvastatin inhibits HMG-CoA reductase."))


def test_what_denies_is_left_out() -> None:
    denied = "Allopurinol does not inhibit xanthine oxidase, the enzyme that turns hypoxanthine into uric acid."

    assert not _said("How does allopurinol act?", _paper(1, denied))


def test_other_drugs_retracted_papers_and_questions_on_no_drug_tell_nothing() -> None:
    paper = _paper(1, TELLS)
    retracted = paper.model_copy(update={"record": paper.paper.model_copy(update={"retracted": True})})  # type: ignore[union-attr]

    assert not _said("How does colchicine act?", paper)
    assert not _said("How does allopurinol act?", retracted)
    assert not _said("What is the mechanism of gout?", paper)
