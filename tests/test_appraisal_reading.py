"""Reading for effect, answers and records, beyond the case table; and that any text can be read."""

import doctest
import importlib
import pkgutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from willowbark.tools import appraisal
from willowbark.tools.appraisal import (
    Direction,
    Effect,
    StudyDesign,
    appraised_item,
    classify_design,
    conclusion_of,
    direction_of,
    effect_in,
    effect_of,
    effect_sizes,
    followup_months,
    p_values,
    phase,
    primary_outcome,
    sample_size,
    why_stopped_kind,
)
from willowbark.tools.evidence import Evidence
from willowbark.tools.reading.reporting import arms

WORDS = st.sampled_from(
    (
        "drug placebo reduced increased no not significant difference between groups p<0.05 p=0.3 n=40 95% CI 0.5-0.9 "
        "than compared with and but mortality pain patients were randomised . , ; ( ) 12 weeks OR HR ratio 1.2 - – %"
    ).split()
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=40).map(" ".join))


@pytest.mark.parametrize("name", [m.name for m in pkgutil.iter_modules(appraisal.__path__)])
def test_the_examples_in_the_docstrings_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"{appraisal.__name__}.{name}")).failed == 0


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_any_text_can_be_read(text: str) -> None:
    direction_of(text, "drug", "pain")
    conclusion_of("drug for pain", text, "drug", "pain")
    classify_design(text, text)
    effect_of(text, "drug", "pain", "placebo")
    effect_in(text, "drug", "pain", "placebo")
    why_stopped_kind(text)
    for reader in (sample_size, followup_months, arms, phase, primary_outcome):
        reader(text)
    for size in effect_sizes(text):
        assert size.ci_low is None or size.ci_high is None or size.ci_low <= size.value <= size.ci_high
    p_values(text)


@pytest.mark.parametrize(
    ("sentence", "drug", "outcome", "other", "effect"),
    [
        ("Pain was lower with A1 than with placebo (p=0.01).", "A1", "pain", "placebo", "decrease"),
        ("Pain was lower with placebo than with A1 (p=0.01).", "A1", "pain", "placebo", "increase"),
        ("Pain did not differ (p=0.4).", "A1", "pain", "placebo", "no_difference"),
        ("Mean stay was 4.1 days with A1 and 6.3 days with placebo (p<0.01).", "A1", "stay", "placebo", "decrease"),
        ("Mean stay was 6.3 days with placebo and 4.1 days with A1 (p<0.01).", "A1", "stay", "placebo", "decrease"),
        ("Weight fell in both groups.", "A1", "weight", "placebo", "no_difference"),
        ("The fall in pressure was smaller with A1 than with placebo.", "A1", "pressure", "placebo", "increase"),
        ("Death: HR 0.80 (95% CI 0.61 to 1.05).", "A1", "death", "placebo", "no_difference"),
        ("Ferritin\n28.5\n27.2\n0.04\n", "A1", "ferritin", "placebo", "increase"),
        ("Ferritin\n28.5\n27.2\n0.40\n", "A1", "ferritin", "placebo", "no_difference"),
    ],
)
def test_an_effect_is_read_from_the_side_of_the_drug(
    sentence: str, drug: str, outcome: str, other: str, effect: str
) -> None:
    assert effect_of(sentence, drug, outcome, other).effect is Effect(effect)


def test_an_abstract_is_read_for_the_outcome_that_is_asked_about() -> None:
    text = "AIM: To see if A1 lowers pain or fever. RESULTS: Pain was lower with A1 (p=0.01). No change in fever."
    assert effect_in(text, "A1", "fever", "placebo").effect is Effect.no_difference
    assert effect_in(text, "A1", "pain", "placebo").effect is Effect.decrease


def test_the_record_of_another_condition_is_unclear() -> None:
    found = conclusion_of("Topiramate for weight", "Topiramate reduced body weight.", "topiramate", "migraine")
    assert found.direction is Direction.unclear
    assert "migraine" in found.reason


def test_a_synonym_names_the_drug() -> None:
    text = "Conclusion: Acetylsalicylic acid prevented migraine attacks."
    assert conclusion_of("Trial", text, "aspirin", "migraine", ["acetylsalicylic acid"]).direction is Direction.supports


def test_no_difference_where_no_placebo_is_known_is_neutral() -> None:
    text = "Lisinopril or atenolol for 40 adults. Conclusion: Decline was similar in both groups, under lisinopril too."
    assert conclusion_of("Lisinopril in nephropathy", text, "lisinopril", "nephropathy").direction is Direction.neutral


def record(source: str = "pubmed", text: str = "", **metadata: object) -> Evidence:
    return Evidence.model_validate(
        {
            "content": text
            or "Topiramate trial. Conclusion: Topiramate reduced migraine attacks compared with placebo.",
            "citation": {"source": source, "title": "Topiramate trial", "url": "https://example.org/1"},
            "metadata": metadata,
        }
    )


def test_a_record_becomes_an_item_with_its_flags() -> None:
    evidence = record(pmid="123", publication_types=["Randomized Controlled Trial"], retracted=True)
    item = appraised_item(evidence, "topiramate", "migraine")
    assert (item.key, item.design, item.direction) == ("pmid:123", StudyDesign.rct, Direction.supports)
    assert (item.sample_size, item.retracted, item.concern, item.is_preprint) == (None, True, None, False)


def test_a_trial_record_is_a_registry_entry_with_the_kind_of_its_stop() -> None:
    evidence = record(
        "clinicaltrials",
        "Topiramate in migraine.",
        overall_status="TERMINATED",
        why_stopped="Futility at interim analysis",
    )
    item = appraised_item(evidence, "topiramate", "migraine")
    assert item.design is StudyDesign.registry_entry
    assert item.why_stopped_kind == "futility"


def test_animal_work_is_not_direct() -> None:
    evidence = record(text="Rats given topiramate had fewer migraine-like spells.", mesh_terms=["Animals", "Rats"])
    assert not appraised_item(evidence, "topiramate", "migraine").direct


def test_a_preprint_is_a_flag_and_not_a_design() -> None:
    assert appraised_item(record("preprint"), "topiramate", "migraine").is_preprint
    assert "preprint" not in set(StudyDesign)
