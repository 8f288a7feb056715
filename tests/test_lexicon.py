"""Drugs, classes and conditions in text."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from willowbark.tools.lexicon import (
    canonical_class,
    canonical_condition,
    canonical_drug,
    class_members,
    class_synonyms,
    condition_synonyms,
    drug_synonyms,
    find_chemicals,
    find_conditions,
    find_deeds,
    find_drug_classes,
    find_drugs,
    related_conditions,
    same_drug,
    withdrawn,
)
from willowbark.tools.lexicon.drugs import drug_names
from willowbark.tools.lexicon.matching import cued, cues, read_table, split_names
from willowbark.tools.toolbox import MAX_DRUGS, DrugArgs

SENTENCES = st.lists(
    st.sampled_from(
        "propranolol insulin resistance receptor beta-blockers migraine (PD) Parkinson's disease , . ( ) é ß".split()
    )
).map(" ".join)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("propranolol hydrochloride", "propranolol"),
        ("Propranolol HCl", "propranolol"),
        ("Inderal", "propranolol"),
        ("Chantix", "varenicline"),
        ("divalproex sodium", "valproic acid"),
        ("valproate", "valproic acid"),
        ("sodium valproate", "valproic acid"),
        ("botulinum toxin type A", "onabotulinumtoxina"),
        ("OnabotulinumtoxinA", "onabotulinumtoxina"),
        ("Botox", "onabotulinumtoxina"),
        ("isosorbide mononitrate", "isosorbide mononitrate"),
        ("isosorbide-5-mononitrate", "isosorbide mononitrate"),
        ("cytisine", "cytisine"),
        ("Cytisinicline", "cytisine"),
        ("BAY94-8862", "finerenone"),
        ("BAY 94-8862", "finerenone"),
        ("candesartan cilexetil", "candesartan"),
        ("enalapril maleate", "enalapril"),
        ("nicotine patch", "nicotine"),
        ("insulin", "insulin"),
        ("tirzepatide", "tirzepatide"),
        ("Interferon\u2010alpha", "interferon alpha"),
        ("lithium carbonate", "lithium"),
        ("PROPRANOLOL", "propranolol"),
        ("estradiol patch", "estradiol"),
        ("timolol eye drops", "timolol"),
        ("salbutamol inhalers", "albuterol"),
        ("fluticasone nasal spray and drops", "fluticasone"),
        ("Premarin", "conjugated estrogens"),
    ],
)
def test_salts_brands_codes_and_spellings_are_one_drug(written: str, name: str) -> None:
    (mention,) = find_drugs(f"Patients took {written} daily.")

    assert mention.name == name
    assert mention.text == written


@pytest.mark.parametrize(
    "word",
    "water oxygen glucose alcohol creatinine placebo serotonin cholesterol calcium sodium protein dopamine wheat more "
    "he lead mercury honey urea air control care advance today mask potassium iron norepinephrine".split(),
)
def test_foods_elements_and_the_bodys_own_substances_are_no_drugs(word: str) -> None:
    assert find_drugs(f"We measured {word} in patients.") == []
    assert canonical_drug(word) is None


@pytest.mark.parametrize(
    "text",
    [
        "insulin resistance",
        "insulin-like growth factor receptor",
        "the aldosterone antagonist",
        "nicotine dependence",
        "serum testosterone",
        "melatonin levels",
        "vitamin D deficiency",
        "2, 3 and 2.3",
        "at 10 weeks",
    ],
)
def test_a_drugs_name_within_another_thing_is_no_drug(text: str) -> None:
    assert find_drugs(text) == []


def test_every_drug_that_is_found_can_be_looked_up() -> None:
    every = list(drug_names().synonyms)
    for at in range(0, len(every), MAX_DRUGS):
        DrugArgs(drugs=every[at : at + MAX_DRUGS])
    assert DrugArgs(drugs=['"aspirin"', "Amlodipine/Valsartan"]).drugs == ["aspirin", "amlodipine/valsartan"]
    for name in ('a"b', "a/b", "a\nb", "<a>", "$(a)", "a" * 200, " a", ""):
        with pytest.raises(ValidationError):
            DrugArgs(drugs=[name])


def test_the_longest_name_wins_and_positions_are_exact() -> None:
    text = "Oral isosorbide-5-mononitrate (ISMN) v. propranolol; ISMN won."

    found = find_drugs(text)

    assert [mention.name for mention in found] == ["isosorbide mononitrate"] * 2 + [
        "propranolol",
        "isosorbide mononitrate",
    ]
    assert [text[mention.start : mention.end] for mention in found] == [mention.text for mention in found]


def test_drugs_of_a_list_are_found_one_by_one() -> None:
    assert [mention.name for mention in find_drugs("abacavir, lamivudine, and zidovudine")] == [
        "abacavir",
        "lamivudine",
        "zidovudine",
    ]


def test_a_drug_that_is_blamed_is_marked_so() -> None:
    blamed, taken = find_drugs("Lithium-induced tremor eased with propranolol.")

    assert (blamed.name, blamed.as_cause) == ("lithium", True)
    assert (taken.name, taken.as_cause) == ("propranolol", False)


def test_numbers_of_propranolol_are_those_of_the_registries() -> None:
    (mention,) = find_drugs("Inderal")

    assert (mention.drugbank_id, mention.mesh_id) == ("DB00571", "D011433")


def test_all_names_of_a_drug_lead_back_to_it() -> None:
    names = drug_synonyms("Depakote")

    assert names[0] == "valproic acid"
    assert {"divalproex", "valproate", "sodium valproate"} <= set(names)
    assert {canonical_drug(name) for name in names} == {"valproic acid"}


def test_unknown_drugs_keep_their_names() -> None:
    assert drug_synonyms("examplomab") == ("examplomab",)
    assert same_drug("Examplomab", "examplomab ")
    assert not same_drug("examplomab", "propranolol")


def test_the_same_drug_under_two_names() -> None:
    assert same_drug("Inderal", "propranolol hydrochloride")
    assert not same_drug("propranolol", "timolol")


def test_chemicals_are_wider_than_drugs() -> None:
    assert [mention.text for mention in find_chemicals("serotonin and cholesterol")] == ["serotonin", "cholesterol"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("β-blockers", "beta-blockers"),
        ("ACE inhibitors", "ace inhibitors"),
        ("triptan", "triptans"),
        ("angiotensin II receptor antagonists", "angiotensin receptor blockers"),
        ("calcium channel blocker", "calcium channel blockers"),
        ("SSRIs", "ssris"),
        ("SGLT-2 inhibitors", "sglt2 inhibitors"),
    ],
)
def test_a_class_is_found_and_is_no_drug(written: str, name: str) -> None:
    (mention,) = find_drug_classes(f"Use {written} first.")

    assert (mention.name, mention.text) == (name, written)
    assert mention.members == class_members(name) != ()
    assert find_drugs(written) == []


def test_members_of_classes_carry_generic_names() -> None:
    members = {member for row in read_table("drug_classes.tsv") for member in split_names(row["members"])}
    classes = {member for member in members if member.startswith("@")}

    assert {member for member in members - classes if canonical_drug(member) != member} == set()
    assert {name for name in classes if canonical_class(name[1:]) != name[1:]} == set()


def test_the_names_of_classes_are_no_drugs() -> None:
    names = {name for row in read_table("drug_classes.tsv") for name in (row["name"], *split_names(row["synonyms"]))}

    assert {name for name in names if canonical_drug(name)} == set()


def test_a_class_has_the_members_of_the_classes_within_it() -> None:
    assert {"enalapril", "losartan", "propranolol", "amlodipine"} <= set(class_members("blood pressure drugs"))
    assert {"fluoxetine", "nortriptyline", "bupropion"} <= set(class_members("antidepressants"))
    assert "flunarizine" not in class_members("antihypertensives")


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("help smokers quit", ["smoking cessation"]),
        ("smokers who want to quit for good", ["smoking cessation"]),
        ("giving up cigarettes", ["smoking cessation"]),
        ("stop drinking too much alcohol", ["alcohol dependence"]),
        ("lose some weight", ["obesity"]),
        ("bring down my blood pressure", ["hypertension"]),
        ("stop at once, smoke is about", []),
        ("stop the trial", []),
    ],
)
def test_what_is_to_be_done_names_a_condition(text: str, conditions: list[str]) -> None:
    assert [found.value for found in find_deeds(text)] == conditions


def test_every_condition_asked_for_in_other_words_is_in_the_table() -> None:
    names = {row["name"] for row in read_table("asked_as.tsv")}

    assert {name for name in names if canonical_condition(name) != name} == set()


def test_an_unknown_class_has_no_members() -> None:
    assert class_members("wonder drugs") == ()
    assert class_synonyms("wonder drugs") == ("wonder drugs",)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("migraine attacks", "migraine"),
        ("Migraine Disorders", "migraine"),
        ("diabetic kidney disease", "diabetic nephropathy"),
        ("long-COVID", "long covid"),
        ("oesophageal varices", "oesophageal varices"),
        ("esophageal varices", "oesophageal varices"),
        ("nicotine dependence", "smoking cessation"),
        ("tobacco use disorder", "smoking cessation"),
        ("quitting smoking", "smoking cessation"),
        ("adrenal cancer", "adrenal cancer"),
        ("gingivitis", "gingivitis"),
    ],
)
def test_names_of_one_condition_are_one(written: str, name: str) -> None:
    (mention,) = find_conditions(f"We studied {written} here.")

    assert (mention.name, mention.text) == (name, written)


def test_variceal_bleeding_is_close_to_portal_hypertension_but_another_thing() -> None:
    assert {"variceal bleeding", "oesophageal varices"} <= set(related_conditions("portal hypertension"))
    assert not {"variceal bleeding", "oesophageal varices"} & set(condition_synonyms("portal hypertension"))


def test_an_abbreviation_that_a_text_defines_is_followed() -> None:
    found = find_conditions("Parkinson's disease (PD): PD is common.")

    assert [(mention.name, mention.text) for mention in found] == [
        ("parkinson's disease", "Parkinson's disease"),
        ("parkinson's disease", "PD"),
        ("parkinson's disease", "PD"),
    ]


@pytest.mark.parametrize(
    "text",
    ["tumor necrosis factor", "nonsteroidal anti-inflammatory drugs", "the diagnosis", "apoptosis", "hearing aids"],
)
def test_look_alikes_are_no_conditions(text: str) -> None:
    assert find_conditions(text) == []


def test_abbreviations_that_are_words_count_in_capitals_only() -> None:
    assert canonical_condition("AIDS") == "hiv infection"
    assert canonical_condition("aids") is None


def test_every_related_condition_is_in_the_table() -> None:
    rows = read_table("conditions.tsv")

    assert {other for row in rows for other in split_names(row["related"])} <= {row["name"] for row in rows}


@settings(deadline=None)
@given(st.one_of(st.text(max_size=60), SENTENCES))
def test_mentions_stand_where_they_say_and_never_overlap(text: str) -> None:
    for find in (find_drugs, find_conditions, find_drug_classes):
        end = 0
        for mention in find(text):
            assert text[mention.start : mention.end] == mention.text != ""
            assert mention.start >= end
            end = mention.end


def test_importing_the_lexicon_reads_no_dictionary() -> None:
    probe = (
        "import sys, willowbark.tools.lexicon as lexicon; from willowbark.tools.lexicon import drugs;"
        "assert drugs.drug_names.cache_info().currsize == 0;"
        "assert not {'pydantic', 'numpy', 'requests', 'drug_named_entity_recognition'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", probe], check=True)


@pytest.mark.parametrize(
    "text",
    ["Etanercept (ETN) first. ETN+MTX won.", "Etanercept [ETN]; ETN/MTX.", "ETN (etanercept) and methotrexate. ETN."],
)
def test_abbreviations_that_a_record_defines_are_the_drug(text: str) -> None:
    assert [drug.text for drug in find_drugs(text) if drug.name == "etanercept"].count("ETN") == text.count("ETN")


def test_probes_and_diagnostic_agents_are_no_drugs() -> None:
    assert find_drugs("Raclopride PET, barium sulfate, a urea C-14 breath test and sestamibi were used.") == []


def test_withdrawn_drugs_are_known_under_their_generic_names() -> None:
    assert withdrawn("terfenadine") == "US, 1998: arrhythmia; not yet checked, ask the regulator"
    assert [row["name"] for row in read_table("withdrawn.tsv") if canonical_drug(row["name"]) != row["name"]] == []


@pytest.mark.parametrize(
    ("cell", "text", "found"),
    [
        ("side effect*", "Side-effects were mild", "Side-effects"),
        ("side effect*", "on one side. Effects", None),
        ("of the? drug", "of drug", "of drug"),
        ("lost/missing data", "missing data", "missing data"),
        ("*itis", "arthritis", "arthritis"),
        ("*itis", "itis", None),
        ("no _ benefit", "no clear or lasting benefit", "no clear or lasting benefit"),
        ("no _ benefit", "no clear, large or lasting benefit", None),
        ("hazard .. ratio", "hazard, or so they say, as a ratio", "hazard, or so they say, as a ratio"),
        ("hazard .. ratio", "a hazard. The ratio", None),
        ("at # hours", "at 24 hours", "at 24 hours"),
        ("^ change", "(Change in pain", "(Change"),
        ("^ change", "No change", None),
    ],
)
def test_a_cue_means_what_its_signs_say(cell: str, text: str, found: str | None) -> None:
    match = cues(cell).search(text)
    assert (match.group() if match else None) == found


@pytest.mark.parametrize("folder", ["appraisal", "lexicon", "mechanism", "reading", "works"])
def test_every_row_of_cues_can_be_read(folder: str) -> None:
    package = f"willowbark.tools.{folder}"
    rows = read_table("cues.tsv", package)
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        cued(row["name"], package)
        for cue in split_names(row["cues"]):
            assert not cue.endswith("?"), f"{row['name']}: the last word of {cue!r} cannot be missing"
            assert all("-" not in word for word in cue.split() if "/" in word), f"{row['name']}: {cue!r}"
