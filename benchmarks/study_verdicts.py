"""Verdicts that follow from a study's arms, comparisons and statements, beside those that its reader gave.

    python -m benchmarks.study_verdicts READINGS.jsonl.gz [--half open|closing|both] [--wrong 20]

Reads readings of abstracts in the form of `study_readings.jsonl.gz` and converts each into a `Study`. That form has no
statements: they are taken from its conclusion by a few cues. Rules were settled on the half of the records whose PMID
has a SHA-256 with an even first byte (`open`), and on the labelled studies for training, which have statements; the
other half is only counted.
"""

import argparse
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from willowbark.tools.appraisal.stance import Applies, DrugStance, derive_stance
from willowbark.tools.lexicon.matching import stems
from willowbark.tools.records.study import Arm, ArmRole, Comparison, Estimate, Stated, StatedView, Study, StudyPassage

VERDICTS = {"supports": "supports", "contradicts": "contradicts", "missed": "contradicts"}
VERDICTS |= {"neutral": "neutral", "comparator": "neutral", "none": "none"}
AIMS = {"kinetics_or_mechanism": "mechanism"}
DESIGNS = {"meta_analysis": "systematic_review", "review": "narrative_review"}
REVIEWS = frozenset({"review", "systematic_review", "meta_analysis", "guideline", "other"})
FAVOURS = {"better": "arm", "worse": "versus", "no_difference": "neither"}
SIGNIFICANT = {"better": True, "worse": True, "no_difference": False}


def cue(*words: str) -> re.Pattern[str]:
    """Return a pattern for any of the words, from the beginning of a word."""
    return re.compile(rf"\b(?:{'|'.join(words)})", re.IGNORECASE)


