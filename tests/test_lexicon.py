"""Drugs, classes and conditions in text."""

import subprocess
import sys

import pytest
from builders import drug_record, record
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.lexicon import (
    canonical_class,
    canonical_condition,
    canonical_drug,
    class_members,
    class_synonyms,
    drug_synonyms,
    find_conditions,
    find_deeds,
    find_drug_classes,
    find_drugs,
    same_drug,
    withdrawal_of,
)
from willowbark.tools.lexicon.drug_classes import belongs_to_class
from willowbark.tools.lexicon.drugs import drug_names
from willowbark.tools.lexicon.matching import compile_cues, cue_regex, read_table, split_names
from willowbark.tools.questions import parse_question
from willowbark.tools.toolbox import MAX_DRUGS, DrugArgs

ISMN = "isosorbide mononitrate"
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
        ("PROPRANOLOL", "propranolol"),
        ("Inderal", "propranolol"),
        ("Chantix", "varenicline"),
        ("sodium valproate", "valproic acid"),
        ("botulinum toxin type A", "onabotulinumtoxina"),
        ("isosorbide-5-mononitrate", "isosorbide mononitrate"),
        ("Cytisinicline", "cytisine"),
        ("BAY94-8862", "finerenone"),
        ("BAY 94-8862", "finerenone"),
        ("candesartan cilexetil", "candesartan"),
        ("nicotine patch", "nicotine"),
        ("insulin", "insulin"),
        ("Interferon\u2010alpha", "interferon alpha"),
        ("lithium carbonate", "lithium"),
        ("timolol eye drops", "timolol"),
        ("salbutamol inhalers", "albuterol"),
        ("fluticasone nasal spray and drops", "fluticasone"),
        ("Premarin", "conjugated estrogens"),
        ("certolizumab", "certolizumab pegol"),
        ("piperazine estrone sulfate", "estropipate"),
        ("atovaquone-proguanil", "atovaquone/proguanil"),
        ("Malarone", "atovaquone/proguanil"),
    ],
)
def test_salts_brands_codes_and_spellings_are_one_drug(written: str, name: str) -> None:
    text = f"Patients took {written} daily."
    (drug,) = find_drugs(text)

    assert (drug.name, drug.text) == (name, written)


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
        "3-phenylpropylamine and 5alpha-androstane-3alpha,17beta-diol",
        "Raclopride PET, barium sulfate, a urea C-14 breath test and sestamibi were used.",
    ],
)
def test_a_drugs_name_within_another_thing_and_a_probe_are_no_drugs(text: str) -> None:
    assert find_drugs(text) == []


def test_every_drug_that_is_found_can_be_looked_up() -> None:
    every = list(drug_names().synonyms)
    for at in range(0, len(every), MAX_DRUGS):
        DrugArgs(drugs=every[at : at + MAX_DRUGS])
    assert DrugArgs(drugs=['"aspirin"', "Amlodipine/Valsartan"]).drugs == ["aspirin", "amlodipine/valsartan"]
    for name in ('a"b', "a/b", "a\nb", "<a>", "$(a)", "a" * 200, " a", ""):
        with pytest.raises(ValidationError):
            DrugArgs(drugs=[name])


@pytest.mark.parametrize(
    ("text", "drugs"),
    [
        (
            "Oral isosorbide-5-mononitrate (ISMN) v. timolol; ISMN won.",
            ["isosorbide mononitrate", "isosorbide mononitrate", "timolol", "isosorbide mononitrate"],
        ),
        ("abacavir, lamivudine, and zidovudine", ["abacavir", "lamivudine", "zidovudine"]),
        ("Captopril and hydrochlorothiazide were compared.", ["captopril", "hydrochlorothiazide"]),
    ],
)
def test_the_longest_name_wins_and_drugs_of_a_list_are_found_one_by_one(text: str, drugs: list[str]) -> None:
    assert [drug.name for drug in find_drugs(text)] == drugs


