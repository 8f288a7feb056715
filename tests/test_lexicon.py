"""Drugs, classes and conditions in text."""

from pathlib import Path

import pytest
from builders import drug_record, record
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.lexicon import (
    canonical_class,
    canonical_condition,
    canonical_drug,
    drug_synonyms,
    find_conditions,
    find_deeds,
    find_drug_classes,
    find_drugs,
    find_past_withdrawal,
    find_withdrawal,
    is_diagnostic,
    is_same_drug,
    list_class_members,
    list_class_synonyms,
)
from willowbark.tools.lexicon.drugs import belongs_to_class, load_drug_names
from willowbark.tools.lexicon.matching import compile_cues, cue_regex, read_table, split_names
from willowbark.tools.questions import parse_question
from willowbark.tools.toolbox import MAX_DRUGS, DrugArgs

FINDERS = {"drugs": find_drugs, "classes": find_drug_classes, "conditions": find_conditions, "deeds": find_deeds}
SENTENCES = st.lists(
    st.sampled_from(
        "propranolol insulin resistance receptor beta-blockers migraine (PD) Parkinson's disease , . ( ) é ß".split()
    )
).map(" ".join)


def cases() -> list[list[str]]:
    lines = (Path(__file__).parent / "cases" / "names.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines[2:]]


@pytest.mark.parametrize(("kind", "text", "found"), cases(), ids=str)
def test_names_are_found_under_all_their_spellings_and_nothing_else_is(kind: str, text: str, found: str) -> None:
    assert "; ".join(f"{each.name} = {each.text}" for each in FINDERS[kind](text)) == found


def test_foods_elements_and_the_bodys_own_substances_are_no_drugs() -> None:
    words = (
        "water oxygen glucose alcohol creatinine placebo serotonin cholesterol calcium sodium protein dopamine wheat "
        "more he lead mercury honey urea air control care advance today mask potassium iron norepinephrine"
    )
    assert find_drugs(", ".join(words.split())) == find_drugs(words) == []
    assert [word for word in words.split() if canonical_drug(word)] == []


def test_every_drug_that_is_found_can_be_looked_up() -> None:
    every = list(load_drug_names().synonyms)
    for at in range(0, len(every), MAX_DRUGS):
        DrugArgs(drugs=every[at : at + MAX_DRUGS])
    assert DrugArgs(drugs=['"aspirin"', "Amlodipine/Valsartan"]).drugs == ["aspirin", "amlodipine/valsartan"]
    for name in ('a"b', "a/b", "a\nb", "<a>", "$(a)", "a" * 200, " a", ""):
        with pytest.raises(ValidationError):
            DrugArgs(drugs=[name])


def test_all_names_of_a_drug_lead_back_to_it_and_unknown_ones_stay() -> None:
    names = drug_synonyms("Depakote")

    assert names[0] == "valproic acid"
    assert {"divalproex", "valproate", "sodium valproate"} <= set(names)
    assert {canonical_drug(name) for name in names} == {"valproic acid"}
    assert is_same_drug("Inderal", "propranolol hydrochloride")
    assert not is_same_drug("propranolol", "timolol")
    assert drug_synonyms("examplomab") == ("examplomab",)
    assert is_same_drug("Examplomab", "examplomab ")


def test_withdrawn_drugs_are_known_under_their_generic_names() -> None:
    assert (
        find_withdrawal("terfenadine") == "US, 1998: arrhythmia; from a curated list, not verified with the regulator"
    )
    listed = [row["name"] for table in ("withdrawn.tsv", "returned.tsv") for row in read_table(table)]
    assert [name for name in listed if canonical_drug(name) != name] == []


def test_contrast_media_are_for_diagnosis() -> None:
    assert (is_diagnostic("gadobenic acid"), is_diagnostic("gabapentin")) == (True, False)


def test_a_drug_that_came_back_was_once_withdrawn_and_is_no_withdrawn_one() -> None:
    assert find_withdrawal("Pondimin") is None
    assert find_past_withdrawal("Pondimin") == (
        "US, 1997: heart valve disease; back since 2020, for seizures in Dravet syndrome, with echocardiography; "
        "PMC9296427 (table 2) and FDA, news of 25 June 2020"
    )


def test_contraindications_bear_known_names_of_drugs_classes_and_conditions() -> None:
    rows = read_table("contraindications.tsv")
    names = {name for row in rows for column in ("names", "except") for name in split_names(row[column])}
    conditions = {name for row in rows for name in split_names(row["conditions"])}

    assert {name for name in names if name not in (canonical_drug(name), canonical_class(name))} == set()
    assert {name for name in conditions if canonical_condition(name) != name} == {"pregnancy", "children"}
    assert {row["kind"] for row in rows} == {"contraindicated", "boxed warning", "avoid"}
    assert [row for row in rows if not (row["told"] and row["source"])] == []


def test_groups_of_people_and_the_drugs_that_are_not_for_them_bear_known_names() -> None:
    rows = read_table("not_for.tsv")
    names = {name for row in rows for column in ("names", "except") for name in split_names(row[column])}
    groups = {row["people"] for row in rows}

    assert {name for name in names if name not in (canonical_drug(name), canonical_class(name))} == set()
    assert groups == {"pregnancy", "breastfeeding", "children", "older people", "warfarin"}
    assert {row["kind"] for row in rows} == {"contraindicated", "boxed warning", "avoid"}
    assert [row for row in rows if not (row["told"] and row["source"])] == []


def test_members_of_classes_carry_generic_names_and_names_of_classes_are_no_drugs() -> None:
    rows = read_table("drug_classes.tsv")
    members = {member for row in rows for member in split_names(row["members"])}
    classes = {member for member in members if member.startswith("@")}
    names = {name for row in rows for name in (row["name"], *split_names(row["synonyms"]))}

    assert {member for member in members - classes if canonical_drug(member) != member} == set()
    assert {name for name in classes if canonical_class(name[1:]) != name[1:]} == set()
    assert {name for name in names if canonical_drug(name)} == set()


def test_a_class_has_the_members_of_the_classes_within_it() -> None:
    assert [
        name for name in ("beta-blockers", "triptan", "SSRIs", "SGLT-2 inhibitors") if not list_class_members(name)
    ] == []
    assert {"enalapril", "losartan", "propranolol", "amlodipine"} <= set(list_class_members("blood pressure drugs"))
    assert {"fluoxetine", "nortriptyline", "bupropion"} <= set(list_class_members("antidepressants"))
    assert "flunarizine" not in list_class_members("antihypertensives")
    assert list_class_members("wonder drugs") == ()
    assert list_class_synonyms("wonder drugs") == ("wonder drugs",)


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
        ("conjugated estrogens", [], ["estrogens"], True),
        ("conjugated estrogens/medroxyprogesterone acetate", [], ["estrogens"], True),
        ("estrogen and progestin", [], ["hormone therapy"], True),
        ("estradiol/norethindrone", [], ["estrogens"], True),
        ("medroxyprogesterone", [], ["estrogens"], False),
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


def test_conditions_of_the_tables_bear_their_common_names_and_abbreviations_that_are_words_count_in_capitals() -> None:
    assert [row["name"] for row in read_table("asked_as.tsv") if canonical_condition(row["name"]) != row["name"]] == []
    assert (canonical_condition("AIDS"), canonical_condition("aids")) == ("hiv infection", None)


@given(st.one_of(st.text(max_size=60), SENTENCES))
def test_mentions_stand_in_the_text_and_never_overlap(text: str) -> None:
    for find in FINDERS.values():
        end = 0
        for mention in find(text):
            assert text[mention.start : mention.end] == mention.text != ""
            assert mention.start >= end
            end = mention.end


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
            assert [word for word in cue.split() if "/" in word and "-" in word] == [], f"{row['name']}: {cue!r}"