UNTREATED = re.compile(r"placebo|untreated|no treatment|no \w+ therapy|controls?\b|sham|vehicle", re.IGNORECASE)
BOTH = re.compile(
    r"\b(?:both|either|all (?:the )?(?:\w+ )?(?:three|four|five|drugs|treatments|agents|regimens)|the two|each)\b", re.I
)
CUES: tuple[tuple[Stated, re.Pattern[str]], ...] = (
    (
        "not_shown",
        cue(
            "only effective in|no firm|(?:cannot|can not) be (?:made|drawn)",
            "insufficient|inconclusive|unclear|unknown|uncertain|not (?:yet )?been established|limited evidence",
            "no evidence (?:to|from) (?:determine|support)|no (?:conclusion|randomi)",
            "further (?:studies|research|trials) (?:are|is) (?:needed|required) to (?:determine|establish|confirm)",
        ),
    ),
    (
        "does_not_work",
        cue(
            "ineffective|not effective|failed to|without (?:benefit|effect)|lack of (?:efficacy|effect|benefit)",
            "no (?:more effective|better|benefit|efficacy|effect|significant|clinical|additional|advantage)",
            "no improvement|not (?:superior|better|beneficial|recommended|improve|reduce|prevent|affect|alter)",
            "not (?:decrease|be used|support)|poorly (?:treated|controlled)|none of|no role",
            "not (?:[\\w-]+ ){0,3}(?:useful|speed)|not (?:a )?(?:[\\w-]+ ){0,2}options?",
            "not (?:[\\w-]+ ){1,2}(?:improve|reduce|prevent|affect|alter|decrease|control|attenuate|relieve|increase)",
            "not (?:have|show|produce|exert|find) (?:[\\w-]+ ){0,4}(?:effects?|benefits?|improvements?|inhibition)",
            "no (?:[\\w-]+ ){1,3}(?:benefits?|effects?|efficacy|improvements?|advantages?)",
        ),
    ),
    (
        "works",
        cue(
            "effective(?:ly|ness)?|efficacious|efficacy|benefi\\w+|improv\\w+|reduc(?:es|ed|ing|tion)|prevents?|superior",
            "well established|useful|recommended|first.line|drugs? of choice|treatment of choice|successful\\w*",
            "relie(?:f|ves?)|valuable|decreas(?:es|ed)|control(?:s|led)\\b|sufficient|efficient|protect\\w*",
            "(?:produces?|provides?|profound) (?:[\\w-]+,? ){0,4}analgesia|(?:increased|prolong\\w*) (?:the )?duration",
            "delay(?:s|ed)|ameliorat\\w+|counteract\\w*|reliable|alleviat\\w+|attenuat\\w+|revers(?:es|ed|al)",
            "(?:reduce|lower|delay|prevent|relieve|decrease|slow|control|suppress)s?\\b|responds? (?:well|best)",
            "remissions?|powerful|favou?rabl[ey]|suitable|adequate|satisfactor\\w+|additive|preferred",
            "(?:of|as) first choice|(?:valid|good) \\w+|better|recommend|supports? (?:the|its|their) (?:use|role)",
            "(?:can|could|should) be (?:used|considered|given|recommended)",
            "(?:safe|therapeutic|treatment|useful|good|reasonable) (?:[\\w-]+ )?(?:options?|alternatives?|choices?)",
        ),
    ),
)
"""What a clause of a conclusion states of the drugs in it, the first that fits."""
EFFECTIVE = re.compile(r"\b(?:effective(?:ly|ness)?|efficacious|efficacy)\b(?! cost)", re.I)
GUARDED = re.compile(r"\b(?:may|might|could)\b", re.I)
KINETIC = re.compile(r"pharmacokinetic|\bclearance\b|plasma (?:levels|concentration)|bioavailab", re.I)
COMPARED = re.compile(
    r"\b(?:compared (?:with|to)|than|versus|vs\.?|relative to|over|augment\w+|added to|in addition to|on top of|like|"
    r"plus|(?:combination|combined|together) with|from|"
    r"(?:superior|inferior|equivalent|similar|comparable|alternatives?) to|(?:effective|good|well|efficacious) as)\b|"
    r"-induced",
    re.IGNORECASE,
)
"""What stands after it in a clause is no subject of the statement."""
BOTH_GAINED = re.compile(
    r"(?:reduc(?:ed|tion)|lowered|decreas(?:ed?s?|ing)|improve(?:d|ments?)|declines?|relieved|inhibit\w+) "
    r"(?:[\w-]+ ){0,6}?(?:similarly|equally|to a similar)|"
    r"(?:similar|equal|comparable|equivalent|significant and similar) (?:[\w-]+ ){0,2}?"
    r"(?:reductions?|decreases?|improvements?|declines?)|"
    r"caused (?:[\w-]+ )?(?:inhibition|reductions?|decreases?)|\b(?:both|all|either|several|many)\b (?:[\w-]+ ){0,4}?"
    r"(?:reduced|lowered|decreased|improved|relieved|were (?:\w+ )?(?:effective|efficacious))",
    re.IGNORECASE,
)
"""A quote that tells of two arms alike that each gained."""
CLAUSES = re.compile(r"(?<=[a-z\d)%]{3}[.;])\s+|,? (?:but|whereas|while|although|however|yet) ", re.IGNORECASE)


def convert_reading(reading: Mapping[str, Any]) -> Study:
    """Convert a reading in the earlier form: a result of or against several arms becomes one comparison for each."""
    arms = {str(arm["name"]): convert_arm(arm) for arm in reading["arms"]}
    comparisons: list[Comparison] = []
    for result in reading["results"]:
        for arm in _split_arms(result["arm"] or result["drug"] or "treated"):
            if arm not in arms:
                drugs = tuple(_split_drugs(str(result["drug"] or arm)))
                arms[arm] = Arm(name=arm, role="drug", drugs=drugs)
            comparisons += convert_result(result, arm, arms)
    return Study(
        key=f"pmid:{reading['pmid']}",
        reader="person",
        version="draft",
        aim=AIMS.get(reading["aim"], reading["aim"]),
        condition=reading["condition"],
        people=reading["people"],
        design=DESIGNS.get(reading["design"], reading["design"]),
        blinded=reading["blinded"],
        randomised=reading["randomised"],
        analysed=reading["analysed"],
        background=tuple(drug.lower() for drug in reading["background"]),
        arms=tuple(arms.values()),
        comparisons=tuple(comparisons),
        statements=tuple(find_views(reading, list(arms.values()))),
        conclusion=StudyPassage(text=reading["conclusion"]) if reading["conclusion"] else None,
    )