@pytest.mark.parametrize(
    "text",
    ["Etanercept (ETN) first. ETN+MTX won.", "Etanercept [ETN]; ETN/MTX.", "ETN (etanercept) and methotrexate. ETN."],
)
def test_abbreviations_that_a_record_defines_are_the_drug(text: str) -> None:
    found = [drug.text for drug in find_drugs(text) if drug.name == "etanercept"]
    assert found.count("ETN") == text.count("ETN")


def test_all_names_of_a_drug_lead_back_to_it_and_unknown_ones_stay() -> None:
    names = drug_synonyms("Depakote")

    assert names[0] == "valproic acid"
    assert {"divalproex", "valproate", "sodium valproate"} <= set(names)
    assert {canonical_drug(name) for name in names} == {"valproic acid"}
    assert same_drug("Inderal", "propranolol hydrochloride")
    assert not same_drug("propranolol", "timolol")
    assert drug_synonyms("examplomab") == ("examplomab",)
    assert same_drug("Examplomab", "examplomab ")


def test_withdrawn_drugs_are_known_under_their_generic_names() -> None:
    assert withdrawal_of("terfenadine") == "US, 1998: arrhythmia; not yet checked, ask the regulator"
    assert [row["name"] for row in read_table("withdrawn.tsv") if canonical_drug(row["name"]) != row["name"]] == []


def test_contraindications_bear_known_names_of_drugs_classes_and_conditions() -> None:
    rows = read_table("contraindications.tsv")
    names = {name for row in rows for column in ("names", "except") for name in split_names(row[column])}
    conditions = {name for row in rows for name in split_names(row["conditions"])}

    assert {name for name in names if name not in (canonical_drug(name), canonical_class(name))} == set()
    assert {name for name in conditions if canonical_condition(name) != name} == {"pregnancy", "children"}
    assert {row["kind"] for row in rows} == {"contraindicated", "boxed warning", "avoid"}
    assert all(row["told"] and row["source"] for row in rows)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("β-blockers", "beta-blockers"),
        ("triptan", "triptans"),
        ("angiotensin II receptor antagonists", "angiotensin receptor blockers"),
        ("SSRIs", "ssris"),
        ("SGLT-2 inhibitors", "sglt2 inhibitors"),
    ],
)
def test_a_class_is_found_and_is_no_drug(written: str, name: str) -> None:
    (found,) = find_drug_classes(f"Use {written} first.")

    assert found.name == name
    assert class_members(name) != ()
    assert find_drugs(written) == []


def test_members_of_classes_carry_generic_names_and_names_of_classes_are_no_drugs() -> None:
    rows = read_table("drug_classes.tsv")
    members = {member for row in rows for member in split_names(row["members"])}
    classes = {member for member in members if member.startswith("@")}
    names = {name for row in rows for name in (row["name"], *split_names(row["synonyms"]))}

    assert {member for member in members - classes if canonical_drug(member) != member} == set()
    assert {name for name in classes if canonical_class(name[1:]) != name[1:]} == set()
    assert {name for name in names if canonical_drug(name)} == set()


def test_a_class_has_the_members_of_the_classes_within_it() -> None:
    assert {"enalapril", "losartan", "propranolol", "amlodipine"} <= set(class_members("blood pressure drugs"))
    assert {"fluoxetine", "nortriptyline", "bupropion"} <= set(class_members("antidepressants"))
    assert "flunarizine" not in class_members("antihypertensives")
    assert class_members("wonder drugs") == ()
    assert class_synonyms("wonder drugs") == ("wonder drugs",)


@pytest.mark.parametrize(
    ("drug", "marketed_for", "classes", "expected"),
    [
        ("nadolol", [], ["beta-blockers"], True),
        ("bevantolol", [], ["beta-blockers"], True),
        ("enalapril", [], ["antihypertensives"], True),
        ("clonidine", ["Hypertension"], ["antihypertensives"], True),
        ("terlipressin", ["Hypertension, Portal"], ["antihypertensives"], False),
        ("varenicline", ["Tobacco Use Disorder"], ["antidepressants"], False),
        ("varenicline", [], ["antidepressants", "nicotinic receptor partial agonists"], True),
        ("colchicine", ["Gout"], ["gout drugs"], True),
        ("bevacizumab", ["Colorectal Neoplasms"], ["anticancer drugs"], True),
    ],
)
def test_members_endings_and_uses_make_a_drug_one_of_a_class(
    drug: str, marketed_for: list[str], classes: list[str], expected: bool
) -> None:
    assert belongs_to_class(drug, marketed_for, classes) is expected


