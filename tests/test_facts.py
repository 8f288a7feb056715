"""Design and participants of a record: what must hold whatever the weights are, and clear cases."""

import pytest

from willowbark.tools.reading.document import Document
from willowbark.tools.reading.facts import (
    Facts,
    convert_design,
    find_facts,
    find_purpose,
    list_candidates,
    list_design_features,
)
from willowbark.tools.reading.reading import StudyDesign

CASES = [
    (
        "Topiramate in migraine prevention: a randomized, double-blind, placebo-controlled trial",
        "METHODS: A total of 487 patients were randomised to topiramate or placebo. RESULTS: Attacks fell by 40 %.",
        "rct",
        487,
    ),
    (
        "Hyponatraemia with sertraline: a case report",
        "We report the case of a 78-year-old woman who developed hyponatraemia after starting sertraline.",
        "case_report",
        1,
    ),
    (
        "Statins for sepsis: a systematic review",
        "We systematically searched MEDLINE, Embase and the Cochrane Library. Studies were heterogeneous.",
        "systematic_review",
        None,
    ),
    (
        "Metformin reduces hepatic steatosis in mice",
        "Male C57BL/6 mice were fed a high-fat diet and treated with metformin. Liver fat and weight fell in rats too.",
        "animal",
        None,
    ),
    (
        "Management of migraine",
        "This article reviews the pathophysiology and current treatment of migraine and discusses new drugs.",
        "review",
        None,
    ),
]


@pytest.mark.parametrize(("title", "text", "design", "participants"), CASES, ids=[case[2] for case in CASES])
def test_clear_records_are_told(title: str, text: str, design: str, participants: int | None) -> None:
    facts = find_facts(Document(title, text))
    assert (facts.design, facts.participants) == (design, participants)


def test_no_drugs_name_tells_a_design() -> None:
    told = [
        list_design_features(Document(f"{drug} in mice", f"They got {drug}."))
        for drug in ("Metformin", "Valproic acid")
    ]
    assert told[0] == told[1]


def test_a_publication_type_alone_does_not_make_a_review_a_trial() -> None:
    title, text, design, _ = CASES[-1]
    assert find_facts(Document(title, text, ["Randomized Controlled Trial"])).design == design


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("We enrolled 1,099 patients.", 1099),
        ("We enrolled 18 851 women.", 18851),
        ("One hundred and twenty patients were enrolled.", 120),
        ("Patients took A (n = 61) or placebo (n = 59).", 120),
        ("There were 39 patients with the disease and 38 controls.", 77),
        ("Twenty patients in each of two groups were treated.", 40),
    ],
    ids=["comma", "space", "words", "arms", "pair", "each"],
)
def test_numbers_words_and_sums_of_arms_are_candidates(text: str, value: int) -> None:
    assert value in list_candidates(Document("", text), "rct")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("It fell by 45 % (3.7 mm).", {0, 1}),
        ("Of the 362/371 patients recruited, most responded.", {0, 1, 362, 371, 733}),
        ("At least one dose in patients.", {0, 1}),
        ("In this trial (NCT02207946), patients with tremor were randomized.", {0, 1}),
    ],
    ids=["shares", "two numbers that a stroke parts", "one of several", "registry number"],
)
def test_what_counts_no_people_is_no_candidate(text: str, told: set[int]) -> None:
    assert set(list_candidates(Document("", text), "rct")) == told


@pytest.mark.parametrize("text", ["", " ", "\n\n", "123", "n = = n", "٣٣ İİ patients"], ids=range(6))
def test_any_text_has_facts(text: str) -> None:
    facts = find_facts(Document(text, text))
    assert facts.participants is None or facts.participants > 0


def test_several_cases_are_a_series() -> None:
    assert convert_design("case_report", participants=12) is StudyDesign.case_series
    assert convert_design("case_report", participants=1) is StudyDesign.case_report


@pytest.mark.parametrize(
    ("text", "mesh_terms", "design"),
    [
        ("A trial", (), "rct"),
        ("An open-label phase after a double-blind trial", (), "rct_open"),
        ("A double-blind trial with an open-label phase", (), "rct_blinded"),
        ("A trial", ("*Double-Blind Method/standards",), "rct_blinded"),
        ("A trial", ("Migraine/double-blind method",), "rct"),
    ],
)
def test_blinding_is_by_what_is_named_first_or_by_descriptor(
    text: str, mesh_terms: tuple[str, ...], design: str
) -> None:
    assert convert_design("rct", text, mesh_terms).value == design


@pytest.mark.parametrize(
    ("title", "text", "purpose"),
    [
        ("Sumatriptan", "It ended acute attacks.", "relief"),
        ("Migraine prophylaxis", "It helped.", "prevention"),
        ("Migraine", "It prevents and aborts.", "prevention"),
        ("Migraine", "It helped.", "unknown"),
    ],
)
def test_the_purpose_is_that_of_the_sentence_else_of_the_title(title: str, text: str, purpose: str) -> None:
    assert find_purpose(Document(title, text), text) == purpose


@pytest.mark.parametrize(
    ("text", "participants"),
    [
        ("Between 2006 and 2013 we followed 64 patients who took propranolol.", 64),
        ("From May 1996 to November 1998, 31 patients took propranolol.", 31),
        ("A cohort of consecutive patients of one clinic was followed from October 1991 to November 1995.", None),
        ("A total of 2013 patients were randomised to propranolol or placebo.", 2013),
        ("Attacks were counted in 1998 patients who took propranolol.", 1998),
    ],
)
def test_a_year_is_no_number_of_people_and_such_a_number_of_people_is_no_year(
    text: str, participants: int | None
) -> None:
    assert find_facts(Document("Propranolol in migraine", f"{text} Attacks fell.")).participants == participants


@pytest.mark.parametrize(
    ("text", "participants"),
    [
        ("Randomisation gave 2:1 propranolol (80 patients) or placebo (40 patients).", 120),
        ("Intention to treat: 212 (propranolol 108, placebo 104).", 212),
        ("Out of 51,000 insured adults, 2,400 users of propranolol were matched with 2,400 users of timolol.", 4800),
        ("Attacks were rated twice (10 minutes before, 10 minutes after) in 24 patients.", 24),
    ],
)
def test_arms_add_up_where_their_form_shows_them(text: str, participants: int) -> None:
    assert find_facts(Document("Propranolol in migraine", f"{text} Attacks fell.")).participants == participants


def test_a_title_alone_tells_no_size_and_only_its_types_tell_a_design() -> None:
    assert find_facts(Document("Propranolol in migraine", "")) == Facts("other", None)
    assert find_facts(Document("Propranolol in migraine", "", ["Systematic Review"])).design == "systematic_review"


def test_indexers_types_tell_a_systematic_review_from_another_one() -> None:
    text = "Propranolol reduced attacks against placebo in six trials. Propranolol is effective."
    assert find_facts(Document("Propranolol for migraine", text)).design == "review"
    assert find_facts(Document("Propranolol for migraine", text, ["Review", "Meta-Analysis"])).design == "meta_analysis"


def test_a_study_that_is_announced_is_a_protocol_and_one_with_results_is_none() -> None:
    plan = "Propranolol may prevent migraine. Ninety adults will be randomised to propranolol or placebo."
    assert find_facts(Document("Propranolol in migraine", f"{plan} Results are expected in 2031.")).design == "protocol"
    done = f"{plan} Attacks fell by 41% against placebo (p<0.001). A larger trial will be randomised."
    assert find_facts(Document("Propranolol in migraine", done)).design != "protocol"