def find_applying(reading: Mapping[str, Any], view: Mapping[str, Any]) -> Applies:
    """Return whether a comparison is on the condition of a view, where its reader saw a drug in several conditions.

    That form has no condition of a result: the condition with most words in outcome and quote is taken.
    """
    same = [other for other in reading["says"] if other["drug"] == view["drug"]]
    conditions = {other["condition"]: set(stems(other["condition"])) for other in same}

    def applies(row: Comparison | StatedView) -> bool:
        outcome = row.outcome if isinstance(row, Comparison) else ""
        text = set(stems(f"{outcome} {row.passage.text if row.passage else ''}"))
        most = max(len(words & text) for words in conditions.values())
        return len(conditions[view["condition"]] & text) == most

    return applies


def name_class(study: Study, drug: str) -> Study:
    """Give the arms that bear the name of a class the class as their drug, where no arm has it."""
    if drug in study.drugs():
        return study
    arms = [arm.model_copy(update={"drugs": (drug,)} if _bears_class(arm, drug) else {}) for arm in study.arms]
    return study.model_copy(update={"arms": tuple(arms)})


def _bears_class(arm: Arm, name: str) -> bool:
    """Whether an arm bears the name of a class: not one whose people are named ("clonidine, opium addiction")."""
    start = arm.name.lower().find(name.rstrip("s"))
    return start == 0 or (start > 0 and "," not in arm.name[:start])


def _split_arms(names: str) -> list[str]:
    return [name.strip() for name in names.split(";") if name.strip()]


def _split_drugs(names: str) -> list[str]:
    return [name.strip().lower() for name in re.split(r"[;+]", names) if name.strip()]


def convert_arm(arm: Mapping[str, Any]) -> Arm:
    drugs = tuple(drug.lower() for drug in arm["drugs"])
    return Arm(name=arm["name"], role=arm["kind"], drugs=drugs, dose=arm["dose"] or "", n=arm["n"])


def convert_result(result: Mapping[str, Any], arm: str, arms: dict[str, Arm]) -> Iterator[Comparison]:
    """Yield one comparison for each arm that a result is against; an unnamed control becomes an arm."""
    others = _split_arms(str(result["versus"]))
    for other in others:
        if other not in arms and other != "baseline":
            arms[other] = Arm(name=other, role=_find_role(other))
    named_arms = [other for other in others if other in arms and other != arm]
    against = "baseline" if "baseline" in others else "unstated"
    shared = {
        "arm": arm,
        "outcome": result["outcome"],
        "endpoint": result["kind"],
        "primary": result["is_primary"],
        "favours": FAVOURS.get(result["direction"]),
        "significant": SIGNIFICANT.get(result["direction"]),
        "equivalence": "claimed" if result["noninferior"] else None,
        "estimate": Estimate(written=result["effect"]) if result["effect"] else None,
        "passage": StudyPassage(text=result["quote"]),
    }
    for other in named_arms:
        yield Comparison.model_validate({**shared, "versus": other})
        if result["direction"] == "no_difference" and BOTH_GAINED.search(result["quote"]):
            yield from (tell_gain(name, shared) for name in (arm, other) if arms[name].role == "drug")
    if not named_arms:
        yield Comparison.model_validate({**shared, "against": against})


def tell_gain(arm: str, shared: Mapping[str, Any]) -> Comparison:
    """Return the gain in an arm of its own that a quote tells beside a comparison without a difference."""
    gain = {"arm": arm, "against": "baseline", "favours": "arm", "significant": True, "equivalence": None}
    return Comparison.model_validate({**shared, **gain, "estimate": None})


def _find_role(name: str) -> ArmRole:
    if "placebo" in name.lower():
        return "placebo"
    return "none" if UNTREATED.search(name) else "unknown"