def test_drugs_of_a_class_asked_about_come_first_and_a_marketed_use_makes_one() -> None:
    trials = [
        record("1", "Topiramate in migraine prevention", "Topiramate reduced migraine attacks against placebo."),
        record("2", "Timolol in migraine prevention", "Timolol reduced migraine attacks against placebo (p=0.04)."),
    ]
    asked, by_use, plain = (
        parse_question(f"{which} prevent migraine?")
        for which in ("Do beta-blockers", "Which blood pressure drugs", "Which drugs")
    )
    found = appraise_candidates(asked, trials)

    assert [(each.drug, each.in_asked_class) for each in found] == [("timolol", True), ("topiramate", False)]
    assert {each.in_asked_class for each in appraise_candidates(plain, trials)} == {None}
    marketed = [trials[0], drug_record("topiramate", "Sodium channel blocker", "SCN1A")]
    assert [each.in_asked_class for each in appraise_candidates(by_use, marketed)] == [True]


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("help smokers quit", ["smoking cessation"]),
        ("smokers who want to quit for good", ["smoking cessation"]),
        ("stop drinking too much alcohol", ["alcohol dependence"]),
        ("lose some weight", ["obesity"]),
        ("bring down my blood pressure", ["hypertension"]),
        ("stop at once, smoke is about", []),
        ("stop the trial", []),
    ],
)
def test_what_is_to_be_done_names_a_condition_of_the_table(text: str, conditions: list[str]) -> None:
    assert [found.name for found in find_deeds(text)] == conditions
    assert [row["name"] for row in read_table("asked_as.tsv") if canonical_condition(row["name"]) != row["name"]] == []


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("migraine attacks", "migraine"),
        ("diabetic kidney disease", "diabetic nephropathy"),
        ("long-COVID", "long covid"),
        ("esophageal varices", "oesophageal varices"),
        ("nicotine dependence", "smoking cessation"),
        ("adrenal cancer", "adrenal cancer"),
        ("gingivitis", "gingivitis"),
    ],
)
def test_names_of_one_condition_are_one(written: str, name: str) -> None:
    text = f"We studied {written} here."
    (found,) = find_conditions(text)

    assert (found.name, found.text) == (name, written)


def test_an_abbreviation_that_a_text_defines_is_followed() -> None:
    text = "Parkinson's disease (PD): PD is common."
    found = find_conditions(text)

    assert {each.name for each in found} == {"parkinson's disease"}
    assert [each.text for each in found] == ["Parkinson's disease", "PD", "PD"]


@pytest.mark.parametrize(
    "text",
    ["tumor necrosis factor", "nonsteroidal anti-inflammatory drugs", "the diagnosis", "apoptosis", "hearing aids"],
)
def test_look_alikes_are_no_conditions_and_abbreviations_that_are_words_count_in_capitals_alone(text: str) -> None:
    assert find_conditions(text) == []
    assert (canonical_condition("AIDS"), canonical_condition("aids")) == ("hiv infection", None)


@settings(deadline=None)
@given(st.one_of(st.text(max_size=60), SENTENCES))
def test_mentions_stand_in_the_text_and_never_overlap(text: str) -> None:
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
    match = compile_cues(cell).search(text)
    assert (match.group() if match else None) == found


@pytest.mark.parametrize("folder", ["lexicon", "questions", "reading"])
def test_every_row_of_cues_can_be_read(folder: str) -> None:
    package = f"willowbark.tools.{folder}"
    rows = read_table("cues.tsv", package)
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        cue_regex(row["name"], package)
        for cue in split_names(row["cues"]):
            assert not cue.endswith("?"), f"{row['name']}: the last word of {cue!r} cannot be missing"
            assert all("-" not in word for word in cue.split() if "/" in word), f"{row['name']}: {cue!r}"