def find_views(reading: Mapping[str, Any], arms: list[Arm]) -> Iterator[StatedView]:
    """Yield what the conclusion's clauses state of the drugs that they name, by the cues above."""
    tested = list(chain.from_iterable(arm.drugs for arm in arms))
    drug_names = dict.fromkeys([*tested, *(view["drug"].lower() for view in reading["says"])])
    is_review = reading["design"] in REVIEWS
    separate = {*tested, *(drug.lower() for drug in reading["background"])} | {arm.name.lower() for arm in arms}
    has_other_aim = reading["aim"] in ("harm", "other")
    for clause in CLAUSES.split(reading["conclusion"]):
        if not EFFECTIVE.search(clause) and (has_other_aim or KINETIC.search(clause)):
            continue
        says = next((word for word, pattern in CUES if pattern.search(clause)), None)
        credited = COMPARED.split(clause)[0].lower()
        drugs = [drug for drug in drug_names if drug.rstrip("s") in credited]
        drugs += chain.from_iterable(arm.drugs for arm in arms if arm.name.lower() in credited)
        drugs = drugs or (tested if BOTH.search(clause) else [])
        drugs = [drug for drug in drugs if drug in separate or is_review]
        for drug in dict.fromkeys(drugs):
            if says == "works" and not is_review and GUARDED.search(credited):
                says = "not_shown"
            if says:
                yield StatedView(
                    drug=drug, says=says, basis="cited" if is_review else "judgement", passage=StudyPassage(text=clause)
                )


def is_open(pmid: str) -> bool:
    """Whether a record is of the half on which rules may be settled."""
    return hashlib.sha256(pmid.encode()).digest()[0] % 2 == 0


def read_half(path: Path, half: str) -> Iterator[dict[str, Any]]:
    """Yield the readings of a half of the records, by the SHA-256 of their PMID."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            reading = json.loads(line)
            if half == "both" or is_open(str(reading["pmid"])) is (half == "open"):
                yield reading


def print_wrong(reading: Mapping[str, Any], view: Mapping[str, Any], stance: DrugStance, study: Study) -> None:
    deciding = stance.comparison or stance.view
    print(f"\n{study.key} {study.aim} {study.design} sure {reading['sure']} {view['drug']} ({view['role']}):", end=" ")
    print(f"{view['verdict']}, derived {stance.says}; {view['why']}")
    print(f"   by {repr(deciding)[:160]}\n   concludes: {reading['conclusion'][:300]}")
    for arm in study.arms:
        print(f"   arm {arm.name} {arm.role} {arm.drugs}")
    for row in study.comparisons:
        print(f"   {row.arm} | {row.versus or row.against} | {row.primary} {row.endpoint} {row.favours} {row.outcome}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readings", type=Path)
    parser.add_argument("--half", choices=("open", "closing", "both"), default="both")
    parser.add_argument("--wrong", type=int, default=0, help="print so many of the drugs whose verdict differs")
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    sure: Counter[bool] = Counter()
    left = options.wrong
    for reading in read_half(options.readings, options.half):
        study = convert_reading(reading)
        for view in reading["says"]:
            drug = view["drug"].lower()
            stance = derive_stance(name_class(study, drug), drug, find_applying(reading, view))
            says = stance.of_combination if stance.says == "combined" else stance.says
            verdict = VERDICTS[says]
            counts[view["verdict"], verdict] += 1
            is_right = verdict == view["verdict"]
            if reading["sure"]:
                sure[is_right] += 1
            if not is_right and left > 0:
                left -= 1
                print_wrong(reading, view, stance, study)
    right = sum(number for (labelled, derived), number in counts.items() if labelled == derived)
    print(f"verdicts right: {right} of {counts.total()}, {right / counts.total():.1%}")
    print(f"where the reader was sure: {sure[True]} of {sure.total()}, {sure[True] / sure.total():.1%}")
    for pair, number in sorted(counts.items()):
        print(*pair, number, sep="\t")


if __name__ == "__main__":
    main()
